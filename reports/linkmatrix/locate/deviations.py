"""The deviation of each cell as a logarithm (slow is negative), its noise, and its limit.

The limit of one cell is the tolerance of its reference. Tolerances have minimum values for all sites (`noise.FLOORS`),
such as 3 % between nodes. The noise of a run is much smaller: tenths of a percent.

The limit of a component with several cells follows from the noise of the run. A slow component is therefore found even
if each of its cells is PASS.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..record import grids
from ..record.checking import LEAST_SAMPLES
from ..record.names import FEW_CELLS, Result, option_text
from ..references import noise
from ..references.noise import FLOORS, LEAST_GROUP_DEVIATION, STEADY, data_path, floor_without_reference

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import Matrix

ROUNDED = 1e-6  # relative rounding error of a tolerance
MIN_EFFECT = 0.01  # of a printed row or column, as a fraction
MAX_EFFECTS = 4  # printed rows or columns
MAX_ROUNDS = 10  # of median polish
SETTLED = 1e-6  # median polish ends if effects change by less, as logarithms


@dataclass(frozen=True)
class Deviations:
    """The deviations of the cells of a matrix. All arrays are rows × columns.

    classes: the link class of each cell as an index; -1 for cells that the test case does not measure.
    deviation: the logarithm of value / expected value; negative for a slow cell, NaN without a value.
    limit: the allowed deviation of one cell, as a positive fraction.
    part: whether the matrix is a submatrix, so that some cells of its endpoints are missing.
    sigma: the noise of one cell, as a fraction.
    joint_limit: the allowed deviation of several cells of one component. If None, `limit` applies.
    before: the deviations of remeasured cells in their first measurement, NaN for other cells; None if no cell was
    remeasured.
    impossible: True for cells above the limit of their path; None if no cell is above the limit.
    """

    classes: np.ndarray
    deviation: np.ndarray
    limit: np.ndarray
    part: bool = False
    sigma: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    joint_limit: np.ndarray | None = field(default=None, repr=False)
    before: np.ndarray | None = field(default=None, repr=False)
    impossible: np.ndarray | None = field(default=None, repr=False)

    @property
    def fine(self) -> np.ndarray:
        """True for cells that are not slower than their allowed deviation and not above the limit of their path."""
        with np.errstate(invalid="ignore"):
            within = self.deviation >= -np.log1p(np.nan_to_num(self.limit))
        return within if self.impossible is None else within & ~self.impossible

    @property
    def has_slow_cell(self) -> bool:
        """Whether the loss of a cell exceeds half of its allowed deviation. Otherwise, no component is slow."""
        with np.errstate(invalid="ignore"):
            slow = self.deviation < -np.log1p(np.nan_to_num(self.limit)) / 2
        return bool((slow & (self.classes >= 0)).any())


def classes_of(matrix: Matrix) -> tuple[np.ndarray, list[str]]:
    """(index of the link class of each cell, names of the link classes). The index is as in `Deviations.classes`."""
    codes, applies = matrix.whole.classes, matrix.whole.applies
    used = dict.fromkeys(codes[applies].tolist())
    number = np.full(len(matrix.class_names) + 1, -1)
    number[list(used)] = np.arange(len(used))
    return np.where(applies, number[codes], -1), [matrix.class_names[code] for code in used]


def class_deviations(
    content: Mapping[str, Any], result: Result, values: np.ndarray, classes: np.ndarray, names: Sequence[str]
) -> Deviations:
    """The deviations of the cells from the faster cells of their link class.

    If all cells of a class are slow, the class therefore appears healthy.
    values: rows × columns, NaN for missing values.
    classes, names: from `classes_of`.
    """
    floors = [floor_without_reference(result, name, content["backend"]) for name in names]
    sign = -1.0 if result["unit"] == "us" else 1.0
    deviation, sigma, limit = noise.class_deviations(sign * np.log(values), classes, floors)
    if is_smaller_size(content, result):
        deviation = deviation * 0.0
    return Deviations(classes, ignore_small_classes(content, result, deviation, classes, names), limit, sigma=sigma)


def is_smaller_size(content: Mapping[str, Any], result: Result) -> bool:
    """Whether the record contains the same test case with larger transfers. For a latency, returns False.

    The overhead of small transfers differs between healthy devices. Only the largest size measures the link.
    """
    if result["unit"] == "us":
        return False
    same = (one for one in content["results"] if one["testcase"] == result["testcase"])
    alike = (one for one in same if option_text(one) == option_text(result))
    return any((one["size_bytes"] or 0) > (result["size_bytes"] or 0) for one in alike)


def ignore_small_classes(
    content: Mapping[str, Any], result: Result, deviation: np.ndarray, classes: np.ndarray, names: Sequence[str]
) -> np.ndarray:
    """The deviations; 0 for cells of small link classes whose deviation may be noise.

    A class with at most FEW_CELLS cells is small. Its noise is unknown. A cell of a small class keeps its deviation if
    all of these are true:

    * The intervals of the medians of the cell and of the best cell do not overlap.
    * The cell and the best cell have LEAST_SAMPLES samples.
    * The data path is in STEADY.
    """
    if "low" not in result:  # the cells are in a file
        return deviation
    found = np.array(deviation)
    low, high, samples = (grids.numbers(result[name]) for name in ("low", "high", "samples"))
    for group, name in enumerate(names):
        inside = (classes == group) & np.isfinite(found)
        if not 1 < inside.sum() <= FEW_CELLS:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            width = np.where(inside & (samples >= LEAST_SAMPLES), np.log(high / low), np.inf)
        best = width.ravel()[int(np.argmax(np.where(inside, found, -np.inf)))]
        steady = data_path(result, name, content["backend"]) in STEADY
        found[inside & ((-found <= width + best) | (not steady))] = 0.0
    return found


def reference_deviations(matrix: MatrixVerdict, classes: np.ndarray) -> Deviations:
    """The deviations of the cells from their references; NaN without a reference. classes: from `classes_of`."""
    judged, bandwidth = matrix.whole, matrix.matrix.unit != "us"
    assert judged is not None
    values, expected = judged.observed, judged.value
    cells = int((classes >= 0).sum())
    limit = 1 - judged.low / expected if bandwidth else judged.high / expected - 1
    limit = np.where(np.isfinite(expected), np.minimum(np.abs(limit), 0.99), np.nan)
    deviation = np.log(values / expected)  # values are positive or NaN
    # a lower tolerance of 2 % is log(0.98), and `search` uses log(1 + limit)
    limit = as_upper_tolerance(limit) if bandwidth else limit
    deviation = deviation if bandwidth else -deviation
    return Deviations(classes, deviation, limit, sigma=np.nan_to_num(limit, nan=1.0) / noise.sigma_limit(cells))


def as_upper_tolerance(fraction: Any) -> Any:
    """Converts a tolerance for lower values to a tolerance for higher values. Both are equally large as logarithms.

    Example: 0.02 becomes 0.0204, because log(1 + 0.0204) = -log(1 - 0.02).
    """
    return 1 / (1 - fraction) - 1


def with_joint_limits(content: Mapping[str, Any], result: Result, seen: Deviations, names: Sequence[str]) -> Deviations:
    """Adds `joint_limit` to the deviations, and the noise σ that follows from this limit.

    The joint limit of a link class is the sum of two terms:

    * k · σ, but at least LEAST_GROUP_DEVIATION. σ is the noise of the class in this run. k is `noise.sigma_limit`.
    * The loss of the whole class, because tolerances allow a drift of the whole class.

    For these cells, the joint limit is the tolerance:

    * cells whose tolerance is smaller than the joint limit
    * cells whose tolerance is above the floor, because this tolerance contains measured noise
    * cells of a class with fewer than LEAST_CELLS cells, and latencies

    names: names of the link classes, by index.
    """
    classes, bandwidth = seen.classes, result["unit"] != "us"
    k = noise.sigma_limit(int((classes >= 0).sum()))
    joint = np.array(seen.limit)
    for group, name in enumerate(names):
        inside = (classes == group) & np.isfinite(seen.deviation)
        path = data_path(result, name, content["backend"])
        if not bandwidth or path not in STEADY or inside.sum() < noise.LEAST_CELLS:
            continue
        level, sigma = noise.upper_part(seen.deviation[inside])  # the cells of one of four nodes are half of the class
        least = max(as_upper_tolerance(LEAST_GROUP_DEVIATION), k * sigma) + max(0.0, -level)
        floor = as_upper_tolerance(FLOORS[path].lower)
        with np.errstate(invalid="ignore"):
            lowered = (classes == group) & (seen.limit <= floor + ROUNDED)
        joint[lowered] = np.minimum(seen.limit[lowered], least)
    return replace(seen, joint_limit=joint, sigma=np.nan_to_num(joint, nan=1.0) / k)


def remeasured_deviations(deviation: np.ndarray, result: Result, matrix: Matrix, when: str) -> np.ndarray | None:
    """The deviations of the remeasured cells, NaN for other cells; None if no cell was remeasured.

    when: "before" selects the first measurement, "after" the median of the remeasurements.
    """
    if not result["remeasured"]:
        return None
    found = np.full(deviation.shape, np.nan)
    rows, columns = ({label: at for at, label in enumerate(labels)} for labels in (matrix.rows, matrix.columns))
    values = matrix.whole.measured
    sign = -1.0 if result["unit"] == "us" else 1.0
    for one in result["remeasured"]:
        at = rows.get(one["row"], -1), columns.get(one["column"], -1)
        if min(at) >= 0 and one[when] and values[at] > 0:
            found[at] = deviation[at] + sign * math.log(one[when] / values[at])
    return found


def polish(deviation: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(level, effect of each row, effect of each column) by median polish. The effects contain no NaN."""
    rest = np.array(deviation, dtype=float)
    rows, columns, level = np.zeros(rest.shape[0]), np.zeros(rest.shape[1]), 0.0
    with np.errstate(invalid="ignore"):
        for _ in range(MAX_ROUNDS):
            step = noise.medians(rest, 1)
            done = np.abs(step).max(initial=0.0) < SETTLED
            rest, rows = rest - step[:, None], rows + step
            shift = float(np.median(columns))
            columns, level = columns - shift, level + shift
            step = noise.medians(rest, 0)
            rest, columns = rest - step[None, :], columns + step
            shift = float(np.median(rows))
            rows, level = rows - shift, level + shift
            if done:
                break
    return level, rows, columns


def effects(deviation: np.ndarray, rows: Sequence[str], columns: Sequence[str], unit: str) -> Iterator[str]:
    """Yields sentences about whole rows and columns that are slow, by median polish. rows, columns: labels."""
    if min(deviation.shape) < 2 or not np.isfinite(deviation).any():
        return
    _, of_rows, of_columns = polish(deviation)
    for word, labels, found in (("row", rows, of_rows), ("column", columns, of_columns)):
        order = [index for index in np.argsort(found) if found[index] <= math.log1p(-MIN_EFFECT)]
        lines = [f"{labels[index]} {100 * math.expm1(found[index]):.1f} %" for index in order[:MAX_EFFECTS]]
        if lines:
            what = "speed" if unit == "us" else "bandwidth"
            more = f" and {len(order) - len(lines)} more" if len(order) > len(lines) else ""
            yield f"{word} effects by median polish ({what}): {', '.join(lines)}{more}"
