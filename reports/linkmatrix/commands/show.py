"""`linkmatrix show`: prints a run, by default the run that ended last."""

import argparse
from dataclasses import replace

from ..runs import judging
from ..show.analysis import Analysis
from ..show.terminal import show
from . import arguments


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `show`."""
    arguments.add_options(command)
    arguments.add_against(command)
    command.set_defaults(command=run_show)


def run_show(options: argparse.Namespace) -> int:
    """Prints the run and returns the exit code of its verdict. Raises BadInput."""
    run, judged = arguments.judged_run(options)
    if options.path is None:
        times = f"began {run.started or 'at an unknown time'}, ended {run.ended or 'at an unknown time'}"
        note = f"this is the run that ended last, {run.path} ({times})"
        run = replace(run, notes=(*run.notes, note))
    show(Analysis(run, judged), others=arguments.published_tables(options, judged))
    return judging.exit_code(judged)
