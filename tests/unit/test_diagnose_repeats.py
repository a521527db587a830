"""A component that many test cases show is named once, with the others, by `diagnose` and `show`."""

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
def output(tmp_path, capsys):
    """The output of a command for a record in which gpu2 loses 30 % in copies between devices."""
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

    def said(command, *options):
        chosen = [str(path), f"--references={REFERENCES}", "--reference=hgx-h200-half", *options]
        assert cli.main([command, *chosen]) == 1
        return capsys.readouterr().out

    return said


def test_a_component_is_named_once_with_the_test_cases_that_show_it(output):
    out = output("diagnose")
    assert out.count("gpu2 sends and receives") == 1 and out.count("next: ") == 1
    assert "the same component in 21 other test cases: " in out and "--all" in out
    assert out.splitlines()[0].startswith("FAIL  device_to_device_memcpy_read_ce ")


@pytest.mark.parametrize("options", [["--all"], ["--testcase", "device_to_device_memcpy_write_ce"]])
def test_all_and_a_testcase_show_every_matrix(output, options):
    out = output("diagnose", *options)
    assert (
        out.count("gpu2 sends and receives") == (22 if options == ["--all"] else 1) and "the same component" not in out
    )


def test_a_finding_is_shown_by_a_test_case_that_separates_both_directions(output):
    """The sums of both directions lose a little more here, but their advice is to measure one direction."""
    (finding,) = [line for line in output("show").splitlines() if "also in 21 other test cases" in line]
    assert "gpu2 sends and receives" in finding and "bidirectional" not in finding and "one direction" not in finding


def test_components_are_listed_in_their_own_order(output):
    lines = [line.split(":")[0].strip() for line in output("show").splitlines() if ": uuid GPU-" in line]
    assert lines[:4] == ["gpu0", "gpu1", "gpu2", "gpu3"]
