"""locating [TRIALS [HEALTHY]]: how often the right part is named, a confusion matrix, and false alarms.

Simulated clusters (tests/tools/fabric.py), with the noise, routes, drift and missing cells that it says. TRIALS of each
kind of fault and depth, by default 200; HEALTHY runs of each size, by default 3,000, and a tenth of 1,024 endpoints; 0
of one of them leaves it out. A process for each core, and the figures are the same however many these are.
In the repository's folder: `python -m tests.benchmarks.locating`.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tests.tools.confusion import ALIKE, NOTHING, RIGHT, SEVERAL, Bench
from tests.tools.fabric import Fabric, Machine

#: Name of a machine → itself, and how many medians its link classes have.
MACHINES = {
    "1x8 NVLink": (Machine(1, 8), 1),
    "2x4, a NIC each": (Machine(2, 4), 1),
    "4x8, a NIC each": (Machine(4, 8, leaf=2), 1),
    "4x8, a NIC for two, PCIe": (Machine(4, 8, nics="shared", inside="pcie"), 1),
    "4x8, two NICs for two": (Machine(4, 8, nics="pairs"), 1),
    "4x8, NICs by NUMA node": (Machine(4, 8, nics="numa"), 1),
    "4x8, 5 medians": (Machine(4, 8, leaf=2), 5),
    "8x8, a NIC each": (Machine(8, 8, leaf=2), 1),
    "16x4, a NIC each": (Machine(16, 4, leaf=4), 2),
    "64x1, a NIC each": (Machine(64, 1, leaf=8), 1),
    "18x4, an NVLink domain": (Machine(18, 4, domain=18), 1),
    "18x4, two NVLink domains": (Machine(18, 4, domain=9), 1),
}
#: Kinds that have a target, and how many must be named right at each depth.
WANTED = ("device", "egress", "ingress", "link inside", "link between", "adapter", "node", "node pair", "socket")
WANTED += ("leaf", "class", "tray", "plane", "nvlinks")
DEPTHS = {0.10: 0.99, 0.05: 0.95, 0.03: 0.80}
TWO, TWO_AT_ONCE = "two at once", 0.95
ALARM = "alarm"
AT_A_TIME = 10  # healthy runs of one process
#: Name of a machine → itself, how many medians its link classes have, and how many of the healthy runs it has.
HEALTHY = {
    "1x4": (Machine(1, 4), 1, 1),
    "1x8": (Machine(1, 8), 1, 1),
    "8x8": (Machine(8, 8), 1, 1),
    "8x8, 2 medians": (Machine(8, 8), 2, 1),
    "8x8, 5 medians": (Machine(8, 8), 5, 1),
    "128x8": (Machine(128, 8), 1, 0.1),
    "18x4, NVLink": (Machine(18, 4, domain=18), 1, 1),
}


@lru_cache(maxsize=2)  # those of a thousand endpoints are large
def bench(name: str, seed: int) -> Bench:
    """A machine with references, which are another one's nowhere."""
    machine, medians, *_ = MACHINES.get(name) or HEALTHY[name]
    return Bench(Fabric(machine, np.random.default_rng([*f"{name} {seed}".encode()]), medians=medians))


class Task(NamedTuple):
    """What one process does at a time: `trials` runs of a machine with faults of a kind, or healthy ones.

    kind: "" for healthy runs. part: of runs that are counted together, which ones; each has references of its own.
    """

    machine: str
    kind: str
    depth: float
    trials: int
    part: int = 0

    def run(self) -> Counter:
        """{what was named: how often}. The same whatever ran before it, and in whatever process."""
        one = bench(self.machine, self.part)
        one.fabric.chance = np.random.default_rng([*repr(self).encode()])
        if self.kind == TWO:
            return Counter(one.try_two(self.depth) for _ in range(self.trials))
        if self.kind:
            return one.row(self.kind, self.depth, self.trials)
        return Counter({ALARM: one.alarms(self.trials)})


def percent(found: Counter) -> float:
    """Share of right answers."""
    return 100 * found[RIGHT] / sum(found.values())


def tasks_of(name: str, trials: int) -> list[Task]:
    """All faults that a machine of the tables may have."""
    single = [Task(name, kind, depth, trials) for kind in bench(name, 0).faults for depth in DEPTHS]
    return [*single, Task(name, TWO, max(DEPTHS), trials)]


def healthy_tasks(name: str, runs: int) -> list[Task]:
    """Healthy runs of a machine, a few at a time."""
    sizes = [min(AT_A_TIME, runs - begun) for begun in range(0, runs, AT_A_TIME)]
    return [Task(name, "", 0.0, size, part) for part, size in enumerate(sizes)]


