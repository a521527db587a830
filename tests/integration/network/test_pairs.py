"""Sweeps of some pairs of ranks between hosts with a network of their own: what the record says of them."""

import pytest

from linkmatrix.record.matrix import from_result
from linkmatrix.runs.figures import osu_name

pytestmark = pytest.mark.integration

TESTCASES = ("node_to_node_latency_mpi", "node_to_node_bandwidth_mpi", "node_to_node_bidirectional_mpi")
SWEEP = ("--sweep", "1:16KiB:64", "--samples", "3", "--target-ci", "50", "--timeout", "120")


@pytest.mark.parametrize(("asked", "said", "osu"), [(1, 1, "osu_bw_hh"), (2, None, "osu_mbw_mr_hh_2_pairs")])
def test_a_cell_of_fewer_ranks_than_there_are_says_so(network, program, asked, said, osu):
    hosts = network(2)
    options = ("--testcase", ",".join(TESTCASES), *SWEEP, "--pairs-per-node", str(asked))
    done = hosts.measure(program, *options, ranks=2)
    assert done.code == 0, done.output
    results = done.record["results"]
    assert [(one["testcase"], one["size_bytes"]) for one in results] == [
        (name, size) for name in TESTCASES for size in (1, 64, 4096, 16384)
    ]
    assert {one.get("pairs") for one in results} == {said}
    assert all(one["complete"] and one["verified"] for one in results)
    assert {from_result(one).variant for one in results} == {", 1 pair" if said else ""}
    assert osu_name(done.record, next(one for one in results if one["testcase"] == TESTCASES[1])) == osu
