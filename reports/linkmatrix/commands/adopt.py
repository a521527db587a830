"""`linkmatrix adopt`: calculates references, prints the changes, and writes the changes with --write.

| values of the new runs | existing reference |
|---|---|
| agree with the reference within their noise | is kept |
| exceed the reference | is raised |
| do not reach the reference | is lowered only with --allow-lower; the file stores the reason |
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

REFUSED = 3  # exit code: runs are missing or cannot be used; the hardware is not judged
MOST_LINES = 60  # of a printed difference
Key = tuple[str, str, str]  # check, table, test case
Changes = dict[Key, tuple[Proposal, list[Change]]]


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `adopt`."""
    arguments.add_stored_runs(command)
    command.add_argument("--table", metavar="NAME", help="table of references (default: the table of the partition)")
    command.add_argument("--runs", type=int, metavar="K", help="use only the K newest runs of each test case")
    command.add_argument(
        "--file",
        type=path_of,
        metavar="YAML",
        help="file of references (default: the file of config/references that contains the table, else p2p.yaml)",
    )
    command.add_argument("--floor", metavar="LOWER,UPPER", help="smallest tolerances in percent, such as 2,5")
    command.add_argument("--with-outliers", action="store_true", help="adopt although runs contain outliers")
    command.add_argument("--with-failed", action="store_true", help="use failed, incomplete and disturbed runs too")
    command.add_argument(
        "--as-is",
        metavar="REASON",
        help="adopt despite a slow component, a trend or a step; the file stores the reason",
    )
    command.add_argument("--allow-lower", action="store_true", help="allow references to become lower; needs --reason")
    command.add_argument("--reason", metavar="TEXT", help="reason for lower references; the file stores the reason")
    command.add_argument(
        "--write", action="store_true", help="write the file; without --write, adopt prints only the difference"
    )
    command.add_argument(
        "--use",
        metavar="NAME",
        help="only write the name of the table into the system file of this machine, or of --system, for later runs",
    )
    command.set_defaults(command=run_adopt)


def run_adopt(options: argparse.Namespace) -> int:
    """Calculates references from stored runs, prints the changes, and writes the changes with --write.

    Returns 0, or REFUSED if at least one test case is refused. The references of the other test cases are still
    written.
    Raises BadInput.
    """
    if options.use is not None:
        return use_references.run_use(options)
    if options.allow_lower != bool(options.reason and options.reason.strip()):
        raise BadInput("--allow-lower and --reason TEXT belong together: give the reason for lower references")
    if options.as_is is not None and not options.as_is.strip():
        raise BadInput("--as-is '': give the reason for a slow component, a trend or a step")
    file = options.file or file_with_table(options.table, folders.repository() / "config" / "references")
    with changing(file) if options.write else contextlib.nullcontext():
        return adopt_into_file(file, options)


def file_with_table(table: str | None, folder: Path) -> Path:
    """The file in `folder` that contains the references of the machine that `table` names.

    Returns p2p.yaml if no other file contains references of this machine, or if `table` is None.
    """
    usual = folder / "p2p.yaml"
    if table is None or not folder.is_dir():
        return usual
    machine = table.partition("@")[0]
    for file in reference_files(folder):
        if file != usual and machine in {name.partition("@")[0] for name in References.load(file).names()}:
            return file
    return usual


def adopt_into_file(file: Path, options: argparse.Namespace) -> int:
    """Calculates references, prints the changes, and writes `file` with --write. Returns the exit code of `run_adopt`.

    With --write, the caller must have locked `file`.
    """
    tests, duplicates = selected_tests(options)
    samples, refused = select_usable(tests, options.with_failed)
    say(*(f"left out: {sentence}" for sentence in [*duplicates, *merged_sentences(refused)]))
    present = References.load(file) if file.exists() else References({})
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    changes, lowering, problems = proposed_changes(options, samples, present)
    if not changes and not problems:
        remedy = "no result is usable" if refused else "name records or reports, or remove some of the options"
        raise BadInput(f"no run can be adopted: {remedy}")
    for key, (proposal, found) in {**changes, **lowering}.items():
        say(*summary_lines(key, proposal, found))
    for table in dict.fromkeys(table for _, table, _ in changes):
        other = file_with_table(table, file.parent)
        if other != file and not options.file:  # runs refuse two files with the same references
            problems.append(f"{other} has the references of {table.partition('@')[0]}: add --file {other}")
            changes = {key: change for key, change in changes.items() if key[1] != table}
    proposed = updated_text(text, changes, options.reason, options.as_is)
    print_difference(text, proposed, file)
    refusals = merged_sentences(problems)
    say(*(f"refused: {refusal}" for refusal in refusals))
    if options.write and proposed != text:
        write(file, proposed, changes)
        say(f"{file}: written")
    elif proposed != text:
        say("Nothing was written. Add --write to write the file.")
    if problems:
        extent = f"all but {units.counted(len(changes), 'test case')}" if changes else "nothing was written"
        say(f"REFUSED: {extent}, for {units.counted(len(refusals), 'reason')}: see 'refused:' above")
    return REFUSED if problems else 0


def merged_sentences(sentences: Sequence[str]) -> list[str]:
    """Merges the sentences "A: text" and "B: text" into one sentence "A and 1 more: text"."""
    subjects_by_text: dict[str, list[str]] = {}
    for sentence in sentences:
        subject, _, text = sentence.partition(": ")
        subjects_by_text.setdefault(text or sentence, []).append(subject)
    merged = []
    for text, subjects in subjects_by_text.items():
        more = f" and {len(subjects) - 1:,} more" if len(subjects) > 1 else ""
        merged.append(text if text in subjects else f"{subjects[0]}{more}: {text}")
    return merged


