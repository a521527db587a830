"""The rules that give each cell its verdict. Each rule has a mask over cells and a sentence.

A cell gets the verdict of the first rule whose mask is true. Masks are computed for blocks of rows. Sentences are
composed on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..record.matrix import Block, CellView, Matrix
from ..record.names import HANDOVER, Pair
from . import cell_sentences as sentences
from .cell_sentences import Cell, name, quantity
from .expected import Expected, at_limit, class_lag, comparison
from .verdicts import CellVerdict, Verdict

if TYPE_CHECKING:
    from .disturbances import Disturbances
    from .intermittent import SlowSamples

NO_VERIFICATION = "its program verified no data"  # the program cannot verify data: its cells are NOT JUDGED
IMPLAUSIBLE = 1.02  # times the limit of the path: a higher value counts bytes that were not transferred
#: {unit: fraction}. A cell is WARN if its lag behind its link class exceeds this fraction, the interval of its median,
#: and a quarter of its tolerance.
STRAGGLER_LIMITS = {"GB/s": 0.02, "us": 0.10, "GFLOP/s": 0.02}
#: A cell without a reference on a disturbed node is DISTURBED if it is worse than its class by more than this fraction.
DISTURBED_LIMIT = 0.10


class Rule(NamedTuple):
    """A rule that decides the verdict of a cell.

    verdict: None for cells that the test case does not measure.
    sentence: function that composes the sentence about a cell.
    uses_reference: whether the rule compares the value with the reference.
    """

    verdict: Verdict | None
    sentence: Callable[[Cell], str]
    uses_reference: bool = False


#: {name: rule}, in order of precedence. `Judged.rules` contains indices of this table.
RULES: dict[str, Rule] = {
    "not applicable": Rule(None, lambda cell: ""),
    "corrupt": Rule(Verdict.FAIL, lambda cell: f"{name(cell.pair)}: wrong data arrived"),
    "no memory": Rule(Verdict.DISTURBED, lambda cell: f"{name(cell.pair)} was not measured: {cell.others}"),
    "partial": Rule(Verdict.INCOMPLETE, sentences.partial_total),
    "not measured": Rule(Verdict.INCOMPLETE, lambda cell: f"{name(cell.pair)} was not measured: {cell.status}"),
    "impossible": Rule(Verdict.FAIL, sentences.impossible),
    "other unit": Rule(Verdict.INCOMPLETE, sentences.other_unit),
    "path changed": Rule(Verdict.FAIL, sentences.path_changed),
    "off reference": Rule(Verdict.FAIL, sentences.off_reference, True),
    "intermittent": Rule(Verdict.FAIL, sentences.intermittent),
    "path unknown": Rule(Verdict.INCOMPLETE, sentences.path_unknown),
    "no reference": Rule(Verdict.INCOMPLETE, sentences.no_reference),
    "not compared": Rule(Verdict.INCOMPLETE, lambda cell: f"{name(cell.pair)}: {cell.unverified}", True),
    "disturbed": Rule(Verdict.DISTURBED, sentences.disturbed, True),
    "no table": Rule(Verdict.NOT_JUDGED, sentences.no_table),
    "never compared": Rule(Verdict.NOT_JUDGED, lambda cell: f"{name(cell.pair)}: {cell.unverified}", True),
    "better": Rule(Verdict.NOT_JUDGED, sentences.better, True),
    "may be intermittent": Rule(Verdict.WARN, sentences.may_be_intermittent, True),
    "noisy": Rule(Verdict.WARN, sentences.noisy, True),
    "straggling": Rule(Verdict.WARN, sentences.straggling, True),
    "as expected": Rule(Verdict.PASS, lambda cell: "", True),
}
ORDER = {rule: number for number, rule in enumerate(RULES)}
LACKS_REFERENCE = np.isin(list(RULES), ("no reference", "no table"))
NAMES_PROCESS = [ORDER["no memory"], ORDER["disturbed"]]  # rules whose sentence names another process
VERDICTS = np.array([-1 if rule.verdict is None else rule.verdict for rule in RULES.values()], dtype=np.int8)


@dataclass(frozen=True)
class Judged:
    """The verdicts on a block. All arrays are rows × columns.

    unverified: why the data is not verified; "" if the data is verified.
    rules: index in RULES of the rule that applies to each cell.
    value, low, high: value and limits of each cell's reference, in the matrix's unit; NaN without a reference.
    worse: the fraction by which a cell is worse than its reference; NaN if the cell was not measured. A cell without a
    reference is compared with the baseline of its link class.
    disturbed: True for cells that are slow or were not measured, and whose node or memory another process used. These
    cells are no evidence about the machine.
    lag: see `class_lag`.
    others: the disturbances during the measurement.
    slow: the slow samples; None if the record contains no samples.
    """

    block: Block
    expected: Expected
    unverified: str
    rules: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    worse: np.ndarray
    has_reference: np.ndarray
    disturbed: np.ndarray
    lag: np.ndarray
    others: Disturbances | None = None
    slow: SlowSamples | None = None

    @cached_property
    def codes(self) -> np.ndarray:
        """The verdict of each cell as a number; -1 for cells that the test case does not measure."""
        return np.take(VERDICTS, self.rules)

    @property
    def observed(self) -> np.ndarray:
        """The measured values; NaN for disturbed cells and for values above the limit of their path."""
        return np.where(self.disturbed | (self.rules == ORDER["impossible"]), np.nan, self.block.measured)

    @cached_property
    def unjudged(self) -> np.ndarray:
        """True for measured cells without a reference."""
        return np.take(LACKS_REFERENCE, self.rules)

    def severity(self) -> np.ndarray:
        """The sort key of each cell: `worse`, or -inf for cells that an earlier failure prevented."""
        return np.where(self.block.is_status("not-run"), -np.inf, np.nan_to_num(self.worse))

    def cell(self, r: int, c: int) -> CellVerdict:
        """The verdict of the cell in row r of the block and column c."""
        matrix = self.block.matrix
        rule = list(RULES.values())[self.rules[r, c]]
        pair = (matrix.rows[self.block.first + r], matrix.columns[c])
        link_class = matrix.class_names[self.block.classes[r, c]]
        reference = self.expected.reference(pair, link_class)
        codes, words = self.block.status
        value, low, high, limit = (float(self.numbers(name)[r, c]) for name in ("values", "low", "high", "limit"))
        worse_than_baseline = worse_than_class(matrix, self.block)[r, c]
        reason = rule.sentence(
            Cell(
                pair,
                str(words[codes[r, c]]),
                value,
                low,
                high,
                limit,
                matrix.unit,
                float(worse_than_baseline),
                float(self.lag[r, c]),
                reference,
                self.expected.name,
                self.unverified,
                self.process_sentence(r, c),
                self.baseline(r, c),
                self.samples(r, c),
                self.slow.sentence(r, c) if self.slow is not None and self.slow.found[r, c] else "",
                link_class,
                self.expected.adopted_class(pair, link_class),
            )
        )
        measured = words[codes[r, c]] in ("ok", "corrupt") and not np.isnan(value)
        deviation = value / reference.value - 1 if rule.uses_reference and reference is not None else None
        assert rule.verdict is not None
        return CellVerdict(rule.verdict, reason, value if measured else None, reference, deviation)

    def baseline(self, r: int, c: int) -> str:
        """The baseline of the link class of a cell, in words: "the median" or "the best cell (54.31 GB/s)"."""
        matrix = self.block.matrix
        group = matrix.class_names[self.block.classes[r, c]]
        if group not in matrix.classes:
            return "the median"
        value, word = matrix.classes[group].baseline(matrix.unit)
        return "the median" if word == "median" else f"the {word} ({quantity(value, matrix.unit)})"

    def process_sentence(self, r: int, c: int) -> str:
        """A sentence about the process that disturbed a cell; "" if the cell has another verdict than DISTURBED."""
        if self.others is None or self.rules[r, c] not in NAMES_PROCESS:
            return ""
        pair = self.block.matrix.rows[self.block.first + r], self.block.matrix.columns[c]
        sentence = self.others.memory_sentence if self.rules[r, c] == ORDER["no memory"] else self.others.sentence
        return sentence(*pair)

    def samples(self, r: int, c: int) -> int:
        """The number of samples of a cell; 0 if the record does not contain the number."""
        return int(np.nan_to_num(self.numbers("samples")[r, c]))

    def numbers(self, name: str) -> np.ndarray:
        """The values of an array of the record, such as "samples" or "limit"; rows × columns of the block."""
        cache = self.__dict__.setdefault("_maps", {})
        if name not in cache:
            cache[name] = self.block.numbers(name)
        return cache[name]


def worse_than_class(matrix: Matrix, block: Block) -> np.ndarray:
    """The fraction by which each cell is worse than the baseline of its link class.

    The fraction is negative if the cell is better, and NaN if unknown.
    """
    known, unit = matrix.classes, matrix.unit
    baselines = np.array([known[one].baseline(unit)[0] if one in known else np.nan for one in matrix.class_names])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        off = block.values / np.take(baselines, block.classes) - 1
    return off if matrix.unit == "us" else -off


def judge(
    matrix: Matrix,
    block: Block,
    expected: Expected,
    unverified: str,
    others: Disturbances | None = None,
    slow: SlowSamples | None = None,
) -> Judged:
    """Judges a block of rows.

    unverified: why the data is not verified; "" if the data is verified.
    others: the disturbances during the measurement.
    slow: the slow samples of the block's cells.
    """
    measured = block.values
    value, low_limit, high_limit, wrong_unit, worse_path, unknown_path = comparison(matrix, block, expected)
    low, high, limit = (block.numbers(name) for name in ("low", "high", "limit"))
    ok = block.is_status("ok")
    worse_than_baseline = worse_than_class(matrix, block)
    has_values = matrix.title != HANDOVER  # a visibility test verifies the order of writes, and has no references
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # division by very small values
        off = measured / value - 1
        too_much = measured > limit * IMPLAUSIBLE if matrix.unit == "GB/s" else np.zeros(measured.shape, dtype=bool)
        worse = np.where(
            np.isfinite(off) & ~too_much & ~wrong_unit, off if matrix.unit == "us" else -off, worse_than_baseline
        )
        under, over = measured < low_limit, measured > high_limit
        bad, good = (over, under) if matrix.unit == "us" else (under, over)
        lacks = np.isnan(value) & has_values
        no_cell = np.zeros(measured.shape, dtype=bool)
        lag, straggling, noisy = np.zeros(measured.shape), no_cell, no_cell
        if np.isfinite(value).any():  # saves time for large matrices without references
            lag = np.nan_to_num(class_lag(matrix, block, expected.class_references, value))
            noise = (high - low) / measured
            tolerance = np.abs((high_limit if matrix.unit == "us" else low_limit) / value - 1)
            straggling = lag > np.fmax(np.fmax(noise, tolerance / 4), STRAGGLER_LIMITS[matrix.unit])
            noisy = at_limit(matrix.unit, worse, (low, high), value, (low_limit, high_limit))
        disturbed = others.cells(matrix, block) if others else no_cell
        no_memory = others.without_memory(matrix, block) & ~ok if others else no_cell
        intermittent = slow.found if slow is not None else no_cell
        fails = slow.fails if slow is not None else no_cell
        skipped = bool(unverified) and unverified != NO_VERIFICATION  # the program can verify data, but did not
        masks = {
            "not applicable": ~block.applies,
            "corrupt": block.is_status("corrupt"),
            "no memory": no_memory,
            "partial": block.is_status("partial"),
            "not measured": ~ok,
            "impossible": too_much,
            "other unit": wrong_unit,
            "path changed": worse_path,
            "off reference": bad & ~disturbed,
            "intermittent": fails & ~disturbed,
            "path unknown": unknown_path,
            "no reference": lacks & (bool(expected.name) or skipped),
            "not compared": np.full(measured.shape, skipped),
            "disturbed": disturbed & (bad | fails | (lacks & (worse_than_baseline > DISTURBED_LIMIT))),
            "no table": lacks,
            "never compared": np.full(measured.shape, bool(unverified)),
            "better": good,
            "may be intermittent": intermittent & ~disturbed,
            "noisy": noisy,
            "straggling": straggling & has_values,
        }
    assert list(RULES)[:-1] == list(masks)
    rules = np.full(measured.shape, len(masks), dtype=np.uint8)
    for number, mask in reversed(list(enumerate(masks.values()))):  # the first rule is written last
        if mask.any():
            rules[mask] = number
    limits = value, low_limit, high_limit
    return Judged(
        block,
        expected,
        unverified,
        rules,
        *((np.where(wrong_unit, np.nan, one) for one in limits) if wrong_unit.any() else limits),
        np.where(ok, worse, np.nan),
        np.isfinite(value),
        (disturbed & ok & (worse > 0)) | (no_memory & block.applies),
        lag,
        others,
        slow,
    )


class JudgedCells(CellView):
    """{pair: verdict} of the cells of a matrix, including missing cells that have a reference."""

    def __init__(self, judged: Judged, missing: Mapping[Pair, CellVerdict]) -> None:
        matrix = judged.block.matrix
        super().__init__(matrix.rows, matrix.columns, judged.codes >= 0, judged.cell)
        self.missing = missing

    def __getitem__(self, pair: Pair) -> CellVerdict:
        return self.missing[pair] if pair in self.missing else super().__getitem__(pair)

    def __iter__(self) -> Iterator[Pair]:
        yield from super().__iter__()
        yield from self.missing

    def __len__(self) -> int:
        return super().__len__() + len(self.missing)
