"""Decides after a swap whether a component or its slot is at fault, from the runs before and after the swap.

A pair is a component and the slot that contains the component. A run flags or passes the pair, not the component alone.
The model assumes three probabilities:

* PRIOR: the probability that a component is bad. A slot has the same probability.
* DETECTED: the probability that a run flags a pair whose component or slot is bad. The value is below 1, because faults
  may be intermittent.
* FALSE_ALARM: the probability that a run flags a pair whose component and slot are good. A whole run has a probability
  of 1 % (references/noise.py). The value for a single pair is lower.

Bayes' rule gives the exact probability of each combination of good and bad. The exact calculation is possible because
few components are moved at a time. A probability of CERTAIN or more is reported as a fact. A smaller probability is
reported as unknown.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from .components import Component, Slot, slot_name

PRIOR, DETECTED, FALSE_ALARM = 0.01, 0.7, 0.005
CERTAIN = 0.95
CLEAN_RUNS_BEFORE = 3  # clean runs before the first flag that count for a pair that is not suspect
MOST_KEPT = 8  # stored clean runs of a pair that was never flagged: more runs would not change the result
MOST_CANDIDATES = 12  # components and slots that may be bad: 4096 combinations

Key = Component | Slot
Pair = tuple[Component, Slot]


@dataclass
class SlotRuns:
    """The runs in which one component was in one slot.

    * first, last: times of the first and last run
    * runs: number of all runs
    * flagged: number of runs that flagged the pair
    * clean: number of clean runs
    * events: (time, whether the run flagged the pair) of each flagged or clean run, in order of time. A pair that was
      never flagged keeps only the last MOST_KEPT events.
    """

    first: str
    last: str
    runs: int = 0
    events: list[tuple[str, bool]] = field(default_factory=list)
    flagged: int = 0
    clean: int = 0

    def add(self, when: str, flagged: bool, clean: bool) -> None:
        """Adds a run in which the component was in the slot. A run that is neither flagged nor clean adds no event."""
        self.last, self.runs = when, self.runs + 1
        self.flagged += flagged
        self.clean += clean and not flagged
        if flagged or clean:
            self.events.append((when, flagged))
            if not self.flagged and len(self.events) > MOST_KEPT:
                del self.events[0]


@dataclass(frozen=True)
class SwapResult:
    """The result of a swap, for a component and a slot that were flagged in the same run.

    * component: probability that the component is bad
    * slot: probability that the slot is bad
    * new_slot: the present slot of the component; None if no later run found the component in another slot
    * new_component: the present component in the slot; None if no later run found another component in the slot
    * unflagged: the candidates of `find_candidates` that are certainly good
    """

    pair: Pair
    component: float
    slot: float
    new_slot: Slot | None
    new_component: Component | None
    unflagged: frozenset[Key]


@dataclass
class Evidence:
    """The runs in which each component was in each slot.

    * pairs: {component or slot: all pairs (component, slot) that contain it}
    * repairs: {component or slot: time of its last repair}. Events before the repair do not count.
    """

    stays: dict[Pair, SlotRuns] = field(default_factory=dict)
    pairs: dict[Key, list[Pair]] = field(default_factory=dict)
    repairs: Mapping[Key, str] = field(default_factory=dict)

    def add(self, pair: Pair, when: str, flagged: bool, clean: bool) -> None:
        """Adds the result of a run for a component in a slot."""
        stay = self.stays.get(pair)
        if stay is None:
            stay = self.stays[pair] = SlotRuns(when, when)
            for key in pair:
                self.pairs.setdefault(key, []).append(pair)
        stay.add(when, flagged, clean)

    def events_since(self, pair: Pair, suspect: Pair, since: str) -> list[bool]:
        """The events of a pair that count for a swap of `suspect`: True for a flagged run, False for a clean run.

        * Events since the time `since` count.
        * The last clean events before `since` also count, if the pair contains neither the suspect component nor the
          suspect slot.
        * Events before the last repair of the component or slot never count.
        """
        start = max((self.repairs.get(key, "") for key in pair), default="")
        events = [one for one in self.stays[pair].events if one[0] >= start]
        now = [flagged for when, flagged in events if when >= since]
        if set(pair) & set(suspect):
            return now
        before = [flagged for when, flagged in events if when < since and not flagged]
        return [*before[-CLEAN_RUNS_BEFORE:], *now]

    def newest(self, key: Key) -> Pair:
        """The newest pair (component, slot) that contains this component or slot."""
        return max(self.pairs[key], key=lambda pair: self.stays[pair].last)


def attribute(evidence: Evidence, suspect: Pair, since: str) -> SwapResult | None:
    """The result of the swap of a pair that was first flagged at the time `since`; None if there was no swap."""
    component, slot = suspect
    present_slot, occupant = evidence.newest(component)[1], evidence.newest(slot)[0]
    moved = evidence.stays[component, present_slot].last > since and present_slot != slot
    if not moved and occupant == component:
        return None
    candidates = list(find_candidates(evidence, suspect, since))
    chances = dict(zip(candidates, posterior(evidence, suspect, since, candidates), strict=True))
    is_decided = any(chance >= CERTAIN for chance in chances.values())
    good = {key for key, chance in chances.items() if chance <= 1 - CERTAIN} if is_decided else set()
    return SwapResult(
        suspect,
        chances[component],
        chances[slot],
        present_slot if moved else None,
        occupant if occupant != component else None,
        frozenset(good),
    )


def find_candidates(evidence: Evidence, suspect: Pair, since: str) -> Iterator[Key]:
    """Yields the components and slots that may be bad.

    The suspect component and the suspect slot are candidates. If a run flags a pair that contains a candidate, the
    other member of the pair is a candidate too.
    """
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
    """Returns the probability that a candidate is bad, for each candidate.

    All other components and slots count as good.
    """
    number = {key: at for at, key in enumerate(candidates)}
    states = (np.arange(1 << len(candidates))[:, None] >> np.arange(len(candidates))) & 1 == 1
    logs = np.where(states, math.log(PRIOR), math.log(1 - PRIOR)).sum(axis=1)
    for pair in dict.fromkeys(pair for key in candidates for pair in evidence.pairs[key]):
        events = evidence.events_since(pair, suspect, since)
        flagged, clean = sum(events), len(events) - sum(events)
        bad = states[:, [number[key] for key in pair if key in number]].any(axis=1)
        log_if_bad = flagged * math.log(DETECTED) + clean * math.log(1 - DETECTED)
        log_if_good = flagged * math.log(FALSE_ALARM) + clean * math.log(1 - FALSE_ALARM)
        logs += np.where(bad, log_if_bad, log_if_good)
    weights = np.exp(logs - logs.max())
    return (weights @ states / weights.sum()).tolist()


FOLLOWED, STAYED, BOTH = (
    "the fault followed the component",
    "the fault stayed with the slot",
    "both the component and the slot are at fault",
)


def is_decided(sentence: str) -> bool:
    """Whether a sentence of `swap_sentence` names the component, the slot or both as faulty."""
    return sentence.startswith((FOLLOWED, STAYED, BOTH))


def swap_sentence(result: SwapResult, kind: str) -> str:
    """The result of a swap as a sentence. kind: the type of the component, such as "GPU"."""
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
    unknown = f"it is not known yet whether the component ({what}) or the slot ({where}) is at fault"
    return f"{unknown}: measure {' and '.join(missing)}"
