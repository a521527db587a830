"""The systems of config/systems and their partitions, read without running the files."""

import ast
import difflib
from collections.abc import Iterable
from pathlib import Path

NEW = "; for a new one, 'linkmatrix detect --system NAME' writes a file into config/systems"


def fault(wanted: str, folders: Iterable[Path]) -> str:
    """What is wrong with SYSTEM or SYSTEM:PARTITION, in a sentence that names the known ones; "" if nothing is."""
    known = {}
    files = {file.name: file for folder in folders for file in sorted(folder.glob("*.py"))}
    for file in files.values():
        name, partitions = of_file(file)
        if not name:
            return ""  # the file makes its names when it runs, and ReFrame knows them
        known[name] = partitions
    name, _, partition = wanted.partition(":")
    if name not in known:
        return f"there is no system '{name}'{meant(name, known)}: name one of {', '.join(sorted(known))}{NEW}"
    if partition and known[name] and partition not in known[name]:
        there = known[name]
        return f"'{name}' has no partition '{partition}'{meant(partition, there)}: name one of {', '.join(there)}"
    return ""


def meant(name: str, known: Iterable[str]) -> str:
    """The known name that is closest, as a question."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f" (is '{close[0]}' meant?)" if close else ""


def of_file(file: Path) -> tuple[str, list[str]]:
    """(name, partitions) of a system file; "" and [] for what is not written as a literal."""
    try:
        module = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return "", []
    for statement in module.body:
        if isinstance(statement, ast.Assign) and any(ast.unparse(one) == "system" for one in statement.targets):
            partitions = entry(statement.value, "partitions")
            names = [name_of(one) for one in partitions.elts] if isinstance(partitions, ast.List) else [""]
            return name_of(statement.value), names if all(names) else []
    return "", []


def name_of(node: ast.expr) -> str:
    """The name in a dictionary."""
    name = entry(node, "name")
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""


def entry(node: ast.expr, key: str) -> ast.expr | None:
    """The entry of a dictionary with a literal key; None if there is none."""
    if not isinstance(node, ast.Dict):
        return None
    entries = zip(node.keys, node.values, strict=True)
    return next((value for at, value in entries if isinstance(at, ast.Constant) and at.value == key), None)
