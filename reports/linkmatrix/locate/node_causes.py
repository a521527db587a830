"""Causes of slow cells that are the node's, not a device's: many slow devices, and a drift in the order of measuring.

p2pBandwidthLatencyTest of the CUDA samples measures row by row. If the clocks of all devices rise or fall during the
run, the first or the last cells are slow, on any device. These cells are not compared with the other cells.
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

LEAST_DEVICES, SHARE = 4, 1 / 3  # least number of compared devices; a larger share of slow devices is the node's fault
TWICE = 2  # largest ratio of the losses of equally slow devices, and of a finding to its drift
#: Kinds of findings about a device.
OF_DEVICES = {"device", "egress", "ingress"} | {kind + side for kind in NVLINKS for side in ("", "_egress", "_ingress")}
CAUSES = "clocks, driver, host and the order of measuring"
ALIKE = "and more than a third of the devices of its node are equally slow"
DRIFTS = "at most twice the drift in the order of measuring"
LEAST_TIMES, LEAST_CORRELATION = (
    7,
    0.9,
)  # least number of times, least rank correlation of a drift; chance reaches both in 2 of 1,000 runs
LEAST_RATE = 1 / 4  # least share of the rate in each half of a drift; a step has none in one half


def with_node_causes(
    findings: Sequence[Finding], matrix: Matrix, content: Mapping[str, Any], result: Result, lost: float = 0.0
) -> list[Finding]:
    """The findings, with a reason in `of_node` if the node and not a device causes the slow cells.

    matrix: the matrix of the findings; of a large result it contains some of the endpoints only. lost: the fraction
    that values lose by a drift, see `time_drift`.
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


def time_drift(deviation: np.ndarray, result: Result) -> float:
    """The fraction by which values fall in the order of their times; 0 without a drift. deviation: slow is negative.

    A drift continues in both halves of the times. A step, such as between the devices of two sockets, does not.
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
    """The fraction by which values fall from the first to the last, in both halves; 0 without a trend."""
    ranks = np.argsort(np.argsort(each))
    if np.corrcoef(np.arange(len(each)), ranks)[0, 1] > -LEAST_CORRELATION:
        return 0.0
    whole, *halves = (np.polyfit(np.arange(len(part)), part, 1)[0] for part in (each, *np.array_split(each, 2)))
    return float(-np.expm1(whole * (len(each) - 1))) if max(halves) <= LEAST_RATE * whole else 0.0


def drift_sentence(lost: float) -> str:
    """The sentence about a drift. lost: see `time_drift`."""
    return (
        f"values get worse in the order of measuring, by {100 * lost:.1f} %: check clocks, temperature and other"
        " load of the node; measure again"
    )


ROW_BY_ROW = ("p2p_bandwidth_latency_test",)  # imported programs whose cells are measured in the order of their table
LEAST_CELLS, MOST_CELLS = 12, 128 * 127  # of an examined matrix
LEAST_PART = 1 / 8  # least share of all cells in each phase
LEAST_LOSS = 0.02  # least loss of a slow phase, as a fraction
MOST_SLOW_MISFITS, MOST_FAST_MISFITS = 0.1, 0.05  # largest share of cells of a phase that fit the other phase
LEAST_OF_ROW = 2  # least cells of a row in each phase: a faulty device has one cell in another device's row
ADVICE = "no device is at fault: check clocks, power state and other load of the node, then measure again"
NEIGHBOURS = 3  # boundaries next to the best one that are tried


class Drift(NamedTuple):
    """A drift: the deviations without it, and a sentence."""

    rest: np.ndarray
    sentence: str


def order_drift(content: Mapping[str, Any], result: Result, deviation: np.ndarray) -> Drift | None:
    """The drift in an imported matrix; None without a drift, or for an unknown order. deviation: slow is negative."""
    if (content.get("imported") or {}).get("program") not in ROW_BY_ROW or deviation.shape[0] != deviation.shape[1]:
        return None
    apply = np.isfinite(deviation) & ~np.eye(len(deviation), dtype=bool)
    if not LEAST_CELLS <= apply.sum() <= MOST_CELLS:
        return None
    # the table of reads has the reading device in its rows, the record the source
    turned = result["direction"] == "read"
    cells = np.argwhere(apply.T if turned else apply)
    places = cells[:, ::-1] if turned else cells
    values = deviation[tuple(places.T)]
    of_columns = without_columns(values, cells[:, 1])
    found = (two_phases(deviation, each, places, cells[:, 0], result) for each in (values, of_columns))
    return next(filter(None, found), None) or ramp(deviation, values, places)


def without_columns(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The values without the medians of their columns: a device that receives slowly does so in each phase."""
    rest = np.array(values)
    for column in np.unique(columns):
        rest[columns == column] -= np.median(values[columns == column]) - np.median(values)
    return rest


