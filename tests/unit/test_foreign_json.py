"""JSON files of other programs: each is known by the names at its top, and another one is refused."""

import json

import pytest
from foreign_texts import FOREIGN, records

from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text

NCCL = json.loads(FOREIGN["nccl_tests_v2.19_J_layout.json"])
PERFTEST = json.loads(FOREIGN["perftest_layout.json"])


def only(content):
    """The only run of a JSON."""
    (run,) = read_text(json.dumps(content))
    return run


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        "{}",
        '[{"results": []}]',
        '{"results": {"bandwidth": 1}}',
        '{"nvidia_smi_log": {"gpu": []}}',
        "[1, 2]",
    ],
)
def test_the_json_of_another_program_is_refused_in_a_sentence(text):
    with pytest.raises(BadInput, match="^it is JSON of an unknown program: "):
        read_text(text)


@pytest.mark.parametrize(
    "name", ["nccl_tests_v2.19_J_layout.json", "perftest_layout.json", "nvbandwidth_v0.8_layout.json"]
)
def test_a_json_that_was_cut_is_refused_as_no_whole_one(name):
    text = FOREIGN[name].rstrip()
    for length in range(1, len(text), 7):
        with pytest.raises(BadInput, match="the JSON is incomplete"):
            read_text(text[:length])


def test_the_json_of_nccl_tests_has_sizes_ranks_and_versions():
    (record,) = records(FOREIGN["nccl_tests_v2.19_J_layout.json"])
    assert (record["imported"]["program"], record["imported"]["nodes"], record["imported"]["ranks"]) == (
        "nccl_tests",
        2,
        2,
    )
    assert record["software"] == {"nccl-tests": "2.19.6", "NCCL": "2.30.7"} and record["result"] == "PASS"
    assert [(one["testcase"], one["size_bytes"], one["values"]) for one in record["results"]] == [
        ("all_reduce_perf", 1 << 29, [[298.4, 301.5]]),
        ("all_reduce_perf", 1 << 30, [[319.1, 322.7]]),
    ]
    assert {device["name"] for device in record["devices"]} == {"NVIDIA H100 80GB HBM3"}


def test_the_layout_of_version_2_has_its_ranks_in_the_configuration_and_its_command():
    """As src/util.cu of nccl-tests writes it: `version` is the layout's, and the name of the experiment is empty."""
    content = {**NCCL, "version": 2, "nccl_version": 23102, "config": {"devices": NCCL["devices"], "per_iter_skip": 0}}
    content |= {"args": ["/opt/all_reduce_perf", "-J", "x.json"], "env": ["HOME=/root", "NCCL_ALGO=Ring"]}
    del content["devices"]
    content["results"] = [{**one, "experiment_name": "", "root": -1} for one in NCCL["results"]]
    run = only(content)
    assert run.software == {"NCCL": "2.31.2"} and len(run.ranks) == 2
    assert {table.testcase for table in run.tables} == {"all_reduce_perf_ring"}
    assert run.command == "NCCL_ALGO=Ring /opt/all_reduce_perf -J x.json"


def test_times_of_the_processor_and_of_iterations_are_no_times_of_transfers():
    way = {"cpu_time": 5.5, "alg_bw": 298.36, "bus_bw": 298.4, "nwrong": None}
    content = {**NCCL, "results": [{**NCCL["results"][0], "out_of_place": None, "in_place": way}]}
    content["results"][0]["in_place_per_iter"] = {"min_us": 1.0, "times_us": [1.0, 2.0]}
    (table,) = only(content).tables
    assert table.columns == ("in-place",) and table.verified is None
    assert set(table.parts) == {"algorithm_bandwidth", "cpu_time"}


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ({"nwrong": 7}, "7 wrong elements"),
        ({"bus_bw": 900.0}, "contradict each other"),
        ({"time": "nan"}, "lacks its time, a bandwidth or its wrong elements"),
        ({"bus_bw": True}, "lacks its time, a bandwidth or its wrong elements"),
    ],
)
def test_a_result_that_is_wrong_or_not_whole_is_no_value(way, said):
    first, second = NCCL["results"]
    content = {**NCCL, "results": [{**first, "in_place": first["in_place"] | way}, second]}
    (record,) = records(json.dumps(content))
    assert said in record["error"] and record["result"] == ("FAIL" if "nwrong" in way else "ERROR")
    assert all(one["values"][0][1] is None or one["size_bytes"] == 1 << 30 for one in record["results"])


def test_wrong_elements_of_the_whole_run_are_said():
    (record,) = records(json.dumps({**NCCL, "out_of_bounds": {"count": 3, "okay": "false"}}))
    assert "these sizes have wrong data" in record["error"]
    assert {one["verified"] for one in record["results"]} == {False}


