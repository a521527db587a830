"""A node that is slower than the alike nodes of its sweep, or has fewer devices than them, is a finding."""

import copy
from pathlib import Path

import numpy as np
import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.findings import slow_node_findings
from linkmatrix.judge.inventory_diff import node_differences
from linkmatrix.judge.node_comparison import Key, NodeMedians, differences
from linkmatrix.record import reading
from linkmatrix.references.tables import References

DATA = Path(__file__).parents[1] / "data"
WRITE = "device_to_device_memcpy_write_ce"
KEY = Key("cuda", WRITE, 1 << 29, "", "NV18", ("NVIDIA H200",))


def sweep(count=8, slow=(), factor=0.9, spread=0.002, models=None, changed=()):
    """(node, record, evaluation) of copies of one record, with noise, some nodes slower.

    changed: pairs of a node's number and a function that changes its record.
    """
    noise, record = np.random.default_rng(5), reading.load(DATA / "h200x2_idle.record.json")
    for at in range(count):
        for_node = copy.deepcopy(record)
        for device in for_node["devices"]:
            device["name"] = (models or {}).get(at, device["name"])
        for _, change in (one for one in changed if one[0] == at):
            change(for_node)
        for result in for_node["results"]:
            gain = 1 + noise.normal(0, spread)
            gain *= factor if at in slow and result["testcase"] == WRITE else 1
            result["values"] = [[one and one * gain for one in row] for row in result["values"]]
        yield f"n{at}", for_node, evaluate(for_node, References({}), None)


def test_one_node_that_differs_is_named_with_its_figures():
    assert list(slow_node_findings(sweep())) == []
    (one,) = slow_node_findings(sweep(slow=[3]))
    assert (one.kind, one.component, one.testcase) == ("unlike node", "n3", WRITE)
    assert one.evidence.startswith(f"n3: {WRITE} ") and "7 alike nodes (median " in one.evidence
    assert "8 alike nodes compared" in one.confidence and "1 of " in one.confidence
    assert 0.09 < one.weight < 0.11 and f"{100 * one.weight:.1f} % worse" in one.evidence


@pytest.mark.parametrize(("count", "slow", "named"), [(3, [1], ["n1"]), (2, [1], []), (8, [0, 1, 2], [])])
def test_two_nodes_and_a_cause_that_many_nodes_share_name_none(count, slow, named):
    assert [one.component for one in slow_node_findings(sweep(count=count, slow=slow))] == named


def test_nodes_with_other_gpus_are_not_compared():
    others = dict.fromkeys((3, 4), "NVIDIA A100")
    assert list(slow_node_findings(sweep(count=5, slow=[3], models=others))) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["devices"].append({**record["devices"][0], "label": "gpu2"}),
        lambda record: record["host"].update(cpu="AMD EPYC 9654"),
    ],
    ids=["more GPUs", "another processor"],
)
def test_nodes_with_another_number_of_gpus_or_other_processors_are_not_compared(change):
    """Copies of all GPUs share the links of the host, and the processor decides about host memory."""
    assert [one.component for one in slow_node_findings(sweep(slow=[3]))] == ["n3"]
    assert list(slow_node_findings(sweep(slow=[3], changed=[(3, change)]))) == []


def group(testcase, values, models=("NVIDIA H200",)):
    """{key: figures} of a group of alike nodes."""
    of_node = {f"{models[0]} {at}": value for at, value in enumerate(values)}
    return {KEY._replace(testcase=testcase, models=models): NodeMedians(of_node, "GB/s", 0.02)}


def test_half_of_a_small_group_is_not_named_in_a_large_sweep():
    """Three of six nodes are slow. The other 60 nodes are another model, and do not make them few."""
    draw = np.random.default_rng(1)
    half = [270.0, 270.1, 269.9, 300.0, 300.1, 299.9]
    assert differences(group("x", half, ("B",))) == []
    assert differences(group("x", draw.normal(400, 0.4, 60)) | group("x", half, ("B",))) == []


