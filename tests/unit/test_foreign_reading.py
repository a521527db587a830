"""Foreign texts: topologies, which rows are believed, which tables are one run, and the record that comes of it."""

import hashlib
import re

import pytest
from foreign_texts import DATA, FOREIGN, SMALL, only, records

from linkmatrix.errors import BadInput
from linkmatrix.foreign import grid, to_record
from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.table import Part, Reading, Run, Table, Topology
from linkmatrix.record import reading

GPUS = ("gpu0", "gpu1")


TOPO = """\tGPU0\tGPU1\tNIC0\tmlx5_1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\tPXB\tNODE\t0-47\t0
GPU1\tSYS\t X \tSYS\tPIX\t48-95\t1
NIC0\tPXB\tSYS\t X \tSYS
mlx5_1\tNODE\tPIX\tSYS\t X

  NIC0: mlx5_0
"""


def test_a_topology_of_nvidia_smi_has_links_numa_nodes_and_the_nics_by_their_names():
    run = only(TOPO)
    wanted = Topology(
        GPUS,
        1,
        link_class={("gpu0", "gpu1"): "NV18", ("gpu1", "gpu0"): "SYS"},
        links={("gpu0", "gpu1"): 18, ("gpu1", "gpu0"): 0},
        numa={"gpu0": 0, "gpu1": 1},
        nic_class={
            ("gpu0", "mlx5_0"): "PXB",
            ("gpu0", "mlx5_1"): "NODE",
            ("gpu1", "mlx5_0"): "SYS",
            ("gpu1", "mlx5_1"): "PIX",
        },
        faults=("line 1: GPU0 to GPU1 is NV18, but GPU1 to GPU0 is SYS: the text is damaged",),
    )
    assert run.topology == wanted and (run.program, run.first) == ("nvidia_smi", 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("GPU1\tSYS\t X ", "GPU1\tSYS\tNV18"),
        ("GPU1\tSYS\t X ", "GPU1\t X \tSYS"),
        ("GPU1\tSYS\t X ", "GPU7\tSYS\t X "),
        ("GPU1\tSYS\t X ", "GPU1\twhat\t X "),
        ("GPU1\tSYS\t X ", "GPU0\tSYS\t X "),
    ],
)
def test_a_row_of_a_topology_that_does_not_fit_is_not_believed(old, new):
    topology = only(TOPO.replace(old, new)).topology
    name = new.partition("\t")[0]
    assert topology.faults[0] == f"line 3: row {name} does not fit 4 columns: the row is ignored"
    assert topology.faults[-1] == "line 1: missing rows: GPU1"
    assert topology.link_class == {("gpu0", "gpu1"): "NV18"} and topology.numa == {"gpu0": 0}


def words_of(text, wanted=("0", "1", "2"), zero_is_mark=False):
    found = grid.read_grid(
        Reading(text),
        ["0", "1", "2"],
        lambda word, _: word if word.isdigit() else None,
        r"\d+\.\d\d",
        [*wanted],
        zero_is_mark,
    )
    return sorted(found.rows), found.faults


def test_rows_are_believed_in_order_only_and_none_that_no_endpoint_has():
    good = ["0 x 1.00 2.00", "1 3.00 x 4.00", "2 5.00 6.00 x"]
    assert words_of("\n".join([*good, ""])) == (["0", "1", "2"], [])
    assert words_of("\n".join([good[1], good[0], good[2], ""])) == (
        [],
        ["the rows are out of order: all rows are ignored"],
    )
    rows, faults = words_of("\n".join([*good, "7 1.00 1.00 1.00", ""]))
    assert rows == ["0", "1", "2"] and faults == ["row 7 is no endpoint of the table: the row is ignored"]
    rows, faults = words_of("\n".join([good[0], "1 3.00 4.00 x", good[2], ""]))
    assert rows == ["0", "2"] and faults == [
        "row 1 has a number on the diagonal, and other rows have none: the row is ignored"
    ]
    zero = ["0 0.00 1.00 2.00", "1 3.00 9.00 4.00", "2 5.00 6.00 0.00", ""]
    assert words_of("\n".join(zero)) == (["0", "1", "2"], [])
    assert words_of("\n".join(zero), zero_is_mark=True)[0] == ["0", "2"]


