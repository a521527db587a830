"""Scheduled runs that did not start: the next run of the same schedule reports them."""

import json
from datetime import datetime

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.runs import missing_runs
from linkmatrix.runs.missing_runs import Schedule

FRIDAY = datetime(2026, 11, 27, 2, 31)


def at(day, time="02:31"):
    return datetime.fromisoformat(f"2026-11-{day:02}T{time}:00")


@pytest.mark.parametrize(
    ("text", "last", "now", "missed"),
    [
        ("02:30", at(26), at(27), []),
        ("02:30", at(26), at(27, "14:00"), []),  # late, but the one of that day
        ("02:30", at(26, "14:00"), at(27), []),
        ("02:30", at(25), at(27), [at(26, "02:30")]),
        ("02:30", at(23), at(27, "02:30"), [at(day, "02:30") for day in (24, 25, 26)]),
        ("02:30", at(27), at(27, "05:00"), []),
        ("23:50", at(25, "23:51"), at(27, "00:20"), []),
        ("Mon 02:30", at(16), at(23), []),
        ("Mon 02:30", at(9), at(23), [at(16, "02:30")]),
        ("Mon 02:30", at(16), at(27), []),
        ("02:30", at(27), at(20), []),  # a clock that went back
    ],
)
def test_the_starts_between_the_last_one_and_this_one_were_missed(text, last, now, missed):
    assert Schedule.read(text).missed(last, now) == missed


@pytest.mark.parametrize("text", ["", "2:30", "25:00", "Monday 02:30", "02:30\n", "*-*-* 02:30"])
def test_other_texts_are_no_schedule(text):
    with pytest.raises(BadInput, match="--scheduled"):
        Schedule.read(text)


def test_another_schedule_and_a_damaged_file_have_missed_nothing(tmp_path):
    (tmp_path / "runs").mkdir()
    assert missing_runs.note_start(tmp_path, "any-quick", "02:30", at(20)) == []
    assert missing_runs.note_start(tmp_path, "any-quick", "Mon 02:30", FRIDAY) == []
    (tmp_path / "runs" / "scheduled-any-quick.json").write_text("[]")
    assert missing_runs.note_start(tmp_path, "any-quick", "Mon 02:30", FRIDAY) == []


def test_a_run_after_a_start_that_was_missed_is_incomplete_and_the_next_one_is_not(machine):
    machine.prepare("pass")
    assert machine.run("--scheduled", "02:30")[0] == 0
    (file,) = (machine.folder.parent / "prefix" / "runs").glob("scheduled-*.json")
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "started": "2026-11-01T02:30:05"}))
    machine.prepare("pass")
    code, out = machine.run("--scheduled", "02:30")
    assert code == 3 and "INCOMPLETE 2026-11-02 02:30: the scheduled run did not start" in out
    machine.prepare("pass")
    code, out = machine.run("--scheduled", "02:30")
    assert code == 0 and "did not start" not in out


def test_a_schedule_that_makes_no_sense_is_one_sentence(machine, linkmatrix):
    (line,) = linkmatrix.err("run", "--reframe", machine.reframe, "--scheduled", "noon").splitlines()
    assert "02:30" in line
