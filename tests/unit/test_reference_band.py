"""The references behind a curve: where they stand, of which classes, and that both kinds of charts draw them."""

import json
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.runs import judging, testcases
from linkmatrix.runs.stored import Run
from linkmatrix.show import by_size, charts, collectives

DATA = Path(__file__).parents[1] / "data"
COPY, RANKS = "device_to_device_memcpy_write_ce", "rank_to_rank_bandwidth_mpi"
LEGEND = "reference and its tolerance"


@pytest.fixture
def judged(tmp_path):
    """A record of tests/data with references: {test case: {variable: [value, lower, upper]}}."""

    def judge(name, table):
        folder = tmp_path / "references"
        folder.mkdir(exist_ok=True)
        cases = {
            case: {variable: [*limits, "GB/s"] for variable, limits in known.items()} for case, known in table.items()
        }
        content = {"intranode_p2p": {"$index": ["reference_name", "testcase"], "hgx": cases}}
        (folder / "p2p.yaml").write_text(json.dumps(content))
        record = reading.load(DATA / f"{name}.record.json")
        run = Run(path=tmp_path / "record.json", tests=(testcases.Test(name=name, record=record),))
        return judging.judge_all(run, References.load(folder), "hgx")

    return judge


def of_curve(one, testcase):
    curve = next(curve for curve in collectives.curves_of(one.test.record) if curve.testcase == testcase)
    return charts.references(curve, one.matrices)


def test_a_band_is_the_reference_between_its_tolerances_at_each_size(judged):
    (one,) = judged("h200x4_sweep", {COPY: {"cell[NV18]": [396.0, -0.02, 0.05]}})
    found = of_curve(one, COPY)
    assert list(found) == ["NV18"] and [place for place, _ in found["NV18"]] == [4096 << step for step in range(18)]
    band = found["NV18"][0][1]
    assert band.value == 396.0
    assert (band.low, band.high) == pytest.approx((396 * 0.98, 396 * 1.05))


def test_without_a_tolerance_on_a_side_the_band_ends_at_the_reference(judged):
    (one,) = judged("h200x4_sweep", {COPY: {"cell[NV18]": [396.0, -0.02, None]}})
    assert of_curve(one, COPY)["NV18"][0][1].high == 396.0


def test_what_has_no_reference_has_no_band(judged):
    (one,) = judged("h200x4_sweep", {COPY: {"cell[NV18]": [396.0, -0.02, 0.05]}})
    other = next(curve.testcase for curve in collectives.curves_of(one.test.record) if curve.testcase != COPY)
    assert of_curve(one, other) == {}


def test_pairs_with_references_of_their_own_are_one_band_over_all_of_them(judged):
    (one,) = judged("h200x4_sweep", {COPY: {"gpu0->gpu1": [400.0, -0.1, 0.1], "cell[NV18]": [390.0, -0.01, 0.01]}})
    band = of_curve(one, COPY)["NV18"][0][1]
    assert (band.low, band.value, band.high) == pytest.approx((360.0, 390.0, 440.0))


def test_a_reference_of_one_size_is_a_band_there_alone(judged):
    (one,) = judged("h200x4_sweep", {COPY: {"NV18@65536": [26.0, -0.02, 0.05]}})
    assert [(place, band.value) for place, band in of_curve(one, COPY)["NV18"]] == [(65536, 26.0)]


def drawn(tmp_path, name, table, judged, picture):
    """(SVG with references, SVG without) of a report; the text of an SVG is drawn as glyphs, named in comments."""
    judged(name, table)
    found = []
    for options in (["--references", str(tmp_path / "references"), "--reference", "hgx"], []):
        folder = tmp_path / ("with" if options else "without")
        cli.main(["report", str(DATA / f"{name}.record.json"), "--out", str(folder), *options])
        found.append((folder / f"{picture}.svg").read_text(encoding="utf-8"))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "picture", "testcase", "link_class"),
    [("h200x4_sweep", "sizes", COPY, "NV18"), ("slurm2_sweep", "messages", RANKS, "NET")],
)
def test_the_chart_of_a_report_has_the_band(tmp_path, capsys, judged, name, picture, testcase, link_class):
    table = {testcase: {f"cell[{link_class}]": [5.0, -0.5, 0.5]}}
    held, bare = drawn(tmp_path, name, table, judged, picture)
    assert LEGEND in held and LEGEND not in bare
    capsys.readouterr()


def test_the_table_of_sizes_knows_what_its_columns_are_held_against(judged):
    found = by_size.tables(judged("slurm2_sweep", {RANKS: {"cell[NET]": [5.0, -0.5, 0.5]}}))
    (table,) = (one for one in found if "bandwidth" in one.title)
    assert {band.value for held in table.bands.values() for _, band in held} == {5.0}
    assert set(table.bands) <= set(table.columns)