def test_a_cell_is_a_number_in_the_unit_of_a_record_or_says_why_there_is_none():
    words = {("a", "a"): "N/A", ("a", "b"): "x", ("b", "a"): "12.50", ("b", "b"): "0.00", ("b", "c"): "0.00"}
    wanted = {("a", "b"): "no-peer-access", ("b", "a"): 0.0125, ("b", "c"): "error"}
    assert grid.numbers(words, 0.001, zero_applies=False) == wanted
    assert grid.numbers(words, 0.001) == wanted | {("b", "b"): "error"}
    assert grid.numbers({("a", "b"): "2000000000.00"}) == {("a", "b"): "error"}
    assert grid.numbers({("a", "b"): "-"}, no_path="not-run") == {("a", "b"): "not-run"}


def matrix(testcase="case", rows=GPUS, size=None, line=1):
    cells = {(a, b): 5.0 for a in rows for b in rows if a != b}
    return Table(testcase, "bandwidth", "bandwidth", size, rows, rows, cells, line)


def test_a_table_that_a_run_has_already_or_of_other_devices_begins_another():
    state = Reading("")
    for table in (matrix(), matrix("other"), matrix(size=4), matrix(size=4), matrix("x", ("gpu0", "gpu9"))):
        state.add("p", table)
    assert [len(run.tables) for run in state.runs] == [3, 1, 1]
    state.add("q", matrix("new"))
    state.command = "q --again"
    state.add("q", matrix("newer"))
    assert [(run.program, run.command) for run in state.runs[3:]] == [("q", None), ("q", "q --again")]


def test_a_part_belongs_to_the_last_table_if_it_is_of_its_cells_and_new():
    state, part = Reading(""), Part("t", "us", {("gpu0", "gpu1"): 1.0})
    assert not state.add_part("time", part)
    state.add("p", matrix())
    state.add("p", matrix("other"))
    assert not state.add_part("time", Part("t", "us", {("gpu0", "gpu9"): 1.0}))
    assert state.add_part("time", part, ("a fault",)) and not state.add_part("time", part)
    first, last = state.runs[0].tables
    assert (first.parts, last.parts, last.faults) == ({}, {"time": part}, ("a fault",))


def test_a_topology_holds_for_the_runs_that_follow_it():
    run = read_text(
        TOPO + "\nRunning device_to_device_memcpy_write_ce.\nmemcpy (GB/s)\n 0 1\n 0 N/A 1.00\n 1 2.00 N/A\n"
    )[1]
    assert run.topology is None and run.known.link_class["gpu0", "gpu1"] == "NV18"
    content = to_record.to_record(run, "x.txt", b"bytes", "2026-11-21T00:00:00Z", None, 64)
    assert content["topology"] == {
        "labels": list(GPUS),
        "link_class": [["X", "NV18"], ["SYS", "X"]],
        "links": [[None, 18], [0, None]],
        "peer_access": [[None, None], [None, None]],
        "min_path": [[None, None], [None, None]],
    }
    assert [(one["numa"], one["nics"]) for one in content["devices"]] == [(0, ["mlx5_0"]), (1, ["mlx5_1"])]
    (result,) = content["results"]
    assert (result["link_class"], result["size_bytes"]) == ([["X", "NV18"], ["SYS", "X"]], 64)


