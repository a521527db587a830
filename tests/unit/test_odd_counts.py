"""A node that has fewer devices than the others of its partition is the odd one: it passed, and nobody said so."""

import pytest

from linkmatrix.judge.inventory_diff import node_differences


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
