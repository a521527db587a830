"""swaps [TRIALS]: how often it is said rightly after one swap whether a fault followed the part.

Simulated nodes (tests/tools/moved_parts.py): the part bad, the slot, both or none, with the GPUs permuted in between.
TRIALS of each kind of fault and depth, by default 100. Exit code 1 where less than 98 % of a fault that is always
present are right.
In the repository's folder: `python -m tests.benchmarks.swaps`.
"""

import sys
from collections import Counter

from tests.tools.moved_parts import FAULTS, TRUTHS, trial

DEPTHS = (0.30, 0.10, 0.06)
PRESENT = {1.0: 3, 0.8: 5}  # share of runs in which the fault shows → runs before the swap, and after
LEAST = 0.98


def main(trials: int) -> int:
    """Prints a table."""
    missed = []
    for present, runs in PRESENT.items():
        print(f"\na fault present in {100 * present:.0f} % of runs, {runs} runs before the swap and {runs} after")
        print(f"right of {trials * len(FAULTS)}, in %" + "".join(f"{f'-{100 * depth:.0f} %':>8}" for depth in DEPTHS))
        for truth in TRUTHS:
            row = []
            for depth in DEPTHS:
                right, said = 0, Counter[str]()
                for seed in range(trials):
                    for number, way in enumerate(FAULTS):
                        good, found = trial(truth, way, depth, present, 1000 * seed + number, runs)
                        right += good
                        said.update([] if good else [one.swap[:40] for one in found] or ["nothing"])
                share = right / (trials * len(FAULTS))
                row.append(f"{100 * share:8.1f}")
                if present == 1.0 and share < LEAST:
                    missed.append(f"{truth} at -{100 * depth:.0f} %: {100 * share:.1f} %: {said.most_common(3)}")
            print(f"{truth:24}" + "".join(row), flush=True)
    print("\n".join(["\nbelow the target:", *missed] if missed else ["\nall targets are met"]))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
