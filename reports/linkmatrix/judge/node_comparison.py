"""Compares the nodes of a sweep with each other, without references, and finds slow nodes.

The compared value is the median of one link class, in one test case, on one node. Each median is compared with the
median over all alike nodes. Alike nodes have the same back end, test case, size, variant, link class, GPUs and
processor.

The rule is by Iglewicz and Hoaglin (How to Detect and Handle Outliers, 1993). A value is an outlier if its distance
from the median exceeds k · σ. σ is the scaled median absolute deviation.

* k depends on the number of compared values (`noise.sigma_limit`), so that 1 % of healthy sweeps have a false finding.
* Alike nodes have the same `Key`. All keys with the same floor share one σ. A key with six or more nodes uses its own σ
  if this σ is more than twice the shared σ.
* A deviation below the floor of the data path (`noise.floor_without_reference`) is never a finding.

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

MIN_NODES = 3  # with two nodes, the slow node cannot be identified
ENOUGH_NODES = 6  # least number of nodes for a σ of one key: with fewer nodes, a slow node increases σ too much
MAX_FLAGGED = 1 / 3  # of the nodes: if more nodes are slow, they have a common cause
SMALL_SAMPLE_FACTORS = {3: 2.15, 4: 1.39, 5: 1.38}  # {number of nodes: factor of σ}; see `noise.small_sample_factor`

Measured = tuple[str, Mapping[str, Any], "Evaluation"]  # node, its record, its evaluation


class Key(NamedTuple):
    """The properties in which compared medians must agree.

    models: the model of each device, then the model of the processor.
    """

    backend: str
    testcase: str
    size_bytes: int | None
    variant: str
    link_class: str
    models: tuple[str, ...]


class NodeMedians(NamedTuple):
    """The medians of alike nodes.

    medians: {node: median}, in `unit`.
    floor: deviations below this fraction are never a finding.
    """

    medians: dict[str, float]
    unit: str
    floor: float


class Difference(NamedTuple):
    """A slow node and its worst median.

    worse: the fraction by which this median is worse than the median over all alike nodes.
    limit: the limit of `worse`; a larger value is a finding.
    beyond: number of medians of the node that exceed their limit.
    compared: number of compared medians of the node.
    """

    node: str
    key: Key
    worse: float
    limit: float
    beyond: int
    compared: int


def node_medians(measured: Iterable[Measured]) -> dict[Key, NodeMedians]:
    """The medians of the nodes of a sweep. Disturbed cells and collectives are excluded."""
    found: dict[Key, NodeMedians] = {}
    for node, record, evaluation in measured:
        models = (*sorted(device["name"] for device in record["devices"]), record["host"]["cpu"])
        for result, matrix in zip(record["results"], evaluation.matrices, strict=True):
            if matrix.whole is None or matrix.problem or is_collective(result):
                continue
            values, codes = matrix.whole.observed, matrix.whole.block.classes
            for code, name in enumerate(matrix.matrix.class_names):
                members = values[(codes == code) & np.isfinite(values)]
                if len(members):
                    variant = matrix.matrix.variant
                    key = Key(record["backend"], result["testcase"], result["size_bytes"], variant, name, models)
                    floor = noise.floor_without_reference(result, name, record["backend"])
                    alike = found.setdefault(key, NodeMedians({}, result["unit"], floor))
                    alike.medians[node] = float(np.median(members))
    return found


def differences(figures: Mapping[Key, NodeMedians]) -> list[Difference]:
    """The slow nodes, the smallest deviation first; [] if the share of slow nodes exceeds MAX_FLAGGED."""
    compared = {key: one for key, one in figures.items() if len(one.medians) >= MIN_NODES}
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
            keeps = len(deviations[key]) >= ENOUGH_NODES and own > noise.OWN_SIGMA_FACTOR * shared
            sigma = own if keeps else shared
            limits[key] = max(floor, noise.sigma_limit(total) * sigma)
    beyond = [
        (worse, node, key)
        for key, of in deviations.items()
        if sum(worse > limits[key] for worse in of.values()) <= MAX_FLAGGED * len(of)
        for node, worse in of.items()
        if worse > limits[key]
    ]
    count = Counter(node for _, node, _ in beyond)
    nodes = {node for of in deviations.values() for node in of}
    if len(count) > MAX_FLAGGED * len(nodes):
        return []
    known = Counter(node for of in deviations.values() for node in of)
    worst = {node: (worse, key) for worse, node, key in sorted(beyond)}
    found = [Difference(node, key, off, limits[key], count[node], known[node]) for node, (off, key) in worst.items()]
    return sorted(found, key=lambda one: one.worse)


def robust_spread(deviations: Sequence[Mapping[str, float]]) -> float:
    """σ of all deviations, estimated from the median of their absolute values.

    deviations: for each key, {node: deviation from the median over the alike nodes, as a fraction}.
    """
    fewest = min(map(len, deviations))
    every = np.abs([off for of in deviations for off in of.values()])
    return 1.4826 * SMALL_SAMPLE_FACTORS.get(fewest, noise.small_sample_factor(fewest)) * float(np.median(every))


def worse_than_median(medians: NodeMedians) -> dict[str, float]:
    """{node: the fraction by which its median is worse than the median over all nodes}; negative if better."""
    middle, sign = float(np.median(list(medians.medians.values()))), 1 if medians.unit == "us" else -1
    return {node: sign * (value / middle - 1) for node, value in medians.medians.items()}


def node_findings(measured: Iterable[Measured]) -> Iterator[tuple[Difference, str, str]]:
    """Yields (difference, sentence with values, sentence about the comparison) for each slow node."""
    figures = node_medians(measured)
    for one in differences(figures):
        alike = figures[one.key]
        others = [value for node, value in alike.medians.items() if node != one.node]
        value, middle, low, high = (
            quantity(number, alike.unit)
            for number in (alike.medians[one.node], float(np.median(others)), min(others), max(others))
        )
        yield (
            one,
            f"{one.node}: {one.key.testcase} {one.key.link_class} {value} is {100 * one.worse:.1f} % worse than on"
            f" {counted(len(others), 'alike node')} (median {middle}, {low} to {high})",
            f"this node exceeds the limit of {100 * one.limit:.1f} % in {one.beyond} of"
            f" {counted(one.compared, 'figure')}; {len(alike.medians)} alike nodes compared",
        )
