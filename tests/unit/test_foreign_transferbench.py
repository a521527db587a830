"""TransferBench: recorded outputs of its presets a2a, p2p, nicp2p and nicrings, and what is said of spoiled ones."""

import pytest
from foreign_texts import FOREIGN, records

from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text

ALL = FOREIGN["transferbench_a2a_mi300x.txt"]
PAIRS = FOREIGN["transferbench_p2p_mi300x.txt"]
NICS = FOREIGN["transferbench_nicp2p_mi350x.txt"]
RINGS = FOREIGN["transferbench_nicrings_mi350x.txt"]
SIZE = 268435456


def tables(text):
    (run,) = read_text(text)
    return {table.testcase: table for table in run.tables}


def faults(text):
    (run,) = read_text(text)
    return run.faults


def test_all_to_all_has_the_source_as_its_row_and_says_engine_and_size():
    (table,) = tables(ALL).values()
    assert (table.testcase, table.engine, table.direction) == ("transferbench_a2a_write_sm", "sm", "write")
    assert (table.size_bytes, table.unit, table.local_copy) == (67108864, "GB/s", False)
    # "Transfer 00 | 47.056 GB/s | … | F0 -> G000:008 -> F1" stands above the matrix
    assert table.cells["gpu0", "gpu1"] == 47.056 and table.cells["gpu1", "gpu0"] == 47.000
    assert len(table.cells) == 56 and table.rows == table.columns == tuple(f"gpu{index}" for index in range(8))
    (run,) = read_text(ALL)
    assert run.software == {"TransferBench": "1.60.00"} and run.command == "./TransferBench a2a 64M 8"


@pytest.mark.parametrize(
    ("changes", "name", "engine"),
    [
        ({"USE_DMA_EXEC         =            0": "USE_DMA_EXEC         =            1"}, "write_ce", "ce"),
        ({"USE_DMA_EXEC         =            0": ""}, "write_unknown_engine", None),
        ({"per Transfer]": "per Transfer] [DMA:8] [1 Read(s) 1 Write(s)]"}, "write_ce", "ce"),
        ({"A2A_MODE             =            0": "A2A_MODE             =            7"}, "write_sm_unknown_mode", "sm"),
        ({"USE_REMOTE_READ      =            0": "USE_REMOTE_READ      =            1"}, "read_sm", "sm"),
        (
            {"A2A_MODE             =            0": "A2A_MODE             =            1"},
            "write_sm_1_reads_0_writes",
            "sm",
        ),
        (
            {"A2A_MODE             =            0": "A2A_MODE             =            2:3"},
            "write_sm_2_reads_3_writes",
            "sm",
        ),
    ],
)
def test_which_engine_and_which_end_copied_stand_in_the_settings_or_the_summary(changes, name, engine):
    text = ALL
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (table,) = tables(text).values()
    assert (table.testcase, table.engine) == (f"transferbench_a2a_{name}", engine)
    assert table.cells["gpu0", "gpu1"] == 47.056  # the row is the source, whoever copied


def test_a_row_that_is_not_its_sum_is_not_believed_and_a_column_refuses_the_text():
    assert faults(ALL.replace("47.056     46.826     47.126", "47.056     46.836     47.126")) == [
        "transferbench_a2a_write_sm: row gpu0 has a sum other than its STotal: the row is ignored"
    ]
    with pytest.raises(BadInput, match=r"^line 37: RTotal is not the sum of the columns above: a row or a digit is"):
        read_text(ALL.replace("RTotal  326.350", "RTotal  326.450"))


def test_pairs_without_a_direct_link_were_not_measured():
    text = ALL.replace("47.056     46.826", "   N/A     46.826").replace("326.317     316.469", "279.261     316.469")
    text = text.replace("RTotal  326.350    325.359", "RTotal  326.350    278.303")
    (table,) = tables(text).values()
    assert table.cells["gpu0", "gpu1"] == "not-run" and any("A2A_DIRECT" in note for note in table.notes)
    (record,) = records(text)
    assert record["result"] == "ERROR"


