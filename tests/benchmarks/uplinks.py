"""uplinks [TRIALS [HEALTHY]]: how often the uplink of a leaf switch is named by a matrix of nodes, and false alarms.

Simulated clusters (tests/tools/fabric.py) with the noise, routes, drift and missing cells that it says, by default 60
TRIALS of each, and 3,000 HEALTHY runs of each machine. A path that is slow costs each cell that passes the uplink as
much; an uplink that lacks lines leaves to its nodes what they share fairly, all sending at once, with adaptive routing
(tests/tools/shared_uplinks.py). Held against references that are adopted from six healthy runs of the same network, or
seen from inside; with groups, or without: then "a shared bottleneck" of the right nodes is right, and
a node or a path that is named is not. In the repository's folder: `python -m tests.benchmarks.uplinks`.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate import diagnosis, shared_bottleneck
from linkmatrix.locate.deviations import class_deviations
from linkmatrix.record.names import lasting_names
from linkmatrix.references.tables import Reference, References
from tests.tools.confusion import Bench
from tests.tools.fabric import Fabric, Machine, Run, record_of
from tests.tools.shared_uplinks import fair

MACHINES = (Machine(16, 1, leaf=4), Machine(32, 1, leaf=8), Machine(64, 1, leaf=16))
SMALL = (Machine(6, 1, leaf=2), Machine(9, 1, leaf=3), Machine(8, 8, leaf=2))  # few nodes say what a switch carries
LEAST = 98  # percent, with groups and adaptive routing
SELDOM = 3  # without groups a trial takes longer: one of so many
#: What is at fault: the lines of all uplinks, as a share of their nodes', what one of them has of that, and by how much
#: its path is slow.
FAULTS = {
    "nothing": (1.0, 1.0, 0.0),
    "nothing, 2:1": (0.5, 1.0, 0.0),
    "path -30 %": (1.0, 1.0, 0.30),
    "path -10 %": (1.0, 1.0, 0.10),
    "path -5 %": (1.0, 1.0, 0.05),
    "path -3 %": (1.0, 1.0, 0.03),
    "3/4 of the lines": (1.0, 0.75, 0.0),
    "0.90 of the lines": (1.0, 0.90, 0.0),
    "0.95 of the lines": (1.0, 0.95, 0.0),
    "2:1, 3/4 of them": (0.5, 0.75, 0.0),
    "2:1, 0.90 of them": (0.5, 0.90, 0.0),
    "2:1, 0.95 of them": (0.5, 0.95, 0.0),
}
WAYS = {
    "references, groups": (True, True),
    "groups": (False, True),
    "references": (True, False),
    "neither": (False, False),
}


@cache
def shares(machine: Machine, usual: float, left: float, bad: int) -> np.ndarray:
    """What each cell gets of a line where uplink `bad` has `left` of what the others have."""
    uplinks = [usual * machine.leaf] * (machine.nodes // machine.leaf)
    uplinks[bad] *= left
    return fair(machine.leaf, uplinks)


class Network(Fabric):
    """A fabric whose uplinks are shared by all that is sent at once."""

    share: np.ndarray | float = 1.0

    def run(self, *args, **options) -> Run:
        """As that of a fabric; of cells that share, nobody knows what they are alone."""
        found = super().run(*args, **options)
        alone, first = (np.where(np.asarray(self.share) < 0.98, np.nan, of) for of in found[1:])
        return Run(found.values * self.share, alone, first)


@dataclass
class Tried:
    """A machine of a usual oversubscription, with its references."""

    machine: Machine
    usual: float

    def __post_init__(self) -> None:
        self.network = Network(self.machine, np.random.default_rng(7))
        self.network.share = shares(self.machine, self.usual, 1.0, 0)
        bench = Bench(self.network)
        labels = list(enumerate(lasting_names(bench.matrix.testcase, bench.matrix.rows)))
        table = {
            f"{row}->{column}": Reference(float(bench.expected[r, c]), float(bench.lower[r, c]), 0.1, "GB/s")
            for r, row in labels
            for c, column in labels
            if r != c
        }
        self.table = References({("cluster", bench.result["testcase"]): table})

    def answers(self, left: float, depth: float, trials: int) -> Iterator[dict[str, str]]:
        """{way: what is said} of each trial."""
        leaves = self.machine.nodes // self.machine.leaf
        for trial in range(trials):
            bad = trial % leaves
            self.network.share = shares(self.machine, self.usual, left, bad)
            run = self.network.run([([("uplink", bad)], depth)] if depth else [])
            healthy = left == 1.0 and not depth
            some = {way: known for way, known in WAYS.items() if known[1] or trial % SELDOM == 0}
            yield {way: self.said(run, *known, None if healthy else bad) for way, known in some.items()}

    def said(self, run: Run, held: bool, groups: bool, bad: int | None) -> str:
        """ "right", "nothing", "wrong", of a run."""
        content = record_of(self.machine, run.values)
        (result,) = content["results"]
        result["schedule"] = {**result["schedule"], "pairs_at_once": self.machine.nodes // 2}
        for r, c in np.argwhere(np.isfinite(run.alone) & np.isfinite(run.values)).tolist():
            cell = {"row": result["rows"][r], "column": result["columns"][c]}
            result["remeasured"].append({**cell, "before": run.first[r, c], "after": run.alone[r, c]})
        for device in [] if groups else content["devices"]:
            device["place"].pop("leaf")
        (matrix,) = evaluate(content, self.table if held else References({}), "cluster" if held else None).matrices
        found = diagnosis.diagnose(content, result, matrix)
        named = [
            (one.kind, who)
            for one, who in zip(found.findings, found.components, strict=True)
            if not one.missing | one.unconfirmed
        ]
        shared = [one for one in found.sentences if one.startswith("cells between these groups of nodes are")]
        if bad is None or not (named or shared):
            return ("wrong" if named or shared else "right") if bad is None else "nothing"
        first = bad * self.machine.leaf
        members = f"[{', '.join(f'n{node:03}' for node in range(first, first + 4))}"
        right = named == [("uplink", f"leaf{bad}")] if groups else not named and any(members in one for one in shared)
        return "right" if right else "wrong"


def alarms(machine: Machine, runs: int) -> tuple[int, int]:
    """Healthy runs in which an uplink is said to be narrow, with references and from inside."""
    bench = Bench(Fabric(machine, np.random.default_rng(11)))
    result = {**bench.result, "schedule": {**bench.result["schedule"], "pairs_at_once": machine.nodes // 2}}
    count = [0, 0]
    for _ in range(runs):
        run = bench.fabric.run()
        with np.errstate(invalid="ignore"):
            held = np.log(run.values / bench.expected)
        inside = class_deviations(bench.record, result, run.values, bench.layout.classes, bench.names.classes).deviation
        for way, deviation in enumerate((held, inside)):
            at_once = shared_bottleneck.uplink_sharing(deviation, bench.layout, result, None)
            count[way] += bool(at_once and at_once.narrow_switches)
    return count[0], count[1]


def percent(of: Counter, answer: str) -> float:
    """The share of an answer."""
    return 100 * of[answer] / sum(of.values())


def main(trials: int, healthy: int) -> int:
    """Prints the table; exit code 1 where less than LEAST is right with groups."""
    missed = 0
    print(f"right, in % of {trials} ({'; '.join(WAYS)}); in brackets where something else was named")
    for machine in MACHINES:
        print(f"\n{machine.nodes} nodes, {machine.leaf} at a leaf switch", flush=True)
        tried = {usual: Tried(machine, usual) for usual in (1.0, 0.5)}
        for fault, (usual, left, depth) in FAULTS.items():
            every = list(tried[usual].answers(left, depth, trials))
            counts = {way: Counter(one[way] for one in every if way in one) for way in WAYS}
            told = [f"{percent(of, 'right'):5.1f} ({percent(of, 'wrong'):.1f})" for of in counts.values()]
            print(f"{fault:18}" + "".join(f"{text:>16}" for text in told), flush=True)
            missed += percent(counts["references, groups"], "right") < LEAST
    print("\nhealthy runs in which an uplink is named, with references and without")
    for machine in (*MACHINES, *SMALL):
        held, inside = alarms(machine, healthy)
        print(f"{machine.nodes} nodes, {machine.leaf} at a leaf switch: {held} and {inside} of {healthy}", flush=True)
        missed += 1000 * held > healthy
    return int(missed > 0)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]]
    sys.exit(main(*(numbers + [60, 3000][len(numbers) :])))
