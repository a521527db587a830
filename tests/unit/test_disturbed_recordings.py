"""Recordings beside other processes: a cell that is outside is DISTURBED, the process is named, and nobody is flagged.

The references are those of the same machine without other processes. Before, a spinning kernel, local copies, remote
reads and taken memory were FAIL, and a healthy GPU became a suspect.
"""

import copy
import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from recorded_references import references_of

from linkmatrix.judge import run_findings
from linkmatrix.judge.disturbances import disturbances, not_exclusive
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references.tables import References

DATA = Path(__file__).parents[1] / "data"
NVLINK = {"GB/s": (-0.02, 0.05), "us": (-0.25, 0.20)}
RANKS = {"GB/s": (-0.40, 0.40), "us": (-0.40, 0.40)}
COMPUTE = {"GFLOP/s": (-0.02, 0.05), "us": (-0.25, 0.20), "s": (-0.25, 0.20)}
#: recording → (recording without other processes, tolerances, the process)
BUSY = {
    "h100x2/busy_peer": ("h100x2/idle", NVLINK, "pid 3952 (hog, user root)"),
    "h100x2/busy_kernel": ("h100x2/idle", NVLINK, "pid 4705 (hog, user root)"),
    "h100x2/busy_local": ("h100x2/idle", NVLINK, "pid 5343 (hog, user root)"),
    "h100x2/busy_host": ("h100x2/idle", NVLINK, "pid 6129 (hog, user root)"),
    "h100x2/busy_memory": ("h100x2/idle", NVLINK, "pid 7154 (hog, user root)"),
    "h100x2/busy_crash": ("h100x2/idle", NVLINK, "pid 7542 (hog, user root)"),
    "h200x2_busy_peer": ("h200x2_idle", NVLINK, "pid 3849 (hog, user root)"),
    "h200x2_busy_kernel": ("h200x2_idle", NVLINK, "pid 4166 (hog, user root)"),
    "h200x2_busy_local": ("h200x2_idle", NVLINK, "pid 4329 (hog, user root)"),
    "h200x2_busy_host": ("h200x2_idle", NVLINK, "pid 4487 (hog, user root)"),
    "cpu16_ranks_hog": ("cpu16_ranks_quiet", RANKS, "pid 665 (sh, user root)"),
    "cpu16_ranks_storm": ("cpu16_ranks_quiet", RANKS, "pid 782 (sh, user root)"),
    "h200_nbody_hog": ("h200_nbody_alone", COMPUTE, "pid 654 (python3, user root)"),
}
QUIET = ("h100x2/idle", "h200x2_idle", "cpu16_ranks_quiet", "cpu16_ranks_daemon", "h200_nbody_alone", "h200x2_soak")


def load(name):
    return reading.load(DATA / f"{name}.record.json")


def judged(record, quiet, tolerances):
    """(verdict of the test, findings of all its matrices, by references of a quiet recording)."""
    found = judge_test(record, CheckFacts(), references_of(load(quiet), "quiet", tolerances), "quiet")
    pairs = zip(record["results"], found.evaluation.matrices, strict=True)
    return found, [one for result, matrix in pairs for one in diagnosis.diagnose(record, result, matrix).findings]


@pytest.mark.parametrize("name", BUSY)
def test_beside_another_process_what_is_outside_is_disturbed_and_the_process_named(name):
    quiet, tolerances, process = BUSY[name]
    found, findings = judged(load(name), quiet, tolerances)
    assert found.verdict is Verdict.DISTURBED and findings == []
    for matrix in found.evaluation.matrices:
        assert {one.verdict for one in matrix.cells.values()} <= {Verdict.PASS, Verdict.WARN, Verdict.DISTURBED}
        assert matrix.passed_and_failed()[1] == set()
    told = [text for matrix in found.evaluation.matrices for text in matrix.disturbed_sentences()]
    assert told and all(process in text for text in told)
    assert all(one.verdict < Verdict.INCOMPLETE for one in (*found.reasons, *found.facts))


@pytest.mark.parametrize("name", QUIET)
def test_a_quiet_recording_has_no_disturbance(name):
    record = load(name)
    assert [disturbances(record, result).nodes for result in record["results"]] == [{}] * len(record["results"])
    assert list(not_exclusive(record)) == []


def test_memory_that_another_process_holds_disturbs_the_cells_of_its_device():
    record = load("h100x2/busy_memory")
    found, _ = judged(record, "h100x2/idle", NVLINK)
    assert record["lost"][0]["kind"] == "memory"
    assert [one.verdict for one in found.facts if one.sentence.startswith("gpu1 was lost")] == [Verdict.DISTURBED]
    writes = next(one for one in found.evaluation.matrices if one.matrix.testcase.endswith("memcpy_write_ce"))
    assert "pid 7154 (hog, user root) held the memory of gpu1" in writes.cells["gpu0", "gpu1"].reason


