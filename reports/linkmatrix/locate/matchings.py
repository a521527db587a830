"""Slow endpoints of sampled matrices, as findings and sentences.

The program decides which endpoints and cells are slow (`Suspicion` in src/measure/suspicion.hpp), and records both.

A permanent fault of an endpoint slows all its cells in one direction or in both directions. The program attributes slow
cells to an endpoint only if chance does not explain them. Two situations hide a fault:

* If many endpoints are slow, healthy endpoints often have slow partners.
* If half of the pairs are slow, the median of concurrent pairs is slow too.

Slow cells without a slow endpoint therefore have separate sentences. These sentences name the endpoints that were slow
with every peer, or contain the number of slow pairs.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..judge import sampled_matrix
from ..judge.evaluate import MatrixVerdict
from ..record import units
from ..record.names import Result
from ..references import noise
from .hypotheses import Finding, slowness

MIN_DEVIATION = 0.025  # of a slow cell from the fastest cells, as a logarithm
MIN_SLOW = 2  # undisturbed slow cells of a faulty endpoint
SUSPECT = {
    "sends and receives": "check its adapters, PCIe, clocks and uplink",
    "sends": "check its sending side: adapter, uplink and routing",
    "receives": "check its receiving side: adapter, uplink and routing",
}
MANY = 0.2  # share of slow cells: with a larger share, the median of concurrent cells may be slow too
TOO_MANY = 0.5  # share of slow cells: with a larger share, no endpoint is named
FASTEST = 0.90, 0.97  # quantiles of all cells, from which speed and noise of healthy cells are estimated
MAX_NEAR = 0.2  # cells near the limit, as a share of the fast cells; noise alone has a share of 0.5
MIN_PARTNERS = 2  # of an endpoint that is slow with each partner
CLAUSES = {  # {(sends slowly, receives slowly): clause}
    (True, True): "{was} slow with every peer",
    (True, False): "sent slowly to every peer",
    (False, True): "received slowly from every peer",
}
AGAIN = "measure again with a longer --max-time, or the full matrix of {it} and of some other endpoints"


@dataclass(frozen=True)
class Cells:
    """The measured cells of a matrix, as flat arrays.

    rows, columns: index of the row and of the column of each cell.
    slow: True for slow cells.
    """

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    slow: np.ndarray

    def of_endpoint(self, endpoint: int, direction: str) -> np.ndarray:
        """True for the cells of an endpoint in a direction. direction: "sends", "receives" or "sends and receives"."""
        sent = (self.rows == endpoint) & ("sends" in direction)
        return sent | ((self.columns == endpoint) & ("receives" in direction))


@dataclass(frozen=True)
class Fault:
    """A slow endpoint of a record. The program measures slow endpoints again after a pause.

    endpoint: index of the row of the endpoint.
    direction: "sends", "receives" or "sends and receives".
    shift: median deviation of the slow cells of the endpoint, as a fraction.
    slow: number of slow cells before the pause.
    cells: number of all cells before the pause.
    slow_again: number of matchings after the pause in which the endpoint was slow.
    confirmed: number of all matchings of the endpoint after the pause.
    reproduced: False if the endpoint was measured after the pause and was not slow.
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
    """The measured cells of a matrix. For a matrix in memory, disturbed cells are excluded."""
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


def recorded_faults(result: Result, cells: Cells) -> list[Fault]:
    """The slow endpoints of a record. Endpoints with fewer than MIN_SLOW undisturbed slow cells are left out."""
    found = []
    for one in result["matchings"]["slow_endpoints"]:
        fault = Fault(**{**one, "endpoint": result["rows"].index(one["endpoint"])})
        if (cells.slow & cells.of_endpoint(fault.endpoint, fault.direction)).sum() >= MIN_SLOW:
            found.append(fault)
    return found


def sentence(fault: Fault, label: str, result: Result) -> str:
    """The sentence about a slow endpoint.

    Example: "n17 sends 10.2 % slow, with every partner (6 of 6 cells, and 3 of 3 after a pause of 10 s): …".
    """
    amount = slowness(fault.shift, result["unit"])
    pause = f"after a pause of {result['matchings']['pause']:.0f} s"
    seen = f"{fault.slow} of {units.counted(fault.cells, 'cell')}"
    if not fault.reproduced:
        return (
            f"{label} was {amount} in {seen}, and in {fault.slow_again} of {fault.confirmed} matchings {pause}:"
            " it recovered without a change"
        )
    confirmed = f", and {fault.slow_again} of {fault.confirmed} {pause}"
    if not fault.confirmed:
        confirmed = ", not measured again after a pause"
    return f"{label} {fault.direction} {amount}, with every partner ({seen}{confirmed}): {SUSPECT[fault.direction]}"


