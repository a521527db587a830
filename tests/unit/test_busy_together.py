"""Others beside a collective or a simulation: who waits for them is no hardware at fault."""

import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from recorded_references import references_of

from linkmatrix.judge.busy import ALL, TURNS
from linkmatrix.judge.busy_together import BusyTogether, of_result
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.others import LEAST
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading

DATA = Path(__file__).parents[1] / "data"
NCCL, NBODY = "h200x2_all_reduce", "cpu2_nbody"
TOLERANCE = {"GB/s": (-0.1, None), "GFLOP/s": (-0.1, None)}
HOG = {"where": "gpu1", "pid": 2983, "name": "hog", "user": "bob", "bytes": 1 << 30, "seconds": None}


def load(name):
    """A record with the first of its sizes."""
    record = reading.load(DATA / f"{name}.record.json")
    return {**record, "results": record["results"][:1]}


def use(label, of, counted, own):
    return {"label": label, "of": of, "counted": counted, "own": own}


def devices(*processes, sm=0.0):
    """A look of 4 s at two GPUs, where the run's own bytes are not counted; sm: seconds of others on gpu1."""
    ways = [use(label, way, 1e12, None) for label in ("gpu0", "gpu1") for way in ("nvlink_out", "nvlink_in")]
    shares = [use("gpu0", "sm", 0.0, 0.0), use("gpu1", "sm", sm, 0.0)]
    return look(ways + shares, processes, bool(processes))


def look(uses, processes=(), shared=None):
    return {"seconds": 4.0, "shared": shared, "uses": uses, "nodes": [], "processes": [*processes], "untold": []}


def judged(name, others, slower=0.5):
    """({(row, column): verdict} of the first result, findings), beside others and so much slower than alone."""
    alone, record = load(name), copy.deepcopy(load(name))
    for result in record["results"]:
        result["others"] = others
        for grid in ("values", "low", "high"):
            result[grid] = [[value and value * slower for value in row] for row in result[grid]]
    evaluation = evaluate(record, references_of(alone, "alone", TOLERANCE), "alone")
    found = diagnosis.diagnose(record, record["results"][0], evaluation.matrices[0])
    return dict(evaluation.matrices[0].cells), found.findings


def test_a_slow_collective_beside_who_has_a_context_on_one_of_its_devices_is_no_observation():
    cells, findings = judged(NCCL, devices(HOG))
    assert {cell.verdict for cell in cells.values()} == {Verdict.INCOMPLETE} and not findings
    for cell in cells.values():
        assert "busy: others were on gpu1 (pid 2983 hog of bob), and what they took of its paths" in cell.reason


def test_who_kept_the_processors_of_a_device_busy_is_said():
    cells, _ = judged(NCCL, devices(HOG, sm=2.0))
    assert all(
        "kept the processors of gpu1 busy for 50 % of the time (pid 2983 hog" in c.reason for c in cells.values()
    )


def test_a_share_too_small_to_be_told_does_not_hide_who_has_a_context_there():
    cells, _ = judged(NCCL, devices(HOG, sm=0.004))
    assert all(
        "others were on gpu1 (pid 2983 hog of bob), and what they took" in cell.reason for cell in cells.values()
    )


def test_what_is_too_little_to_be_told_of_one_rank_explains_nothing_of_a_thousand():
    """0.02 % each of 16,384 ranks explained 96 % of whatever was missing."""
    ranks = [f"n{number}:rank{number}" for number in range(16_384)]
    assert BusyTogether.missing(dict.fromkeys(ranks, 0.0002), ranks, LEAST) == 0
    assert BusyTogether.missing({**dict.fromkeys(ranks, 0.0002), ranks[5]: 0.4}, ranks, LEAST) == pytest.approx(0.4)


