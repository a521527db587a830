"""What a check says of a run that is not as promised: the judging code of checks/, on small records."""

import pytest
from reasons import said, verdicts

from checks import cells, expect, testcases
from linkmatrix.judge.verdicts import joined

PROMISE = expect.ExpectedConfiguration(devices=3, model="NVIDIA H200", link_class="NV18", peer_access=True, hops=1)


def square(n, value, diagonal):
    return [[diagonal if row == column else value for column in range(n)] for row in range(n)]


@pytest.fixture
def record():
    """Three GPUs as PROMISE has them."""
    labels = ["gpu0", "gpu1", "gpu2"]
    return {
        "host": {"name": "node1"},
        "devices": [{"label": label, "name": "NVIDIA H200"} for label in labels],
        "topology": {
            "labels": labels,
            "link_class": square(3, "NV18", "X"),
            "peer_access": square(3, True, False),
            "min_path": square(3, 1, 0),
        },
    }


def test_a_machine_as_promised_has_no_faults(record):
    assert expect.device_faults(record, PROMISE) + expect.path_faults(record, PROMISE) == []


def test_a_missing_device_is_counted(record):
    record["devices"].pop()
    faults = expect.device_faults(record, PROMISE)
    assert said(faults) == ["the partition specifies 3 GPUs, node1 has gpu0, gpu1"] and verdicts(faults) == ["FAIL"]


def test_more_devices_than_promised_are_a_fault_of_the_promise(record):
    assert verdicts(expect.device_faults(record, expect.ExpectedConfiguration(devices=2))) == ["INCOMPLETE"]


def test_another_model_is_named(record):
    record["devices"][1]["name"] = "NVIDIA H100"
    faults = expect.device_faults(record, PROMISE)
    assert said(faults) == ["gpu1 is 'NVIDIA H100', the partition specifies 'NVIDIA H200'"]
    assert verdicts(faults) == ["FAIL"]


def test_a_partition_that_counts_no_devices_fails_closed(record):
    faults = expect.device_faults(record, expect.ExpectedConfiguration())
    assert "does not specify its number of GPUs" in said(faults)[0] and verdicts(faults) == ["INCOMPLETE"]


@pytest.mark.parametrize(
    "table, value, sentence",
    [
        ("link_class", "PHB", "gpu0->gpu2: link class is PHB, expected is NV18"),
        ("link_class", "", "gpu0->gpu2: link class is unknown, expected is NV18"),
        ("peer_access", False, "gpu0->gpu2: peer access is off, expected is on"),
        ("peer_access", None, "gpu0->gpu2: peer access is unknown, expected is on"),
        ("min_path", 2, "gpu0->gpu2: the shortest path in hops is 2, expected is 1"),
        ("min_path", None, "gpu0->gpu2: the shortest path in hops is unknown, expected is 1"),
    ],
)
def test_a_pair_that_is_not_as_promised_is_named(record, table, value, sentence):
    record["topology"][table][0][2] = value
    faults = expect.path_faults(record, PROMISE)
    assert said(faults) == [sentence]
    assert verdicts(faults) == ["INCOMPLETE" if "unknown" in sentence else "FAIL"]


def test_what_is_not_promised_is_not_held_against_a_machine(record):
    record["topology"]["link_class"][0][2] = "SYS"
    assert expect.path_faults(record, expect.ExpectedConfiguration(devices=3)) == []


GPUS = ["gpu0", "gpu1"]


def result(**changes):
    """An entry of a record's results between two GPUs."""
    square = [[None, 5.0], [5.0, None]]
    base = {"testcase": "t", "size_bytes": 64, "rows": GPUS, "columns": GPUS, "values": square, "parts": {}}
    return base | {"schedule": {"mode": "rounds"}} | changes