def fault_sentences(result: Result, judged: MatrixVerdict) -> tuple[list[tuple[Fault, str]], list[str]]:
    """([(reproduced fault, sentence)], other sentences). judged: the verdicts on the matrix."""
    if bottleneck := sampled_matrix.bottleneck_sentence(result):
        return [], [bottleneck]
    cells, labels = measured_cells(result, judged), judged.matrix.rows
    if not len(cells.values):
        return [], ["nothing was measured"]
    found = recorded_faults(result, cells)
    sentences = [(one, sentence(one, labels[one.endpoint], result)) for one in found]
    rest = [
        *sampled_matrix.slow_group_sentences(result),
        *filter(None, [sampled_matrix.oversubscription_sentence(result)]),
    ]
    rest += [text for one, text in sentences if not one.reproduced]
    rest += unexplained_sentences(cells, found, result, labels)
    return [(one, text) for one, text in sentences if one.reproduced], rest


def unexplained_sentences(
    cells: Cells, faults: Sequence[Fault], result: Result, labels: Sequence[str]
) -> Iterator[str]:
    """Yields sentences about the slow cells that no fault in `faults` explains."""
    rest = np.ones(len(cells.values), dtype=bool)
    for one in faults:
        rest &= ~cells.of_endpoint(one.endpoint, one.direction)
    if not rest.any():
        return
    logs = np.log(cells.values[rest]) * (-1 if result["unit"] == "us" else 1)
    slower = slower_than_fastest(logs, MIN_DEVIATION)
    slow = slower if slower.mean() >= MANY else cells.slow[rest]
    remeasured = [(one["row"], one["column"]) for one in result["remeasured"]]
    unconfirmed, bidirectional = {*result["matchings"]["open"]}, result["metric"] == "bidirectional"
    yield from unresolved_sentences(
        cells.rows[rest], cells.columns[rest], slow, labels, bidirectional, unconfirmed, remeasured
    )


def as_finding(fault: Fault, has_node_rows: bool) -> Finding:
    """Converts a fault to a finding. has_node_rows: whether the rows of the matrix are nodes, not devices."""
    kind = {"sends": "egress", "receives": "ingress"}.get(fault.direction, "")
    kind = ("node_" if kind else "node") + kind if has_node_rows else kind or "device"
    return Finding(kind, fault.endpoint, fault.shift, fault.cells + fault.confirmed, fault.slow + fault.slow_again, 0.0)


def confirmed_faults(result: Result, judged: MatrixVerdict) -> list[tuple[str, str]]:
    """(endpoint, sentence) of the faults that were reproduced after the pause. judged: the verdicts on the matrix."""
    return [
        (judged.matrix.rows[one.endpoint], text) for one, text in fault_sentences(result, judged)[0] if one.confirmed
    ]


class CellEnds(NamedTuple):
    """The two ends of each cell, as numbers below `count`.

    An end is the sending side or the receiving side of an endpoint. The sending sides have the lower numbers. In a
    bidirectional matrix, the ends are the endpoints themselves.
    """

    senders: np.ndarray
    receivers: np.ndarray
    count: int

    def cell_counts(self, cells: np.ndarray) -> np.ndarray:
        """The number of selected cells of each end. cells: True for selected cells."""
        return sum(np.bincount(side[cells], minlength=self.count) for side in (self.senders, self.receivers))

    def cells(self, ends: np.ndarray) -> np.ndarray:
        """True for the cells that have a selected end. ends: True for selected ends."""
        return ends[self.senders] | ends[self.receivers]


def slower_than_fastest(logs: np.ndarray, least: float) -> np.ndarray:
    """True for cells that are slower than the fastest cells by more than noise and by more than `least`.

    The noise is estimated from the 90 % and 97 % quantiles. In a normal distribution, these quantiles are 1.282 σ and
    1.881 σ above the median. If many cells are near the limit, slow cells are not clearly separate from fast cells. All
    items are then False.
    logs: logarithms of the speeds. least: also a logarithm.
    """
    high, higher = np.quantile(logs, FASTEST)
    sigma = float(higher - high) / (1.8808 - 1.2816)
    limit = high - 1.2816 * sigma - max(least, noise.sigma_limit(len(logs)) * sigma)
    slow = logs < limit
    near = np.abs(logs - limit) < float(np.median(logs[~slow]) - limit) / 2
    return slow & bool(near.sum() <= MAX_NEAR * (~slow).sum())


