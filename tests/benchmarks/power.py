"""power [TRIALS]: the deficit that a contract says it could have seen, against simulated runs in which there is one.

Matrices of 4 and 8 devices with normal noise, judged by the limits of a contract. Of each a run without any fault says
its noise and with that the power (contract/power.py); then one cell is worse by a deficit in TRIALS other runs, by
default 400. Predicted and found are the shares of runs in which that cell fails, the means over the runs that predict.
Exit code 1 where what is called the smallest deficit is found in less than the promised share of runs, beyond chance.
In the repository's folder: `python -m tests.benchmarks.power`.
"""

import math
import sys

import numpy as np

from linkmatrix.contract.power import POWER
from tests.tools.deficits import LIMIT, Deficits

RUNS = 20  # that predict
SIGMAS = (0.002, 0.005, 0.01)


DEFICITS = (0.02, 0.03, 0.04, 0.05)


def row(sim: Deficits, trials: int) -> tuple[str, float]:
    """(a line of the table, the share of runs in which what is called the smallest deficit was found)."""
    noises = [sim.noise() for _ in range(RUNS)]
    smallest = [noise.smallest for noise in noises]
    assert None not in smallest
    found = float(np.mean([sim.found(one, trials // RUNS + 1) for one in smallest]))
    predicted = [float(np.mean([noise.power(one) for noise in noises])) for one in DEFICITS]
    shares = [
        f"{100 * share:4.0f}/{100 * sim.found(one, trials):3.0f}"
        for share, one in zip(predicted, DEFICITS, strict=True)
    ]
    head = f"{sim.count:7}  {sim.unit:4} {100 * sim.sigma:5.1f} % {100 * np.mean(smallest):8.2f} % {100 * found:6.1f} %"
    return f"{head}     {''.join(f'{share:>11}' for share in shares)}", found


def main(trials: int) -> int:
    """Prints a table."""
    missed = []
    print(f"limit {100 * (1 - LIMIT):.0f} % off the level; smallest: the deficit seen with {100 * POWER:.0f} %")
    heads = "".join(f"{100 * deficit:9.0f} %" for deficit in DEFICITS)
    print(f"devices  unit   noise   smallest    found   predicted/found, in %, at {heads}")
    for count in (4, 8):
        for unit in ("GB/s", "us"):
            for sigma in SIGMAS:
                line, found = row(Deficits(count, unit, sigma, seed=count), trials)
                print(line, flush=True)
                if found < POWER - 3 * math.sqrt(POWER * (1 - POWER) / trials):
                    missed.append(f"{count} devices, {unit}, noise {100 * sigma:.1f} %: {100 * found:.1f} %")
    print("\n".join(["\nbelow what was promised:", *missed] if missed else ["\nall promises are kept"]))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
