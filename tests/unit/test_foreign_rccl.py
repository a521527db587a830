"""rccl-tests: a recorded output, whose table is that of nccl-tests under another head."""

from foreign_texts import FOREIGN, records

from linkmatrix.foreign.scan import read_text

TEXT = FOREIGN["rccl_tests_mi300x.txt"]


def test_a_run_of_rccl_tests_says_its_versions_ranks_and_devices():
    (run,) = read_text(TEXT)
    assert run.program == "rccl_tests" and run.faults == []
    assert run.software == {
        "rccl-tests": "develop:448c4c7",
        "RCCL": "2.22.3-develop:f5b15f2",
        "HIP": "6.3.42131-fa1d09cbd",
        "ROCm": "6.3.0.0-39-ce2be3b",
    }
    assert run.devices == dict.fromkeys(range(8), "AMD Instinct MI300X")
    assert run.ranks == {rank: ("host", rank) for rank in range(8)}


def test_its_sizes_are_bus_bandwidths_out_of_place_and_in_place():
    (run,) = read_text(TEXT)
    # those of 8 to 32 bytes are printed as 0.00
    assert [table.size_bytes for table in run.tables] == [1 << power for power in range(6, 35)]
    (last,) = (table for table in run.tables if table.size_bytes == 16 << 30)
    assert (last.testcase, last.engine, last.unit) == ("all_reduce_perf", "nccl", "GB/s")
    assert last.cells == {("all", "out-of-place"): 318.98, ("all", "in-place"): 318.73}
    assert last.parts["time"].cells[("all", "out-of-place")] == 94254


def test_its_record_knows_nodes_and_ranks():
    (record,) = records(TEXT)
    assert (record["imported"]["program"], record["imported"]["nodes"], record["imported"]["ranks"]) == (
        "rccl_tests",
        1,
        8,
    )
    assert record["result"] == "PASS" and [one["label"] for one in record["devices"]][:2] == ["gpu0", "gpu1"]


def test_a_version_that_is_not_known_and_another_run_of_nccl_tests_after_it():
    nccl = TEXT.replace("rccl-tests: Version develop:448c4c7\n", "")
    nccl = "".join(line for line in nccl.splitlines(keepends=True) if " version : " not in line)
    nccl = nccl.replace("HIP version  :", "#").replace("ROCm version :", "#")
    first, second = read_text(TEXT.replace("develop:448c4c7", "") + nccl)
    assert (first.program, second.program) == ("rccl_tests", "nccl_tests")
    assert "rccl-tests" not in first.software and second.software == {}


def test_a_run_that_was_cut_says_which_size_is_not_believed():
    (run,) = read_text(TEXT[: TEXT.index("266.52") + 3] + "\n")
    assert [table.size_bytes for table in run.tables][-1] == 32 << 20
    assert len(run.faults) == 1 and "is an incomplete row: the row is ignored" in run.faults[0]
