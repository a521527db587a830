"""The lines under a run: its network adapters, and what goes between devices as a share of a copy inside one."""

import io
import re

import pytest
from foreign_texts import DOCUMENTS, FOREIGN, records

from linkmatrix.record import reading
from linkmatrix.show import devices, terminal
from linkmatrix.show.analysis import Analysis


def port(name="mlx5_0", node="n1", **changes):
    """A port as a program of today writes it."""
    return {
        "name": name,
        "state": "ACTIVE",
        "physical_state": "LinkUp",
        "rate": "400 Gb/sec (4X NDR)",
        "link_layer": "InfiniBand",
        "numa": 0,
        "part": {"guid": f"guid of {node}", "firmware": "28.39.1002"},
        "place": {"node": node, "pci": "0000:18:00.0", "port": "1"},
        "interfaces": [{"name": "ib0", "state": "up"}],
        "pcie": {"speed": "32.0 GT/s PCIe", "width": "16", "speed_at_most": "32.0 GT/s PCIe", "width_at_most": "16"},
        "gpus": [
            {"pci": "0000:1b:00.0", "link_class": "PXB", "bridges": 2, "nearest": True},
            {"pci": "0000:43:00.0", "link_class": "SYS", "bridges": 0, "nearest": False},
        ],
    } | changes


def table(make_record, *ports):
    record = make_record()
    record["adapters"] = list(ports)
    record["devices"][2].update(node="n1", label="n1:gpu2", pci="0000:1b:00.0")
    return list(devices.adapter_lines([record], 160))


def test_each_adapter_has_its_interface_its_state_its_link_and_the_gpu_that_is_nearest(make_record):
    _, heads, row = table(make_record, port())
    for word in ("mlx5_0", "ib0 (up)", "ACTIVE", "400 Gb/sec (4X NDR)", "0000:18:00.0", "32.0 GT/s x16", "28.39.1002"):
        assert f" {word} " in f"{row} "
    assert "gpu2 (PXB)" in row and row.index("gpu2") == heads.index("nearest GPU")


def test_a_narrow_link_and_a_port_without_a_cable_say_so(make_record):
    pcie = {"speed": "16.0 GT/s PCIe", "width": "8", "speed_at_most": "32.0 GT/s PCIe", "width_at_most": "16"}
    row = table(make_record, port(pcie=pcie, state="DOWN", physical_state="Polling"))[-1]
    assert "16.0 GT/s of 32.0 GT/s x8 of x16" in row and "DOWN (Polling)" in row


def test_where_a_table_is_too_wide_each_adapter_is_a_line(make_record):
    record = make_record()
    record["adapters"] = [port(rate=None)]
    head, line = devices.adapter_lines([record], 80)
    assert line.startswith("mlx5_0: interface ib0 (up), state ACTIVE, link InfiniBand, PCI 0000:18:00.0, now 32.0 GT/s")


def test_a_bond_a_second_port_and_a_gpu_that_was_not_used_have_their_names(make_record):
    interfaces = [{"name": "ens1f0", "state": "up", "bond": "bond0"}]
    row = table(make_record, port(node="n2", interfaces=interfaces, place={"node": "n2", "port": "2"}))[-1]
    assert "mlx5_0 port 2" in row and "ens1f0 (up, of bond0)" in row and "0000:1b:00.0 (PXB)" in row


def test_nodes_that_have_the_same_share_a_table_and_another_has_its_own(make_record):
    ports = [port(node=f"n{k}") for k in range(2, 9)]
    lines = table(make_record, *ports, port(node="n9", state="DOWN"))
    assert [line for line in lines if line.startswith("network")] == [
        "network adapters of n2, n3, n4, n5 and 3 more",
        "network adapters of n9",
    ]
    lines = table(make_record, *(port(node=f"n{k}", state=f"STATE {k}") for k in range(9)))
    assert lines[-1].startswith("and 5 more nodes")


def test_a_record_of_a_program_that_knew_less_is_read_and_shown(make_record, judged_run):
    record = make_record()
    reading.check(record)
    stream = io.StringIO()
    terminal.show(Analysis(*judged_run(record)), file=stream, width=120)
    assert "network adapters of node001" in stream.getvalue() and "400 Gb/sec (4X NDR)" in stream.getvalue()
    record["adapters"] = []
    stream = io.StringIO()
    terminal.show(Analysis(*judged_run(record)), file=stream, width=120)
    assert "network adapters" not in stream.getvalue()


def test_a_record_of_today_passes_its_schema(make_record):
    record = make_record()
    record["adapters"] = [port()]
    reading.check(record)


@pytest.fixture
def said(judged_run):
    """{test case: the lines on its share of the copy inside a device} of the record with the most test cases."""

    def of(text):
        record = max(records(text), key=lambda one: len(one["results"]))
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        terminal.show(Analysis(*judged_run(record)), file=stream, width=200)
        stream.flush()
        found, case = {}, None
        for line in stream.buffer.getvalue().decode().splitlines():
            head = re.match(r" \S NOT JUDGED   (\w+)$", line)
            case = head[1] if head else case
            if "of the copy inside a device" in line:
                found.setdefault(case, []).append(line)
        return found

    return of


def test_a_document_s_copies_between_gpus_are_shown_as_its_share_of_the_memory_s_bandwidth(said):
    found = said(DOCUMENTS["004"])
    name = "device_to_device_bidirectional_memcpy_write_ce"
    # "22.7 % of self bandwidth", whose bytes are counted twice there, and "roughly 1.3 %" without peer access
    assert found[name] == [
        "NV8: 45.7 % of the copy inside a device, 22.8 % if its reads and writes both count",
    ]
    assert found[f"{name}_peer_off"] == [
        "NV8: 2.6 % of the copy inside a device, 1.3 % if its reads and writes both count",
    ]
    # a latency has no such share
    assert not any("latency" in case for case in found)


def test_copies_with_host_memory_and_between_network_adapters_have_no_such_share(said):
    assert list(said(FOREIGN["transferbench_p2p_mi300x.txt"])) == ["device_to_device_memcpy_write_sm"]
    assert said(FOREIGN["transferbench_nicp2p_mi350x.txt"]) == {}


def test_a_matrix_without_the_copy_inside_a_device_has_no_such_share(said):
    assert said(FOREIGN["transferbench_a2a_mi300x.txt"]) == {}
