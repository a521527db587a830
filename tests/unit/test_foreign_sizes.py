"""nccl-tests and perftest, which print a line for each size: what each line means, field by field."""

import pytest
from foreign_texts import FOREIGN, only, records

from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.table import Part, Table

NCCL = """# nThread 1
#  Rank  0 Group  0 Pid  11 on node1 device  0 [0x1b] NVIDIA H100
#  Rank  1 Group  0 Pid  11 on node1 device  1 [0x43] NVIDIA H200
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   134217728      33554432     float     sum      -1   1335.1  100.53  175.93      0   1331.4  100.81  176.42      0
   268435456      67108864     float     sum      -1   2376.9  112.94  197.64    N/A   2381.0  112.74  197.30    N/A
# Out of bounds values : 0 OK
"""
WAYS = [("all", "out-of-place"), ("all", "in-place")]


def collective(testcase, size, line, bus, algorithm, time, **changes):
    ways = WAYS[: len(bus)]
    described = {"rows": ("all",), "columns": tuple(way for _, way in ways), "verified": True, **changes}
    return Table(
        testcase=testcase,
        quantity="bus bandwidth",
        metric="bandwidth",
        size_bytes=size,
        cells=dict(zip(ways, bus, strict=True)),
        line=line,
        engine="nccl",
        transport="nccl",
        parts={
            "algorithm_bandwidth": Part("algorithm bandwidth", "GB/s", dict(zip(ways, algorithm, strict=True))),
            "time": Part("time", "us", dict(zip(ways, time, strict=True))),
        },
        **described,
    )


def test_a_size_of_a_collective_has_its_bus_bandwidth_out_of_place_and_in_place():
    run = only(f"$ NCCL_ALGO=Ring ./all_reduce_perf -b 128M -g 2\n{NCCL}")
    assert run.devices == {0: "NVIDIA H100", 1: "NVIDIA H200"} and run.program == "nccl_tests"
    assert run.command == "NCCL_ALGO=Ring ./all_reduce_perf -b 128M -g 2" and (run.first, run.last) == (9, 10)
    name = "all_reduce_perf_ring"
    assert run.tables == [
        collective(name, 134217728, 9, [175.93, 176.42], [100.53, 100.81], [1335.1, 1331.4]),
        collective(name, 268435456, 10, [197.64, 197.30], [112.94, 112.74], [2376.9, 2381.0], verified=None),
    ]


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ("", "nccl_unknown_test"),
        ("# Collective test starting: all_gather_perf\n", "all_gather_perf"),
        ("$ mpirun -np 2 ./broadcast_perf -g 1\n", "broadcast_perf"),
    ],
)
def test_which_collective_it_was_is_said_by_its_first_line_or_its_command(start, name):
    assert {table.testcase for run in read_text(start + NCCL) for table in run.tables} == {name}


def test_an_older_version_prints_the_largest_error_and_one_way():
    head = "#       size         count      type     time   algbw   busbw    error\n"
    head += "#        (B)    (elements)             (us)  (GB/s)  (GB/s)\n"
    good, bad = (f"    10500       2625     float   10.5  1.00  1.75   {error}\n" for error in ("5e-07", "2e-02"))
    one = collective("nccl_unknown_test", 10500, 3, [1.75], [1.0], [10.5])
    assert only(head + good).tables == [one]
    (table,) = only(head + bad).tables
    assert table.cells == {WAYS[0]: "error"} and table.verified is False
    assert table.faults == ("line 3: out-of-place of 10500 bytes has 2e-02 wrong elements",)


def test_wrong_elements_in_place_leave_what_was_right_out_of_place():
    (table, _) = only(NCCL.replace("176.42      0", "176.42      3")).tables
    assert table.cells == {WAYS[0]: 175.93, WAYS[1]: "error"} and table.verified is False
    assert table.faults == ("line 8: in-place of 134217728 bytes has 3 wrong elements",)


