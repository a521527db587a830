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

from linkmatrix.judge import sampled_matrix

ENDPOINTS = (64, 1024, 4096)
SIGMAS = (0.0015, 0.005, 0.01)
FAULTS = (0, 1, 3)
SEED = 1
#: Endpoints, lines of the uplinks of each leaf of 32, those of a bad one, how flows are routed.
LEAVES = [
    (256, 16, 14, "adaptive"),
    (256, 16, 15, "adaptive"),
    (256, 32, 28, "adaptive"),
    (256, 16, 16, "adaptive"),
    (256, 32, 32, "adaptive"),
    (1024, 16, 14, "adaptive"),
    (1024, 16, 16, "adaptive"),
    (256, 16, 4, "hashed"),
    (256, 16, 14, "hashed"),
    (256, 16, 16, "hashed"),
]


def simulated(
    program: str, endpoints: int, trials: int, sigma: float, faults: int, *leaves: object
) -> Iterator[dict[str, Any]]:
    """The trials, one after the other."""
    command = [program, *map(str, (endpoints, trials, SEED, sigma, faults, *leaves))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
        if process.wait() != 0:
            raise SystemExit(f"{program} ended with {process.returncode}")


def named(trial: dict[str, Any]) -> set[tuple[int, str]]:
    """The slow endpoints that the program recorded and reproduced, as (endpoint, direction)."""
    return {(one["endpoint"], one["direction"]) for one in trial["slow_endpoints"] if one["reproduced"]}


def row(program: str, endpoints: int, sigma: float, faults: int, trials: int) -> str:
    """A line of the table."""
    exact = alarms = open_ones = 0
    drawn = []
    for trial in simulated(program, endpoints, trials, sigma, faults):
        truth, found = {(one["endpoint"], one["how"]) for one in trial["truth"]}, named(trial)
        exact += found == truth
        alarms += bool({endpoint for endpoint, _ in found} - {endpoint for endpoint, _ in truth})
        open_ones += bool(trial["open"])
        drawn.append(len(trial["drawn"]))
    share = f"{100 * exact / trials:6.1f}%  {100 * alarms / trials:11.1f}%  {100 * open_ones / trials:5.1f}%"
    rounds = f"{sum(drawn) / trials:6.1f}  {max(drawn):4}"
    return f"{endpoints:9}  {100 * sigma:4.2f}%  {faults:6}  {trials:6}  {share}  {rounds}"


def row_of_leaves(program: str, trials: int, endpoints: int, usual: int, bad: int, routing: str) -> str:
    """A line of the table of uplinks; two endpoints are at fault too."""
    exact = alarms = nodes = 0
    for trial in simulated(program, endpoints, trials, 0.005, 2, usual, bad, routing):
        wanted = {f"leaf{trial['bad_leaf']}"} if bad < usual else set()
        found = {group for group, _, _ in sampled_matrix.slow_groups(trial, False)}
        exact += found == wanted
        alarms += bool(found - wanted)
        nodes += named(trial) == {(one["endpoint"], one["how"]) for one in trial["truth"]}
    shares = "  ".join(f"{100 * count / trials:5.1f}%" for count in (exact, alarms, nodes))
    return f"{endpoints:9}  {usual:7}  {bad:3}  {routing:8}  {trials:6}  {shares}"


def main(arguments: list[str]) -> int:
    """Prints the table."""
    program, trials = arguments[0], int(arguments[1]) if len(arguments) > 1 else 200
    print("endpoints  uplinks  bad  routing   trials   exact  false  endpoints exact")
    for leaves in LEAVES:
        print(row_of_leaves(program, trials, *leaves), flush=True)
    print("endpoints  noise  faults  trials    exact  false alarms   open  rounds  most")
    for endpoints in ENDPOINTS:
        for sigma in SIGMAS:
            for faults in FAULTS:
                print(row(program, endpoints, sigma, faults, trials), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
