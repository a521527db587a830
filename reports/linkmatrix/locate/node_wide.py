"""Findings that are the node's: more than a third of its devices are slow, or values fall in the order of measuring."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..record import grids
from ..record.reading import Result
from .families import Layout
from .hypotheses import Finding

LEAST_DEVICES, SHARE = 4, 1 / 3  # of a node that are compared, and the share of slow devices that is the node's
OF_DEVICES = ("device", "egress", "ingress", "links", "links_egress", "links_ingress")  # kinds that are about a device
CAUSES = "the order of measuring, clocks, driver or host"
LEAST_TIMES, LEAST_CORRELATION = 7, 0.9  # of a drift: times of measurement, rank correlation; 3 of 1,000 by chance


def marked(findings: Sequence[Finding], layout: Layout, content: Mapping[str, Any], result: Result) -> list[Finding]:
    """The findings, with `of_node` for devices of which more than a third of their node is slow alike."""
    devices = {device["label"] for device in content.get("devices", [])}
    slow: dict[Any, set[str]] = {}
    places = []
    for one in findings:
        node, label = None, ""
        if one.kind in OF_DEVICES and isinstance(one.subject, int) and not one.missing:
            into = one.kind.endswith("ingress")
            label = result["columns" if into else "rows"][one.subject]
            node = int((layout.column_node if into else layout.row_node)[one.subject]) if label in devices else None
        if node is not None:
            slow.setdefault(node, set()).add(label)
        places.append(node)
    wide = {node for node, labels in slow.items() if is_of_node(len(labels), compared(node, layout, devices, result))}
    return [replace(one, of_node=node in wide) for one, node in zip(findings, places, strict=True)]


def is_of_node(slow: int, compared: int) -> bool:
    """Whether so many slow devices of a node are its own fault, and not theirs."""
    return compared >= LEAST_DEVICES and slow > SHARE * compared


def compared(node: int, layout: Layout, devices: set[str], result: Result) -> int:
    """How many devices of a node a result compares."""
    found = {label for label, of in zip(result["rows"], layout.row_node, strict=True) if of == node}
    found |= {label for label, of in zip(result["columns"], layout.column_node, strict=True) if of == node}
    return len(found & devices)


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