def test_a_line_of_a_collective_that_is_not_whole_is_said_and_ends_its_table():
    run = only(NCCL.replace("112.74  197.30    N/A", "112.74  197."))
    assert [table.size_bytes for table in run.tables] == [134217728]
    (fault,) = run.faults
    assert fault.startswith("line 9: '268435456      67108864") and "is an incomplete row" in fault
    cut = NCCL[: NCCL.index("# Out")].rstrip("\n")
    assert [table.size_bytes for table in only(cut).tables] == [134217728]


#: As src/util.cu of nccl-tests 2.20 prints them; the numbers are made up.
COLUMNS = {
    "-S 1": ("time algbw busbw #wrong", "timestamp", "%Y-%m-%d %H:%M:%S", "", "  2026-07-22 10:11:12"),
    "-C 1": ("cputime algbw busbw #wrong", "", "", "", ""),
    "-I 1": (
        "time algbw busbw #wrong i_min i_max i_p99 i_cv%",
        "",
        "(us) (us) (us) (%)",
        "  1330.0  1340.5  1339.1  0.21",
        "",
    ),
    "-I 1 -S 1": (
        "time algbw busbw #wrong i_min i_max i_p99 i_cv%",
        "timestamp",
        "(us) (%) %Y-%m-%d %H:%M:%S",
        "  1330.0  1340.5  1339.1  0.21",
        "  2026-07-22 10:11:12",
    ),
}


def with_options(options):
    """A table of nccl-tests 2.20 with the columns of these options."""
    way, stamp, unit, more, end = COLUMNS[options]
    time = "12.5" if "cputime" in way else "1335.1"
    return (
        "# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102\n"
        "# Collective test starting: all_reduce_perf\n"
        "#  Rank  0 Group  0 Pid 1666603 on spark-d708 device  0 [000f:01:00] NVIDIA GB10\n"
        "#\n"
        f"#       size         count      type   redop    root  {way}  {way}  {stamp}\n"
        f"#        (B)    (elements)   (us)  (GB/s)  (GB/s)   (us)  (GB/s)  (GB/s)  {unit}\n"
        f"   134217728      33554432     float     sum      -1   {time}  100.53  175.93      0{more}"
        f"   {time}  100.53  175.93      0{more}{end}\n"
        "# Out of bounds values : 0 OK\n"
    )


@pytest.mark.parametrize("options", COLUMNS)
def test_columns_that_an_option_adds_are_no_part_of_a_size(options):
    run = only(with_options(options))
    (table,) = run.tables
    assert run.software == {"nccl-tests": "2.20.0", "NCCL": "2.31.2", "test": "all_reduce_perf"} and run.faults == []
    assert table.cells == dict.fromkeys(WAYS, 175.93) and table.verified is True
    time = {"cpu_time": 12.5} if "-C" in options else {"time": 1335.1}
    assert {name: part.cells[WAYS[1]] for name, part in table.parts.items()} == {"algorithm_bandwidth": 100.53, **time}


def test_the_lines_of_two_nodes_with_the_time_of_day_are_read():
    (record,) = records(FOREIGN["nccl_tests_v2.20_S_layout.txt"])
    assert (record["imported"]["nodes"], record["imported"]["ranks"], record["error"]) == (2, 2, None)
    assert [(one["size_bytes"], one["values"]) for one in record["results"]] == [
        (8192, [[0.23, 0.27]]),
        (16384, [[0.52, 0.53]]),
    ]


RDMA = """                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_2
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 2          5000             0.064              0.056                3.512
 8388608    5000             98.00              97.60                0.001455
"""


def rdma(size, value, peak, line, **changes):
    pair = (changes.get("rows", ("mlx5_2",))[0], "peer")
    described = {"testcase": "ib_write_bw", "quantity": "bandwidth", "metric": "bandwidth"}
    described |= {"rows": ("mlx5_2",), "memory": "host", "direction": "write", **changes}
    parts = {} if peak is None else {"peak": Part("peak", "GB/s", {pair: peak})}
    return Table(
        size_bytes=size,
        columns=("peer",),
        cells={pair: value},
        line=line,
        engine="rdma",
        transport="rdma",
        parts=parts,
        **described,
    )


