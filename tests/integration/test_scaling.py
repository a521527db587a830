"""N-body on ranks of this machine, through ReFrame: nothing is replaced by a fake."""

import re

import pytest
from reframe_runs import only, published, record_of

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

STRONG = ("-r", "-n", "rank_scaling.*=nbody_float_strong$")
FEW = "extra_opts=--samples,2,--steps,1,--target-ci,50"


def test_every_precision_and_scaling_is_a_check_of_its_own_in_one_process(ranks):
    suite = ("-S", "node_session.suite=rank_scaling")
    run = ranks("-r", "-n", "rank_scaling", "-S", FEW, "-S", "rank_scaling.bodies=600,2100", *suite)
    assert run.code == 0, run.output
    assert "4 test cases in 1 process of one job" in run.output
    found = {check["testcase"]: published(check) for check in run.checks()}
    assert found["nbody_float_strong"] == {f"{n}@{b * 16}" for n in ("1-device", "2-devices") for b in (600, 2100)}
    assert found["nbody_double_weak"] == {f"{n}@{b * 32}" for n in ("1-device", "2-devices") for b in (600, 2100)}
    for check in run.checks():
        record = record_of(check)
        assert {result["testcase"] for result in record["results"]} == {check["testcase"]}
        assert all(result["verified"] for result in record["results"])


def test_a_rate_is_held_against_its_reference(ranks):
    lines = ["rank_scaling:", "  $index: [reference_name, testcase]", "  bench:", "    nbody_float_strong:"]
    lines += [f"      '{way}@33600': [99999999.0, -0.1, 0.1, GFLOP/s]" for way in ("1-device", "2-devices")]
    few = ("-S", FEW, "-S", "rank_scaling.bodies=2100", "-S", "rank_scaling.reference_name=bench")
    run = ranks(*STRONG, *few, references="\n".join(lines))
    check = only(run)
    assert check["fail_phase"] == "performance", run.output
    assert re.search(r"\d-devices?@33600=\d", check["fail_reason"])


def test_wrong_forces_fail_the_sanity_with_the_number_of_bodies(ranks):
    run = ranks(*STRONG, "-S", f"{FEW},--simulate-fault,corrupt:rank1", "-S", "rank_scaling.bodies=2100")
    check = only(run)
    assert (run.code != 0, check["fail_phase"]) == (True, "sanity")
    assert check["fail_reason"].startswith("sanity error: FAIL: nbody_float_strong: ")


def test_what_was_not_compared_is_no_pass_and_bad_input_is_one_sentence(ranks):
    run = ranks(*STRONG, "-S", f"{FEW},--no-verify", "-S", "rank_scaling.bodies=2100")
    assert "nbody_float_strong: its data was not verified (--no-verify)" in only(run)["fail_reason"]
    run = ranks(*STRONG, "-S", FEW, "-S", "rank_scaling.bodies=100")
    assert "nbody_scaling refused its options: --bodies 100 is too small" in only(run)["fail_reason"]
