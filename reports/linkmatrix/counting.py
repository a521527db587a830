"""What is counted of a matrix whose cells are in a file, while its blocks of rows are judged one after the other."""

from dataclasses import dataclass, field

import numpy as np

from . import noise
from .adopt import floor_of
from .cell_file import REMEDY
from .errors import BadInput
from .evaluate import Verdict
from .large import LargeVerdict
from .matrix import status_counts
from .parts import CLASSES, Source, matrix_of
from .record import WITH_VALUE, only_diagonal

KEPT = 32  # worst cells
SAMPLED_ROWS = 32  # that say how much the cells of a class differ
ROUNDING = 1e-6  # of a number of 32 bits in the file


def nothing(*shape: int) -> np.ndarray:
    """Counters."""
    return np.zeros(shape, dtype=np.int64)


@dataclass
class Counted:
    """Of a matrix that was read to its end.

    of_rows, of_columns: endpoints × verdicts. slow_rows, slow_columns: how many cells of each are worse than they may
    be. of_class: {link class: cells of each verdict}. lacking: cells that lack nothing but a reference; held: that have
    one. worst: (row, column) of cells, the worst first.
    """

    of_rows: np.ndarray = field(default_factory=lambda: nothing(0, len(Verdict)))
    of_columns: np.ndarray = field(default_factory=lambda: nothing(0, len(Verdict)))
    slow_rows: np.ndarray = field(default_factory=lambda: nothing(0))
    slow_columns: np.ndarray = field(default_factory=lambda: nothing(0))
    of_class: dict[str, np.ndarray] = field(default_factory=dict)
    lacking: int = 0
    held: int = 0
    worst: list[tuple[int, int]] = field(default_factory=list)


def count(source: Source) -> Counted:
    """Judges all cells. Raises BadInput for a file that is damaged or not the record's."""
    size = len(source.node)
    counted = Counted(nothing(size, len(Verdict)), nothing(size, len(Verdict)), nothing(size), nothing(size))
    limits, worst, facts = usual_limits(source), np.empty((0, 3)), Facts()
    everyone = np.arange(size)
    for first, cells in source.file.blocks():
        rows = everyone[first : first + len(cells)]
        check_block(source, rows, cells)
        part = source.part(cells, rows, everyone)
        judged = source.judge(part)
        classes = part["link_class"].read()
        facts.add(cells, classes)
        slow = slow_cells(judged, classes, limits)
        counted.slow_rows[rows] += slow.sum(axis=1)
        counted.slow_columns += slow.sum(axis=0)
        for verdict in Verdict:
            which = judged.codes == verdict
            counted.of_rows[rows, verdict] += which.sum(axis=1)
            counted.of_columns[:, verdict] += which.sum(axis=0)
            for code, name in enumerate(CLASSES):
                of_class = counted.of_class.setdefault(name, nothing(len(Verdict)))
                of_class[verdict] += int((which & (classes == code)).sum())
        counted.lacking += judged.unjudged
        counted.held += judged.held_cells
        worst = worse_of(worst, judged, first)
    facts.check(source)
    counted.of_class = {name: found for name, found in counted.of_class.items() if found.any()}
    counted.worst = [(int(r), int(c)) for _, r, c in worst]
    return counted


def usual_limits(source: Source) -> np.ndarray:
    """By how much a cell of each class may be worse than the class's median, where it has no reference."""
    result, size = source.result, len(source.node)
    floor = min(floor_of(result["testcase"], result["unit"]))
    chosen = np.unique(np.linspace(0, size - 1, min(size, SAMPLED_ROWS)).astype(int))
    cells = np.array([row for _, row in source.file.rows(chosen)])
    inside = source.node[chosen][:, None] == source.node[None, :]
    limits = np.full(len(CLASSES), floor)
    for code, name in enumerate(CLASSES):
        values = cells["value"][(inside == bool(code)) & (cells["samples"] > 0)].astype(float)
        summary = matrix_of(result).classes.get(name)
        if len(values) and summary is not None:
            off = np.abs(values / summary.median - 1)
            limits[code] = max(floor, noise.sigmas(size * size) * 1.4826 * float(np.median(off)))
    return limits


