"""Which endpoints are at fault, from a few matchings: a lasting fault of an endpoint shows in each of its cells.

An endpoint has two ends, what it sends and what it receives. A cell is slow where it is worse than the median of those
that ran with it by half of the smallest loss that is looked for, and by three times what cells differ. An end is at
fault where more of its cells are slow than flukes explain, and where it is so again after a pause.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..judge import sampled_matrix
from ..judge.evaluate import MatrixVerdict
from ..record import units
from ..record.names import Result
from ..references import noise
from . import unresolved_matchings
from .hypotheses import Finding, slowness

SMALLEST = 0.05  # loss that is looked for, as a fraction
CHANCE, LOOKS = 0.01, 8  # of a false alarm in a run that looks so often
LEAST_SHARE, LEAST_SLOW = 0.3, 2  # of an end's cells that are slow, where it is at fault
WORST_ENDS = 0.1  # share of the ends that may be at fault
CONFIRMED = 2  # of the matchings after the pause
SUSPECT = {
    "sends and receives": "suspect its adapters, PCIe, clocks or uplink",
    "sends": "suspect its way out: adapter, uplink or routing",
    "receives": "suspect its way in: adapter, uplink or routing",
}


@dataclass(frozen=True)
class Cells:
    """Cells that were measured, as arrays: indices, values, and a number that those share which ran together.

    after: of the matchings that confirm. A cell that measures both ways stands here once.
    """

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    together: np.ndarray
    after: np.ndarray


@dataclass(frozen=True)
class Fault:
    """An endpoint at fault. how: "sends", "receives" or both. shift: of the speed of its slow cells, as a fraction.

    slow of cells: before the pause; again of tried: after it.
    """

    endpoint: int
    how: str
    shift: float
    slow: int
    cells: int
    again: int
    tried: int

    @property
    def lasts(self) -> bool:
        """Was it so after the pause too? What was not tried again counts as much as it showed."""
        return self.again >= min(CONFIRMED, self.tried)


def cells_of(result: Result, judged: MatrixVerdict) -> Cells:
    """The measured cells of a matrix of matchings, each once; of one that is not held, block by block.

    Of a held matrix, disturbed cells are left out.
    """
    disturbed = None if judged.whole is None else judged.whole.disturbed
    values: dict[tuple[int, int], float] = {}
    for block in judged.matrix.blocks():
        r, c = np.nonzero(np.isfinite(block.measured) & (True if disturbed is None else ~disturbed))
        places = zip((r + block.first).tolist(), c.tolist(), strict=True)
        values.update(zip(places, block.measured[r, c].tolist(), strict=True))
    return arranged(values, result["matchings"]["drawn"], result["metric"] == "bidirectional")


def arranged(values: Mapping[tuple[int, int], float], drawn: Sequence[Mapping[str, Any]], both_ways: bool) -> Cells:
    """{(row, column): value} in the order of the matchings in which they were measured first."""
    found: dict[tuple[int, int], tuple[int, bool]] = {}
    for number, one in enumerate(drawn):
        half = len(one["rows"]) if both_ways else len(one["rows"]) // 2
        for place, cell in enumerate(zip(one["rows"], one["columns"], strict=True)):
            if cell in values and cell not in found:
                found[cell] = 2 * number + int(place >= half), one["purpose"] == "confirm"
    return Cells(
        np.array([row for row, _ in found], dtype=int),
        np.array([column for _, column in found], dtype=int),
        np.array([values[cell] for cell in found], dtype=float),
        np.array([together for together, _ in found.values()], dtype=int),
        np.array([after for _, after in found.values()], dtype=bool),
    )


def off_together(cells: Cells, latency: bool) -> np.ndarray:
    """The logarithm of each value over the median of those that ran with it; slow is below 0."""
    logs = np.log(cells.values) * (-1 if latency else 1)
    off = np.zeros(len(logs))
    for number in np.unique(cells.together):
        those = cells.together == number
        off[those] = logs[those] - np.median(logs[those])
    return off


def threshold(off: np.ndarray) -> float:
    """By how much a cell is worse than the median that is slow."""
    spread = noise.robust_sigma(off) if len(off) else 0.0
    return max(SMALLEST / 2, 3 * spread)


def share_of_flukes(slow: np.ndarray, cells: np.ndarray) -> float:
    """The larger share of slow cells: of all ends but the worst, and of those with one at most; of all ends, where half
    of them have one."""
    known = np.flatnonzero(cells)
    order = known[np.argsort(slow[known], kind="stable")]
    if not len(order):
        return 1.0
    slow, cells = slow[order], cells[order]
    if slow[len(order) // 2] > 0:
        return float(slow.sum() / cells.sum())
    shares = [1 / (float(cells.sum()) / 2 + 1)]
    for most in (int(len(order) * (1 - WORST_ENDS)), int((slow <= 1).sum())):
        if most:
            shares.append(float(slow[:most].sum() / cells[:most].sum()))
    return max(shares)


def settled_ends(cells: Cells, is_slow: np.ndarray, endpoints: int, both_ways: bool) -> dict[int, tuple[int, int]]:
    """{end: (slow cells, cells)} of those at fault: what one explains is evidence against no other. The end of what an
    endpoint receives is numbered behind those of what they send.
    """
    ends = endpoints if both_ways else 2 * endpoints
    sides = (cells.rows, cells.columns if both_ways else endpoints + cells.columns)
    open_cells = np.ones(len(is_slow), dtype=bool)
    settled: dict[int, tuple[int, int]] = {}
    while True:
        count, slow = np.zeros(ends, dtype=int), np.zeros(ends, dtype=int)
        for side in sides:
            count += np.bincount(side[open_cells], minlength=ends)
            slow += np.bincount(side[open_cells & is_slow], minlength=ends)
        share = share_of_flukes(slow, count)
        tried = np.flatnonzero((slow >= LEAST_SLOW) & (slow >= LEAST_SHARE * count))
        chances = [noise.binomial_tail(int(count[end]), int(slow[end]), share) for end in tried]
        if not chances or min(chances) > CHANCE / (ends * LOOKS):
            return settled
        worst = int(tried[int(np.argmin(chances))])
        settled[worst] = int(slow[worst]), int(count[worst])
        open_cells &= (sides[0] != worst) & (sides[1] != worst)


def faults(cells: Cells, endpoints: int, both_ways: bool, latency: bool) -> tuple[list[Fault], np.ndarray]:
    """(the endpoints at fault, in their order; indices of slow cells that these do not explain)."""
    off = off_together(cells, latency)
    is_slow = off < -threshold(off)
    settled = settled_ends(cells, is_slow, endpoints, both_ways)
    explained = np.zeros(len(off), dtype=bool)
    found = []
    for endpoint in sorted({end % endpoints for end in settled}):
        sent, received = cells.rows == endpoint, cells.columns == endpoint
        sends, receives = endpoint in settled, both_ways or endpoints + endpoint in settled
        sends = sends or both_ways
        of_it = (sent & sends) | (received & receives)
        explained |= of_it
        before, after = of_it & ~cells.after, of_it & cells.after
        how = "sends and receives" if sends and receives else "sends" if sends else "receives"
        shift = float(np.expm1(np.median(off[of_it & is_slow])))
        slow, again = (int((which & is_slow).sum()) for which in (before, after))
        ways = 2 if sends and receives and not both_ways else 1
        found.append(Fault(endpoint, how, shift, slow, int(before.sum()), again // ways, int(after.sum()) // ways))
    return found, np.flatnonzero(is_slow & ~explained)


def sentence(one: Fault, label: str, result: Result) -> str:
    """ "n17 sends 10.2 % slow to whomever it meets (6 of 6 cells, and 3 of 3 after a pause of 10 s): suspect …"."""
    amount = slowness(one.shift, result["unit"])
    pause = f"after a pause of {result['matchings']['pause']:.0f} s"
    seen = f"{one.slow} of {units.counted(one.cells, 'cell')}"
    if not one.lasts:
        return (
            f"{label} was {amount} in {seen}, and in {one.again} of {one.tried} matchings {pause}: it passed by itself"
        )
    confirmed = f", and {one.again} of {one.tried} {pause}" if one.tried else ", not measured again after a pause"
    return f"{label} {one.how} {amount}, whomever it meets ({seen}{confirmed}): {SUSPECT[one.how]}"


def told(result: Result, judged: MatrixVerdict) -> tuple[list[tuple[Fault, str]], list[str]]:
    """(endpoints at fault that last, each with its sentence; what else is to be said). judged: the result's matrix."""
    bottleneck = sampled_matrix.shared(result)
    if bottleneck:
        return [], [bottleneck]
    cells, labels = cells_of(result, judged), judged.matrix.rows
    both_ways, latency = result["metric"] == "bidirectional", result["unit"] == "us"
    if not len(cells.values):
        return [], ["nothing was measured"]
    found, left = faults(cells, len(labels), both_ways, latency)
    said = [(one, sentence(one, labels[one.endpoint], result)) for one in found]
    rest = [*sampled_matrix.faults(result), *([sampled_matrix.ratio(result)] if sampled_matrix.ratio(result) else [])]
    rest += [text for one, text in said if not one.lasts]
    rest += of_no_fault(cells, found, left, result, labels)
    return [(one, text) for one, text in said if one.lasts], rest