def test_a_size_of_rdma_is_a_result_from_a_nic_to_its_peer_in_bytes():
    run = only(f"$ ib_write_bw -a -d mlx5_2 --report_gbits\n{RDMA}")
    assert (run.program, run.first, run.last) == ("perftest", 5, 6)
    assert run.command == "ib_write_bw -a -d mlx5_2 --report_gbits"
    assert run.tables == [rdma(2, 0.007, 0.008, 5), rdma(8388608, 12.2, 12.25, 6)]


@pytest.mark.parametrize(
    ("title", "changes"),
    [
        ("RDMA_Read BW", {"testcase": "ib_read_bw", "direction": "read"}),
        ("Send BW", {"testcase": "ib_send_bw"}),
        ("Send Post List BW", {"testcase": "ib_send_bw"}),
        (
            "RDMA_Write Bidirectional BW",
            {"testcase": "ib_write_bw_both_ways", "quantity": "sum of both directions", "metric": "bidirectional"},
        ),
    ],
)
def test_the_title_of_rdma_says_which_test_it_was(title, changes):
    assert only(RDMA.replace("RDMA_Write BW", title)).tables[0] == rdma(2, 0.007, 0.008, 4, **changes)


def test_a_latency_of_rdma_is_its_typical_one():
    text = (
        "                    RDMA_Read Latency Test\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
        " 2       1000          1.05           5.41         1.10               1.12\n"
    )
    latency = {"testcase": "ib_read_lat", "quantity": "typical latency", "metric": "latency"}
    assert only(text).tables == [rdma(2, 1.10, None, 3, rows=("nic",), direction="read", **latency)]


@pytest.mark.parametrize(
    ("row", "value"),
    [
        (" 2         4000000       1.25        400000.00", 1.25),  # half a round trip
        (" 2         4000000       2.50        400000.00", 2.5),  # a read has no way back of its own
        (" 2         4000000       1.25        4000.00", None),
        (" 2         4000000       1.25", None),
    ],
)
def test_a_latency_for_a_time_is_the_average(row, value):
    head = " #bytes        #iterations       t_avg[usec]    tps average"
    text = (
        f"                    RDMA_Write Latency Test\n{head}\n{row}\n 4         4000000       1.25        400000.00\n"
    )
    found = {table.size_bytes: table for table in only(text).tables}
    assert found[4].quantity == "average latency" and found.keys() == ({2, 4} if value else {4})
    assert value is None or found[2].cells == {("nic", "peer"): value}


def test_a_bandwidth_of_two_ports_and_with_the_use_of_the_processor_is_read():
    ports = "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]    CPU_Util[%]"
    text = RDMA.partition(" 2  ")[0].replace("MsgRate[Mpps]", f"MsgRate[Mpps]{ports}")
    text += (
        " 65536      5000           0.00               98.00\t\t   0.747762   49.00  0.373881  49.00  0.373881  1.5\n"
    )
    assert only(text).tables == [rdma(65536, 12.25, None, 4)]


@pytest.mark.parametrize(("option", "memory"), [("--use_cuda=0", "device"), ("--use_cuda 0", "device"), ("-a", "host")])
def test_whether_rdma_read_the_memory_of_a_gpu_stands_in_its_command(option, memory):
    assert only(f"$ ib_write_bw {option} -d mlx5_2\n{RDMA}").tables[0].memory == memory


@pytest.mark.parametrize(
    "line",
    [
        "initializing CUDA",
        "creating CUDA Ctx",
        "cuMemAlloc() of a 131072 bytes GPU buffer",
        "allocated GPU buffer address at 00007f2e pointer=0x7f2e",
        "allocated 131072 bytes of GPU buffer at 0x7f2e",
    ],
)
def test_perftest_prints_that_it_uses_the_memory_of_a_gpu(line):
    first, second = read_text(f"{line}\n{RDMA}---\n{RDMA}")
    assert (first.tables[0].memory, second.tables[0].memory) == ("device", "host")


