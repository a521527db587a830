"""`linkmatrix show`: a record or the last run in the terminal."""

import argparse
from dataclasses import replace

from ..runs import judging, stored
from ..show.analysis import Analysis
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
    if options.path is None:
        run = replace(run, notes=(*run.notes, chosen(run)))
    show(Analysis(run, judged), others=arguments.published_beside(options, judged))
    return judging.exit_code(judged)


def chosen(run: stored.Run) -> str:
    """A sentence that names the shown report. A later session may have written no report, or a report elsewhere."""
    times = f"began {run.started or 'at an unknown time'}, ended {run.ended or 'at an unknown time'}"
    return f"this is the run that ended last, {run.path} ({times}). A session without tests has no report"
