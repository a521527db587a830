"""What a proposal would change in a file of references, and how it gets there: whole or not at all."""

import copy
import getpass
import io
import os
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from ..errors import BadInput, clean
from ..files import write_whole
from ..references import noise
from ..references.pair_classes import PairClasses
from ..references.reading import CLASSES, Reference, Table, plain
from ..references.tables import References
from .pairs import adopted_class, with_cells
from .propose import Proposal

ADOPTED, LOWERED, AS_IS = "# adopted: ", "# lowered: ", "# as is: "


class Change(NamedTuple):
    """One variable: what is there (None: nothing), what is proposed, and "new", "kept", "raised" or "lowered"."""

    variable: str
    present: Reference | None
    proposed: Reference
    kind: str


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


def changes_of(present: Table, proposal: Proposal, classes: PairClasses) -> list[Change]:
    """What a proposal that fits a table would do to its rows `present`. classes: adopted ones, with those proposed.

    A pair that keeps the reference of its class gets it as a row of its own where that of the class changes.
    """
    found = list(differences(with_cells(present, proposal, classes), proposal))
    moved = {one.variable for one in found if one.kind in ("raised", "lowered")}
    for place, one in enumerate(found):
        group, _ = proposal.pairs.get(one.variable, ("", None))
        of_class = f"cell[{adopted_class(one.variable, group, classes)}]"
        if one.kind == "kept" and one.present and one.variable not in present and of_class in moved:
            found[place] = Change(one.variable, None, one.present, "new")
    return found


def updated(
    text: str,
    changes: dict[tuple[str, str, str], tuple[Proposal, list[Change]]],
    reason: str | None,
    as_is: str | None = None,
) -> str:
    """The file with what is new, raised and lowered; everything else, comments too, as it was. Raises BadInput."""
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 10**6
    try:
        content = yaml.load(text) or CommentedMap()
    except YAMLError as error:
        raise BadInput(f"the file of references is not valid YAML: {' '.join(str(error).split())[:200]}") from None
    notes: dict[tuple[str, str, str], list[str]] = {}
    inserted: set[tuple[str, str]] = set()
    changed = False
    for (check, table, testcase), (proposal, found) in changes.items():
        kept = all(one.kind == "kept" for one in found)
        if kept and not proposal.groups:
            continue
        changed = True
        entry = content.setdefault(check, CommentedMap())
        cases = entry.setdefault(table, CommentedMap())
        if proposal.groups and put_classes(content, cases, proposal):
            inserted.add((check, table))
        if kept:
            continue
        references = cases.setdefault(testcase, CommentedMap())
        if shared(content, references):  # by an alias: what the other check has stays
            references = cases[testcase] = copy.deepcopy(references)
            references.yaml_set_anchor("", always_dump=False)
        for one in found:
            if one.kind != "kept":
                put(references, one)
        who = f"{date.today().isoformat()} by {person()}, "
        notes[check, table, testcase] = [ADOPTED + who + "; ".join(proposal.provenance)]
        if any(one.kind == "lowered" for one in found) and reason:
            notes[check, table, testcase].append(LOWERED + who + " ".join(reason.split()))
        if proposal.sick and as_is:
            said = [" ".join(text.split()) for text in (as_is, *proposal.sick)]
            notes[check, table, testcase].append(AS_IS + who + " | ".join(said))
    stream = io.StringIO()
    if content:
        yaml.dump(content, stream)
    return with_notes(stream.getvalue(), notes, inserted) if changed else text


def shared(content: CommentedMap, references: CommentedMap) -> bool:
    """Is a test case's mapping that of another one too?"""
    every = [
        case
        for entry in content.values()
        for name, table in entry.items()
        if name != "$index"
        for case in table.values()
    ]
    return sum(case is references for case in every) > 1


def put_classes(content: CommentedMap, cases: CommentedMap, proposal: Proposal) -> bool:
    """Adds the proposed classes of pairs to those of a table, on top of its test cases. Returns whether it had none."""
    if inserted := CLASSES not in cases:
        cases.insert(0, CLASSES, CommentedMap())
    elif shared(content, cases[CLASSES]):
        cases[CLASSES] = copy.deepcopy(cases[CLASSES])
        cases[CLASSES].yaml_set_anchor("", always_dump=False)
    there = cases[CLASSES]
    for name, text in PairClasses(proposal.groups).texts().items():
        there[name] = f"{there[name]}, {text}" if name in there else text
    return inserted


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


def with_notes(text: str, notes: dict[tuple[str, str, str], list[str]], inserted: set[tuple[str, str]]) -> str:
    """Provenance as comments above each test case; the last adoption replaces the one before, reasons stay.

    inserted: tables that have got classes on top. Comments above these are those of the first test case.
    """
    lines: list[str] = []
    moved: list[str] = []
    check = table = ""
    for line in text.splitlines():
        key = re.match(r"^( {0,4})(?:'([^']+)'|\"([^\"]+)\"|([^\s#'\"][^:]*)):(?: |$)", line)
        name = next((found for found in key.groups()[1:] if found), "") if key else ""
        if key and len(key[1]) == 0:
            check, table = name, ""
        elif key and len(key[1]) == 2:
            table = name
        elif key and name == CLASSES and (check, table) in inserted:
            above = comments_above(lines)
            moved, lines[above:] = lines[above:], []
        elif key:
            lines += moved
            moved = []
        if key and len(key[1]) == 4 and (check, table, name) in notes:
            above = comments_above(lines)
            lines[above:] = [one for one in lines[above:] if not one.strip().startswith(ADOPTED)]
            # what a record says of its driver may have a line end, and references behind it
            lines += [f"    {clean(note)}" for note in notes[check, table, name]]
        lines.append(line)
    return "\n".join(lines) + "\n"


def comments_above(lines: list[str]) -> int:
    """Where the comments at the end of the lines begin."""
    above = len(lines)
    while above and lines[above - 1].strip().startswith("#"):
        above -= 1
    return above


def write(file: Path, text: str, changes: dict[tuple[str, str, str], tuple[Proposal, list[Change]]]) -> None:
    """Whole or not at all, and only what reads back as it was meant. Raises BadInput, OSError."""
    read = References.read(text, file)
    for (check, table, testcase), (proposal, found) in changes.items():
        known = read.of_check(check)
        classes = known.pair_classes(table)
        written = with_cells(known.table(table, testcase), proposal, classes)
        if any(not set(groups) <= set(classes.groups.get(name, ())) for name, groups in proposal.groups.items()):
            raise BadInput(f"{file}: {table}, {CLASSES} would not read back: nothing is written")
        for one in found:
            wanted = one.present if one.kind == "kept" else one.proposed
            if written.get(one.variable) != wanted:
                raise BadInput(f"{file}: {table}, {testcase}, {one.variable} would not read back: nothing is written")
    write_whole(file, text.encode())
