"""What a mode measures on a partition is known: less is INCOMPLETE, and only the manifest excuses what is skipped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.runs import manifest, modes, stored

FILE = Path("config/manifests/node-gpu.json")


def keep(machine, *numbers, **changes):
    """Leaves only some of the prepared test cases."""
    content = json.loads((machine.folder / "prepared.json").read_text())
    (run,) = content["runs"]
    run["testcases"] = [{**run["testcases"][number], **changes} for number in numbers]
    machine.store(content)


def test_one_of_sixty_is_no_acceptance(machine):
    machine.prepare(*["pass"] * 6)
    code, out = machine.run("--system", "node:gpu")
    assert code == 0 and "acceptance of node:gpu measures 6 test cases from now on" in out and FILE.is_file()
    keep(machine, 2)
    code, out = machine.run("--system", "node:gpu", "--", "-n", "one_of_six")
    assert code == 3 and "1 of 6 test cases of acceptance of node:gpu" in out and "INCOMPLETE  acceptance" in out
    assert "intranode_p2p %testcase=0" in out
    assert machine.run("--system", "node:gpu")[0] == 3  # an update that took them away is no better than a selection


@pytest.mark.parametrize("more", [(), ("--manifest", "another set of tests")])
def test_what_a_run_measured_is_read_from_its_report_once(machine, monkeypatch, more):
    machine.prepare("pass", "pass")
    read, all_of = [], stored.load_all
    monkeypatch.setattr(stored, "load_all", lambda report: read.append(report) or all_of(report))
    assert machine.run(*more)[0] == 0 and FILE.is_file()
    assert len(read) == 1


def test_a_selection_is_never_the_first_acceptance(machine):
    machine.prepare("pass")
    code, out = machine.run("--", "-n", "one")
    assert code == 3 and "no manifest lists the test cases of acceptance on node:gpu" in out and not FILE.exists()
    assert machine.run("--", "--nocolor")[0] == 0 and FILE.is_file()


@pytest.mark.parametrize("mode", ["quick", "nightly"])
def test_a_selection_of_another_mode_needs_no_manifest_and_makes_none(machine, mode):
    machine.prepare("pass")
    code, out = machine.run("--mode", mode, "--", "-n", "one")
    assert code == 0 and "manifest" not in out and not FILE.exists()


def test_a_run_that_does_not_pass_freezes_nothing(machine):
    machine.prepare("pass", "fail")
    assert machine.run()[0] == 3 and not FILE.exists()


def test_a_partition_that_is_gone_is_missed(machine):
    machine.prepare("pass", "pass")
    keep(machine, 0, 1)
    content = json.loads((machine.folder / "prepared.json").read_text())
    content["runs"][0]["testcases"][1]["partition"] = "cpu"
    machine.store(content)
    assert machine.run("--system", "node")[0] == 0
    keep(machine, 0)
    code, out = machine.run("--system", "node")
    assert code == 3 and "0 of 1 test cases of acceptance of node:cpu" in out
    assert machine.run("--system", "node:gpu")[0] == 0  # which was not asked for


def test_a_device_that_is_gone_is_missed_though_each_cell_that_is_left_passes(machine, reference_folder):
    machine.prepare("pass")
    assert machine.run()[0] == 0
    content = json.loads(FILE.read_text())
    (name,) = content["modes"]["acceptance"]["cases"]
    assert content["modes"]["acceptance"]["cases"][name] == 16
    content["modes"]["acceptance"]["cases"][name] = 64  # it had eight
    FILE.write_text(json.dumps(content))
    code, out = machine.run()
    assert code == 3 and "16 of 64 cells of acceptance of node:gpu" in out


def test_the_manifest_changes_with_a_reason_that_stays(machine, capsys):
    machine.prepare("pass", "pass")
    machine.run()
    keep(machine, 0)
    assert machine.run()[0] == 3
    code, out = machine.run("--manifest", "the second fabric was taken out")
    assert code == 0 and "measures 1 test case from now on" in out
    frozen = json.loads(FILE.read_text())["modes"]["acceptance"]["frozen"]
    assert [one["reason"] for one in frozen] == ["the first run that passed", "the second fabric was taken out"]
    for options in (["--manifest", " "], ["--manifest", "x", "--resume"], ["--manifest", "x", "--", "-n", "one"]):
        assert cli.main(["run", "--reframe", str(machine.reframe), *options]) == 2


def test_what_is_new_is_told(machine):
    machine.prepare("pass", "pass")
    keep(machine, 0)
    machine.run()
    machine.prepare("pass", "pass")
    code, out = machine.run()
    assert code == 0 and "intranode_p2p %testcase=1" in out and "to add these: --manifest REASON" in out


def test_a_skip_is_excused_only_by_the_manifest(machine, linkmatrix):
    machine.prepare("pass", "skip")
    code, out = machine.run()
    assert code == 3 and not FILE.exists()
    code, out = machine.run("--manifest", "one GPU")
    assert code == 0 and "may skip 1 other test case" in out
    assert machine.run()[0] == 0
    printed = linkmatrix.out("show", machine.folder / "reports" / "run-report-2.json")
    assert "1 test case skipped, as recorded in the manifest: one GPU" in printed
    machine.prepare("skip", "skip")
    code, out = machine.run()
    assert code == 4 and "0 of 1 test cases" in out  # nothing began


def test_each_mode_has_its_own(machine):
    machine.prepare("pass", "pass")
    machine.run()
    keep(machine, 0)
    assert machine.run("--mode", "quick")[0] == 0
    assert set(json.loads(FILE.read_text())["modes"]) == {"acceptance", "quick"}


def test_what_passed_before_counts_until_it_is_too_old(machine):
    machine.prepare("pass", "pass")
    assert machine.run()[0] == 0
    keep(machine, 0)  # the one that is measured again
    code, out = machine.run("--resume")
    assert code == 0 and "--exclude=/abc1" in machine.commands()[-1]
    (note,) = (machine.folder / "locks").glob("*.last.json")
    said = json.loads(note.read_text())
    said["stamp"] = "20260101T000000Z-1"
    said["passed"] = {
        code: [[p, case, cells, 1.0, on] for p, case, cells, _, on in one] for code, one in said["passed"].items()
    }
    note.write_text(json.dumps(said))
    code, out = machine.run("--resume")
    assert "measured again (--resume-hours)" in out and "--exclude" not in machine.commands()[-1]
    assert code == 3 and "1 of 2 test cases" in out


def test_a_pipe_in_the_place_of_a_manifest_or_of_what_resume_knows_is_not_waited_for(machine, tmp_path):
    FILE.parent.mkdir()
    os.mkfifo(FILE)
    code = "from pathlib import Path; from linkmatrix.runs import manifest; manifest.load(Path.cwd(), 'quick')"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert "is not a manifest of linkmatrix" in done.stderr and "is not a regular file" in done.stderr
    os.mkfifo(tmp_path / "last.json")
    asked = "resume.load_passes(Path('last.json'), Path(), None, 1)"
    code = f"from pathlib import Path; from linkmatrix.runs import resume; {asked}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "the previous run left no report, so all is measured again" in done.stdout


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"partition": "node:gpu"}', '{"partition": "a", "modes": {"acceptance": 1}}']
)
def test_a_manifest_that_cannot_be_read_is_one_sentence_and_nothing_starts(machine, linkmatrix, text):
    FILE.parent.mkdir()
    FILE.write_text(text)
    machine.prepare("pass")
    errors = linkmatrix.err("run", "--reframe", machine.reframe)
    assert errors.count("\n") == 1 and not (machine.folder / "command.txt").exists()


def test_only_what_is_known_to_choose_nothing_is_harmless():
    assert not modes.is_selective(["--nocolor", "-J", "account=a", "--job-option=qos=b", "-v"])
    for more in (["-n", "a"], ["--tag=a"], ["-S", "a.valid_systems=b"], ["-x", "a"], ["-J", "a=b", "-E", "c"]):
        assert modes.is_selective(more)
    more = modes.default_selection(["-J", "a=b", "-S", "extra_opts=--samples,31", "-p", "gnu"])
    assert more == modes.DEFAULT_SELECTION
    for more in (["-n", "a"], ["-nab"], ["--name=a"], ["-t", "b"], ["-x", "a"], ["-T", "a"], ["--exclude-tag", "c"]):
        assert modes.default_selection(more) == ()


def test_a_second_manifest_of_a_partition_is_refused(machine, linkmatrix):
    """The copy would replace the manifest: fewer test cases would pass."""
    machine.prepare("pass", "pass")
    assert machine.run("--system", "node:gpu")[0] == 0
    content = json.loads(FILE.read_text())
    content["modes"]["acceptance"]["cases"].popitem()
    FILE.with_name("node-gpu_copy.json").write_text(json.dumps(content))
    keep(machine, 0)
    assert "node-gpu_copy.json and" in linkmatrix.err("run", "--reframe", machine.reframe, "--system", "node:gpu")


def test_a_renamed_manifest_stays_the_manifest_of_its_partition(machine):
    machine.prepare("pass", "pass")
    assert machine.run("--system", "node:gpu")[0] == 0
    renamed = FILE.rename(FILE.with_name("a.json"))
    keep(machine, 0)
    assert machine.run("--system", "node:gpu", "--manifest", "less")[0] == 0
    assert not FILE.exists() and len(json.loads(renamed.read_text())["modes"]["acceptance"]["frozen"]) == 2


def test_partitions_whose_names_differ_in_a_colon_have_a_manifest_each(tmp_path):
    for partition, test in (("a-b:c", "one"), ("a:b-c", "two"), ("a-b:c", "three")):
        manifest.freeze(tmp_path, "quick", partition, {test: 1}, {}, "a reason")
    found = manifest.load(tmp_path, "quick")
    assert {name: [*one.cases] for name, one in found.items()} == {"a-b:c": ["three"], "a:b-c": ["two"]}


@pytest.mark.parametrize("count", ["1e999", "Infinity", '1, "x": 2'])
def test_a_number_that_no_manifest_has_is_one_sentence(tmp_path, count):
    manifest.freeze(tmp_path, "quick", "a:b", {"x": 7}, {}, "a reason")
    file = tmp_path / "config" / "manifests" / "a-b.json"
    file.write_text(file.read_text().replace(": 7", f": {count}"))
    with pytest.raises(BadInput, match="is not a manifest of linkmatrix"):
        manifest.load(tmp_path, "quick")
