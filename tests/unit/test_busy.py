"""What others took of a path while it was measured is no fault of the machine: no failure, no suspect, and no PASS."""

import copy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import endings
from checks.expect import Promise, exclusive_faults
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.others import disturbances
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import suspects

from .conftest import TESTCASE, one_record

TABLE = References({("hgx", TESTCASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, "GB/s")}})
HOG = {"where": "gpu1", "pid": 2983, "name": "hog", "user": "bob", "bytes": 1 << 30, "seconds": None}


def others(*uses, seconds=4.0, shared=True, processes=(HOG,), untold=()):
    """A record's `others`; uses: (endpoint, kind, counted, own)."""
    names = ("label", "of", "counted", "own")
    return {
        "seconds": seconds,
        "shared": shared,
        "uses": [dict(zip(names, use, strict=True)) for use in uses],
        "nodes": [],
        "processes": list(processes),
        "untold": list(untold),
    }


@pytest.fixture
def cells(make_record, judged_run):
    """(verdicts of the cells, the judged test, its record) of 4 GPUs that 396 GB/s are expected of."""

    def judge(off, seen, notes=(), reference="hgx", change=None, **test):
        record = make_record(off=off)
        record["results"][0]["others"] = seen
        record["notes"] = list(notes)
        if change:
            change(record["results"][0])
        reading.check(record)
        _, [judged] = judged_run(record, reference=reference, **test)
        return dict(judged.matrices[0][1].cells), judged, record

    return judge


def sends(value, device=1, count=4):
    """All that a GPU sends is slow."""
    return {(device, c): value for c in range(count) if c != device}


# 790 GB that others sent in 4 s, of 450 GB/s: a share of 44 %
HALF = others(("gpu1", "nvlink_out", 990e9, 190e9), ("gpu1", "nvlink_in", 190e9, 190e9))


def test_what_others_sent_explains_a_slow_cell(cells):
    found, judged, _ = cells(sends(225.0), HALF)
    verdict = found["gpu1", "gpu0"]
    assert verdict.verdict is Verdict.INCOMPLETE
    assert "busy: 790 GB left gpu1 that linkmatrix did not send (pid 2983 hog of bob)" in verdict.reason
    assert found["gpu0", "gpu1"].verdict is Verdict.PASS
    assert judged.verdict is Verdict.INCOMPLETE


def test_a_cell_that_is_slower_than_others_explain_is_broken(cells):
    found, judged, _ = cells(sends(150.0), HALF)
    assert found["gpu1", "gpu0"].verdict is Verdict.FAIL
    assert judged.verdict is Verdict.FAIL


def test_what_others_sent_elsewhere_explains_nothing(cells):
    found, _, _ = cells(sends(225.0, device=2), HALF)
    assert found["gpu2", "gpu0"].verdict is Verdict.FAIL
    assert found["gpu2", "gpu1"].verdict is Verdict.FAIL, "nothing came into gpu1"


@pytest.mark.parametrize(
    "seen",
    [
        others(("gpu1", "nvlink_out", None, 190e9), shared=False, processes=()),
        others(("gpu1", "nvlink_out", 990e9, None), processes=()),
        others(("gpu1", "nvlink_out", 199e9, 190e9)),
        others(("gpu1", "nvlink_out", 100e9, 190e9)),
        others(("gpu1", "nvlink_out", 990e9, 190e9), shared=False, processes=()),
        others(("gpu1", "nvlink_out", 990e9, 190e9), seconds=0),
        others(),
    ],
    ids=[
        "unreadable, and nobody else there",
        "own unknown, and nobody listed",
        "its own",
        "fewer than its own",
        "nobody else there",
        "no time",
        "nothing",
    ],
)
def test_nothing_is_guessed(cells, seen):
    found, _, _ = cells(sends(225.0), seen)
    assert found["gpu1", "gpu0"].verdict is Verdict.FAIL


def test_a_share_of_what_cannot_be_measured_is_no_excuse_for_all(cells):
    found, _, _ = cells(sends(1.0), others(("gpu1", "nvlink_out", 1e15, 0.0)))
    assert found["gpu1", "gpu0"].verdict is Verdict.FAIL, "no link is so busy that nothing is left"