def test_peer_to_peer_is_a_matrix_for_each_kind_of_memory_at_both_ends():
    found = tables(PAIRS)
    assert {name: (table.engine, table.memory, table.size_bytes) for name, table in found.items()} == {
        "device_to_device_memcpy_write_sm": ("sm", "device", SIZE),
        "device_to_host_memcpy_write_sm": ("sm", "host", SIZE),
        "host_to_device_memcpy_write_cpu": (None, "host", SIZE),
        "host_to_host_memcpy_write_cpu": (None, "host", SIZE),
        "device_to_device_bidirectional_memcpy_write_sm": ("sm", "device", SIZE),
        "device_to_host_bidirectional_memcpy_write_cpu_and_sm": (None, "host", SIZE),
        "host_to_device_bidirectional_memcpy_write_cpu_and_sm": (None, "host", SIZE),
        "host_to_host_bidirectional_memcpy_write_cpu": (None, "host", SIZE),
    }
    one = found["device_to_device_memcpy_write_sm"]
    # bytes of a copy inside a GPU are counted once by the program: nothing is halved
    assert one.local_copy and one.cells["gpu0", "gpu0"] == 1618.87 and one.cells["gpu3", "gpu5"] == 48.17
    assert found["device_to_host_memcpy_write_sm"].cells["gpu1", "cpu1"] == 54.14
    assert found["host_to_device_memcpy_write_cpu"].cells["cpu1", "gpu0"] == 29.92


def test_both_ways_is_their_sum_and_each_way_is_a_part():
    both = tables(PAIRS)["host_to_device_bidirectional_memcpy_write_cpu_and_sm"]
    pair = ("cpu0", "gpu4")
    assert (both.cells[pair], both.quantity) == (58.80, "sum of both directions")
    assert both.parts["one_direction"].cells[pair] == 29.55 and both.parts["other_direction"].cells[pair] == 29.25


def test_copy_engines_and_a_destination_that_executes_are_other_test_cases():
    text = PAIRS.replace(
        "[Local read / Remote write] (GPU-Executor: GFX)", "[Remote read / Local write] (GPU-Executor: DMA)"
    )
    found = tables(text.replace("SRC+EXE\\DST", "SRC\\EXE+DST"))
    assert found["device_to_device_memcpy_read_ce"].cells["gpu3", "gpu5"] == 48.17
    # the destination executes: a GPU from host memory, threads of the CPU from a GPU's
    assert (
        found["host_to_device_memcpy_read_ce"].engine == "ce" and found["device_to_host_memcpy_read_cpu"].engine is None
    )


def test_a_sum_of_both_ways_or_an_average_that_does_not_fit_is_said():
    (fault,) = faults(PAIRS.replace("GPU 04 <->     60.52", "GPU 04 <->     61.52"))
    assert fault.endswith("row gpu4 lacks a direction or has a wrong sum: the row is ignored")
    with pytest.raises(BadInput, match=r"^line 26: the average gpu to gpu differs from the numbers above"):
        read_text(PAIRS.replace("37.94     33.67     55.25     48.65", "37.94     33.67     55.25     48.75"))


def test_a_text_that_ends_between_the_two_matrices_is_no_pass():
    averages = "      Averages (During UniDir):     37.94     33.67     55.25     48.65\n"
    end = PAIRS.index(averages)
    name = "device_to_device_memcpy_write_sm"
    lacks = f"{name}: P2P_MODE is 0, but the bidirectional matrix is missing"
    assert faults(PAIRS[: end + len(averages)]) == [lacks]
    assert faults(PAIRS[:end]) == [f"{name}: the averages below the matrix are missing: the text may be cut", lacks]
    one_way = PAIRS.replace("P2P_MODE             =            0", "P2P_MODE             =            1")
    assert faults(one_way[: end + len(averages)]) == []


@pytest.mark.parametrize("lost", ["      Bytes Per Direction 268435456\n", "SRC+EXE\\DST", "SRC\\DST  "])
def test_a_matrix_without_its_size_or_columns_is_left_out(lost):
    text = PAIRS.replace(lost, "")
    try:
        assert any("is ignored" in fault for fault in faults(text))
    except BadInput as error:
        assert str(error).startswith(("it contains no table of ", "it contains no valid table of "))


