"""Endpoints of several nodes keep their node: in matrices, devices and findings."""

import json

import pytest
from foreign_texts import cell, records

from linkmatrix.commands.compare import compare
from linkmatrix.record.matrix import from_result
from linkmatrix.runs.figures import Figures, measured_cells

HEAD = "nvbandwidth Version: v0.8\n\nMPI version: Open MPI v5.0.5\nCUDA Runtime Version: 12080\n\n"
HOSTS = ["worker-0", "worker-0", "worker-1", "worker-1"]


def process(rank, host, device):
    return f"Process {rank} ({host}): device {device}: NVIDIA GB200 ({rank + 8:08x}:01:00)"


def listed(hosts):
    return [process(rank, host, hosts[:rank].count(host)) for rank, host in enumerate(hosts)]


def matrix(name, count, values=None):
    lines = [f"Running {name}.", "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)"]
    lines.append("  " + " ".join(map(str, range(count))))
    for row in range(count):
        cells = ["N/A" if row == column else f"{800 + 10 * row + column}.00" for column in range(count)]
        lines.append(f" {row} {' '.join(cells)}")
    return "\n".join(lines) + "\n\n"


WRITE = "multinode_device_to_device_memcpy_write_ce"


def text(hosts, name=WRITE):
    return HEAD + "\n".join(listed(hosts)) + "\n\n" + matrix(name, len(hosts))


def test_processes_of_two_nodes_are_endpoints_with_their_nodes():
    (record,) = records(text(HOSTS))
    (result,) = record["results"]
    labels = ["worker-0:gpu0", "worker-0:gpu1", "worker-1:gpu0", "worker-1:gpu1"]
    assert result["rows"] == result["columns"] == labels == record["topology"]["labels"]
    assert cell(result, "worker-0:gpu1", "worker-1:gpu0") == 812.0
    assert [(one["label"], one["node"]) for one in record["devices"]] == list(zip(labels, HOSTS, strict=True))
    assert {one["name"] for one in record["devices"]} == {"NVIDIA GB200"}


def test_process_6_of_a_worker_is_the_device_of_that_worker():
    hosts = [f"worker-{rank // 4}" for rank in range(8)]
    (record,) = records(text(hosts))
    assert record["results"][0]["rows"][6] == "worker-1:gpu2" and record["devices"][6]["node"] == "worker-1"


def test_rows_that_are_destinations_are_turned_with_their_nodes():
    (record,) = records(text(HOSTS, "multinode_device_to_device_memcpy_read_ce"))
    assert cell(record["results"][0], "worker-1:gpu0", "worker-0:gpu1") == 812.0


@pytest.mark.parametrize(
    ("hosts", "labels"),
    [
        (["n1", "n1"], ["gpu0", "gpu1"]),
        (["n1", "n2"], ["n1:gpu0", "n2:gpu0"]),
        (["n2.cluster.local", "n1.cluster.local"], ["n2.cluster.local:gpu0", "n1.cluster.local:gpu0"]),
        (["n1", "n2", "n1"], ["n1:gpu0", "n2:gpu0", "n1:gpu1"]),
    ],
)
def test_labels_are_those_of_the_processes(hosts, labels):
    (record,) = records(text(hosts))
    assert record["results"][0]["rows"] == labels and [one["node"] for one in record["devices"]] == hosts


def test_parts_of_both_directions_have_the_same_endpoints():
    name = "multinode_device_to_device_bidirectional_memcpy_write_ce"
    table = matrix(name, 2).split("\n", 1)
    tables = "".join(table[1].replace("memcpy CE", f"memcpy CE {side}") for side in ("Write1", "Write2", "Total"))
    (record,) = records(HEAD + "\n".join(listed(["a", "b"])) + f"\n\n{table[0]}\n{tables}")
    (result,) = record["results"]
    assert result["rows"] == ["a:gpu0", "b:gpu0"] and result["testcase"] == name.removeprefix("multinode_")
    assert result["parts"]["one_direction"]["values"][0][1] is not None


@pytest.mark.parametrize("order", [1, -1])
def test_a_test_case_on_one_node_of_several_is_of_the_first_process(order):
    tables = [matrix(WRITE, 4), matrix("device_to_device_memcpy_write_sm", 2)][::order]
    found = records(HEAD + "\n".join(listed(HOSTS)) + "\n\n" + "".join(tables))
    both, one = found[::order]
    assert [one["node"] for one in both["devices"]] == HOSTS
    assert one["results"][0]["rows"] == ["gpu0", "gpu1"]
    assert [device["node"] for device in one["devices"]] == ["worker-0", "worker-0"]


def test_a_matrix_that_comes_again_has_the_same_endpoints():
    first, second = records(text(HOSTS) + matrix(WRITE, 4))
    assert first["results"][0]["rows"] == second["results"][0]["rows"] and second["devices"] == first["devices"]


@pytest.mark.parametrize("wrong", [[process(0, "a", 0)] * 2, [process(0, "a", 0)], [process(1, "a", 0)]])
def test_a_list_of_processes_that_does_not_fit_names_no_nodes(wrong):
    content = HEAD + "\n".join(wrong) + "\n\n" + matrix(WRITE, 2)
    rows = records(content)[0]["results"][0]["rows"]
    assert len(rows) == 2 and not any("a:" in label for label in rows)


def test_the_json_of_several_nodes_keeps_them():
    case = {"name": WRITE, "status": "Passed", "bandwidth_matrix": [["N/A", "801.00"], ["810.00", "N/A"]]}
    case["bandwidth_description"] = "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)"
    content = {"version": "v0.8", "GPU Device list": listed(["a", "b"]), "testcases": [case]}
    (record,) = records(json.dumps({"nvbandwidth": content}))
    assert record["results"][0]["rows"] == ["a:gpu0", "b:gpu0"]


def test_the_name_of_the_only_host_is_the_node_of_its_devices():
    devices = "\nn17\nDevice 0: NVIDIA H100 (00000000:19:00)\nDevice 1: NVIDIA H100 (00000000:3b:00)\n\n"
    (record,) = records(HEAD + devices + matrix("device_to_device_memcpy_write_ce", 2))
    assert {one["node"] for one in record["devices"]} == {"n17"}
    assert record["results"][0]["rows"] == ["gpu0", "gpu1"]


def test_a_test_case_of_several_nodes_compares_with_the_same_of_this_program():
    (result,) = records(text(HOSTS))[0]["results"]
    found = from_result(result)
    theirs = Figures(found.testcase, "", found.unit, found.size_bytes, measured_cells(found))
    ours = Figures("device_to_device_memcpy_write_ce", "", "GB/s", None, measured_cells(found))
    assert len(compare([ours], [theirs], set()).rows) == 1


@pytest.mark.parametrize("name", ["multinode_all_to_one_write_sm", "multinode_bisect_write_ce"])
def test_a_test_case_that_this_program_does_not_have_keeps_its_name(name):
    table = f"Running {name}.\nmemcpy SM GPU(row) <- GPU(column) bandwidth (GB/s)\n  0 1\n 0 700.00 701.00\n\n"
    (record,) = records(HEAD + "\n".join(listed(["a", "b"])) + "\n\n" + table)
    assert record["results"][0]["testcase"] == name and "b:gpu0" in str(record["results"][0])
