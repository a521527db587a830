"""What ReFrame repeated: a failure that passes later is a warning, and wrong data stays a failure."""

import json
import shutil
from pathlib import Path

import pytest
import stored_verdicts
import stores

from linkmatrix import cli


def two_attempts(machine, references, first, later):
    """A retried run; first, later: (ReFrame's word, record) of its attempts."""
    path, runs = machine.folder / "prepared.json", []
    for word, content in (first, later):
        machine.prepare(word, content=content)
        stored_verdicts.of_report(path, references)
        runs += json.loads(path.read_text())["runs"]
    path.write_text(json.dumps({**json.loads(path.read_text()), "runs": runs}))
    (machine.folder / "code").write_text("1")


def disturbed(record):
    record["results"][0]["others"] = stores.disturbed("node001")
    return record


def before_a_pass(machine, reference_folder, first, lose=lambda case: None):
    """A report with two attempts and their stored verdicts: the first as given, then PASS. lose: files of the first."""
    machine.prepare("pass")
    path = machine.folder / "prepared.json"
    stored_verdicts.of_report(path, reference_folder)
    (last,) = json.loads(path.read_text())["runs"]
    machine.prepare("fail", off=first, **({"result": "FAIL"} if "corrupt" in first.values() else {}))
    stored_verdicts.of_report(path, reference_folder)
    report = json.loads(path.read_text())
    lose(report["runs"][0]["testcases"][0])
    report["runs"].append(last)
    path.write_text(json.dumps(report))


def test_retries_are_counted_and_shown(machine):
    machine.prepare("pass", attempts=2)
    code, out = machine.run("--retries", "1")
    assert "--max-retries=1" in machine.commands()[0] and "1 retry of intranode_p2p %testcase=0: " in out


@pytest.mark.parametrize(
    ("first", "code", "word"), [({(0, 1): 300.0}, 0, "WARN"), ({(0, 1): "corrupt"}, 1, "FAIL"), ({}, 0, "PASS")]
)
def test_what_passes_when_repeated_is_a_warning_and_wrong_data_stays_a_failure(machine, first, code, word):
    machine.prepare("pass")
    (last,) = json.loads((machine.folder / "prepared.json").read_text())["runs"]
    machine.prepare("fail" if first else "pass", off=first, result="FAIL" if "corrupt" in first.values() else "PASS")
    report = json.loads((machine.folder / "prepared.json").read_text())
    report["runs"].append(last)
    machine.store(report)
    found, out = machine.run("--retries", "1")
    assert found == code and f"{word}  acceptance" in out
    assert f"\n1 test case: 1 {word}\n" in out or word == "WARN"  # of two attempts
    assert ("passed in a retry: intranode_p2p %testcase=0: " in out) == bool(first)


def test_what_passes_with_one_environment_does_not_excuse_another(machine):
    machine.prepare("pass", off={(0, 1): 300.0})
    report = json.loads((machine.folder / "prepared.json").read_text())
    machine.prepare("pass")
    other = json.loads((machine.folder / "prepared.json").read_text())
    (bad,), (good,) = (one["runs"][0]["testcases"] for one in (report, other))
    gnu, nvhpc = ({**bad, "environ": name, "result": "fail"} for name in ("gnu", "nvhpc"))
    report["runs"] = [{"testcases": [gnu, nvhpc]}, {"testcases": [gnu, {**good, "environ": "nvhpc"}]}]
    machine.store(report)
    code, out = machine.run("--retries", "1")
    assert code == 1 and out.count("passed in a retry") == 1


def test_a_fail_that_stays_when_repeated_ends_with_1(machine, make_record, reference_folder):
    slow = make_record(off={(0, 1): 300.0})
    two_attempts(machine, reference_folder, ("fail", slow), ("fail", slow))
    assert machine.run("--retries", "1")[0] == 1


@pytest.mark.parametrize("kind", ["disturbed", "incomplete"])
def test_a_fail_is_not_hidden_by_a_retry_that_was_not_clean(machine, make_record, reference_folder, kind):
    slow = make_record(off={(0, 1): 300.0})
    later = disturbed(make_record(off={(0, 1): 300.0})) if kind == "disturbed" else make_record(off={(0, 1): "timeout"})
    two_attempts(machine, reference_folder, ("fail", slow), ("fail", later))
    code, out = machine.run("--retries", "1")
    assert code == 1, out[-400:]


def test_a_retry_that_another_process_disturbed_excuses_no_fail(machine, make_record, reference_folder):
    slow = make_record(off={(0, 1): 300.0})
    two_attempts(machine, reference_folder, ("fail", slow), ("pass", disturbed(make_record())))
    (machine.folder / "code").unlink()
    code, out = machine.run("--retries", "1")
    assert code == 1, out[-400:]


@pytest.mark.parametrize("value", ["corrupt", 900.0], ids=["wrong data", "more than the path can carry"])
def test_what_no_retry_excuses_stays_a_fail_with_stored_verdicts(machine, reference_folder, value):
    before_a_pass(machine, reference_folder, {(0, 1): value})
    assert machine.run("--retries", "1")[0] == 1


def test_a_first_attempt_whose_files_are_lost_is_incomplete(machine, reference_folder):
    """`--dont-restage` gives all attempts one output folder: the second verdict.json replaces the first."""
    before_a_pass(machine, reference_folder, {(0, 1): "corrupt"}, lambda case: shutil.rmtree(case["outputdir"]))
    code, out = machine.run("--retries", "1")
    assert code == 3, out[-600:]


def test_a_rerun_is_no_retry(machine, reference_folder):
    """`--reruns=1` measures all twice: the second PASS does not excuse the FAIL of the first."""
    before_a_pass(machine, reference_folder, {(0, 1): 300.0})
    (machine.folder / "code").write_text("1")
    code, out = machine.run("--", "--reruns=1")
    assert code == 1, out[-600:]


@pytest.mark.parametrize("first", [{(0, 1): 300.0}, {(0, 1): "corrupt"}, {(0, 1): "timeout"}])
def test_run_and_show_end_alike_on_a_retried_run(machine, reference_folder, capsys, first):
    before_a_pass(machine, reference_folder, first)
    code, _ = machine.run("--retries", "1")
    shown = cli.main(["show"])
    out = capsys.readouterr().out
    assert shown == code and ("WARN" if code == 0 else "FAIL") in out


def test_an_error_counter_that_rose_in_a_first_attempt_is_no_warning(machine, reference_folder):
    """500 CRC errors in the first attempt, none in the second."""
    machine.prepare("pass")
    path = machine.folder / "prepared.json"
    stored_verdicts.of_report(path, reference_folder)
    (last,) = json.loads(path.read_text())["runs"]
    machine.prepare("fail")
    counter = {"name": "nvlink_crc", "before": 0, "after": 500}
    (case,) = json.loads(path.read_text())["runs"][0]["testcases"]
    place = Path(case["outputdir"]) / "record.json"
    record = json.loads(place.read_text())
    record["health"] = [{"label": "gpu1", "counters": [counter], "readings": []}]
    place.write_text(json.dumps(record))
    (content,) = stored_verdicts.of_report(path, reference_folder)
    assert content["verdict"] == "FAIL"
    report = json.loads(path.read_text())
    report["runs"].append(last)
    path.write_text(json.dumps(report))
    code, out = machine.run("--retries", "1")
    assert code == 1, out[-500:]
