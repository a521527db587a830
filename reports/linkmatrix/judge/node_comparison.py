"""Node against node: the nodes of a sweep that are slower than the other nodes. Needs no references.

A figure is the median of the cells of one link class, in one test case, on one node. Nodes are alike if their figures
have the same back end, test case, size, variant, link class, GPUs and processor. Each figure is compared with the
median of the figures of all alike nodes.

The rule is that of Iglewicz and Hoaglin (How to Detect and Handle Outliers, 1993): a value is an outlier if its
distance from the median exceeds a multiple of the scaled median absolute deviation. The multiple is k(m) of `noise`:
among all m figures of healthy nodes, a false finding has a probability of 1 %. The deviations of all figures with the
same floor share one σ. From six nodes, a figure whose own σ is more than twice as large keeps its own σ. A
deviation below the floor of the carrier (`noise.ALONE`) is never a finding.
`python -m tests.benchmarks.node_comparison` measures the error rates.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..record.names import is_collective
from ..record.units import counted
from ..references import noise
from .cell_sentences import quantity

if TYPE_CHECKING:
    from .evaluate import Evaluation

LEAST_NODES = 3  # with two nodes, the slow node cannot be identified
ENOUGH_NODES = 6  # the σ of one figure from fewer nodes is rough: one slow node would hide itself
MOST_FLAGGED = 1 / 3  # of the nodes: if more nodes are slow, they have a common cause
SMALL = {3: 2.15, 4: 1.39, 5: 1.38}  # factor of the spread around the median of so few values; see `noise.of_few`

Measured = tuple[str, Mapping[str, Any], "Evaluation"]  # node, its record, its evaluation


class Key(NamedTuple):
    """What alike nodes have in common. models: the model of each device, and of the host's processor."""

    backend: str
    testcase: str
    size_bytes: int | None
    variant: str
    link_class: str
    models: tuple[str, ...]


class Figures(NamedTuple):
    """{node: median} of nodes of the same models, in `unit`. floor: the least deviation of a finding, a fraction."""

    of_node: dict[str, float]
    unit: str
    floor: float


class Difference(NamedTuple):
    """The worst figure of a node that differs.

    worse: the fraction by which the figure is worse than the median of the alike nodes. limit: the largest fraction
    that is no finding. beyond, figures: how many figures of the node are beyond their limit, of how many.
    """

    node: str
    key: Key
    worse: float
    limit: float
    beyond: int
    figures: int


def node_figures(measured: Iterable[Measured]) -> dict[Key, Figures]:
    """The figures of the nodes of a sweep, without disturbed cells and without collectives."""
    found: dict[Key, Figures] = {}
    for node, record, evaluation in measured:
        models = (*sorted(device["name"] for device in record["devices"]), record["host"]["cpu"])
        for result, matrix in zip(record["results"], evaluation.matrices, strict=True):
            if matrix.whole is None or matrix.problem or is_collective(result):
                continue
            values, codes = matrix.whole.observed, matrix.whole.block.classes
            for code, name in enumerate(matrix.matrix.class_names):
                inside = values[(codes == code) & np.isfinite(values)]
                if len(inside):
                    variant = matrix.matrix.variant
                    key = Key(record["backend"], result["testcase"], result["size_bytes"], variant, name, models)
                    floor = noise.floor_alone(result, name, record["backend"])
                    alike = found.setdefault(key, Figures({}, result["unit"], floor))
                    alike.of_node[node] = float(np.median(inside))
    return found


def differences(figures: Mapping[Key, Figures]) -> list[Difference]:
    """The nodes that differ, the least deviation first; [] if more than a third of the nodes differ."""
    compared = {key: one for key, one in figures.items() if len(one.of_node) >= LEAST_NODES}
    deviations = {key: worse_than_median(one) for key, one in compared.items()}
    total = sum(map(len, deviations.values()))
    by_floor: dict[float, list[Key]] = defaultdict(list)
    for key, one in compared.items():
        by_floor[one.floor].append(key)
    limits: dict[Key, float] = {}
    for floor, keys in by_floor.items():
        shared = robust_spread([deviations[key] for key in keys])
        for key in keys:
            own = robust_spread([deviations[key]])
            keeps = len(deviations[key]) >= ENOUGH_NODES and own > noise.OWN_SPREAD * shared
            sigma = own if keeps else shared
            limits[key] = max(floor, noise.sigmas(total) * sigma)
    beyond = [
        (worse, node, key)
        for key, of in deviations.items()
        if sum(worse > limits[key] for worse in of.values()) <= MOST_FLAGGED * len(of)
        for node, worse in of.items()
        if worse > limits[key]
    ]
    count = Counter(node for _, node, _ in beyond)
    nodes = {node for of in deviations.values() for node in of}
    if len(count) > MOST_FLAGGED * len(nodes):
        return []
    known = Counter(node for of in deviations.values() for node in of)
    worst = {node: (worse, key) for worse, node, key in sorted(beyond)}
    found = [Difference(node, key, off, limits[key], count[node], known[node]) for node, (off, key) in worst.items()]
    return sorted(found, key=lambda one: one.worse)


def robust_spread(deviations: Sequence[Mapping[str, float]]) -> float:
    """The standard deviation of all deviations, estimated by the median of their absolute values.

    deviations: for each figure, {node: deviation from the median of all nodes, as a fraction}.
    """
    fewest = min(map(len, deviations))
    every = np.abs([off for of in deviations for off in of.values()])
    return 1.4826 * SMALL.get(fewest, noise.small_sample_factor(fewest)) * float(np.median(every))


def worse_than_median(one: Figures) -> dict[str, float]:
    """{node: the fraction by which its figure is worse than the median of all alike nodes; negative: better}."""
    middle, sign = float(np.median(list(one.of_node.values()))), 1 if one.unit == "us" else -1
    return {node: sign * (value / middle - 1) for node, value in one.of_node.items()}


def node_findings(measured: Iterable[Measured]) -> Iterator[tuple[Difference, str, str]]:
    """(difference, sentence with the figures, sentence about the comparison) of each node that differs."""
    figures = node_figures(measured)
    for one in differences(figures):
        alike = figures[one.key]
        others = [value for node, value in alike.of_node.items() if node != one.node]
        value, middle, low, high = (
            quantity(number, alike.unit)
            for number in (alike.of_node[one.node], float(np.median(others)), min(others), max(others))
        )
        yield (
            one,
            f"{one.node}: {one.key.testcase} {one.key.link_class} {value} is {100 * one.worse:.1f} % worse than on"
            f" {counted(len(others), 'alike node')} (median {middle}, {low} to {high})",
            f"this node exceeds the limit of {100 * one.limit:.1f} % in {one.beyond} of"
            f" {counted(one.figures, 'figure')}; {len(alike.of_node)} alike nodes compared",
        )
