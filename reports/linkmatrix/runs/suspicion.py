"""The flags of components and slots after all stored runs.

* A run flags both a component and its slot, for a scope. The flag of the component moves with the component. The flag
  of the slot stays with the slot.
* A number of clean runs of the scope, with the same driver version, removes a flag. After a driver update, the count
  starts again.
* After a swap, `attribution` decides whether the component or the slot is at fault, and unflags the other.
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

Flagged = dict[Device, dict[Scope, str]]  # {device: {flagged scope: reason}}
Clean = dict[Device, set[Scope]]  # {device: clean scopes}


class RunFlags(NamedTuple):
    """The flags and clean scopes of a run, and the sightings of all devices.

    * when: start of the run
    * measured: keys of its measurements. Copies of a report have the same keys.
    """

    when: str
    flagged: Flagged
    clean: Clean
    seen: dict[Device, Sighting]
    measured: frozenset[str] = frozenset()


@dataclass
class Suspect:
    """A flagged device or node, or a flagged slot with its present component.

    * label: name of the device, or of the node
    * since: start of the oldest flag
    * reason: reason of the newest flag
    * scopes: the flagged scopes. The first scope has the fewest clean runs.
    * clean: number of clean runs of the first scope
    * flagged: number of runs that flagged the component
    * seen: number of runs that contain the component
    * part: identity of the component as text; "" if unknown
    * place: identity of the slot as text; "" if unknown
    * swap: the result of a swap as a sentence; "" without a swap
    * kind: type of the component, see `components`
    * driver: driver version at the newest flag
    * driver_now: driver version in the newest run
    * found: number of runs that flagged the component since its flags were last removed
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
        """Whether the suspect is a whole node."""
        return self.label == self.node

    def sentence(self, clean_runs: int) -> str:
        """The flag as a sentence. clean_runs: the number of clean runs that remove a flag.

        Example: "gpu3 of n17 is flagged since 2026-11-20 01:50 (in 2 of 9 runs; 1 of 3 clean runs of … NV18 so far):
        …".
        """
        name = f"node {self.node}" if self.is_node else f"{self.label} of {self.node}"
        when = self.since[:16].replace("T", " ")
        runs = f"in {self.flagged} of {units.counted(self.seen, 'run')}"
        of = f" of {scopes_text(self.scopes)}" if self.scopes else ""
        found = f"{name} is flagged since {when} ({runs}; {self.clean} of {clean_runs} clean runs{of} so far)"
        more = [self.reason, self.driver_sentence(), self.swap]
        return f"{found}: {'; '.join(filter(None, more))}"

    def advice(self) -> Iterator[str]:
        """Yields the next steps. The steps depend on the number of flags and on the result of a swap."""
        kind = {ADAPTER: "adapter", NODE: "node"}.get(self.kind, "node" if self.is_node else "device")
        stage = next_stage(self.found, swapped=is_decided(self.swap))
        yield from (step.replace("{who}", self.label or self.node) for step in STAGE_STEPS[kind, stage])

    def driver_sentence(self) -> str:
        """A sentence about a driver update after the newest flag; "" without an update."""
        if not self.driver or not self.driver_now or self.driver == self.driver_now:
            return ""
        return f"driver {self.driver} was replaced by {self.driver_now}: only clean runs with {self.driver_now} count"


@dataclass
class Flag:
    """A flag for one scope.

    * since: start of the first run that flagged the scope
    * newest: start of the last run that flagged the scope
    * first: the pair (component, slot) in the first run
    * reason, driver: reason and driver version in the last run that flagged the scope
    * clean: {driver version: clean runs since the last run that flagged the scope}
    """

    since: str
    first: Pair
    reason: str = ""
    newest: str = ""
    driver: str = ""
    clean: Counter[str] = field(default_factory=Counter)


@dataclass
class ComponentState:
    """The state of a component or slot after some runs.

    * last: the newest sighting
    * pair: the pair (component, slot) in the newest sighting
    * seen: number of runs that contain the component or slot
    * flagged: number of runs that flagged the component or slot
    * found: number of runs that flagged the component or slot since its flags were last removed
    """

    last: Sighting
    pair: Pair
    seen: int = 0
    flagged: int = 0
    found: int = 0
    flags: dict[Scope, Flag] = field(default_factory=dict)

    @property
    def oldest(self) -> Flag | None:
        """The flag with the earliest start; None without a flag."""
        return min(self.flags.values(), key=lambda flag: flag.since, default=None)

    @property
    def newest(self) -> Flag | None:
        """The flag whose scope was flagged by the latest run; None without a flag."""
        return max(self.flags.values(), key=lambda flag: flag.newest, default=None)

    @property
    def scopes(self) -> list[tuple[Scope, int]]:
        """Returns [(flagged scope, number of its clean runs with the present driver)], the fewest clean runs first."""
        counts = [(scope, flag.clean[self.last.driver]) for scope, flag in self.flags.items()]
        return sorted(counts, key=lambda one: (one[1], one[0]))

    def add(self, when: str, flagged: Mapping[Scope, str], clean: Iterable[Scope], clean_runs: int) -> None:
        """Adds the next run in order of time. when: start of the run.

        clean_runs: the number of clean runs that remove a flag.
        """
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
    """The states of all components and slots, and the evidence for `attribution` after a swap."""

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
        """Adds the flags and clean scopes of a component and its slot in one run.

        Runs must be added in order of time.
        """
        each = [self.kept.setdefault(key, ComponentState(sighting, pair)) for key in pair]
        # a run that did not measure all flagged scopes is no evidence that both are good
        is_clean = bool(clean) and all(one.flags.keys() <= clean for one in each)
        for one in each:
            one.last, one.pair = sighting, pair
            one.add(when, flagged, clean, clean_runs)
        self.evidence.add(pair, when, bool(flagged), is_clean)


