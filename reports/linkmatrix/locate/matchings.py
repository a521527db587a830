"""Slow endpoints of a record of sampled matchings, as findings and sentences.

The program decides which endpoints and cells are slow, and records them (`Suspicion` in src/measure/suspicion.hpp). An
endpoint sends and receives; a permanent fault slows all its cells in one direction or in both.

Slow cells that no faulty endpoint explains have their own sentences. An endpoint is at fault if more of its cells are
slow than chance explains. If many endpoints are slow, other endpoints are often slow because of their partners, so
chance explains as much. If half of the pairs are slow, the median of concurrent pairs is slow itself. The sentences
then name the endpoints that were slow with every peer, or the number of slow pairs.
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

LEAST_OFF = 0.025  # least deviation of a slow cell from the fastest cells, as a logarithm
LEAST_SLOW = 2  # slow cells of a faulty endpoint that no other process disturbed
SUSPECT = {
    "sends and receives": "check its adapters, PCIe, clocks and uplink",
    "sends": "check its sending side: adapter, uplink and routing",
    "receives": "check its receiving side: adapter, uplink and routing",
}
MANY = 0.2  # with a larger share of slow cells, the median of concurrent cells may be slow itself
TOO_MANY = 0.5  # with a larger share, no endpoint is named
FASTEST = 0.90, 0.97  # quantiles of all cells, which give speed and noise of healthy cells
ABOUT = 0.2  # largest share of cells near the limit, relative to the fast cells; noise alone has 0.5
PARTNERS = 2  # least number of partners of an end that is slow with each of them
HOW = {  # (sends slowly, receives slowly) → sentence
    (True, True): "{was} slow with every peer",
    (True, False): "sent slowly to every peer",
    (False, True): "received slowly from every peer",
}
AGAIN = "measure again with a longer --max-time, or the full matrix of {it} and of some other endpoints"


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


def fault_sentences(result: Result, judged: MatrixVerdict) -> tuple[list[tuple[Fault, str]], list[str]]:
    """(reproduced faults, each with its sentence; other sentences). judged: the matrix of the result."""
    if bottleneck := sampled_matrix.bottleneck_sentence(result):
        return [], [bottleneck]
    cells, labels = measured_cells(result, judged), judged.matrix.rows
    if not len(cells.values):
        return [], ["nothing was measured"]
    found = faults(result, cells)
    said = [(one, sentence(one, labels[one.endpoint], result)) for one in found]
    rest = [
        *sampled_matrix.slow_group_sentences(result),
        *filter(None, [sampled_matrix.oversubscription_sentence(result)]),
    ]
    rest += [text for one, text in said if not one.reproduced]
    rest += unexplained_sentences(cells, found, result, labels)
    return [(one, text) for one, text in said if one.reproduced], rest


def unexplained_sentences(cells: Cells, found: Sequence[Fault], result: Result, labels: Sequence[str]) -> Iterator[str]:
    """Sentences about the slow cells that no slow endpoint explains."""
    rest = np.ones(len(cells.values), dtype=bool)
    for one in found:
        rest &= ~cells.of(one.endpoint, one.direction)
    if not rest.any():
        return
    logs = np.log(cells.values[rest]) * (-1 if result["unit"] == "us" else 1)
    slower = slower_than_fastest(logs, LEAST_OFF)
    slow = slower if slower.mean() >= MANY else cells.slow[rest]
    again = [(one["row"], one["column"]) for one in result["remeasured"]]
    unconfirmed, both_ways = {*result["matchings"]["open"]}, result["metric"] == "bidirectional"
    yield from unresolved_sentences(cells.rows[rest], cells.columns[rest], slow, labels, both_ways, unconfirmed, again)


def finding(one: Fault, of_nodes: bool) -> Finding:
    """The fault as a finding of a whole matrix."""
    kind = {"sends": "egress", "receives": "ingress"}.get(one.direction, "")
    kind = ("node_" if kind else "node") + kind if of_nodes else kind or "device"
    return Finding(kind, one.endpoint, one.shift, one.cells + one.confirmed, one.slow + one.slow_again, 0.0)


def confirmed_faults(result: Result, judged: MatrixVerdict) -> list[tuple[str, str]]:
    """(endpoint, sentence) of the faults that were reproduced after the pause. judged: the matrix of the result."""
    return [
        (judged.matrix.rows[one.endpoint], text) for one, text in fault_sentences(result, judged)[0] if one.confirmed
    ]


class Ends(NamedTuple):
    """The two ends of each cell, as numbers below `count`: the sending side of an endpoint, then the receiving sides.

    In bidirectional cells, an end is an endpoint.
    """

    senders: np.ndarray
    receivers: np.ndarray
    count: int

    def having(self, cells: np.ndarray) -> np.ndarray:
        """The number of these cells per end."""
        return sum(np.bincount(side[cells], minlength=self.count) for side in (self.senders, self.receivers))

    def cells(self, ends: np.ndarray) -> np.ndarray:
        """True for the cells of these ends."""
        return ends[self.senders] | ends[self.receivers]


def slower_than_fastest(logs: np.ndarray, least: float) -> np.ndarray:
    """True for cells that are slower than the fastest cells by more than noise and by more than `least`, a logarithm.

    The noise follows from the 90 % and 97 % quantiles, which are 1.282 and 1.881 σ above the median of a normal
    distribution. If many cells are near the limit, slow and fast cells are not two groups, and no cell is slow.
    """
    high, higher = np.quantile(logs, FASTEST)
    sigma = float(higher - high) / (1.8808 - 1.2816)
    limit = high - 1.2816 * sigma - max(least, noise.sigma_limit(len(logs)) * sigma)
    slow = logs < limit
    about = np.abs(logs - limit) < float(np.median(logs[~slow]) - limit) / 2
    return slow & bool(about.sum() <= ABOUT * (~slow).sum())


def slow_with_every_peer(ends: Ends, slow: np.ndarray) -> np.ndarray:
    """True for ends whose cells are all slow, at least two of which no other such end with more cells explains."""
    count = ends.having(np.ones(len(slow), dtype=bool))
    every = (ends.having(slow) == count) & (count >= PARTNERS)
    found = np.zeros(ends.count, dtype=bool)
    for most in sorted({*count[every].tolist()}, reverse=True):
        rest = ends.having(slow & ~ends.cells(found))
        found |= every & (count == most) & (rest >= PARTNERS)
    return found


def unresolved_sentences(
    rows: np.ndarray,
    columns: np.ndarray,
    slow: np.ndarray,
    labels: Sequence[str],
    both_ways: bool,
    unconfirmed: Set[str],
    reproduced: Sequence[tuple[str, str]],
) -> Iterator[str]:
    """Sentences about slow cells that no faulty endpoint has.

    rows, columns: of the cells, as indices of labels. slow: True for slow cells. unconfirmed: endpoints that the
    program did not confirm. reproduced: pairs that were slow again.
    """
    total = f"{int(slow.sum())} of {units.counted(len(slow), 'cell')}"
    if slow.sum() >= TOO_MANY * len(slow):
        yield (
            f"{total} are slower than the fastest: a sampled matrix cannot attribute so many; measure the"
            " full matrix, at least of some endpoints"
        )
        return
    ends = Ends(rows, columns if both_ways else len(labels) + columns, len(labels) * (1 if both_ways else 2))
    found = slow_with_every_peer(ends, slow)
    ways = (found, found) if both_ways else (found[: len(labels)], found[len(labels) :])
    for how, text in HOW.items():
        named = [labels[at] for at in np.flatnonzero((ways[0] == how[0]) & (ways[1] == how[1]))]
        yield from uncertain_sentence(
            [one for one in named if one in unconfirmed], text, "it was not confirmed within --max-time"
        )
        others = [one for one in named if one not in unconfirmed]
        yield from uncertain_sentence(others, text, f"chance may explain it where {total} are slow")
    slow = slow & ~ends.cells(found)
    count = ends.having(slow)
    alone = slow & (count[ends.senders] == 1) & (count[ends.receivers] == 1)
    yield from path_sentences(
        [(labels[row], labels[column]) for row, column in zip(rows[alone], columns[alone], strict=True)], reproduced
    )
    worst = sorted(np.flatnonzero(count > 1).tolist(), key=lambda end: -count[end])
    if worst:
        names = units.first(list(dict.fromkeys(labels[end % len(labels)] for end in worst)))
        cells = units.counted(int((slow & ~alone).sum()), "cell")
        them = AGAIN.format(it="them" if len(names) > 1 else "it")
        yield f"{cells} slow, of {', '.join(names)}, slow with some peers and fine with other peers: {them}"


def uncertain_sentence(names: Sequence[str], text: str, why: str) -> Iterator[str]:
    """ "n5 was slow with every peer: uncertain, because it was not confirmed within --max-time; measure again …"."""
    if names:
        was, it, them = ("was", "it", "it") if len(names) == 1 else ("were", "they", "them")
        who = ", ".join(units.first(list(names)))
        yield f"{who} {text.format(was=was, it=it)}: uncertain, because {why}; {AGAIN.format(it=them)}"


def path_sentences(pairs: Sequence[tuple[str, str]], reproduced: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Sentences about slow pairs whose endpoints are both fine with other peers.

    reproduced: pairs that were slow again.
    """
    again = [f"{row}->{column}" for row, column in pairs if (row, column) in reproduced]
    if again:
        names = ", ".join(units.first(again))
        yield f"{names}: slow each time, while both endpoints are fine with other peers: check the path between them"
    if len(pairs) > len(again):
        once = units.counted(len(pairs) - len(again), "cell")
        yield f"{once} slow in one measurement, at endpoints that are fine with other peers"
