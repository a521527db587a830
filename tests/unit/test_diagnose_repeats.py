"""A component that many test cases show is diagnosed once, with the names of the others."""

import copy
import json
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.record import reading

DATA = Path(__file__).parents[1] / "data"
REFERENCES = Path(__file__).parents[2] / "config" / "references"
pytestmark = pytest.mark.usefixtures("wide_terminal")


@pytest.fixture
def diagnosis(tmp_path, capsys):
    """The output of `linkmatrix diagnose` for a record in which gpu2 loses 30 % in copies between devices."""
    record = copy.deepcopy(reading.load(DATA / "h200x4_full.record.json"))
    for result in record["results"]:
        if result["unit"] == "GB/s" and result["testcase"].startswith("device_to_device"):
            for numbers in (result["values"], result["low"], result["high"]):
                for row, source in enumerate(result["rows"]):
                    for column, destination in enumerate(result["columns"]):
                        if "gpu2" in (source, destination) and numbers[row][column]:
                            numbers[row][column] *= 0.7
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))

    def diagnosed(*options):
        chosen = [str(path), f"--references={REFERENCES}", "--reference=hgx-h200-half", *options]
        assert cli.main(["diagnose", *chosen]) == 1
        return capsys.readouterr().out

    return diagnosed


def test_a_component_is_named_once_with_the_test_cases_that_show_it(diagnosis):
    out = diagnosis()
    assert out.count("gpu2 sends and receives") == 1 and out.count("next: ") == 1
    assert "the same component in 21 other test cases: " in out and "--all" in out
    assert out.splitlines()[0].startswith("FAIL  device_to_device_memcpy_read_ce ")


@pytest.mark.parametrize("options", [["--all"], ["--testcase", "device_to_device_memcpy_write_ce"]])
def test_all_and_a_testcase_show_every_matrix(diagnosis, options):
    out = diagnosis(*options)
    assert (
        out.count("gpu2 sends and receives") == (22 if options == ["--all"] else 1) and "the same component" not in out
    )
