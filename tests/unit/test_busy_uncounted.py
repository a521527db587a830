"""Where others were and nobody counted what they took, no hardware is blamed: recorded beside processes on GPUs."""

from pathlib import Path

import pytest
from recorded_references import references_of

from linkmatrix.cli import main
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.others import LEAST_BESIDE_WORDS
from linkmatrix.judge.uncounted import AMONG, TAKEN, Uncounted, told_seconds, unread_of
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading

DATA = Path(__file__).parents[1] / "data"
TOLERANCE = {"GB/s": (-0.02, None), "us": (None, 0.10)}
PEER = "gpu1 copied to gpu0 without end"
HOGS = {"host": "gpu1 from host memory", "kernel": "gpu1 computed", "local": "inside gpu1", "peer": PEER}


def load(name):
    return reading.load(DATA / f"h200x2_{name}.record.json")


@pytest.fixture(scope="module")
def idle():
    """Every cell of the same two GPUs, when nobody else was there, as its reference."""
    return references_of(load("idle"), "idle", TOLERANCE)


def judged(record, idle):
    """({(test case, row, column): verdict of the cell}, findings of diagnose)."""
    verdicts, findings = {}, []
    for result, matrix in zip(record["results"], evaluate(record, idle, "idle").matrices, strict=True):
        verdicts |= {(result["testcase"], *pair): cell for pair, cell in matrix.cells.items()}
        findings += diagnosis.diagnose(record, result, matrix).findings
    return verdicts, findings


@pytest.mark.parametrize("hog", HOGS, ids=HOGS.values())
def test_beside_a_real_process_on_a_gpu_nothing_is_blamed(hog, idle):
    verdicts, findings = judged(load(f"busy_{hog}"), idle)
    failed = {cell: verdict.reason for cell, verdict in verdicts.items() if verdict.verdict is Verdict.FAIL}
    assert failed == {}
    assert findings == []
    assert any(verdict.verdict is Verdict.INCOMPLETE for verdict in verdicts.values()), "and it is no PASS either"


@pytest.mark.parametrize("hog", HOGS, ids=HOGS.values())
def test_without_that_process_the_same_figures_are_failures(hog, idle):
    record = load(f"busy_{hog}")
    for others in (record["others"], *(result["others"] for result in record["results"])):
        others.update(shared=False, processes=[])
    verdicts, _ = judged(record, idle)
    assert any(verdict.verdict is Verdict.FAIL for verdict in verdicts.values())


def test_what_is_not_counted_is_said_with_who_was_there(idle):
    verdicts, _ = judged(load("busy_host"), idle)
    said = verdicts["host_to_device_memcpy_ce", "numa0", "gpu1"].reason
    assert "busy: others were on gpu1 (pid 4487 hog of root), and what they took of this path is not counted" in said


def test_a_link_whose_bytes_are_counted_is_broken_beyond_them(idle):
    record = load("busy_peer")
    [result] = [one for one in record["results"] if one["testcase"] == "device_to_device_memcpy_write_ce"]
    r, c = result["rows"].index("gpu0"), result["columns"].index("gpu1")
    for grid in ("values", "low", "high"):
        result[grid][r][c] *= 0.9
    verdicts, _ = judged(record, idle)
    assert verdicts["device_to_device_memcpy_write_ce", "gpu0", "gpu1"].verdict is Verdict.FAIL, "nobody sent that way"


def test_a_device_of_which_nobody_else_had_a_context_is_not_excused_by_links_of_others(idle):
    record = load("busy_kernel")
    [result] = [one for one in record["results"] if one["testcase"] == "device_local_copy"]
    at = result["columns"].index("gpu0")
    for grid in ("values", "low", "high"):
        result[grid][0][at] *= 0.7
    verdicts, _ = judged(record, idle)
    assert verdicts["device_local_copy", result["rows"][0], "gpu0"].verdict is Verdict.FAIL


