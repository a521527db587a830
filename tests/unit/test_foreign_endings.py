"""What stands outside of the tables: wrong data, the end of a program before its time, concurrent copies, one rank."""

import json

import pytest
from foreign_texts import DATA, FOREIGN, SMALL, records

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.foreign.endings import MOST_ENDINGS, ending
from linkmatrix.foreign.scan import read_text
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References

NCCL = FOREIGN["nccl_tests_v2.13_layout.txt"]
NO_REFERENCES = References({})
WAYS = "    time   algbw   busbw  #wrong"
UNITS = "      (us)  (GB/s)  (GB/s)       "
HEAD = f"#  size   count   type   redop  root {WAYS} {WAYS}\n#   (B)  (elements)                  {UNITS} {UNITS}\n"
MOVED = "  {}  104.86    0.00       0"
ALONE = HEAD + "".join(
    f"  {size}   {size // 4}   float   sum   -1 {MOVED.format(time)} {MOVED.format(time)}\n"
    for size, time in ((1048576, "10.00"), (2097152, "20.00"))
)
TOGETHER = ALONE.replace("   0.00 ", " 104.86 ")
RANK = "#  Rank  0 Group  0 Pid 11 on n1 device  0 [0x1b] NVIDIA H100\n"
OSU = FOREIGN["osu_bw.txt"]


def verdict_of(record):
    return judge_test(record, CheckFacts(), NO_REFERENCES, "").verdict


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nvbandwidth_v0.2_core_dump.txt", "'Aborted (core dumped)'"),
        ("osu_bibw_v7.5_segfault.txt", "'Segmentation fault (11)'"),
    ],
)
def test_a_report_that_ends_with_a_signal_is_incomplete_and_names_it(name, said):
    (record,) = records(FOREIGN[name])
    assert verdict_of(record) is Verdict.INCOMPLETE and said in record["error"]
    assert all(result["complete"] for result in record["results"])


def test_a_failed_data_check_is_a_fail_of_its_test_case_and_the_good_table_stays():
    (record,) = records(FOREIGN["nvbandwidth_v0.7_data_check.txt"])
    good, wrong = record["results"]
    assert (record["result"], verdict_of(record)) == ("FAIL", Verdict.FAIL)
    assert "line 25: device_to_device_memcpy_read_ce: wrong data arrived" in record["error"]
    assert good["complete"] and good["values"][0][0] == 24.81
    assert wrong["testcase"] == "device_to_device_memcpy_read_ce" and wrong["verified"] is False
    assert {word for row in wrong["status"] for word in row} == {"not-run", "not-applicable"}


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("nvbandwidth_v0.7_data_check.txt", "memory and link errors of these GPUs"),
        ("nvbandwidth_v0.2_core_dump.txt", "Read the end of the imported output"),
    ],
)
def test_the_step_after_an_import_that_failed_is_about_the_program_and_not_the_import(tmp_path, capsys, name, step):
    assert cli.main(["import", str(DATA / "foreign" / name), "--out", str(tmp_path / "out")]) in (0, 3)
    for command in ("show", "diagnose"):
        capsys.readouterr()
        cli.main([command, str(tmp_path / "out")])
        said = " ".join(capsys.readouterr().out.split())
        assert step in said and "linkmatrix import" not in said and "folder of its test" not in said


@pytest.mark.parametrize(
    "text",
    [
        "Running device_to_device_memcpy_write_sm.\n Invalid value when checking the pattern at <0x7f>\n",
        "Running device_to_device_memcpy_write_sm.\n\n\tSample 0: Device 0 -> Device 1: 1.00 GB/s\n"
        " Invalid value when checking the pattern at 0x7f\n Current offset : 3\n",
        "> Running device_to_device_memcpy_write_sm.\n>  Invalid value when checking the pattern at 0x7f\n",
    ],
)
def test_wrong_data_without_any_table_is_a_record_too(text):
    (record,) = records(text)
    assert verdict_of(record) is Verdict.FAIL and record["results"] == []
    assert "device_to_device_memcpy_write_sm: wrong data arrived" in record["error"]


@pytest.mark.parametrize("first", [0, 1])
def test_a_failed_data_check_in_a_json_is_a_fail_and_the_good_tables_stay(first):
    content = json.loads(FOREIGN["nvbandwidth_v0.8_layout.json"])
    cases = content["nvbandwidth"]["testcases"]
    wrong = {"name": "device_to_device_memcpy_read_sm", "status": "Error"}
    wrong["error"] = " Invalid value when checking the pattern at 0x7f  Current offset : 3"
    content["nvbandwidth"]["testcases"] = [wrong, *cases] if first else [*cases, wrong]
    (record,) = records(json.dumps(content))
    assert verdict_of(record) is Verdict.FAIL and len(record["results"]) == len(cases)
    assert "device_to_device_memcpy_read_sm: wrong data arrived" in record["error"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"testcases": []}, "contains no table"),
        ({"testcases": [], "error": "CUDA_ERROR_NO_DEVICE"}, "CUDA_ERROR_NO_DEVICE"),
        ({"testcases": [{"name": "device_local_copy", "status": "Error", "error": "it broke"}]}, "it broke"),
    ],
)
def test_a_json_without_any_table_is_refused_with_the_reason(changes, said):
    with pytest.raises(BadInput, match=said):
        records(json.dumps({"nvbandwidth": changes}))