@pytest.mark.parametrize(
    ("name", "test"),
    [("ReduceScatter", "reduce_scatter_perf"), ("SendRecv", "sendrecv_perf"), ("", "nccl_unknown_test")],
)
def test_a_collective_is_called_as_its_program(name, test):
    content = {**NCCL, "results": [{**one, "experiment_name": name} for one in NCCL["results"]]}
    assert {table.testcase for table in only(content).tables} == {test}


def perftest(info=(), **numbers):
    """A JSON of perftest with other facts and results."""
    return {"test_info": PERFTEST["test_info"] | dict(info), "results": PERFTEST["results"] | numbers}


def test_the_json_of_perftest_is_a_size_whose_message_rate_tells_the_unit():
    (table,) = only(PERFTEST).tables
    assert (table.testcase, table.size_bytes, table.rows, table.memory) == ("ib_write_bw", 65536, ("mlx5_0",), "host")
    assert table.cells == {("mlx5_0", "peer"): pytest.approx(392.04 / 8)}
    mib = perftest(BW_peak=46740.0, BW_average=46735.1)
    assert only(mib).tables[0].cells[("mlx5_0", "peer")] == pytest.approx(46735.1 * 2**20 / 1e9)
    with pytest.raises(BadInput, match="contradict"):
        read_text(json.dumps(perftest(BW_average=200.0)))


def test_a_test_for_a_time_has_no_peak():
    (table,) = only(perftest(BW_peak=0.0)).tables
    assert table.parts == {} and table.cells == {("mlx5_0", "peer"): pytest.approx(49.005)}


@pytest.mark.parametrize(
    ("info", "found"),
    [
        ({"test": "Send_Bidirectional_BW_Test", "cuda_device": 0}, ("ib_send_bw_both_ways", "device")),
        ({"test": "RDMA_Read_Post_List_BW_Test", "Use_ROCm_memory": "ON"}, ("ib_read_bw", "device")),
        ({"Use_ROCm_memory": "OFF"}, ("ib_write_bw", "host")),
    ],
)
def test_the_test_and_its_memory_are_those_of_the_file(info, found):
    (table,) = only(perftest(info)).tables
    assert (table.testcase, table.memory) == found


LATENCY = {"MsgSize": 2, "n_iterations": 1000, "t_min": 1.05, "t_max": 5.41, "t_typical": 1.1, "t_avg": 1.12}


@pytest.mark.parametrize(
    ("numbers", "quantity", "value"),
    [
        (LATENCY, "typical latency", 1.1),
        ({"MsgSize": 2, "t_avg": 1.12, "tps_average": 446428.57}, "average latency", 1.12),
    ],
)
def test_a_latency_is_the_typical_one_and_of_a_test_for_a_time_the_average(numbers, quantity, value):
    content = {"test_info": {"test": "RDMA_Write_Latency_Test", "Device": "mlx5_0"}, "results": numbers}
    (table,) = only(content).tables
    assert (table.testcase, table.quantity, table.cells) == ("ib_write_lat", quantity, {("mlx5_0", "peer"): value})


def test_a_latency_outside_of_its_ends_and_a_test_of_atomics_are_refused():
    for test, numbers in (
        ("RDMA_Write_Latency_Test", LATENCY | {"t_typical": 9.0}),
        ("Atomic_FETCH_AND_ADD_BW_Test", PERFTEST["results"]),
    ):
        with pytest.raises(BadInput, match="contradict|unsupported"):
            read_text(json.dumps({"test_info": {"test": test}, "results": numbers}))


@pytest.mark.parametrize(
    "around", ["$ dcgmi diag -r 3 -j\n{}", "```json\n{}\n```\n", "Successfully ran.\n  {}\n[root@n1 ~]# exit\n"]
)
def test_the_json_of_a_known_program_is_found_among_lines_of_a_terminal(around):
    for name in ("dcgm_diag_v4_layout.json", "perftest_layout.json", "nvbandwidth_v0.8_layout.json"):
        text = FOREIGN[name].strip()
        assert [one.program for one in read_text(around.replace("{}", text))] == [
            one.program for one in read_text(text)
        ]


@pytest.mark.parametrize(("count", "said"), [(0, False), (12, True), (None, True), ("many", True)])
def test_results_of_nccl_tests_that_differ_between_repeats_are_incomplete(count, said):
    content = json.loads(json.dumps(NCCL))
    content["results"][0]["in_place"]["bitwise"] = {"repeats": 5, "different_elements": count}
    (record,) = records(json.dumps(content))
    assert ("result 1: the in-place results of repeats differ" in (record["error"] or "")) is said
