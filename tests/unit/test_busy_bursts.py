"""Others who copy in bursts, as a training job does: what a burst may have made slow is no suspect."""

import numpy as np
import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.others import OVERHEAD
from linkmatrix.locate import bursts, diagnosis
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import suspects
from linkmatrix.show import headlines

from .conftest import TESTCASE

TABLE = References({("hgx", TESTCASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, "GB/s")}})
SECONDS, BURSTS, LINE = 4.0, 0.3, 395e9  # share of the time in which the others send as fast as the link does
JOB = {"where": "gpu1", "pid": 2983, "name": "train", "user": "bob", "bytes": 1 << 30, "seconds": None}


def test_cells_that_were_measured_in_a_burst_of_others_are_no_suspects(make_record, judged_run):
    """Half of the link for each in a burst; the others moved 474 GB, and 0.05 s of each cell at half miss 20 GB."""
    record = make_record(off={(1, 2): 198.0, (1, 3): 198.0})
    own = 300e9
    moved = {"gpu1": ("nvlink_out", own + BURSTS * SECONDS * LINE), "gpu2": ("nvlink_out", own)}
    record["results"][0]["others"] = {
        "seconds": SECONDS,
        "shared": True,
        "uses": [{"label": label, "of": of, "counted": counted, "own": own} for label, (of, counted) in moved.items()],
        "nodes": [],
        "processes": [JOB],
        "untold": [],
    }
    reading.check(record)
    cells = evaluate(record, TABLE, "hgx").matrices[0].cells
    _, [judged] = judged_run(record, reference="hgx")
    assert {one.topic for one in headlines.headlines([judged])} == {"busy"}
    assert suspects.of_run([judged])[0] == {}, cells["gpu1", "gpu2"].reason


@pytest.fixture
def found(make_record):
    """A function that returns the findings and sentences of a record beside others who left gpu1 with `moved` bytes."""

    def find(off, moved, count=4, times=1.0, unit="GB/s", change=None):
        record = make_record(count=count, off=off)
        (result,) = record["results"]
        result["unit"] = unit
        result["ended"] = [
            [ended and began + times * (ended - began) for began, ended in zip(*rows, strict=True)]
            for rows in zip(result["began"], result["ended"], strict=True)
        ]
        use = {"label": "gpu1", "of": "nvlink_out", "counted": 300e9 + moved, "own": 300e9}
        looks = {"seconds": SECONDS, "shared": True, "uses": [use], "nodes": [], "processes": [JOB], "untold": []}
        result["others"] = looks
        if change:
            change(result)
        reading.check(record)
        table = References({("hgx", TESTCASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, unit)}})
        return diagnosis.diagnose(record, result, evaluate(record, table, "hgx").matrices[0])

    return find


def test_it_is_said_that_bursts_would_explain_it_and_nothing_is_suspected(found):
    (one,) = (said := found({(1, 2): 198.0}, BURSTS * SECONDS * LINE)).findings
    (sentence,) = said.sentences
    assert one.bursts and "suspect" not in sentence
    assert "(1 of 1 cell), as bursts of others may make it. Beside others: 459 GB left gpu1" in sentence
    assert "which explains less on average: measure it again without them" in sentence


def test_a_device_that_is_slow_to_everyone_met_no_bursts_each_time(found):
    """Others had 5 % of its way out: at most a tenth of the time they took half of it, and seven cells met them so."""
    moved = (0.05 + OVERHEAD["nvlink"]) * 300e9 + 0.05 * SECONDS * LINE
    (one,) = found({(1, c): 198.0 for c in range(8) if c != 1}, moved, count=8).findings
    assert (one.kind, one.subject, one.bursts) == ("egress", 1, False)


def test_others_who_moved_less_than_a_cell_lacks_did_not_make_it_slow(found):
    """It was measured for 3.5 s and lacks 690 GB, of which they moved 459."""
    (one,) = found({(1, 2): 198.0}, BURSTS * SECONDS * LINE, times=70.0).findings
    assert not one.bursts


