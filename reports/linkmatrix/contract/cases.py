"""What came of a test case of a contract: its cells, their link classes and sizes, and the noise in them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import clean
from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import WORDS, Verdict
from ..record.units import size
from ..runs.bound import one_host, short
from ..runs.judging import Judged
from .limits import Case
from .power import Noise


@dataclass
class OfCase:
    """What came of a test case: judged cells, the worst one and, by link class, the smallest deficit that was seen."""

    case: Case
    verdict: Verdict = Verdict.INCOMPLETE
    records: int = 0
    cells: int = 0
    worst: dict[str, Any] | None = None
    noise: dict[str, Noise] = field(default_factory=dict)


def of_case_json(one: OfCase) -> dict[str, Any]:
    """A test case; deficits: {link class: the smallest that one cell shows, in percent, null: not known}; so sigma."""
    return {
        "testcase": one.case.testcase,
        "nodes": one.case.nodes,
        "size": one.case.size,
        "classes": dict(one.case.classes),
        "verdict": WORDS[one.verdict],
        "records": one.records,
        "cells": one.cells,
        "worst": one.worst,
        "deficits": {name: percent(noise.smallest) for name, noise in sorted(one.noise.items())},
        "sigma": {name: percent(noise.sigma) for name, noise in sorted(one.noise.items())},
    }


def percent(fraction: float | None) -> float | None:
    """In percent, three digits: more is not known, and differs between processors."""
    return None if fraction is None else float(f"{100 * fraction:.3g}")


def missing_of(case: Case, matrix: MatrixVerdict, judged: int) -> list[str]:
    """What a matrix of a test case lacks of the cells that were sold, a sentence each; judged: how many were."""
    said = [] if judged == case.cells else [f"{judged} of {case.cells} cells were judged"]
    there = {name: one.count for name, one in matrix.matrix.classes.items()}
    wrong = sorted(name for name in {*there, *case.classes} if there.get(name) != case.classes.get(name))
    if case.classes and wrong:
        found, sold = there.get(wrong[0], 0), case.classes.get(wrong[0], 0)
        said.append(f"{found} cells are of the link class {wrong[0]}, and {sold} were sold")
    return said


def other_size(case: Case, matrices: list[MatrixVerdict]) -> str:
    """That a test case was measured with other sizes alone than the one that was sold."""
    sizes = ", ".join(dict.fromkeys(size(one.matrix.size_bytes) for one in matrices))
    return f"{case.testcase} was measured with {sizes}, and {size(case.size)} were sold"


def of_nodes(one: Judged, nodes: list[str]) -> bool:
    """Is a record one of these nodes, and of no other?"""
    sold = {short(node): node for node in nodes}
    found = nodes_of(one)
    same = {short(node) for node in found} == sold.keys()
    return same and all(one_host(node, sold[short(node)]) for node in found)


def nodes_of(one: Judged) -> set[str]:
    """The nodes of a record, as it calls them."""
    return {device["node"] for device in one.test.record["devices"]} if one.test.record else set()


def least_seen(one: Noise | None, other: Noise) -> Noise:
    """Of two records the one that would have seen less."""
    if one is None or one.smallest is None:
        return one or other
    return other if other.smallest is None or other.smallest > one.smallest else one


def note_worst(found: OfCase, matrix: MatrixVerdict, nodes: list[str]) -> None:
    """Keeps the cell that is nearest to its limit, or furthest beyond."""
    judged = matrix.whole
    if judged is None:
        return
    latency = matrix.matrix.unit == "us"
    limit = judged.high if latency else judged.low
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(judged.block.is_status("ok"), judged.block.values / limit, np.nan)
    ratio = 1 / ratio if latency else ratio
    if not np.isfinite(ratio).any():
        return
    r, c = np.unravel_index(int(np.nanargmin(ratio)), ratio.shape)
    at = float(ratio[r, c])
    if found.worst is None or at < found.worst["of_limit"]:
        cell = f"{matrix.matrix.rows[int(r)]}->{matrix.matrix.columns[int(c)]}"
        found.worst = {
            "node": ", ".join(nodes[:5]),
            "cell": clean(cell),
            "value": float(f"{judged.block.values[r, c]:.6g}"),
            "limit": float(f"{limit[r, c]:.6g}"),
            "unit": matrix.matrix.unit,
            "of_limit": float(f"{at:.6g}"),
        }
