"""p2pBandwidthLatencyTest of PPUs, in one process and in several: what a table means, field by field."""

import pytest
from foreign_texts import only

from linkmatrix.foreign.table import Part, Table, Topology

GPUS = ("gpu0", "gpu1")
BETWEEN = [("gpu0", "gpu1"), ("gpu1", "gpu0")]


def ppu(mode, head, rows=("0.00 10.00", "20.00 0.00"), labels=("DEV0", "DEV1"), names=None):
    lines = "\n".join(f"{name} {row}" for name, row in zip(names or labels, rows, strict=True))
    return f"({mode})\n{head}\n{' '.join(labels)}\n{lines}\n"


BANDWIDTH = "P2P Unidirectional Bandwidth Transport Bandwidth Matrix (1048576 Bytes) (GB/s)"
COMMAND = "$ ./p2pBandwidthLatencyTest --p2p_type=SM --kernel=ncCopy\n"


def of_ppu(testcase, first, second, line=1, **fields):
    described = {"metric": "bandwidth", "quantity": "bandwidth", "size_bytes": 1 << 20}
    described |= {"rows": GPUS, "columns": GPUS, "peer_access": "on"}
    described |= fields
    cells = dict(
        zip(((described["rows"][0], described["rows"][1]), described["rows"][::-1]), (first, second), strict=True)
    )
    return Table(testcase=testcase, cells=cells, line=line, **described)


@pytest.mark.parametrize(
    ("mode", "head", "testcase", "fields"),
    [
        ("EnabledP2P CE WRITE", BANDWIDTH, "device_to_device_memcpy_write_ce", {}),
        ("EnabledP2P CE READ", BANDWIDTH, "device_to_device_memcpy_read_ce", {"direction": "read"}),
        (
            "DisabledP2P CE WRITE",
            BANDWIDTH,
            "device_to_device_memcpy_write_ce_peer_off",
            {"peer_access": "off", "transport": "staged"},
        ),
        (
            "EnabledP2P CE WRITE Bidirectional",
            BANDWIDTH.replace("Unidirectional Bandwidth ", "").replace(" Bytes", " *2 Bytes"),
            "device_to_device_bidirectional_memcpy_write_ce",
            {"metric": "bidirectional", "quantity": "sum of both directions"},
        ),
        (
            "EnabledP2P CE WRITE",
            BANDWIDTH.replace("Uni", "Bi"),
            "device_to_device_bidirectional_memcpy_write_ce",
            {"metric": "bidirectional", "quantity": "sum of both directions"},
        ),
        (
            "EnabledP2P CE WRITE",
            "GPU P2P Transmission Latency Matrix (US)",
            "device_to_device_copy_latency_write_ce",
            {"metric": "latency", "quantity": "copy latency", "size_bytes": 16},
        ),
        (
            "EnabledP2P SM WRITE",
            BANDWIDTH,
            "device_to_device_memcpy_write_sm_unknown_kernel",
            {"engine": "sm", "notes": ("the kernel is unknown: only the command line contains it",)},
        ),
    ],
)
def test_a_matrix_of_a_ppu_has_its_root_devices_as_rows(mode, head, testcase, fields):
    pair = (20.0, 10.0) if "READ" in mode else (10.0, 20.0)
    assert only(ppu(mode, head)).tables == [of_ppu(testcase, *pair, **fields)]
    # the head may stand on the line of the mode, too
    assert only(ppu(mode, head).replace(")\nP2P", ") P2P").replace(")\nGPU", ") GPU")).tables[0].testcase == testcase


@pytest.mark.parametrize(
    ("options", "engine", "kernel", "testcase"),
    [
        ("--p2p_type=SM --kernel=ncCopy", "sm", "noncached", "device_to_device_memcpy_write_sm"),
        ("--p2p_type=SM --kernel=cacheCopy", "sm", "cached", "device_to_device_memcpy_write_sm_cached"),
        ("--size=4", "sm", "bulk", "device_to_device_memcpy_write_sm_bulk"),
        ("--kernel=other", "sm", None, "device_to_device_memcpy_write_sm_unknown_kernel"),
        ("--p2p_type=CE --kernel=ncCopy", "ce", None, "device_to_device_memcpy_write_ce"),
    ],
)
def test_what_copied_stands_in_the_command_line_of_a_ppu(options, engine, kernel, testcase):
    run = only(f"$ ./p2pBandwidthLatencyTest {options}\n{ppu('EnabledP2P CE WRITE', BANDWIDTH)}")
    (table,) = run.tables
    assert (table.engine, table.kernel, table.testcase) == (engine, kernel, testcase)
    differ = "the table contains CE, the command line SM: the command line is used"
    assert table.notes == ((differ,) if engine == "sm" else ())
    assert run.command == f"./p2pBandwidthLatencyTest {options}"


def test_several_processes_have_hosts_and_an_engine_only_their_command_line_knows():
    labels = ("HOST0:DEV0", "HOST1:DEV0")
    text = ppu("EnabledP2P CE WRITE", BANDWIDTH, labels=labels)
    ends = ("host0.gpu0", "host1.gpu0")
    there = {"rows": ends, "columns": ends, "transport": "ipc"}
    note = ("the engine is unknown: with several processes, only the command line contains it",)
    wanted = of_ppu("device_to_device_memcpy_write_unknown_engine", 10.0, 20.0, engine=None, notes=note, **there)
    assert only(text).tables == [wanted]
    assert only(COMMAND + text).tables[0].testcase == "device_to_device_memcpy_write_sm"
    # rows that are called by their device only are those of the processes, in order
    assert only(ppu("EnabledP2P CE WRITE", BANDWIDTH, labels=labels, names=("DEV0", "DEV0"))).tables == [wanted]
    lost = text.replace("HOST0:DEV0 0.00 10.00\n", "").replace("HOST1:DEV0 20.00", "DEV0 20.00")
    assert "rows without a name are out of order: all rows are ignored" in only(lost).faults[-1]


def test_utilisation_and_times_on_the_cpu_are_parts_and_hops_the_topology_of_a_ppu():
    text = "P2P Connectivity & minPath Matrix\nDEV0 DEV1\nDEV0 0 1\nDEV1 2 0\n"
    text += ppu("EnabledP2P CE WRITE", BANDWIDTH)
    text += ppu("EnabledP2P CE WRITE", BANDWIDTH.replace("Matrix", "Utilization Ratio Matrix").replace("GB/s", "%"))
    text += ppu("EnabledP2P CE READ", "GPU P2P Transmission Latency Matrix (US)")
    text += ppu("EnabledP2P CE READ", "CPU P2P Transmission Latency Matrix (US)", ("0.00 1.00", "2.00 0.00"))
    run = only(f"{text}Total:  31.10 s\n")
    hops = {("gpu0", "gpu0"): 0, ("gpu0", "gpu1"): 1, ("gpu1", "gpu0"): 2, ("gpu1", "gpu1"): 0}
    assert run.topology == Topology(GPUS, 1, hops=hops) and run.seconds == 31.1
    assert (run.first, run.last, run.program) == (1, 25, "p2p_bandwidth_latency_test_ppu")
    utilisation = Part("utilisation", "%", dict(zip(BETWEEN, (10.0, 20.0), strict=True)))
    enqueue = Part("enqueue latency", "us", dict(zip(BETWEEN, (2.0, 1.0), strict=True)))
    first, second = run.tables
    assert first.parts == {"utilisation": utilisation} and second.parts == {"enqueue": enqueue}
    assert run.matrices == 5
