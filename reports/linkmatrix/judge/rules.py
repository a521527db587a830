"""The rules that give each cell its verdict. A rule has a mask over cells and a sentence. The first true mask decides.

Masks are computed for whole blocks of cells. A sentence is composed on demand.
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
from .expected import Expected, at_limit, behind_class, comparison
from .verdicts import CellVerdict, Verdict

if TYPE_CHECKING:
    from .disturbances import Disturbances
    from .intermittent import SlowSamples

COMPARES_NOTHING = "its program verified no data"  # a program that cannot compare: cells are NOT JUDGED
IMPLAUSIBLE = 1.02  # of the limit of the path: a larger value counts bytes that were not transferred
STRAGGLES = {
    "GB/s": 0.02,
    "us": 0.10,
    "GFLOP/s": 0.02,
}  # a cell is WARN if it is worse than its link class by more than this, its interval and a quarter of its tolerance
DISTURBED = (
    0.10  # a cell without reference on a disturbed node is DISTURBED if worse than the baseline of its class by more
)


class Rule(NamedTuple):
    """verdict: None if the cell does not apply. looked_up: whether the rule compares the value with the reference."""

    verdict: Verdict | None
    sentence: Callable[[Cell], str]
    looked_up: bool = False


#: In order of precedence. `Judged.rules` contains indices of this table.
RULES: dict[str, Rule] = {
    "not applicable": Rule(None, lambda cell: ""),
    "corrupt": Rule(Verdict.FAIL, lambda cell: f"{name(cell.pair)}: wrong data arrived"),
    "no memory": Rule(Verdict.DISTURBED, lambda cell: f"{name(cell.pair)} was not measured: {cell.others}"),
    "partial": Rule(Verdict.INCOMPLETE, sentences.in_part),
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
UNREFERENCED = [ORDER[one] for one in ("no reference", "no table")]  # rules of cells that lack only a reference
OTHERS = [ORDER[one] for one in ("no memory", "disturbed")]  # rules whose sentence names other processes
LACKS_REFERENCE = np.isin(np.arange(len(RULES)), UNREFERENCED)
VERDICTS = np.array([-1 if rule.verdict is None else rule.verdict for rule in RULES.values()], dtype=np.int8)


@dataclass(frozen=True)
class Judged:
    """The verdicts on a block; all arrays are rows × columns.

    rules: indices of RULES.
    codes: verdicts; -1 if a cell does not apply.
    value, low, high: value and limits of the references in the matrix's unit, NaN without.
    worse: the fraction by which a cell is worse than its reference, or without a reference than the baseline of its
        class, NaN without a value.
    disturbed: True for cells that are no evidence about the machine. They are worse than expected or lack a value, and
        another process used a node or the memory of an endpoint.
    behind: see `behind_class`.
    slow: the slow samples, None if the record lists no samples.
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
    behind: np.ndarray
    others: Disturbances | None = None
    slow: SlowSamples | None = None

    @cached_property
    def codes(self) -> np.ndarray:
        """The verdict of each cell."""
        return np.take(VERDICTS, self.rules)

    @property
    def observed(self) -> np.ndarray:
        """The values of the undisturbed cells; NaN for the others, and for values that their path cannot carry."""
        return np.where(self.disturbed | (self.rules == ORDER["impossible"]), np.nan, self.block.measured)

    @cached_property
    def unjudged(self) -> np.ndarray:
        """True for cells that lack only a reference."""
        return np.take(LACKS_REFERENCE, self.rules)

    def badness(self) -> np.ndarray:
        """`worse`, to sort cells by. A cell that was not tried comes last, because another failure is its cause."""
        return np.where(self.block.is_status("not-run"), -np.inf, np.nan_to_num(self.worse))

    def cell(self, r: int, c: int) -> CellVerdict:
        """The verdict on a cell of the block, with its sentence."""
        matrix = self.block.matrix
        rule = list(RULES.values())[self.rules[r, c]]
        pair = (matrix.rows[self.block.first + r], matrix.columns[c])
        link_class = matrix.class_names[self.block.classes[r, c]]
        reference = self.expected.of(pair, link_class)
        codes, words = self.block.status
        value, low, high, limit = (float(self.numbers(name)[r, c]) for name in ("values", "low", "high", "limit"))
        of_class = worse_than_class(matrix, self.block)[r, c]
        said = rule.sentence(
            Cell(
                pair,
                str(words[codes[r, c]]),
                value,
                low,
                high,
                limit,
                matrix.unit,
                float(of_class),
                float(self.behind[r, c]),
                reference,
                self.expected.name,
                self.unverified,
                self.others_sentence(r, c),
                self.baseline(r, c),
                self.samples(r, c),
                self.slow.sentence(r, c) if self.slow is not None and self.slow.found[r, c] else "",
                link_class,
                self.expected.adopted_class(pair, link_class),
            )
        )
        measured = words[codes[r, c]] in ("ok", "corrupt") and not np.isnan(value)
        deviation = value / reference.value - 1 if rule.looked_up and reference is not None else None
        assert rule.verdict is not None
        return CellVerdict(rule.verdict, said, value if measured else None, reference, deviation)

    def baseline(self, r: int, c: int) -> str:
        """The baseline of a cell without a reference: "the median" or "the best cell (54.31 GB/s)"."""
        matrix = self.block.matrix
        group = matrix.class_names[self.block.classes[r, c]]
        if group not in matrix.classes:
            return "the median"
        value, word = matrix.classes[group].baseline(matrix.unit)
        return "the median" if word == "median" else f"the {word} ({quantity(value, matrix.unit)})"

    def others_sentence(self, r: int, c: int) -> str:
        """The process that disturbed a cell; "" if no process explains the cell's verdict."""
        if self.others is None or self.rules[r, c] not in OTHERS:
            return ""
        pair = self.block.matrix.rows[self.block.first + r], self.block.matrix.columns[c]
        sentence = self.others.memory_sentence if self.rules[r, c] == ORDER["no memory"] else self.others.sentence
        return sentence(*pair)

    def samples(self, r: int, c: int) -> int:
        """The number of samples of a cell; 0 if the record does not contain it."""
        return int(np.nan_to_num(self.numbers("samples")[r, c]))

    def numbers(self, name: str) -> np.ndarray:
        """A map of the block, read once."""
        cache = self.__dict__.setdefault("_maps", {})
        if name not in cache:
            cache[name] = self.block.numbers(name)
        return cache[name]