def test_the_diagnosis_says_who_was_busy_and_blames_nobody(cells):
    _, judged, _ = cells(sends(225.0), HALF)
    [(result, matrix)] = judged.matrices
    found = diagnosis.diagnose(judged.test.record, result, matrix)
    assert found.findings == ()
    assert found.sentences == ("busy: 790 GB left gpu1 that linkmatrix did not send (pid 2983 hog of bob)",)


def test_a_busy_cell_is_no_suspect_and_clears_none(cells):
    _, judged, record = cells(sends(225.0), HALF)
    blamed, clean, _ = suspects.of_run([judged])
    assert not blamed
    assert not {label for _, label in clean} & {"gpu1"}
    assert record["results"][0]["others"] == HALF


def test_a_broken_device_beside_a_busy_one_is_the_only_suspect(cells):
    _, judged, _ = cells({**sends(225.0), **sends(300.0, device=3)}, HALF)
    blamed, _, seen = suspects.of_run([judged])
    assert {seen[one].label for one in blamed} == {"gpu3"}


def test_a_broken_link_of_a_busy_device_is_named_and_not_the_device(cells):
    _, judged, _ = cells({**sends(225.0), (1, 3): 100.0}, HALF)
    [(result, matrix)] = judged.matrices
    [found] = diagnosis.diagnose(judged.test.record, result, matrix).findings
    assert (found.kind, found.subject) == ("cell", (1, 3)), "of what else the device sends nothing is known"


def test_what_is_slower_than_others_explain_on_average_says_that_they_were_there(cells):
    in_part = others(("gpu1", "nvlink_out", 586e9, 190e9))  # all of its link, maybe, and only for a while
    _, judged, _ = cells({(1, 2): 225.0, **sends(330.0, device=3)}, in_part)
    [(result, matrix)] = judged.matrices
    told = {one.partition(" ")[0]: one for one in diagnosis.diagnose(judged.test.record, result, matrix).sentences}
    assert told["gpu1->gpu2"].endswith(
        ". Beside others: 386 GB left gpu1 that linkmatrix did not send (pid 2983 hog of bob), which explains less on"
        " average: measure it again without them (--wait-idle)"
    )
    assert "gpu3" in told and "Beside others" not in told["gpu3"]


def test_from_inside_a_busy_device_is_not_blamed(cells):
    _, judged, _ = cells(sends(225.0), HALF, reference=None)
    [(result, matrix)] = judged.matrices
    assert diagnosis.diagnose(judged.test.record, result, matrix).findings == ()


def test_a_drill_is_explained_by_nothing_else(cells):
    found, _, _ = cells(sends(225.0), HALF, notes=["simulated fault: slow:gpu1"])
    assert found["gpu1", "gpu0"].verdict is Verdict.FAIL


def test_kernels_of_others_explain_kernels_and_not_copy_engines(cells):
    seen = others(("gpu1", "sm", 2.2, 0.0))
    by_kernel, _, _ = cells(sends(190.0), seen, change=lambda result: result.update(engine="sm", kernel="noncached"))
    assert by_kernel["gpu1", "gpu0"].verdict is Verdict.INCOMPLETE
    assert "busy: others kept the processors of gpu1 busy for 55 % of the time" in by_kernel["gpu1", "gpu0"].reason
    by_engine, _, _ = cells(sends(190.0), seen)
    assert by_engine["gpu1", "gpu0"].verdict is Verdict.FAIL


def test_who_makes_the_copy_is_who_must_have_been_busy(cells):
    seen = others(("gpu1", "sm", 2.2, 0.0), ("gpu0", "sm", None, 0.0))
    change = {"engine": "sm", "kernel": "noncached", "direction": "read"}
    found, _, _ = cells(sends(190.0), seen, change=lambda result: result.update(change))
    assert found["gpu1", "gpu0"].verdict is Verdict.FAIL, "gpu0 reads, and nobody else used gpu0"


def test_threads_that_waited_for_their_cores_explain_host_copies(cells):
    hog = {**HOG, "where": "node001", "bytes": None, "seconds": 3.9}
    seen = others(("gpu1", "cpu", 4.0, 2.0), ("gpu0", "cpu", 2.0, 2.0), shared=None, processes=[hog])
    found, _, _ = cells(sends(200.0), seen)
    verdict = found["gpu1", "gpu0"]
    assert "busy: others had 50 % of the time that gpu1 wanted its cores (pid 2983 hog" in verdict.reason
    assert verdict.verdict is Verdict.INCOMPLETE
    slower, _, _ = cells(sends(100.0), seen)
    assert slower["gpu1", "gpu0"].verdict is Verdict.FAIL


