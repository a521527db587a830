"""Others who copy in bursts, as a training job does: what a burst may have made slow is no suspect."""

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.others import OVERHEAD
from linkmatrix.locate import diagnosis
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

    def find(off, moved, count=4, times=1.0):
        record = make_record(count=count, off=off)
        (result,) = record["results"]
        result["ended"] = [
            [ended and began + times * (ended - began) for began, ended in zip(*rows, strict=True)]
            for rows in zip(result["began"], result["ended"], strict=True)
        ]
        use = {"label": "gpu1", "of": "nvlink_out", "counted": 300e9 + moved, "own": 300e9}
        looks = {"seconds": SECONDS, "shared": True, "uses": [use], "nodes": [], "processes": [JOB], "untold": []}
        result["others"] = looks
        reading.check(record)
        table = References({("hgx", TESTCASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, "GB/s")}})
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
