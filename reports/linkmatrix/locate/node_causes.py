"""Slow cells caused by the node and not by a device: many slow devices, or a drift during the measurement.

p2pBandwidthLatencyTest of the CUDA samples measures row by row. If the clocks of all devices change during the run, the
first or the last cells are slow. These cells are therefore excluded from the search for a faulty component.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..record import grids
from ..references import noise
from .layout import NVLINKS

if TYPE_CHECKING:
    from ..record.matrix import Matrix
    from ..record.names import Result
    from .hypotheses import Finding

MIN_DEVICES = 4  # compared devices of a node
MAX_SHARE = 1 / 3  # of the devices: if more devices are equally slow, the node is the cause
TWICE = 2  # largest ratio of the losses of equally slow devices, and of the loss of a finding to the drift
#: Kinds of findings about a device.
DEVICE_KINDS = {"device", "egress", "ingress"} | {
    kind + side for kind in NVLINKS for side in ("", "_egress", "_ingress")
}
CAUSES = "clocks, driver, host and the order of measuring"
ALIKE = "and more than a third of the devices of its node are equally slow"
DRIFTS = "at most twice the drift in the order of measuring"
MIN_TIMES, MIN_CORRELATION = 7, 0.9  # number of times, and rank correlation; noise reaches both in 2 of 1,000 runs
MIN_RATE = 1 / 4  # slope of each half of a drift, as a share of its slope; a step has no slope in one half


def with_node_causes(
    findings: Sequence[Finding], matrix: Matrix, content: Mapping[str, Any], result: Result, lost: float = 0.0
) -> list[Finding]:
    """Adds `node_cause` to the findings whose cause is the node, not a device. Returns all findings.

    matrix: the matrix of the findings. For a large matrix, this is a submatrix of the result.
    lost: the loss by a drift, see `time_drift`.
    """
    node_of = {device["label"]: device["node"] for device in content.get("devices", [])}
    compared = Counter(node_of[label] for label in {*result["rows"], *result["columns"]} & node_of.keys())
    labels = [device_label(one, matrix) for one in findings]
    losses: dict[str, dict[str, float]] = defaultdict(dict)
    for one, label in zip(findings, labels, strict=True):
        if label in node_of:
            node_losses = losses[node_of[label]]
            node_losses[label] = max(-one.shift, node_losses.get(label, 0.0))
    alike = {label for node, of in losses.items() for label in slow_alike(of, compared[node])}
    reasons = [
        DRIFTS if -one.shift <= TWICE * lost else ALIKE if label in alike else ""
        for one, label in zip(findings, labels, strict=True)
    ]
    return [replace(one, node_cause=reason) for one, reason in zip(findings, reasons, strict=True)]


def device_label(finding: Finding, matrix: Matrix) -> str:
    """The device of a finding about a single device; "" for other findings."""
    if finding.kind not in DEVICE_KINDS or not isinstance(finding.subject, int) or finding.missing:
        return ""
    return (matrix.columns if finding.kind.endswith("ingress") else matrix.rows)[finding.subject]


def slow_alike(losses: Mapping[str, float], compared: int) -> set[str]:
    """The equally slow devices of a node, if their share of the node's devices exceeds MAX_SHARE; otherwise empty.

    losses: {slow device: its loss as a fraction}.
    compared: number of measured devices of the node.
    """
    if compared < MIN_DEVICES:
        return set()
    groups = ([label for label, loss in losses.items() if least <= loss <= TWICE * least] for least in losses.values())
    return {label for group in groups if len(group) > MAX_SHARE * compared for label in group}


def time_drift(deviation: np.ndarray, result: Result) -> float:
    """The fraction that the values lose during the measurement; 0 without a drift.

    In a drift, the values fall in both halves of the measurement. A step is no drift. Example of a step: the devices of
    the second socket are slower.
    deviation: the deviation of each cell, negative if slow.
    """
    if result.get("began") is None:
        return 0.0
    began = grids.numbers(result["began"])
    known = np.isfinite(began) & np.isfinite(deviation)
    times, at = np.unique(began[known], return_inverse=True)
    if len(times) < MIN_TIMES:
        return 0.0
    return trend(np.array([np.median(deviation[known][at == number]) for number in range(len(times))]))


def trend(values: np.ndarray) -> float:
    """The fraction that the values lose from the first to the last value; 0 unless they fall in both halves."""
    ranks = np.argsort(np.argsort(values))
    if np.corrcoef(np.arange(len(values)), ranks)[0, 1] > -MIN_CORRELATION:
        return 0.0
    whole, *halves = (np.polyfit(np.arange(len(part)), part, 1)[0] for part in (values, *np.array_split(values, 2)))
    return float(-np.expm1(whole * (len(values) - 1))) if max(halves) <= MIN_RATE * whole else 0.0


def drift_sentence(lost: float) -> str:
    """The sentence about a drift. lost: see `time_drift`."""
    return (
        f"values get worse in the order of measuring, by {100 * lost:.1f} %: check clocks, temperature and other"
        " load of the node; measure again"
    )


ROW_BY_ROW = ("p2p_bandwidth_latency_test",)  # imported programs whose cells are measured in the order of their table
MIN_CELLS, MAX_CELLS = 12, 128 * 127  # of an examined matrix
MIN_PHASE = 1 / 8  # of all cells
MIN_LOSS = 0.02  # of a slow phase, as a fraction
MAX_SLOW_MISFITS, MAX_FAST_MISFITS = 0.1, 0.05  # share of cells of the slow and the fast phase that fit the other phase
MIN_ROW_CELLS = 2  # of a row in each phase: a faulty device has one cell in the row of another device
ADVICE = "no device is at fault: check clocks, power state and other load of the node, then measure again"
NEIGHBOURS = 3  # tried boundaries on each side of the best boundary


class Drift(NamedTuple):
    """A drift of the values in the order of measuring.

    rest: the deviations without the drift.
    sentence: the sentence about the drift.
    """

    rest: np.ndarray
    sentence: str


def order_drift(content: Mapping[str, Any], result: Result, deviation: np.ndarray) -> Drift | None:
    """The drift in an imported matrix; None without a drift, or if the order of measuring is unknown."""
    if (content.get("imported") or {}).get("program") not in ROW_BY_ROW or deviation.shape[0] != deviation.shape[1]:
        return None
    apply = np.isfinite(deviation) & ~np.eye(len(deviation), dtype=bool)
    if not MIN_CELLS <= apply.sum() <= MAX_CELLS:
        return None
    # rows of the program's table of reads are the reading devices; rows of a record are the sources
    turned = result["direction"] == "read"
    cells = np.argwhere(apply.T if turned else apply)
    places = cells[:, ::-1] if turned else cells
    values = deviation[tuple(places.T)]
    of_columns = without_column_medians(values, cells[:, 1])
    found = (two_phases(deviation, each, places, cells[:, 0], result) for each in (values, of_columns))
    return next(filter(None, found), None) or steady_drift(deviation, values, places)


def without_column_medians(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The values without the differences between the medians of the columns.

    A slow column then does not look like a slow phase of the run.
    """
    rest = np.array(values)
    for column in np.unique(columns):
        rest[columns == column] -= np.median(values[columns == column]) - np.median(values)
    return rest


