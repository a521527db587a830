"""Coverage of a partition: when each node and each pair of leaf switches was last measured.

The data comes from the index.

* The suite of a partition contains the common test cases. A test case is common if at least half of the measured nodes
  have a complete result of the test case.
* The age of a node is the age of its oldest result. For each test case of the suite, only the newest complete result
  counts, and only tests of this node alone count.
* A preempted job counts for the test cases that the job completed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BadInput
from ..record import units
from ..record.names import short
from .components import ADAPTER
from .folders import SKEW, epoch
from .modes import NODE_PAIR_TEST, NODE_SWEEP
from .notes import Note
from .patrol import MOST_RUNS, Duration, Node, Pair, typical_duration

if TYPE_CHECKING:
    from .index import Index
    from .index_tables import InstalledComponent, State
    from .suspicion import Suspect


DAY = 86400
#: Keys of the identity of a component, in order of priority.
IDENTITY = ("serial", "uuid", "guid", "mac")
#: Keys of the location of a component on its node, in order of priority.
POSITION = ("slot", "pci", "port")


@dataclass(frozen=True)
class Coverage:
    """The coverage of a partition at the time `now`, in seconds since 1970.

    * pairs: {(leaf switch, leaf switch): time of the last measurement between them}; None if never measured
    * suite: the test cases that each node should have
    * node_duration, pair_duration: duration of a run on one node, and of a run on two nodes; None without a stored run
    """

    partition: str
    now: float
    nodes: tuple[Node, ...]
    pairs: Mapping[Pair, float | None]
    suite: tuple[str, ...]
    node_duration: Duration | None
    pair_duration: Duration | None

    @property
    def days(self) -> int | None:
        """The age of the node with the oldest results, in whole days; None if a node was never measured completely."""
        if not self.nodes or any(node.tested is None for node in self.nodes):
            return None
        return max(age(self.now, node.tested) for node in self.nodes)

    def sentence(self, within: int) -> str:
        """A summary: "every node measured in the last 9 days, 96 % of pairs of leaf switches in the last 30 days"."""
        never = [node.name for node in self.nodes if node.tested is None]
        known = [age(self.now, node.tested) for node in self.nodes if node.tested is not None]
        if not known:
            text = "no node was ever measured completely"
        elif never:
            text = f"{len(known)} of {units.counted(len(self.nodes), 'node')} within {units.counted(max(known), 'day')}"
            text += f", {len(never)} never"
        else:
            text = f"every node measured in the last {units.counted(max(known), 'day')}"
        if not self.pairs:
            return text
        met = sum(met is not None and age(self.now, met) <= within for met in self.pairs.values())
        percent = int(1000 * met / len(self.pairs)) / 10  # rounded down
        return f"{text}, {percent:g} % of pairs of leaf switches in the last {units.counted(within, 'day')}"


def age(now: float, then: float | None) -> int:
    """The days from `then` to `now`, rounded up to whole days; 0 if `then` is in the future."""
    return max(0, -(-int(now - (then or 0.0)) // DAY))


def coverage(
    index: Index,
    partition: str,
    now: float,
    known: Mapping[str, str] | None,
    leaves: Mapping[str, str],
    clean_runs: int,
    written: Sequence[Note] = (),
) -> Coverage:
    """The coverage of a partition. Raises BadInput if no node of the partition is known.

    * known: {node: reason why the node accepts no jobs, or ""} from the scheduler; None to use the nodes of stored runs
    * leaves: {node: its leaf switch}. Nodes that are not in `leaves` have the leaf switch of their newest record.
    * written: notes of users. A node with a noted repair counts as changed.
    """
    until = now + SKEW
    newest: dict[str, dict[str, int]] = {}
    for node, cases, started in index.measured_cases(partition, until):
        times = newest.setdefault(short(node), {})
        for name, case in cases.items():
            if case.complete:
                times[name] = max(started, times.get(name, 0))
    suite = common_testcases(newest.values())
    tested = {
        node: min(times[name] for name in suite)
        for node, times in newest.items()
        if suite and times.keys() >= set(suite)
    }
    states = index.states(partition)
    members = {short(node): (node, "") for node in states}
    if known is not None:
        members = {short(node): (node, away) for node, away in known.items()}
    if not members:
        raise BadInput(f"there is no stored run of {partition}: measure it first, with linkmatrix run --mode=sweep")
    complete = index.states(partition, {node: tested[short(node)] for node in states if short(node) in tested})
    changed = noted_repairs(written, tested, states) | node_changes(states, complete)
    tried = {short(node): then for node, then in index.times_tried(partition, until).items()}
    suspect = index.suspects(clean_runs, written)
    suspects = flag_reasons((one for one in suspect if one.kind != ADAPTER), clean_runs)
    suspect_adapters = flag_reasons((one for one in suspect if one.kind == ADAPTER), clean_runs)
    leaf_of = {short(node): leaf for node, leaf in [*index.leaf_switches(partition).items(), *leaves.items()]}
    nodes = tuple(
        Node(
            name,
            tested.get(key),
            tried.get(key),
            suspects.get(key, ""),
            changed.get(key, ""),
            away,
            leaf_of.get(key, ""),
            suspect_adapters.get(key, ""),
        )
        for key, (name, away) in sorted(members.items())
    )
    met = index.last_meetings(partition, {node: leaf_of.get(short(node), "") for node in index.numbers}, until)
    pairs = combinations(sorted({node.leaf for node in nodes if node.leaf}), 2)
    return Coverage(
        partition,
        now,
        nodes,
        {pair: met.get(pair) for pair in pairs},
        suite,
        typical_duration(index.durations(partition, NODE_SWEEP, MOST_RUNS)),
        typical_duration(index.durations(partition, NODE_PAIR_TEST, MOST_RUNS)),
    )


def common_testcases(measured: Iterable[Mapping[str, int]]) -> tuple[str, ...]:
    """The test cases that at least half of the measured nodes have. measured: the test cases of each node."""
    nodes = [cases for cases in measured if cases]
    counts = Counter(name for cases in nodes for name in cases)
    return tuple(sorted(name for name, count in counts.items() if 2 * count >= len(nodes)))


def flag_reasons(suspects: Iterable[Suspect], clean_runs: int) -> dict[str, str]:
    """Returns {node: sentence about its component with the oldest flag}. suspects: sorted by oldest flag."""
    return {short(one.node): one.sentence(clean_runs) for one in reversed(list(suspects))}


def node_changes(newest: Mapping[str, State], before: Mapping[str, State]) -> dict[str, str]:
    """Returns {node: its changes since the last complete measurement, as text}. Nodes without a change are left out.

    newest: states in the newest records. before: states in the last complete measurements.
    """
    found = {node: state_difference(before[node], state) for node, state in newest.items() if node in before}
    return {short(node): text for node, text in found.items() if text}


def noted_repairs(written: Iterable[Note], tested: Mapping[str, float], newest: Mapping[str, State]) -> dict[str, str]:
    """Returns {node: its last note of a repair}. The repair may be of the node or of one of its components.

    Only repairs after the last complete measurement of the node count. tested: {node: time of this measurement}.
    """
    return {
        node: note.sentence()
        for note in written
        if note.kind != "note"
        for node in {*(short(place[0]) for place in note.places), *nodes_with(note.part, newest)}
        if epoch(note.when) > tested.get(node, float("inf"))
    }


def nodes_with(text: str, newest: Mapping[str, State]) -> set[str]:
    """The nodes whose newest record contains the component with the identity `text`; no nodes for ""."""
    wanted = text.casefold()
    return {
        short(node)
        for node, state in newest.items()
        if wanted and any(wanted == one.part.get(word, "").casefold() for one in state.parts for word in IDENTITY)
    }


def state_difference(before: State, after: State) -> str:
    """The changes of a node from `before` to `after`, as text; "" without a change.

    A fact counts only if both states contain the fact.
    """
    changes = [
        f"{name} {value} -> {after.versions[name]}"
        for name, value in before.versions.items()
        if after.versions.get(name, value) != value
    ]
    old, new = identities(before.parts), identities(after.parts)
    for kind, place in sorted(old.keys() & new.keys()):
        if old[kind, place] != new[kind, place]:
            changes.append(f"{kind} at {place} {old[kind, place]} -> {new[kind, place]}")
    if before.boot and after.boot and before.boot != after.boot:
        changes.append("node restarted")
    return "changed since it was measured completely: " + ", ".join(units.first(changes)) if changes else ""


def identities(installed: Iterable[InstalledComponent]) -> dict[tuple[str, str], str]:
    """Returns {(type, location on the node): identity}.

    Components without a known location or identity are left out.
    """
    found = {}
    for one in installed:
        place = next((f"{word} {one.place[word]}" for word in POSITION if one.place.get(word)), "")
        identity = next((f"{word} {one.part[word]}" for word in IDENTITY if one.part.get(word)), "")
        if place and identity:
            found[one.kind, place] = identity
    return found


def ages_by_day(index: Index, coverage: Coverage, days: int) -> list[tuple[str, int, int]]:
    """Returns one (date, age, number of never measured nodes) per day, for the last `days` days.

    age: the age in days of the node with the oldest results. Only measurements of the whole suite count.
    """
    today = int(coverage.now // DAY)
    names = {short(node.name): number for number, node in enumerate(coverage.nodes)}
    last = np.full((len(names), days), -1)
    for node, day in index.days_measured(coverage.partition, coverage.suite) if coverage.suite else ():
        number = names.get(short(node))
        if number is not None and day <= today:
            column = max(0, day - today + days - 1)
            last[number, column] = max(day, last[number, column])
    newest = np.maximum.accumulate(last, axis=1)
    each = np.arange(today - days + 1, today + 1)
    ages = np.where(newest < 0, 0, each[None, :] - newest)
    greatest, never = ages.max(axis=0, initial=0).tolist(), (newest < 0).sum(axis=0).tolist()
    when = [f"{datetime.fromtimestamp(int(day) * DAY, timezone.utc):%Y-%m-%d}" for day in each]
    return list(zip(when, greatest, never, strict=True))
