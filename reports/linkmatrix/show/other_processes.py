"""The other processes that disturbed a run, by name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..judge.disturbances import MEMORY, UNNAMED, each_named, entries_of
from ..judge.evaluate import MatrixVerdict
from ..judge.tally import KEPT
from ..judge.verdicts import CellVerdict, Verdict
from ..record.reading import Result
from ..runs.judging import Judged
from . import words


def processes(record: Mapping[str, Any], result: Result) -> Iterator[tuple[list[str], str]]:
    """(["pid 6129 (hog of root)"], sentence) for each disturbance of a result, and of the memory before it."""
    for holder in (record, result):
        others = holder.get("others") or {}
        for raw, entry in zip(others.get("disturbances") or (), entries_of(others), strict=True):
            if holder is result or raw["kind"] == MEMORY:
                yield each_named(others, raw), entry.sentence


def in_step(process: str) -> str:
    """The words for a process in a step: "the other process" if it has no name."""
    return words.ANOTHER if process == UNNAMED else process


def disturbed_cells(matrix: MatrixVerdict) -> list[CellVerdict]:
    """The worst cells of a matrix that are DISTURBED."""
    return [cell for _, cell in matrix.marked(KEPT)[0] if cell.verdict is Verdict.DISTURBED]


def disturbing(judged: Iterable[Judged]) -> list[str]:
    """The names of the processes that disturbed a cell, each once."""
    found: dict[str, None] = {}
    for one in judged:
        for result, matrix in one.matrices:
            if matrix.counts[Verdict.DISTURBED]:
                found |= dict.fromkeys(
                    in_step(who) for names, _ in processes(one.test.record or {}, result) for who in names
                )
    return list(found)
