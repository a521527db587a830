"""`linkmatrix show`: a record or the last run in the terminal."""

import argparse

from ..judge.verdicts import EXIT_CODES
from ..show.terminal import show
from . import arguments


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    arguments.add_options(command)
    arguments.add_against(command)
    command.set_defaults(command=run_show)


def run_show(options: argparse.Namespace) -> int:
    """Exit code: that of the run's verdict. Raises BadInput."""
    run, judged = arguments.judged_run(options)
    return EXIT_CODES[show(run, judged, others=arguments.published_beside(options, judged))]
