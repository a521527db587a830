"""What all stored reports say of devices, each judged once: by `linkmatrix run`, after every run.

What was found in a report is kept in `suspects.json` of the prefix, beside what it was found by: the references and the
code of this package. Where either changed, the report is judged again. The file can be removed at any time.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import write_whole
from ..references.tables import References
from . import folders, stored
from .suspects import Found, Suspect, found_in, left_by

FILE = "suspects.json"


def suspects(prefix: Path, folder: Path | None, clean_runs: int) -> tuple[list[Suspect], list[str]]:
    """(those that the reports of a prefix leave under suspicion, notes on reports that cannot be read).

    folder: of references, None for the package's own. Raises BadInput, OSError.
    """
    references, by = References.load(folder), fingerprint(folder)
    before = kept(prefix / FILE, by)
    now: dict[str, Any] = {}
    notes = []
    for report in folders.reports(prefix):
        said = report.stat()
        key = f"{report.name} {said.st_size} {said.st_mtime_ns}"
        if key not in before:
            try:
                before[key] = packed(found_in(stored.find(report), references, None))
            except BadInput as error:
                notes.append(f"what is suspect is looked for without one report: {error}")
                continue
        now[key] = before[key]
    write_whole(prefix / FILE, json.dumps({"by": by, "reports": now}, separators=(",", ":")).encode())
    return left_by([unpacked(one) for one in now.values()], clean_runs), notes


def fingerprint(folder: Path | None) -> str:
    """Of all that judges a record: the code, and every file of references."""
    found = hashlib.sha256()
    code, tables = Path(__file__).parents[1].rglob("*.py"), folder.glob("*.yaml") if folder else []
    for file in [*sorted(code), *sorted(tables)]:
        found.update(file.read_bytes())
    return found.hexdigest()


def kept(file: Path, by: str) -> dict[str, Any]:
    """{report: what was found in it} of before; nothing where it was found by something else, or cannot be read."""
    try:
        said = json.loads(file.read_bytes())
        found = said["reports"] if said["by"] == by else {}
        for one in found.values():
            unpacked(one)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return dict(found)


def packed(found: Found) -> list[Any]:
    """As JSON has it: a pair is no key there."""
    return [
        found.when,
        [[*device, reason] for device, reason in found.blamed.items()],
        sorted(map(list, found.clean)),
        [[*device, *place] for device, place in found.seen.items()],
        sorted(found.measured),
    ]


def unpacked(said: list[Any]) -> Found:
    """What `packed` made."""
    when, blamed, clean, seen, measured = said
    return Found(
        when,
        {(node, name): reason for node, name, reason in blamed},
        {(node, name) for node, name in clean},
        {(node, name): (at, label) for node, name, at, label in seen},
        frozenset(measured),
    )