def test_wrong_data_of_a_pair_that_is_printed_names_the_pair():
    devices = "Device 0: NVIDIA H100\nDevice 1: NVIDIA H100\n"
    wrong = " Invalid value when checking the pattern at 0x7f\n   transport : Device 0 -> Device 1\n"
    (record,) = records(f"{devices}Running device_to_device_memcpy_write_sm.\n{wrong}")
    assert record["results"][0]["status"][0][1] == "error" and "from gpu0 to gpu1" in record["error"]


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("# OSU MPI Bandwidth Test v7.4\n# Size   Bandwidth (MB/s)  Validation\n8   2.00   Fail\n", ("rank0", "rank1")),
        (TOGETHER.replace("       0\n", "       3\n"), ("all", "in-place")),
        (TOGETHER.replace("104.86       0 ", "104.86       5 "), ("all", "out-of-place")),
    ],
)
def test_wrong_data_that_another_program_found_is_a_fail_of_the_cell(text, pair):
    record = records(text)[0]
    result = record["results"][0]
    at = result["rows"].index(pair[0]), result["columns"].index(pair[1])
    assert result["status"][at[0]][at[1]] == "error" and result["verified"] is False
    assert verdict_of(record) is Verdict.FAIL


ENDS = [
    ("[n1:572282] Signal: Segmentation fault (11)", "Segmentation fault (11)"),
    ("mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).", "signal 9 (Killed)"),
    ("srun: error: n17: task 3: Segmentation fault (core dumped)", "Segmentation fault (core dumped)"),
    ("srun: error: n17: tasks 0-3: Exited with exit code 1", "Exited with exit code 1"),
    (
        "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-26T10:00:00 DUE TO TIME LIMIT ***",
        "DUE TO TIME LIMIT",
    ),
    ("MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD", "MPI_ABORT was invoked"),
    (
        "Abort(1) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1)",
        "application called MPI_Abort",
    ),
    (
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    ),
    ("./run.sh: line 3: 4711 Killed                  ./nvbandwidth -t 1", "Killed"),
    ("Aborted (core dumped)", "Aborted (core dumped)"),
    ("bash: line 1:  4711 Bus error               (core dumped) ./all_reduce_perf", "Bus error"),
    ("n1: Test NCCL failure common.cu:401 'unhandled system error / '", "Test NCCL failure"),
    ("CUDA_ERROR_ILLEGAL_ADDRESS an illegal memory access was encountered", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=12.0", "oom-kill"),
]


@pytest.mark.parametrize(("line", "how"), ENDS)
@pytest.mark.parametrize("text", [SMALL, NCCL, OSU], ids=["nvbandwidth", "nccl", "osu"])
def test_an_end_before_its_time_makes_the_run_incomplete(text, line, how):
    for around, run in ((f"{text}{line}\n", -1), (f"{line}\n{text}", 0)):
        record = records(around)[run]
        assert f"'{how}': the program ended early" in record["error"]
        assert record["result"] == "ERROR" and verdict_of(record) is Verdict.INCOMPLETE


@pytest.mark.parametrize(
    "line",
    [
        "The last node was Killed by us yesterday",
        "warning: aborted connection attempts: 3",
        "Errors: none, signals: none",
        "Out of bounds values : 0 OK",
        "task 3 of 4: done",
        "NOTE: core dumps are disabled",
    ],
)
def test_prose_is_no_end(line):
    assert ending(line) == "" and records(f"{SMALL}{line}\n")[0]["result"] == "PASS"


def test_the_same_end_of_many_ranks_is_said_a_few_times():
    ends = "".join(f"[n{rank}:1] Signal: Bus error (7)\n" for rank in range(99))
    assert len(read_text(SMALL + ends)[0].problems) == MOST_ENDINGS


COPIES = "several copies of the program ran concurrently"


@pytest.mark.parametrize(
    "text",
    [
        RANK + RANK.replace("device  0", "device  1") + ALONE,
        RANK * 8 + TOGETHER,
        "# OSU MPI Bandwidth Test v7.4\n" * 2
        + "# Size   Bandwidth (MB/s)\n" * 2
        + "1  2.00\n1  2.50\n2  4.00\n2  4.50\n",
        "Running device_to_device_memcpy_write_ce.\n" + SMALL,
    ],
)
def test_copies_that_ran_concurrently_are_incomplete_with_the_cause(text):
    record = records(text)[0]
    assert verdict_of(record) is Verdict.INCOMPLETE and COPIES in record["error"]
    assert len(records(text)) == 1


def in_turn(text):
    """Each line twice, as two copies print at the same pace."""
    return "".join(line * 2 for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    "text",
    [
        in_turn(RANK + ALONE),
        in_turn(RANK + TOGETHER),
        in_turn(TOGETHER),
        RANK + HEAD + RANK + HEAD + TOGETHER[len(HEAD) :] * 2,
        in_turn(SMALL),
        in_turn("nvbandwidth Version: v0.8\n" + SMALL),
        in_turn(OSU),
    ],
)
def test_copies_whose_lines_are_mixed_are_incomplete_or_refused_with_the_cause(text):
    try:
        found = records(text)
    except BadInput as error:
        assert COPIES in str(error)
        return
    assert COPIES in found[0]["error"] and verdict_of(found[0]) is Verdict.INCOMPLETE


def test_cycles_of_nccl_tests_are_no_copies():
    found = records(HEAD + TOGETHER[len(HEAD) :] * 3)
    assert [len(one["results"]) for one in found] == [2, 2, 2] and all(one["error"] is None for one in found)


def test_a_test_case_that_was_waived_is_the_reason_for_a_text_without_a_table():
    with pytest.raises(BadInput, match="device_to_device_memcpy_read_ce was waived"):
        records("nvbandwidth Version: v0.8\n\nRunning device_to_device_memcpy_read_ce.\nWaived: \n")


@pytest.mark.parametrize("ranks", ["", RANK, "$ ./build/all_reduce_perf -b 1M -e 2M -f 2 -g 1\n"])
def test_one_rank_moves_nothing_and_the_message_says_so(ranks):
    (record,) = records(ranks + ALONE)
    assert verdict_of(record) is Verdict.INCOMPLETE
    assert "ran on one rank, which moves no data" in record["error"]
    assert "wrong" not in record["error"] and record["results"][0]["status"] == [["not-run", "not-run"]]
    assert record["results"][0]["verified"] is True


def test_two_ranks_that_moved_nothing_are_an_error():
    (record,) = records(RANK + RANK.replace("Rank  0", "Rank  1").replace("device  0", "device  1") + ALONE)
    assert "moved nothing" in record["error"] and record["results"][0]["status"] == [["error", "error"]]


NVBANDWIDTH = FOREIGN["nvbandwidth_v0.10_b300.txt"]
TAGGED = FOREIGN["nccl_tests_v2.18_tag_output.txt"]
PERFTEST = """                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             46740.30            46733.20\t\t   0.747731
---------------------------------------------------------------------------------------
"""


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (
            NVBANDWIDTH,
            "[12.3] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
            "Xid (PCI:0000:3b:00",
        ),
        (NVBANDWIDTH, "n1 kernel: NVRM: Xid (PCI:0000:3b:00): 94, Contained: SM", "Xid (PCI:0000:3b:00): 94'"),
        (
            NVBANDWIDTH,
            "Cuda failure p2p.cu:200: 'an illegal memory access was encountered'",
            "'Cuda failure p2p.cu:200",
        ),
        (PERFTEST, " Completion with error at client", "'Completion with error at client'"),
        (PERFTEST, " Failed status 12: wr_id 0 syndrom 0x81", "'Failed status 12: wr_id'"),
        (OSU, "Speicherzugriffsfehler (Speicherabzug geschrieben)", "'Speicherzugriffsfehler'"),
        (OSU, "bash: line 1: Erreur de segmentation", "'Erreur de segmentation'"),
    ],
)
def test_an_error_below_the_tables_makes_the_run_incomplete(text, line, said):
    record = records(f"{text}\n{line}\n")[-1]
    assert verdict_of(record) is Verdict.INCOMPLETE and said in record["error"]


@pytest.mark.parametrize("sizes", [1, 4, 7])
def test_a_table_of_sizes_that_is_cut_between_two_lines_is_incomplete(sizes):
    lines = TAGGED.splitlines()
    first = next(at for at, line in enumerate(lines) if "  1048576  " in line)
    (record,) = records("\n".join(lines[: first + sizes]) + "\n")
    assert verdict_of(record) is Verdict.INCOMPLETE
    assert "the program measures up to 128 MiB: the end of the table is missing" in record["error"]


@pytest.mark.parametrize("lines_left_out", [1, 4])
def test_a_table_of_sizes_that_reached_its_largest_size_needs_no_line_below_it(lines_left_out):
    (record,) = records("\n".join(TAGGED.splitlines()[:-lines_left_out]) + "\n")
    assert record["error"] is None or "the end of the table is missing" not in record["error"]
