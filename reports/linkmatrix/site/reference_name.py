"""The name of the table of references in a system file: extras['reference'] of a partition.

System files are Python code. Only the comment line that `linkmatrix detect` wrote for this name is changed.
"""

import ast
import json
import re
from collections.abc import Iterable
from pathlib import Path

from ..errors import BadInput
from ..files import changing, write_whole
from .known_systems import dict_entry, literal_text, partition_entries, read_names, system_entry

#: The line of `linkmatrix detect` for the name.
COMMENT = re.compile(r'(\s*)# "reference": "[^"\n]*",?\s*')
GENERIC = "generic"  # the file of machines without a system file


def system_file(system: str, folders: Iterable[Path]) -> Path:
    """The system file of a system. Raises BadInput if no file names the system.

    A file replaces a file of the same name in an earlier folder.
    """
    files = {file.name: file for folder in folders for file in sorted(folder.glob("*.py"))}
    found = next((file for file in files.values() if read_names(file)[0] == system), None)
    if found is None:
        raise BadInput(f"no file in config/systems names the system '{system}': write the name as a plain string")
    return found


def name_table(file: Path, partition: str, table: str) -> str:
    """Changes a system file, so that a partition uses the table of references `table`. Raises BadInput.

    Returns "" after the change. If the change is not possible, returns a sentence with the line to change by hand.
    """
    if file.stem == GENERIC:
        return f"no system file describes this machine: run linkmatrix detect, then linkmatrix adopt --use {table}"
    with changing(file):
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise BadInput(f"{file} is not UTF-8: save it as UTF-8") from None
        entry = partition_entry(text, partition)
        extras = dict_entry(entry, "extras")
        proposed = with_table(text, extras, table)
        if literal_text(dict_entry(partition_entry(proposed, partition), "extras"), "reference") == table:
            write_whole(file, proposed.encode())
            return ""
    by_hand = f'"reference": {json.dumps(table)},'
    if present := dict_entry(extras, "reference"):
        return f"{file}, line {present.lineno}: replace this entry by {by_hand}"
    if extras:
        return f"{file}, line {extras.lineno}: add {by_hand} to the extras of partition '{partition}'"
    line = f", line {entry.lineno}" if entry else ""
    return f"{file}{line}: add {by_hand} to the extras of partition '{partition}'"


def with_table(text: str, extras: ast.expr | None, table: str) -> str:
    """The text of a system file, with `table` as the reference in the given extras.

    The entry replaces the comment line that `linkmatrix detect` wrote. The text does not change if the extras lack this
    line, or already name a reference.
    """
    lines = text.splitlines(keepends=True)
    inside = range(extras.lineno - 1, extras.end_lineno or extras.lineno) if extras else ()
    found = [(number, match) for number in inside if (match := COMMENT.fullmatch(lines[number]))]
    if len(found) == 1 and not dict_entry(extras, "reference"):
        number, match = found[0]
        lines[number] = f'{match[1]}"reference": {json.dumps(table)},\n'
    return "".join(lines)


def partition_entry(text: str, name: str) -> ast.expr | None:
    """The syntax tree of a partition's dictionary in a system file; None if the dictionary is not literal."""
    return next((one for one in partition_entries(system_entry(text)) if literal_text(one, "name") == name), None)
