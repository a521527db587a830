"""Programs that print matrices, nvbandwidth and p2pBandwidthLatencyTest: what a table means, field by field."""

import json

import pytest
from foreign_texts import only

from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.table import Part, Table, Topology

GPUS = ("gpu0", "gpu1")


def nvbandwidth(name, rows, unit="GB/s", columns="0 1"):
    lines = "\n".join(f" {at} {' '.join(row)}" for at, row in enumerate(rows))
    return f"Running {name}.\nmemcpy CE some words ({unit})\n  {columns}\n{lines}\n\n"


MEDIANS = ("nvbandwidth prints the median of its samples, 3 by default",)
SQUARE = [["N/A", "10.00"], ["20.00", "N/A"]]
#: test case → (its fields, its cells): 10 is printed in row 0, column 1
TABLES = {
    "device_to_device_memcpy_read_ce": ({"direction": "read"}, "turned"),
    "device_to_device_memcpy_write_ce": ({"direction": "write"}, "as printed"),
    "device_to_device_memcpy_write_sm": ({"direction": "write", "engine": "sm"}, "as printed"),
    "multinode_device_to_device_memcpy_read_ce": (
        {"direction": "read", "testcase": "device_to_device_memcpy_read_ce"},
        "turned",
    ),
    "device_to_device_bidirectional_memcpy_write_sm": (
        {"metric": "bidirectional", "quantity": "sum of both directions", "engine": "sm"},
        "as printed",
    ),
    "device_to_device_bidirectional_memcpy_write_ce": (
        {"metric": "bidirectional", "quantity": "one direction, the other loaded"}
        | {"testcase": "device_to_device_bidirectional_memcpy_write_ce_one_direction"},
        "as printed",
    ),
}


def table(name, **fields):
    described = {"testcase": name, "metric": "bandwidth", "quantity": "bandwidth", "samples": 3}
    described |= {"size_bytes": None, "rows": GPUS, "columns": GPUS, "line": 2, "peer_access": "on", "notes": MEDIANS}
    return Table(**{**described, **fields})


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_matrix_of_nvbandwidth_between_devices_has_its_sources_as_rows(name):
    fields, how = TABLES[name]
    cells = {("gpu0", "gpu1"): 10.0, ("gpu1", "gpu0"): 20.0}
    if how == "turned":
        cells = {(column, row): value for (row, column), value in cells.items()}
    assert only(nvbandwidth(name, SQUARE)).tables == [table(name, **{"cells": cells, **fields})]


@pytest.mark.parametrize(
    ("name", "row", "source", "fields"),
    [
        ("host_to_device_memcpy_ce", "host", "row", {"memory": "host", "peer_access": None, "direction": "read"}),
        ("device_to_host_memcpy_sm", "host", "column", {"memory": "host", "peer_access": None, "engine": "sm"}),
        ("all_to_host_memcpy_ce", "host", "column", {"memory": "host", "peer_access": None}),
        ("device_local_copy", "local", "row", {"peer_access": None}),
        ("all_to_one_write_ce", "all", "row", {"quantity": "total bandwidth"}),
        ("all_to_one_read_ce", "all", "column", {"quantity": "total bandwidth", "direction": "read"}),
        ("one_to_all_write_ce", "all", "column", {"quantity": "total bandwidth"}),
        ("one_to_all_read_ce", "all", "row", {"quantity": "total bandwidth", "direction": "read"}),
        ("host_device_latency_sm", "host", "row", {"memory": "host", "peer_access": None, "engine": "sm"}),
    ],
)
def test_a_row_of_nvbandwidth_is_of_the_host_of_all_or_of_a_device_itself(name, row, source, fields):
    latency = "latency" in name
    text = nvbandwidth(name, [["10.00", "20.00"]], "ns" if latency else "GB/s")
    scale = 0.001 if latency else 1
    cells = {(row, "gpu0"): 10.0 * scale, (row, "gpu1"): 20.0 * scale}
    axes = {"rows": (row,), "columns": GPUS, "cells": cells}
    if source == "column":
        axes = {"rows": GPUS, "columns": (row,), "cells": {pair[::-1]: value for pair, value in cells.items()}}
    if latency:
        fields |= {"metric": "latency", "quantity": "load latency", "direction": "read"}
    assert only(text).tables == [table(name, **{**axes, **fields})]


