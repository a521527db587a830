"""Plans the next measurements of nodes and of pairs of leaf switches, within a budget of node-seconds.

Three queues share the budget:

| queue | content | share of the budget |
|---|---|---|
| urgent | nodes that are flagged or changed, or whose last measurement is incomplete | at most a half |
| pairs | pairs of leaf switches | at most a quarter |
| oldest | all nodes, the longest untried first | the rest |

The queue "oldest" therefore gets at least a quarter, even if many nodes are urgent. If budget remains, the other queues
use the remainder. The jobs never exceed the budget.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

URGENT, PAIRS = 0.5, 0.25  # maximum shares of the budget
LIKELY = 0.9  # quantile of the durations of stored runs
MOST_RUNS = 500  # the newest runs, whose durations count

Pair = tuple[str, str]


@dataclass(frozen=True)
class Node:
    """A node with facts from stored runs and from its scheduler. Times are seconds since 1970.

    * tested: the time of the oldest of these results: the newest complete result of each test case of the suite. None
      if a test case has no complete result.
    * tried: start of the last single-node test, whatever its result; None without such a test
    * flagged: a sentence if the node is flagged; otherwise ""
    * changed: a sentence if the node changed since its last complete measurement; otherwise ""
    * away: the reason why the node accepts no jobs; "" if the node accepts jobs
    * leaf: its leaf switch
    * over_network: a sentence if only a run with another node can remove a flag of an adapter; otherwise ""
    """

    name: str
    tested: float | None = None
    tried: float | None = None
    flagged: str = ""
    changed: str = ""
    away: str = ""
    leaf: str = ""
    over_network: str = ""

    @property
    def since(self) -> float:
        """The time of the last attempt to measure the node; -inf if there was no attempt."""
        return max((then for then in (self.tested, self.tried) if then is not None), default=float("-inf"))

    @property
    def interruption(self) -> str:
        """A sentence if the last attempt was incomplete, such as after a preempted job; otherwise ""."""
        tested = float("-inf") if self.tested is None else self.tested
        return "the last attempt was incomplete" if self.since > tested else ""

    @property
    def urgent_reason(self) -> str:
        """Why the node is in the queue "urgent": flagged, changed or incompletely measured; "" without a reason."""
        return self.flagged or self.changed or self.interruption


@dataclass(frozen=True)
class Duration:
    """The duration of a run in seconds: the 90th percentile of `runs` stored runs."""

    seconds: float
    runs: int


@dataclass(frozen=True)
class Job:
    """A planned run.

    * kind: "node" for a run on one node; "pair" for a run on two nodes of two leaf switches
    * why: the reason of the run
    """

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
    """The remaining part of a budget in node-seconds, and the planned jobs."""

    left: float
    jobs: list[Job] = field(default_factory=list)

    def plan(self, wanted: Iterable[Job], most: float) -> None:
        """Plans the wanted jobs in their order. Stops when the budget or `most` node-seconds are used up."""
        for job in wanted:
            if job.cost > min(self.left, most):
                return  # all jobs of a queue cost the same
            self.jobs.append(job)
            self.left -= job.cost
            most -= job.cost


def typical_duration(seconds: Sequence[float]) -> Duration | None:
    """The expected duration of a run, from the durations of stored runs in seconds; None without stored runs."""
    known = sorted(seconds)
    return Duration(known[min(int(LIKELY * len(known)), len(known) - 1)], len(known)) if known else None


def plan(
    nodes: Sequence[Node],
    pairs: Mapping[Pair, float | None],
    node_duration: Duration | None,
    pair_duration: Duration | None,
    budget: float,
) -> list[Job]:
    """The jobs that fit into a budget of node-seconds, the most urgent job first.

    * pairs: {(leaf switch, leaf switch): time of the last measurement between their nodes}; None if never measured
    * node_duration, pair_duration: duration of a run on one node, and of a run on two nodes; None to plan no such run
    """
    planned_jobs = Budget(budget)
    able = sorted((node for node in nodes if not node.away), key=lambda node: (node.since, node.name))
    urgent = sorted((node for node in able if node.urgent_reason), key=urgency)
    queues = {
        "urgent": node_jobs(urgent, node_duration),
        "pairs": pair_jobs(able, pairs, pair_duration),
        "oldest": node_jobs(able, node_duration),
    }
    for name, most in (("urgent", URGENT), ("pairs", PAIRS), ("oldest", 1.0), ("urgent", 1.0), ("pairs", 1.0)):
        planned = {(job.kind, job.nodes) for job in planned_jobs.jobs}
        planned_jobs.plan((job for job in queues[name] if (job.kind, job.nodes) not in planned), most * budget)
    return planned_jobs.jobs


def urgency(node: Node) -> tuple[bool, bool, float]:
    """The sort key of urgent nodes: flagged nodes first, then changed nodes, then incompletely measured nodes.

    In each group, the node with the oldest measurement is first. Nodes that were never measured completely are at the
    end of the last group, because a complete measurement may be impossible.
    """
    if node.flagged or node.changed:
        return not node.flagged, not node.changed, node.since
    return True, True, float("inf") if node.tested is None else node.tested


def node_jobs(nodes: Iterable[Node], span: Duration | None) -> list[Job]:
    """One job per node, with its reason; no jobs if the duration is unknown."""
    if span is None:
        return []
    return [Job("node", (node.name,), span.seconds, node.urgent_reason) for node in nodes]


def pair_jobs(able: Sequence[Node], pairs: Mapping[Pair, float | None], span: Duration | None) -> list[Job]:
    """The jobs for pairs of leaf switches: one job of two nodes per pair. The jobs are spread over the nodes.

    1. The nodes with `over_network` get the first jobs. The other node of the job is on the leaf switch that was
       measured with the leaf switch of the first node the longest time ago. If no unplanned pair contains this leaf
       switch, any other node is used.
    2. The other pairs of leaf switches follow: first the never measured pairs, then the pair with the oldest
       measurement.
    """
    if span is None:
        return []
    leaf_nodes: dict[str, list[str]] = {}
    for node in able:
        leaf_nodes.setdefault(node.leaf, []).append(node.name)
    order = sorted(pairs.items(), key=lambda item: (item[1] is not None, item[1] or 0.0, item[0]))
    left = {pair: met for pair, met in order if all(leaf_nodes.get(leaf) for leaf in pair)}
    used: Counter[str] = Counter()
    found = []

    def plan_pair(pair: Pair, needs: Node | None = None) -> None:
        met = left.pop(pair)
        ends = tuple(
            needs.name if needs and leaf == needs.leaf else min(leaf_nodes[leaf], key=lambda name: used[name])
            for leaf in pair
        )
        used.update(ends)
        why = f"{pair[0]} and {pair[1]}" + (" never met" if met is None else "")
        found.append(Job("pair", ends, span.seconds, f"{needs.over_network} ({why})" if needs else why))

    for node in (node for node in able if node.over_network):
        pair = next((pair for pair in left if node.leaf in pair), None)
        others = [other.name for other in able if other.name != node.name]
        if pair is not None:
            plan_pair(pair, node)
        elif others and not used[node.name]:
            ends = node.name, min(others, key=lambda name: used[name])
            used.update(ends)
            found.append(Job("pair", ends, span.seconds, node.over_network))
    for pair in list(left):
        plan_pair(pair)
    return found