def test_a_test_of_host_memory_below_a_failed_one_of_a_gpu_is_of_host_memory():
    failed = "$ ib_write_bw --use_cuda=0 10.0.0.1\ninitializing CUDA\nCouldn't connect to 10.0.0.1:18515\n"
    assert only(f"{failed}$ ib_write_bw 10.0.0.1\n{RDMA}").tables[0].memory == "host"


def test_an_average_above_the_peak_is_not_believed_unless_there_is_no_peak():
    run = only(RDMA.replace("0.064", "0.046"))  # as much as rounding may do
    assert len(run.tables) == 2
    run = only(RDMA.replace("0.064", "0.045"))
    assert [table.size_bytes for table in run.tables] == [8388608]
    assert run.faults == ["line 4: the numbers in a row of ib_write_bw contradict each other: the row is ignored"]
    assert only(RDMA.replace("0.064", "0.000")).tables[0] == rdma(2, 0.007, None, 4)


def test_a_bandwidth_in_another_unit_and_a_table_of_nobody_are_left_out():
    for text in (RDMA.replace("Gb/sec", "Tb/sec"), RDMA.partition("\n")[2]):
        with pytest.raises(BadInput, match="contains no (valid )?table"):
            read_text(text)


@pytest.mark.parametrize(
    ("row", "believed"),
    [
        (" 2       1000          1.05           5.41         1.10     1.12      0.05    1.30    5.41", True),
        (" 2       1000          1.05           1.05         5.41     1.10     1.12      0.05    1.30    5.41", False),
        (" 2       1000          1.10           1.05         5.41     1.12      0.05    1.30    5.41", False),
        (" 2       1000          1.05           5.41         1.10     1.12      0.05    1.30", False),
    ],
)
def test_a_latency_of_rdma_lies_between_its_ends_under_its_own_head(row, believed):
    head = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    text = (
        f"                    RDMA_Write Latency Test\n{head}   99% percentile[usec]   99.9% percentile[usec] \n{row}\n"
    )
    whole_row = row.replace(" 2 ", " 4 ", 1) if believed else " 4 1000 1.05 5.41 1.10 1.12 0.05 1.30 5.41"
    (one,) = records(f"{text}{whole_row}\n")
    assert [m["size_bytes"] for m in one["results"]] == ([2, 4] if believed else [4])


def test_megabytes_of_rdma_are_those_of_two_to_the_twentieth():
    (small, _) = only(RDMA.replace("Gb/sec", "MB/sec")).tables
    assert small.cells == {("mlx5_2", "peer"): pytest.approx(0.056 * 2**20 / 1e9)}


@pytest.mark.parametrize("between", ["", "[n1:7] UCX WARN transport error", "# a comment"])
def test_rows_of_perftest_below_a_foreign_line_are_a_fault_and_not_silently_lost(between):
    place = RDMA.index(" 8388608 ")
    run = only(f"{RDMA[:place]}{between}\n{RDMA[place:]}")
    assert run.tables == [rdma(2, 0.007, 0.008, 4)]
    row = "'8388608    5000             98.00              97.60        ' is a row without the head of its table"
    assert run.faults == [f"line 6: {row}: the row is ignored"]


def test_a_last_row_of_a_collective_that_follows_other_text_in_its_line_is_a_fault():
    place = NCCL.rindex("\n", 0, NCCL.index("268435456")) + 1
    run = only(f"{NCCL[:place]}[n1:7] UCX WARN transport error {NCCL[place:]}")
    assert [table.size_bytes for table in run.tables] == [134217728]
    (fault,) = run.faults
    assert fault.startswith("line 9: '[n1:7] UCX WARN transport error") and "is an incomplete row" in fault
