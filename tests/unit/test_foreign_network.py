"""Outputs of nccl-tests, perftest, the OSU micro-benchmarks and nvidia-smi topo."""

import re

import pytest
from foreign_texts import DOCUMENTS, FOREIGN, records, result


def test_collectives_keep_bus_and_algorithm_bandwidth_and_the_time():
    (tree,) = [
        matrix
        for one in records(DOCUMENTS["002"])[-1:]
        for matrix in one["results"]
        if matrix["size_bytes"] == 1073741824
    ]
    assert tree["testcase"] == "all_reduce_perf_tree"
    assert tree["values"] == [[131.68, 126.03]]
    assert tree["parts"]["algorithm_bandwidth"]["values"] == [[70.23, 67.22]]
    assert tree["parts"]["time"]["values"] == [[15289.0, 15974.0]]
    assert tree["verified"] is True


def test_wrong_elements_of_a_collective_are_never_a_value():
    text = DOCUMENTS["002"].replace("175.93      0", "175.93      7", 1)
    first = result(text, "all_reduce_perf")
    assert first["status"] == [["error", "ok"]] and first["values"][0][0] is None
    assert first["verified"] is False


def test_rdma_bandwidth_is_in_bytes():
    (size,) = [m for one in records(DOCUMENTS["002"]) for m in one["results"] if m["size_bytes"] == 262144]
    assert (size["testcase"], size["rows"]) == ("ib_write_bw", ["mlx5_0"])
    assert size["values"] == [[97.85 / 8]]
    mib = DOCUMENTS["002"].replace("Gb/sec]", "MB/sec]")
    (size,) = [m for one in records(mib) for m in one["results"] if m["size_bytes"] == 262144]
    assert size["values"][0][0] == pytest.approx(97.85 * 2**20 / 1e9)


RDMA_ROW = " 524288     5000             97.84              97.80  \t\t   0.023318"


@pytest.mark.parametrize("spot", range(5))
@pytest.mark.parametrize("how", ["twice", "lost"])
def test_a_row_of_rdma_with_a_number_twice_or_lost_is_never_a_value_and_is_said(spot, how):
    words = RDMA_ROW.split()
    spoilt = [*words[: spot + (how == "twice")], *words[spot + (how == "lost") :]]
    text = DOCUMENTS["002"].replace(RDMA_ROW, " " + "   ".join(spoilt))
    assert text != DOCUMENTS["002"]
    found = [one for one in records(text) if any(m["testcase"] == "ib_write_bw" for m in one["results"])]
    sizes = {m["size_bytes"] for one in found for m in one["results"]}
    assert 524288 not in sizes and 1048576 in sizes  # those below are read all the same
    assert any("left out" in (one["error"] or "") and one["result"] == "ERROR" for one in found)


@pytest.mark.parametrize(
    ("row", "believed"),
    [
        (" 2       1000          1.05           5.41         1.10     1.12      0.05    1.30    5.41", True),
        (" 2       1000          1.05           1.05         5.41     1.10     1.12      0.05    1.30    5.41", False),
        (" 2       1000          1.10           1.05         5.41     1.12      0.05    1.30    5.41", False),
        (" 2       1000          1.05           5.41         1.10     1.12      0.05    1.30", False),
    ],
)
def test_a_latency_of_rdma_lies_between_its_ends_under_its_own_head(row, believed):
    head = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    text = (
        f"                    RDMA_Write Latency Test\n{head}   99% percentile[usec]   99.9% percentile[usec] \n{row}\n"
    )
    whole_row = row.replace(" 2 ", " 4 ", 1) if believed else " 4 1000 1.05 5.41 1.10 1.12 0.05 1.30 5.41"
    (one,) = records(f"{text}{whole_row}\n")
    assert [m["size_bytes"] for m in one["results"]] == ([2, 4] if believed else [4])


@pytest.mark.parametrize(
    ("name", "testcase", "size", "value"),
    [
        ("osu_latency.txt", "osu_latency_dd", 4, 2.36),
        ("osu_bw.txt", "osu_bw_hh", 4194304, 24.22669),
        ("osu_bibw.txt", "osu_bibw_hh", 1, 0.00559),
        ("osu_multi_lat.txt", "osu_multi_lat_hh", 8, 1.49),
        ("osu_mbw_mr.txt", "osu_mbw_mr_hh_4_pairs", 2, 0.04352),
    ],
)
def test_every_osu_test_is_read(name, testcase, size, value):
    found = {(m["testcase"], m["size_bytes"]): m for one in records(FOREIGN[name]) for m in one["results"]}
    assert found[testcase, size]["values"] == [[value]]
    assert len(found) == len(re.findall(r"^\d+ ", FOREIGN[name], re.MULTILINE))


def test_the_nearest_nics_of_a_device_are_known():
    first = records(FOREIGN["topo_nics.txt"])[0]
    assert [device["nics"] for device in first["devices"]] == [["mlx5_0"], ["mlx5_1"]]
    assert [device["numa"] for device in first["devices"]] == [0, 1]
    assert first["topology"]["link_class"] == [["X", "NV18"], ["NV18", "X"]]
    assert first["topology"]["links"] == [[None, 18], [18, None]]
