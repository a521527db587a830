"""patrol [NODES [DAYS [SEEDS]]]: how well a patrol of so many node-hours a day covers a partition, and what it finds.

Simulated (tests/tools/patrolled.py): sweeps of 120 s a node, 20 nodes a leaf switch, one node in 25 with a fault that
is there in 20 % of its jobs, none or half of the jobs preempted. By default 500 nodes, 60 days, 5 seeds. Exit code 1
where a budget was exceeded, or a node older than the bound that runs/patrol.py promises.
In the repository's folder: `python -m tests.benchmarks.patrol`.
"""

import sys
from collections.abc import Sequence

import numpy as np

from tests.tools.patrolled import ALONE, Patrolled, patrolled

HOURS = (3, 5, 10, 20)  # node-hours a day
PRESENCE = 0.2
HEAD = "node-hours  preempted  used  greatest age in days at the end, ever  pairs met  faults found  days: median, 90 %"


def main(nodes: int, days: int, seeds: int) -> int:
    """Prints a table."""
    faulty = max(1, nodes // 25)
    print(f"{nodes} nodes, {days} days, {seeds} seeds, {faulty} faults in {100 * PRESENCE:.0f} % of jobs\n{HEAD}")
    wrong = []
    for hours in HOURS:
        budget = hours * 3600.0
        turn = 4 * nodes * ALONE.seconds / budget  # days in which each node is tried, whatever is suspect
        for preempted in (0.0, 0.5):
            said = [patrolled(nodes, days, budget, faulty, PRESENCE, preempted, seed) for seed in range(seeds)]
            print(f"{hours:10} {100 * preempted:8.0f} % {line(said, budget, days, int(turn))}", flush=True)
            if any(cost > budget * (1 + 1e-9) for one in said for cost in one.planned):
                wrong.append(f"{hours} node-hours were exceeded")
            greatest = max((age for one in said for age in one.ages[int(turn) :]), default=0.0)
            if not preempted and greatest > turn + 1:
                wrong.append(f"{hours} node-hours: {greatest:.0f} days, and the bound is {turn:.1f}")
    print("\n".join(wrong or ["all budgets and bounds are kept"]))
    return int(bool(wrong))


def line(said: Sequence[Patrolled], budget: float, days: int, turn: int) -> str:
    """The figures of the seeds of a patrol; turn: days after which ages count."""
    found = [day for one in said for day in one.found]
    half, most = (np.percentile(found, at) if found else float("nan") for at in (50, 90))
    used = np.mean([sum(one.used) for one in said]) / (budget * days)
    last = np.mean([one.ages[-1] for one in said])
    greatest = max((age for one in said for age in one.ages[turn:]), default=float("nan"))
    met, of = np.mean([one.met[-1] for one in said]), f"{len(found)} of {sum(one.faults for one in said)}"
    return f"{100 * used:3.0f} % {last:30.1f} {greatest:5.0f} {100 * met:8.1f} % {of:>13} {half:13.1f} {most:5.1f}"


if __name__ == "__main__":
    words = [*sys.argv[1:], *("500", "60", "5")[len(sys.argv) - 1 :]]
    if len(words) != 3 or not all(word.isdecimal() and int(word) for word in words):
        sys.exit(f"{__doc__.partition(':')[0]}: three numbers at most, each 1 at least")
    sys.exit(main(*map(int, words)))
