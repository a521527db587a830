"""One test case's part of a process that ran several: reframe_ext/sessions/parts.py."""

import dataclasses
import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.reframe_ext.sessions import parts
from linkmatrix.runs import judging, testcases

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture(scope="module")
def full():
    """What a process printed that ran 60 test cases."""
    return (DATA / "h200x4_full.txt").read_text()


def result(testcase, complete=True, verified=True):
    return {"testcase": testcase, "complete": complete, "verified": verified}


def record(*results, expected=None, result="PASS", **more):
    names = [one["testcase"] for one in results]
    return {
        "results": list(results),
        "expected": expected or names,
        "result": result,
        "lost": [],
        "error": None,
        **more,
    }


def test_a_text_ends_with_the_result_of_its_test_case(full):
    text = parts.part_text(full, "FAIL")
    assert text.startswith(full.splitlines()[0])
    assert text.endswith("\nResult: FAIL\n") and "Result: PASS" not in text
    assert text.splitlines()[:-1] == [line for line in full.splitlines() if line != "Result: PASS"]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"results": [NaN]}', "{", "\xff"], ids=["deep", "NaN", "cut", "latin"]
)
def test_a_record_that_is_not_json_is_no_record(tmp_path, text):
    file = tmp_path / "record.json"
    file.write_text(text)
    assert parts.load_record(file, 0) is None


def test_what_is_whole_passes_whatever_came_after_it():
    run = record(result("a"), result("b", complete=False), expected=["a", "b", "c"], result="TIMEOUT", error="hung")
    assert parts.part_record(run, "a") == record(result("a"))
    assert parts.part_record(run, "b")["result"] == "TIMEOUT"
    assert parts.part_record(run, "b")["error"] == "hung"
    assert parts.part_record(run, "c") is None


def test_what_was_not_compared_is_not_whole():
    run = record(result("a", verified=False), result("b"), result="FAIL")
    assert [parts.part_record(run, name)["result"] for name in "ab"] == ["FAIL", "PASS"]


def test_an_endpoint_that_was_lost_later_is_no_fault_of_what_was_whole_before():
    run = record(result("a"), result("b", complete=False), result="ERROR", error="lost", lost=[{"label": "gpu1"}])
    assert parts.part_record(run, "a")["lost"] == []
    assert parts.part_record(run, "b")["lost"] == [{"label": "gpu1"}]


def test_what_broke_the_process_after_all_was_measured_breaks_every_test_case():
    run = record(result("a"), result("b"), result="ERROR", error="MPI could not end")
    assert [parts.part_record(run, name)["result"] for name in "ab"] == ["ERROR", "ERROR"]


DEVICE = {"label": "gpu0", "counters": [], "readings": []}
COMMAND = ["p2p_matrix", "--testcase", "a,b", "--size", "1MiB", "--record", "r", "--backend", "cuda"]


@pytest.mark.parametrize("ending", ["FAIL", "ERROR", "TIMEOUT", "PASS"])
def test_the_topology_is_that_which_was_seen_before_anything_was_measured(ending):
    risen = {"name": "nvlink_replay", "before": 0.0, "after": 5.0}
    late = {"name": "xid", "before": None, "after": 1.0}
    hot = {"name": "temperature", "before": 40.0, "after": 80.0}
    health = [DEVICE | {"counters": [risen, late], "readings": [hot]}]
    whole = record(
        result("a", complete=False), expected=["a", "b"], result=ending, command=COMMAND, health=health, error="hung"
    )
    part = parts.part_record(whole, "")
    assert (part["result"], part["error"], part["results"], part["expected"]) == ("PASS", None, [], [])
    assert part["command"] == ["p2p_matrix", "--topology", "--record", "r", "--backend", "cuda"]
    assert part["health"] == [DEVICE | {"counters": [risen | {"after": None}], "readings": [hot | {"after": None}]}]
    assert whole["health"] == health


def test_a_device_that_was_lost_while_it_was_measured_was_there_before():
    run = record(result("a", complete=False), result="ERROR", lost=[{"label": "gpu0"}], command=COMMAND, health=[])
    assert parts.part_record(run, "")["lost"] == []
    assert parts.part_record(run, "a")["lost"] == [{"label": "gpu0"}]


def test_the_part_of_the_topology_is_judged_as_a_look_of_its_own(make_record):
    """By `linkmatrix show` and `run`: PASS where the program passed, and never for want of a matrix."""
    whole = make_record(result="ERROR", error="hung", off={(0, 1): "error"})
    part = parts.part_record(whole | {"command": COMMAND}, "")
    assert (
        judging.judge(testcases.Test(name="gpu_topology", result="pass", record=part), References({}), None).verdict
        == 0
    )
    failed = judging.judge(
        testcases.Test(name="gpu_topology", result="fail", reason="x", record=part), References({}), None
    )
    assert failed.verdict == Verdict.INCOMPLETE, "ReFrame failed it, and its record does not contain why"


