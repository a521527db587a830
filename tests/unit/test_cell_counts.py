"""What is counted of a matrix that is judged block by block, and which of its endpoints are worth a close look."""

import numpy as np
import pytest

from linkmatrix.judge import cell_counts
from linkmatrix.judge.cell_counts import CellCounts
from linkmatrix.judge.expected import Expected
from linkmatrix.judge.rules import judge
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record.matrix import Block, from_result
from linkmatrix.references import noise
from linkmatrix.references.reading import Reference

NV18, NET = Reference(396.0, -0.02, 0.05, "GB/s"), Reference(48.0, -0.05, 0.10, "GB/s")
EVERY = Expected({}, {"NV18": NV18}, "hgx")


def matrix_of(record):
    """The matrix of a record's only result, whose rows can be had some at a time."""
    matrix = from_result(record["results"][0])
    every = range(len(matrix.rows))
    return matrix.part(every, every)


def counted(record, expected, step=100, limits=None):
    matrix = matrix_of(record)
    found = CellCounts.empty(len(matrix.rows), len(matrix.columns))
    for first in range(0, len(matrix.rows), step):
        block = Block(matrix, slice(first, min(first + step, len(matrix.rows))))
        found.add(judge(matrix, block, expected, ""), limits)
    return found


OFF = {(0, 1): 300.0, (2, 1): 350.0, (4, 0): 340.0, (3, 4): "timeout", (1, 2): "not-run"}


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_rows_columns_and_classes_are_counted_whatever_the_blocks(make_record, step):
    record = make_record(count=5, off=OFF)
    record["results"][0]["link_class"][4][0] = "NET"
    found = counted(record, Expected({}, {"NV18": NV18, "NET": NET}, "hgx"), step, np.full(3, 0.02))
    fail, none, good = Verdict.FAIL, Verdict.INCOMPLETE, Verdict.PASS
    assert found.row_counts[:, fail].tolist() == [1, 0, 1, 0, 0]
    assert found.column_counts[:, fail].tolist() == [0, 2, 0, 0, 0]
    assert found.row_counts[:, Verdict.NOT_JUDGED].tolist() == [0, 0, 0, 0, 1]
    assert found.row_counts[:, none].tolist() == [0, 1, 0, 1, 0]
    assert found.column_counts[:, none].tolist() == [0, 0, 1, 0, 1]
    assert found.row_counts[:, good].tolist() == [3, 3, 3, 3, 3]
    assert {name: counts.tolist() for name, counts in found.class_counts.items()} == {
        "NV18": [15, 0, 0, 0, 2, 2],
        "NET": [0, 0, 1, 0, 0, 0],  # 340 GB/s is far above what a network can be expected to do
    }
    assert (found.unjudged, found.compared) == (0, 20)
    # a value above its reference is not slow
    assert found.slow_rows.tolist() == [1, 0, 1, 0, 0] and found.slow_columns.tolist() == [0, 2, 0, 0, 0]


@pytest.mark.parametrize("step", [2, 5])
def test_the_worst_come_first_and_what_was_never_tried_last_of_its_verdict(make_record, step):
    found = counted(make_record(count=5, off=OFF), EVERY, step)
    assert [(int(r), int(c)) for _, r, c in found.worst] == [(0, 1), (4, 0), (2, 1), (3, 4), (1, 2)]
    assert found.worst[:, 0].tolist() == pytest.approx(
        [5000 + 96 / 396, 5000 + 56 / 396, 5000 + 46 / 396, 4000, 4000 - 100]
    )


@pytest.mark.parametrize("step", [1, 7])
def test_of_many_bad_cells_the_worst_are_kept_in_order(make_record, step):
    places = [(r, c) for r in range(7) for c in range(7) if r != c]
    off = {place: 100.0 + 5 * ((at * 11) % 42) for at, place in enumerate(places)}
    found = counted(make_record(count=7, off=off), EVERY, step)
    wanted = sorted(places, key=off.get)[: cell_counts.KEPT]
    assert len(places) > cell_counts.KEPT and [(int(r), int(c)) for _, r, c in found.worst] == wanted
    same = counted(make_record(count=7, off=dict.fromkeys(places, 100.0)), EVERY, step)
    assert len(same.worst) == cell_counts.KEPT


