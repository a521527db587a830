"""Adopting references: only from healthy runs, of one machine, that agree."""

import json
from itertools import permutations

import pytest

from linkmatrix.adopt import writing
from linkmatrix.adopt.usable import select_usable
from linkmatrix.commands import adopt
from linkmatrix.errors import BadInput
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References
from linkmatrix.runs import testcases
from tests.tools import stores

TESTCASE = "device_to_device_memcpy_write_ce"


def test_what_is_adopted_passes_and_a_lost_link_fails(run, store, make_record):
    code, out, _ = run(store(), "--table", "hgx", "--write")
    assert code == 0, out
    references = References.load(run.file)
    table = references.table("hgx", TESTCASE)
    assert set(table) == {"cell[NV18]"}
    assert references.pair_classes("hgx", TESTCASE).texts() == {"NV18": "gpu[0-3]->gpu[0-3]"}
    assert set(references.cells("hgx", TESTCASE)) == set(permutations([f"gpu{number}" for number in range(4)], 2))
    assert all((one.lower, one.upper) == (-0.02, 0.05) for one in table.values())
    assert evaluate(make_record(value=396.0), references, "hgx").verdict is Verdict.PASS
    lost = make_record(value=396.0, off={(1, 2): 396.0 * 17 / 18})
    assert evaluate(lost, references, "hgx").verdict is Verdict.FAIL


def slow(content, number, depth=0.1):
    """gpu3 sends 10 % slower, in every run."""
    for grid in ("values", "low", "high"):
        row = content["results"][0][grid][3]
        content["results"][0][grid][3] = [value and value * (1 - depth) for value in row]


def test_a_sick_machine_is_refused_or_taken_as_it_is_with_a_reason_that_stays(run, store):
    folder = store(size=8, change=slow)
    code, out, _ = run(folder, "--table", "hgx", "--write")
    assert code == 3 and "gpu3 sends 10." in out and "--as-is REASON" in out and not run.file.exists()
    assert run(folder, "--table", "hgx", "--write", "--as-is", " ")[0] == 2
    code, out, _ = run(folder, "--table", "hgx", "--write", "--as-is", "gpu3 hangs\non a slower switch")
    assert code == 0 and "gpu3 sends 10." in out
    assert "# as is: " in run.file.read_text() and "gpu3 hangs on a slower switch" in run.file.read_text()
    run(store(6, "later", size=8), "--table", "hgx", "--write")  # repaired: all is raised
    text = run.file.read_text()
    assert "gpu3 hangs on a slower switch" in text and text.count(writing.ADOPTED) == 1


def test_a_healthy_machine_is_no_sick_one(run, store):
    for name, sigma in (("quiet", 0.0), ("usual", 0.0005), ("noisy", 0.005)):
        code, out, _ = run(store(6, name, size=8, sigma=sigma), "--table", "hgx")
        assert code == 0 and "suspect" not in out, out
        assert "as is" not in out


def test_a_refusal_is_the_last_line_and_the_exit_code(run, store):
    code, out, _ = run(store(5), "--table", "hgx", "--write")
    assert code == 3
    assert out.splitlines()[-1] == "REFUSED: nothing was written, for 1 reason: see 'refused:' above"
    code, out, _ = run(store(6, "sick", size=8, change=slow), "--table", "hgx")
    assert code == 3 and out.splitlines()[-1].startswith("REFUSED: nothing was written, for 1 reason")


def test_fewer_than_six_runs_are_too_few(run, store):
    code, out, _ = run(store(5), "--table", "hgx", "--write")
    assert code == 3 and "too few runs: 5, at least 6" in out
    assert not run.file.exists()
    assert run(store(6, "more"), "--table", "hgx", "--runs", "5")[0] == 2


def test_a_run_counts_once_however_often_it_is_named_or_copied(run, store):
    """Its noise would be none, and the next healthy run would fail."""
    five = store(5)
    code, out, _ = run(five, five, five, "--table", "hgx", "--write")
    assert code == 3 and "too few runs: 5, at least 6" in out
    assert out.count("so the result counts once") == 10
    assert not run.file.exists()


def test_what_a_session_measured_and_what_its_test_took_of_it_count_once(run, store, tmp_path):
    """The one knows which check asked, the other does not; a list of files names both."""
    own = sorted(store(3).glob("*/record.json"))
    of_tests = [tmp_path / "tests" / str(number) / "record.json" for number in range(3)]
    for place, path in zip(of_tests, own, strict=True):
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(json.loads(path.read_text()) | {"asked_by": "intranode_p2p %testcase=a"}))
    code, out, _ = run(*own, *of_tests, "--table", "hgx", "--write")
    assert code == 3 and "too few runs: 3, at least 6" in out and not run.file.exists()


def counters(content, _):
    item = {"name": "nvlink_replay_errors", "before": 3, "after": 8}
    content["health"] = [{"label": "gpu1", "counters": [item], "readings": []}]


def one_device(content, _):
    for device in content["devices"]:
        device["uuid"] = "GPU-1"


def one_sample(content, _):
    result = content["results"][0]
    result["samples"] = [[count and 1 for count in row] for row in result["samples"]]
    result["converged"] = [[one and False for one in row] for row in result["converged"]]
    result["sampled"] = None


def beside_others(content, _):
    content["results"][0]["others"] = stores.disturbed("node001", "hog")


