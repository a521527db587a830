"""`history`, `compare` and `diagnose` print the ten worst first, and a component of many test cases once."""

import copy
import json
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.commands import arguments, compare
from linkmatrix.commands.arguments import Block
from linkmatrix.record import reading
from linkmatrix.show.screen import Screen

pytestmark = pytest.mark.usefixtures("wide_terminal")

FULL = Path(__file__).parents[1] / "data" / "h200x4_full.record.json"


@pytest.fixture
def printed(capsys):
    def lines(worse, everything=False):
        blocks = [Block(f"block {at}", one, [f"line {at}"]) for at, one in enumerate(worse)]
        arguments.print_worst(Screen(), blocks, "nothing stands out", everything)
        return capsys.readouterr().out.splitlines()

    return lines


def test_the_worst_block_comes_first_and_blocks_of_one_rank_keep_their_order(printed):
    assert printed([0, 0.1, 0, 0.3]) == [
        *("block 3", "  line 3", "block 1", "  line 1"),
        *("block 0", "  line 0", "block 2", "  line 2"),
    ]


def test_of_many_blocks_ten_that_stand_out_are_printed_and_the_others_counted(printed):
    assert printed([*range(12)])[::2] == [*(f"block {at}" for at in range(11, 1, -1)), "2 more with --all"]
    assert printed([0] * 11 + [1]) == ["block 11", "  line 11", "11 more with --all"]
    assert len(printed([*range(12)], everything=True)) == 24


def test_nothing_stands_out_is_said_once(printed):
    assert printed([0] * 11) == ["nothing stands out", "11 more with --all"]
    assert printed([0]) == ["nothing stands out", "block 0", "  line 0"]
    assert printed([]) == []


@pytest.mark.parametrize(
    ("times", "unit", "said"),
    [
        (2.251, "GB/s", "× 2.25"),
        (6.31e-05, "GB/s", "16,000 times slower"),
        (6.31e-05, "us", "16,000 times faster"),
        (12.3, "us", "12 times slower"),
        (12.3, "GB/s", "12 times faster"),
        (0.0, "GB/s", "× 0"),
    ],
)
def test_a_large_ratio_is_printed_in_words(times, unit, said):
    assert compare.ratio_in_words(times, unit) == said


@pytest.fixture
def slower(tmp_path):
    """The path of a copy of a record in which one test case is slower."""

    def make(testcase):
        record = json.loads(FULL.read_text())
        for result in record["results"]:
            if result["testcase"] == testcase:
                for name in ("values", "low", "high"):
                    result[name] = [[None if one is None else one / 2 for one in row] for row in result[name]]
        path = tmp_path / "record.json"
        path.write_text(json.dumps(record))
        return path

    return make


def test_the_slowest_test_case_of_a_comparison_is_printed_first(slower, linkmatrix):
    path = slower("device_to_device_memcpy_read_ce")
    lines = linkmatrix.out("compare", path, "--against", FULL).splitlines()
    assert lines[0] == "device_to_device_memcpy_read_ce (512 MiB)" and "× 0.5" in lines[1]
    assert lines[-1].endswith(" more with --all")


def test_a_result_that_fails_is_diagnosed_first(slower, linkmatrix):
    path = slower("device_to_device_memcpy_read_ce")
    lines = linkmatrix.out("diagnose", path, "--reference", "hgx-h200-half", code=1).splitlines()
    assert lines[0] == "FAIL  device_to_device_memcpy_read_ce (512 MiB)"
    assert not any(line.startswith("PASS") for line in lines) and any("more with --all" in line for line in lines)


DATA = Path(__file__).parents[1] / "data"
REFERENCES = Path(__file__).parents[2] / "config" / "references"


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
