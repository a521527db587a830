"""The run that a command is asked about, held against references: what `show`, `report` and others have in common."""

import argparse
from pathlib import Path

from ..files import path_of
from ..references.tables import References
from ..runs import folders, judging, stored
from ..runs.judging import Judged


def add_options(command: argparse.ArgumentParser) -> None:
    """What to judge, and by what."""
    command.add_argument(
        "path",
        nargs="?",
        type=path_of,
        metavar="PATH",
        help="a record.json, a ReFrame report (run-report-*.json) or a folder; by default the newest report",
    )
    add_reference_options(command)


def add_reference_options(command: argparse.ArgumentParser) -> None:
    """By what to judge."""
    command.add_argument("--references", type=path_of, metavar="DIR", help="default: config/references")
    command.add_argument("--reference", metavar="NAME", help="the table of references; default: the partition's own")


def judged_run(options: argparse.Namespace) -> tuple[stored.Run, list[Judged]]:
    """What is at the given path, with verdicts. Raises BadInput."""
    run = stored.find_all([path for path in [options.path, *getattr(options, "more", [])] if path is not None])
    return run, judging.judge_all(run, references_of(options), options.reference)


def references_of(options: argparse.Namespace) -> References:
    """Those that the options name. Raises BadInput."""
    return References.load(options.references or reference_folder())


def reference_folder() -> Path | None:
    """Of the repository around the working directory; None is that of this package."""
    folder = folders.repository() / "config" / "references"
    return folder if folder.is_dir() else None