@pytest.mark.parametrize(
    "change, why",
    [
        (counters, "nvlink_replay_errors rose from 3 to 8"),
        (one_device, "are the same device, GPU-1"),
        (one_sample, "have a single sample"),
        (beside_others, "hog used node001 during the measurement"),
    ],
)
def test_nothing_is_adopted_from_records_that_are_no_pass_whatever_the_references_are(run, store, change, why):
    code, out, errors = run(store(change=change), "--table", "hgx", "--write")
    assert code != 0 and out.count("left out: ") == 1 and "and 5 more: " in out and why in out
    assert "no run can be adopted: no result is usable" in errors and not run.file.exists()


def test_links_of_two_levels_are_no_noise_that_hides_a_slow_gpu(run, store):
    """Limits of 74 % made a GPU that sends 30 % slow a WARN, exit code 0, where without references it is suspect."""

    def every_other(content, number):
        result = content["results"][0]
        result["sampled"] = None
        for name in ("values", "low", "high") if number % 2 else ():
            result[name] = [[value and value * 0.8 for value in row] for row in result[name]]

    code, out, _ = run(store(change=every_other), "--table", "hgx", "--write")
    assert code == 3 and "from run to run: a reference would need a tolerance of" in out and not run.file.exists()


def test_what_no_path_can_carry_becomes_no_reference(run, store):
    code, out, _ = run(store(level=515.0), "--table", "hgx", "--write")
    assert code == 3 and "its path carries 450 GB/s" in out and not run.file.exists()


@pytest.mark.parametrize("options", [[], ["--with-failed"]])
def test_a_fault_that_was_simulated_is_not_adopted(run, store, options):
    folder = store(change=lambda content, _: content["notes"].append("simulated fault: slow=gpu3"))
    code, out, _ = run(folder, *options)
    assert code == 2 and "and 5 more: simulated fault: slow=gpu3" in out and not run.file.exists()


def test_a_record_that_may_be_of_another_run_is_not_adopted(run, make_record):
    doubt = "its record says that it began in 2020"
    test = testcases.Test(name=TESTCASE, result="pass", record=make_record(), doubts=(doubt,))
    samples, refused = select_usable([test], False)
    assert not samples and doubt in refused[0]


def test_runs_that_name_no_table_are_told_how_to_choose_one(run, store):
    code, out, _ = run(store(6))
    assert code == 3 and "its runs name no table of references: choose one with --table NAME" in out


def test_a_run_with_an_outlier_is_refused_unless_told(run, store):
    def dip(content, number):
        if number == 3:
            for grid in ("values", "low", "high"):
                content["results"][0][grid][2][1] = 350.0

    folder = store(7, change=dip)
    code, out, _ = run(folder, "--table", "hgx", "--write")
    assert code == 3 and "gpu2->gpu1 in" in out and "11.6 % below" in out
    assert not run.file.exists()
    code, out, _ = run(folder, "--table", "hgx", "--write", "--with-outliers")
    assert code == 0 and "outlier: gpu2->gpu1" in out
    assert References.load(run.file).cells("hgx", TESTCASE)["gpu2", "gpu1"].value == pytest.approx(396, rel=0.002)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content.update(result="FAIL", error="a bound failed"),
        lambda content: (content["results"][0].update(verified=False), content.update(result="FAIL")),
        lambda content: content.update(result="INCOMPLETE"),
        lambda content: content.update(result="ERROR", lost=[{"label": "gpu1", "why": "out of memory"}]),
        lambda content: content["results"][0].update(verified=None),
    ],
)
def test_a_run_that_failed_is_left_out_and_said(run, store, spoil):
    folder = store(7, change=lambda content, number: spoil(content) if number == 0 else None)
    code, out, _ = run(folder, "--table", "hgx")
    assert code == 0 and "left out: " in out and "6 runs" in out


def test_other_drivers_are_no_noise(run, store):
    folder = store(7, change=lambda content, n: content["software"].update(driver="999") if n > 4 else None)
    code, out, _ = run(folder, "--table", "hgx")
    assert code == 3 and "different driver: 580.159.04, 999" in out


def test_dates_sessions_and_systems_choose(run, store):
    folder = store(9)
    assert "7 runs" in run(folder, "--table", "hgx", "--since", "2026-11-12")[1]
    assert "6 runs of 2026-11-13 to 2026-11-18" in run(folder, "--table", "hgx", "--runs", "6")[1]
    assert run(folder, "--table", "hgx", "--since", "yesterday")[0] == 2
    assert run(folder, "--table", "hgx", "--system", "no:where")[0] == 2
    assert run(folder, "--table", "hgx", "--testcase", "none")[0] == 2
    assert run(folder)[0] == 3  # records name no table
    with pytest.raises(BadInput):
        adopt.reference_floor("2")


def test_runs_that_agree_on_nothing_give_no_reference(run, store):
    code, out, _ = run(store(sigma=0.35), "--table", "hgx", "--with-outliers", "--write")
    assert code == 3 and "a reference would need" in out and not run.file.exists()


def test_devices_may_differ_within_a_run_but_not_from_run_to_run(run, store):
    def two_models(content, number):
        for device in content["devices"]:
            device["name"] = f"core {device['index']}"

    assert run(store(folder="cores", change=two_models), "--table", "hgx")[0] == 0

    def another(content, number):
        content["devices"][0]["name"] = "NVIDIA H100" if number == 3 else "NVIDIA H200"

    code, out, _ = run(store(folder="mixed", change=another), "--table", "hgx")
    assert code == 3 and "different devices, NVIDIA H100, NVIDIA H200 and NVIDIA H200" in out