def test_what_to_do_about_it_is_to_measure_without_the_others(capsys):
    assert main(["show", str(DATA / "h200x2_busy_host.record.json"), "--reference", "hgx-h200-half"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "Then measure again: what stays slow without them is at fault." in said
    assert "before a part is replaced" not in said


def uncounted(**changes):
    what = {
        "held": {"gpu1": 1},
        "active": frozenset(),
        "unread": {},
        "memory": {},
        "makers": ("rows",),
        "is_latency": False,
        "by_kernel": False,
        "both_ways": False,
    }
    return Uncounted(**{**what, **changes})


@pytest.mark.parametrize(
    ("changes", "path", "link_class", "expected"),
    [
        ({}, "nvlink", "NV18", []),
        ({"unread": {"nvlink_out": {"gpu1"}}}, "nvlink", "NV18", [("gpu1", "gpu0"), ("gpu1", "gpu1")]),
        ({"unread": {"nvlink_in": {"gpu1"}}}, "nvlink", "NV18", [("gpu0", "gpu1"), ("gpu1", "gpu1")]),
        ({"unread": {"nvlink_out": {"gpu0"}}}, "nvlink", "NV18", []),
        ({"unread": {"pcie_in": {"gpu1"}}}, "nvlink", "NV18", []),
        ({"is_latency": True}, "nvlink", "NV18", []),
        ({"by_kernel": True, "active": {"gpu1"}}, "nvlink", "NV18", [("gpu1", "gpu0"), ("gpu1", "gpu1")]),
        (
            {"by_kernel": True, "active": {"gpu1"}, "makers": ("columns",)},
            "nvlink",
            "NV18",
            [("gpu0", "gpu1"), ("gpu1", "gpu1")],
        ),
        ({"active": {"gpu1"}}, "nvlink", "NV18", []),
        ({"unread": {"pcie_in": {"gpu1"}}}, "net", "NET", [("gpu0", "gpu1"), ("gpu1", "gpu1")]),
        ({"unread": {"pcie_out": {"gpu1"}}}, "net", "NET", [("gpu1", "gpu0"), ("gpu1", "gpu1")]),
        (
            {"unread": {"nvlink_in": {"gpu1"}}, "both_ways": True},
            "nvlink",
            "NV18",
            [("gpu0", "gpu1"), ("gpu1", "gpu0"), ("gpu1", "gpu1")],
        ),
    ],
    ids=[
        "a context alone",
        "its counter was not read",
        "nor the one of what comes",
        "a counter that was not read where nobody is",
        "of another path",
        "a latency beside a context alone",
        "kernels of a device that computes for others",
        "those that read from the others",
        "copy engines of that device",
        "what comes into it over the network",
        "what leaves it over the network",
        "both ways at once",
    ],
)
def test_only_what_may_have_been_taken_is_not_counted(changes, path, link_class, expected):
    ends = ["gpu0", "gpu1"]
    found = uncounted(**changes).of(path, link_class, ends, ends)
    assert [(ends[r], ends[c]) for r, c in zip(*found.nonzero(), strict=True)] == expected


def test_who_was_there_is_named_at_an_end_of_the_cell_if_it_can_be():
    held = frozenset({"gpu3", "gpu2"})
    assert [uncounted(held=held).where(*ends) for ends in (("gpu3", "gpu2"), ("gpu0", "gpu2"))] == ["gpu3", "gpu2"]
    assert uncounted(held=held).where("gpu0", "gpu1") == "gpu2"
    assert uncounted(held=frozenset()).where("gpu0", "gpu1") == "gpu0"


def test_the_time_in_which_a_driver_told_of_others_is_that_of_their_processors_alone():
    def look(of, counted, seconds):
        return {"others": {"seconds": seconds, "uses": [{"label": "gpu0", "of": of, "counted": counted}]}}

    looks = [look("sm", 0.0, 1.0), look("sm", None, 2.0), look("pcie_in", 5.0, 4.0), look("sm", 3.0, 8.0)]
    assert told_seconds({"results": looks}) == {"gpu0": 9.0}
    assert told_seconds({"results": looks[1:3]}) == {}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, False),
        ({"active": frozenset({"gpu1"})}, True),
        ({"unread": {"pcie_in": frozenset({"gpu1"})}}, True),
        ({"unread": {"pcie_in": frozenset({"gpu0"})}}, False),
    ],
    ids=["a context alone", "at work", "perhaps at work", "nobody's"],
)
def test_a_little_is_allowed_on_a_device_where_others_may_have_worked(changes, found):
    """Copies inside gpu1 lost 2.3 % to one that copied 55 GB/s from host memory to it."""
    assert bool(uncounted(**changes).beside("pcie", ["local"], ["gpu1"])[0, 0]) is found


def test_what_is_not_counted_of_another_path_allows_a_link_nothing():
    """Links lost 0.4 % to one that copied from host memory, which is within what references allow."""
    silent = uncounted(unread={"pcie_in": frozenset({"gpu1"})})
    assert silent.beside("nvlink", ["gpu0"], ["gpu1"])[0, 0] == 0


def test_several_processes_may_have_taken_more_of_a_device_than_one_and_less_of_the_one_beside_it():
    silent = {"pcie_in": frozenset({"gpu1"})}
    of_one, of_two = (
        uncounted(unread=silent, held={"gpu1": number}).of("pcie", "HOST", ["host"], ["gpu0", "gpu1"])[0].tolist()
        for number in (1, 2)
    )
    assert of_one == pytest.approx([AMONG, TAKEN])
    assert of_two == pytest.approx([AMONG, 1 - (1 - TAKEN) / 2])


def test_bytes_of_which_nobody_knows_whose_they_are_are_known_where_there_are_hardly_any():
    def unread(counted):
        return unread_of(
            {"seconds": 2.0, "uses": [{"label": "gpu0", "of": "nvlink_in", "counted": counted, "own": None}]}
        )

    assert unread(None) == unread(LEAST_BESIDE_WORDS * 2.1) == {"nvlink_in": frozenset({"gpu0"})}
    assert unread(LEAST_BESIDE_WORDS * 1.9) == {"nvlink_in": frozenset()}
