"""Which nodes, and which pairs of leaf switches, are measured next within a budget of node-seconds.

Three queues share the budget: nodes that are flagged, changed or not measured whole when they were tried last; pairs of
leaf switches; and all nodes by when they were tried last. The first may take half of it and the second a quarter, so
that the third always has a quarter at least: however many nodes are flagged or cannot be measured, each other one is
tried within the time that four such quarters need. What a queue leaves the others take. No job begins that the budget
does not hold.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

URGENT, PAIRS = 0.5, 0.25  # of the budget, at most, while others wait
LIKELY = 0.9  # of the stored runs were no longer
MOST_RUNS = 500  # the newest, that say how long one takes

Pair = tuple[str, str]


@dataclass(frozen=True)
class Node:
    """A node as stored runs and its scheduler have it.

    tested: when all test cases of the suite had been measured on it last, in seconds since 1970; None: never. tried:
    when a test of it alone was begun last, whatever came of it.
    suspect, changed: why, in a sentence, else "". away: why it takes no job now, else "". leaf: its leaf switch.
    over_network: why a run with another node is needed, as one alone does not unflag it, else "".
    """

    name: str
    tested: float | None = None
    tried: float | None = None
    suspect: str = ""
    changed: str = ""
    away: str = ""
    leaf: str = ""
    over_network: str = ""

    @property
    def since(self) -> float:
        """When it was tried last, for sorting: what never was comes first."""
        return max((then for then in (self.tested, self.tried) if then is not None), default=float("-inf"))

    @property
    def cut_off(self) -> str:
        """Why it is due again though it was tried: what was measured is not all, as where a job was preempted."""
        whole = float("-inf") if self.tested is None else self.tested
        return "not all was measured when it was tried last" if self.since > whole else ""

    @property
    def urgent(self) -> str:
        """Why it does not wait for its turn, the strongest reason; "" where it does."""
        return self.suspect or self.changed or self.cut_off


@dataclass(frozen=True)
class Span:
    """How long a run takes: the 90th percentile of so many stored runs, in seconds of the program."""

    seconds: float
    runs: int


@dataclass(frozen=True)
class Job:
    """A run on some nodes, and why; kind: "node", one alone, or "pair", two nodes of two leaf switches."""

    kind: str
    nodes: tuple[str, ...]
    seconds: float
    why: str

    @property
    def cost(self) -> float:
        """In node-seconds."""
        return self.seconds * len(self.nodes)


@dataclass
class Purse:
    """What is left of a budget, in node-seconds, and the jobs that it pays for."""

    left: float
    jobs: list[Job] = field(default_factory=list)

    def take(self, wanted: Iterable[Job], most: float) -> None:
        """Those of the jobs, in their order, that fit into it and together into `most` node-seconds."""
        for job in wanted:
            if job.cost > min(self.left, most):
                return  # all of a queue cost the same
            self.jobs.append(job)
            self.left -= job.cost
            most -= job.cost


def span_of(seconds: Sequence[float]) -> Span | None:
    """How long a run takes, of the seconds of earlier ones; None of none."""
    known = sorted(seconds)
    return Span(known[min(int(LIKELY * len(known)), len(known) - 1)], len(known)) if known else None


def plan(
    nodes: Sequence[Node],
    pairs: Mapping[Pair, float | None],
    alone: Span | None,
    together: Span | None,
    budget: float,
) -> list[Job]:
    """The jobs that a budget of node-seconds holds, the most urgent first.

    pairs: {two leaf switches: when nodes of both met last, in seconds since 1970; None: never}. alone, together: how
    long a run takes on one node, and on two; None: not known, and none is planned.
    """
    purse = Purse(budget)
    able = sorted((node for node in nodes if not node.away), key=lambda node: (node.since, node.name))
    urgent = sorted((node for node in able if node.urgent), key=urgency)
    queues = {
        "urgent": of_nodes(urgent, alone),
        "pairs": of_pairs(able, pairs, together),
        "oldest": of_nodes(able, alone),
    }
    for name, most in (("urgent", URGENT), ("pairs", PAIRS), ("oldest", 1.0), ("urgent", 1.0), ("pairs", 1.0)):
        planned = {(job.kind, job.nodes) for job in purse.jobs}
        purse.take((job for job in queues[name] if (job.kind, job.nodes) not in planned), most * budget)
    return purse.jobs


def urgency(node: Node) -> tuple[bool, bool, float]:
    """Sorts those that do not wait for their turn: suspects, what changed, what was cut off, the oldest of these first.

    One that never was measured whole is the last of these: it may be that it never can.
    """
    if node.suspect or node.changed:
        return not node.suspect, not node.changed, node.since
    return True, True, float("inf") if node.tested is None else node.tested


def of_nodes(nodes: Iterable[Node], span: Span | None) -> list[Job]:
    """A job for each node, with the reason."""
    if span is None:
        return []
    return [Job("node", (node.name,), span.seconds, node.urgent) for node in nodes]


def of_pairs(able: Sequence[Node], pairs: Mapping[Pair, float | None], span: Span | None) -> list[Job]:
    """A job of two nodes for each pair of leaf switches; each node as seldom as can be.

    First as many as there are nodes that need one, each with the leaf switch that its own met longest ago, or with any
    other node where it has none that is left; then those that never met.
    """
    if span is None:
        return []
    of_leaf: dict[str, list[str]] = {}
    for node in able:
        of_leaf.setdefault(node.leaf, []).append(node.name)
    order = sorted(pairs.items(), key=lambda item: (item[1] is not None, item[1] or 0.0, item[0]))
    left = {pair: met for pair, met in order if all(of_leaf.get(leaf) for leaf in pair)}
    used: Counter[str] = Counter()
    found = []

    def plan_pair(pair: Pair, needs: Node | None = None) -> None:
        met = left.pop(pair)
        ends = tuple(
            needs.name if needs and leaf == needs.leaf else min(of_leaf[leaf], key=lambda name: used[name])
            for leaf in pair
        )
        used.update(ends)
        why = f"{pair[0]} and {pair[1]}" + (" never met" if met is None else "")
        found.append(Job("pair", ends, span.seconds, f"{needs.over_network} ({why})" if needs else why))

    for node in (node for node in able if node.over_network):
        of_it = next((pair for pair in left if node.leaf in pair), None)
        others = [other.name for other in able if other.name != node.name]
        if of_it is not None:
            plan_pair(of_it, node)
        elif others and not used[node.name]:
            ends = node.name, min(others, key=lambda name: used[name])
            used.update(ends)
            found.append(Job("pair", ends, span.seconds, node.over_network))
    for pair in list(left):
        plan_pair(pair)
    return found
