"""Parts are followed and places too: a moved device takes its faults along, and what stays behind is the slot's."""

import errno
import json
import os
import re

import pytest
from moved_parts import GPUS, NODES, SAID, TRUTHS, Swaps, trial

from linkmatrix import cli, files
from linkmatrix.runs import components, notes

pytestmark = pytest.mark.usefixtures("wide_terminal")

SENDS = (True, False)


def swapped(sim, before=2, after=2, part=None, place=None):
    """Runs before and after the GPUs of n12/3 and n40/1 were exchanged, with a bad part or place."""
    for _ in range(before):
        sim.run(part, place, 0.1, SENDS)
    sim.parts["n12", 3], sim.parts["n40", 1] = sim.parts["n40", 1], sim.parts["n12", 3]
    for _ in range(after):
        sim.run(part, place, 0.1, SENDS)
    return sim.suspects()


def test_a_fault_that_moves_with_its_part_is_the_parts():
    sim = Swaps(1)
    (one,) = swapped(sim, part=sim.parts["n12", 3])
    assert (one.node, one.label, one.flagged) == ("n40", "gpu1", 4)
    assert one.swap == "the fault followed the component (GPU serial 16500013 from n12/slot 3 to n40/slot 1)"


def test_a_fault_that_stays_is_the_slots():
    (one,) = swapped(Swaps(1), place=("n12", 3))
    assert (one.node, one.label, one.part) == ("n12", "gpu3", "GPU serial 16500021")
    gone, there = "GPU serial 16500013 is at n40/slot 1", "GPU serial 16500021 is there now"
    assert one.swap == f"the fault stayed with the slot (n12/slot 3: {gone}, and {there})"


def test_without_serial_numbers_the_uuid_is_the_part():
    sim = Swaps(1, serial=False)
    (one,) = swapped(sim, part=sim.parts["n12", 3])
    assert one.swap == "the fault followed the component (GPU UUID GPU-00013 from n12/slot 3 to n40/slot 1)"


def test_one_run_with_neither_says_that_nothing_is_known():
    found = swapped(Swaps(1), after=0, place=("n12", 3))
    assert [one.swap for one in found] == [""]
    sim = Swaps(1)
    found = swapped(sim, before=1, after=1)
    assert found == []


def test_two_parts_with_one_number_are_not_one_that_is_moved():
    sim = Swaps(1)
    sim.parts["n40", 1] = sim.parts["n12", 3]
    for _ in range(2):
        sim.run(None, ("n12", 3), 0.1, SENDS)
    (one,) = sim.suspects()
    assert (one.node, one.label, one.part, one.swap) == ("n12", "gpu3", "", "")


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("way", ["sends", "both ways"])
def test_after_one_swap_it_is_known_what_is_bad(truth, way):
    answers = [trial(truth, way, 0.1, 1.0, seed) for seed in range(3)]
    assert all(right for right, _ in answers), answers
    assert all(one.swap.startswith(SAID.get(truth, "never")) for _, found in answers for one in found)


@pytest.fixture
def stored(tmp_path, monkeypatch, capsys):
    """A prefix with records of n12 and n40, whose GPU 13 was moved from n12/3 to n40/1: history(*arguments)."""
    sim = Swaps(5)
    bad = sim.parts["n12", 3]
    table = [f"      gpu{a}->gpu{b}: [396.0, -0.03, 0.1, GB/s]\n" for a in range(GPUS) for b in range(GPUS) if a != b]
    folder = tmp_path / "references"
    folder.mkdir()
    name = sim.template["results"][0]["testcase"]
    head = f"intranode_p2p:\n  $index: [reference_name, testcase]\n  sim:\n    {name}:\n"
    (folder / "p2p.yaml").write_text(head + "".join(table))
    paths = []
    for day in range(6):
        if day == 3:
            sim.parts["n12", 3], sim.parts["n40", 1] = sim.parts["n40", 1], sim.parts["n12", 3]
        sim.day = day + 1
        for node in NODES:
            slow = {slot: 0.1 for slot in range(GPUS) if sim.parts[node, slot] == bad}
            path = tmp_path / f"{day}-{node}" / "record.json"
            path.parent.mkdir()
            path.write_text(json.dumps(sim.record(node, slow, SENDS)))
            paths.append(str(path))
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "prefix"))

    def history(*arguments):
        code = cli.main(["history", *paths, "--references", str(folder), "--reference", "sim", *arguments])
        return code, capsys.readouterr().out

    return history