def proposed_changes(
    options: argparse.Namespace, samples: list[propose.Sample], present: References
) -> tuple[Changes, Changes, list[str]]:
    """Compares the references that the runs propose with the present references.

    Returns three values:

    * changes to write
    * changes that are refused, because they would lower references
    * sentences about the refused test cases
    """
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
        lowered = sum(change.kind == "lowered" for change in found)
        if lowered and not options.allow_lower:
            lowering[key] = (proposal, found)
            why = "would be lowered: find the cause, or accept lower references with --allow-lower --reason TEXT"
            problems.append(f"{name}: {units.counted(lowered, 'reference')} {why}")
            continue
        classes[check, table] = adopted
        changes[key] = (proposal, found)
    return changes, lowering, problems


def runs_by_testcase(
    options: argparse.Namespace, samples: list[propose.Sample]
) -> tuple[dict[Key, list[list[propose.Sample]]], list[str]]:
    """Groups the runs of each test case. All runs of a group measured the same variant, size and endpoints.

    Returns two values:

    * {(check, table, test case): its groups}. The runs of a group are in order of time.
    * sentences about refused groups. A test case with a refused group is missing in the first value.
    """
    found: dict[Key, list[list[propose.Sample]]] = {}
    refused: set[Key] = set()
    problems: list[str] = []
    for group in propose.group_samples(samples).values():
        first, name = group[0], group[0].result["testcase"]
        if options.testcase and name not in options.testcase:
            continue
        group = sorted(group, key=lambda sample: sample.record["started"])[-(options.runs or len(group)) :]
        try:
            requested = options.table and with_variant(options.table, first.variant)
            table = requested or single_table({sample.table for sample in group}, name)
            key = (first.check, table, name)
            found.setdefault(key, []).append(group)
            refused.add(key)
            propose.refuse_runs(name, group)
            refused.discard(key)
        except BadInput as error:
            problems.append(str(error))
    return {key: groups for key, groups in found.items() if key not in refused}, problems


def reference_floor(text: str) -> Floor:
    """The smallest tolerances that a reference may get, as fractions. Raises BadInput.

    text: the value of --floor, two percentages such as "2,5".
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)", text)
    if match is None or not (0 < float(match[1]) < 100 and 0 < float(match[2]) < 1000):
        raise BadInput(f"--floor '{text}' is not two percentages: write them as 2,5")
    return Floor(float(match[1]) / 100, float(match[2]) / 100)


def selected_tests(options: argparse.Namespace) -> tuple[list[testcases.Test], list[str]]:
    """Returns (tests that the options select, sentences about omitted duplicates of these tests). Raises BadInput."""
    if options.runs is not None and options.runs < propose.FEWEST:
        raise BadInput(
            f"--runs {options.runs}: too few runs: noise can be estimated from {propose.FEWEST} or more runs"
        )
    found = arguments.selected_runs(options)
    if not found:
        raise BadInput(f"there are no reports in {folders.prefix() / 'reports'}: measure first, or name records")
    return [test for run in found for test in run.tests], [sentence for run in found for sentence in run.again]


def single_table(names: set[str], testcase: str) -> str:
    """The only name in `names`. Raises BadInput if `names` contains no name or several names.

    names: the tables of references that the runs of the test case use.
    """
    if len(names) != 1 or not next(iter(names)):
        listed = ", ".join(sorted(filter(None, names)))
        what = f"its runs name the tables {listed}" if listed else "its runs name no table of references"
        raise BadInput(f"{testcase}: {what}: choose one with --table NAME")
    return next(iter(names))


def summary_lines(key: tuple[str, str, str], proposal: Proposal, changes: list[Change]) -> Iterator[str]:
    """The printed lines about the proposed references of one test case.

    key: (check, table, test case).
    """
    counts = {kind: sum(change.kind == kind for change in changes) for kind in ("new", "kept", "raised", "lowered")}
    listed = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    yield f"{key[1]}, {key[2]}: {proposal.runs} runs, {listed}"
    for group, sigma in proposal.spreads.items():
        median = proposal.summaries[group].median
        k = noise.sigma_limit_of_runs(proposal.cells, proposal.runs)
        yield (
            f"  {group}: median {median.value:g} {median.unit}, sigma {100 * sigma:.3f} %, limits"
            f" {100 * (median.lower or 0):+.1f} % and {100 * (median.upper or 0):+.1f} %: the larger of the floor and"
            f" k·sigma = {100 * k * sigma:.2f} % (k {k:.1f} for {proposal.cells} cells)"
        )
    for sentence in proposal.noisy[:5]:
        yield f"  outlier: {sentence}"
    for sentence in proposal.slow[:5]:
        yield f"  as it is: {sentence}"
    worst = sorted(
        (change for change in changes if change.kind in ("raised", "lowered") and change.present),
        key=lambda change: change.proposed.value / change.present.value,
    )
    for change in worst[:5]:
        assert change.present
        old, new = change.present.value, change.proposed.value
        yield f"  {change.kind}: {change.variable} {old:g} -> {new:g} ({100 * (new / old - 1):+.1f} %)"


def print_difference(old: str, new: str, file: Path) -> None:
    """Prints the first MOST_LINES lines of a unified diff, and the number of omitted lines."""
    found = list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), str(file), f"{file} (proposed)", "", "", 1, "")
    )
    say(*found[:MOST_LINES])
    if len(found) > MOST_LINES:
        say(f"… and {len(found) - MOST_LINES} more lines")