def slow_with_every_peer(ends: CellEnds, slow: np.ndarray) -> np.ndarray:
    """True for ends that explain slow cells: all cells of the end are slow.

    Ends with more cells are taken first. An end is left out if the ends with more cells already explain all of its
    cells, or all but one.
    """
    count = ends.cell_counts(np.ones(len(slow), dtype=bool))
    every = (ends.cell_counts(slow) == count) & (count >= MIN_PARTNERS)
    found = np.zeros(ends.count, dtype=bool)
    for most in sorted({*count[every].tolist()}, reverse=True):
        rest = ends.cell_counts(slow & ~ends.cells(found))
        found |= every & (count == most) & (rest >= MIN_PARTNERS)
    return found


def unresolved_sentences(
    rows: np.ndarray,
    columns: np.ndarray,
    slow: np.ndarray,
    labels: Sequence[str],
    bidirectional: bool,
    unconfirmed: Set[str],
    reproduced: Sequence[tuple[str, str]],
) -> Iterator[str]:
    """Yields sentences about the slow cells that no faulty endpoint explains.

    rows, columns: row and column of each cell, as indices of `labels`.
    slow: True for slow cells.
    unconfirmed: endpoints that the program could not measure again within --max-time.
    reproduced: (row label, column label) of pairs that were slow again.
    """
    total = f"{int(slow.sum())} of {units.counted(len(slow), 'cell')}"
    if slow.sum() >= TOO_MANY * len(slow):
        yield (
            f"{total} are slower than the fastest: a sampled matrix cannot attribute so many slow cells;"
            " measure the full matrix, or the full matrix of some endpoints"
        )
        return
    ends = CellEnds(
        rows, columns if bidirectional else len(labels) + columns, len(labels) * (1 if bidirectional else 2)
    )
    found = slow_with_every_peer(ends, slow)
    sides = (found, found) if bidirectional else (found[: len(labels)], found[len(labels) :])
    for (sends, receives), text in CLAUSES.items():
        named = [labels[at] for at in np.flatnonzero((sides[0] == sends) & (sides[1] == receives))]
        yield from uncertain_sentence(
            [one for one in named if one in unconfirmed], text, "--max-time ended before the confirmation"
        )
        others = [one for one in named if one not in unconfirmed]
        yield from uncertain_sentence(others, text, f"this can be chance if {total} are slow")
    slow = slow & ~ends.cells(found)
    count = ends.cell_counts(slow)
    alone = slow & (count[ends.senders] == 1) & (count[ends.receivers] == 1)
    yield from path_sentences(
        [(labels[row], labels[column]) for row, column in zip(rows[alone], columns[alone], strict=True)], reproduced
    )
    worst = sorted(np.flatnonzero(count > 1).tolist(), key=lambda end: -count[end])
    if worst:
        names = units.first(list(dict.fromkeys(labels[end % len(labels)] for end in worst)))
        cells = units.counted(int((slow & ~alone).sum()), "cell")
        them = AGAIN.format(it="them" if len(names) > 1 else "it")
        yield f"{', '.join(names)}: slow with some peers ({cells}) and fine with other peers: {them}"


def uncertain_sentence(names: Sequence[str], text: str, why: str) -> Iterator[str]:
    """Yields a sentence such as "n5 was slow with every peer: uncertain, because …"; nothing if `names` is empty."""
    if names:
        was, it, them = ("was", "it", "it") if len(names) == 1 else ("were", "they", "them")
        who = ", ".join(units.first(list(names)))
        yield f"{who} {text.format(was=was, it=it)}: uncertain, because {why}; {AGAIN.format(it=them)}"


def path_sentences(pairs: Sequence[tuple[str, str]], reproduced: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yields sentences about slow pairs whose endpoints are fine with other peers.

    reproduced: the pairs that were slow again.
    """
    again = [f"{row}->{column}" for row, column in pairs if (row, column) in reproduced]
    if again:
        names = ", ".join(units.first(again))
        yield f"{names}: slow each time, while both endpoints are fine with other peers: check the path between them"
    if len(pairs) > len(again):
        once = units.counted(len(pairs) - len(again), "cell")
        yield f"{once} slow in one measurement, at endpoints that are fine with other peers"
