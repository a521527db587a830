"""Slow endpoints of a record of sampled matchings, as findings and sentences.

The program decides which endpoints and cells are slow, and records them (`Suspicion` in src/measure/suspicion.hpp). An
endpoint sends and receives; a permanent fault slows all its cells in one direction or in both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..judge import sampled_matrix
from ..judge.evaluate import MatrixVerdict
from ..record import units
from ..record.names import Result
from . import unresolved_matchings
from .hypotheses import Finding, slowness

LEAST_OFF = 0.025  # least deviation of a slow cell from the fastest cells, as a logarithm
LEAST_SLOW = 2  # slow cells of a faulty endpoint that no other process disturbed
SUSPECT = {
    "sends and receives": "check its adapters, PCIe, clocks and uplink",
    "sends": "check its sending side: adapter, uplink and routing",
    "receives": "check its receiving side: adapter, uplink and routing",
}


@dataclass(frozen=True)
class Cells:
    """The measured cells: row and column indices, values, and whether the program recorded the cell as slow."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    slow: np.ndarray

    def of(self, endpoint: int, direction: str) -> np.ndarray:
        """True for the cells of an endpoint in a direction: "sends", "receives" or "sends and receives"."""
        sent = (self.rows == endpoint) & ("sends" in direction)
        return sent | ((self.columns == endpoint) & ("receives" in direction))


@dataclass(frozen=True)
class Fault:
    """A slow endpoint as the record has it.

    endpoint: index of its row. direction: "sends", "receives" or "sends and receives". shift: median deviation of the
    speed of its slow cells, as a fraction. slow of cells: before the pause. slow_again of confirmed: matchings after
    the pause. reproduced: whether it was slow after the pause too, or was not measured after the pause.
    """

    endpoint: int
    direction: str
    shift: float
    slow: int
    cells: int
    slow_again: int
    confirmed: int
    reproduced: bool


def measured_cells(result: Result, judged: MatrixVerdict) -> Cells:
    """The measured cells of the judged matrix, block by block. Disturbed cells are left out if the matrix is loaded."""
    disturbed = None if judged.whole is None else judged.whole.disturbed
    rows, columns, values = [], [], []
    for block in judged.matrix.blocks():
        r, c = np.nonzero(np.isfinite(block.measured) & (True if disturbed is None else ~disturbed))
        rows.append(r + block.first)
        columns.append(c)
        values.append(block.measured[r, c])
    row, column = np.concatenate(rows), np.concatenate(columns)
    slow = result["matchings"]["slow_cells"]
    count = len(judged.matrix.columns)
    is_slow = np.isin(row * count + column, np.array(slow["rows"], int) * count + np.array(slow["columns"], int))
    return Cells(row, column, np.concatenate(values), is_slow)


def faults(result: Result, cells: Cells) -> list[Fault]:
    """The slow endpoints of the record that have at least two slow cells without a disturbance."""
    found = []
    for one in result["matchings"]["slow_endpoints"]:
        fault = Fault(**{**one, "endpoint": result["rows"].index(one["endpoint"])})
        if (cells.slow & cells.of(fault.endpoint, fault.direction)).sum() >= LEAST_SLOW:
            found.append(fault)
    return found


def sentence(one: Fault, label: str, result: Result) -> str:
    """ "n17 sends 10.2 % slow to with every partner (6 of 6 cells, and 3 of 3 after a pause of 10 s): suspect …"."""
    amount = slowness(one.shift, result["unit"])
    pause = f"after a pause of {result['matchings']['pause']:.0f} s"
    seen = f"{one.slow} of {units.counted(one.cells, 'cell')}"
    if not one.reproduced:
        return (
            f"{label} was {amount} in {seen}, and in {one.slow_again} of {one.confirmed} matchings {pause}:"
            " it recovered without a change"
        )
    confirmed = f", and {one.slow_again} of {one.confirmed} {pause}"
    if not one.confirmed:
        confirmed = ", not measured again after a pause"
    return f"{label} {one.direction} {amount}, with every partner ({seen}{confirmed}): {SUSPECT[one.direction]}"


def told(result: Result, judged: MatrixVerdict) -> tuple[list[tuple[Fault, str]], list[str]]:
    """(reproduced faults, each with its sentence; other sentences). judged: the matrix of the result."""
    if bottleneck := sampled_matrix.bottleneck_sentence(result):
        return [], [bottleneck]
    cells, labels = measured_cells(result, judged), judged.matrix.rows
    if not len(cells.values):
        return [], ["nothing was measured"]
    found = faults(result, cells)
    said = [(one, sentence(one, labels[one.endpoint], result)) for one in found]
    rest = [*sampled_matrix.faults(result), *([sampled_matrix.ratio(result)] if sampled_matrix.ratio(result) else [])]
    rest += [text for one, text in said if not one.reproduced]
    rest += of_no_fault(cells, found, result, labels)
    return [(one, text) for one, text in said if one.reproduced], rest


def of_no_fault(cells: Cells, found: Sequence[Fault], result: Result, labels: Sequence[str]) -> Iterator[str]:
    """Sentences about the slow cells that no slow endpoint explains."""
    rest = np.ones(len(cells.values), dtype=bool)
    for one in found:
        rest &= ~cells.of(one.endpoint, one.direction)
    if not rest.any():
        return
    logs = np.log(cells.values[rest]) * (-1 if result["unit"] == "us" else 1)
    beside_fastest = unresolved_matchings.held_against_fastest(logs, LEAST_OFF)
    slow = beside_fastest if beside_fastest.mean() >= unresolved_matchings.MANY else cells.slow[rest]
    again = [(one["row"], one["column"]) for one in result["remeasured"]]
    still, both_ways = {*result["matchings"]["open"]}, result["metric"] == "bidirectional"
    yield from unresolved_matchings.sentences(
        cells.rows[rest], cells.columns[rest], slow, labels, both_ways, still, again
    )


def finding(one: Fault, of_nodes: bool) -> Finding:
    """The fault as a finding of a whole matrix."""
    kind = {"sends": "egress", "receives": "ingress"}.get(one.direction, "")
    kind = ("node_" if kind else "node") + kind if of_nodes else kind or "device"
    return Finding(kind, one.endpoint, one.shift, one.cells + one.confirmed, one.slow + one.slow_again, 0.0)


def blamed(result: Result, judged: MatrixVerdict) -> list[tuple[str, str]]:
    """(endpoint, sentence) of the faults that were reproduced after the pause. judged: the matrix of the result."""
    return [(judged.matrix.rows[one.endpoint], text) for one, text in told(result, judged)[0] if one.confirmed]