def test_cores_of_a_host_that_others_use_are_named_with_their_share():
    record = load("host_busy")
    nodes = disturbances(record, record["results"][0]).nodes
    assert nodes.keys() == {"vm"} and any("pid 27396 (python, user root)" in text for text in nodes["vm"])
    assert any("93 % of the CPU time of cpu1" in text for text in nodes["vm"])


def spoiled(name, change):
    record = copy.deepcopy(load(name))
    result = next(one for one in record["results"] if one["testcase"] == "device_to_device_memcpy_write_ce")
    change(result)
    return record


def corrupt(result):
    result["status"][1][0] = "corrupt"


def impossible(result):
    for grid in ("values", "low", "high"):
        result[grid][1][0] = 1.1 * result["limit"][1][0]


@pytest.mark.parametrize("change", [corrupt, impossible])
def test_wrong_data_and_more_than_a_path_can_carry_fail_beside_other_processes_too(change):
    found, _ = judged(spoiled("h200x2_busy_local", change), "h200x2_idle", NVLINK)
    assert found.verdict is Verdict.FAIL
    failed = {
        pair for one in found.evaluation.matrices for pair, cell in one.cells.items() if cell.verdict is Verdict.FAIL
    }
    assert failed == {("gpu1", "gpu0")}


def test_a_simulated_fault_is_not_excused_by_another_process():
    record = load("h200x2_busy_local")
    record["notes"] = [*record["notes"], "simulated fault: slow-link=gpu1:gpu0:0.5"]
    found, findings = judged(record, "h200x2_idle", NVLINK)
    assert found.verdict is Verdict.FAIL and findings


def test_a_device_that_failed_on_its_own_is_a_failure_beside_another_process_too():
    record = load("h100x2/busy_memory")
    record["lost"][0].update(kind="device", why="cudaErrorIllegalAddress")
    for others in (one["others"] for one in (record, *record["results"])):
        others["disturbances"] = [one for one in others["disturbances"] if one["kind"] != "memory"]
    found, _ = judged(record, "h100x2/idle", NVLINK)
    assert found.verdict is Verdict.FAIL
    assert [one.verdict for one in found.reasons] == [Verdict.FAIL]


def test_programs_of_others_that_died_on_a_device_are_no_errors_of_it():
    record = load("h100x2/busy_crash")
    assert run_findings.error_sentences(record) == [] and len(run_findings.crashed_programs(record)) == 1
    for others in (one["others"] for one in (record, *record["results"])):
        others["processes"] = []
    assert run_findings.crashed_programs(record) == [] and all(
        "gpu1: " in one for one in run_findings.error_sentences(record)
    )


ARCHIVE = Path(__file__).parents[1] / "data" / "h200x2_other_processes.tar.xz"
TABLE = "h200x2"
INSIDE = ("bursts", "context", "changing-context", "all-cores", "one-core", "spin-short")  # no cell was outside


@pytest.fixture(scope="module")
def recorded():
    """({"spin/node": record}, references)."""
    with tarfile.open(ARCHIVE) as archive:
        files = {one.name: archive.extractfile(one).read() for one in archive}
    references = References.read(files.pop("references.yaml").decode(), Path("references.yaml"))
    records = {name.removesuffix(".record.json"): json.loads(text) for name, text in files.items()}
    for record in records.values():
        reading.check(record)
    return records, references


def test_no_process_is_blamed_on_the_hardware_and_each_is_named(recorded):
    records, references = recorded
    verdicts = {}
    for name, record in records.items():
        found = judge_test(record, CheckFacts(), references, TABLE)
        assert found.verdict is not Verdict.FAIL, name
        for result, matrix in zip(record["results"], found.evaluation.matrices, strict=True):
            assert matrix.counts[Verdict.FAIL] == 0, name
            assert diagnosis.diagnose(record, result, matrix).findings == () or matrix.verdict < Verdict.DISTURBED
            if matrix.counts[Verdict.DISTURBED]:
                told = [text for of_node in disturbances(record, result).nodes.values() for text in of_node]
                assert any("other_process, user root" in text for text in told), name
        kind = name.partition("/")[0]
        verdicts[kind] = max(found.verdict, verdicts.get(kind, Verdict.PASS))
    assert Counter(verdicts.values())[Verdict.DISTURBED] == len(verdicts) - len(INSIDE) == 14
    assert {kind for kind, verdict in verdicts.items() if verdict <= Verdict.WARN} == set(INSIDE)


def test_each_run_has_a_disturbance_with_the_pid_of_the_process(recorded):
    records, _ = recorded
    for kind in {name.partition("/")[0] for name in records}:
        of_kind = [record for name, record in records.items() if name.startswith(f"{kind}/")]
        others = [one.get("others") or {} for record in of_kind for one in (record, *record["results"])]
        listed = {one["pid"] for of in others for one in of.get("processes", ()) if one["name"] == "other_process"}
        disturbing = {pid for of in others for one in of.get("disturbances", ()) for pid in one["pids"]}
        assert listed and listed & disturbing, kind