def of_no_fault(
    cells: Cells, found: Sequence[Fault], left: np.ndarray, result: Result, labels: Sequence[str]
) -> Iterator[str]:
    """What is said of the slow cells that no endpoint at fault explains. left: as `faults` says."""
    latency = result["unit"] == "us"
    slow, rest = np.isin(np.arange(len(cells.values)), left), np.ones(len(cells.values), dtype=bool)
    for one in found:
        rest &= (cells.rows != one.endpoint) | ("sends" not in one.how)
        rest &= (cells.columns != one.endpoint) | ("receives" not in one.how)
    if not rest.any():
        return
    logs = np.log(cells.values[rest]) * (-1 if latency else 1)
    beside_fastest = unresolved_matchings.held_against_fastest(logs, SMALLEST / 2)
    slow = beside_fastest if beside_fastest.mean() >= unresolved_matchings.MANY else slow[rest]
    again = [(one["row"], one["column"]) for one in result["remeasured"]]
    still, both_ways = {*result["matchings"]["open"]}, result["metric"] == "bidirectional"
    yield from unresolved_matchings.sentences(
        cells.rows[rest], cells.columns[rest], slow, labels, both_ways, still, again
    )


def finding(one: Fault, of_nodes: bool) -> Finding:
    """The same as a finding of a whole matrix."""
    kind = {"sends": "egress", "receives": "ingress"}.get(one.how, "")
    kind = ("node_" if kind else "node") + kind if of_nodes else kind or "device"
    return Finding(kind, one.endpoint, one.shift, one.cells + one.tried, one.slow + one.again, 0.0)


def blamed(result: Result, judged: MatrixVerdict) -> list[tuple[str, str]]:
    """(endpoint, sentence) of those that are at fault, and were so again after the pause. judged: as of `told`."""
    return [(judged.matrix.rows[one.endpoint], text) for one, text in told(result, judged)[0] if one.tried]