def test_a_slow_cell_that_others_did_not_touch_is_suspect(found):
    (one,) = found({(2, 3): 198.0}, BURSTS * SECONDS * LINE).findings
    assert not one.bursts


def test_a_device_that_is_slow_to_everyone_may_have_met_bursts_where_others_had_nearly_as_much_all_the_time(found):
    """Others had 25 % of its way out, and each of its cells lacks 32 %: they had that for up to 78 % of the time."""
    moved = OVERHEAD["nvlink"] * 300e9 + 0.25 * SECONDS * LINE
    (one,) = found({(1, c): 0.68 * 396.0 for c in range(8) if c != 1}, moved, count=8).findings
    assert (one.kind, one.subject, one.bursts) == ("egress", 1, True)


def test_others_who_moved_more_than_a_cell_lacks_may_have_made_it_slow(found):
    """It was measured for 0.5 s and lacks 99 GB, of which they moved 459."""
    (one,) = found({(1, 2): 198.0}, BURSTS * SECONDS * LINE, times=10.0).findings
    assert one.bursts


def test_of_a_latency_no_bytes_tell_how_long_it_waited_for_bursts(found):
    def latency(result):
        result["metric"] = "latency"

    (one,) = found({(1, 2): 1200.0}, BURSTS * SECONDS * LINE, unit="us", change=latency).findings
    assert not one.bursts


@pytest.mark.parametrize(
    ("of", "counted", "own"),
    [("nvlink_out", None, 300e9), ("cpu", 2.0, 1.6), ("memory", 2.0, 0.0)],
    ids=["bytes that nobody counted", "turns on a processor", "time of a memory"],
)
def test_what_was_not_counted_as_bytes_is_no_burst_of_them(found, of, counted, own):
    """These explain up to 62 % less, 20 % and 8 %; what is slower than that is suspect."""

    def change(result):
        result["others"]["uses"] = [{"label": "gpu1", "of": of, "counted": counted, "own": own}]

    (one,) = found({(1, 2): 60.0}, 0.0, change=change).findings
    assert not one.bursts


def test_less_than_three_quarters_of_a_findings_cells_beside_others_are_too_few(found):
    """gpu0 is slow to seven, and others sent to four of these, as much as would explain bursts."""

    def into(result):
        (use,) = result["others"]["uses"]
        result["others"]["uses"] = [use | {"of": "nvlink_in", "label": f"gpu{at}"} for at in range(1, 5)]

    (one,) = found({(0, c): 198.0 for c in range(1, 8)}, BURSTS * SECONDS * LINE, count=8, change=into).findings
    assert (one.kind, one.subject, one.bursts) == ("egress", 0, False)


def test_a_cell_was_measured_from_when_it_began_to_when_it_ended_or_nobody_knows():
    times = {"began": [[0.0, 1.0], [2.0, None]], "ended": [[0.5, 3.0], [3.0, None]]}
    known = bursts.seconds_of(times, (2, 2))
    assert known[0].tolist() == [0.5, 2.0] and known[1, 0] == 1.0 and np.isnan(known[1, 1])
    for unknown in ({}, {"began": None, "ended": None}, times | {"ended": [[1.0]]}):
        assert np.isnan(bursts.seconds_of(unknown, (2, 2))).all()


def test_who_moved_nothing_to_speak_of_on_most_of_a_findings_cells_sent_it_no_bursts(found):
    """gpu0 is slow to everyone, and others used the way of gpu1 alone, which is one of them."""

    def into(result):
        result["others"]["uses"][0]["of"] = "nvlink_in"

    (one,) = found({(0, c): 198.0 for c in range(1, 8)}, BURSTS * SECONDS * LINE, count=8, change=into).findings
    assert (one.kind, one.subject, one.bursts) == ("egress", 0, False)
