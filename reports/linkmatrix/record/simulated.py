"""Whether a record was measured with a simulated fault (`--simulate-fault`)."""

from collections.abc import Mapping
from typing import Any

NOTE = "simulated fault: "  # begins the note that every program writes into such a record


def simulated_fault(record: Mapping[str, Any]) -> str:
    """The simulated fault as it was given on the command line, "" of a real measurement."""
    notes = (str(note) for note in record.get("notes") or [])
    return next((note.removeprefix(NOTE) for note in notes if note.startswith(NOTE)), "")
