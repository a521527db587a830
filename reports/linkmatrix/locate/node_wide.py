"""Findings that are the node's: more than a third of its devices are slow, or values fall in the order of measuring."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..record import grids
from ..record.matrix import Matrix
from ..record.reading import Result
from .hypotheses import Finding

LEAST_DEVICES, SHARE = 4, 1 / 3  # of a node that are compared, and the share of slow devices that is the node's
OF_DEVICES = ("device", "egress", "ingress", "links", "links_egress", "links_ingress")  # kinds that are about a device
CAUSES = "the order of measuring, clocks, driver or host"
LEAST_TIMES, LEAST_CORRELATION = 7, 0.9  # of a drift: times of measurement, rank correlation; 3 of 1,000 by chance


def marked(findings: Sequence[Finding], matrix: Matrix, content: Mapping[str, Any], result: Result) -> list[Finding]:
    """The findings, with `of_node` for devices of which more than a third of their node is slow alike.

    matrix: of the findings; some endpoints of a large result.
    """
    node_of = {device["label"]: device["node"] for device in content.get("devices", [])}
    compared = Counter(node_of[label] for label in {*result["rows"], *result["columns"]} & node_of.keys())
    labels = [label_of(one, matrix) for one in findings]
    slow = Counter(node_of[label] for label in {*labels} & node_of.keys())
    wide = {node for node, count in slow.items() if is_of_node(count, compared[node])}
    return [replace(one, of_node=node_of.get(label) in wide) for one, label in zip(findings, labels, strict=True)]


def label_of(finding: Finding, matrix: Matrix) -> str:
    """The label of the device that a finding is about; "" if it is not about one device."""
    if finding.kind not in OF_DEVICES or not isinstance(finding.subject, int) or finding.missing:
        return ""
    return (matrix.columns if finding.kind.endswith("ingress") else matrix.rows)[finding.subject]


def is_of_node(slow: int, compared: int) -> bool:
    """Whether so many slow devices of a node are its own fault, and not theirs."""
    return compared >= LEAST_DEVICES and slow > SHARE * compared


def drift(deviation: np.ndarray, result: Result) -> str:
    """A sentence if values get worse in the order of measuring; "" if not. deviation: slow is negative."""
    if result.get("began") is None:
        return ""
    began = grids.numbers(result["began"])
    known = np.isfinite(began) & np.isfinite(deviation)
    times, at = np.unique(began[known], return_inverse=True)
    if len(times) < LEAST_TIMES:
        return ""
    each = np.array([np.median(deviation[known][at == number]) for number in range(len(times))])
    ranks = np.argsort(np.argsort(each))
    correlation = float(np.corrcoef(np.arange(len(times)), ranks)[0, 1])
    if correlation > -LEAST_CORRELATION:
        return ""
    return (
        f"values get worse in the order of measuring (rank correlation {correlation:.2f} over {len(times)} times):"
        " suspect clocks, temperature or another load of the node before any device; measure again"
    )
