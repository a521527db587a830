"""Curves: what belongs together is one line, and a page shows lines instead of a heat map of each point."""

from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.record import reading
from linkmatrix.show import charts, collectives

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def sweep():
    return reading.load(DATA / "h200x4_sweep.record.json")


@pytest.fixture(scope="module")
def blocks():
    return reading.load(DATA / "h200x2_blocks.record.json")


def test_a_sweep_is_a_curve_of_each_test_case_in_rising_sizes(sweep):
    found = collectives.curves_of(sweep)
    assert [curve.axis for curve in found] == ["size_bytes"] * 4
    for curve in found:
        sizes = [result["size_bytes"] for result in curve.results]
        assert sizes == [4096 << step for step in range(18)]
    assert found[0].fit() == "t = 2.4 µs + B / 395.7 GB/s, at most 4 % off"


def test_blocks_are_a_curve_and_one_measurement_is_none(blocks):
    assert {(curve.axis, len(curve.results)) for curve in collectives.curves_of(blocks)} == {("blocks", 16)}
    assert collectives.curves_of(reading.load(DATA / "h200x4_full.record.json")) == []


def test_points_are_the_cells_of_each_link_class(blocks):
    curve = next(curve for curve in collectives.curves_of(blocks) if curve.testcase.endswith("read_sm"))
    (points,) = curve.points().values()
    place, summary = points[3]
    assert (place, summary.count) == (8, 2)
    assert summary.low <= summary.median <= summary.high
    assert summary.median == pytest.approx(374.2, abs=0.1)


@pytest.mark.parametrize(("name", "picture"), [("h200x4_sweep", "sizes"), ("h200x2_blocks", "blocks")])
def test_the_report_has_the_picture_and_one_heat_map_a_test_case(tmp_path, capsys, name, picture):
    assert cli.main(["report", str(DATA / f"{name}.record.json"), "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert (tmp_path / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.glob("*.png"))) == 1 + 4
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<img ") == 1 and page.count("<caption>Measured") == page.count("<caption>Deviation") == 4
    assert 'id="curves"' in page


def test_no_two_lines_of_a_picture_look_alike():
    assert len({charts.line_style(number) for number in range(36)}) == 36
