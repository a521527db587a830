"""`linkmatrix show`: a record or the last run in the terminal."""

import argparse

from ..runs import judging
from ..show.terminal import show
from . import arguments


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    arguments.add_options(command)
    arguments.add_against(command)
    command.set_defaults(command=run_show)


def run_show(options: argparse.Namespace) -> int:
    """Prints the run and returns the exit code of its verdict. Raises BadInput."""
    run, judged = arguments.judged_run(options)
    show(run, judged, others=arguments.published_beside(options, judged))
    return judging.exit_code(judged)