def left(tmp_path, text, content):
    """What a process left, as tests find it, and the folder that a test reads it into."""
    folder, own = tmp_path / "process1", tmp_path / "own"
    folder.mkdir()
    own.mkdir()
    (tmp_path / "rfm_job.out").write_text("")
    (folder / "out").write_text(text)
    if content is not None:
        (folder / "record.json").write_text(content)
    job = SimpleNamespace(stdout="rfm_job.out", stderr="rfm_job.err", script_filename="rfm_job.sh")
    return parts.ProcessOutput(tmp_path, folder, job, "session"), own


def test_the_test_of_the_topology_finds_its_own_record_and_output(full, make_record, tmp_path):
    content = make_record() | {"command": COMMAND, "asked_by": "session"}
    found, own = left(tmp_path, full, json.dumps(content))
    found.copy_to(own, "", "gpu_topology")
    part = reading.load(own / "record.json")
    assert (part["asked_by"], part["results"], part["topology"]) == ("gpu_topology", [], content["topology"])
    assert (own / "rfm_job.out").read_text() == parts.part_text(full, "PASS")


@pytest.mark.parametrize("content", [None, "", '{"results": ['])
def test_without_a_whole_record_there_is_no_topology(tmp_path, content):
    found, own = left(tmp_path, "p2p_matrix, and no more\n", content)
    found.copy_to(own, "", "gpu_topology")
    assert not (own / "record.json").exists()
    assert "Result: " not in (own / "rfm_job.out").read_text()


def test_what_each_rank_said_of_itself_is_read_with_the_errors_of_all(tmp_path):
    found, own = left(tmp_path, "what was measured\n", None)
    (found.folder / "err").write_text("mpirun: no\n")
    (found.folder / "ranks").mkdir()
    for rank in range(2):
        (found.folder / "ranks" / f"rank.{rank}.77").write_text(f"binding of {rank}\n")
    dataclasses.replace(found, folder=found.folder / "ranks").copy_to(own, None, "rank_binding")
    assert (own / "rfm_job.out").read_text() == "binding of 0\nbinding of 1\n"
    assert (own / "rfm_job.err").read_text() == "mpirun: no\n"


LATE, LIMIT = 0.3, 3.0  # seconds


@pytest.mark.parametrize("with_output", [True, False])
def test_a_record_that_appears_after_the_job_is_waited_for(tmp_path, with_output):
    folder = tmp_path / "process1"
    folder.mkdir()

    def appear():
        (folder / "record.json").write_text("{}")
        (folder / "out").write_text("Result: PASS\n")

    if with_output:
        (folder / "out").write_text("Result: PASS\n")
    threading.Timer(LATE, appear).start()
    began = time.monotonic()
    parts.wait_for_record(tmp_path, folder, f"{tmp_path}", LIMIT)
    assert (folder / "record.json").exists() and LATE <= time.monotonic() - began < LIMIT


@pytest.mark.parametrize(
    ("output", "errors"),
    [
        ("p2p_matrix, and no more\n", ""),
        ("", "p2p_matrix: unknown option '--nope'\n"),
        (
            "Result: ERROR\n",
            "p2p_matrix: --record 'process1/record.json' cannot be written (No space left on device)\n",
        ),
    ],
)
def test_a_record_that_the_program_did_not_write_is_not_waited_for(tmp_path, output, errors):
    (tmp_path / "out").write_text(output)
    (tmp_path / "err").write_text(errors)
    began = time.monotonic()
    parts.wait_for_record(tmp_path, tmp_path, f"{tmp_path}", 600.0)
    assert time.monotonic() - began < LATE


def test_all_processes_of_a_job_share_one_wait(tmp_path):
    began = time.monotonic()
    for number in range(5):
        parts.wait_for_record(tmp_path, tmp_path / f"process{number}", f"{tmp_path}", LATE)
    assert LATE <= time.monotonic() - began < 2 * LATE


def test_the_output_of_the_job_is_waited_for_too(tmp_path):
    """A test without it is one whose job has left no output."""
    for name, text in (("record.json", "{}"), ("out", "Result: PASS\n")):
        (tmp_path / name).write_text(text)
    threading.Timer(LATE, (tmp_path / "rfm_job.out").touch).start()
    parts.wait_for_record(tmp_path, tmp_path, "late", LIMIT, "rfm_job.out")
    assert (tmp_path / "rfm_job.out").exists()
