"""Options that several commands share, and functions that load the run named by these options."""

import argparse
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import suite
from ..errors import BadInput
from ..files import path_of
from ..record import units
from ..record.names import short
from ..references.tables import References
from ..runs import folders, judging, stored
from ..runs.judging import Judged, decide_attempts
from ..runs.testcases import Test
from ..show.screen import Screen, watched

if TYPE_CHECKING:
    from ..show.by_size import Table

MOST_WORST = 10  # printed blocks without --all
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257  # bytes, and their position in the header of the first member


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options that select a run, its references and the groups of its nodes."""
    command.add_argument(
        "path",
        nargs="?",
        type=path_of,
        metavar="PATH",
        help="a record.json, a ReFrame report (run-report-*.json) or a folder (default: the run that ended last)",
    )
    add_reference_options(command)
    command.add_argument(
        "--groups",
        type=path_of,
        metavar="FILE",
        help="nodes per leaf switch: lines such as 'leaf1: n[1-32]', or Slurm's topology.conf (default: the"
        " leaf switches in the record)",
    )


def add_stored_runs(command: argparse.ArgumentParser) -> None:
    """Adds the options that select stored runs, and tests of these runs."""
    command.add_argument(
        "paths",
        nargs="*",
        type=path_of,
        metavar="RUN",
        help="records, reports or folders (default: all stored reports)",
    )
    command.add_argument("--since", metavar="DATE", help="only runs that started on DATE or later, such as 2026-11-21")
    command.add_argument("--system", metavar="S:P", help="only this system and partition")
    add_testcases(command)


def add_testcases(command: argparse.ArgumentParser) -> None:
    """Adds the option --testcase."""
    command.add_argument("--testcase", action="append", metavar="NAME", help="only this test case (repeatable)")


def add_reference_options(command: argparse.ArgumentParser) -> None:
    """Adds the options --references and --reference."""
    command.add_argument(
        "--references", type=path_of, metavar="DIR", help="folder of references (default: config/references)"
    )
    command.add_argument(
        "--reference", metavar="NAME", help="table of references (default: the table of the partition)"
    )


def add_clean_runs(command: argparse.ArgumentParser) -> None:
    """Adds the option --clean-runs."""
    command.add_argument(
        "--clean-runs",
        type=positive_number,
        default=3,
        metavar="K",
        help="number of clean runs that remove a flag (default: 3)",
    )


def add_all(command: argparse.ArgumentParser) -> None:
    """Adds the option --all."""
    command.add_argument("--all", action="store_true", help=f"print everything (default: the {MOST_WORST} worst)")


class Block(NamedTuple):
    """A title and its lines of output.

    severity: blocks with a higher severity are printed first. 0 or less means a healthy result.
    """

    title: str
    severity: float
    lines: Iterable[str]


def print_worst(
    screen: Screen, blocks: Sequence[Block], healthy: str, everything: bool, keep: str = "", indent: str = ""
) -> None:
    """Prints the blocks, worst first. If there are more than MOST_WORST blocks, only the worst blocks are printed.

    healthy: the line that is printed if all blocks are healthy.
    everything: whether to print all blocks.
    keep: lines that begin with this text, such as commands to copy, are not wrapped.
    indent: text before each line.
    """
    ordered = sorted(blocks, key=lambda block: -block.severity)
    worst = [block for block in ordered if block.severity > 0]
    if blocks and not worst:
        screen.lines(f"{indent}{healthy}")
    shown = ordered if everything or len(ordered) <= MOST_WORST else worst[:MOST_WORST]
    for block in shown:
        screen.lines(f"{indent}{block.title}")
        for line in block.lines:
            if keep and line.lstrip().startswith(keep):
                screen.print(screen.text(f"{indent}  {line}"))
            else:
                screen.lines(f"{indent}  {line}")
    if len(shown) < len(ordered):
        screen.lines(f"{indent}{len(ordered) - len(shown)} more with --all")


def positive_number(text: str) -> int:
    """Parses the value of an option as an integer of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not 1 or more")
    return int(text)


def selected_runs(options: argparse.Namespace) -> list[stored.Run]:
    """The runs that the options of `add_stored_runs` select; [] if no run is stored. Raises BadInput.

    Each run contains only the tests of --system that started at --since or later. Tests without a record are kept,
    because their start is unknown.
    """
    try:
        since = date.fromisoformat(options.since).isoformat() if options.since else ""
    except ValueError:
        raise BadInput(f"--since '{options.since}' is not a date: write it as 2026-11-21") from None
    paths = options.paths or folders.reports(folders.prefix())
    with watched(paths, "runs") as shown_paths:
        runs = stored.find_each(shown_paths, for_verdicts=False) if paths else []

    def is_selected(test: Test) -> bool:
        is_recent = test.record is None or test.record["started"] >= since
        return is_recent and (not options.system or test.partition == options.system)

    return [replace(run, tests=tuple(filter(is_selected, run.tests))) for run in runs]


