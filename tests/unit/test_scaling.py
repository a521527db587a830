"""A simulation on several numbers of devices: its table, its charts, and a published series beside it."""

import copy
import json
import re
from pathlib import Path

import pytest

from linkmatrix.record import reading
from linkmatrix.references import published
from linkmatrix.show import charts, collectives

pytestmark = pytest.mark.usefixtures("wide_terminal")

RECORD = Path(__file__).parents[1] / "data" / "cpu2_nbody.record.json"
STRONG = "nbody_float_strong"


@pytest.fixture(scope="module")
def record():
    return reading.load(RECORD)


@pytest.fixture
def large(tmp_path):
    """A record with the number of bodies, and the efficiency on two devices, of each strong result as they are said."""

    def write(*bodies_and_efficiencies):
        content = json.loads(RECORD.read_text())
        (one, *_) = content["results"]
        content["results"] = []
        for bodies, efficiency in bodies_and_efficiencies:
            result = copy.deepcopy(one)
            result["size_bytes"] = 16 * bodies
            result["parts"]["bodies"]["values"] = [[bodies, bodies]]
            result["parts"]["efficiency"]["values"] = [[100.0, efficiency]]
            content["results"].append(result)
        content["expected"] = [STRONG]
        file = tmp_path / "record.json"
        file.write_text(json.dumps(content))
        return file

    return write


def test_show_has_time_efficiency_and_rate_of_each_number_of_devices(linkmatrix):
    code, out, _ = linkmatrix("show", RECORD)
    assert code == 0 and "NOT JUDGED" in out  # there are no references
    assert "compute rate (GFLOP/s), efficiency over 1-device, one line per number of bodies" in out
    assert re.search(r"1-device +2-devices\n +time +efficiency +rate +time +efficiency +rate", out)
    assert re.search(r"2100 bodies +\d+\.\d +100\.00 +\d+\.\d○ +\d+\.\d +\d+\.\d\d +\d+\.\d○", out)


def test_points_are_what_was_measured_and_has_an_efficiency(record):
    results = charts.simulations_of(record)[STRONG]
    points = charts.points_of(results)
    assert [(point.devices, point.bodies) for point in points] == [(1, 2100), (2, 2100), (1, 8192), (2, 8192)]
    assert points[0].efficiency == 100
    assert points[0].rate == pytest.approx(2100**2 * 20 / points[0].time * 1e-3, rel=1e-5)
    spoiled = copy.deepcopy(results[0])
    spoiled["status"] = [["ok", "corrupt"]]
    assert [point.devices for point in charts.points_of([spoiled])] == [1]
    del spoiled["parts"]["efficiency"]
    assert charts.points_of([spoiled]) == []


def test_a_simulation_has_its_own_charts_and_no_curve_of_sizes(record, tmp_path, linkmatrix):
    assert collectives.curves_of(record) == []
    linkmatrix.out("report", RECORD, "--out", tmp_path)
    for name in (STRONG, "nbody_float_weak"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        svg = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        assert svg.count('<g id="axes_') == 6, "three by devices, three by bodies"
        assert "mathdefault" not in svg
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<img ") == 2
    assert f"{STRONG}: time, rate and efficiency by devices and by bodies" in page


def test_a_published_series_stands_beside_the_mean_of_as_many_bodies(linkmatrix, large):
    out = linkmatrix.out("compare", large((40_000, 10.0), (65_536, 90.0), (262_144, 98.0)), "--against", "a800")
    assert f"{STRONG} efficiency, mean over 65536, 262144 bodies here, more than 50000 there" in out
    assert "  1 device: 100.0 against 100.0 %, × 1\n" in out
    assert "  2 devices: 94.0 against 98.2 %, × 0.957\n" in out
    assert re.search(r"  only there: 3 devices 96\.8 %, .*8 devices 67\.5 %\n", out)


def test_fewer_bodies_than_the_published_series_has_are_not_comparable(linkmatrix):
    out = linkmatrix.out("compare", RECORD, "--against", "a800", code=3)
    assert (
        f"{STRONG} efficiency: at most 8192 bodies in this run, more than 50000 in the published values: not comparable"
        in out
    )


def test_two_runs_of_a_simulation_meet_by_bodies_and_devices(linkmatrix):
    out = linkmatrix.out("compare", RECORD, "--against", RECORD)
    assert f"{STRONG}, compute rate of 2 ranks on one node" in out
    assert out.count("× 1;") + out.count("× 1\n") == 8


def test_every_published_series_is_of_a_test_case(record):
    testcases = {result["testcase"] for result in record["results"]}
    series = [one for name in published.NAMES for one in published.load(name).series]
    assert series
    assert all(one.testcase in testcases and one.bodies_above > 0 for one in series)
