"""`linkmatrix adopt`: calculates references, prints the difference, and writes it with --write.

An existing reference stays if the new runs agree with it within their noise. It is raised if the runs exceed it. It is
lowered only with --allow-lower and a reason, which stays in the file.
"""

import argparse
import contextlib
import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..adopt import propose
from ..adopt.cells import fit_to_table
from ..adopt.propose import Proposal
from ..adopt.usable import select_usable
from ..adopt.writing import Change, table_changes, updated_text, write
from ..errors import BadInput, say
from ..files import changing, path_of
from ..record import units
from ..record.names import is_collective
from ..references import noise
from ..references.keys import SWEEP, with_variant
from ..references.noise import Floor
from ..references.pair_classes import PairClasses
from ..references.tables import References, reference_files
from ..runs import folders, testcases
from . import arguments, use_references

REFUSED = 3  # exit code: runs are missing or cannot be used, and nothing is stated about the hardware
MOST_LINES = 60  # of a difference; the rest is counted
Key = tuple[str, str, str]  # check, table, test case
Changes = dict[Key, tuple[Proposal, list[Change]]]


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `adopt`."""
    arguments.add_stored_runs(command)
    command.add_argument("--table", metavar="NAME", help="table of references (default: the table of the partition)")
    command.add_argument("--runs", type=int, metavar="K", help="use only the K newest runs of each test case")
    command.add_argument(
        "--file",
        type=path_of,
        metavar="YAML",
        help="file of references (default: the file of config/references with the table, else p2p.yaml)",
    )
    command.add_argument("--floor", metavar="LOWER,UPPER", help="smallest tolerances in percent, such as 2,5")
    command.add_argument("--with-outliers", action="store_true", help="adopt although runs contain outliers")
    command.add_argument("--with-failed", action="store_true", help="use failed, incomplete and disturbed runs too")
    command.add_argument(
        "--as-is",
        metavar="REASON",
        help="adopt despite a slow component, a trend or a step; the reason stays in the file",
    )
    command.add_argument(
        "--allow-lower", action="store_true", help="lower references that the runs do not reach; needs --reason"
    )
    command.add_argument("--reason", metavar="TEXT", help="reason for lower references; stays in the file")
    command.add_argument(
        "--write", action="store_true", help="write the file; without --write, adopt prints only the difference"
    )
    command.add_argument(
        "--use",
        metavar="NAME",
        help="write only the name of an adopted table into the system file of this machine, or of --system",
    )
    command.set_defaults(command=run_adopt)


def run_adopt(options: argparse.Namespace) -> int:
    """Exit code 3 if a test case is refused; the other test cases are written. Raises BadInput."""
    if options.use is not None:
        return use_references.run_use(options)
    if options.allow_lower != bool(options.reason and options.reason.strip()):
        raise BadInput("--allow-lower and --reason TEXT belong together: give the reason for lower references")
    if options.as_is is not None and not options.as_is.strip():
        raise BadInput("--as-is '': give the reason for a slow component, a trend or a step")
    file = options.file or file_of(options.table, folders.repository() / "config" / "references")
    with changing(file) if options.write else contextlib.nullcontext():
        return adopt_into(file, options)


def file_of(table: str | None, folder: Path) -> Path:
    """The file that already contains the table; else p2p.yaml."""
    usual = folder / "p2p.yaml"
    if table is None or not folder.is_dir():
        return usual
    others = [file for file in reference_files(folder) if file != usual]
    machine = table.partition("@")[0]
    has = (file for file in others if machine in {name.partition("@")[0] for name in References.load(file).names()})
    return next(has, usual)


def adopt_into(file: Path, options: argparse.Namespace) -> int:
    """As `run_adopt`, with the file locked."""
    tests, again = selected(options)
    samples, refused = select_usable(tests, options.with_failed)
    for sentence in [*again, *refused]:
        say(f"left out: {sentence}")
    present = References.load(file) if file.exists() else References({})
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    changes, lowering, problems = proposed_changes(options, samples, present)
    if not changes and not problems:
        raise BadInput("no run is left to adopt from: name records or reports, or remove some of the options")
    for key, (proposal, found) in {**changes, **lowering}.items():
        say(*summary(key, proposal, found))
    for table in dict.fromkeys(table for _, table, _ in changes):
        other = file_of(table, file.parent)
        if other != file and not options.file:  # two files with the same references are refused from then on
            problems.append(f"{other} has the references of {table.partition('@')[0]}: add --file {other}")
            changes = {key: one for key, one in changes.items() if key[1] != table}
    proposed = updated_text(text, changes, options.reason, options.as_is)
    show_difference(text, proposed, file)
    for problem in (said := told_once(problems)):
        say(f"refused: {problem}")
    if options.write and proposed != text:
        write(file, proposed, changes)
        say(f"{file}: written")
    elif proposed != text:
        say("Nothing was written. Add --write to write the file.")
    if problems:
        refused = f"all but {units.counted(len(changes), 'test case')}" if changes else "nothing was written"
        say(f"REFUSED: {refused}, for {units.counted(len(said), 'reason')}: see 'refused:' above")
    return REFUSED if problems else 0


def told_once(sentences: Sequence[str]) -> list[str]:
    """Merges sentences "subject: text" with the same text into one sentence with the number of subjects."""
    subjects: dict[str, list[str]] = {}
    for one in sentences:
        subject, _, what = one.partition(": ")
        subjects.setdefault(what or one, []).append(subject)
    told = []
    for what, of in subjects.items():
        alike = f" and {len(of) - 1:,} more" if len(of) > 1 else ""
        told.append(what if what in of else f"{of[0]}{alike}: {what}")
    return told


def proposed_changes(
    options: argparse.Namespace, samples: list[propose.Sample], present: References
) -> tuple[Changes, Changes, list[str]]:
    """(changes by test case, changes that would lower references, reasons why other test cases are refused)."""
    floor = reference_floor(options.floor) if options.floor else None
    chosen, problems = runs_by_testcase(options, samples)
    collectives = {sample.result["testcase"] for sample in samples if is_collective(sample.result)}
    changes: Changes = {}
    lowering: Changes = {}
    classes: dict[tuple[str, str], PairClasses] = {}
    for key, groups in chosen.items():
        check, table, name = key
        sweep = SWEEP in table or name in collectives
        sizes = {group[0].result["size_bytes"]: group for group in groups}
        if len(sizes) < len(groups) or (len(sizes) > 1 and not sweep):
            problems.append(
                f"{name}: the runs measured several variants or sizes: choose with --since or name the runs"
            )
            continue
        try:
            proposal = propose.propose_testcase(sizes, sweep, options.with_outliers, floor, bool(options.as_is))
        except BadInput as error:
            problems.append(str(error))
            continue
        known = present.for_check(check)
        rows, adopted = known.table(table, name), classes.get((check, table), known.pair_classes(table))
        proposal = fit_to_table(proposal, rows, adopted)
        adopted = adopted.with_groups(proposal.groups)
        found = table_changes(rows, proposal, adopted)
        lowered = sum(one.kind == "lowered" for one in found)
        if lowered and not options.allow_lower:
            lowering[key] = (proposal, found)
            why = "would be lowered: find the cause, or accept it with --allow-lower --reason TEXT"
            problems.append(f"{name}: {units.counted(lowered, 'reference')} {why}")
            continue
        classes[check, table] = adopted
        changes[key] = (proposal, found)
    return changes, lowering, problems


def runs_by_testcase(
    options: argparse.Namespace, samples: list[propose.Sample]
) -> tuple[dict[Key, list[list[propose.Sample]]], list[str]]:
    """({(check, table, test case): groups of comparable runs, in order of time}, why other groups cannot be adopted).

    A test case with a group that cannot be adopted is left out.
    """
    found: dict[Key, list[list[propose.Sample]]] = {}
    refused: set[Key] = set()
    problems: list[str] = []
    for group in propose.grouped(samples).values():
        first, name = group[0], group[0].result["testcase"]
        if options.testcase and name not in options.testcase:
            continue
        group = sorted(group, key=lambda sample: sample.record["started"])[-(options.runs or len(group)) :]
        try:
            given = options.table and with_variant(options.table, first.variant)
            table = given or table_of({sample.table for sample in group}, name)
            key = (first.check, table, name)
            found.setdefault(key, []).append(group)
            refused.add(key)
            propose.refuse_runs(name, group)
            refused.discard(key)
        except BadInput as error:
            problems.append(str(error))
    return {key: groups for key, groups in found.items() if key not in refused}, problems


def reference_floor(text: str) -> Floor:
    """ "2,5" as fractions. Raises BadInput."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)", text)
    if match is None or not (0 < float(match[1]) < 100 and 0 < float(match[2]) < 1000):
        raise BadInput(f"--floor '{text}' is not two percentages: write them as 2,5")
    return Floor(float(match[1]) / 100, float(match[2]) / 100)


