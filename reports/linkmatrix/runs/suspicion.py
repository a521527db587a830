"""Flags that stored runs leave: of components (parts) and of slots (places), for each scope separately.

A run flags a part and its place. The flags of a part move with the part, and the flags of a place stay with the place.
Both need clean runs. After a swap `attribution` reports which of the two is at fault, and unflags the other.

A flag is removed after a number of clean runs of its scope with one driver version. A driver update therefore keeps
the flag, and the counting starts again.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import NamedTuple

from ..locate.next_steps import STAGE_STEPS, next_stage
from ..record import units
from .attribution import Evidence, Key, Pair, SwapResult, attribute, is_decided, swap_sentence
from .components import ADAPTER, NODE, Component, ComponentNames, Device, Sighting, slot_name
from .folders import SKEW
from .notes import Note, last_repairs
from .scopes import Scope, scopes_text

Flagged = dict[Device, dict[Scope, str]]  # the reason of each flag
Clean = dict[Device, set[Scope]]


class RunFlags(NamedTuple):
    """The flags and clean scopes in the report of a run, and the slots of all devices. when: its start.

    measured: keys of its measurements, so that a copy of a report does not count again.
    """

    when: str
    flagged: Flagged
    clean: Clean
    seen: dict[Device, Sighting]
    measured: frozenset[str] = frozenset()


@dataclass
class Suspect:
    """A flagged device, node (the label is then the node's name) or slot, with whatever is in the slot now.

    since: the start of the oldest flag.
    reason: the reason of the newest flag.
    scopes: the flagged scopes; the scope with the fewest clean runs is the first.
    clean: the number of clean runs of the first scope.
    flagged, seen: the number of runs that flagged the component, and of runs that contain the component.
    part, place: the identity of the component and of the slot; "" if unknown.
    swap: the result of a swap in a sentence, or "".
    kind: the type of the component, as in `parts`.
    driver, driver_now: the driver versions at the flag and in the newest run.
    found: the number of runs that flagged the component since its flag was last removed.
    """

    node: str
    label: str
    since: str = ""
    reason: str = ""
    clean: int = 0
    flagged: int = 0
    seen: int = 0
    part: str = ""
    place: str = ""
    swap: str = ""
    kind: str = ""
    scopes: tuple[Scope, ...] = ()
    driver: str = ""
    driver_now: str = ""
    found: int = 0

    @property
    def is_node(self) -> bool:
        """Whether the suspect is a whole node, and not a device or slot."""
        return self.label == self.node

    def sentence(self, clean_runs: int) -> str:
        """ "gpu3 of n17 is flagged since 2026-11-20 01:50 (in 2 of 9 runs; 1 of 3 clean runs of … NV18 since): …"."""
        name = f"node {self.node}" if self.is_node else f"{self.label} of {self.node}"
        when = self.since[:16].replace("T", " ")
        runs = f"in {self.flagged} of {units.counted(self.seen, 'run')}"
        of = f" of {scopes_text(self.scopes)}" if self.scopes else ""
        found = f"{name} is flagged since {when} ({runs}; {self.clean} of {clean_runs} clean runs{of} since)"
        more = [self.reason, self.driver_sentence(), self.swap]
        return f"{found}: {'; '.join(filter(None, more))}"

    def advice(self) -> Iterator[str]:
        """The next steps, by the number of flags and the result of a swap."""
        kind = {ADAPTER: "adapter", NODE: "node"}.get(self.kind, "node" if self.is_node else "device")
        stage = next_stage(self.found, swapped=is_decided(self.swap))
        yield from (step.replace("{who}", self.label or self.node) for step in STAGE_STEPS[kind, stage])

    def driver_sentence(self) -> str:
        """A sentence on a driver update after the flag; "" without one."""
        if not self.driver or not self.driver_now or self.driver == self.driver_now:
            return ""
        return f"driver {self.driver} was replaced by {self.driver_now}: only clean runs with {self.driver_now} count"


@dataclass
class Flag:
    """The reason of a flag for one scope, and its clean runs since then by driver version. first: the pair flagged
    first.
    """

    since: str
    first: Pair
    reason: str = ""
    newest: str = ""
    driver: str = ""
    clean: Counter[str] = field(default_factory=Counter)


@dataclass
class ComponentState:
    """The state of a component or slot: its last sighting and pair, and the numbers of runs that had and flagged it.

    found: the runs that flagged it since it was unflagged last.
    """

    last: Sighting
    pair: Pair
    seen: int = 0
    flagged: int = 0
    found: int = 0
    flags: dict[Scope, Flag] = field(default_factory=dict)

    @property
    def oldest(self) -> Flag | None:
        """The flag that began first; None without a flag."""
        return min(self.flags.values(), key=lambda flag: flag.since, default=None)

    @property
    def newest(self) -> Flag | None:
        """The flag whose scope failed last; None without a flag."""
        return max(self.flags.values(), key=lambda flag: flag.newest, default=None)

    @property
    def scopes(self) -> list[tuple[Scope, int]]:
        """(scope, its clean runs with the present driver), the fewest first."""
        counts = [(scope, flag.clean[self.last.driver]) for scope, flag in self.flags.items()]
        return sorted(counts, key=lambda one: (one[1], one[0]))

    def add(self, when: str, flagged: Mapping[Scope, str], clean: Iterable[Scope], clean_runs: int) -> None:
        """Adds the next run."""
        self.seen, self.flagged = self.seen + 1, self.flagged + bool(flagged)
        self.found = (self.found if self.flags else 0) + bool(flagged)
        for scope, reason in flagged.items():
            flag = self.flags.setdefault(scope, Flag(when, self.pair))
            flag.reason, flag.newest, flag.driver, flag.clean = reason, when, self.last.driver, Counter()
        for scope in self.flags.keys() & set(clean):
            counts = self.flags[scope].clean
            counts[self.last.driver] += 1
            if counts[self.last.driver] >= clean_runs:
                del self.flags[scope]


@dataclass
class Ledger:
    """The states of all components and slots, and the evidence of each component in each slot."""

    kept: dict[Key, ComponentState] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)

    def add(
        self,
        pair: Pair,
        sighting: Sighting,
        when: str,
        flagged: Mapping[Scope, str],
        clean: set[Scope],
        clean_runs: int,
    ) -> None:
        """Adds the sighting of a component in a slot in the next run."""
        each = [self.kept.setdefault(key, ComponentState(sighting, pair)) for key in pair]
        # a run that does not measure one of the flagged scopes is no evidence that both are good
        is_clean = bool(clean) and all(one.flags.keys() <= clean for one in each)
        for one in each:
            one.last, one.pair = sighting, pair
            one.add(when, flagged, clean, clean_runs)
        self.evidence.add(pair, when, bool(flagged), is_clean)


def remaining_suspects(found: Iterable[RunFlags], clean_runs: int, notes: Sequence[Note] = ()) -> list[Suspect]:
    """The flagged components, the longest flagged first."""
    ledger = read_runs(found, clean_runs, notes)
    suspects = list(ledger_suspects(ledger))
    return sorted(suspects, key=lambda one: (one.since, one.node, one.label))


def ordered_runs(found: Iterable[RunFlags]) -> list[RunFlags]:
    """The runs in the order of time, each once however often its report was copied.

    A run whose clock was ahead is clean for nothing, because it may be earlier than the run that flags.
    """
    known: set[str] = set()
    latest = latest_time(time.time())
    runs = []
    for one in sorted((one for one in found if one.when), key=lambda one: one.when):
        if one.measured and one.measured <= known:
            continue
        known |= one.measured
        runs.append(one if one.when <= latest else one._replace(clean={}))
    return runs


def latest_time(known: float) -> str:
    """The latest plausible start of a run that existed at a time, in seconds since 1970, because clocks differ."""
    return f"{datetime.fromtimestamp(known + SKEW, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def plausible_start(began: str, clean: Clean, written: float) -> tuple[str, Clean]:
    """(start of a run, its clean scopes), where its report was written at a time in seconds since 1970.

    A run whose clock was ahead of that time is clean for nothing, because it may be earlier than the run that flags.
    """
    latest = latest_time(written)
    return (latest, {}) if began > latest else (began, clean)


def read_runs(found: Iterable[RunFlags], clean_runs: int, notes: Sequence[Note] = ()) -> Ledger:
    """The states of all components and slots after all runs."""
    runs = ordered_runs(found)
    names = ComponentNames((run.when, sighting) for run in runs for sighting in run.seen.values())
    ledger = Ledger()
    pairs: dict[int, Pair] = {}  # of sightings, which are one object in many runs
    for run in runs:
        for device, sighting in run.seen.items():
            pair = pairs.get(id(sighting))
            if pair is None:
                pair = pairs[id(sighting)] = (names.component(sighting), names.slot(sighting))
            flagged, clean = run.flagged.get(device, {}), run.clean.get(device, set())
            ledger.add(pair, sighting, run.when, flagged, clean, clean_runs)
    last = (one.last for one in ledger.kept.values())
    ledger.evidence.repairs = last_repairs(notes, names, last)
    return ledger


def ledger_suspects(ledger: Ledger) -> Iterator[Suspect]:
    """Each flagged component once: a device in its slot, or a slot with another component now."""
    flagged = {key: one for key, one in ledger.kept.items() if one.flags}
    results = {key: swap_result(ledger, one) for key, one in flagged.items()}
    unflagged = {key for result in results.values() if result for key in result.unflagged}
    named: set[Pair] = set()
    for parts in (True, False):
        for key, one in flagged.items():
            if isinstance(key, Component) is not parts or key in unflagged or one.pair in named:
                continue
            if parts and ledger.kept[one.pair[1]].pair != one.pair:
                continue  # another one is in its place: where it is now, no run has seen
            named.add(one.pair)
            yield make_suspect(one, results[key])


def make_suspect(one: ComponentState, result: SwapResult | None) -> Suspect:
    """The suspect that a flagged component or slot is."""
    part, place = one.pair
    oldest, newest = one.oldest, one.newest
    assert oldest is not None and newest is not None
    return Suspect(
        one.last.node,
        one.last.label,
        oldest.since,
        newest.reason,
        one.scopes[0][1],
        one.flagged,
        one.seen,
        f"{one.last.kind} {part}" if part.word else "",
        slot_name(place),
        swap_sentence(result, one.last.kind) if result else "",
        one.last.kind,
        tuple(scope for scope, _ in one.scopes),
        newest.driver,
        one.last.driver,
        one.found,
    )


def swap_result(ledger: Ledger, one: ComponentState) -> SwapResult | None:
    """The result of a swap for a flagged component or slot; None without a swap since its first flag."""
    oldest = one.oldest
    return attribute(ledger.evidence, oldest.first, oldest.since) if oldest else None