def test_reframe_fails_a_busy_figure_and_the_run_has_incomplete(cells):
    _, judged, _ = cells(sends(225.0), HALF, result="fail", phase="performance", reason="gpu1->gpu0 is 43 % low")
    assert judged.verdict is Verdict.INCOMPLETE
    _, promised, _ = cells(sends(225.0), HALF, result="fail", phase="sanity", reason="the node was not ours")
    assert promised.verdict is Verdict.FAIL, "a promise of the partition is broken"
    assert not suspects.of_run([promised])[0]


def test_both_ways_of_a_bidirectional_cell_are_looked_at(cells):
    change = {"metric": "bidirectional", "limit": [[None if r == c else 900 for c in range(4)] for r in range(4)]}
    seen = others(("gpu1", "nvlink_in", 800e9, 0.0))
    found, _, _ = cells(sends(225.0), seen, change=lambda result: result.update(change))
    assert found["gpu1", "gpu0"].verdict is Verdict.INCOMPLETE
    assert "800 GB came into gpu1" in found["gpu1", "gpu0"].reason


def test_whose_the_node_was_is_said(make_record):
    record = make_record()
    assert [*disturbances(record)] == ["the node was not seen to be ours: the record does not say what others did"]
    record["results"][0]["others"] = others(("gpu1", "nvlink_out", 5.0, 5.0))
    assert [*disturbances(record)] == [
        f"the node was not ours: gpu1 was used by others (pid 2983 hog of bob) during {TESTCASE}"
    ]
    record["results"][0]["others"] = others(("gpu1", "sm", None, 0.0), processes=(), untold=["gpu1: it is silent"])
    assert [*disturbances(record)] == [
        f"the node was not ours: whether others used its devices cannot be told; gpu1: it is silent during {TESTCASE}"
    ]
    record["results"][0]["others"] = others(("gpu1", "sm", 0.0, 0.0), shared=False, processes=())
    assert [*disturbances(record)] == []


def test_only_a_promise_makes_it_a_fault(make_record):
    record = make_record()
    record["results"][0]["others"] = others(("gpu1", "nvlink_out", 5.0, 5.0))
    assert exclusive_faults(record, Promise()) == []
    [fault] = exclusive_faults(record, Promise(exclusive=True))
    assert fault.startswith("the node was not ours: gpu1 was used by others (pid 2983 hog of bob)")
    record["backend"] = "mpi"
    assert exclusive_faults(record, Promise(exclusive=True)) == [fault], "ranks too look at their nodes"
    record["program"] = "collective_perf"
    assert exclusive_faults(record, Promise(exclusive=True)) == [fault], "and so do collectives"
    record["program"] = "ib_write_bw"
    assert exclusive_faults(record, Promise(exclusive=True)) == [], "nobody looks there"


def test_a_program_that_refused_to_measure_beside_others_has_measured_nothing():
    said = "others use what is to be measured: pid 2983 (hog, bob) on gpu1: --wait-idle SECONDS waits for them"
    assert endings.refused_for_others(f"p2p_matrix: {said}\n") == f"not measured: {said}"
    assert endings.refused_for_others(f"somebody else: {said}\np2p_matrix: gpu1: out of memory\n") == ""


def test_a_record_with_others_is_one_and_a_spoilt_one_is_refused(make_record):
    record = make_record()
    record["results"][0]["others"] = copy.deepcopy(HALF)
    record["others"] = others(seconds=0)
    reading.check(record)
    record["results"][0]["others"]["uses"][0]["counted"] = -1
    with pytest.raises(Exception, match="counted"):
        reading.check(record)


