"""Matrices of many endpoints get the verdicts, summaries and references that small ones get."""

from pathlib import Path

import numpy as np
import one_by_one
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkmatrix.judge import evaluate
from linkmatrix.judge.verdicts import Verdict, worst
from linkmatrix.record import reading
from linkmatrix.references import noise
from linkmatrix.references.tables import Reference, References

pytestmark = pytest.mark.usefixtures("wide_terminal")

DATA = Path(__file__).parents[1] / "data"
RECORDS = sorted(path.name for path in DATA.glob("*.record.json"))
TESTCASE = "device_to_device_memcpy_write_ce"


SHIPPED = References.load()


def same_verdicts(result, references, name):
    """What is judged in one go is what the rules say of each cell alone, one after the other."""
    found = evaluate.judge_result(result, references, name)
    cells = one_by_one.cells_of(result, references, name)
    assert dict(found.cells) == cells
    assert found.counts == {verdict: sum(cell.verdict is verdict for cell in cells.values()) for verdict in Verdict}
    assert found.verdict is worst(cell.verdict for cell in cells.values())
    assert found.unjudged == sum(cell.unjudged for cell in cells.values())
    assert found.compared == sum(cell.reference is not None for cell in cells.values())
    assert {name: tuple(vars(one).values()) for name, one in found.matrix.classes.items()} == one_by_one.classes(result)
    bad = [cell.verdict for cell in cells.values() if cell.verdict is not Verdict.PASS and not cell.unjudged]
    marked, count = found.worst_cells(5)
    assert count == len(bad) and [cell.verdict for _, cell in marked] == sorted(bad, reverse=True)[:5]
    assert all(cells[pair] == cell for pair, cell in marked)
    for (row, column), cell in cells.items():
        if row in result["rows"] and column in result["columns"]:
            r, c = result["rows"].index(row), result["columns"].index(column)
            assert found.whole.codes[r, c] == cell.verdict
            expected = cell.reference if cell.reference and cell.reference.unit == result["unit"] else None
            limits = (expected.value, expected.low_limit, expected.high_limit) if expected else (np.nan,) * 3
            told = (found.whole.value[r, c], found.whole.low[r, c], found.whole.high[r, c])
            assert np.array_equal(told, limits, equal_nan=True)
            if cell.deviation is not None:
                worse = cell.deviation if result["unit"] == "us" else -cell.deviation
                assert found.worse((row, column)) == worse


@pytest.mark.parametrize("name", RECORDS)
def test_real_matrices_are_judged_alike(name):
    content = reading.load(DATA / name)
    for result in content["results"]:
        for table in ("hgx-h200-half", None):
            same_verdicts(result, SHIPPED, table)


CELL = st.one_of(
    st.sampled_from(["ok"] * 6 + ["corrupt", "timeout", "not-run", "no-peer-access"]), st.floats(300.0, 480.0)
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(CELL, min_size=12, max_size=12),
    st.dictionaries(
        st.sampled_from(["gpu0->gpu1", "gpu2->gpu3", "gpu3->gpu0", "gpu0->gpu9", "cell[NV18]", "cell[unknown]"]),
        st.builds(
            Reference,
            st.floats(350.0, 450.0),
            st.sampled_from([-0.02, -0.2, None]),
            st.sampled_from([0.0, 0.1]),
            st.sampled_from(["GB/s", "GB/s", "us"]),
        ),
    ),
    st.sampled_from([True, False, None]),
    st.floats(0.0, 0.1),
    st.sampled_from(["GB/s", "us"]),
)
def test_any_matrix_is_judged_alike(make_record, cells, table, verified, width, unit):
    pairs = [(r, c) for r in range(4) for c in range(4) if r != c]
    off = {pair: cell for pair, cell in zip(pairs, cells, strict=True) if cell != "ok"}
    result = make_record(off=off)["results"][0]
    result.update(unit=unit, verified=verified and result["verified"])
    result["link_class"][1][2] = ""
    for r, c in pairs:
        if result["values"][r][c] is not None:
            result["low"][r][c] *= 1 - width
            result["high"][r][c] *= 1 + width
    same_verdicts(result, References({("hgx", TESTCASE): table}), "hgx")


def test_a_matrix_of_many_endpoints_is_shown_and_located(make_record, write_record, linkmatrix, tmp_path):
    size = 160
    off = {(r, c): 396.0 + (r * 7 + c * 13) % 10 / 100 for r in range(size) for c in range(size) if r != c}
    off |= {(17, c): 350.0 for c in range(size) if c != 17}
    path = write_record(make_record(count=size, off=off))
    folder = tmp_path / "references"
    folder.mkdir()
    lines = ["intranode_p2p:", "  $index: [reference_name, testcase]", "  big:", f"    {TESTCASE}:"]
    (folder / "p2p.yaml").write_text("\n".join([*lines, "      'cell[NV18]': [396.0, -0.02, 0.05, GB/s]", ""]))
    options = [str(path), "--references", str(folder), "--reference", "big"]
    out = linkmatrix.out("show", *options, code=1)
    assert "FAIL: gpu17->gpu" in out and "and 154 more" in out
    out = linkmatrix.out("diagnose", *options, code=1)
    assert "gpu17 sends" in out and "(159 of 159 cells): check its egress" in out
    assert f"NV18: FAIL (159 FAIL, {size * (size - 1) - 159} PASS)" in out and "row gpu17: FAIL in every cell" in out


def test_medians_of_runs_are_medians():
    chance = np.random.default_rng(2)
    for count in (6, 7, 30, 31):
        values = chance.random((count, 5, 4))
        assert np.array_equal(noise.median_of_runs(values.copy()), np.median(values, axis=0))


def test_all_verdicts_of_a_class_are_counted():
    assert sorted(Verdict) == [0, 1, 2, 3, 4, 5]  # what an array of verdicts relies on
