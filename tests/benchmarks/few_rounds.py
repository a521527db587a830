#!/usr/bin/env python3
"""few_rounds SIMULATION [TRIALS]: which endpoints are named after a few matchings of 64, 1,024 and 4,096 of them.

SIMULATION is the program tests/native/matchings_simulation: the schedule is the real one, the network is made up, with
noise that has heavy tails (0.5 % of the cells lose an exponential of 5 %), healthy endpoints that differ by 0.2 %, and
faults of 5, 10 or 30 %. Exact: all that is at fault is named, with what of it, and nothing else.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from linkmatrix.locate import matchings

ENDPOINTS = (64, 1024, 4096)
SIGMAS = (0.0015, 0.005, 0.01)
FAULTS = (0, 1, 3)
SEED = 1


def simulated(program: str, endpoints: int, trials: int, sigma: float, faults: int) -> Iterator[dict[str, Any]]:
    """The trials, one after the other."""
    command = [program, str(endpoints), str(trials), str(SEED), str(sigma), str(faults)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
        if process.wait() != 0:
            raise SystemExit(f"{program} ended with {process.returncode}")


def named(trial: dict[str, Any], endpoints: int) -> set[tuple[int, str]]:
    """Who is at fault, as `linkmatrix diagnose` says without references."""
    values = {(row, column): value for row, column, value in trial["cells"]}
    found, _ = matchings.faults(matchings.arranged(values, trial["drawn"], False), endpoints, False, False)
    return {(one.endpoint, one.how) for one in found if one.lasts}


def row(program: str, endpoints: int, sigma: float, faults: int, trials: int) -> str:
    """A line of the table."""
    exact = alarms = open_ones = 0
    drawn = []
    for trial in simulated(program, endpoints, trials, sigma, faults):
        truth, found = {(one["endpoint"], one["how"]) for one in trial["truth"]}, named(trial, endpoints)
        exact += found == truth
        alarms += bool({endpoint for endpoint, _ in found} - {endpoint for endpoint, _ in truth})
        open_ones += bool(trial["open"])
        drawn.append(len(trial["drawn"]))
    share = f"{100 * exact / trials:6.1f}%  {100 * alarms / trials:11.1f}%  {100 * open_ones / trials:5.1f}%"
    rounds = f"{sum(drawn) / trials:6.1f}  {max(drawn):4}"
    return f"{endpoints:9}  {100 * sigma:4.2f}%  {faults:6}  {trials:6}  {share}  {rounds}"


def main(arguments: list[str]) -> int:
    """Prints the table."""
    program, trials = arguments[0], int(arguments[1]) if len(arguments) > 1 else 200
    print("endpoints  noise  faults  trials    exact  false alarms   open  rounds  most")
    for endpoints in ENDPOINTS:
        for sigma in SIGMAS:
            for faults in FAULTS:
                print(row(program, endpoints, sigma, faults, trials), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