DIRECTIONS = """Running device_to_device_bidirectional_memcpy_read_ce.
memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)
 0 1
 0 N/A 1.00
 1 2.00 N/A

memcpy CE GPU(row) <-> GPU(column) Read2 bandwidth (GB/s)
 0 1
 0 N/A 3.00
 1 4.00 N/A

memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
 0 1
 0 N/A 4.00
 1 6.00 N/A

"""


def test_two_directions_of_nvbandwidth_are_parts_of_their_total():
    def turned(first, second):
        return {("gpu1", "gpu0"): first, ("gpu0", "gpu1"): second}

    wanted = table(
        "device_to_device_bidirectional_memcpy_read_ce",
        metric="bidirectional",
        quantity="sum of both directions",
        direction="read",
        line=12,
        cells=turned(4.0, 6.0),
        parts={
            "one_direction": Part("one direction", "GB/s", turned(1.0, 2.0)),
            "other_direction": Part("other direction", "GB/s", turned(3.0, 4.0)),
        },
    )
    assert only(DIRECTIONS).tables == [wanted]


def test_a_direction_without_its_total_or_of_other_devices_is_left_out_and_said():
    small = nvbandwidth("device_to_device_memcpy_write_ce", SQUARE)
    run = only(DIRECTIONS[: DIRECTIONS.rindex("memcpy CE")] + small)
    assert [one.testcase for one in run.tables] == ["device_to_device_memcpy_write_ce"]
    assert "tables of different sizes, or lacks the total" in run.faults[0]
    larger = DIRECTIONS[: DIRECTIONS.index("Total")] + "Total bandwidth (GB/s)\n 0\n 0 N/A\n\n"
    assert "tables of different sizes" in only(larger + small).faults[0]
    with pytest.raises(BadInput, match="line 7: .* has the table 'Read1' twice"):
        read_text(DIRECTIONS.replace("Read2", "Read1"))


def test_a_test_case_that_printed_nothing_is_said_unless_it_was_waived():
    small = nvbandwidth("device_to_device_memcpy_write_ce", SQUARE)
    assert only("Running device_local_copy.\nWaived.\n\n" + small).faults == []
    run = only("Running device_local_copy.\n\n" + small)
    assert run.faults == ["line 3: device_local_copy ran and printed no table"]


def test_columns_of_nvbandwidth_are_counted_from_zero():
    for columns in ("0 2", "1 2", "", "a b"):
        with pytest.raises(BadInput, match="line 3: .* is not a line of columns 0, 1, 2 …"):
            read_text(nvbandwidth("device_to_device_memcpy_write_ce", SQUARE, columns=columns))


@pytest.mark.parametrize(("said", "fits"), [("30.02", True), ("29.98", True), ("30.03", False), ("29.97", False)])
def test_a_sum_of_nvbandwidth_fits_its_numbers_as_far_as_they_are_rounded(said, fits):
    text = nvbandwidth("device_to_device_memcpy_write_ce", SQUARE) + f"SUM device_to_device_memcpy_write_ce {said}\n"
    if fits:
        assert only(text).faults == []
        return
    with pytest.raises(BadInput, match=f"line 7: the numbers above have the sum 30.00, not {said}"):
        read_text(text)


def json_of(*cases, **top):
    return json.dumps({"nvbandwidth": {"version": "0.8", **top, "testcases": list(cases)}})


