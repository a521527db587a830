"""Writes proposed references to their file. The file is written completely or not at all."""

import copy
import io
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
from ..references.reading import CLASSES, Reference, Table, format_number
from ..references.tables import References
from ..runs.manifest import person
from .cells import adopted_class, with_pair_rows
from .propose import Proposal

ADOPTED, LOWERED, AS_IS = "# adopted: ", "# lowered: ", "# as is: "


class Change(NamedTuple):
    """The change of one reference in a file.

    * variable: the row of the file
    * present: the reference in the file; None for a new reference
    * kind: "new", "kept", "raised" or "lowered"
    """

    variable: str
    present: Reference | None
    proposed: Reference
    kind: str


def differences(present: Table, proposal: Proposal) -> Iterator[Change]:
    """Yields the change of each row of the proposal. present: the rows of the table in the file."""
    noise_limit = max(
        0.001, *(noise.tolerance(sigma, proposal.cells, proposal.runs) / 2 for sigma in proposal.spreads.values())
    )
    for variable, proposed in proposal.table.items():
        known = present.get(variable)
        if known is None or known.unit != proposed.unit:
            yield Change(variable, known, proposed, "new")
            continue
        better = proposed.value / known.value - 1
        better = -better if proposed.unit == "us" else better
        kind = "kept" if abs(better) <= noise_limit else "raised" if better > 0 else "lowered"
        yield Change(variable, known, proposed, kind)


def table_changes(present: Table, proposal: Proposal, classes: PairClasses) -> list[Change]:
    """The changes that a proposal makes in a table. The proposal is a result of `cells.fit_to_table`.

    * present: the rows of the table
    * classes: the adopted and the proposed classes

    If the reference of a link class changes, a pair of the class keeps its old reference in a row of its own. If a pair
    moves to another class, it also keeps its old reference.
    """
    found = list(differences(with_pair_rows(present, proposal, classes), proposal))
    changed = {change.variable for change in found if change.kind in ("raised", "lowered")}
    moved = {str(pair) for pairs in proposal.moved.values() for pair in pairs}
    for place, change in enumerate(found):
        group, _ = proposal.pairs.get(change.variable, ("", None))
        class_row = f"cell[{adopted_class(change.variable, group, classes)}]"
        other = class_row in changed or change.variable in moved
        if change.kind == "kept" and change.present and change.variable not in present and other:
            found[place] = Change(change.variable, None, change.present, "new")
    return found


def updated_text(
    text: str,
    changes: dict[tuple[str, str, str], tuple[Proposal, list[Change]]],
    reason: str | None,
    as_is: str | None = None,
) -> str:
    """The text of the file with the new, raised and lowered references. Comments and other rows stay unchanged.

    * changes: {(check, name of the table, test case): (proposal, its changes)}
    * reason, as_is: texts of the options --reason and --as-is, which become comments

    Raises BadInput if the text is not valid YAML.
    """
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
        kept = all(change.kind == "kept" for change in found)
        if kept and not (proposal.groups or proposal.moved):
            continue
        changed = True
        entry = content.setdefault(check, CommentedMap())
        cases = entry.setdefault(table, CommentedMap())
        if (proposal.groups or proposal.moved) and add_classes(content, cases, proposal):
            inserted.add((check, table))
        if kept:
            continue
        references = cases.setdefault(testcase, CommentedMap())
        if has_yaml_alias(content, references):  # by an alias: the references of the other check do not change
            references = cases[testcase] = copy.deepcopy(references)
            references.yaml_set_anchor("", always_dump=False)
        for change in found:
            if change.kind != "kept":
                write_reference(references, change)
        author = f"{date.today().isoformat()} by {person()}, "
        notes[check, table, testcase] = [ADOPTED + author + "; ".join(proposal.provenance)]
        if any(change.kind == "lowered" for change in found) and reason:
            notes[check, table, testcase].append(LOWERED + author + " ".join(reason.split()))
        if proposal.slow and as_is:
            sentences = [" ".join(text.split()) for text in (as_is, *proposal.slow)]
            notes[check, table, testcase].append(AS_IS + author + " | ".join(sentences))
    stream = io.StringIO()
    if content:
        yaml.dump(content, stream)
    return with_notes(stream.getvalue(), notes, inserted) if changed else text


