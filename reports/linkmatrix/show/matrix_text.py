"""The lines about a matrix that terminal and page share, and the colours of cells.

Colours show deviations of bandwidths and of latencies in the same way: orange is worse than expected, blue is better.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..judge import findings
from ..judge.cell_sentences import remeasured_lines
from ..record.matrix import ClassSummary, from_result, has_status
from ..record.names import option_text
from ..record.units import counted, figure, size
from .words import DECIMALS, UNITS, WORDS, compared_share, coverage, has_values

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import Matrix
    from ..record.names import Result
    from ..runs.judging import Judged
    from .analysis import Analysis

MAX_AXES = 4  # named worst rows, and columns
MAX_CELLS = 5  # listed cells of a matrix
MAX_DESCRIBED = 4  # endpoints of these cells whose component and slot are listed
MAX_ENDPOINTS = 16  # rows and columns of a table or a drawing
#: Least deviation of each step of colour, the worst step first; negative is better than expected. The last step has no
#: limit. The limits are common tolerances: 2 % for a class, 5 % for a cell, 10 % above noise.
DEVIATIONS = (0.10, 0.05, 0.02, -0.02, -0.05, -0.10)
LEVELS = 8  # steps of colour for measured values
#: A scale spans at least this fraction on both sides of the median, so that noise does not look like a fault.
NOISE = 0.10
Scale = tuple[float, float]


class Band(NamedTuple):
    """A reference with its lower and upper limit. A limit without a tolerance equals the value of the reference."""

    low: float
    value: float
    high: float


Bands = Mapping[str, Sequence[tuple[int, Band]]]  # {link class: [(position on the axis, band)]} in rising order


def title(result: Result) -> str:
    """The quantity of a matrix, its size, and the meaning of rows and columns, in one line."""
    unit, count = UNITS[result["unit"]], size(result["size_bytes"])
    return f"{result['quantity']} ({unit}), {count}{option_text(result)}, row = source, column = destination"


def method_line(result: Result) -> str:
    """Schedule, interference, samples and verification, in one line."""
    schedule = result["schedule"]
    interference = schedule["interference"]
    rounds = f"{counted(schedule['rounds'], 'round')} of {counted(schedule['pairs_at_once'], 'pair')}"
    texts = [
        rounds if schedule["rounds"] else "schedule not known",
        "interference not calibrated" if interference is None else f"interference {100 * interference:.2f} %",
        sampled(result),
        verification(result),
        f"{result['seconds']:.1f} s",
        coverage(result),
    ]
    return ", ".join(filter(None, texts))


def sampled(*results: Result) -> str:
    """The number of samples: "7 samples per cell". For matrices in files: the names of the files."""
    matrices = [from_result(result) for result in results]
    files = [matrix.external.name for matrix in matrices if matrix.external is not None]
    if files:
        return f"samples in {', '.join(files)}"
    samples = np.concatenate([matrix.whole.numbers("samples").ravel() for matrix in matrices])
    samples = samples[np.isfinite(samples)]
    low, high = (int(samples.min()), int(samples.max())) if len(samples) else (0, 0)
    return f"{counted(low, 'sample') if low == high else f'{low} to {high} samples'} per cell"


def verification(*results: Result) -> str:
    """Whether the data of results was verified, and the share of data that was compared."""
    states = list(dict.fromkeys(map(data_state, results)))
    compared = f" ({compared_share(results)})" if "data verified" in states and compared_share(results) else ""
    return " or ".join(states) + compared


def data_state(result: Result) -> str:
    """The state of the verification of a result: "data verified", "no data to verify", …"""
    if has_status(result, "corrupt"):
        cells = result.get("coverage", {}).get("wrong", [])
        wrong, compared = (sum(cell[key] for cell in cells) for key in ("wrong_samples", "samples"))
        return "WRONG DATA ARRIVED" + (f" in {wrong} of {compared} samples" if cells else "")
    if result["size_bytes"] == 0:
        return "no data to verify"
    if result["verified"] is not None and not has_values(result):
        return "no data verified"  # no cell has a value
    return {True: "data verified", False: "data not all verified", None: "data not verified"}[result["verified"]]


def class_lines(judged: Judged, result: Result, matrix: MatrixVerdict) -> list[str]:
    """A line per link class: minimum, median, maximum, % of the typical value, and % of the limit."""
    unit, known = matrix.matrix.unit, findings.class_shares(judged.test.record or {}, result, matrix)
    return [
        ", ".join([summary_line(name, summary, unit), *([str(known[name])] if name in known else [])])
        for name, summary in matrix.matrix.classes.items()
    ]


def typical_lines(judged: Iterable[Judged]) -> dict[str, list[str]]:
    """{source: ["NV18 396.72 GB/s"]}: the typical values with which a run was compared."""
    found: dict[str, list[str]] = {}
    for one in judged:
        for result, matrix in one.matrices:
            for name, share in findings.class_shares(one.test.record or {}, result, matrix).items():
                if share.source:
                    found.setdefault(share.source, []).append(f"{name} {share.value}")
    return found


def local_copy_lines(result: Result, matrix: MatrixVerdict) -> list[str]:
    """Lines that compare bandwidths between devices with the copy inside a device; [] without both measurements.

    Each line has two percentages. The second percentage counts the bytes of the copy inside a device twice, as read and
    as written.
    """
    classes = matrix.matrix.classes
    inside = classes.get("LOCAL")
    between_gpus = result["memory"] == "device" and result["engine"] in ("ce", "sm")
    if inside is None or not between_gpus or result["unit"] != "GB/s" or not result.get("local_copy"):
        return []
    return [
        f"{name}: {100 * summary.median / inside.median:.1f} % of the copy inside a device,"
        f" {50 * summary.median / inside.median:.1f} % if its reads and writes both count"
        for name, summary in classes.items()
        if name != "LOCAL"
    ]


def part_lines(result: Result, fit: bool = True) -> list[str]:
    """A line per part of a test case: minimum, median and maximum over all link classes.

    A part is an additional matrix.
    fit: whether to include the bandwidth and overhead that were fitted over message sizes (keys "fit_…").
    """
    lines = []
    for key, part in result.get("parts", {}).items():
        values = [] if key.startswith("fit_") and not fit else list(from_result(result, key).numbers.values())
        if values:
            summary = ClassSummary(len(values), min(values), statistics.median(values), max(values))
            lines.append(summary_line(part["title"], summary, part["unit"]))
    return lines


def extremes(summary: ClassSummary, unit: str) -> list[str]:
    """[minimum, median, maximum] of a link class as texts."""
    return [figure(value, DECIMALS[unit]) for value in (summary.low, summary.median, summary.high)]


def summary_line(name: str, summary: ClassSummary, unit: str) -> str:
    """A summary as text: "NV18: min 395.62  median 395.89  max 396.08 GB/s (12 cells)"."""
    low, median, high = extremes(summary, unit)
    return f"{name}: min {low}  median {median}  max {high} {UNITS[unit]} ({counted(summary.count, 'cell')})"


def axis_lines(matrix: MatrixVerdict) -> list[str]:
    """Lines about the worst rows and columns. A line contains the median deviation of a row or column."""
    lines = []
    labels = (matrix.matrix.rows, matrix.matrix.columns)
    for word, names, off in zip(("rows", "columns"), labels, matrix.axis_medians(), strict=True):
        order = sorted(range(len(names)), key=lambda at, off=off: -off[at])[:MAX_AXES]
        sign = 100 if matrix.matrix.unit == "us" else -100
        percent = {at: round(sign * float(off[at]), 1) for at in order}
        texts = [f"{names[at]} {percent[at]:+.1f} %" for at in order if percent[at] and off[at] > 0]
        texts = texts or [f"{names[order[0]]} with less than 0.1 %"]
        lines.append(f"worst {word} (median of their cells, compared with the expected value): {', '.join(texts)}")
    return lines


def marked_cells(matrix: MatrixVerdict, most: int = MAX_CELLS) -> list[str]:
    """A line per cell that is not PASS, the worst first. Cells that only lack a reference have no line."""
    marked, count = matrix.worst_cells(most)
    lines = [f"{WORDS[cell.verdict]}: {cell.reason}" for _, cell in marked]
    return lines + ([f"and {count - most} more"] if count > most else [])


def finding_lines(analysis: Analysis, judged: Judged, result: Result, matrix: MatrixVerdict) -> list[str]:
    """The lines about a matrix: findings, endpoints of the worst cells, and remeasured cells."""
    return [
        *finding_sentences(analysis, judged, result, matrix),
        *endpoint_lines(judged, matrix),
        *remeasured_lines(result),
    ]


def finding_sentences(analysis: Analysis, judged: Judged, result: Result, matrix: MatrixVerdict) -> list[str]:
    """The sentences of the diagnosis, except sentences about disturbances. Lines of cells describe disturbances."""
    disturbed = matrix.disturbed_sentences()
    return [text for text in analysis.diagnosis(judged, result, matrix).marked_sentences if text not in disturbed]


def endpoint_lines(judged: Judged, matrix: MatrixVerdict) -> list[str]:
    """A line per endpoint of the worst cells, with its component and its slot. Host memory has no line.

    Example: "gpu3: uuid GPU-…, serial 1654…; in node n7, module 4, pci 0000:1b:00.0".
    """
    record = judged.test.record or {}
    devices = {device["label"]: device for device in record.get("devices", [])}
    serials = {node["name"]: node["serial"] for node in record.get("nodes", [])}
    labels = dict.fromkeys(label for pair, _ in matrix.worst_cells(MAX_CELLS)[0] for label in pair)
    worst = [label for label in labels if devices.get(label, {}).get("part")][:MAX_DESCRIBED]
    return [described(device, serials) for label, device in devices.items() if label in worst]


def described(device: Mapping[str, Any], serials: Mapping[str, str | None]) -> str:
    """A line of `endpoint_lines`, about a device. serials: {node: serial number}."""
    place = dict(device["place"])
    node = place.pop("node", "")
    serial = serials.get(node)
    where = [f"node {node}" + (f" (serial {serial})" if serial else "")] if node else []
    where += [text if name == "slot" else f"{name} {text}" for name, text in sorted(place.items(), reverse=True)]
    parts = ", ".join(f"{name} {text}" for name, text in sorted(device["part"].items()))
    return f"{device['label']}: {parts}" + (f"; in {', '.join(where)}" if where else "")


def deviation_step(worse: float) -> int:
    """The colour of a deviation: a number from 0 (worst) to len(DEVIATIONS) (best). worse: the loss as a fraction."""
    return next((step for step, least in enumerate(DEVIATIONS) if worse >= least), len(DEVIATIONS))


def level(value: float, scale: Scale, unit: str) -> int:
    """The colour of a measured value: a number from 0 (worst) to LEVELS - 1 (best)."""
    low, high = scale
    share = (value - low) / (high - low) if high > low else 0.5
    return min(max(int((1 - share if unit == "us" else share) * LEVELS), 0), LEVELS - 1)


def common_scale(matrices: Iterable[Matrix]) -> Scale | None:
    """The common scale (low, high) of matrices with the same unit; None if nothing was measured."""
    grids = [matrix.whole.values for matrix in matrices]
    values = np.concatenate([grid[np.isfinite(grid)] for grid in grids]) if grids else np.empty(0)
    if not len(values):
        return None
    middle = float(np.median(values))
    return min(float(values.min()), middle * (1 - NOISE)), max(float(values.max()), middle * (1 + NOISE))


def scale_key(result: Result) -> tuple[Any, ...]:
    """The key of a result's scale.

    Results with the same quantity, size, path and type of endpoints have the same key and share a scale.
    """
    kinds = [re.sub(r"\d+$", "", labels[0]) for labels in (result["rows"], result["columns"])]
    return result["unit"], result["quantity"], result["size_bytes"], result["peer_access"], *kinds


def scales(judged: Sequence[Judged]) -> dict[tuple[Any, ...], Scale | None]:
    """{key: scale} of a run; see `scale_key`."""
    groups: dict[tuple[Any, ...], list[Matrix]] = {}
    for one in judged:
        for result, matrix in one.matrices:
            if matrix.whole is not None:
                groups.setdefault(scale_key(result), []).append(matrix.matrix)
    return {key: common_scale(matrices) for key, matrices in groups.items()}


def bands(points: Iterable[tuple[int, MatrixVerdict]]) -> Bands:
    """The references of link classes along an axis. points: (position on the axis, verdicts on the matrix)."""
    found: dict[str, list[tuple[int, Band]]] = {}
    for at, matrix in sorted(points, key=lambda point: point[0]):
        for name in matrix.matrix.classes:
            band = band_of(matrix, name)
            if band is not None:
                found.setdefault(name, []).append((at, band))
    return found


def band_of(matrix: MatrixVerdict, name: str) -> Band | None:
    """The reference of a link class and its limits; None without references."""
    judged = matrix.whole
    if judged is None or matrix.problem:
        return None
    members = (judged.block.classes == matrix.matrix.class_names.index(name)) & np.isfinite(judged.value)
    if not members.any():
        return None
    value = judged.value[members]
    low, high = (np.where(np.isfinite(limit), limit, value) for limit in (judged.low[members], judged.high[members]))
    return Band(float(low.min()), float(np.median(value)), float(high.max()))
