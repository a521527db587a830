"""Published systems: config/references/published/*.yaml, figures of other machines to put a run beside.

They are no references: nobody is held against them, but the systems that they are of (config/references/abci.yaml).
Each table names the line of the document that it comes from, and `python tests/tools/published_files.py` writes the
files again out of tests/data/documents; a test does the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from .. import suite
from ..errors import BadInput

FOLDER = suite.REFERENCES / "published"
NAMES = ("ppu", "abci:anode", "abci:vnode", "a100-roce", "h800", "a800")
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def file_of(name: str, folder: Path = FOLDER) -> Path:
    """Where a system is kept; ':' is no character of a file's name everywhere."""
    return folder / f"{name.replace(':', '-')}.yaml"


def names(folder: Path = FOLDER) -> list[str]:
    """All published systems that are there."""
    return [name for name in NAMES if file_of(name, folder).is_file()]


def load(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The content of a system's file. Raises BadInput."""
    file = file_of(name, folder)
    known = ", ".join(names(folder)) or "none"
    unknown = BadInput(f"there is no published system '{name}' in {folder} (known: {known})")
    if name not in NAMES:  # "abci-anode" is a file's name, and no system's
        raise unknown
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=Loader)
        if content["system"] != name or not isinstance(content["tables"], list):
            raise ValueError("it is not the table of this system")
    except OSError:
        raise unknown from None
    except (yaml.YAMLError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{file} cannot be used, write it again: {' '.join(str(error).split())[:160]}") from None
    return content