def test_a_record_says_where_it_is_from_and_what_is_not_known():
    run = Run("osu", [matrix(line=7)], software={"test": "t", "NIC": "n", "v": "1"}, command="c" * 5000)
    run.first, run.last, run.devices = 7, 9, {1: "NVIDIA H100"}
    content = to_record.to_record(run, "x.txt", b"bytes", "2026-11-21T00:00:00Z", None, None)
    reading.check(content)
    assert content["imported"] == {
        "program": "osu",
        "command": "c" * 4096,
        "file": "x.txt",
        "sha256": hashlib.sha256(b"bytes").hexdigest(),
        "lines": [7, 9],
        "column": None,
    }
    assert (content["started"], content["notes"]) == ("2026-11-21T00:00:00Z", list(to_record.LATER))
    assert (content["software"], content["result"], content["error"]) == ({"v": "1"}, "PASS", None)
    assert [(one["label"], one["name"], one["node"]) for one in content["devices"]] == [
        ("gpu0", "unknown", "unknown"),
        ("gpu1", "NVIDIA H100", "unknown"),
    ]
    (result,) = content["results"]
    assert result["values"] == result["low"] == result["high"] == [[None, 5.0], [5.0, None]]
    assert result["status"] == [["not-applicable", "ok"], ["ok", "not-applicable"]]
    assert result["samples"] == [[0, 1], [1, 0]] and result["complete"] and result["verified"] is None
    measured = to_record.to_record(run, "x.txt", b"bytes", "2026-11-21T00:00:00Z", "2020-01-01T00:00:00Z", None)
    assert (measured["started"], measured["notes"]) == ("2020-01-01T00:00:00Z", [to_record.LATER[1]])


def test_what_the_text_lacks_is_not_run_and_the_record_no_pass():
    run = Run("osu", [Table(**{**vars(matrix()), "cells": {("gpu0", "gpu1"): 5.0}})], problems=["it lacks a row"])
    content = to_record.to_record(run, "x.txt", b"", "2026-11-21T00:00:00Z", None, None)
    assert content["results"][0]["status"] == [["not-applicable", "ok"], ["not-run", "not-applicable"]]
    assert (content["result"], content["error"]) == ("ERROR", "it lacks a row")
    run.problems = []
    assert to_record.to_record(run, "x.txt", b"", "2026-11-21T00:00:00Z", None, None)["result"] == "ERROR"
    assert not content["results"][0]["complete"]


@pytest.mark.parametrize("line", ["D\\D 0 1", "  0 1 2", "DEV0 DEV1", "HOST0:DEV0 HOST1:DEV0"])
def test_columns_without_a_head_line_that_is_known_are_said(line):
    run = only(f"{line}\n{TOPO}")
    assert run.faults[0] == "line 1: these columns have no known head line: the table is ignored"
    assert len(run.faults) == 2  # TOPO differs by direction


@pytest.mark.parametrize("digits", [17, 400, 5000])
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("osu_latency.txt", r"(?m)^1(?= )"),
        ("osu_mbw_mr.txt", r"(?<=pairs: )\d+"),
        ("nccl_tests_v2.13_layout.txt", r"(?<=Rank  )\d"),
        ("transferbench_p2p_mi300x.txt", r"(?<=GPU )\d+"),
        ("topo_nics.txt", r"(?<=143\t)0"),
        ("nvbandwidth_v0.8_layout.json", r"\d+(?=\.\d)"),
    ],
)
def test_a_number_beyond_all_bounds_is_no_more_than_a_sentence(name, number, digits):
    text, found = re.subn(number, "9" * digits, FOREIGN[name], count=1)
    assert found
    try:
        for record in records(text):
            assert all((one["size_bytes"] or 0) <= 1 << 53 for one in record["results"])
    except BadInput as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("digit", ["\N{SUPERSCRIPT TWO}", "\N{CIRCLED DIGIT ONE}"])
def test_what_looks_like_a_digit_is_no_number(digit):
    # of which isdigit() says yes, and int() no
    (run,) = read_text(TOPO.replace("48-95\t1", f"48-95\t{digit}"))
    assert run.topology.numa == {"gpu0": 0}
    size = re.compile(r"(?m)^ \d+ ")
    with pytest.raises(BadInput, match="it contains no (valid )?table"):
        read_text(size.sub(f" {digit} ", (DATA / "perftest" / "lat.txt").read_text()))


def test_a_record_that_has_a_test_case_twice_is_refused():
    (record,) = records(SMALL)
    record["results"].append({**record["results"][0], "notes": []})
    with pytest.raises(
        BadInput, match="^results: device_to_device_memcpy_write_ce appears twice: import each run into "
    ):
        reading.check(record)
    for result, size in zip(record["results"], (1 << 20, 1 << 21), strict=True):
        result["size_bytes"] = size
    reading.check(record)