def selected(options: argparse.Namespace) -> tuple[list[testcases.Test], list[str]]:
    """The tests that the options select, and a sentence for each duplicate. Raises BadInput."""
    if options.runs is not None and options.runs < propose.FEWEST:
        raise BadInput(
            f"--runs {options.runs}: too few runs: at least {propose.FEWEST} are needed to estimate their noise"
        )
    found = arguments.selected_runs(options)
    if not found:
        raise BadInput(f"there are no reports in {folders.prefix() / 'reports'}: measure first, or name records")
    return [test for run in found for test in run.tests], [sentence for run in found for sentence in run.again]


def table_of(names: set[str], testcase: str) -> str:
    """The table of the partitions of the runs. Raises BadInput for several tables or none."""
    if len(names) != 1 or not next(iter(names)):
        said = ", ".join(sorted(filter(None, names)))
        what = f"its runs name the tables {said}" if said else "its runs name no table of references"
        raise BadInput(f"{testcase}: {what}: choose one with --table NAME")
    return next(iter(names))


def summary(key: tuple[str, str, str], proposal: Proposal, changes: list[Change]) -> Iterator[str]:
    """The lines that describe the proposal for a test case."""
    counts = {kind: sum(one.kind == kind for one in changes) for kind in ("new", "kept", "raised", "lowered")}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    yield f"{key[1]}, {key[2]}: {proposal.runs} runs, {said}"
    for group, sigma in proposal.spreads.items():
        middle = proposal.summaries[group].median
        k = noise.sigma_limit_of_runs(proposal.cells, proposal.runs)
        yield (
            f"  {group}: median {middle.value:g} {middle.unit}, sigma {100 * sigma:.3f} %, limits"
            f" {100 * (middle.lower or 0):+.1f} % and {100 * (middle.upper or 0):+.1f} %: the larger of the floor and"
            f" k·sigma = {100 * k * sigma:.2f} % (k {k:.1f} for {proposal.cells} cells)"
        )
    for sentence in proposal.noisy[:5]:
        yield f"  outlier: {sentence}"
    for sentence in proposal.slow[:5]:
        yield f"  as it is: {sentence}"
    worst = sorted(
        (one for one in changes if one.kind in ("raised", "lowered") and one.present),
        key=lambda one: one.proposed.value / one.present.value,
    )
    for one in worst[:5]:
        assert one.present
        percent = 100 * (one.proposed.value / one.present.value - 1)
        yield f"  {one.kind}: {one.variable} {one.present.value:g} -> {one.proposed.value:g} ({percent:+.1f} %)"


def show_difference(old: str, new: str, file: Path) -> None:
    """Prints a unified difference, MOST_LINES at most."""
    found = list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), str(file), f"{file} (proposed)", "", "", 1, "")
    )
    for line in found[:MOST_LINES]:
        say(line)
    if len(found) > MOST_LINES:
        say(f"… and {len(found) - MOST_LINES} more lines")
