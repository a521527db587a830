"""`linkmatrix adopt`: propose, show the difference, and write on demand. A reference is never rolled along.

A reference that is there stays as long as the new runs agree with it within their noise. One that the runs exceed is
raised; one that they do not reach is lowered only with --allow-lower and a reason, which stays in the file.
"""

import argparse
import difflib
import getpass
import io
import os
import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from . import adopt, noise, runs
from .adopt import Floor, Proposal
from .errors import BadInput
from .references import INDEX, Reference, References, Table, plain

REFUSED = 1
MOST_LINES = 60  # of a difference; the rest is counted
CHECKS = [(r"^rank_", "rank_p2p"), (r"", "intranode_p2p")]
ADOPTED, LOWERED = "# adopted: ", "# lowered: "


class Change(NamedTuple):
    """One variable: what is there (None: nothing), what is proposed, and "new", "kept", "raised" or "lowered"."""

    variable: str
    present: Reference | None
    proposed: Reference
    kind: str


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `adopt`."""
    command.add_argument(
        "paths", nargs="*", type=Path, metavar="RUN", help="records, reports or folders; default: all stored reports"
    )
    command.add_argument("--table", metavar="NAME", help="of references; default: the one that the partition names")
    command.add_argument("--runs", type=int, metavar="K", help="only the K newest of each test case")
    command.add_argument("--since", metavar="DATE", help="only runs that started on 2026-11-21 or later")
    command.add_argument("--session", action="append", metavar="ID", help="only this ReFrame session; several times")
    command.add_argument("--system", metavar="S:P", help="only this system and partition")
    command.add_argument("--testcase", action="append", metavar="NAME", help="only this one; several times")
    command.add_argument("--file", type=Path, metavar="YAML", help="default: config/references/p2p.yaml")
    command.add_argument("--check", metavar="NAME", help="its entry in the file; default: by the test case's name")
    command.add_argument("--floor", metavar="LOWER,UPPER", help="least tolerances in percent, such as 2,5")
    command.add_argument("--with-outliers", action="store_true", help="adopt though runs contain outliers")
    command.add_argument("--with-failed", action="store_true", help="adopt from runs that failed, too")
    command.add_argument("--allow-lower", action="store_true", help="lower references that the runs do not reach")
    command.add_argument("--reason", metavar="TEXT", help="why they may be lowered; it stays in the file")
    command.add_argument(
        "--write", action="store_true", help="change the file; without it only the difference is shown"
    )
    command.set_defaults(command=run_adopt)


def run_adopt(options: argparse.Namespace) -> int:
    """Exit code 1 where something is refused, and then nothing is written. Raises BadInput."""
    if options.allow_lower != bool(options.reason and options.reason.strip()):
        raise BadInput("--allow-lower and --reason TEXT belong together: say why references may be lowered")
    file = options.file or runs.repository() / "config" / "references" / "p2p.yaml"
    floor = floor_of(options.floor) if options.floor else None
    tests = list(selected(options))
    samples, refused = adopt.usable(tests, options.with_failed)
    for sentence in refused:
        print(f"left out: {sentence}")
    present = References.load(file) if file.exists() else References({})
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    sources = {str(test.path or test.name): test.reference for test in tests}
    changes: dict[tuple[str, str, str], tuple[Proposal, list[Change]]] = {}
    problems: list[str] = []
    for group in adopt.grouped(samples).values():
        name = group[0].result["testcase"]
        if options.testcase and name not in options.testcase:
            continue
        group = sorted(group, key=lambda sample: sample.record["started"])[-(options.runs or len(group)) :]
        try:
            table = options.table or table_of({sources[sample.source] for sample in group}, name)
            proposal = adopt.propose(group, options.with_outliers, floor)
        except BadInput as error:
            problems.append(str(error))
            continue
        check = options.check or next(check for pattern, check in CHECKS if re.search(pattern, name))
        key = (check, table, name)
        if key in changes:
            problems.append(f"{name}: the runs measured it in several ways or sizes: choose with --since or --session")
            continue
        changes[key] = (proposal, list(differences(present.table(table, name), proposal)))
    if not changes and not problems:
        raise BadInput("no run is left to adopt from: name records or reports, or leave out some of the options")
    for key, (proposal, found) in changes.items():
        print("\n".join(summary(key, proposal, found)))
    lowered = [one for _, found in changes.values() for one in found if one.kind == "lowered"]
    if lowered and not options.allow_lower:
        problems.append(f"{len(lowered)} references would be lowered: find out why, then --allow-lower --reason TEXT")
    proposed = updated(text, changes, options.reason)
    show_difference(text, proposed, file)
    for problem in problems:
        print(f"refused: {problem}")
    if problems:
        return REFUSED
    if options.write and proposed != text:
        write(file, proposed, changes)
        print(f"{file}: written")
    elif proposed != text:
        print("Nothing was written: --write does.")
    return 0


def floor_of(text: str) -> Floor:
    """ "2,5" as fractions. Raises BadInput."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)", text)
    if match is None or not (0 < float(match[1]) < 100 and 0 < float(match[2]) < 1000):
        raise BadInput(f"--floor '{text}' is not two percentages: write them as 2,5")
    return Floor(float(match[1]) / 100, float(match[2]) / 100)