def add_against(command: argparse.ArgumentParser) -> None:
    """Adds the option --against of `show` and `report`."""
    command.add_argument(
        "--against",
        action="append",
        metavar="NAME",
        help="show the sweeps of a published system next to the run, such as abci:anode or h200-ib (repeatable)",
    )


def published_tables(options: argparse.Namespace, judged: list[Judged]) -> "dict[str, Table]":
    """Returns {title of a sweep: table with the published values of the systems in --against}.

    Raises BadInput if a system and the run have no sweep in common.
    """
    names = options.against or []
    if not names:
        return {}
    from ..show import by_size

    titles = {table.title for table in by_size.tables(judged)}
    for name in names:
        if not titles & set(by_size.published_tables([name])):
            raise BadInput(f"--against {name}: the run and this system have no sweep of message sizes in common")
    return by_size.published_tables(names)


def judged_run(options: argparse.Namespace) -> tuple[stored.Run, list[Judged]]:
    """Returns (the run that the options select, its judged tests). Raises BadInput.

    Of several attempts of a test case, only the attempt that gives the verdict is returned.
    """
    paths = [path for path in [options.path, *getattr(options, "more", [])] if path is not None]
    if paths and is_bundle(paths[0]):
        run = run_from_bundle(options)
    else:
        with watched(paths, "runs") as shown_paths:
            run = stored.find_all(shown_paths)
    if getattr(options, "groups", None) is not None:
        from ..site import configured

        run = with_groups(run, configured.read_groups(options.groups), configured.group_type(options.groups))
    judged, _ = decide_attempts(judging.judge_all(run, load_references(options), options.reference))
    return run, judged


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundle. A bundle is an uncompressed tar archive."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(TAR_MAGIC_AT + len(TAR_MAGIC)).endswith(TAR_MAGIC)


def run_from_bundle(options: argparse.Namespace) -> stored.Run:
    """The run in the bundle `options.path`. Raises BadInput.

    If the user gave no --references, the function sets `options.references` to the references in the bundle.
    """
    from ..runs import bundle  # slow to import, and rarely needed

    if getattr(options, "more", []):
        raise BadInput(f"{options.path} is a bundle: name no other path")
    content = bundle.read(options.path)
    options.references = options.references or content.references
    others = len(content.runs) + len(content.unreported) - 1
    command = f"linkmatrix report --certificate {shlex.quote(str(options.path))}"
    notes = [f"{units.counted(others, 'other attempt')}. To list each attempt: {command}"] if others else []
    return replace(content.run, notes=(*content.run.notes, *notes))


def with_groups(run: stored.Run, groups: Mapping[str, str], word: str) -> stored.Run:
    """A copy of the run with these groups of nodes in its records. Raises BadInput if no node of the run has a group.

    groups: {node: group}, such as {"n1": "leaf1"}.
    word: the type of the groups, "leaf" or "domain". A domain that a record already contains is not replaced.
    """
    group_of = {short(node): group for node, group in groups.items()}
    tests, known = [], False
    for test in run.tests:
        if test.record is None:
            tests.append(test)
            continue
        devices = []
        for device in test.record["devices"]:
            place = {name: text for name, text in device["place"].items() if name != word}
            group = group_of.get(short(device["node"]), "")
            if word == "domain":  # the record's domain, from NVML, contains the clique too
                group = device["place"].get(word, group)
            known = known or short(device["node"]) in group_of
            devices.append({**device, "place": {**place, **({word: group} if group else {})}})
        tests.append(replace(test, record={**test.record, "devices": devices}))
    if not known:
        raise BadInput("--groups contains no node of this run")
    return replace(run, tests=tuple(tests))


def load_references(options: argparse.Namespace) -> References:
    """Loads the references in the folder --references, or in the default folder. Raises BadInput."""
    return References.load(options.references or reference_folder())


def references_path(options: argparse.Namespace) -> Path:
    """The file or folder of --references, or the default folder. Raises BadInput if the path does not exist."""
    found = options.references or reference_folder() or suite.REFERENCES
    if not found.exists():
        raise BadInput(f"{found} does not exist: name a file or folder of references")
    return found


def reference_folder() -> Path | None:
    """The folder config/references of the repository around the working directory; None if the folder is missing."""
    folder = folders.repository() / "config" / "references"
    return folder if folder.is_dir() else None