def test_without_a_reference_a_cell_is_slow_beyond_what_its_class_may_differ(make_record):
    off = {(0, 1): 396.0 * 0.95, (0, 2): 396.0 * 0.97, (3, 1): 396.0 * 1.1, (2, 3): "timeout"}
    record = make_record(count=4, off=off)
    found = counted(record, Expected({}, {}, None), 2, np.array([1.0, 0.04]))
    assert matrix_of(record).class_names == ("X", "NV18")
    assert found.slow_rows.tolist() == [1, 0, 0, 0] and found.slow_columns.tolist() == [0, 1, 0, 0]
    assert (found.unjudged, found.compared) == (11, 0)
    assert [(int(r), int(c)) for _, r, c in found.worst] == [(2, 3)]
    assert counted(record, Expected({}, {}, None), 2).slow_rows.tolist() == [0] * 4  # nobody asked


def test_cells_of_a_class_may_differ_as_much_as_they_do_and_no_less_than_any_of_ranks(make_record):
    places = [(r, c) for r in range(6) for c in range(6) if r != c]
    off = {(r, c): (48.0 if (r < 3) != (c < 3) else 400.0) for r, c in places}
    steps = [-0.04, -0.02, 0.0, 0.02, 0.04]
    for at, place in enumerate(place for place in places if off[place] == 48.0):
        off[place] *= 1 + steps[at % 5]
    record = make_record(count=6, off=off)
    for r, c in places:
        record["results"][0]["link_class"][r][c] = "NET" if (r < 3) != (c < 3) else "NODE"
    matrix = matrix_of(record)
    values = np.array([off[place] for place in places if (place[0] < 3) != (place[1] < 3)])
    spread = np.median(np.abs(values / np.median(values) - 1))
    limits = dict(zip(matrix.class_names, cell_counts.class_limits(matrix), strict=True))
    assert limits == {"X": 0.20, "NODE": 0.20, "NET": pytest.approx(noise.sigma_limit(36) * 1.4826 * spread)}
    assert limits["NET"] > 0.1


def chosen(found, node):
    return cell_counts.endpoints_to_examine(found, node).tolist()


def test_a_slow_row_is_looked_at_with_its_node_and_healthy_nodes_from_first_to_last():
    found, node = CellCounts.empty(1000, 1000), np.arange(1000) // 8
    found.slow_rows[17] = 999
    found.slow_columns[:] = 1  # each column has a slow cell, in that row
    looked_at = chosen(found, node)
    assert set(range(16, 24)) <= set(looked_at) and len(looked_at) == cell_counts.MAX_EXAMINED
    assert set(range(8)) <= set(looked_at) and set(range(992, 1000)) <= set(looked_at)
    assert all(set(looked_at) >= set(range(8 * one, 8 * one + 8)) for one in {at // 8 for at in looked_at})
    gaps = np.diff(sorted({at // 8 for at in looked_at}))
    assert gaps.max() <= 4  # evenly
    mirrored = CellCounts.empty(1000, 1000)
    mirrored.slow_columns[17], mirrored.slow_rows[:] = 999, 1
    assert chosen(mirrored, node) == looked_at


def test_few_slow_cells_in_a_row_and_in_a_column_are_looked_at():
    found, node = CellCounts.empty(2000, 2000), np.arange(2000)
    found.slow_rows[1001], found.slow_columns[1003] = 1, 1
    assert {1001, 1003} <= set(chosen(found, node))
    found.slow_rows[555], found.slow_columns[:] = 1000, found.slow_columns + 1  # half a row is one
    looked_at = chosen(found, node)
    assert {1001, 1003, 555} <= set(looked_at) and len(looked_at) == cell_counts.MAX_EXAMINED


def test_a_small_healthy_matrix_is_looked_at_as_a_whole():
    assert chosen(CellCounts.empty(100, 100), np.arange(100)) == list(range(100))
    assert chosen(CellCounts.empty(8, 8), np.zeros(8, dtype=int)) == list(range(8))
    found = CellCounts.empty(4, 4)
    found.slow_rows[1] = 3
    assert chosen(found, np.zeros(4, dtype=int)) == [0, 1, 2, 3]
