"""Collectives between ranks of this machine, through ReFrame: nothing is replaced by a fake."""

import re

import pytest
from reframe_runs import only, published, record_of

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

ALL_REDUCE = ("-r", "-n", "rank_collectives.*=all_reduce_perf$")
FEW = "extra_opts=--samples,3,--target-ci,50"
SUITE = ("-S", "node_session.suite=rank_collectives")
WAYS = ("out-of-place", "in-place")


def test_every_collective_of_mpi_is_a_check_of_its_own_in_one_process(ranks):
    run = ranks("-r", "-n", "rank_collectives", "-S", FEW, "-S", "rank_collectives.sizes=1KiB:64KiB:8", *SUITE)
    assert run.code == 0, run.output
    assert "9 test cases in 1 process of one job" in run.output
    found = {check["testcase"]: published(check) for check in run.checks()}
    sizes = (1024, 8192, 65536)
    assert found["all_reduce_perf"] == {f"{way}@{size}" for way in WAYS for size in sizes}
    assert found["broadcast_perf"] == {f"in-place@{size}" for size in sizes}
    assert found["alltoall_perf"] == {f"out-of-place@{size}" for size in sizes}
    for check in run.checks():
        record = record_of(check)
        assert {result["testcase"] for result in record["results"]} == {check["testcase"]}
        assert record["asked_by"] == check["display_name"]


def test_a_collective_is_held_against_its_references_beside_the_other_checks_of_ranks(ranks):
    lines = ["rank_collectives:", "  $index: [reference_name, testcase]", "  bench:", "    all_reduce_perf:"]
    lines += [f"      '{way}@4096': [99999.0, -0.1, 0.1, GB/s]" for way in WAYS]  # more than any memory can do
    few = ("-n", "rank_binding|rank_collectives.*=all_reduce_perf$", "-S", FEW, "-S", "rank_collectives.sizes=4KiB")
    suite = ("-S", "node_session.suite=rank_binding,rank_collectives.all_reduce_perf")
    run = ranks("-r", *few, *suite, "-S", "rank_collectives.reference_name=bench", references="\n".join(lines))
    assert "2 test cases in 1 process" in run.output
    binding, collective = sorted(run.checks(), key=lambda check: check["name"])
    assert (binding["result"], collective["fail_phase"]) == ("pass", "performance"), run.output
    assert re.search(r"(in|out-of)-place@4096=\d", collective["fail_reason"])


def test_a_rank_whose_data_is_wrong_fails_the_sanity_with_the_size(ranks):
    run = ranks(*ALL_REDUCE, "-S", f"{FEW},--simulate-fault,corrupt:rank1", "-S", "rank_collectives.sizes=4KiB,1MiB")
    assert run.code != 0
    check = only(run)
    assert check["fail_phase"] == "sanity"
    assert check["fail_reason"].startswith("sanity error: FAIL: ")
    for size in (4096, 1 << 20):
        assert f"all_reduce_perf of {size} bytes: all->in-place: " in check["fail_reason"]


def test_sizes_and_data_that_are_not_what_the_check_wants_are_no_pass(ranks):
    run = ranks(*ALL_REDUCE, "-S", f"{FEW},--no-verify", "-S", "rank_collectives.sizes=4KiB")
    assert "all_reduce_perf: its data was not verified (--no-verify)" in only(run)["fail_reason"]
    run = ranks(*ALL_REDUCE, "-S", FEW, "-S", "rank_collectives.sizes=many")
    assert "collective_perf refused its options: --size 'many'" in only(run)["fail_reason"]
