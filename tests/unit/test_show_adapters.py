"""The table of network adapters under a run."""

import io

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
