"""Error rates of node against node: `python -m tests.benchmarks.node_comparison [SWEEPS]`.

Simulated sweeps of alike nodes with FIGURES figures per node, between GPUs. Noise is the standard deviation of a figure
from node to node. A false finding is a finding in a sweep of healthy nodes. In the other sweeps one node is slower by
the given fraction, in one figure or in all. The sweep counts as found if this node is the only one that is named.
"""

import sys

import numpy as np

from linkmatrix.judge.node_comparison import Key, NodeMedians, differences
from linkmatrix.references.noise import FLOORS_WITHOUT_REFERENCE, DataPath

FIGURES = 9
NODES = (3, 4, 16, 64)
NOISE = (0.002, 0.005)
LOSSES = (0.03, 0.05)
SLOW = "n0"


def named(draw: np.random.Generator, nodes: int, sigma: float, loss: float = 0.0, slow_figures: int = 1) -> set[str]:
    """The nodes that are named in a simulated sweep.

    sigma: noise as a fraction. loss: the fraction by which `slow_figures` figures of node SLOW are lower.
    """
    values = 390.0 * (1 + draw.normal(0, sigma, (FIGURES, nodes)))
    values[:slow_figures, 0] *= 1 - loss
    figures = {
        Key("cuda", f"testcase{at}", 1 << 29, "", "NV18", ("NVIDIA H200",)): NodeMedians(
            {f"n{node}": float(value) for node, value in enumerate(row)},
            "GB/s",
            FLOORS_WITHOUT_REFERENCE[DataPath.LINK],
        )
        for at, row in enumerate(values)
    }
    return {one.node for one in differences(figures)}


def main(sweeps: int) -> None:
    """Prints a table: a line for each number of nodes and noise."""
    draw = np.random.default_rng(1)
    print(f"Findings of {sweeps} sweeps, {FIGURES} figures per node\n")
    print("| nodes | noise | healthy: false findings | −3 %, 1 figure | −5 %, 1 figure | −3 %, all | −5 %, all |")
    print("|---|---|---|---|---|---|---|")
    for nodes in NODES:
        for sigma in NOISE:
            wrong = sum(len(named(draw, nodes, sigma)) for _ in range(sweeps))
            found = [
                sum(named(draw, nodes, sigma, loss, count) == {SLOW} for _ in range(sweeps))
                for count in (1, FIGURES)
                for loss in LOSSES
            ]
            cells = " | ".join(f"{count:,}" for count in (wrong, *found))
            print(f"| {nodes} | {100 * sigma:.1f} % | {cells} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