def test_history_of_a_part_has_both_places_and_the_answer(stored):
    code, out = stored("--component", "16500013")
    lines = [line.strip() for line in out.splitlines()]
    assert code == 0 and lines[0] == "GPU serial 16500013 (UUID GPU-00013): 6 runs, flagged in 6"
    assert lines[1] == "2026-01-02 to 2026-01-04 in n12/slot 3: 3 runs, flagged in 3, clean in 0"
    assert "2026-01-05 moved between 2026-01-04 01:00 and 2026-01-05 01:00 from n12/slot 3 to n40/slot 1" in lines
    assert lines[-1] == "the fault followed the component (GPU serial 16500013 from n12/slot 3 to n40/slot 1)"
    assert stored("--component", "GPU-00013") == (code, out)
    assert stored("--component", "4711")[0] == 3


def test_history_of_a_place_has_both_parts_and_the_notes(stored, linkmatrix):
    printed = linkmatrix.out("note", "--slot", "n12/3", "cable reseated", "--repair", "--when", "2026-01-04T12:00")
    assert re.match(r"2026-01-04 12:00 repair of n12/slot 3: cable reseated \(noted by ", printed)
    code, out = stored("--slot", "n12/3")
    assert code == 0 and out.startswith("n12/slot 3: 6 runs, flagged in 3\n")
    assert (
        "GPU serial 16500013: 3 runs, flagged in 3" in out
        and "GPU serial 16500021: 3 runs, flagged in 0, clean in 3" in out
    )
    assert "repair of n12/slot 3: cable reseated" in out
    assert "exchanged between 2026-01-04 01:00 and 2026-01-05 01:00: serial 16500013 for serial 16500021" in out
    assert stored("--slot", "n12/9")[0] == 3
    assert stored("--slot", "/3")[0] == 2 and stored("--slot", "n12/3", "--fleet")[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["text"],
        ["--slot", "n12/3"],
        ["--slot", "n12/3", "x", "--when", "2999-01-01"],
        ["--slot", "n12/3", "x", "--when", "yesterday"],
        ["--component", "a b", "x"],
        ["--slot", "n12/", "x"],
        ["--slot", "n1\x1b[31m/3", "x"],
        ["--slot", "n2/\u202e3", "x"],
        ["--component", "1", "x" * 1001],
    ],
)
def test_a_note_that_says_nothing_or_lies_ahead_is_refused(arguments, tmp_path, monkeypatch, linkmatrix):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path))
    assert linkmatrix.err("note", *arguments).startswith("linkmatrix: ") and not list(tmp_path.iterdir())


def test_notes_that_cannot_be_read_are_never_dropped(tmp_path, monkeypatch, linkmatrix):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path))
    (tmp_path / notes.FILE).write_text("{")
    assert notes.FILE in linkmatrix.err("note", "--component", "1", "x") and (tmp_path / notes.FILE).read_text() == "{"


def test_a_serial_number_of_a_board_is_no_part():
    record = Swaps(1).record("n12", {}, SENDS)
    for device in record["devices"]:
        device["part"]["serial"] = "board 7" if device["index"] < 2 else "N/A"
    found = components.device_sightings(record)
    assert [one.serial for one in found.values()] == [""] * GPUS
    names = components.ComponentNames(("2026-01-01T00:00:00Z", one) for one in found.values())
    assert [names.component(one).word for one in found.values()] == ["UUID"] * GPUS


def test_a_note_on_a_full_disk_is_not_half_there(tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path))
    words = ["note", "--slot", "n12/3", "--when", "2026-11-20T10:00"]
    assert cli.main([*words, "cable reseated"]) == 0
    file = tmp_path / notes.FILE
    before = file.read_bytes()
    with monkeypatch.context() as disk:
        disk.setattr(files, "replace", full)
        assert cli.main([*words, "again"]) == 4
    assert f"{file}: No space left on device" in capsys.readouterr().err and file.read_bytes() == before
    assert cli.main([*words, "again"]) == 0