def two_phases(
    deviation: np.ndarray, values: np.ndarray, places: np.ndarray, rows: np.ndarray, result: Result
) -> Drift | None:
    """The drift of a run whose first cells or last cells are slow; None without a drift.

    deviation: the matrix of deviations. The other arrays are in the order of measuring.
    values: deviation of each cell.
    places: (row, column) of each cell in the record.
    rows: row of each cell in the program's table.
    """
    found = phase_boundary(values)
    if found is None:
        return None
    at, loss = found
    first = loss > 0
    slow = np.arange(len(values)) < at if first else np.arange(len(values)) >= at
    if are_slow_senders(rows, slow) and not is_contradicted(deviation, places[slow], places[~slow], result):
        return None
    rest = np.array(deviation)
    rest[tuple(places[slow].T)] = np.nan
    which = f"the {'first' if first else 'last'} {slow.sum()} of {len(values)} cells"
    text = f"a drift in the order of measuring: {which} are {100 * abs(loss):.1f} % slower than the rest"
    return Drift(rest, f"{text}; {ADVICE}")


def phase_boundary(values: np.ndarray) -> tuple[int, float] | None:
    """(index of the first cell of the second phase, loss of the first phase); None if no phase is slow.

    The loss is negative if the first phase is faster than the second phase.
    """
    count = len(values)
    sizes = np.arange(1, count)
    sums = np.cumsum(values)
    means = sums[:-1] / sizes, (sums[-1] - sums[:-1]) / (count - sizes)
    spread = sizes * (count - sizes) * (means[0] - means[1]) ** 2  # between both phases
    least = max(1, int(np.ceil(MIN_PHASE * count)))
    best = int(np.argmax(spread)) + 1
    tried = range(max(least, best - NEIGHBOURS), min(count - least, best + NEIGHBOURS) + 1)
    fitting = [(misfits, at, loss) for at in tried for misfits, loss in phases(values[:at], values[at:])]
    if not fitting:
        return None
    _, at, loss = min(fitting)
    return at, loss