class TestRanksThatWaitForEachOther:
    """Messages of ranks on a node's processors: one that waited for others held up all."""

    LABELS = ("n1:rank0", "n2:rank1", "n3:rank2")

    def share(self, lost, by_messages=True, cpu=0.0):
        nothing = SimpleNamespace(unread={}, active=frozenset(), held={})
        had = {"cpu": {self.LABELS[1]: cpu}}
        busy = BusyTogether(
            {"uses": []}, {}, had, ("rows",), False, by_messages, False, nothing, lost=lost, parts={"all": self.LABELS}
        )
        return busy.of_all(self.LABELS)

    def test_one_that_waited_a_tenth_of_the_time_explains_however_little_is_left(self):
        assert self.share({self.LABELS[2]: 1.01 * TURNS}) == ALL
        assert self.share({self.LABELS[2]: 0.9}) == ALL

    def test_one_that_waited_less_explains_what_others_had(self):
        assert self.share({self.LABELS[2]: 0.99 * TURNS}, cpu=0.3) == pytest.approx(0.3)

    def test_who_is_none_of_them_holds_nobody_up(self):
        assert self.share({"n4:rank3": 0.9}) == 0

    def test_what_moves_no_messages_of_theirs_does_not_wait_for_them(self):
        assert self.share({self.LABELS[2]: 0.9}, by_messages=False) == 0


def test_whether_what_others_took_is_counted_is_asked_of_those_that_take_part():
    others = {**load(NCCL), "results": [{**load(NCCL)["results"][0], "others": devices(HOG)}]}
    busy = of_result(others, others["results"][0])
    here, there = (replace(busy, parts={"all": labels}) for labels in (("gpu0", "gpu1"), ("gpu0",)))
    assert here.is_uncounted("all", "all", "") and not there.is_uncounted("all", "all", "")


def test_a_slow_collective_beside_nobody_fails_whatever_the_counters_say_of_its_own_bytes():
    cells, _ = judged(NCCL, devices())
    assert {cell.verdict for cell in cells.values()} == {Verdict.FAIL}


def test_a_collective_that_is_as_fast_as_alone_passes_beside_others():
    cells, _ = judged(NCCL, devices(HOG), slower=1.0)
    assert Verdict.FAIL not in {cell.verdict for cell in cells.values()}


@pytest.mark.parametrize(
    ("wanted", "verdicts"),
    [
        ({"cpu0": 0.0, "cpu1": 3.0}, (Verdict.FAIL, Verdict.INCOMPLETE)),
        ({"cpu0": 3.0, "cpu1": 0.0}, (Verdict.INCOMPLETE, Verdict.INCOMPLETE)),
        ({"cpu0": 0.0, "cpu1": 0.0}, (Verdict.FAIL, Verdict.FAIL)),
    ],
    ids=["the second's core", "the first's core", "nobody's"],
)
def test_a_simulation_waits_for_who_takes_part_and_for_nobody_else(wanted, verdicts):
    """On one device the first computes; on two what others took of either is missing to both."""
    cells, _ = judged(NBODY, look([use(label, "cpu", 4.0, 4.0 - lost) for label, lost in wanted.items()]))
    assert (cells["all", "1-device"].verdict, cells["all", "2-devices"].verdict) == verdicts


def test_a_slower_one_than_others_explain_is_still_a_failure():
    cells, _ = judged(NBODY, look([use("cpu0", "cpu", 4.0, 3.6), use("cpu1", "cpu", 4.0, 4.0)]), slower=0.3)
    assert cells["all", "1-device"].verdict is Verdict.FAIL


@pytest.fixture(scope="module")
def simulations():
    """{name: what nbody_scaling recorded on an H200}, alone and beside others, and that alone as the reference."""
    records = {name: reading.load(DATA / f"h200_nbody_{name}.record.json") for name in ("alone", "hog", "copies")}
    return records, references_of(records["alone"], "alone", TOLERANCE)


@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("alone", Verdict.PASS, ""),
        (
            "hog",
            Verdict.INCOMPLETE,
            "busy: others kept the processors of gpu0 busy for 99 % of the time (pid 654 python3 of root)",
        ),
        ("copies", Verdict.PASS, ""),
    ],
)
def test_beside_others_on_its_gpu_a_recorded_simulation_is_as_fast_as_they_let_it(simulations, name, verdict, said):
    records, references = simulations
    (matrix,) = evaluate(records[name], references, "alone").matrices
    (cell,) = dict(matrix.cells).values()
    assert cell.verdict is verdict and said in cell.reason


def test_what_copies_of_others_took_of_a_recorded_simulation_nobody_knows(simulations):
    records, references = simulations
    slow = copy.deepcopy(records["copies"])
    slow["results"][0]["values"][0][0] *= 0.8
    (matrix,) = evaluate(slow, references, "alone").matrices
    (cell,) = dict(matrix.cells).values()
    assert cell.verdict is Verdict.INCOMPLETE
    said = "others were on gpu0 (pid 944 python3 of root), and what they took of its paths is not counted"
    assert said in cell.reason