def judged_as(record, times, folder):
    """Verdicts of all cells, and what is said of others, where `times` as much as was measured is expected."""
    lines = ["intranode_p2p:", "  $index: [reference_name, testcase]", "  bench:"]
    for result in record["results"]:
        lines.append(f"    {result['testcase']}:")
        lines += [
            f"      '{row}->{column}': [{times * result['values'][r][c]}, -0.02, 0.02, GB/s]"
            for r, row in enumerate(result["rows"])
            for c, column in enumerate(result["columns"])
            if r != c
        ]
    folder.mkdir()
    (folder / "p2p.yaml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    matrices = evaluate(record, References.load(folder), "bench").matrices
    verdicts = {cell.verdict for matrix in matrices for cell in matrix.cells.values()}
    return verdicts, [sentence for matrix in matrices for sentence in matrix.busy_sentences()]


def test_a_run_beside_processes_that_copied_memory_on_the_same_cores_is_busy(tmp_path):
    """Recorded on two cores that many others wanted too: four copied memory, some compiled."""
    record = reading.load(Path(__file__).parents[1] / "data" / "host_busy.record.json")
    verdicts, said = judged_as(record, 3, tmp_path / "thrice")
    assert verdicts == {Verdict.INCOMPLETE}
    assert said[0] == (
        "busy: others had 94 % of the time that cpu0 wanted its cores"
        " (pid 27396 python of root, pid 26211 python of root, pid 27513 cc1plus of root)"
    )
    assert judged_as(record, 1, tmp_path / "once") == ({Verdict.WARN}, []), "noisy, and what it should be"
    assert judged_as(record, 100, tmp_path / "hundred") == ({Verdict.FAIL}, []), "nobody takes as much as that"
    for result in record["results"]:
        for use in result["others"]["uses"]:
            use["counted"] = use["own"]
    assert judged_as(record, 3, tmp_path / "idle") == ({Verdict.FAIL}, []), "on an idle machine it is broken"


def test_what_the_job_s_own_quota_kept_from_it_is_said_of_nobody_else(tmp_path):
    """As where the kernel holds all of a run back for 70 % of the time: others were there, and took nothing of it."""
    record = reading.load(Path(__file__).parents[1] / "data" / "host_busy.record.json")
    for result in record["results"]:
        waited = sum(use["counted"] - use["own"] for use in result["others"]["uses"])
        for node in result["others"]["nodes"]:
            node.update(throttled=0.9 * waited, quota="cpu.max 30000 100000")
    reading.check(record)
    verdicts, said = judged_as(record, 3, tmp_path / "quota")
    assert verdicts == {Verdict.INCOMPLETE}
    assert all("busy: the job's own CPU quota (cpu.max 30000 100000) held it back for" in one for one in said)
    assert not [one for one in disturbances(record) if "wanted its cores" in one]
    for result in record["results"]:
        for node in result["others"]["nodes"]:
            node["throttled"] /= 3
    _, said = judged_as(record, 3, tmp_path / "others")
    assert all("busy: others had" in one for one in said), "a third of it is not what they lacked"


AMOUNT = st.none() | st.floats(0, 1e300) | st.sampled_from([0.0, 5e-324, 1e9, 1e12])
USE = st.tuples(
    st.sampled_from(["gpu0", "gpu1", "gpu3", "numa0", "n1"]),
    st.sampled_from(["nvlink_out", "nvlink_in", "pcie_out", "pcie_in", "net_out", "net_in", "cpu", "sm", "memory"]),
    AMOUNT,
    AMOUNT,
)
SEEN = st.builds(
    lambda uses, seconds, shared, count: others(*uses, seconds=seconds, shared=shared, processes=[HOG] * count),
    st.lists(USE, max_size=12),
    st.floats(0, 1e300) | st.sampled_from([5e-324, 1e-9, 4.0]),
    st.sampled_from([True, False, None]),
    st.integers(0, 5),
)


@given(SEEN, st.sampled_from([("ce", "write"), ("sm", "read")]), st.sampled_from(["bandwidth", "bidirectional"]))
def test_whatever_others_did_only_a_failure_becomes_incomplete(seen, how, metric):
    record = one_record(off={(1, 0): 300.0, (1, 2): 3.0, (0, 1): 390.0, (3, 2): "timeout"})
    [result] = record["results"]
    result.update(engine=how[0], direction=how[1], metric=metric)
    without = evaluate(record, TABLE, "hgx").matrices[0]
    result["others"] = seen
    reading.check(record)
    found = evaluate(record, TABLE, "hgx").matrices[0]
    for pair, cell in found.cells.items():
        before = without.cells[pair].verdict
        assert cell.verdict is before or (before is Verdict.FAIL and cell.verdict is Verdict.INCOMPLETE)
        assert cell.reason or cell.verdict is Verdict.PASS
    diagnosis.diagnose(record, result, found)
    [*disturbances(record)]