def phases(first: np.ndarray, last: np.ndarray) -> list[tuple[float, float]]:
    """[(share of misfits, loss of the first phase)]; [] unless one phase is clearly slower than the other phase.

    A misfit is a cell whose value fits the other phase.
    first, last: the values of the first phase and of the second phase.
    """
    difference = float(np.median(last) - np.median(first))
    slow, fast = (first, last) if difference > 0 else (last, first)
    middle = (np.median(slow) + np.median(fast)) / 2
    wrong = float((slow > middle).mean()), float((fast < middle).mean())
    loss = -np.expm1(-abs(difference))
    spread = noise.robust_sigma(fast)
    if loss < MIN_LOSS or abs(difference) < 4 * spread:
        return []
    if wrong[0] > MAX_SLOW_MISFITS or wrong[1] > MAX_FAST_MISFITS:
        return []
    return [(sum(wrong), float(np.copysign(loss, difference)))]


def are_slow_senders(rows: np.ndarray, slow: np.ndarray) -> bool:
    """Whether slow devices, not a drift, explain the slow cells.

    * If one row is slow, and one cell of another row, a device is slow in both directions.
    * If the slow cells are exactly half of the rows, the devices of one socket send slowly.

    Two devices that are slow in both directions have slow cells in both phases of the run.
    rows: row of each cell, in the order of measuring.
    slow: True for slow cells, in the order of measuring.
    """
    labels = np.unique(rows)
    slow_share = np.array([slow[rows == row].mean() for row in labels])
    whole = int((slow_share == 1).sum())
    divided = [int(slow[rows == row].sum()) for row in labels[(slow_share > 0) & (slow_share < 1)]]
    fast = [int((~slow)[rows == row].sum()) for row in labels[(slow_share > 0) & (slow_share < 1)]]
    if whole >= 2:
        return not divided and 2 * whole == len(labels)
    return whole < 1 or min([*divided, *fast], default=0) < MIN_ROW_CELLS


def is_contradicted(deviation: np.ndarray, slow: np.ndarray, fast: np.ndarray, result: Result) -> bool:
    """Whether most pairs that are slow in one phase are fast in the other phase.

    Only a bidirectional matrix measures each pair twice. For any other matrix, returns False.
    slow, fast: (row, column) of the cells of the slow phase and of the fast phase.
    """
    if result["metric"] != "bidirectional":
        return False
    measured = {tuple(pair) for pair in fast.tolist()}
    mirrored = [(column, row) for row, column in slow.tolist() if (column, row) in measured]
    if 2 * len(mirrored) < len(slow):
        return False
    own = np.median([deviation[row, column] for column, row in mirrored])
    other = np.array([deviation[pair] for pair in mirrored])
    return bool((other > own / 2).mean() >= 1 - MAX_SLOW_MISFITS)


def steady_drift(deviation: np.ndarray, values: np.ndarray, places: np.ndarray) -> Drift | None:
    """The drift of a run whose cells become steadily slower or steadily faster; None without a drift."""
    for order, word in ((values, "worse"), (values[::-1], "better")):
        lost = trend(order)
        if lost < MIN_LOSS:
            continue
        slope, start = np.polyfit(np.arange(len(values)), values, 1)
        line = slope * np.arange(len(values)) + start
        rest = np.array(deviation)
        rest[tuple(places.T)] = values - (line - line.max())
        text = f"a drift in the order of measuring: values get {word} by {100 * lost:.1f} % from the first cell on"
        return Drift(rest, f"{text}; {ADVICE}")
    return None