def case(name="device_to_device_memcpy_write_ce", matrix=(("N/A", "10.00"), ("20.00", "N/A")), **more):
    described = {"name": name, "status": "Passed", "bandwidth_description": "memcpy CE bandwidth (GB/s)"}
    return described | {"bandwidth_matrix": [list(row) for row in matrix]} | more


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (case(name="no name"), r"testcases\[0\] has no valid name"),
        (case(status="Error"), r"testcases\[0\]: .* ended with 'Error'"),
        (case(bandwidth_description="words"), "has no matrix, or no known unit"),
        (case(matrix=[]), "has no matrix"),
        (case(matrix=[["N/A", "1.0"]]), "1 rows and 2 columns"),
        (case(matrix=[["N/A", "1.0"], ["1.0"]]), "row 1 of .* is not 2 numbers"),
        (case(matrix=[["N/A", "fast"], ["1.0", "N/A"]]), "row 0 of .* is not 2 numbers"),
        (case(name="device_local_copy"), "2 rows and 2 columns"),
        (case(bandwidth_matrix=[["N/A", "1.0"], "12"]), "row 1 of .* is not 2 numbers"),
        (case(bandwidth_matrix=None), "has no matrix"),
        (3, "has no valid name"),
    ],
)
def test_a_damaged_test_case_in_json_is_refused_with_its_place(spoilt, said):
    with pytest.raises(BadInput, match=said):
        read_text(json_of(spoilt))


def sample(head, below="", corner="D\\D"):
    return f"{head}\n   {corner}     0      1\n     0  80.00  10.00\n     1  20.00  90.00\n{below}"


def of_sample(testcase, **fields):
    notes = ["the text does not contain the engine: linkmatrix assumes copy engines (with --sm_copy: kernels)"]
    if fields.get("metric") != "latency":
        notes.append("the diagonal is half the printed value: the program counts each byte as read and as written")
    described = {"testcase": testcase, "metric": "bandwidth", "quantity": "bandwidth", "line": 1}
    described |= {"size_bytes": None, "rows": GPUS, "columns": GPUS, "peer_access": "on", "local_copy": True}
    return Table(**{**described, "notes": tuple(notes), **fields})


def square(diagonal, first, second):
    return {
        ("gpu0", "gpu0"): diagonal[0],
        ("gpu0", "gpu1"): first,
        ("gpu1", "gpu0"): second,
        ("gpu1", "gpu1"): diagonal[1],
    }


def test_a_matrix_of_the_cuda_sample_counts_bytes_inside_a_device_once():
    plain = sample("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)")
    cells = square((40.0, 45.0), 10.0, 20.0)
    assert only(plain).tables == [of_sample("device_to_device_memcpy_write_ce", cells=cells)]
    off = sample("Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)")
    both = {"metric": "bidirectional", "quantity": "sum of both directions", "peer_access": "off"}
    wanted = of_sample(
        "device_to_device_bidirectional_memcpy_write_ce_peer_off", transport="staged", cells=cells, **both
    )
    assert only(off).tables == [wanted]
    read = sample("Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)")
    cells = square((40.0, 45.0), 20.0, 10.0)
    assert only(read).tables == [of_sample("device_to_device_memcpy_read_ce", direction="read", cells=cells)]


@pytest.mark.parametrize("direction", ["write", "read"])
def test_a_latency_of_the_cuda_sample_has_the_time_on_the_cpu_as_its_part(direction):
    word = f"(P2P {direction.capitalize()}s) "
    on_cpu = "\n   CPU     0      1\n     0   1.00   2.00\n     1   3.00   4.00\n"
    (found,) = only(sample(f"P2P=Enabled Latency {word}Matrix (us)", on_cpu, "GPU")).tables
    pairs = (10.0, 20.0) if direction == "write" else (20.0, 10.0)
    enqueue = square((1.0, 4.0), *((2.0, 3.0) if direction == "write" else (3.0, 2.0)))
    assert found == of_sample(
        f"device_to_device_copy_latency_{direction}_ce",
        metric="latency",
        quantity="copy latency",
        size_bytes=16,
        direction=direction,
        cells=square((80.0, 90.0), *pairs),
        parts={"enqueue": Part("enqueue latency", "us", enqueue)},
    )


def test_the_cuda_sample_says_its_devices_and_which_have_access():
    text = (
        "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
        "Device: 0, NVIDIA A800, pciBusID: 10, pciDeviceID: 0, pciDomainID:0\n"
        "P2P Connectivity Matrix\n     D\\D     0     1\n     0       1     0\n     1       1     1\n"
    )
    run = only(text + sample("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)"))
    assert run.devices == {0: "NVIDIA A800"} and run.program == "p2p_bandwidth_latency_test"
    access = {("gpu0", "gpu1"): False, ("gpu1", "gpu0"): True}
    assert run.topology == Topology(GPUS, 3, peer_access=access)
