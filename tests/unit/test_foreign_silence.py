"""What a text does not contain is unknown in its record, unless the command line contains it; nothing is a default."""

import json
import re

import pytest
from foreign_texts import FOREIGN, SMALL, cell, records, result

from linkmatrix.commands.compare import compare
from linkmatrix.foreign.scan import read_text
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record.matrix import from_result
from linkmatrix.references.keys import is_known
from linkmatrix.references.tables import References
from linkmatrix.runs.figures import Figures, measured_cells

DEVICE = "# OSU MPI-CUDA Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size   Bandwidth (MB/s)\n1024   279600.00\n"
SAME = "device_to_device_memcpy_write_ce"


def memory_of(text):
    (table,) = read_text(text)[-1].tables
    return table.testcase, table.memory


def test_the_report_of_osu_7_5_is_device_to_device_by_its_command():
    (record,) = records(FOREIGN["osu_bw_v7.5_dd.txt"])
    assert {(one["testcase"], one["memory"]) for one in record["results"]} == {("osu_bw_dd", "device")}
    assert record["imported"]["command"].endswith("osu_bw D D") and len(record["results"]) == 12


@pytest.mark.parametrize(
    ("before", "testcase", "memory"),
    [
        ("", "osu_bw_unknown_buffers", None),
        ("$ osu_bw -d cuda D D\n", "osu_bw_dd", "device"),
        ("$ mpirun -n 2 -x UCX_TLS=all /opt/osu/osu_bw D D -m 1:4\n", "osu_bw_dd", "device"),
        ("$ srun -N2 --mpi=pmix ./get_local_rank ./osu_bw -d cuda H D\n", "osu_bw_hd", "device"),
        ("$ apptainer exec omb.sif osu_bw -i 100 H H\n", "osu_bw_hh", "host"),
        ("Now osu_bw -d cuda D D between two nodes:\n\n", "osu_bw_dd", "device"),
        ("$ osu_bw -d cuda\n", "osu_bw_unknown_buffers", None),
        ("$ osu_latency D D\n", "osu_bw_unknown_buffers", None),
        ("$ osu_bw MD MD\n", "osu_bw_dd", "device"),
    ],
)
def test_buffers_of_osu_are_those_of_the_command_or_unknown(before, testcase, memory):
    assert memory_of(before + DEVICE) == (testcase, memory)


def test_buffers_of_osu_without_an_accelerator_are_in_host_memory():
    assert memory_of(DEVICE.replace("-CUDA", "")) == ("osu_bw_hh", "host")


def test_buffers_that_a_comment_contains_count():
    said = "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n# Datatype"
    assert memory_of("$ osu_bw D D\n" + DEVICE.replace("# Datatype", said)) == ("osu_bw_hh", "host")


def test_the_command_of_a_table_is_not_that_of_the_next():
    assert memory_of("$ osu_bw D D\n" + DEVICE + "\n" * 14 + DEVICE) == ("osu_bw_unknown_buffers", None)


def test_engines_of_nvbandwidth_are_those_of_its_test_cases():
    (record,) = records(FOREIGN["nvbandwidth_v0.10_pair.txt"])
    assert {one["testcase"]: one["engine"] for one in record["results"]} == {
        "device_to_device_memcpy_read_sm": "sm",
        "device_to_device_latency_tma": "tma",
        "device_local_copy_tma": "tma",
    }


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("device_to_device_memcpy_write_tma", "tma"),
        ("device_to_device_memcpy_write_dsa", None),
        ("device_to_device_memcpy_write", None),
        ("device_to_device_memcpy_write_ce_v2", "ce"),
    ],
)
def test_an_engine_that_a_name_does_not_contain_is_unknown(name, engine):
    assert result(SMALL.replace(SAME, name), name)["engine"] == engine


def test_pairs_that_pair_left_out_are_not_measured():
    (record,) = records(FOREIGN["nvbandwidth_v0.10_pair.txt"])
    pairs, latency, _ = record["results"]
    assert cell(pairs, "gpu3", "gpu0") == 712.30
    words = [word for row in pairs["status"] for word in row]
    assert (words.count("ok"), words.count("not-run"), words.count("no-peer-access")) == (1, 11, 0)
    assert latency["complete"] and "--pair excluded them" in record["error"]
    assert judge_test(record, CheckFacts(), References({}), "").verdict is Verdict.INCOMPLETE


ONE_PAIR = SMALL.replace("176.12\n", "N/A\n").replace("1056.66", "880.54")