def has_yaml_alias(content: CommentedMap, references: CommentedMap) -> bool:
    """Whether several test cases use the mapping `references` through a YAML alias."""
    every = [
        case
        for entry in content.values()
        for name, table in entry.items()
        if name != "$index"
        for case in table.values()
    ]
    return sum(case is references for case in every) > 1


def add_classes(content: CommentedMap, cases: CommentedMap, proposal: Proposal) -> bool:
    """Adds the proposed link classes to `$classes` of a table. Returns whether `$classes` is new.

    `$classes` is above the test cases of the table (`cases`). A pair that moves to another class is removed from its
    old class if the old class lists the pair separately.
    """
    if inserted := CLASSES not in cases:
        cases.insert(0, CLASSES, CommentedMap())
    elif has_yaml_alias(content, cases[CLASSES]):
        cases[CLASSES] = copy.deepcopy(cases[CLASSES])
        cases[CLASSES].yaml_set_anchor("", always_dump=False)
    known = cases[CLASSES]
    moved = {pair for pairs in proposal.moved.values() for pair in pairs}
    for name, groups in PairClasses.read(known).groups.items():
        if moved.intersection(groups):
            known[name] = ", ".join(str(one) for one in groups if one not in moved)
    for new in (proposal.groups, proposal.moved):
        for name, groups in new.items():
            known[name] = ", ".join(filter(None, (known.get(name), *map(str, groups))))
    for name in [name for name, text in known.items() if not text]:
        del known[name]
    return inserted


def one_line_list(items: list[Any]) -> CommentedSeq:
    """A YAML list that is written on one line."""
    sequence = CommentedSeq(items)
    sequence.fa.set_flow_style()
    return sequence


def write_reference(references: CommentedMap, change: Change) -> None:
    """Writes a reference to a table. An existing reference is changed in place, so that its comment is kept."""
    r = change.proposed
    yaml = YAML(typ="rt")
    # written as 395.57, not 395.570000
    numbers = [None if number is None else yaml.load(format_number(number)) for number in (r.value, r.lower, r.upper)]
    known = references.get(change.variable)
    if isinstance(known, CommentedSeq) and len(known) == 4:
        for place, item in enumerate([*numbers, r.unit]):
            known[place] = item
    else:
        references[change.variable] = one_line_list([*numbers, r.unit])


def with_notes(text: str, notes: dict[tuple[str, str, str], list[str]], inserted: set[tuple[str, str]]) -> str:
    """Adds comments about the origin of the references above each test case. Returns the new text.

    * notes: {(check, name of the table, test case): comment lines}. The lines replace old ADOPTED comments.
    * inserted: (check, name of the table) of tables with new `$classes`. Comments above `$classes` move to the first
      test case of the table.
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
            # `clean` removes line ends: a record could contain a line end in the version of its driver
            lines += [f"    {clean(note)}" for note in notes[check, table, name]]
        lines.append(line)
    return "\n".join(lines) + "\n"


def comments_above(lines: list[str]) -> int:
    """The index of the first line of the comment block at the end of `lines`.

    If the last line is no comment, the index is the number of lines.
    """
    above = len(lines)
    while above and lines[above - 1].strip().startswith("#"):
        above -= 1
    return above


def write(file: Path, text: str, changes: dict[tuple[str, str, str], tuple[Proposal, list[Change]]]) -> None:
    """Writes the file. Raises BadInput if `text` lacks a proposed reference. Raises OSError if writing fails."""
    read = References.read(text, file)
    for (check, table, testcase), (proposal, found) in changes.items():
        known = read.for_check(check)
        classes = known.pair_classes(table)
        written = with_pair_rows(known.table(table, testcase), proposal, classes)
        new = (*proposal.groups.items(), *proposal.moved.items())
        if any(not set(groups) <= set(classes.groups.get(name, ())) for name, groups in new):
            raise BadInput(f"{file}: {table}, {CLASSES} cannot be written correctly: the file is unchanged")
        for change in found:
            wanted = change.present if change.kind == "kept" else change.proposed
            if written.get(change.variable) != wanted:
                where = f"{file}: {table}, {testcase}, {change.variable}"
                raise BadInput(f"{where} cannot be written correctly: the file is unchanged")
    write_whole(file, text.encode())