def worse_than_class(matrix: Matrix, block: Block) -> np.ndarray:
    """The fraction by which each cell is worse than the baseline of its link class; negative: better; NaN: unknown."""
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
    """The verdicts on a block. unverified: the reason why the data is not verified; "" if it is verified.

    others: the disturbances during the measurement. slow: the slow samples of the block's cells.
    """
    found = block.values
    value, low_limit, high_limit, wrong_unit, worse_path, lost_path = comparison(matrix, block, expected)
    low, high, limit = (block.numbers(name) for name in ("low", "high", "limit"))
    ok = block.is_status("ok")
    of_class = worse_than_class(matrix, block)
    claims = matrix.title != HANDOVER  # a visibility test has no reference: only its words are verified
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # division by very small values
        off = found / value - 1
        too_much = found > limit * IMPLAUSIBLE if matrix.unit == "GB/s" else np.zeros(found.shape, dtype=bool)
        worse = np.where(np.isfinite(off) & ~too_much & ~wrong_unit, off if matrix.unit == "us" else -off, of_class)
        under, over = found < low_limit, found > high_limit
        bad, good = (over, under) if matrix.unit == "us" else (under, over)
        lacks = np.isnan(value) & claims
        no_cell = np.zeros(found.shape, dtype=bool)
        behind, straggling, noisy = np.zeros(found.shape), no_cell, no_cell
        if np.isfinite(value).any():  # without references, the cells of a large matrix need none of this
            behind = np.nan_to_num(behind_class(matrix, block, expected.of_class, value))
            noise = (high - low) / found
            tolerance = np.abs((high_limit if matrix.unit == "us" else low_limit) / value - 1)
            straggling = behind > np.fmax(np.fmax(noise, tolerance / 4), STRAGGLES[matrix.unit])
            noisy = at_limit(matrix.unit, worse, (low, high), value, (low_limit, high_limit))
        used = others.cells(matrix, block) if others else no_cell
        held = others.without_memory(matrix, block) & ~ok if others else no_cell
        unsteady = slow.found if slow is not None else no_cell
        fails = slow.fails if slow is not None else no_cell
        skipped = bool(unverified) and unverified != COMPARES_NOTHING  # the program could have compared the data
        masks = {
            "not applicable": ~block.applies,
            "corrupt": block.is_status("corrupt"),
            "no memory": held,
            "partial": block.is_status("partial"),
            "not measured": ~ok,
            "impossible": too_much,
            "other unit": wrong_unit,
            "path changed": worse_path,
            "off reference": bad & ~used,
            "intermittent": fails & ~used,
            "path unknown": lost_path,
            "no reference": lacks & (bool(expected.name) or skipped),
            "not compared": np.full(found.shape, skipped),
            "disturbed": used & (bad | fails | (lacks & (of_class > DISTURBED))),
            "no table": lacks,
            "never compared": np.full(found.shape, bool(unverified)),
            "better": good,
            "may be intermittent": unsteady & ~used,
            "noisy": noisy,
            "straggling": straggling & claims,
        }
    assert list(RULES)[:-1] == list(masks)
    rules = np.full(found.shape, len(masks), dtype=np.uint8)
    for number, mask in reversed(list(enumerate(masks.values()))):  # the first rule that is true of a cell decides
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
        (used & ok & (worse > 0)) | (held & block.applies),
        behind,
        others,
        slow,
    )


class JudgedCells(CellView):
    """{pair: verdict} of the cells of a matrix, and of missing cells that have a reference."""

    def __init__(self, judged: Judged, lost: Mapping[Pair, CellVerdict]) -> None:
        matrix = judged.block.matrix
        super().__init__(matrix.rows, matrix.columns, judged.codes >= 0, judged.cell)
        self.lost = lost

    def __getitem__(self, pair: Pair) -> CellVerdict:
        return self.lost[pair] if pair in self.lost else super().__getitem__(pair)

    def __iter__(self) -> Iterator[Pair]:
        yield from super().__iter__()
        yield from self.lost

    def __len__(self) -> int:
        return super().__len__() + len(self.lost)
