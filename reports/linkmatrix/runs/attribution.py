"""Decides whether a component or its slot is at fault, by the runs before and after a swap.

Each component and each slot is good or bad. PRIOR is the probability that it is bad. A run flags a component in a slot
with probability DETECTED if one of the two is bad, which allows for intermittent faults, and with FALSE_ALARM if both
are good. Bayes' rule gives the exact probability of each combination, because few components are moved together. A
probability of SURE or more is reported as a fact, any other as unknown. The three probabilities are assumptions. A
healthy run has a false alarm in any of its cells with 1 % (references/noise.py), so that of one device is less.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from .components import Component, Slot, slot_name

PRIOR, DETECTED, FALSE_ALARM = 0.01, 0.7, 0.005
CERTAIN = 0.95
CLEAN_RUNS_BEFORE = 3  # clean runs from before the suspicion that say that a bystander was good
MOST_KEPT = 8  # clean runs of a pair that was never flagged: more of them say nothing more
MOST_CANDIDATES = 12  # that may be bad: 4096 combinations

Key = Component | Slot
Pair = tuple[Component, Slot]


@dataclass
class Stay:
    """A component in a slot: first and last sighting, number of runs, and their results.

    events: (time, whether it was flagged), in order; of a pair that was never flagged the last ones.
    """

    first: str
    last: str
    runs: int = 0
    events: list[tuple[str, bool]] = field(default_factory=list)
    flagged: int = 0
    clean: int = 0

    def add(self, when: str, flagged: bool, clean: bool) -> None:
        """Adds a run, which may be neither flagged nor clean."""
        self.last, self.runs = when, self.runs + 1
        self.flagged += flagged
        self.clean += clean and not flagged
        if flagged or clean:
            self.events.append((when, flagged))
            if not self.flagged and len(self.events) > MOST_KEPT:
                del self.events[0]


@dataclass(frozen=True)
class SwapResult:
    """The result of a swap for a component and a slot that were flagged together.

    component, slot: the probabilities that each is bad. to: the present slot of the component, None if unknown. other:
    the component now in the slot, None for none. unflagged: the components and slots that are good, of these two
    and of those that were flagged with them.
    """

    pair: Pair
    component: float
    slot: float
    new_slot: Slot | None
    new_component: Component | None
    unflagged: frozenset[Key]


@dataclass
class Evidence:
    """All stays, and the time of the last repair of each component or slot: earlier events do not count."""

    stays: dict[Pair, Stay] = field(default_factory=dict)
    pairs: dict[Key, list[Pair]] = field(default_factory=dict)
    repairs: Mapping[Key, str] = field(default_factory=dict)

    def add(self, pair: Pair, when: str, flagged: bool, clean: bool) -> None:
        """Adds the result of a run for a component in a slot."""
        stay = self.stays.get(pair)
        if stay is None:
            stay = self.stays[pair] = Stay(when, when)
            for key in pair:
                self.pairs.setdefault(key, []).append(pair)
        stay.add(when, flagged, clean)

    def events_since(self, pair: Pair, suspect: Pair, since: str) -> list[bool]:
        """The events of a pair that count: whether each was flagged.

        These are the events since the suspicion and since the last repair of either; of pairs without the suspects,
        also the last clean events before.
        """
        start = max((self.repairs.get(key, "") for key in pair), default="")
        events = [one for one in self.stays[pair].events if one[0] >= start]
        now = [flagged for when, flagged in events if when >= since]
        if set(pair) & set(suspect):
            return now
        before = [flagged for when, flagged in events if when < since and not flagged]
        return [*before[-CLEAN_RUNS_BEFORE:], *now]

    def newest(self, key: Key) -> Pair:
        """The pair in which a component or slot was seen last."""
        return max(self.pairs[key], key=lambda pair: self.stays[pair].last)


def attribute(evidence: Evidence, suspect: Pair, since: str) -> SwapResult | None:
    """The result of a swap for a pair that was flagged since a time; None if the two are still together."""
    component, slot = suspect
    now, there = evidence.newest(component)[1], evidence.newest(slot)[0]
    moved = evidence.stays[component, now].last > since and now != slot
    if not moved and there == component:
        return None
    candidates = list(find_candidates(evidence, suspect, since))
    chances = dict(zip(candidates, posterior(evidence, suspect, since, candidates), strict=True))
    sure = any(chance >= CERTAIN for chance in chances.values())
    good = {key for key, chance in chances.items() if chance <= 1 - CERTAIN} if sure else set()
    return SwapResult(
        suspect,
        chances[component],
        chances[slot],
        now if moved else None,
        there if there != component else None,
        frozenset(good),
    )


def find_candidates(evidence: Evidence, suspect: Pair, since: str) -> Iterator[Key]:
    """The flagged component and slot, and those that were flagged since with one of them, the closest first."""
    found: dict[Key, None] = dict.fromkeys(suspect)
    queue: list[Key] = list(suspect)
    while queue and len(found) < MOST_CANDIDATES:
        for pair in evidence.pairs[queue.pop(0)]:
            flagged = any(evidence.events_since(pair, suspect, since))
            new = [key for key in pair if key not in found] if flagged else []
            found |= dict.fromkeys(new)
            queue += new
    yield from list(found)[:MOST_CANDIDATES]


def posterior(evidence: Evidence, suspect: Pair, since: str, candidates: list[Key]) -> list[float]:
    """The probability that each candidate is bad. All others are assumed to be good."""
    number = {key: at for at, key in enumerate(candidates)}
    states = (np.arange(1 << len(candidates))[:, None] >> np.arange(len(candidates))) & 1 == 1
    logs = np.where(states, math.log(PRIOR), math.log(1 - PRIOR)).sum(axis=1)
    for pair in dict.fromkeys(pair for key in candidates for pair in evidence.pairs[key]):
        events = evidence.events_since(pair, suspect, since)
        flagged, clean = sum(events), len(events) - sum(events)
        bad = states[:, [number[key] for key in pair if key in number]].any(axis=1)
        of_bad = flagged * math.log(DETECTED) + clean * math.log(1 - DETECTED)
        of_good = flagged * math.log(FALSE_ALARM) + clean * math.log(1 - FALSE_ALARM)
        logs += np.where(bad, of_bad, of_good)
    weights = np.exp(logs - logs.max())
    return (weights @ states / weights.sum()).tolist()


FOLLOWED, STAYED, BOTH = (
    "the fault followed the component",
    "the fault stayed with the slot",
    "both the component and the slot are at fault",
)


def is_decided(sentence: str) -> bool:
    """Whether a sentence of `swap_sentence` reports which of component and slot is at fault."""
    return sentence.startswith((FOLLOWED, STAYED, BOTH))


def swap_sentence(result: SwapResult, kind: str) -> str:
    """The result of a swap in words. kind: of the component."""
    component, slot = result.pair
    what, where = f"{kind} {component}", slot_name(slot)
    bad, good = (lambda chance: chance >= CERTAIN), (lambda chance: chance <= 1 - CERTAIN)
    gone = f"at {slot_name(result.new_slot)}" if result.new_slot else "gone"
    there = f", and {kind} {result.new_component} is there now" if result.new_component else ""
    if bad(result.component) and good(result.slot):
        to = f"to {slot_name(result.new_slot)}" if result.new_slot else "to a slot that no run has measured"
        return f"{FOLLOWED} ({what} from {where} {to})"
    if bad(result.slot) and good(result.component):
        return f"{STAYED} ({where}: {what} is {gone}{there})"
    if bad(result.component) and bad(result.slot):
        return f"{BOTH} ({what}, {where})"
    if good(result.component) and good(result.slot):
        return f"neither the component nor the slot was at fault since the swap ({what}, {where})"
    missing = [f"{what} at {slot_name(result.new_slot)}"] if result.new_slot else []
    missing += [f"{kind} {result.new_component} at {where}"] if result.new_component else []
    unknown = f"whether the component ({what}) or the slot ({where}) is at fault is not known yet"
    return f"{unknown}: measure {' and '.join(missing)}"