def remaining_suspects(run_flags: Iterable[RunFlags], clean_runs: int, notes: Sequence[Note] = ()) -> list[Suspect]:
    """The components that are flagged after all runs, the oldest flag first."""
    suspects = ledger_suspects(read_runs(run_flags, clean_runs, notes))
    return sorted(suspects, key=lambda one: (one.since, one.node, one.label))


def ordered_runs(run_flags: Iterable[RunFlags]) -> list[RunFlags]:
    """The runs in order of time, without duplicates.

    If the start of a run is in the future, its clock was wrong, and its true start is unknown. This run counts as clean
    for no scope, because the run may be older than the run that flagged the component.
    """
    known: set[str] = set()
    latest = latest_time(time.time())
    runs = []
    for one in sorted((one for one in run_flags if one.when), key=lambda one: one.when):
        if one.measured and one.measured <= known:
            continue
        known |= one.measured
        runs.append(one if one.when <= latest else one._replace(clean={}))
    return runs


def latest_time(known: float) -> str:
    """The latest plausible start of a run whose report existed at the time `known`, in seconds since 1970.

    The start may be later than `known` by SKEW, because clocks differ.
    """
    return f"{datetime.fromtimestamp(known + SKEW, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def plausible_start(began: str, clean: Clean, written: float) -> tuple[str, Clean]:
    """Returns (plausible start of a run, its clean scopes). written: time of the report, in seconds since 1970.

    If a run seems to begin after its report was written, its clock was wrong. The run is then not clean for any scope,
    because its true start may be before the run with the flag.
    """
    latest = latest_time(written)
    return (latest, {}) if began > latest else (began, clean)


def read_runs(run_flags: Iterable[RunFlags], clean_runs: int, notes: Sequence[Note] = ()) -> Ledger:
    """The states of all components and slots after all runs."""
    runs = ordered_runs(run_flags)
    names = ComponentNames((run.when, sighting) for run in runs for sighting in run.seen.values())
    ledger = Ledger()
    pairs: dict[int, Pair] = {}  # by identity of the sighting, because many runs share their sightings
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
    """Yields a suspect per flagged component, and per flagged slot whose present component has no flag.

    No pair appears twice. Unflagged candidates of a swap are left out.
    """
    flagged = {key: one for key, one in ledger.kept.items() if one.flags}
    results = {key: swap_result(ledger, one) for key, one in flagged.items()}
    unflagged = {key for result in results.values() if result for key in result.unflagged}
    named: set[Pair] = set()
    for parts in (True, False):
        for key, one in flagged.items():
            if isinstance(key, Component) is not parts or key in unflagged or one.pair in named:
                continue
            if parts and ledger.kept[one.pair[1]].pair != one.pair:
                continue  # another component is in its slot, and its present slot is unknown
            named.add(one.pair)
            yield make_suspect(one, results[key])


def make_suspect(state: ComponentState, result: SwapResult | None) -> Suspect:
    """Makes the suspect for a flagged component or slot. result: the result of a swap; None without a swap."""
    part, place = state.pair
    oldest, newest = state.oldest, state.newest
    assert oldest is not None and newest is not None
    return Suspect(
        state.last.node,
        state.last.label,
        oldest.since,
        newest.reason,
        state.scopes[0][1],
        state.flagged,
        state.seen,
        f"{state.last.kind} {part}" if part.word else "",
        slot_name(place),
        swap_sentence(result, state.last.kind) if result else "",
        state.last.kind,
        tuple(scope for scope, _ in state.scopes),
        newest.driver,
        state.last.driver,
        state.found,
    )


def swap_result(ledger: Ledger, state: ComponentState) -> SwapResult | None:
    """The result of a swap for a flagged component or slot; None if no swap followed its first flag."""
    oldest = state.oldest
    return attribute(ledger.evidence, oldest.first, oldest.since) if oldest else None
