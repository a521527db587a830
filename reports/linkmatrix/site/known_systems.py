"""The names of the systems in config/systems and of their partitions, read without running the files."""

import ast
import difflib
from collections.abc import Iterable
from pathlib import Path

from ..errors import BadInput
from ..files import MOST_BYTES, read_whole

NEW = "; for a new one, 'linkmatrix detect --system NAME' writes a file into config/systems"


def unknown_name_error(wanted: str, folders: Iterable[Path]) -> str:
    """An error message if a system or partition does not exist, with the existing names; "" for a known name.

    Also returns "" if a system file does not contain its name as literal text. Only ReFrame can then check the name.
    wanted: "SYSTEM" or "SYSTEM:PARTITION".
    """
    known = {}
    files = {file.name: file for folder in folders for file in sorted(folder.glob("*.py"))}
    for file in files.values():
        name, partitions = read_names(file)
        if not name:
            return ""  # only ReFrame, which runs the file, can check the name
        known[name] = partitions
    name, _, partition = wanted.partition(":")
    if name not in known:
        return f"there is no system '{name}'{suggestion(name, known)}: name one of {', '.join(sorted(known))}{NEW}"
    if partition and known[name] and partition not in known[name]:
        there = known[name]
        return f"'{name}' has no partition '{partition}'{suggestion(partition, there)}: name one of {', '.join(there)}"
    return ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The text " (is 'NAME' meant?)" with the most similar known name; "" if no known name is similar."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f" (is '{close[0]}' meant?)" if close else ""


def read_names(file: Path) -> tuple[str, list[str]]:
    """Returns (name of the system, names of its partitions) from a system file, without running the file.

    The names are "" and [] if the file does not contain them as literal text.
    """
    try:
        system = system_entry(read_whole(file, MOST_BYTES))
    except BadInput:
        return "", []
    names = [literal_text(one, "name") for one in partition_entries(system)]
    return literal_text(system, "name"), names if all(names) else []


def system_entry(source: str | bytes) -> ast.expr | None:
    """The value of `system` in the source code of a system file; None if the code does not define `system`."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for statement in module.body:
        if isinstance(statement, ast.Assign) and any(ast.unparse(one) == "system" for one in statement.targets):
            return statement.value
    return None


def partition_entries(system: ast.expr | None) -> list[ast.expr]:
    """The entries of the list of partitions; [] if the list is not literal."""
    partitions = dict_entry(system, "partitions")
    return partitions.elts if isinstance(partitions, ast.List) else []


def literal_text(node: ast.expr | None, key: str) -> str:
    """The value of a key in a dictionary, if the value is literal text; else ""."""
    value = dict_entry(node, key)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def dict_entry(node: ast.expr | None, key: str) -> ast.expr | None:
    """The syntax tree of the value of a key in a dictionary; None if the dictionary lacks the key."""
    if not isinstance(node, ast.Dict):
        return None
    entries = zip(node.keys, node.values, strict=True)
    return next((value for at, value in entries if isinstance(at, ast.Constant) and at.value == key), None)
