"""What a table's name and a record say of what was measured."""

import pytest

from linkmatrix.references import keys


@pytest.mark.parametrize(
    ("table", "size"),
    [
        ("hgx@1MiB", 1 << 20),
        ("hgx@all@4KiB", 4096),
        ("hgx@512", 512),
        ("hgx@2M", None),
        ("hgx@all", None),
        ("1MiB", None),
        ("hgx@x1MiB", None),
        ("hgx", None),
    ],
)
def test_a_table_says_its_size_behind_an_at_sign(table, size):
    assert keys.table_size(table) == size


@pytest.mark.parametrize(
    ("engine", "backend", "check"),
    [
        ("ce", "cuda", "intranode_p2p"),
        ("mpi", "cuda", "rank_p2p"),
        ("ce", "mpi", "rank_p2p"),
        ("mpi", "mpi", "rank_p2p"),
        ("nccl", "cuda", "device_sends"),
        ("nccl", "mpi", "device_sends"),
    ],
)
def test_ranks_are_known_by_their_engine_or_their_program(make_record, engine, backend, check):
    content = make_record()
    content["backend"] = backend
    result = content["results"][0] | {"engine": engine, "memory": "host"}
    assert keys.measuring_check(content, result) == check
    assert keys.measuring_check(content | {"asked_by": "node_sweep %x=1"}, result) == check  # measures for others
    assert keys.measuring_check(content | {"asked_by": "another %x=1"}, result) == "another"


@pytest.mark.parametrize(
    ("engine", "nodes", "check"),
    [
        ("nccl", 1, "device_collectives"),
        ("nccl", 2, "node_device_collectives"),
        ("mpi", 1, "rank_collectives"),
        ("mpi", 2, "node_collectives"),
        ("nccl", None, "collective_perf"),
    ],
)
def test_collectives_have_the_references_of_the_check_that_measures_the_same(make_record, engine, nodes, check):
    content = make_record()
    for number, device in enumerate(content["devices"]):
        device["node"] = f"n{number % (nodes or 1)}"
    if nodes is None:
        content["devices"] = []
    result = content["results"][0] | {"engine": engine, "rows": ["all"], "columns": ["out-of-place", "in-place"]}
    assert keys.measuring_check(content, result) == check
    assert keys.measuring_check(content | {"asked_by": "another %x=1"}, result) == "another"


def test_what_nobody_asked_for_is_the_usual():
    assert keys.measured_variant({}) == keys.measured_variant({"asked_by": None}) == ""
    assert keys.asking_check({"asked_by": "node_sweep"}) == keys.asking_check({}) == ""
