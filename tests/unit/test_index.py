"""The index of stored runs says what reports say, and is made anew whenever it cannot be trusted."""

import contextlib
import multiprocessing
import os
import random
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
import stores
from stores import DAY, FIRST

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References
from linkmatrix.runs import folders, index, indexing, notes, stored, suspicion, testcases
from linkmatrix.runs.judging import judge
from linkmatrix.runs.suspects import suspects
from linkmatrix.show import over_time


@pytest.fixture
def store(sweeps, make_record):
    """Adds reports of node001, or of others, a day each."""

    class OfNodes(stores.Store):
        def add(self, number, off=None, nodes=("node001",), **how):
            return super().add(number, [stores.of_node(make_record(off=off), node) for node in nodes], **how)

        def tests(self):
            with index.open_index(self.prefix, self.references) as found:
                return stores.tests_in(found)

        def suspects(self):
            with index.open_index(self.prefix, self.references) as found:
                return found.suspects(3)

    return OfNodes(sweeps.prefix, sweeps.references)


def test_a_node_has_its_tests_with_verdicts_parts_and_versions(store):
    store.add(1)
    store.add(2, off={(1, 2): 350.0})
    one, two = store.tests()
    assert (one.node, one.partition, one.report) == ("node001", "alpha:gpu", "run-report-1.json")
    assert (one.verdict, two.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert two.started - one.started == DAY and one.seconds == 1.5 and one.nodes == 1 and one.run != two.run
    assert one.cases == {"device_to_device_memcpy_write_ce": (Verdict.PASS, True, False, (("NV18", ""),))}
    gpu = one.parts[0]
    assert (gpu.kind, gpu.name, gpu.part["serial"], gpu.place["slot"]) == ("device", "gpu0", "1650-node001", "0")
    assert [part.name for part in one.parts if part.kind == "adapter"] == ["mlx5_0"]
    assert one.versions["driver"] == "580.159.04" and one.boot == "c3d4"


def test_a_test_case_that_was_cut_off_is_not_whole(store):
    store.add(1, off={(3, 0): "timeout"}, result="fail")
    (one,) = store.tests()
    assert [case.complete for case in one.cases.values()] == [False]


def test_the_suspects_are_those_of_the_reports_themselves(store):
    offs = [{}, {(3, c): 350.0 for c in range(3)}, {}, {(1, 2): 350.0, (2, 1): 350.0}, {}]
    for number, off in enumerate(offs, 1):
        store.add(number, off=off, nodes=("n1",))
        store.add(number + 10, nodes=("n2",))
    runs = stored.find_each(folders.reports(store.prefix))
    wanted = suspects(runs, References.load(store.references), None, 3)
    assert wanted and store.suspects() == wanted


@pytest.mark.parametrize("seed", range(4))
def test_nodes_that_were_cleared_are_left_out_and_no_other(store, seed):
    draw, kinds = random.Random(seed), [{}, {}, {}, {(3, c): 350.0 for c in range(3)}, {(1, 2): 350.0, (2, 1): 350.0}]
    for number in range(1, 9):
        for at in range(3):
            store.add(20 * at + number, off=draw.choice(kinds), nodes=(f"n{at}",))
    shutil.copy(store.prefix / "reports" / "run-report-8.json", store.prefix / "reports" / "run-report-99.json")
    runs, references = stored.find_each(folders.reports(store.prefix), for_verdicts=False), store.references
    for clean_runs in (1, 2, 3):
        wanted = suspects(runs, References.load(references), None, clean_runs)
        with index.open_index(store.prefix, references) as found:
            assert found.suspects(clean_runs) == wanted
            assert {found.names[node] for node in found.flagged_lately(clean_runs)} >= {one.node for one in wanted}


def test_what_changed_or_is_gone_is_no_longer_in_it(store):
    first = store.add(1)
    store.add(2)
    assert len(store.tests()) == 2
    store.add(2, nodes=("node001", "node002"))
    assert len(store.tests()) == 3
    first.unlink()
    assert [one.report for one in store.tests()] == ["run-report-2.json"] * 2


@pytest.mark.parametrize("damage", ["garbage", "cut", "flipped", "empty", "version"])
def test_a_damaged_index_is_made_anew(store, damage):
    store.add(1)
    store.add(2, off={(3, c): 350.0 for c in range(3)})
    before, suspected = store.tests(), store.suspects()
    file = store.prefix / index.FILE
    content = file.read_bytes()
    damaged = {
        "garbage": b"no database" * 1000,
        "cut": content[: len(content) // 2 // 4096 * 4096],
        "flipped": content[:4096] + bytes(255 - byte for byte in content[4096:8192]) + content[8192:],
        "empty": b"",
    }.get(damage, content)
    file.write_bytes(damaged)
    if damage == "version":
        with contextlib.closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("PRAGMA user_version = 99")
    assert store.tests() == before and store.suspects() == suspected


def look(prefix: Path, references: Path, gate, found):
    gate.wait()
    with index.open_index(prefix, references) as one:
        found.put(len(stores.tests_in(one)))


def test_commands_at_once_add_each_report_once(store):
    for number in range(1, 9):
        store.add(number, nodes=("n1", "n2"))
    context = multiprocessing.get_context("spawn")
    gate, found = context.Barrier(3), context.Queue()
    each = [context.Process(target=look, args=(store.prefix, store.references, gate, found)) for _ in range(3)]
    for one in each:
        one.start()
    counts = [found.get(timeout=120) for _ in each]
    for one in each:
        one.join(60)
    assert counts == [16, 16, 16] and len(store.tests()) == 16


def test_a_report_that_cannot_be_read_is_named_and_the_others_count(store):
    store.add(1)
    (store.prefix / "reports" / "run-report-7.json").write_text("{")
    with index.open_index(store.prefix, store.references) as found:
        assert len(stores.tests_in(found)) == 1
        (note,) = found.notes
    assert "run-report-7.json is not valid JSON" in note


def test_other_references_are_told_of_and_judge_again_when_asked(store):
    store.add(1, off={(1, 2): 350.0})
    assert store.tests()[0].verdict is Verdict.FAIL
    file = store.references / "p2p.yaml"
    file.write_text(file.read_text().replace("gpu1->gpu2: [396.0", "gpu1->gpu2: [350.0"))
    with index.open_index(store.prefix, store.references) as found:
        assert stores.tests_in(found)[0].verdict is Verdict.FAIL and "1 report was judged with other" in found.notes[0]
    with index.open_index(store.prefix, store.references, again=True) as found:
        assert stores.tests_in(found)[0].verdict is not Verdict.FAIL and found.notes == []


def across(content):
    """Each of the four devices on a node of its own, two nodes on a leaf switch."""
    for at, device in enumerate(content["devices"]):
        device["node"] = f"n{at}"
        device["place"] = {"node": f"n{at}", "leaf": f"leaf{at // 2}"}


LEAVES = {f"n{at}": f"leaf{at // 2}" for at in range(4)}


@pytest.mark.parametrize(
    ("lost", "found"),
    [
        ([], [("leaf0", "leaf1")]),
        ([(r, c) for r in (0, 1) for c in (2, 3)], [("leaf0", "leaf1")]),
        ([(r, c) for r in (0, 1) for c in (2, 3)] + [(r, c) for r in (2, 3) for c in (0, 1)], []),
    ],
)
def test_two_leaf_switches_met_where_a_cell_between_their_nodes_has_a_value(store, lost, found):
    store.add(1, change=across, off=dict.fromkeys(lost, "timeout"))
    with index.open_index(store.prefix, store.references) as one:
        assert list(one.last_meetings("alpha:gpu", LEAVES)) == found
        assert one.last_meetings("alpha:other", LEAVES) == {} and one.last_meetings("alpha:gpu", {"n0": "leaf0"}) == {}
        assert {test.node: test.leaf for test in stores.tests_in(one)}["n3"] == "leaf1"


def test_the_last_meeting_counts(store):
    for number in (2, 3, 1):
        store.add(number, change=across)
    with index.open_index(store.prefix, store.references) as one:
        assert one.last_meetings("alpha:gpu", LEAVES) == {("leaf0", "leaf1"): FIRST + 2 * DAY + 6622}


def test_a_part_that_was_moved_is_found_by_the_index_on_both_nodes(store):
    def of(node, slot_serials):
        def change(content):
            for device, serial in zip(content["devices"], slot_serials, strict=True):
                device["part"] = {"serial": f"{node}{serial}" if len(serial) == 1 else serial}

        return change

    slow = {(3, c): 350.0 for c in range(3)}
    for day in (1, 2):
        store.add(day, off=slow, nodes=("n1",), change=of("n1", "012X"))
        store.add(day + 100, nodes=("n2",), change=of("n2", "0123"))
    for day in (3, 4):
        store.add(day, nodes=("n1",), change=of("n1", ["0", "1", "2", "n23"]))
        store.add(day + 100, off=slow, nodes=("n2",), change=of("n2", ["0", "1", "2", "n1X"]))
    (one,) = store.suspects()
    assert (one.node, one.label, one.part) == ("n2", "gpu3", "GPU serial n1X")
    assert one.swap == "the fault followed the component (GPU serial n1X from n1/slot 3 to n2/slot 3)"
    with index.open_index(store.prefix, store.references) as found:
        every = list(found.flags_on(found.nodes_sharing_parts(found.nodes_with_part("n1X"))))
    lines = over_time.part_history(every, "n1X", 3)
    assert lines[0] == "GPU serial n1X: 4 runs, flagged in 4" and lines[-1].strip() == one.swap


SLOW = {(3, c): 350.0 for c in range(3)}


@pytest.mark.parametrize("lost", ["moved away", "damaged"])
def test_a_report_whose_records_were_not_there_for_a_moment_is_read_again(store, lost):
    store.add(1, off=SLOW)
    (record,) = store.prefix.glob("output/1/*/record.json")
    content = record.read_bytes()
    if lost == "damaged":
        record.write_bytes(content[: len(content) // 2])
    else:
        record.rename(record.with_name("away.json"))
    assert store.suspects() == [] and store.suspects() == []
    if lost == "damaged":
        record.write_bytes(content)
    else:
        record.with_name("away.json").rename(record)
    (one,) = store.suspects()
    assert (one.node, one.label) == ("node001", "gpu3")


def test_a_suspect_stays_when_its_record_is_gone(store):
    store.add(1, off=SLOW)
    (one,) = store.suspects()
    shutil.rmtree(store.prefix / "output")
    assert store.suspects() == [one]


def renamed(name, parts=True):
    """Changes a record of node n2 into one that has it under another name; parts: whether it identifies its devices."""

    def change(content):
        stores_of = stores.of_node(content, name)
        for before, after in zip(content["devices"], stores_of["devices"], strict=True):
            after["part"] = before["part"] if parts else {}
            after["uuid"] = after["uuid"] if parts else None
        content.update(stores_of)

    return change


@pytest.mark.parametrize("parts", [True, False])
def test_a_node_with_and_without_its_domain_is_one_place(store, parts):
    for day in (1, 2, 3):
        store.add(day, off=SLOW, nodes=("n2",), change=renamed("n2", parts))
    (before,) = store.suspects()
    for day in (4, 5):
        store.add(day, off=SLOW, nodes=("n2",), change=renamed("n2.cluster.example", parts))
    (one,) = store.suspects()
    assert (one.swap, one.place, one.since) == ("", before.place, before.since) and (one.flagged, one.seen) == (5, 5)
    for day in (6, 7, 8):
        store.add(day, nodes=("n2",), change=renamed("n2.cluster.example", parts))
    assert store.suspects() == []


@pytest.mark.parametrize("named", ["n2", "n2.cluster.example", "n2.cluster"])
def test_a_repair_is_of_its_place_however_its_node_is_named(store, named):
    store.add(1, off=SLOW, nodes=("n2.cluster.example",))
    repair = notes.Note("2025-12-01T00:00:00Z", "repair", "", "", ((named, "3"),), "", "eva")
    with index.open_index(store.prefix, store.references) as found:
        ledger = suspicion.read_runs(found.run_flags(3), 3, [repair])
    assert ledger.evidence.repairs == {("n2", "3"): repair.when}


@pytest.mark.parametrize(("place", "known"), [("n2/3", True), ("n2.cluster/3", True), ("n2", True), ("n2/9", False)])
def test_a_note_on_a_place_that_no_run_has_seen_says_so(store, monkeypatch, linkmatrix, place, known):
    store.add(1, nodes=("n2.cluster.example",))
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(store.prefix))
    assert ("no stored run contains n2/slot 9" in linkmatrix.out("note", "--repair", "--slot", place)) is not known
    assert len(notes.load(store.prefix)) == 1


def test_reports_that_a_clock_dated_ahead_clear_nothing_when_that_time_has_come(store):
    now = time.time()
    for number in (1, 2, 3):  # written ten days ago, by a clock that was eight days ahead
        report = store.add(number, nodes=("n1",), began=now - 2 * DAY + 3600 * number)
        os.utime(report, (now - 10 * DAY, now - 10 * DAY))
    report = store.add(4, off=SLOW, nodes=("n1",), began=now - 5 * DAY)
    (one,) = store.suspects()
    assert (one.label, one.clean) == ("gpu3", 0)
    runs = stored.find_each(folders.reports(store.prefix))
    assert suspects(runs, References.load(store.references), None, 3) == [one]
    with index.open_index(store.prefix, store.references) as found:
        assert len(found.flagged_lately(3)) == 1


def test_an_incomplete_test_without_a_record_is_known_of_the_node_of_its_job(tmp_path):
    case = {
        "name": "intranode_p2p",
        "display_name": "intranode_p2p",
        "result": "fail",
        "fail_phase": "run",
        "fail_reason": "job error: killed",
        "outputdir": str(tmp_path),
        "stagedir": str(tmp_path),
        "system": "alpha",
        "partition": "gpu",
        "job_nodelist": ["n1"],
        "verdict_sha256": "",
        "verdict_file": "",
        "job_began": True,
        "reference_name": "hgx",
        "on": "",
        "job_exitcode": 137,
    }
    test = testcases.read_test(case, tmp_path / "run-report-1.json")
    one = judge(test, References({}), None)
    assert one.verdict is Verdict.INCOMPLETE
    assert [row["node"] for row in indexing.test_rows(one, 1_800_000_000)] == ["n1"]


def test_a_node_out_of_service_is_indexed_as_incomplete_so_that_it_is_never_known_good():
    test = testcases.Test(name="node_sweep", node="n1", result="skip", reason="not run", out_of_service=True)
    one = judge(test, References({}), None)
    (row,) = indexing.test_rows(one, 1_800_000_000)
    assert one.verdict is Verdict.NOT_JUDGED and row["verdict"] == Verdict.INCOMPLETE
