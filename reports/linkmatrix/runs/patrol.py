"""The next nodes, and pairs of leaf switches, to measure within a budget of node-seconds.

Three queues share the budget: urgent nodes, pairs of leaf switches, and all nodes, the longest untried first. Urgent
nodes are flagged, changed, or were not measured completely when they were tried last.

The first queue may use half of the budget, and the second a quarter, so the third always has at least a quarter.
However many nodes are flagged or cannot be measured, each other node is tried within the time that four such quarters
need. The other queues use what a queue leaves. No job is planned that exceeds the budget.
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
    """A node, by stored runs and its scheduler.

    tested: when the last test case of the suite was measured, in seconds since 1970; None: never completely.
    tried: the start of the last test of the node alone, whatever its result.
    suspect, changed: the reason in a sentence, else "".
    away: why the node takes no job now, else "".
    leaf: its leaf switch.
    over_network: why a run with another node is needed, because a run of the node alone does not unflag it, else "".
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
        """When the node was tried last, for sorting: a node that was never tried is first."""
        return max((then for then in (self.tested, self.tried) if then is not None), default=float("-inf"))

    @property
    def cut_off(self) -> str:
        """Why the node is due although it was tried: its measurement is incomplete, as after a preempted job."""
        whole = float("-inf") if self.tested is None else self.tested
        return "the last attempt was incomplete" if self.since > whole else ""

    @property
    def urgent(self) -> str:
        """The strongest reason to measure the node out of turn; "" without one."""
        return self.suspect or self.changed or self.cut_off


@dataclass(frozen=True)
class Duration:
    """The duration of a run in seconds: the 90th percentile of so many stored runs."""

    seconds: float
    runs: int


@dataclass(frozen=True)
class Job:
    """A run on some nodes, and its reason. kind: "node" for one node, or "pair" for two nodes of two leaf switches."""

    kind: str
    nodes: tuple[str, ...]
    seconds: float
    why: str

    @property
    def cost(self) -> float:
        """The cost in node-seconds."""
        return self.seconds * len(self.nodes)


@dataclass
class Budget:
    """The rest of a budget in node-seconds, and the jobs that were planned."""

    left: float
    jobs: list[Job] = field(default_factory=list)

    def plan(self, wanted: Iterable[Job], most: float) -> None:
        """Plan the wanted jobs in their order, as long as they fit into the budget and together into `most` node-
        seconds.
        """
        for job in wanted:
            if job.cost > min(self.left, most):
                return  # all of a queue cost the same
            self.jobs.append(job)
            self.left -= job.cost
            most -= job.cost


def typical_duration(seconds: Sequence[float]) -> Duration | None:
    """The duration of a run, from those of earlier runs in seconds; None without one."""
    known = sorted(seconds)
    return Duration(known[min(int(LIKELY * len(known)), len(known) - 1)], len(known)) if known else None


def plan(
    nodes: Sequence[Node],
    pairs: Mapping[Pair, float | None],
    alone: Duration | None,
    together: Duration | None,
    budget: float,
) -> list[Job]:
    """The jobs that fit into a budget of node-seconds, the most urgent first.

    pairs: {two leaf switches: last measurement between their nodes in seconds since 1970, None: never}. alone,
    together: the duration of a run on one node, and on two; None: unknown, and no such run is planned.
    """
    planned_jobs = Budget(budget)
    able = sorted((node for node in nodes if not node.away), key=lambda node: (node.since, node.name))
    urgent = sorted((node for node in able if node.urgent), key=urgency)
    queues = {
        "urgent": node_jobs(urgent, alone),
        "pairs": pair_jobs(able, pairs, together),
        "oldest": node_jobs(able, alone),
    }
    for name, most in (("urgent", URGENT), ("pairs", PAIRS), ("oldest", 1.0), ("urgent", 1.0), ("pairs", 1.0)):
        planned = {(job.kind, job.nodes) for job in planned_jobs.jobs}
        planned_jobs.plan((job for job in queues[name] if (job.kind, job.nodes) not in planned), most * budget)
    return planned_jobs.jobs


def urgency(node: Node) -> tuple[bool, bool, float]:
    """Sort key of urgent nodes: flagged, changed, then incompletely measured ones, in each the longest untested first.

    A node that was never measured completely is the last of these, because it may never be possible.
    """
    if node.suspect or node.changed:
        return not node.suspect, not node.changed, node.since
    return True, True, float("inf") if node.tested is None else node.tested


def node_jobs(nodes: Iterable[Node], span: Duration | None) -> list[Job]:
    """A job for each node, with the reason."""
    if span is None:
        return []
    return [Job("node", (node.name,), span.seconds, node.urgent) for node in nodes]


def pair_jobs(able: Sequence[Node], pairs: Mapping[Pair, float | None], span: Duration | None) -> list[Job]:
    """A job of two nodes for each pair of leaf switches. Each node is used as rarely as possible.

    Nodes that need a partner come first. Each gets the leaf switch that its own was measured with longest ago, or any
    other node if no such pair is left. Pairs that were never measured follow.
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
