"""A matrix whose cells are not held says of rows, columns, classes and its worst cells what one that is held says."""

import numpy as np
import pytest
from apart_records import apart

from linkmatrix.judge import cell_counts
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import matrix as matrices
from linkmatrix.record import reading
from linkmatrix.record.units import MOST_NAMED
from linkmatrix.references.tables import Reference, References

TESTCASE = "device_to_device_memcpy_write_ce"
OF_CLASS = {f"cell[{name}]": Reference(400.0, -0.02, 0.05, "GB/s") for name in ("NODE", "NET")}
ALL = {"gpu0", "gpu1", "gpu2", "gpu3"}


def of_ranks(content):
    """The record with the link classes that ranks have: those of matrices whose cells are in a file."""
    places = [device["node"] for device in content["devices"]]
    content["results"][0]["link_class"] = [
        ["X" if r == c else "NODE" if here == there else "NET" for c, there in enumerate(places)]
        for r, here in enumerate(places)
    ]
    return content


@pytest.fixture
def both(monkeypatch, tmp_path):
    """(the verdict on a record, that on it with its cells in a file beside it that are not held)."""

    def judge(content, table=OF_CLASS):
        of_ranks(content)
        references = References({("hgx", TESTCASE): table or {}})
        name = "hgx" if table else None
        (held,) = evaluate(content, references, name).matrices
        monkeypatch.setattr(matrices, "MOST_LOADED", 0)
        (found,) = evaluate(reading.load(apart(content, tmp_path)), references, name).matrices
        assert found.whole is None and held.whole is not None
        return held, found

    return judge


def slow_rows(make_record, rows, count=8, value=400.0, most=None):
    """A record in which the first `most` cells of some rows have a share of `value`: {row: share}."""
    cells = {(r, c): value * share for r, share in rows.items() for c in [c for c in range(count) if c != r][:most]}
    return make_record(count=count, value=value, off=cells)


def test_rows_and_columns_that_are_slow_are_named_the_worst_first(both, make_record):
    off = {(1, c): 360.0 for c in range(8) if c != 1} | {(2, c): 300.0 for c in (0, 1, 3, 4, 5, 6)}
    held, found = both(make_record(count=8, value=400.0, off=off))
    assert held.overview() == []  # a table shows it
    assert found.overview() == [
        "NODE: 13 FAIL, 43 PASS of 56 cells",
        "6 of 7 cells of row gpu2 are 25.0 % low",
        "all cells of row gpu1 are 10.0 % low",
    ]


def test_a_row_of_which_less_than_three_quarters_is_slow_is_not_named(both, make_record):
    _, found = both(slow_rows(make_record, {1: 0.9}, count=9, most=6))
    assert found.slow_lines() == ["6 of 8 cells of row gpu1 are 10.0 % low"]
    _, found = both(slow_rows(make_record, {1: 0.9}, count=9, most=5))
    assert found.slow_lines() == []


def test_four_slow_rows_are_named_and_more_are_counted(both, make_record):
    shares = {0: 0.5, 3: 0.6, 4: 0.7, 5: 0.8, 7: 0.9, 9: 0.65}
    _, found = both(slow_rows(make_record, shares, count=24))
    said = found.slow_lines()
    assert len(said) == MOST_NAMED + 1 and said[-1] == "and 2 more rows"
    assert [line.split()[4] for line in said[:-1]] == ["gpu0", "gpu3", "gpu9", "gpu4"]
    _, found = both(slow_rows(make_record, {row: shares[row] for row in (0, 3, 4, 5)}, count=24))
    assert len(found.slow_lines()) == 4 and "more" not in found.slow_lines()[-1]


def test_a_latency_is_high_and_not_low(both, make_record):
    content = slow_rows(make_record, {1: 1.5}, value=2.0)
    content["results"][0].update(unit="us", metric="latency")
    _, found = both(content, {"cell[NODE]": Reference(2.0, -0.25, 0.2, "us")})
    assert found.slow_lines() == ["all cells of row gpu1 are 50.0 % high"]


@pytest.mark.parametrize("table", [OF_CLASS, None])
def test_axes_are_as_much_worse_as_their_medians(both, make_record, table):
    off = {(1, c): 360.0 for c in range(8) if c != 1} | {(r, 5): 440.0 for r in range(8) if r not in (1, 5)}
    off |= {(3, c): "timeout" for c in range(8) if c != 3}
    held, found = both(make_record(count=8, value=400.0, off=off), table)
    for judged in (held, found):
        rows, columns = judged.axis_medians()
        assert rows == pytest.approx([0, 0.1, 0, 0, 0, 0, 0, 0], abs=1e-6)
        assert columns == pytest.approx([0, 0, 0, 0, 0, -0.1, 0, 0], abs=1e-6)