def two_phases(
    deviation: np.ndarray, values: np.ndarray, places: np.ndarray, rows: np.ndarray, result: Result
) -> Drift | None:
    """The drift of a run whose first or last cells are slow. values, places, rows: of the cells in their order."""
    found = boundary(values)
    if found is None:
        return None
    at, loss = found
    first = loss > 0
    slow = np.arange(len(values)) < at if first else np.arange(len(values)) >= at
    if is_set_of_senders(rows, slow) and not is_contradicted(deviation, places[slow], places[~slow], result):
        return None
    rest = np.array(deviation)
    rest[tuple(places[slow].T)] = np.nan
    which = f"the {'first' if first else 'last'} {slow.sum()} of {len(values)} cells"
    text = f"a drift in the order of measuring: {which} are {100 * abs(loss):.1f} % slower than the rest"
    return Drift(rest, f"{text}; {ADVICE}")


def boundary(values: np.ndarray) -> tuple[int, float] | None:
    """(first position of the second phase, loss of the first phase, negative if it is faster); None without phases."""
    count = len(values)
    sizes = np.arange(1, count)
    sums = np.cumsum(values)
    means = sums[:-1] / sizes, (sums[-1] - sums[:-1]) / (count - sizes)
    spread = sizes * (count - sizes) * (means[0] - means[1]) ** 2  # between both phases
    least = max(1, int(np.ceil(LEAST_PART * count)))
    best = int(np.argmax(spread)) + 1
    tried = range(max(least, best - NEIGHBOURS), min(count - least, best + NEIGHBOURS) + 1)
    fitting = [(misfits, at, loss) for at in tried for misfits, loss in phases(values[:at], values[at:])]
    if not fitting:
        return None
    _, at, loss = min(fitting)
    return at, loss


def phases(first: np.ndarray, last: np.ndarray) -> list[tuple[float, float]]:
    """[(fraction of misfits, loss of the first phase)] if the parts are a fast and a slow phase; [] otherwise."""
    difference = float(np.median(last) - np.median(first))
    slow, fast = (first, last) if difference > 0 else (last, first)
    middle = (np.median(slow) + np.median(fast)) / 2
    wrong = float((slow > middle).mean()), float((fast < middle).mean())
    loss = -np.expm1(-abs(difference))
    spread = noise.robust_sigma(fast)
    if loss < LEAST_LOSS or abs(difference) < 4 * spread:
        return []
    if wrong[0] > MOST_SLOW_MISFITS or wrong[1] > MOST_FAST_MISFITS:
        return []
    return [(sum(wrong), float(np.copysign(loss, difference)))]


def is_set_of_senders(rows: np.ndarray, slow: np.ndarray) -> bool:
    """Whether slow senders, or one device that is slow in both directions, explain the slow cells.

    rows: the rows of the cells in their order. One slow row, with a cell of the next row, is a device. Half of the rows
    are the devices of a socket. Two devices that are slow in both directions would leave slow cells in the other phase.
    """
    labels = np.unique(rows)
    of_row = np.array([slow[rows == row].mean() for row in labels])
    whole = int((of_row == 1).sum())
    divided = [int(slow[rows == row].sum()) for row in labels[(of_row > 0) & (of_row < 1)]]
    fast = [int((~slow)[rows == row].sum()) for row in labels[(of_row > 0) & (of_row < 1)]]
    if whole >= 2:
        return not divided and 2 * whole == len(labels)
    return whole < 1 or min([*divided, *fast], default=0) < LEAST_OF_ROW


def is_contradicted(deviation: np.ndarray, slow: np.ndarray, fast: np.ndarray, result: Result) -> bool:
    """Whether most pairs that are slow in one phase of the run are fast in the other phase.

    Only a bidirectional matrix measures each pair in two cells. The result is False for all other matrices.
    """
    if result["metric"] != "bidirectional":
        return False
    measured = {tuple(pair) for pair in fast.tolist()}
    mirrored = [(column, row) for row, column in slow.tolist() if (column, row) in measured]
    if 2 * len(mirrored) < len(slow):
        return False
    own = np.median([deviation[row, column] for column, row in mirrored])
    other = np.array([deviation[pair] for pair in mirrored])
    return bool((other > own / 2).mean() >= 1 - MOST_SLOW_MISFITS)


def ramp(deviation: np.ndarray, values: np.ndarray, places: np.ndarray) -> Drift | None:
    """The drift of a run whose cells become slower or faster from the first cell to the last."""
    for order, word in ((values, "worse"), (values[::-1], "better")):
        lost = trend(order)
        if lost < LEAST_LOSS:
            continue
        slope, start = np.polyfit(np.arange(len(values)), values, 1)
        line = slope * np.arange(len(values)) + start
        rest = np.array(deviation)
        rest[tuple(places.T)] = values - (line - line.max())
        text = f"a drift in the order of measuring: values get {word} by {100 * lost:.1f} % from the first cell on"
        return Drift(rest, f"{text}; {ADVICE}")
    return None
