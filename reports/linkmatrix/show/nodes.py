"""Many nodes side by side: what each one measured, against the median of all of them at the same place.

A node that is worse than its own references is found without it; this finds the one that is worse than its sisters,
also before there are any references. Only test cases inside one node are compared.
"""

from dataclasses import dataclass

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record.matrix import Pair
from ..record.reading import Result
from ..record.units import figure
from ..runs.judging import Judged
from . import words

Key = tuple[str, str, int | None, str, str]  # back end, test case, size, variant, unit


@dataclass(frozen=True)
class Entry:
    """A node's test case. worse: by how much its worst cell is worse than the median of that cell over all nodes, as a
    fraction, negative for better; None where nothing can be compared. value: of that cell, in `unit`.
    """

    node: str
    name: str
    verdict: Verdict
    unit: str = ""
    pair: Pair | None = None
    value: float | None = None
    worse: float | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """ "395.20 GB/s (-0.3 %)", the deviation as measured: below the median for a slow bandwidth."""
        if self.value is None:
            return self.reason or "nothing measured"
        shown = f"{figure(self.value, words.DECIMALS[self.unit])} {words.UNITS[self.unit]}"
        if self.worse is None:
            return shown
        return f"{shown} ({100 * (self.worse if self.unit == 'us' else -self.worse):+.1f} %)"


def entries(judged: list[Judged]) -> list[Entry]:
    """All test cases of all nodes, the worst first; none where there are not at least two nodes."""
    measured: list[tuple[str, Key, Judged, MatrixVerdict]] = []
    found: list[Entry] = []
    for one in judged:
        node = words.node_of(one)
        if not node:
            continue
        for result, matrix in one.matrices:
            measured.append((node, key_of(one, result, matrix), one, matrix))
        if one.beyond_cells is not None:
            name = one.test.testcase or one.test.name.split(" ")[0]
            found.append(Entry(node, name, one.verdict, reason="; ".join(one.reasons) or "as promised"))
    if len({node for node, *_ in measured} | {entry.node for entry in found}) < 2:
        return []
    medians = medians_of(measured)
    found += [entry_of(node, key, one, matrix, medians) for node, key, one, matrix in measured]
    some = {entry.node for entry in found if entry.value is not None}
    # of two with one verdict, the node of which nothing at all is known comes before those that are somewhat slow
    return sorted(found, key=lambda one: (one.verdict, one.node not in some, one.worse or 0.0), reverse=True)


def key_of(one: Judged, result: Result, matrix: MatrixVerdict) -> Key:
    """What must be the same where numbers of two nodes are compared."""
    backend = one.test.record["backend"] if one.test.record else ""
    return backend, result["testcase"], result["size_bytes"], matrix.matrix.variant, matrix.matrix.unit


def medians_of(measured: list[tuple[str, Key, Judged, MatrixVerdict]]) -> dict[tuple[Key, Pair], float]:
    """{(key, pair): median over the nodes}, where at least two nodes have the cell."""
    import pandas  # a page of one node needs none, and it is the slowest to load

    from ..runs import table

    keys = list(dict.fromkeys(key for _, key, _, _ in measured))
    frames = [
        table.of_matrix({"node": node, "key": keys.index(key)}, matrix.matrix)
        for node, key, _, matrix in measured
        if matrix.whole is not None
    ]
    if not frames:
        return {}
    cells = pandas.concat(frames, ignore_index=True)
    place = ["key", "source", "destination"]
    newest = cells[cells["status"] == "ok"].drop_duplicates([*place, "node"], keep="last")
    values = newest.groupby(place)["value"]
    medians = values.median()[values.count() > 1]
    return {(keys[key], (source, destination)): value for (key, source, destination), value in medians.items()}


def entry_of(node: str, key: Key, one: Judged, matrix: MatrixVerdict, medians: dict[tuple[Key, Pair], float]) -> Entry:
    """A node's test case by its worst cell."""
    unit, sign = matrix.matrix.unit, 1 if matrix.matrix.unit == "us" else -1
    numbers = matrix.matrix.numbers
    worse = {
        pair: sign * (value / medians[key, pair] - 1) for pair, value in numbers.items() if medians.get((key, pair))
    }
    place = max(worse, key=worse.__getitem__, default=None)
    if place is None and numbers:  # no other node has these cells
        place = max(numbers, key=lambda pair: sign * numbers[pair])
    return Entry(
        node=node,
        name=key[1] + key[3],
        verdict=one.of_matrix(matrix),
        unit=unit,
        pair=place,
        value=numbers.get(place) if place else None,
        worse=worse.get(place) if place else None,
        reason="" if numbers else "; ".join(one.reasons),
    )


def by_node(found: list[Entry]) -> tuple[list[str], list[tuple[str, list[Entry | None]]]]:
    """(test cases, [(node, its entry of each)]), nodes from worst to best; the worst where a node has several."""
    names = sorted({entry.name for entry in found})
    nodes = list(dict.fromkeys(entry.node for entry in found))
    first = {(entry.node, entry.name): entry for entry in reversed(found)}
    return names, [(node, [first.get((node, name)) for name in names]) for node in nodes]
