"""What the checks of perftest say of recorded outputs: whole ones, and ones that lack something."""

import importlib
import re
from pathlib import Path

import pytest
from reasons import said as sentences

from linkmatrix.foreign import adapter_pairs
from linkmatrix.foreign.adapter_pairs import measurement_faults
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.runs import judging, testcases

DATA = Path(__file__).resolve().parents[1] / "data" / "perftest"
MIB = 1 << 20


def adapters():
    """The module of checks/; conftest.py says where that is."""
    return importlib.import_module("linkmatrix_checks.adapters")


def ratio_faults(record, promised):
    return sentences(adapters().ratio_faults(record, promised))


def groups(**promise):
    return adapters().specified({"adapters": promise})


def step(adapter, how="alone", code=0, program="ib_write_bw", text=None, value="97.77"):
    """A step as the script prints it, with the recorded output of 1 MiB."""
    kind = program.rpartition("_")[2]
    recorded = (DATA / f"{kind}.txt").read_text().replace("mlx5_0", adapter).replace("97.77", value)
    lines = [
        line for line in recorded.splitlines() if kind == "lat" or not re.match(r" \d+ ", line) or str(MIB) in line
    ]
    said = lines if text is None else text.splitlines()
    return "\n".join([f"step {program} {adapter} {how} code={code}", *(f"| {line}" for line in said)])


def printed(*steps, rate="100 Gb/sec (4X EDR)", names=("mlx5_0", "mlx5_1")):
    of_nodes = [f"adapter {role} {node} {name} {rate}" for role, node in ends() for name in names]
    return "\n".join(["version 6.06", *of_nodes, *steps, "Result: PASS", ""])


def ends():
    return (("server", "n1"), ("client", "n2"))


COMMAND = f"ib_write_bw -F --report_gbits -s {MIB} -D 6"


def recorded(text, testcase="ib_write_bw", how="alone", memory="host", asked=""):
    """(output, its checked record)."""
    output = adapter_pairs.parse_output(text, asked)
    record = adapter_pairs.record_of(output, testcase, how, "rdma_perftest", testcase, memory)
    reading.check(record)
    return output, record


def test_each_adapter_is_a_row_and_what_it_has_of_its_line_rate_is_said():
    output, record = recorded(printed(step("mlx5_0"), step("mlx5_1", value="90.00")))
    assert measurement_faults(output, ["alone"]) == []
    (result,) = record["results"]
    assert (result["rows"], result["columns"], result["unit"]) == (["mlx5_0", "mlx5_1"], ["peer"], "GB/s")
    assert result["values"] == [[12.22125], [11.25]] and result["limit"] == [[12.5], [12.5]]
    assert (result["size_bytes"], result["engine"], result["link_class"]) == (MIB, "rdma", [["NET"], ["NET"]])
    assert "of the line rate: mlx5_0 97.77 of 100 Gb/s (97.8 %), mlx5_1 90.00 of 100 Gb/s (90.0 %)" in result["notes"]
    assert (record["host"]["name"], [one["name"] for one in record["nodes"]]) == ("n2", ["n1", "n2"])
    assert (record["result"], record["expected"]) == ("PASS", ["ib_write_bw"])


def test_the_head_of_perftest_stands_in_the_record_for_each_adapter_where_they_differ():
    other = step("mlx5_1").replace("Mtu             : 4096[B]", "Mtu             : 1024[B]")
    _, record = recorded(printed(step("mlx5_0"), other))
    said = record["software"]
    assert said["perftest"] == "6.06"
    assert said["perftest Link type"] == "Ethernet" and said["perftest GID index"] == "3"
    assert said["perftest Connection type"] == "RC" and said["perftest Transport type"] == "IB"
    assert said["perftest Mtu"] == "mlx5_0 4096[B], mlx5_1 1024[B]"
    assert said["perftest GIDs"].startswith("00:00:") and " to " in said["perftest GIDs"]


def test_latencies_are_typical_ones_and_have_no_line_rate():
    output, record = recorded(
        printed(*(step(name, program="ib_write_lat") for name in ("mlx5_0", "mlx5_1"))), "ib_write_lat", memory="device"
    )
    (result,) = record["results"]
    assert (result["values"], result["unit"], result["limit"]) == ([[1.1], [1.1]], "us", [[None], [None]])
    assert result["memory"] == "device"
    assert ratio_faults(record, groups(ratio=0.95)) == []


