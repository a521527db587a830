"""What a device counts of programs of others that died there is no error of it, and no error is taken for that."""

import pytest

from linkmatrix.judge.disturbances import UNNAMED
from linkmatrix.judge.run_findings import (
    crashed_programs,
    ended_processes,
    error_sentences,
    failed_endpoints,
    foreign_xids,
    only_program_xids,
)
from linkmatrix.record.names import counter_rises

SEVEN = {"xid": (0, 7), "xid_31": (None, 7)}


def process(where="gpu1", pid=2983, name="hog"):
    return {"where": where, "pid": pid, "name": name, "user": "bob", "bytes": 1 << 30, "seconds": None}


def counts(**named):
    return [{"name": name, "before": before, "after": after} for name, (before, after) in named.items()]


def others(*there, shared=True):
    return {"seconds": 1.0, "shared": shared, "processes": list(there)}


def record_of(of_devices, *there, shared=True, lost=(), results=()):
    """As much of a record as is asked, whose last look found nobody; of_devices: {device: what counts}."""
    health = [{"label": label, "counters": counts(**named)} for label, named in of_devices.items()]
    found = {
        "health": health,
        "lost": [{"label": label} for label in lost],
        "results": [*results, {"others": others()}],
    }
    return {**found, "others": others(*there, shared=shared)}


def result(status, rows=("gpu0", "gpu1"), columns=("gpu0", "gpu1")):
    return {"rows": list(rows), "columns": list(columns), "status": status}


def test_what_died_is_told_with_whose_it_was_and_how_often():
    record = record_of({"gpu1": {"xid": (2, 9), "xid_31": (1, 6), "xid_43": (None, 2)}}, process())
    assert crashed_programs(record) == [
        "gpu1: programs of other users crashed on it (pid 2983 (hog, user bob)): xid_31 5 times, xid_43 2 times; "
        "the device is not at fault"
    ]
    assert error_sentences(record) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"shared": False},
        {"lost": ["gpu1"]},
        {"results": [result([["ok", "error"], ["ok", "ok"]])]},
        {"results": [result([["ok", "ok"], ["error", "ok"]])]},
    ],
    ids=["nobody was there", "the run lost it", "a cell into it failed", "a cell out of it failed"],
)
def test_what_may_be_of_the_run_itself_stays_an_error(changes):
    record = record_of({"gpu1": SEVEN}, process(), **changes)
    assert crashed_programs(record) == [] and len(error_sentences(record)) == 2
    assert error_sentences(record)[0] == "gpu1: xid rose from 0 to 7 during the run"


def test_where_others_were_elsewhere_it_stays_an_error():
    record = record_of({"gpu1": SEVEN, "gpu0": SEVEN}, process(where="gpu0"))
    assert list(foreign_xids(record)) == ["gpu0"]
    assert [line.partition(":")[0] for line in error_sentences(record)] == ["gpu1", "gpu1"]


def test_other_errors_of_a_device_on_which_programs_died_stay_errors():
    record = record_of({"gpu1": {"ecc_uncorrected": (0, 3), **SEVEN}}, process())
    assert error_sentences(record) == ["gpu1: ecc_uncorrected rose from 0 to 3 during the run"]
    assert len(crashed_programs(record)) == 1


@pytest.mark.parametrize("name", ["xid_13", "xid_31", "xid_43", "xid_45"])
def test_an_event_that_ends_a_program_is_one_of_a_program(name):
    assert only_program_xids(counter_rises(record_of({"gpu1": {"xid": (0, 2), name: (0, 2)}})))
    assert only_program_xids(counter_rises(record_of({"gpu1": {name: (0, 2)}}))) is False


@pytest.mark.parametrize(
    "named",
    [{"xid": (0, 3), "xid_31": (0, 2)}, {"xid": (0, 2), "xid_31": (0, 1), "xid_79": (0, 1)}, {"xid": (0, 2)}],
    ids=["one that nobody knows", "it fell off the bus", "none is known"],
)
def test_an_event_that_nobody_knows_or_that_is_of_the_device_is_none(named):
    assert not only_program_xids(counter_rises(record_of({"gpu1": named})))


def test_devices_that_the_run_could_not_use_are_those_of_its_cells_and_those_it_lost():
    failed = result([["ok", "error", "ok"]], rows=("gpu2",), columns=("gpu3", "gpu4", "gpu5"))
    in_a_file = {"rows": ["gpu7"], "columns": ["gpu8"], "cells": {"file": "cells.npy"}}
    fine = result([["ok"]], rows=("gpu8",), columns=("gpu9",))
    assert failed_endpoints(record_of({}, lost=["gpu6"], results=[fine, in_a_file, failed])) == {"gpu2", "gpu4", "gpu6"}


def test_who_is_there_at_the_last_look_has_not_died():
    stays = {"others": others(process(), process(pid=7, name=None))}
    record = record_of({"gpu1": SEVEN}, process())
    record["results"][-1] = stays
    assert crashed_programs(record) == [] and len(error_sentences(record)) == 2
    record["soak"] = {"others": others(process(pid=7))}
    (said,) = crashed_programs(record)
    assert "(pid 2983 (hog, user bob))" in said


def test_a_process_without_a_pid_is_unnamed():
    """A driver gives pid 0 for a process that it cannot identify."""
    record = record_of({"gpu1": SEVEN}, process(pid=0, name=None))
    assert ended_processes(record) == {"gpu1": {UNNAMED}}
    (said,) = crashed_programs(record)
    assert f"({UNNAMED})" in said and "pid 0" not in said
