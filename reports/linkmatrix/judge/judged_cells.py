"""The verdicts of a matrix by pair, the cells that it lacks, and whether its data was compared."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..record.matrix import CellView, Matrix, has_status
from ..record.names import Pair
from .cell_sentences import name
from .expected import Expected
from .rules import COMPARES_NOTHING, Judged
from .verdicts import CellVerdict, Verdict


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


def lost_cells(
    matrix: Matrix, expected: Expected, wanted: Mapping[Pair, Any], whole: Judged | None
) -> dict[Pair, CellVerdict]:
    """The cells that have a reference but are not in the matrix, or do not apply: {pair: INCOMPLETE verdict}."""
    rows, columns = ({label: at for at, label in enumerate(labels)} for labels in (matrix.rows, matrix.columns))
    lost = {}
    for pair in wanted:
        there = pair[0] in rows and pair[1] in columns
        if there and whole is not None:
            there = bool(whole.codes[rows[pair[0]], columns[pair[1]]] >= 0)
        if not there or (whole is None and pair[0] == pair[1]):
            reason = f"{name(pair)} has a reference in '{expected.name}' and was not measured"
            lost[pair] = CellVerdict(Verdict.INCOMPLETE, reason, None, expected.of_cell[pair])
    return lost


def not_compared(result: Mapping[str, Any]) -> str:
    """Why the data of a result counts as unverified; "" if the record has the verification of every cell."""
    if result["size_bytes"] == 0:
        return ""  # an empty message has no data
    if result["verified"] is None:
        # only the records of linkmatrix's own programs contain `timing`
        return "its data was not compared (--no-verify)" if result["timing"] else COMPARES_NOTHING
    return "" if result["verified"] or has_status(result, "corrupt") else "not all data was compared"