def table(name: str, trials: int, found: dict[Task, Counter]) -> list[str]:
    """Prints a line for each kind. Returns what is too low."""
    missed = []
    print(f"\n{name}: named right of {trials}, in %")
    print(f"{'fault':13}" + "".join(f"{f'-{100 * depth:.0f} %':>8}" for depth in DEPTHS))
    for kind in dict.fromkeys(task.kind for task in found if task.machine == name and task.kind not in ("", TWO)):
        shares = {depth: percent(found[Task(name, kind, depth, trials)]) for depth in DEPTHS}
        print(f"{kind:13}" + "".join(f"{share:8.1f}" for share in shares.values()))
        for depth, least in DEPTHS.items():
            if kind in WANTED and shares[depth] < 100 * least:
                missed.append(f"{name}: {kind} at -{100 * depth:.0f} %: {shares[depth]:.1f} %")
    two = found[Task(name, TWO, max(DEPTHS), trials)]
    alike, told = two[ALIKE], trials - two[ALIKE]
    share = 100 * two[RIGHT] / max(told, 1)  # no measurement tells what has the same cells, and is as short
    print(f"{TWO:13}{share:8.1f}  of {told}; of {alike} other parts have just the same cells")
    return missed + ([f"{name}: {TWO}: {share:.1f} %"] if share < 100 * TWO_AT_ONCE else [])


def confusion(said: dict[str, Counter]) -> None:
    """Prints what was named instead: rows are faults, columns what was said, in % of all."""
    print(f"\nconfusion at -{100 * min(DEPTHS):.0f} %, all machines: rows are faults, columns what was named, in %")
    words = list(dict.fromkeys([RIGHT, NOTHING, SEVERAL, *(word for found in said.values() for word in found)]))
    print(" " * 13 + " ".join(f"{word[:9]:>9}" for word in words))
    for kind, found in said.items():
        cells = [f"{100 * found[word] / sum(found.values()):.1f}" if found[word] else "." for word in words]
        print(f"{kind:13}" + " ".join(f"{cell:>9}" for cell in cells))


def alarms(name: str, runs: int, found: dict[Task, Counter]) -> list[str]:
    """Prints how many of the healthy runs of a machine named anything. Returns whether it is too many."""
    count = sum(found[task][ALARM] for task in healthy_tasks(name, runs))
    print(f"{name:15}{HEALTHY[name][0].count:6} endpoints: {count} of {runs}")
    return [f"{name}: {count} false alarms of {runs}"] if count * 1000 > runs else []


def main(trials: int, healthy: int) -> int:
    """Prints the tables; exit code 1 where a target is missed."""
    runs = {name: max(1, int(share * healthy)) if healthy else 0 for name, (*_, share) in HEALTHY.items()}
    faulty = {name: tasks_of(name, trials) for name in MACHINES} if trials else {}
    tasks = [task for name in reversed(HEALTHY) for task in healthy_tasks(name, runs[name])]  # the longest first
    tasks += [task for of_machine in faulty.values() for task in of_machine]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(tasks, pool.map(Task.run, tasks), strict=True))
    missed: list[str] = []
    said: dict[str, Counter] = {}
    for name, of_machine in faulty.items():
        missed += table(name, trials, found)
        for task in of_machine:
            if task.kind != TWO and task.depth == min(DEPTHS):
                said.setdefault(task.kind, Counter()).update(found[task])
    if said:
        confusion(said)
        missed += [f"{kind}: no machine has it" for kind in WANTED if kind not in said]
    if healthy:
        print("\nhealthy runs in which anything was named")
    for name in HEALTHY:
        missed += alarms(name, runs[name], found) if healthy else []
    left = "" if trials and healthy else f" of those that were tried, without {'healthy runs' if trials else 'faults'}"
    print("\nbelow the target:" if missed else f"\nall targets{left} are met")
    print("\n".join(f"  {line}" for line in missed))
    return int(bool(missed))


def number(word: str) -> int:
    """A number of runs. Raises ArgumentTypeError."""
    if not (word.isascii() and word.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{word}' is no number of runs: give a whole one, 0 or more")
    return int(word)


def asked(words: Sequence[str]) -> tuple[int, int]:
    """(TRIALS, HEALTHY) of the command line; ends with exit code 2 where these are none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", metavar="TRIALS", type=number, nargs="?", default=200)
    parser.add_argument("healthy", metavar="HEALTHY", type=number, nargs="?", default=3000)
    given = parser.parse_args(words)
    if given.trials == given.healthy == 0:
        parser.error("0 TRIALS and 0 HEALTHY runs meet no target: give more of one of them")
    return given.trials, given.healthy


if __name__ == "__main__":
    sys.exit(main(*asked(sys.argv[1:])))