def test_network_adapters_of_all_ranks_are_sources_and_destinations():
    (table,) = tables(NICS).values()
    assert (table.testcase, table.engine, table.transport) == ("transferbench_nicp2p_write", "rdma", "rdma")
    assert table.rows == table.columns == tuple(f"rank{rank}:bnxt_re{nic}" for rank in range(2) for nic in range(8))
    assert len(table.cells) == 256 and table.local_copy and table.size_bytes is None
    # "Slowest: 31.30, R01:bnxt_re0 to R00:bnxt_re1" in the program's own summary; the way back had more
    assert table.cells["rank1:bnxt_re0", "rank0:bnxt_re1"] == 31.30
    assert table.cells["rank0:bnxt_re1", "rank1:bnxt_re0"] == 31.31
    (record,) = records(NICS)
    assert record["result"] == "PASS" and record["devices"] == []


def test_adapters_whose_destination_reads_or_that_copy_host_memory_are_other_test_cases():
    assert list(tables(NICS.replace("SRC+EXE\\DST ", "SRC\\DST+EXE "))) == ["transferbench_nicp2p_read"]
    assert list(tables(NICS.replace("GPU 0", "CPU 0"))) == ["transferbench_nicp2p_write_host"]


def test_a_rank_whose_first_row_is_lost_is_not_taken_for_the_one_before():
    text = "".join(line for line in NICS.splitlines(keepends=True) if "Rank 01 │ " not in line)
    (run,) = read_text(text)
    (table,) = run.tables
    assert not any(row.startswith("rank1") for row, _ in table.cells)
    assert "missing rows: rank1:bnxt_re0" in run.faults[-1]


def test_rings_have_the_sending_rank_as_their_row_and_the_adapter_as_their_column():
    (table,) = tables(RINGS).values()
    assert (table.testcase, table.direction, table.engine) == ("transferbench_nicrings_write", "write", "rdma")
    assert (table.size_bytes, table.memory, table.unit) == (SIZE, "device", "GB/s")
    assert table.rows == ("rank0", "rank1", "rank2", "rank3") and table.columns[7] == "gpu7:bnxt_re7"
    assert len(table.cells) == 32 and table.cells["rank3", "gpu1:bnxt_re1"] == 31.34
    assert "rank0 cv350-zts-gtu-g27a-08, rank1 cv350-zts-gtu-h32-08" in table.notes[1]
    read = RINGS.replace("RDMA-write rings(s) using default GPU", "RDMA-read rings(s) using default CPU")
    assert list(tables(read.replace("GPU 0", "CPU 0"))) == ["transferbench_nicrings_read_host"]


def test_a_rank_that_is_lost_or_whose_total_does_not_fit_is_said():
    name = "transferbench_nicrings_write"
    lost = "".join(line for line in RINGS.splitlines(keepends=True) if "h32a-18" not in line)
    assert faults(lost) == [f"{name}: missing rows: rank2"]
    assert faults(RINGS.replace("250.62\n", "251.62\n")) == [
        f"{name}: row rank2 has a sum other than its TOTAL: the row is ignored"
    ]


@pytest.mark.parametrize("name", sorted(name for name in FOREIGN if name.startswith("transferbench")))
def test_a_recorded_output_is_whole(name):
    for record in records(FOREIGN[name]):
        assert (record["result"], record["error"]) == ("PASS", None)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (ALL, "A2A_MODE             =            0 :", "A2A_MODE             =            7 :"),
        (ALL, "A2A_MODE             =            0 :", f"A2A_MODE             =            {'9' * 5000}:1 :"),
        (ALL, "[67108864 bytes", f"[{'9' * 5000} bytes"),
        (ALL, "GPU 07   45.095", f"GPU {'9' * 5000}   45.095"),
        (PAIRS, "Bytes Per Direction 268435456", f"Bytes Per Direction {'9' * 5000}"),
        (PAIRS, "GPU 07  ->     55.30", f"GPU {'9' * 5000}  ->     55.30"),
        (NICS, "Rank 01 │   bnxt_re0", f"Rank {'9' * 5000} │   bnxt_re0"),
        (RINGS, "across 4 ranks", f"across {'9' * 5000} ranks"),
        (RINGS, "  268435456 bytes", f"  {'9' * 5000} bytes"),
        (RINGS, "     3  cv350", f"     {'9' * 5000}  cv350"),
        (RINGS, "│  GPU 07  │", f"│  GPU {'9' * 5000}  │"),
    ],
)
def test_a_number_that_is_none_of_the_program_s_never_ends_in_a_traceback(text, old, new):
    assert old in text
    try:
        assert all(record["result"] in ("PASS", "ERROR") for record in records(text.replace(old, new)))
    except BadInput as error:
        assert "\n" not in str(error)
