"""`linkmatrix show`: a record or the last run in the terminal."""

import argparse

from ..judge.verdicts import EXIT_CODES
from ..show.terminal import show
from . import arguments


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    arguments.add_options(command)
    command.set_defaults(command=lambda options: EXIT_CODES[show(*arguments.judged_run(options))])