def test_endpoints_with_a_cell_that_passed_and_with_one_that_did_not_are_told_apart(both, make_record):
    off = {(0, c): 300.0 for c in range(1, 4)} | {(1, 2): "timeout"}
    content = make_record(value=400.0, off=off)
    for judged in both(content):
        assert judged.passed_and_failed() == (ALL, ALL)
    off = {(0, 1): 300.0, (0, 2): 300.0, (0, 3): 300.0, (1, 0): "timeout", (2, 0): "timeout", (3, 0): "timeout"}
    for judged in both(make_record(value=400.0, off=off)):
        good, bad = judged.passed_and_failed()
        assert good == {"gpu1", "gpu2", "gpu3"} and bad == ALL


def test_what_only_lacks_a_reference_is_neither_good_nor_bad(both, make_record):
    for judged in both(make_record(value=400.0), None):
        assert judged.passed_and_failed() == (set(), set())
    content = make_record(value=400.0, off={(0, 1): "corrupt"})
    for judged in both(content, None):
        assert judged.passed_and_failed() == (set(), {"gpu0", "gpu1"})


@pytest.mark.parametrize(("verified", "said"), [(None, "its data was not verified (--no-verify)"), (True, "")])
def test_a_cell_that_is_marked_has_the_sentence_that_it_has_when_it_is_held(both, make_record, verified, said):
    content = make_record(count=6, value=400.0, off={(2, 1): 300.0, (4, 5): "timeout", (0, 3): 350.0})
    content["results"][0]["verified"] = verified
    held, found = both(content)
    assert found.counts == held.counts and found.worst_cells(3) == held.worst_cells(3)
    marked, count = found.worst_cells(32)
    assert count == len(marked) == (30 if verified is None else 3)
    for pair, cell in marked:
        assert cell == held.cells[pair]
    assert dict(found.cells) == dict(marked)
    assert found.verdict is Verdict.FAIL and (said in found.worst_cells(4)[0][-1][1].reason)


def test_cells_that_have_a_reference_and_are_not_there_are_lost(both, make_record):
    one = Reference(400.0, -0.02, 0.05, "GB/s")
    table = OF_CLASS | {"gpu0->gpu1": one, "gpu0->gpu9": one, "gpu9->gpu0": one, "gpu2->gpu2": one}
    for judged in both(make_record(value=400.0), table):
        assert set(judged.missing) == {("gpu0", "gpu9"), ("gpu9", "gpu0"), ("gpu2", "gpu2")}
        lost = judged.missing["gpu0", "gpu9"]
        assert lost.reason == "gpu0->gpu9 has a reference in 'hgx' and was not measured"
        assert (lost.verdict, lost.value, lost.reference) == (Verdict.INCOMPLETE, None, one)
        assert judged.compared == 15 and judged.worst_cells(2)[1] == 3 and len(judged.worst_cells(2)[0]) == 2
        assert judged.counts[Verdict.INCOMPLETE] == 3 and judged.verdict is Verdict.INCOMPLETE


def test_what_cannot_be_read_is_incomplete_and_says_why(make_record, tmp_path, monkeypatch):
    monkeypatch.setattr(matrices, "MOST_LOADED", 0)
    path = apart(of_ranks(make_record(value=400.0)), tmp_path)
    (tmp_path / "cells.npy").unlink()
    (found,) = evaluate(reading.load(path), References({("hgx", TESTCASE): OF_CLASS}), "hgx").matrices
    assert found.verdict is Verdict.INCOMPLETE and "cells.npy" in found.problem
    (cell,) = found.cells.values()
    assert (cell.verdict, cell.reason) == (Verdict.INCOMPLETE, found.problem)
    assert found.worst_cells(5) == ([(("gpu0", "gpu3"), cell)], 1)
    assert found.overview() == [] and found.subset is found
    assert found.worse(("gpu0", "gpu1")) is None


def test_a_close_look_takes_the_slow_endpoint_the_others_of_its_node_and_healthy_nodes(both, make_record, monkeypatch):
    monkeypatch.setattr(cell_counts, "MAX_EXAMINED", 6)
    content = slow_rows(make_record, {5: 0.5}, count=12)
    for device in content["devices"]:
        device["node"] = f"n{device['index'] // 2}"
    _, found = both(content)
    near = found.subset
    assert near.matrix.rows == near.matrix.columns == ("gpu0", "gpu1", "gpu4", "gpu5", "gpu10", "gpu11")
    assert near.whole is not None and near.counts[Verdict.FAIL] == 5 and near.expected == found.expected
    assert near.worse(("gpu5", "gpu0")) == pytest.approx(0.5) and near.subset is near


def test_how_much_worse_a_cell_is_than_expected_is_known_where_it_has_a_value(make_record):
    content = of_ranks(make_record(value=400.0, off={(0, 1): 300.0, (0, 2): "timeout"}))
    (found,) = evaluate(content, References({("hgx", TESTCASE): OF_CLASS}), "hgx").matrices
    assert found.worse(("gpu0", "gpu1")) == 0.25 and found.worse(("gpu1", "gpu0")) == 0
    assert found.worse(("gpu0", "gpu2")) is None
    assert found.worse(("gpu0", "gpu9")) is None and found.worse(("gpu9", "gpu0")) is None
    assert np.isnan(found.whole.worse[0, 2])