def slow_cells(judged: LargeVerdict, classes: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Cells that are worse than their reference allows; than their class does, where they have none."""
    return np.where(
        judged.unjudged_cells, judged.badness > limits[classes], (judged.codes == Verdict.FAIL) & (judged.badness > 0)
    )


def worse_of(worst: np.ndarray, judged: LargeVerdict, first: int) -> np.ndarray:
    """The worst cells of those that are known and of a block: rows of (how bad, row, column)."""
    found = np.flatnonzero((judged.codes > Verdict.PASS) & ~judged.unjudged_cells)
    if not len(found):
        return worst
    bad = np.clip(np.nan_to_num(judged.badness.ravel()[found]), -100, 100) + 1000.0 * judged.codes.ravel()[found]
    best = np.argpartition(-bad, KEPT)[:KEPT] if len(found) > KEPT else np.arange(len(found))
    r, c = np.divmod(found[best], judged.codes.shape[1])
    both = np.concatenate([worst, np.column_stack([bad[best], r + first, c])])
    return both[np.argsort(-both[:, 0], kind="stable")][:KEPT]


@dataclass
class Facts:
    """What the cells of a file are, to be compared with what its record says of them."""

    statuses: np.ndarray = field(default_factory=lambda: nothing(256))
    least: np.ndarray = field(default_factory=lambda: np.full(len(CLASSES), np.inf))
    most: np.ndarray = field(default_factory=lambda: np.zeros(len(CLASSES)))

    def add(self, cells: np.ndarray, classes: np.ndarray) -> None:
        """Those of a block."""
        self.statuses += np.bincount(cells["status"].ravel(), minlength=256)
        for code in range(len(CLASSES)):
            values = cells["value"][(classes == code) & (cells["samples"] > 0)]
            if len(values):
                self.least[code] = min(self.least[code], values.min())
                self.most[code] = max(self.most[code], values.max())

    def check(self, source: Source) -> None:
        """Raises BadInput where the file is that of another record."""
        other = f"{source.file.path} holds other cells than its record says"
        words, counts = status_counts(source.result)
        found = self.statuses[: len(words)].tolist()
        for word, said, there in zip(words, counts, found, strict=True):
            if said != there:
                raise BadInput(f"{other}: {there} are '{word}', not {said}: {REMEDY}")
        classes = matrix_of(source.result).classes
        for code, name in enumerate(CLASSES):
            said = (classes[name].low, classes[name].high) if name in classes else (np.inf, 0.0)
            if not np.allclose((self.least[code], self.most[code]), said, rtol=ROUNDING):
                raise BadInput(
                    f"{other}: {name} is {self.least[code]:g} to {self.most[code]:g}, not {said[0]:g} to {said[1]:g}:"
                    f" {REMEDY}"
                )


def check_block(source: Source, rows: np.ndarray, cells: np.ndarray) -> None:
    """As record.check_result and check_diagonal say. Raises BadInput naming file and cell."""
    result = source.result
    words = result["cells"]["statuses"]
    if int(cells["status"].max()) >= len(words):
        raise BadInput(
            f"{source.file.path} has a status {cells['status'].max()} that its record does not name: {REMEDY}"
        )
    with_value, not_applicable = (
        np.array([word in wanted for word in words], dtype=bool)[cells["status"]]
        for wanted in (WITH_VALUE, ("not-applicable",))
    )
    value, low, high, samples = (cells[name] for name in ("value", "low", "high", "samples"))
    with np.errstate(invalid="ignore"):
        faults = {
            "is nothing that can be measured": with_value & ~((value > 0) & np.isfinite(value)),
            "is outside of its interval": with_value & ~((low <= value) & (value <= high)),
            "has a status and samples that do not fit": with_value != (samples > 0),
        }
    if only_diagonal(result):
        diagonal = rows[:, None] == np.arange(len(source.node))[None, :]
        faults["is applicable, or not, against its place"] = not_applicable != diagonal
    for said, wrong in faults.items():
        if wrong.any():
            r, c = np.argwhere(wrong)[0]
            pair = f"{result['rows'][rows[r]]}->{result['columns'][c]}"
            raise BadInput(f"{source.file.path}: {pair} {said}: {REMEDY}")
