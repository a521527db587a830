"""Outputs of p2pBandwidthLatencyTest, the sample of CUDA's, and of those that came after it."""

from foreign_texts import DOCUMENTS, cell, records, result


def test_the_kernel_of_a_ppu_comes_from_the_command_line():
    text = DOCUMENTS["000"]
    assert cell(result(text, "device_to_device_memcpy_write_sm_cached"), "gpu0", "gpu4") == 66.60
    assert cell(result(text, "device_to_device_memcpy_write_sm_bulk"), "gpu0", "gpu4") == 89.73
    # the root device, DEV0 in the row, pulls from DEV4
    assert cell(result(text, "device_to_device_memcpy_read_sm_bulk"), "gpu4", "gpu0") == 93.48
    between = result(text, "device_to_device_memcpy_write_sm_bulk", run=1)
    assert (between["engine"], between["size_bytes"]) == ("sm", 2147483648)
    assert cell(between, "host0.gpu0", "host2.gpu0") == 46.47
    without = "\n".join(line for line in text.splitlines() if "p2pBandwidthLatencyTest" not in line)
    names = {matrix["testcase"] for one in records(without) for matrix in one["results"]}
    assert "device_to_device_memcpy_write_sm_unknown_kernel" in names
    assert not any(name.endswith(("_sm", "_bulk", "_cached")) for name in names)


def test_utilisation_and_host_times_are_parts_of_their_matrix():
    text = DOCUMENTS["000"]
    first = records(text)[1]
    assert first["topology"]["min_path"][0][4] == 2
    assert first["results"][0]["parts"]["utilisation"]["values"][0][1] == 86.44
    assert first["results"][0]["parts"]["utilisation"]["values"][2] == [None] * 8
    assert first["result"] == "ERROR" and "gpu2" in first["error"]
    latency = result(text, "device_to_device_copy_latency_read_ce")
    # DEV1 pulls from DEV0: 1.23 us on the GPU, 6.99 us on the CPU
    assert cell(latency, "gpu0", "gpu1") == 1.23
    assert latency["parts"]["enqueue"]["values"][0][1] == 6.99


def test_a_diagonal_is_a_copy_inside_a_device_with_its_bytes_counted_once():
    matrix = result(DOCUMENTS["002"], "device_to_device_memcpy_write_ce")
    assert cell(matrix, "gpu0", "gpu0") == 1568.78 / 2
    assert cell(matrix, "gpu0", "gpu3") == 234.52
    assert matrix["link_class"][0][:2] == ["LOCAL", "NV12"]
    assert cell(result(DOCUMENTS["001"], "device_to_device_copy_latency_write_ce"), "gpu0", "gpu0") == 3.13


def test_a_matrix_without_its_head_line_is_named():
    text = DOCUMENTS["004"].replace("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n", "")
    assert any("no head line" in (one["error"] or "") for one in records(text))
