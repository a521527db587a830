"""Link classes of two or three cells: a cell without a reference is compared with the best cell of its class.

The median of two cells is a value that neither has. The slow cell was 34 % and the healthy one "+34 %" off it.
"""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from linkmatrix.cli import main
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate.diagnosis import diagnose
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.show import page
from linkmatrix.show.analysis import Analysis

DATA = Path(__file__).parents[1] / "data"
NO_REFERENCES = References({})
HOST_TO_DEVICE = "host_to_device_memcpy_ce"


def without_other_processes(record):
    """The record of a machine of its own: nobody else used it, so its slow cell is evidence."""
    found = copy.deepcopy(record)
    for holder in (found, *found["results"]):
        holder.pop("others", None)
    return found


@pytest.fixture
def busy():
    return reading.load(DATA / "h100x2/busy_host.record.json")


def judged(record, testcase=HOST_TO_DEVICE):
    """(result, its matrix) without references."""
    place = [result["testcase"] for result in record["results"]].index(testcase)
    return record["results"][place], evaluate(record, NO_REFERENCES, None).matrices[place]


def findings(record, testcase=HOST_TO_DEVICE):
    """The kinds and components that a matrix without references names."""
    found = diagnose(record, *judged(record, testcase))
    return list(zip((one.kind for one in found.findings), found.components, strict=True))


def test_the_healthy_cell_is_the_baseline_and_the_slow_one_is_named_with_the_process(busy):
    _, matrix = judged(busy)
    assert matrix.worse(("numa0", "gpu0")) == 0.0
    assert matrix.worse(("numa0", "gpu1")) == pytest.approx(1 - 26.5367389 / 54.3094317)
    cell = matrix.cells["numa0", "gpu1"]
    assert cell.verdict is Verdict.DISTURBED
    assert all(part in cell.reason for part in ("51.1 %", "54.31 GB/s", "pid 6129 (hog, user root)"))


def test_without_another_process_the_slow_device_is_a_finding_and_no_verdict_changes(busy):
    record = without_other_processes(busy)
    _, matrix = judged(record)
    assert findings(record) == [("ingress", "gpu1")]
    assert matrix.verdict is Verdict.NOT_JUDGED
    assert findings(record, "device_to_device_memcpy_write_ce") == []


def slowed(record, by, width=0.001, samples=7):
    """gpu1's copy from the host slower than gpu0's by a fraction, with intervals of ± `width`."""
    found = without_other_processes(record)
    result = found["results"][0]
    values = np.array([[54.0, 54.0 * (1 - by)]])
    result |= {
        "values": values.tolist(),
        "low": (values * (1 - width)).tolist(),
        "high": (values * (1 + width)).tolist(),
    }
    return found, result | {"samples": [[samples, samples]], "remeasured": []}


@pytest.mark.parametrize(
    ("by", "width", "samples", "found"),
    [(0.05, 0.001, 7, 0), (0.15, 0.001, 7, 1), (0.15, 0.08, 7, 0), (0.15, 0.001, 3, 0)],
    ids=["inside the floor", "apart", "intervals overlap", "too few samples for an interval"],
)
def test_a_slow_cell_is_a_finding_only_beyond_the_floor_and_its_own_noise(busy, by, width, samples, found):
    record, result = slowed(busy, by, width, samples)
    record["results"] = [result]
    assert len(findings(record)) == found


def test_cells_of_processors_say_nothing_about_each_other(busy):
    record, result = slowed(busy, 0.7)
    record |= {"results": [result], "backend": "host"}
    assert findings(record) == []


def test_three_cells_are_compared_with_the_best_and_four_with_the_median(make_record):
    for count, expected in ((3, 400.0), (4, 390.0)):
        record = make_record(count=2)
        result = copy.deepcopy(record["results"][0])
        values = [400.0, *[390.0] * (count - 2), 200.0]
        result |= {"rows": ["numa0"], "columns": [f"gpu{at}" for at in range(count)], "memory": "host"}
        grids = {"values": [values], "low": [values], "high": [values], "limit": [[None] * count]}
        grids |= {"status": [["ok"] * count], "samples": [[7] * count], "link_class": [["HOST"] * count]}
        grids |= {"converged": [[True] * count], "round": [list(range(count))]}
        grids |= {"sampled": [[[value] * 7 for value in values]]}
        record["results"] = [result | grids]
        (matrix,) = evaluate(record, NO_REFERENCES, None).matrices
        assert matrix.worse(("numa0", f"gpu{count - 1}")) == pytest.approx(1 - 200.0 / expected)


def test_screen_and_page_begin_with_the_slow_device_and_the_exit_code_stays(
    busy, tmp_path, capsys, monkeypatch, judged_run
):
    monkeypatch.setenv("COLUMNS", "200")
    record = without_other_processes(busy)
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    assert main(["show", str(path)]) == 0
    first = capsys.readouterr().out.split("Everything was measured")[0]
    assert "NOT JUDGED" in first and "gpu1" in first and "51.1 %" in first
    text = page.render(Analysis(*judged_run(record)), lambda *_: b"")
    assert "-51.1" in text and "+34.4" not in text and "the best cell of their link class" in text
    assert text.index("51.1 %") < text.index("Everything was measured")


def test_healthy_recordings_of_two_devices_have_no_finding():
    for name in ("h100x2/idle", "h200x2_idle", "h100x2/soak", "h200x2_soak", "h200x2_blocks"):
        record = reading.load(DATA / f"{name}.record.json")
        matrices = evaluate(record, NO_REFERENCES, None).matrices
        for result, matrix in zip(record["results"], matrices, strict=True):
            assert diagnose(record, result, matrix).findings == ()


def test_a_value_that_no_path_can_carry_is_no_baseline_for_a_healthy_device():
    record = reading.load(DATA / "h200x2_idle.record.json")
    testcase = "device_to_device_memcpy_write_ce"
    result, _ = judged(record, testcase)
    for name in ("values", "low", "high"):
        result[name][0][1] *= 1.5  # 593 GB/s of a path that carries 450
    result, matrix = judged(record, testcase)
    assert matrix.verdict is Verdict.FAIL and "more than its path can carry" in matrix.cells["gpu0", "gpu1"].reason
    assert findings(record, testcase) == []