def selected(options: argparse.Namespace) -> Iterator[runs.Test]:
    """The tests that the options choose. Raises BadInput."""
    since = None
    if options.since:
        try:
            since = date.fromisoformat(options.since)
        except ValueError:
            raise BadInput(f"--since '{options.since}' is no date: write it as 2026-11-21") from None
    if options.runs is not None and options.runs < adopt.FEWEST:
        raise BadInput(f"--runs {options.runs}: too few runs, at least {adopt.FEWEST} are needed to know their noise")
    paths = options.paths or runs.reports(runs.prefix())
    if not paths:
        raise BadInput(f"there are no reports in {runs.prefix() / 'reports'}: measure first, or name records")
    for path in paths:
        run = runs.find(path)
        if options.session and not ({run.session, path.stem.removeprefix("run-report-")} & set(options.session)):
            continue
        for test in run.tests:
            if options.system and test.partition != options.system:
                continue
            if since and test.record and datetime.fromisoformat(test.record["started"][:10]).date() < since:
                continue
            yield test


def table_of(names: set[str], testcase: str) -> str:
    """The one table that the partitions of the runs name. Raises BadInput."""
    if len(names) != 1 or not next(iter(names)):
        said = ", ".join(sorted(filter(None, names))) or "none"
        raise BadInput(f"{testcase}: its runs name the tables {said}: choose one with --table NAME")
    return next(iter(names))


def differences(present: Table, proposal: Proposal) -> Iterator[Change]:
    """What the proposal would do to each variable."""
    noise_limit = max(
        0.001, *(noise.tolerance(sigma, proposal.cells, proposal.runs) / 2 for sigma in proposal.spreads.values())
    )
    for variable, proposed in proposal.table.items():
        there = present.get(variable)
        if there is None or there.unit != proposed.unit:
            yield Change(variable, there, proposed, "new")
            continue
        better = proposed.value / there.value - 1
        better = -better if proposed.unit == "us" else better
        kind = "kept" if abs(better) <= noise_limit else "raised" if better > 0 else "lowered"
        yield Change(variable, there, proposed, kind)


def summary(key: tuple[str, str, str], proposal: Proposal, changes: list[Change]) -> Iterator[str]:
    """What is proposed for a test case, in a few lines."""
    counts = {kind: sum(one.kind == kind for one in changes) for kind in ("new", "kept", "raised", "lowered")}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    yield f"{key[1]}, {key[2]}: {proposal.runs} runs, {said}"
    for group, sigma in proposal.spreads.items():
        middle = proposal.table[f"median[{group}]"]
        limit = noise.tolerance(sigma, proposal.cells, proposal.runs)
        yield (
            f"  {group}: median {middle.value:g} {middle.unit}, sigma {100 * sigma:.3f} %, limits"
            f" {100 * (middle.lower or 0):+.1f} % and {100 * (middle.upper or 0):+.1f} %: the larger of the floor and"
            f" k·sigma = {100 * limit:.2f} % (k {noise.sigmas(proposal.cells):.1f} for {proposal.cells} cells)"
        )
    for sentence in proposal.noisy[:5]:
        yield f"  outlier: {sentence}"
    worst = sorted(
        (one for one in changes if one.kind in ("raised", "lowered") and one.present),
        key=lambda one: one.proposed.value / one.present.value,
    )
    for one in worst[:5]:
        assert one.present
        percent = 100 * (one.proposed.value / one.present.value - 1)
        yield f"  {one.kind}: {one.variable} {one.present.value:g} -> {one.proposed.value:g} ({percent:+.1f} %)"