@pytest.mark.parametrize(
    ("spoilt", "sentence"),
    [
        ({"code": 1, "text": "Couldn't connect to n1:18515"}, "ended with exit code 1: Couldn't connect to n1:18515"),
        (
            {"code": 124, "text": "adapter_pairs: it took more than 60 s"},
            "ended with exit code 124: it took more than 60",
        ),
        ({"code": 0, "text": ""}, "printed no complete table of one size: its last line is 'no output'"),
    ],
)
def test_an_adapter_without_a_value_is_named_and_the_others_are_kept(spoilt, sentence):
    output, record = recorded(printed(step("mlx5_0", **spoilt), step("mlx5_1")))
    (fault,) = measurement_faults(output, ["alone"])
    assert fault.startswith(f"ib_write_bw over mlx5_0 {sentence}")
    (result,) = record["results"]
    assert (result["status"], result["complete"], record["result"]) == ([["error"], ["ok"]], False, "ERROR")


def test_an_output_that_is_cut_anywhere_has_no_value():
    whole = step("mlx5_0").splitlines()
    for lines in range(1, len(whole)):
        cut = "\n".join(whole[:lines])
        output, _ = recorded(printed(cut, step("mlx5_1")))
        (fault,) = measurement_faults(output, ["alone"])
        assert fault.startswith("ib_write_bw over mlx5_0 printed no complete table"), lines
    for characters in range(1, len(whole[-2])):
        row = whole[-2][:-characters]
        output, _ = recorded(printed("\n".join([*whole[:-2], row]), step("mlx5_1")))
        assert len(measurement_faults(output, ["alone"])) == 1, row


def of_both(at_once):
    steps = [step(name, how) for how in ("alone", "at-once") for name in ("mlx5_0", "mlx5_1")]
    steps[-1] = step("mlx5_1", "at-once", value=at_once)
    return recorded(printed(*steps), "ib_write_bw_at_once", "at-once")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("RDMA_Write BW Test", "Send BW Test", "ib_send_bw"),
        ("RDMA_Write BW Test", "RDMA_Write Bidirectional BW Test", "ib_write_bw_both_ways"),
        (" 1048576 ", " 524288 ", "ib_write_bw of 524288 bytes"),
    ],
)
def test_another_measurement_than_was_asked_for_is_no_value(old, new, said):
    """Both directions have twice the line rate: the sum of two that are slow would keep what is promised of one."""
    output, record = recorded(printed(step("mlx5_0").replace(old, new), step("mlx5_1")), asked=COMMAND)
    (fault,) = measurement_faults(output, ["alone"])
    assert fault.startswith(f"ib_write_bw over mlx5_0 printed a table of {said}, but ")
    assert record["results"][0]["status"] == [["error"], ["ok"]]


def test_all_at_once_are_held_against_the_sum_of_each_alone():
    output, record = of_both("48.88")
    (result,) = record["results"]
    assert result["testcase"] == "ib_write_bw_at_once" and result["values"] == [[12.22125], [6.11]]
    assert result["parts"]["alone"]["values"] == [[12.22125], [12.22125]]
    assert "all adapters concurrently reach 75.0 % of the sum of their separate values" in result["notes"]
    (fault,) = ratio_faults(record, groups(at_once=0.95, ratio=0.95))
    assert fault.startswith(
        "ib_write_bw_at_once: all adapters concurrently reach 75.0 % of the sum of their separate values"
    )
    assert fault.endswith("the partition specifies 95 %")
    output, record = of_both("97.77")
    assert ratio_faults(record, groups(at_once=0.95)) == []


def test_less_of_the_line_rate_than_promised_is_a_fault_and_so_is_an_unknown_rate():
    output, record = recorded(printed(step("mlx5_0"), step("mlx5_1", value="90.00")))
    assert ratio_faults(record, groups(ratio=0.95)) == [
        "ib_write_bw: mlx5_1 has 90.00 Gb/s, 90.0 % of 100 Gb/s, the partition specifies 95 %"
    ]
    assert ratio_faults(record, groups(ratio=0.95, names=["mlx5_0"])) == []
    output, record = recorded(printed(step("mlx5_0"), step("mlx5_1"), rate=""))
    assert len(ratio_faults(record, groups(ratio=0.95))) == 2
    assert ratio_faults(record, groups(ratio=0.95, rate=100)) == []


def test_show_judges_it_against_references_and_against_what_the_line_can_carry(tmp_path):
    _, record = recorded(printed(step("mlx5_0"), step("mlx5_1", value="99.99", code=0), rate="40 Gb/sec (4X QDR)"))
    test = testcases.Test(name="rdma_perftest", record=record)
    judged = judging.judge(test, References({}), None)
    assert judged.verdict is Verdict.FAIL, "more than a line of 40 Gb/s can carry"
    _, record = recorded(printed(step("mlx5_0"), step("mlx5_1")))
    assert judging.judge(testcases.Test(name="rdma_perftest", record=record), References({}), None).verdict is (
        Verdict.NOT_JUDGED
    )
