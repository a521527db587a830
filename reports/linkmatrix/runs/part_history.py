"""The history of a part wherever it was, or of a place whatever was in it: stays, what runs said, notes, the answer."""

from collections.abc import Iterable, Iterator, Sequence

from ..record import units
from . import notes as noted
from .attribution import Key, Pair, sentence_of
from .notes import Note
from .parts import Part, Place, is_at, is_part, place_name
from .suspicion import Found, Kept, Ledger, answer_on, read

NO_SERIAL = (
    "its records have no serial number, so it is known by its UUID: one that is exchanged for the same is not seen"
)
UNNAMED = "records do not identify what is there, so a swap of it is not seen"


def of_part(found: Iterable[Found], text: str, clean_runs: int, notes: Sequence[Note] = ()) -> list[str]:
    """Lines on the part with this serial number or UUID; none where no run has seen it."""
    every = list(found)
    ledger = read(every, clean_runs, notes)
    wanted = [one for run in every for one in run.seen.values() if is_part(one, text)]
    keys = [key for key, one in ledger.kept.items() if isinstance(key, Part) and is_part(one.last, text)]
    names = {text, *(one.serial for one in wanted), *(one.uuid for one in wanted)}
    return [line for key in keys for line in lines(ledger, key, noted.about(notes, names, []), by_place=False)]


def of_place(found: Iterable[Found], wanted: Place, clean_runs: int, notes: Sequence[Note] = ()) -> list[str]:
    """Lines on the places that were named; none where no run has seen one of them."""
    ledger = read(found, clean_runs, notes)
    places = [key for key in ledger.kept if not isinstance(key, Part) and is_at(key, wanted)]
    return [line for key in sorted(places) for line in lines(ledger, key, noted.about(notes, [], [key]), by_place=True)]


def lines(ledger: Ledger, key: Key, notes: Sequence[Note], by_place: bool) -> Iterator[str]:
    """A head, a line for each stay and note in the order of their times, and what is known of its fault."""
    one = ledger.kept[key]
    yield headline(ledger, key, one)
    pairs = sorted(ledger.evidence.pairs[key], key=lambda pair: ledger.evidence.stays[pair].first)
    said = [(ledger.evidence.stays[pair].first, stay_line(ledger, pair, by_place)) for pair in pairs]
    said += [(note.when, note.sentence()) for note in notes]
    said += moves(ledger, pairs, by_place)
    yield from (f"  {line}" for _, line in sorted(said, key=lambda item: item[0]))
    if one.oldest and one.newest:
        (question, clean), when = one.questions[0], one.oldest.since[:16].replace("T", " ")
        of = units.counted(clean, "clean run")
        yield f"  flagged since {when}, {of} of {question} since the newest flag: {one.newest.reason}"
    answer = answer_on(ledger, one)
    if answer:
        yield f"  {sentence_of(answer, one.last.kind)}"


def headline(ledger: Ledger, key: Key, one: Kept) -> str:
    """What it is, and how it is known."""
    runs = f"{units.counted(one.seen, 'run')}, flagged in {one.flagged}"
    if not isinstance(key, Part):
        unnamed = "" if one.pair[0].word or one.last.label == one.last.node else f"; {UNNAMED}"
        return f"{place_name(key)}: {runs}{unnamed}"
    words = {"serial": "", "UUID": f"; {NO_SERIAL}" if one.last.kind == "GPU" else ""}
    also = f" (UUID {one.last.uuid})" if key.word == "serial" and one.last.uuid else ""
    return f"{one.last.kind} {key}{also}: {runs}{words.get(key.word, '')}"


def stay_line(ledger: Ledger, pair: Pair, by_place: bool) -> str:
    """ "2026-11-01 to 2026-11-05 in n12/slot 3: 5 runs, flagged in 2, clean in 3"."""
    stay = ledger.evidence.stays[pair]
    part, place = pair
    what = f"{ledger.kept[part].last.kind} {part}" if by_place else f"in {place_name(place)}"
    counts = f"{units.counted(stay.runs, 'run')}, flagged in {stay.flagged}, clean in {stay.clean}"
    return f"{stay.first[:10]} to {stay.last[:10]} {what}: {counts}"


def moves(ledger: Ledger, pairs: Sequence[Pair], by_place: bool) -> list[tuple[str, str]]:
    """(when, a sentence) of each change from a stay to the next that runs show by themselves."""
    found = []
    for before, after in zip(pairs, pairs[1:], strict=False):
        old, new = ledger.evidence.stays[before], ledger.evidence.stays[after]
        between = f"between {old.last[:16]} and {new.first[:16]}".replace("T", " ")
        if old.last >= new.first:
            between = f"by {new.first[:16]}".replace("T", " ")
        if by_place:
            said = f"exchanged {between}: {before[0]} for {after[0]}"
        else:
            said = f"moved {between} from {place_name(before[1])} to {place_name(after[1])}"
        found.append((new.first, f"{new.first[:10]} {said}"))
    return found
