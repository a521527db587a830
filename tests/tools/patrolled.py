"""Simulates a partition that runs/patrol.py patrols day by day, with intermittent faults and preempted jobs.

Only the machine is simulated. The planned measurements are those of `linkmatrix next`.
"""

import random
from dataclasses import dataclass, field
from itertools import combinations

from linkmatrix.runs.patrol import Duration, Job, Node, plan

DAY = 86400.0
CASES = 10  # of the suite, which take as long as each other
ALONE, TOGETHER = Duration(120.0, 500), Duration(30.0, 500)  # durations of runs
CLEAN_RUNS = 3  # that clear a suspect
OF_A_LEAF = 20  # nodes


@dataclass
class Patrolled:
    """The results of a patrol.

    ages: per day the greatest age of a node's measurement in days; for nodes never measured, the age of the patrol.
    costs: per day, in node-seconds, planned and used.
    met: per day the share of pairs of leaf switches that were measured.
    found: per found fault, the days since its beginning.
    faults: the number of faults.
    """

    ages: list[float] = field(default_factory=list)
    planned: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    met: list[float] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    faults: int = 0


@dataclass
class Machine:
    """A simulated node, and the knowledge about it: the time of each measurement, and its suspicion."""

    name: str
    leaf: str
    faulty_from: int | None = None
    cases: list[float | None] = field(default_factory=lambda: [None] * CASES)
    tried: float | None = None
    blamed: bool = False
    clean: int = 0
    found: int | None = None

    def known(self) -> Node:
        """The knowledge about the node, in the form of stored runs."""
        whole = [case for case in self.cases if case is not None]
        tested = min(whole) if len(whole) == CASES else None
        return Node(self.name, tested, self.tried, "blamed" if self.blamed else "", leaf=self.leaf)

    def measure(self, day: int, reached: int, present: bool) -> None:
        """Simulate a job that measured a number of the test cases. present: whether the fault shows today."""
        now = day * DAY
        self.tried = now
        self.cases[:reached] = [now] * reached
        if not reached:
            return
        if present:
            self.blamed, self.clean = True, 0
            self.found = day if self.found is None else self.found
        elif self.blamed and reached == CASES:
            self.clean += 1
            self.blamed = self.clean < CLEAN_RUNS


def patrolled(
    nodes: int, days: int, budget: float, faults: int, presence: float, preempted: float, seed: int
) -> Patrolled:
    """Simulate a patrol of a number of days.

    budget: node-seconds per day. faults: the number of nodes with a fault that begins in the first third. presence: the
    share of jobs in which a fault shows. preempted: the share of jobs that end early.
    """
    draw = random.Random(seed)
    machines = {f"n{at:04}": Machine(f"n{at:04}", f"leaf{at // OF_A_LEAF}") for at in range(nodes)}
    for name in draw.sample(sorted(machines), faults):
        machines[name].faulty_from = draw.randrange(1, max(1, days // 3) + 1)
    pairs: dict[tuple[str, str], float | None] = dict.fromkeys(
        combinations(sorted({one.leaf for one in machines.values()}), 2)
    )
    result = Patrolled(faults=faults)
    for day in range(1, days + 1):
        jobs = plan([one.known() for one in machines.values()], pairs, ALONE, TOGETHER, budget)
        used = sum(run(job, day, machines, pairs, presence, preempted, draw) for job in jobs)
        result.planned.append(sum(job.cost for job in jobs))
        result.used.append(used)
        known = [one.known().tested for one in machines.values()]
        result.ages.append(max(day - (0 if then is None else then / DAY) for then in known))
        result.met.append(sum(met is not None for met in pairs.values()) / max(1, len(pairs)))
    faulty = [one for one in machines.values() if one.faulty_from is not None]
    result.found = [one.found - one.faulty_from for one in faulty if one.found is not None]
    return result


def run(
    job: Job,
    day: int,
    machines: dict[str, Machine],
    pairs: dict[tuple[str, str], float | None],
    presence: float,
    preempted: float,
    draw: random.Random,
) -> float:
    """Simulate a job. Returns the node-seconds that the job used."""
    reached = draw.randrange(CASES) if draw.random() < preempted else CASES
    if job.kind == "pair":
        one, other = (machines[name].leaf for name in job.nodes)
        if reached == CASES:
            pairs[min(one, other), max(one, other)] = day * DAY
    else:
        machine = machines[job.nodes[0]]
        shows = machine.faulty_from is not None and day >= machine.faulty_from and draw.random() < presence
        machine.measure(day, reached, shows)
    return job.cost * reached / CASES
