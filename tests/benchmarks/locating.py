"""locating [TRIALS [HEALTHY]]: how often the right part is named, a confusion matrix, and false alarms.

Simulated clusters (tests/tools/fabric.py), with the noise, routes, drift and missing cells that it says. TRIALS of each
kind of fault and depth, by default 200; HEALTHY runs of each size, by default 3,000, and a tenth of 1,024 endpoints.
In the repository's folder: `python -m tests.benchmarks.locating`.
"""

import sys
import time
from collections import Counter

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
}
#: Kinds that have a target, and how many must be named right at each depth.
WANTED = ("device", "egress", "ingress", "link inside", "link between", "adapter", "node", "node pair", "socket")
WANTED += ("leaf", "class")
DEPTHS = {0.10: 0.99, 0.05: 0.95, 0.03: 0.80}
TWO_AT_ONCE = 0.95
HEALTHY = {
    "1x4": (Machine(1, 4), 1),
    "1x8": (Machine(1, 8), 1),
    "8x8": (Machine(8, 8), 1),
    "128x8": (Machine(128, 8), 0.1),
}


def bench(machine: Machine, medians: int, seed: int) -> Bench:
    """A machine with references."""
    return Bench(Fabric(machine, np.random.default_rng(seed), medians=medians))


def percent(found: Counter) -> float:
    """Share of right answers."""
    return 100 * found[RIGHT] / sum(found.values())


def table(name: str, one: Bench, trials: int, said: dict[str, Counter]) -> list[str]:
    """Prints a line for each kind; said: {kind: what was named at the least depth}. Returns what is too low."""
    missed = []
    print(f"\n{name}: named right of {trials}, in %")
    print(f"{'fault':13}" + "".join(f"{f'-{100 * depth:.0f} %':>8}" for depth in DEPTHS))
    for kind in one.faults:
        found = {depth: one.row(kind, depth, trials) for depth in DEPTHS}
        said.setdefault(kind, Counter()).update(found[min(DEPTHS)])
        print(f"{kind:13}" + "".join(f"{percent(found[depth]):8.1f}" for depth in DEPTHS), flush=True)
        for depth, least in DEPTHS.items():
            if kind in WANTED and percent(found[depth]) < 100 * least:
                missed.append(f"{name}: {kind} at -{100 * depth:.0f} %: {percent(found[depth]):.1f} %")
    two = Counter(one.try_two(0.10) for _ in range(trials))
    alike, told = two[ALIKE], trials - two[ALIKE]
    share = 100 * two[RIGHT] / max(told, 1)  # no measurement tells what has the same cells, and is as short
    print(f"{'two at once':13}{share:8.1f}  of {told}; of {alike} other parts have just the same cells", flush=True)
    return missed + ([f"{name}: two at once: {share:.1f} %"] if share < 100 * TWO_AT_ONCE else [])


def confusion(said: dict[str, Counter]) -> None:
    """Prints what was named instead: rows are faults, columns what was said, in % of all."""
    print(f"\nconfusion at -{100 * min(DEPTHS):.0f} %, all machines: rows are faults, columns what was named, in %")
    words = list(dict.fromkeys([RIGHT, NOTHING, SEVERAL, *(word for found in said.values() for word in found)]))
    print(" " * 13 + " ".join(f"{word[:9]:>9}" for word in words))
    for kind, found in said.items():
        cells = [f"{100 * found[word] / sum(found.values()):.1f}" if found[word] else "." for word in words]
        print(f"{kind:13}" + " ".join(f"{cell:>9}" for cell in cells))


def main(trials: int, healthy: int) -> int:
    """Prints the tables; exit code 1 where a target is missed."""
    missed: list[str] = []
    said: dict[str, Counter] = {}
    for seed, (name, (machine, medians)) in enumerate(MACHINES.items()):
        missed += table(name, bench(machine, medians, seed), trials, said)
    confusion(said)
    print("\nhealthy runs in which anything was named")
    for name, (machine, share) in HEALTHY.items():
        start, count = time.monotonic(), max(1, int(share * healthy))
        alarms = bench(machine, 1, 99).alarms(count)
        print(
            f"{name:8}{machine.count:6} endpoints: {alarms} of {count} ({time.monotonic() - start:.0f} s)", flush=True
        )
        if alarms * 1000 > count:
            missed.append(f"{name}: {alarms} false alarms of {count}")
    print("\nbelow the target:" if missed else "\nall targets are met")
    print("\n".join(f"  {line}" for line in missed))
    return int(bool(missed))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]]
    sys.exit(main(*(numbers + [200, 3000][len(numbers) :])))