def test_a_whole_matrix_lacks_nothing():
    assert cells.cell_faults(result(), GPUS, GPUS) == []
    assert cells.cell_faults(result(), None, GPUS) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rows": ["gpu0"]}, "t of 64 bytes: its rows lack gpu1"),
        ({"columns": ["local"]}, "t of 64 bytes: its columns lack gpu0, gpu1"),
        ({"rows": [*GPUS, "gpu2"]}, "t of 64 bytes: its rows are gpu0, gpu1, gpu2, expected are gpu0, gpu1"),
        ({"columns": GPUS[::-1]}, "t of 64 bytes: its columns are gpu1, gpu0, expected are gpu0, gpu1"),
        (
            {"schedule": {"mode": "bisection"}},
            "all pairs should be measured, but the record has pairs between two halves",
        ),
        ({"schedule": {"mode": "matchings"}}, "all pairs should be measured, but the record has matchings"),
        ({"triangle": True}, "all pairs should be measured, but the record has one direction of each pair"),
    ],
)
def test_a_matrix_with_fewer_or_other_cells_than_wanted_is_incomplete(changes, sentence):
    (fault,) = cells.cell_faults(result(**changes), GPUS, GPUS)
    assert sentence in fault.sentence and fault.verdict.name == "INCOMPLETE"


def test_of_many_absent_endpoints_the_first_are_named():
    wanted = [f"n{number}" for number in range(12)]
    assert said(cells.cell_faults(result(), wanted, GPUS)) == ["t of 64 bytes: its rows lack n0, n1, n2, n3, 8 more"]


@pytest.mark.parametrize(
    ("parts", "lacking"), [({}, 2), ({"enqueue": {"values": [[None, 1.0], [None, None]]}}, 1)], ids=["all", "one"]
)
def test_a_further_matrix_has_a_number_for_each_measured_cell(parts, lacking):
    faults = cells.cell_faults(result(parts=parts), GPUS, GPUS, ["enqueue"])
    assert said(faults) == [f"t of 64 bytes: {lacking} cells have no 'enqueue'"] and verdicts(faults) == ["INCOMPLETE"]
    whole = {"enqueue": {"values": [[None, 1.0], [1.0, None]]}}
    assert cells.cell_faults(result(parts=whole), GPUS, GPUS, ["enqueue"]) == []


def test_a_cell_without_a_number_needs_none_in_a_further_matrix():
    """The judge reads the status of the cell."""
    values, part = [[None, 5.0], [None, None]], {"values": [[None, 1.0], [None, None]]}
    assert cells.cell_faults(result(values=values, parts={"enqueue": part}), GPUS, GPUS, ["enqueue"]) == []


@pytest.mark.parametrize(
    ("testcase", "on_gpus", "parts"),
    [
        ("device_to_device_memcpy_write_ce", True, []),
        ("device_to_host_bidirectional_memcpy_ce", True, ["one_direction"]),
        ("rank_to_rank_put_bidirectional_mpi", False, ["one_direction"]),
        ("device_to_device_memcpy_write_sm_stress", False, ["isolated", "loss"]),
        ("device_to_device_copy_latency_write_ce", True, ["enqueue"]),
        ("device_to_device_copy_latency_write_ce", False, []),
        ("node_to_node_bandwidth_mpi", False, ["message_rate"]),
        ("node_to_node_latency_mpi", False, []),
    ],
)
def test_further_matrices_follow_from_the_test_case(testcase, on_gpus, parts):
    assert testcases.part_names(testcase, on_gpus) == parts


def test_endpoints_are_the_devices_or_their_nodes():
    record = {
        "devices": [
            {"label": f"n{node}:rank{node * 2 + rank}", "node": f"n{node}"} for node in (0, 1) for rank in (0, 1)
        ]
    }
    assert cells.endpoints(record, "node_to_node_latency_mpi") == ["n0", "n1"]
    assert len(cells.endpoints(record, "rank_to_rank_latency_mpi")) == 4


def test_many_faults_are_counted_not_all_told():
    text = joined([f"fault {number}" for number in range(12)])
    assert text.endswith("; fault 7; 4 more")


def test_the_record_of_another_check_is_named():
    assert expect.run_faults({"asked_by": "intranode_p2p"}, "intranode_p2p") == []
    assert expect.run_faults({"asked_by": None}, "intranode_p2p") == []
    faults = expect.run_faults({"asked_by": "rank_p2p"}, "intranode_p2p")
    assert said(faults) == ["the record belongs to the check rank_p2p, not to intranode_p2p"]
    assert verdicts(faults) == ["INCOMPLETE"]
