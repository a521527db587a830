"""The OSU micro-benchmarks, as they print and as pages show them: what each line means, field by field."""

import pytest
from foreign_texts import only

from linkmatrix.foreign.table import Table


def of_ranks(size, value, line, **changes):
    """A size of osu_latency between two ranks in host memory."""
    described = {"testcase": "osu_latency_hh", "quantity": "one-way latency", "metric": "latency"}
    described |= {"rows": ("rank0",), "columns": ("rank1",), "engine": "mpi", "memory": "host", "transport": "mpi"}
    described |= changes
    pair = (described["rows"][0], described["columns"][0])
    return Table(size_bytes=size, cells={pair: value}, line=line, **described)


DEVICES = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
LATENCY = """# OSU MPI Latency Test v5.7
# Size          Latency (us)
0                       0.88
4                       0.91
"""


def test_a_size_of_osu_latency_is_a_result_between_two_ranks():
    run = only(LATENCY)
    assert (run.program, run.software, run.first, run.last) == ("osu", {"OSU micro-benchmarks": "5.7"}, 3, 4)
    assert run.tables == [of_ranks(0, 0.88, 3), of_ranks(4, 0.91, 4)] and run.faults == []


@pytest.mark.parametrize(
    ("title", "below", "changes", "value"),
    [
        ("MPI-CUDA Latency Test", DEVICES, {"testcase": "osu_latency_dd", "memory": "device"}, 2360.5),
        (
            "MPI Latency Test",
            "# Send Buffer on HOST (H) and Receive Buffer on DEVICE (D)\n",
            {"testcase": "osu_latency_hd", "memory": "device"},
            2360.5,
        ),
        (
            "MPI Bandwidth Test",
            "",
            {"testcase": "osu_bw_hh", "quantity": "bandwidth", "metric": "bandwidth"},
            2.3605,
        ),
        (
            "MPI Bi-Directional Bandwidth Test",
            "",
            {"testcase": "osu_bibw_hh", "quantity": "sum of both directions", "metric": "bidirectional"},
            2.3605,
        ),
        (
            "MPI Multi Latency Test",
            "# [ pairs: 2 ]\n",
            {"testcase": "osu_multi_lat_hh_2_pairs", "quantity": "one-way latency, mean of all pairs"}
            | {"rows": ("senders",), "columns": ("receivers",)},
            2360.5,
        ),
        (
            "MPI Multiple Bandwidth / Message Rate Test",
            "# [ pairs: 4 ] [ window size: 64 ]\n",
            {"testcase": "osu_mbw_mr_hh_4_pairs", "quantity": "sum of all pairs", "metric": "bandwidth"}
            | {"rows": ("senders",), "columns": ("receivers",)},
            2.3605,
        ),
    ],
)
def test_every_test_of_osu_says_what_its_numbers_are(title, below, changes, value):
    unit = "us" if "Latency" in title else "MB/s"
    text = f"# OSU {title} v5.7\n{below}# Size          Figures ({unit})\n8                       2360.50\n"
    assert only(text).tables == [of_ranks(8, value, 3 + bool(below), **changes)]


RATES = """# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 4 ] [ window size: 64 ]
# Size                  MB/s        Messages/s        Validation
# Datatype: MPI_CHAR.
1                      18.77       18770123.45              Pass
4096                 9000.12        2197295.70              Pass
"""


def test_messages_of_several_pairs_have_their_rate_and_a_line_on_their_type_is_none_of_a_size():
    run = only(RATES)
    assert run.faults == [] and [table.verified for table in run.tables] == [True, True]
    assert [next(iter(table.cells.values())) for table in run.tables] == [0.01877, 9.00012]
    rates = [table.parts["message_rate"] for table in run.tables]
    assert [(one.unit, *one.cells.values()) for one in rates] == [("msg/s", 18770123.45), ("msg/s", 2197295.70)]


@pytest.mark.parametrize("spoilt", ["2197295.71 ", "2199295.70 ", "197295.70 ", "0.00 "])
def test_a_rate_of_messages_that_the_bandwidth_contradicts_is_not_believed_and_said(spoilt):
    text = RATES.replace("2197295.70 ", spoilt)
    believed = spoilt == "2197295.71 "  # both are rounded
    run = only(text)
    assert [table.size_bytes for table in run.tables] == ([1, 4096] if believed else [1])
    assert bool(run.faults) != believed and all("is an incomplete row" in fault for fault in run.faults)


@pytest.mark.parametrize(("said", "value", "verified"), [("Pass", 0.91, True), ("Fail", "error", False)])
def test_data_that_was_wrong_is_no_value_and_is_said(said, value, verified):
    run = only(
        "# OSU MPI Latency Test v7.0\n# Size       Avg Latency(us)        Validation\n"
        f"2                       0.91              {said}\n"
    )
    wrong = ("line 3: messages of 2 bytes from rank0 to rank1 have wrong data",)
    assert run.tables == [of_ranks(2, value, 3, verified=verified, faults=() if verified else wrong)]


@pytest.mark.parametrize("line", ["8    0.9", "8    0.955", "8", "8   0.95   0.95", "8   0.9x"])
def test_a_line_of_a_size_that_is_not_whole_is_not_believed_and_said(line):
    run = only(f"{LATENCY}{line}\n16                      0.99\n")
    assert [table.size_bytes for table in run.tables] == [0, 4]
    assert run.faults == [f"line 5: '{line}' is an incomplete row: the row is ignored"]


def test_the_last_line_of_a_text_may_be_cut_off_in_its_number():
    assert [table.size_bytes for table in only(LATENCY.rstrip("\n")).tables] == [0]
    assert only(LATENCY + "\n# something else\n12 monkeys\n").faults == []


@pytest.mark.parametrize("between", ["", "[n1:7] UCX WARN transport error", "# Datatype: MPI_CHAR.", "4.5 of 8"])
def test_rows_below_a_foreign_line_are_a_fault_and_not_silently_lost(between):
    run = only(f"{LATENCY}{between}\n8                       0.95\n16                      0.99\n")
    assert [table.size_bytes for table in run.tables] == [0, 4]
    row = "'8                       0.95' is a row without the head of its table: the row is ignored"
    assert run.faults == [f"line 6: {row}"]


def test_a_last_row_that_follows_other_text_in_its_line_is_a_fault():
    line = "[n1:7] UCX WARN transport error 8                       0.95"
    run = only(f"{LATENCY}{line}\n")
    assert [table.size_bytes for table in run.tables] == [0, 4]
    assert run.faults == [f"line 5: '{line[:60]}' is an incomplete row: the row is ignored"]
