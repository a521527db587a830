"""`linkmatrix note`: stores a note about a component or slot, such as a repair.

A repair starts a new history: earlier flags of the component or slot no longer count. A swap of components needs no
note, because records contain serial numbers.
"""

import argparse
import re
from datetime import datetime, timezone

from .. import lock
from ..errors import BadInput, clean, say
from ..runs import folders, manifest, notes
from ..runs.components import Slot, parse_slot, slot_name
from ..runs.notes import Note
from . import arguments

EXAMPLES = """examples:
  linkmatrix note --repair --slot n12/3 'cable reseated' --when 2026-11-20T10:00
  linkmatrix note --component 1650324 'sent back, case 4711'
  linkmatrix history --slot n12/3     shows them"""
COMPONENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._-]*")


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `note`."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description = EXAMPLES
    command.add_argument("text", nargs="?", default="", help="what was done; optional for a repair")
    command.add_argument("--component", metavar="SERIAL", help="serial number, UUID or GUID of the component")
    command.add_argument("--slot", metavar="N/SLOT", help="node and slot, such as n12/3; n12 is the whole node")
    command.add_argument(
        "--repair", action="store_true", help="the component or slot was repaired: its history starts again"
    )
    command.add_argument(
        "--when",
        metavar="TIME",
        help="time, such as 2026-11-20T10:00; a time without a time zone is UTC (default: now)",
    )
    command.set_defaults(command=run_note)


def run_note(options: argparse.Namespace) -> int:
    """Stores the user's note. Prints a warning for each slot that no stored run contains. Raises BadInput."""
    now = datetime.now(timezone.utc)
    note = note_from_options(options, f"{now:%Y-%m-%dT%H:%M:%SZ}")
    notes.add(folders.prefix(), note)
    say(note.sentence())
    for place in unknown_slots(note):
        named = slot_name(place)
        say(f"note: no stored run contains {named}: if the name is wrong, run `note` again with the correct name")
    return 0


def unknown_slots(note: Note) -> list[Slot]:
    """The slots in a note that no stored run contains; [] if the index of runs cannot be read."""
    try:
        from ..runs import index

        with index.open_index(folders.prefix(), arguments.reference_folder()) as found:
            return found.unknown_slots(note.places)
    except (ModuleNotFoundError, BadInput, OSError, lock.Held):
        return []


def note_from_options(options: argparse.Namespace, now: str) -> Note:
    """Creates the note from the options. Raises BadInput.

    now: the present time in UTC, such as "2026-11-20T10:00:00Z".
    """
    text = clean(options.text).strip()
    kind = "repair" if options.repair else "note"
    if not (options.slot or options.component):
        raise BadInput("a note needs a component or slot: add --component SERIAL or --slot n12/3")
    if kind == "note" and not text:
        raise BadInput("a note needs a text: write what was done, or use --repair")
    if len(text) > notes.MOST_TEXT:
        raise BadInput(f"the text has {len(text)} characters, and {notes.MOST_TEXT} are allowed: shorten it")
    if options.component is not None and not COMPONENT_ID.fullmatch(options.component):
        raise BadInput(
            f"--component '{options.component}' is not a serial number, UUID or GUID: copy it from `linkmatrix show`"
        )
    places = (parse_slot(options.slot, "--slot"),) if options.slot is not None else ()
    when = now
    if options.when is not None:
        try:
            when = notes.parse_time(options.when)
        except (ValueError, OverflowError):
            raise BadInput(
                f"--when '{options.when}' is not a time: use YYYY-MM-DDTHH:MM, such as 2026-11-20T10:00"
            ) from None
        if when > now:
            raise BadInput(f"--when {options.when} is in the future (now: {now}): note a repair after it is done")
    return Note(when, kind, text, options.component or "", places, now, manifest.person())
