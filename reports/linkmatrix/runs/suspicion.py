"""What stored runs leave under suspicion: parts and places, each by itself.

A part that is moved takes its suspicion along, and its place keeps its own: neither a moved device nor an exchanged one
has a clean history. What is blamed are both, and both need clean runs, a part wherever it is and a place whatever is
there. After a swap `attribution` says which of the two it was, and the other one is cleared by that.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import NamedTuple

from ..record import units
from .attribution import Answer, Evidence, Key, Pair, attribute, sentence_of
from .bound import SKEW
from .notes import Note, Swapped
from .parts import Names, Part, Sighting, place_name

Device = tuple[str, str]  # its node, and its UUID, or its label where it has none; of a node itself, its name twice


class Found(NamedTuple):
    """What a run says of devices: when it began, those it blames with the reason, those it clears, where all are.

    measured: what it was measured by, so that no copy clears a device again.
    """

    when: str
    blamed: dict[Device, str]
    clean: set[Device]
    seen: dict[Device, Sighting]
    measured: frozenset[str] = frozenset()


@dataclass
class Suspect:
    """A device under suspicion, or a node, whose label is its own name; or a place, whatever is there now.

    since: when it was first blamed, since it was last clear. reason: of the last time. clean: clean runs since that.
    blamed, seen: runs that ever blamed it, and that had it at all, so that one that comes and goes is seen.
    part, place: what it is known by, "" for what no record says. told: what a swap has shown, a sentence, or "". kind:
    of the part, as `parts` has them.
    """

    node: str
    label: str
    since: str = ""
    reason: str = ""
    clean: int = 0
    blamed: int = 0
    seen: int = 0
    part: str = ""
    place: str = ""
    told: str = ""
    kind: str = ""

    @property
    def is_node(self) -> bool:
        """Whether it is a whole node."""
        return self.label == self.node

    def sentence(self, clean_runs: int) -> str:
        """ "gpu3 of n17 is suspect since 2026-11-20 01:50 (blamed in 2 of 9 runs, 1 of 3 clean since): …"."""
        who = f"node {self.node}" if self.is_node else f"{self.label} of {self.node}"
        runs = f"blamed in {self.blamed} of {units.counted(self.seen, 'run')}"
        when = self.since[:16].replace("T", " ")
        said = f"{who} is suspect since {when} ({runs}, {self.clean} of {clean_runs} clean since): {self.reason}"
        return f"{said}; {self.told}" if self.told else said


@dataclass
class Kept:
    """What is known of a part or a place: its last sighting and with what, runs that had it and that blamed it.

    since: when its suspicion began, "" while there is none; first: with what it was blamed then.
    """

    last: Sighting
    pair: Pair
    seen: int = 0
    blamed: int = 0
    since: str = ""
    reason: str = ""
    clean: int = 0
    first: Pair | None = None


@dataclass
class Ledger:
    """All parts and places of all runs, and what runs found of each part in each place."""

    kept: dict[Key, Kept] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)

    def add(self, pair: Pair, sighting: Sighting, when: str, blamed: str | None, clean: bool, clean_runs: int) -> None:
        """A part in a place in the next run; blamed: why, None where it is not."""
        for key in pair:
            one = self.kept.get(key)
            if one is None:
                one = self.kept[key] = Kept(sighting, pair)
            one.last, one.pair, one.seen = sighting, pair, one.seen + 1
            if blamed is not None:
                if not one.since:
                    one.since, one.first = when, pair
                one.reason, one.clean, one.blamed = blamed, 0, one.blamed + 1
            elif clean and one.since:
                one.clean += 1
                if one.clean >= clean_runs:
                    one.since = ""
        self.evidence.add(pair, when, blamed is not None, clean)


def left_by(found: Iterable[Found], clean_runs: int, notes: Sequence[Note] = ()) -> list[Suspect]:
    """Those that are left under suspicion, the longest first."""
    ledger = read(found, clean_runs, notes)
    suspects = list(of_ledger(ledger))
    return sorted(suspects, key=lambda one: (one.since, one.node, one.label))


def in_order(found: Iterable[Found]) -> list[Found]:
    """The runs by their time, each once however often its report was copied.

    One of a clock that is ahead clears nothing: it may have been before what it would clear.
    """
    known: set[str] = set()
    latest = latest_time(time.time())
    runs = []
    for one in sorted((one for one in found if one.when), key=lambda one: one.when):
        if one.measured and one.measured <= known:
            continue
        known |= one.measured
        runs.append(one if one.when <= latest else one._replace(clean=set()))
    return runs


def latest_time(known: float) -> str:
    """When a run can have begun at the latest that was there at a time, in seconds since 1970: clocks differ."""
    return f"{datetime.fromtimestamp(known + SKEW, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def dated(began: str, clean: set[Device], written: float) -> tuple[str, set[Device]]:
    """(when a run began, what it clears) where its report was written at a time, in seconds since 1970.

    By a clock that was ahead of that it clears nothing: it may have been before what it would clear.
    """
    latest = latest_time(written)
    return (latest, set()) if began > latest else (began, clean)


def read(found: Iterable[Found], clean_runs: int, notes: Sequence[Note] = ()) -> Ledger:
    """What runs say of each part and place, in the order of their times."""
    runs = in_order(found)
    names = Names((run.when, sighting) for run in runs for sighting in run.seen.values())
    swapped, ledger = Swapped(notes), Ledger()
    pairs: dict[int, Pair] = {}  # of sightings, which are one object in many runs
    for run in runs:
        for device, sighting in run.seen.items():
            pair = pairs.get(id(sighting))
            if pair is None:
                place = names.place(sighting)
                pair = (swapped.part(names.part(sighting), place, run.when), place)
                if pair[0].word or not swapped.swaps:
                    pairs[id(sighting)] = pair
            blamed = run.blamed.get(device)
            ledger.add(pair, sighting, run.when, blamed, device in run.clean, clean_runs)
    last = (one.last for one in ledger.kept.values())
    ledger.evidence.repairs = swapped.repairs(names, last)
    return ledger


def of_ledger(ledger: Ledger) -> Iterator[Suspect]:
    """Each suspect once: a device in its place, or a place that something else is in now."""
    suspect = {key: one for key, one in ledger.kept.items() if one.since}
    answers = {key: answer_on(ledger, one) for key, one in suspect.items()}
    cleared = {key for answer in answers.values() if answer for key in answer.cleared}
    told: set[Pair] = set()
    for parts in (True, False):
        for key, one in suspect.items():
            if isinstance(key, Part) is not parts or key in cleared or one.pair in told:
                continue
            if parts and ledger.kept[one.pair[1]].pair != one.pair:
                continue  # another one is in its place: where it is now, no run has seen
            told.add(one.pair)
            yield described(one, answers[key])


def described(one: Kept, answer: Answer | None) -> Suspect:
    """A part or place as a suspect."""
    part, place = one.pair
    return Suspect(
        one.last.node,
        one.last.label,
        one.since,
        one.reason,
        one.clean,
        one.blamed,
        one.seen,
        f"{one.last.kind} {part}" if part.word else "",
        place_name(place),
        sentence_of(answer, one.last.kind) if answer else "",
        one.last.kind,
    )


def answer_on(ledger: Ledger, one: Kept) -> Answer | None:
    """What a swap has shown of a suspect; None where nothing was swapped since it was blamed."""
    return attribute(ledger.evidence, one.first, one.since) if one.first else None