@pytest.mark.parametrize(
    ("before", "status"),
    [
        ("", "not-run"),
        ("nvbandwidth Version: v0.8\n", "no-peer-access"),
        ("nvbandwidth Version: v0.9\n", "not-run"),
        ("nvbandwidth Version: v0.10.0\n", "not-run"),
        ("nvbandwidth Version: v1.0\n", "not-run"),
        ("$ ./nvbandwidth -t device_to_device_memcpy_write_ce\nnvbandwidth Version: v0.10.0\n", "no-peer-access"),
        ("$ ./nvbandwidth -t 4 --pair 0,1\nnvbandwidth Version: v0.10.0\n", "not-run"),
    ],
)
def test_a_cell_without_a_number_is_no_peer_access_only_where_that_is_known(before, status):
    (record,) = records(before + ONE_PAIR)
    assert record["results"][0]["status"][1][2] == status
    assert ("--pair" in (record["error"] or "")) is (status == "not-run")


def test_a_cell_of_a_json_without_a_number_depends_on_its_version():
    content = json.loads(FOREIGN["nvbandwidth_v0.8_layout.json"])
    case = content["nvbandwidth"]["testcases"][0]
    case["bandwidth_matrix"][0][1] = "N/A"
    case.pop("sum", None)
    for version, status in (("0.8", "no-peer-access"), ("v0.10", "not-run")):
        content["nvbandwidth"]["version"] = version
        found = records(json.dumps(content))[0]["results"][0]
        assert status in {word for row in found["status"] for word in row}


def test_rows_that_are_lost_are_still_missing_where_the_sum_does_not_fit():
    (record,) = records(FOREIGN["nvbandwidth_v0.10_pair.txt"].replace(" 1    825.83", "x    825.83"))
    assert record["result"] == "ERROR" and "device_to_device_latency_tma" in record["error"]


FORK = (
    "sailbandwidth Version: v1.2\nHGGC Runtime Version: 13000\nDriver Version: 2.1.0\n\nDevice 0: PPU ZW810\n"
    "Device 1: PPU ZW810\nDevice 2: PPU ZW810\n\n"
)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        (FORK + SMALL, "sailbandwidth"),
        ("$ ./sailbandwidth -t device_to_device_memcpy_write_ce -i 1\n" + SMALL, "sailbandwidth"),
        (SMALL.replace("GPU(row) <- GPU(column)", "PPU(row) <- PPU(column)"), "unknown_program"),
        (FORK + SMALL + SMALL, "sailbandwidth"),
        (SMALL, "nvbandwidth"),
        (FORK + SMALL + "nvbandwidth Version: v0.8\n" + SMALL, "nvbandwidth"),
    ],
)
def test_a_fork_is_not_the_program_that_it_came_from(text, program):
    assert records(text)[-1]["imported"]["program"] == program


def test_the_json_of_a_fork_is_its_text():
    (text,), (same,) = (records(FOREIGN[f"sailbandwidth_v1.2_layout.{kind}"]) for kind in ("txt", "json"))
    assert text["imported"]["program"] == same["imported"]["program"] == "sailbandwidth"
    assert text["results"][0]["values"] == same["results"][0]["values"] == [[None, 151.25], [152.5, None]]
    assert text["devices"][1]["name"] == same["devices"][1]["name"] == "PPU ZW810"


@pytest.mark.parametrize(("options", "engine"), [(" --sm_copy", "sm"), ("", "ce"), (" --p2p_read --sm_copy", "sm")])
def test_the_engine_of_the_cuda_sample_is_that_of_its_command(options, engine):
    head = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n"
    text = f"$ ./p2pBandwidthLatencyTest{options}\n{head}     0 2900.00 390.00\n     1 391.00 2901.00\n"
    (table,) = read_text(text)[0].tables
    assert table.engine == engine and ("unknown_kernel" in table.testcase) == (engine == "sm")
    assert not any("assumed" in note for note in table.notes)


def figures(text):
    found = records(text)[0]["results"][0]
    matrix = from_result(found)
    return Figures(matrix.testcase, "", matrix.unit, matrix.size_bytes, measured_cells(matrix))


@pytest.mark.parametrize("text", [DEVICE, DEVICE.replace("-CUDA", "-ROCM"), DEVICE.replace("1024", "8")])
def test_what_is_not_known_to_be_alike_is_not_compared(text):
    found = compare([figures(text)], [figures(text)], set())
    assert found.rows == [] and "not comparable" in found.left_out[0]
    known = figures("$ osu_bw D D\n" + text)
    assert len(compare([known], [known], set()).rows) == 1


@pytest.mark.parametrize(
    ("testcase", "known"),
    [("osu_bw_unknown_buffers", False), ("nccl_unknown_test", False), ("a_write_unknown_engine", False), (SAME, True)],
)
def test_a_name_of_a_test_case_contains_what_is_unknown(testcase, known):
    assert is_known(testcase) is known
    assert bool(re.search("unknown", testcase)) is not known
