"""Notes of users about components and slots, such as repairs. The file is `notes.json` of the prefix."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from ..files import changing, read_whole, write_whole
from .components import Component, ComponentNames, Sighting, Slot, is_component, matches_slot, slot_name

FILE = "notes.json"
SCHEMA = "linkmatrix.notes/1"
KINDS = ("note", "repair")
MOST_BYTES = 16 * 1024 * 1024
MOST_TEXT = 1000  # characters


class Note(NamedTuple):
    """A note about a component, about slots, or about both.

    * when: time of the noted action, UTC
    * kind: one of KINDS
    * part: serial number or UUID of the component; "" if the note is about slots only
    * places: the slots
    * written, by: time and author of the note
    """

    when: str
    kind: str
    text: str
    part: str
    places: tuple[Slot, ...]
    written: str
    by: str

    def sentence(self) -> str:
        """The note as text: "2026-11-20 10:00 repair of n12/slot 3: cable reseated (noted by eva)"."""
        objects = [*([f"part {self.part}"] if self.part else []), *(slot_name(place) for place in self.places)]
        of_objects = f" of {' and '.join(objects)}" if objects else ""
        text = f": {self.text}" if self.text else ""
        return f"{self.when[:16].replace('T', ' ')} {self.kind}{of_objects}{text} (noted by {self.by})"


def load(prefix: Path) -> list[Note]:
    """The notes of a prefix, in order of time.

    Raises BadInput for a damaged file, because a lost note may be a repair.
    """
    file = prefix / FILE
    if not file.exists():
        return []
    try:
        content = json.loads(read_whole(file, MOST_BYTES))
        if content["schema"] != SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}")
        notes = [parse_note(one) for one in content["notes"]]
    except BadInput:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__} {error}"[:200]
        raise BadInput(f"{file} contains no notes of linkmatrix: {why}: repair the file, or move it away") from None
    return sorted(notes)


def parse_note(content: Mapping[str, object]) -> Note:
    """Converts an entry of the file to a note. Raises ValueError, LookupError, TypeError."""
    texts = [content[name] for name in ("when", "kind", "text", "part", "written", "by")]
    places = content["places"]
    if not all(isinstance(text, str) for text in texts) or content["kind"] not in KINDS or not isinstance(places, list):
        raise ValueError("a note was changed")
    when, kind, text, part, written, by = map(str, texts)
    found = tuple((str(node), str(slot)) for node, slot in places)
    return Note(parse_time(when), kind, text, part, found, written, by)


def add(prefix: Path, note: Note) -> None:
    """Adds a note to the file. Raises BadInput, OSError, lock.Held."""
    prefix.mkdir(parents=True, exist_ok=True)
    file = prefix / FILE
    with changing(file):
        notes = [*load(prefix), note]
        content = {"schema": SCHEMA, "notes": [one._asdict() for one in notes]}
        write_whole(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def parse_time(text: str) -> str:
    """Converts a time to the format of records, 2026-11-20T10:00:00Z. The default zone is UTC. Raises ValueError."""
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    found = found.replace(tzinfo=timezone.utc) if found.tzinfo is None else found.astimezone(timezone.utc)
    return f"{found:%Y-%m-%dT%H:%M:%SZ}"


def last_repairs(
    notes: Iterable[Note], names: ComponentNames, sightings: Iterable[Sighting]
) -> dict[Component | Slot, str]:
    """Returns {component or slot: time of its last noted repair}.

    Only components and slots in `sightings` have entries.
    """
    repairs = sorted(one for one in notes if one.kind == "repair")
    found: dict[Component | Slot, str] = {}
    for sighting in sightings if repairs else ():
        for note in repairs:
            if note.part and is_component(sighting, note.part):
                found[names.component(sighting)] = note.when
            if any(matches_slot(names.slot(sighting), place) for place in note.places):
                found[names.slot(sighting)] = note.when
    return found


def notes_about(notes: Sequence[Note], parts: Iterable[str], places: Sequence[Slot]) -> list[Note]:
    """The notes about any of the components or slots. parts: serial numbers and UUIDs. places: slots."""
    known = {part.casefold() for part in parts if part}
    return [
        note
        for note in notes
        if note.part.casefold() in known or any(matches_slot(place, one) for place in places for one in note.places)
    ]
