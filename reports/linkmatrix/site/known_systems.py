"""The names of the systems in config/systems and of their partitions, read without running the files."""

import ast
import difflib
from collections.abc import Iterable
from pathlib import Path

NEW = "; for a new one, 'linkmatrix detect --system NAME' writes a file into config/systems"


def unknown_name_error(wanted: str, folders: Iterable[Path]) -> str:
    """A sentence about an unknown SYSTEM or SYSTEM:PARTITION, with the known names; "" if the name is known."""
    known = {}
    files = {file.name: file for folder in folders for file in sorted(folder.glob("*.py"))}
    for file in files.values():
        name, partitions = read_names(file)
        if not name:
            return ""  # only a run of the file gives the name; ReFrame then checks the name
        known[name] = partitions
    name, _, partition = wanted.partition(":")
    if name not in known:
        return f"there is no system '{name}'{suggestion(name, known)}: name one of {', '.join(sorted(known))}{NEW}"
    if partition and known[name] and partition not in known[name]:
        there = known[name]
        return f"'{name}' has no partition '{partition}'{suggestion(partition, there)}: name one of {', '.join(there)}"
    return ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """ " (is 'NAME' meant?)" with the closest known name; "" if none is close."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f" (is '{close[0]}' meant?)" if close else ""


def read_names(file: Path) -> tuple[str, list[str]]:
    """(name of the system, names of its partitions) in a system file; "" and [] for names that are no literals."""
    try:
        module = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return "", []
    for statement in module.body:
        if isinstance(statement, ast.Assign) and any(ast.unparse(one) == "system" for one in statement.targets):
            partitions = dict_entry(statement.value, "partitions")
            names = [literal_name(one) for one in partitions.elts] if isinstance(partitions, ast.List) else [""]
            return literal_name(statement.value), names if all(names) else []
    return "", []


def literal_name(node: ast.expr) -> str:
    """The literal value of "name" in a dictionary; "" for none."""
    name = dict_entry(node, "name")
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""


def dict_entry(node: ast.expr | None, key: str) -> ast.expr | None:
    """The value of a literal key in a dictionary; None for none."""
    if not isinstance(node, ast.Dict):
        return None
    entries = zip(node.keys, node.values, strict=True)
    return next((value for at, value in entries if isinstance(at, ast.Constant) and at.value == key), None)
