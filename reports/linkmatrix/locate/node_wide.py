"""Findings that are the node's: more than a third of its devices are slow, or values fall in the order of measuring."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..record import grids
from ..record.matrix import Matrix
from ..record.names import Result
from .hypotheses import Finding

LEAST_DEVICES, SHARE = 4, 1 / 3  # of a node that are compared, and the share of slow devices that is the node's
TWICE = 2  # devices are slow alike if none is slower than another by more; a finding is a drift's up to so much of it
OF_DEVICES = (
    "device",
    "egress",
    "ingress",
    "links",
    "links_egress",
    "links_ingress",
    "nvlinks",
)  # kinds that are about a device
CAUSES = "the order of measuring, clocks, driver or host"
ALIKE = "and more than a third of the devices of its node are slow alike"
DRIFTS = "no more than twice what values lose in the order of measuring"
LEAST_TIMES, LEAST_CORRELATION = 7, 0.9  # of a drift: times of measurement, rank correlation; 2 of 1,000 by chance
LEAST_RATE = 1 / 4  # of the whole rate that each half of a drift has: a step has none in a half


def marked(
    findings: Sequence[Finding], matrix: Matrix, content: Mapping[str, Any], result: Result, lost: float = 0.0
) -> list[Finding]:
    """The findings, with a reason in `of_node` where the fault is the node's.

    matrix: of the findings; some endpoints of a large result. lost: see `drift`.
    """
    node_of = {device["label"]: device["node"] for device in content.get("devices", [])}
    compared = Counter(node_of[label] for label in {*result["rows"], *result["columns"]} & node_of.keys())
    labels = [label_of(one, matrix) for one in findings]
    losses: dict[str, dict[str, float]] = defaultdict(dict)
    for one, label in zip(findings, labels, strict=True):
        if label in node_of:
            of_its_node = losses[node_of[label]]
            of_its_node[label] = max(-one.shift, of_its_node.get(label, 0.0))
    alike = {label for node, of in losses.items() for label in slow_alike(of, compared[node])}
    reasons = [
        DRIFTS if -one.shift <= TWICE * lost else ALIKE if label in alike else ""
        for one, label in zip(findings, labels, strict=True)
    ]
    return [replace(one, of_node=reason) for one, reason in zip(findings, reasons, strict=True)]


def label_of(finding: Finding, matrix: Matrix) -> str:
    """The label of the device that a finding is about; "" if it is not about one device."""
    if finding.kind not in OF_DEVICES or not isinstance(finding.subject, int) or finding.missing:
        return ""
    return (matrix.columns if finding.kind.endswith("ingress") else matrix.rows)[finding.subject]


def slow_alike(losses: Mapping[str, float], compared: int) -> set[str]:
    """The devices of a node that are slow alike, if they are too many to be at fault themselves.

    losses: {slow device: by which fraction it is slow}. compared: how many devices of the node were measured.
    """
    if compared < LEAST_DEVICES:
        return set()
    groups = ([label for label, loss in losses.items() if least <= loss <= TWICE * least] for least in losses.values())
    return {label for group in groups if len(group) > SHARE * compared for label in group}


def drift(deviation: np.ndarray, result: Result) -> float:
    """By which fraction values fall in the order of measuring; 0 if they do not. deviation: slow is negative.

    A drift goes on in each half of the times. A step, as between the devices of two sockets, does not.
    """
    if result.get("began") is None:
        return 0.0
    began = grids.numbers(result["began"])
    known = np.isfinite(began) & np.isfinite(deviation)
    times, at = np.unique(began[known], return_inverse=True)
    if len(times) < LEAST_TIMES:
        return 0.0
    return trend(np.array([np.median(deviation[known][at == number]) for number in range(len(times))]))


def trend(each: np.ndarray) -> float:
    """By which fraction values fall from the first to the last, in each half of them; 0 if they do not."""
    ranks = np.argsort(np.argsort(each))
    if np.corrcoef(np.arange(len(each)), ranks)[0, 1] > -LEAST_CORRELATION:
        return 0.0
    whole, *halves = (np.polyfit(np.arange(len(part)), part, 1)[0] for part in (each, *np.array_split(each, 2)))
    return float(-np.expm1(whole * (len(each) - 1))) if max(halves) <= LEAST_RATE * whole else 0.0


def drift_sentence(lost: float) -> str:
    """What a drift means for the findings."""
    return (
        f"values get worse in the order of measuring, by {100 * lost:.1f} %: suspect clocks, temperature or another"
        " load of the node; measure again"
    )
