"""A foreign table whose unit, sum or row contradicts what the reader takes it for gives no number, and says so."""

import re

import pytest
from foreign_texts import FOREIGN, records

from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text

NCCL = FOREIGN["rccl_tests_mi300x.txt"]
ROW = next(line for line in NCCL.splitlines() if line.split()[:1] == ["1048576"])


def refused(text, said):
    with pytest.raises(BadInput, match=rf"contains no valid table .* \(line \d+: .*{said}"):
        read_text(text)


@pytest.mark.parametrize(
    ("name", "unit", "other"),
    [("osu_bw.txt", "MB/s", "GB/s"), ("osu_latency.txt", "(us)", "(ms)"), ("osu_mbw_mr.txt", "MB/s", "GB/s")],
)
def test_a_table_of_osu_in_another_unit_is_not_taken_for_its_usual_one(name, unit, other):
    assert read_text(FOREIGN[name])
    refused(FOREIGN[name].replace(unit, other), "osu_")


@pytest.mark.parametrize(("unit", "other"), [("(GB/s)", "(MB/s)"), ("(us)", "(ms)"), ("#        (B)", "#  (KiB)")])
def test_a_table_of_nccl_tests_in_another_unit_is_left_out_and_said(unit, other):
    refused(NCCL.replace(unit, other), "the units of this table are")
    first, *_ = read_text(FOREIGN["osu_bw.txt"] + NCCL.replace(unit, other) + FOREIGN["osu_bw.txt"])[1:]
    assert any("the units of this table are" in fault for fault in first.faults)


def test_a_table_of_nccl_tests_without_units_gives_nothing():
    refused("".join(line for line in NCCL.splitlines(keepends=True) if "(B)" not in line), "are none")


@pytest.mark.parametrize("said", ["5 FAILED", "0 FAILED", "5 OK"])
def test_wrong_elements_of_which_only_the_sum_tells_are_no_verified_data(said):
    (run,) = read_text(NCCL.replace("values : 0 OK", f"values : {said}"))
    assert [f"'# Out of bounds values : {said}': these sizes have wrong data" in one for one in run.faults] == [True]
    assert {table.verified for table in run.tables} == {False}
    (record,) = records(NCCL.replace("values : 0 OK", f"values : {said}"))
    assert record["result"] != "PASS"


@pytest.mark.parametrize("column", [-7, -6, -3, -2])
def test_a_row_of_nccl_tests_that_its_own_numbers_contradict_is_left_out_and_said(column):
    words = ROW.split()
    words[column] = f"{float(words[column]) * 10:.2f}"
    (run,) = read_text(NCCL.replace(ROW, " ".join(words)))
    assert 1 << 20 not in [table.size_bytes for table in run.tables] and 2 << 20 in [t.size_bytes for t in run.tables]
    assert any("the numbers in a row of all_reduce_perf contradict each other" in fault for fault in run.faults)


@pytest.mark.parametrize("row", [0, 2, -1])
def test_a_row_of_nccl_tests_that_lost_its_way_in_place_is_not_whole(row):
    line = [line for line in NCCL.splitlines() if re.match(r"\s*\d+ +\d+ +float ", line)][row]
    (record, *_) = records(NCCL.replace(line, "  ".join(line.split()[:9])))
    assert record["result"] == "ERROR" and record["error"]
    assert all(result["columns"] == ["out-of-place", "in-place"] for result in record["results"])


def test_lines_of_nccl_s_log_between_those_of_sizes_cost_no_size():
    (whole,), log = read_text(NCCL), "n1:4711:4712 [0] NCCL INFO comm 0x55 rank 0 nranks 8 - Init COMPLETE\n"
    (run,) = read_text(NCCL.replace(ROW, log + ROW))
    assert [table.cells for table in run.tables] == [table.cells for table in whole.tables] and not run.faults


def test_sizes_after_a_line_of_another_program_are_not_lost_without_a_word():
    (run,) = read_text(NCCL.replace(ROW, "slurmstepd: error: something\n" + ROW))
    assert any("is a row without the head of its table" in fault for fault in run.faults)