def test_a_test_case_with_more_noise_than_others_has_its_own_spread():
    """Kernel copies vary more than copies by engines, and both have the floor of links."""
    draw, wrong = np.random.default_rng(2), 0
    for _ in range(100):
        figures = {key: one for at in range(10) for key, one in group(f"t{at}", draw.normal(400, 0.4, 16)).items()}
        wrong += len(differences(figures | group("noisy", draw.normal(400, 6.0, 16))))
    assert wrong <= 5


def one_figure(*values, unit="GB/s", floor=0.02):
    """The figures of nodes n0, n1 …"""
    return {KEY: NodeMedians({f"n{at}": value for at, value in enumerate(values)}, unit, floor)}


def test_a_deviation_below_the_floor_of_the_data_path_is_no_finding():
    assert differences(one_figure(100.0, 100.0, 100.0, 98.5)) == []
    (one,) = differences(one_figure(100.0, 100.0, 100.0, 97.5))
    assert one.node == "n3" and one.worse == pytest.approx(0.025) and one.limit == 0.02
    assert (one.beyond, one.compared) == (1, 1)


def test_noisy_figures_raise_the_limit():
    assert differences(one_figure(100.0, 104.0, 96.0, 101.0, 93.0)) == []


def test_a_slower_latency_is_worse_and_a_faster_node_is_no_finding():
    assert [one.node for one in differences(one_figure(2.0, 2.0, 2.0, 2.6, unit="us", floor=0.2))] == ["n3"]
    assert differences(one_figure(2.0, 2.0, 2.0, 1.4, unit="us", floor=0.2)) == []
    assert differences(one_figure(100.0, 100.0, 100.0, 110.0)) == []


def test_figures_of_noisy_links_do_not_hide_those_of_steady_links():
    steady = NodeMedians({f"n{at}": value for at, value in enumerate((390.0, 390.1, 389.9, 375.0))}, "GB/s", 0.02)
    noisy = NodeMedians({f"n{at}": value for at, value in enumerate((50.0, 55.0, 45.0, 52.0))}, "GB/s", 0.08)
    found = differences({KEY: steady, KEY._replace(link_class="HOST"): noisy})
    assert [(one.node, one.key.link_class) for one in found] == [("n3", "NV18")]


def test_a_node_that_lost_a_device_before_the_run_is_the_odd_one(make_record):
    """As one whose GPU did not come up when it was booted."""
    records = []
    for node, count in (("n1", 4), ("n2", 4), ("n3", 3)):
        record = make_record(count=count, host=node)
        for device in record["devices"]:
            device["node"] = node
        records.append(("gpu", record))
    assert any(line.startswith("n3: ") for line in node_differences(records)), node_differences(records)


def of_nodes(make_record, counts, **changes):
    records = []
    for node, count in counts.items():
        record = make_record(count=count, host=node)
        record |= changes
        for device in record["devices"]:
            device["node"] = node
        records.append(("gpu", record))
    return records


def test_the_odd_one_is_said_once_of_all_checks_that_saw_it(make_record):
    counts = {"n1": 4, "n2": 4, "n3": 3}
    records = [one for check in ("a", "b") for one in of_nodes(make_record, counts, asked_by=check)]
    assert node_differences(records) == ["n3: number of NVIDIA H200 is 3, and 4 on 2 of 3"]


@pytest.mark.parametrize(
    "changes", [{"backend": "mpi"}, {"command": ["p2p_matrix", "--devices", "0,1,2"]}, {"backend": "imported"}]
)
def test_who_uses_some_of_the_devices_does_not_lack_the_others(make_record, changes):
    known = of_nodes(make_record, {"n1": 4, "n2": 4})
    assert node_differences([*known, *of_nodes(make_record, {"n3": 3}, **changes)]) == []
    other_check = of_nodes(make_record, {"n1": 2, "n2": 2, "n4": 2}, asked_by="another check")
    assert node_differences([*known, *other_check]) == []