def updated(text: str, changes: dict[tuple[str, str, str], tuple[Proposal, list[Change]]], reason: str | None) -> str:
    """The file with what is new, raised and lowered; everything else, comments too, as it was. Raises BadInput."""
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 10**6
    try:
        content = yaml.load(text) or CommentedMap()
    except YAMLError as error:
        raise BadInput(f"the file of references is not valid YAML: {' '.join(str(error).split())[:200]}") from None
    notes: dict[tuple[str, str, str], list[str]] = {}
    for (check, table, testcase), (proposal, found) in changes.items():
        if all(one.kind == "kept" for one in found):
            continue
        entry = content.setdefault(check, CommentedMap())
        if "$index" not in entry:
            entry["$index"] = flow(INDEX)
        cases = entry.setdefault(table, CommentedMap())
        references = cases.setdefault(testcase, CommentedMap())
        for one in found:
            if one.kind != "kept":
                put(references, one)
        who = f"{date.today().isoformat()} by {person()}, "
        notes[check, table, testcase] = [ADOPTED + who + "; ".join(proposal.provenance)]
        if any(one.kind == "lowered" for one in found) and reason:
            notes[check, table, testcase].append(LOWERED + who + " ".join(reason.split()))
    stream = io.StringIO()
    if content:
        yaml.dump(content, stream)
    return with_notes(stream.getvalue(), notes) if notes else text


def person() -> str:
    """Who adopts; a container may have no name for it."""
    try:
        return re.sub(r"[^\w.@-]", "?", getpass.getuser())
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def flow(items: list[Any]) -> CommentedSeq:
    """A list on one line."""
    sequence = CommentedSeq(items)
    sequence.fa.set_flow_style()
    return sequence


def put(references: CommentedMap, one: Change) -> None:
    """Writes a reference over the one that is there, in its own list: a comment beside it stays."""
    r = one.proposed
    yaml = YAML(typ="rt")
    # as a person would write them: 395.57, not 395.570000
    numbers = [None if number is None else yaml.load(plain(number)) for number in (r.value, r.lower, r.upper)]
    there = references.get(one.variable)
    if isinstance(there, CommentedSeq) and len(there) == 4:
        for place, item in enumerate([*numbers, r.unit]):
            there[place] = item
    else:
        references[one.variable] = flow([*numbers, r.unit])


def with_notes(text: str, notes: dict[tuple[str, str, str], list[str]]) -> str:
    """Provenance as comments above each test case; the last adoption replaces the one before, reasons stay."""
    lines: list[str] = []
    check = table = ""
    for line in text.splitlines():
        key = re.match(r"^( {0,4})(?:'([^']+)'|\"([^\"]+)\"|([^\s#'\"][^:]*)):(?: |$)", line)
        name = next((found for found in key.groups()[1:] if found), "") if key else ""
        if key and len(key[1]) == 0:
            check, table = name, ""
        elif key and len(key[1]) == 2:
            table = name
        elif key and len(key[1]) == 4 and (check, table, name) in notes:
            above = len(lines)
            while above and lines[above - 1].strip().startswith("#"):
                above -= 1
            lines[above:] = [one for one in lines[above:] if not one.strip().startswith(ADOPTED)]
            lines += [f"    {note}" for note in notes[check, table, name]]
        lines.append(line)
    return "\n".join(lines) + "\n"


def show_difference(old: str, new: str, file: Path) -> None:
    """A unified difference, not more of it than a person reads."""
    found = list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), str(file), f"{file} (proposed)", "", "", 1, "")
    )
    for line in found[:MOST_LINES]:
        print(line)
    if len(found) > MOST_LINES:
        print(f"… and {len(found) - MOST_LINES} more lines")


def write(file: Path, text: str, changes: dict[tuple[str, str, str], tuple[Proposal, list[Change]]]) -> None:
    """Whole or not at all, and only what reads back as it was meant. Raises BadInput."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part.yaml")
    try:
        part.write_text(text, encoding="utf-8")
        read = References.load(part)
        for (_, table, testcase), (_, found) in changes.items():
            for one in found:
                wanted = one.present if one.kind == "kept" else one.proposed
                if read.table(table, testcase).get(one.variable) != wanted:
                    raise BadInput(
                        f"{file}: {table}, {testcase}, {one.variable} would not read back: nothing is written"
                    )
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
