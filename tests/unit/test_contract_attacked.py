"""`contract run` under attack: a contract that says too much, a disk that is full, a file that comes in between."""

import errno
import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from contracts import TESTCASE, Sold, draft_of

from linkmatrix import cli, files
from linkmatrix.contract import collecting, terms
from linkmatrix.runs import folders, notes

STEERS = "a\x1b[2Jb"


@pytest.fixture
def sold(machine, tmp_path, capsys):
    machine.prepare("pass")
    return Sold(tmp_path / "sold", machine, capsys)


def one_line(text):
    return text.count("\n") == 1 and text.endswith("\n") and "nobody foresaw" not in text


def of_first_part(**more):
    return lambda known: {"parts": (replace(known.parts[0], **more), *known.parts[1:])}


def of_case(**more):
    return lambda known: {"cases": (replace(known.cases[0], **more),)}


HOSTILE: dict[str, Callable[[terms.Terms], dict[str, object]]] = {
    "a zero byte": lambda _: {"system": "a\0b"},
    "a system that steers": lambda _: {"system": STEERS},
    "a title of two lines": lambda _: {"title": "Lot 1\nPASS"},
    "no title": lambda _: {"title": ""},
    "a very long title": lambda _: {"title": "x" * 1001},
    "a node that steers": of_first_part(node=STEERS),
    "two nodes in one": of_first_part(node="n1,n2"),
    "billions of nodes": of_first_part(node="n[1-999999999999]"),
    "a node that is an option": of_first_part(node="--all"),
    "a test case that steers": of_case(testcase=STEERS),
    "a document without a name": lambda _: {"document": {"x": "y"}},
    "a document that steers": lambda _: {"document": {"name": STEERS, "sha256": "0"}},
    "a time in other digits": lambda _: {"frozen": "٢٠٢٠-01-01T00:00:00Z"},
    "a time that never was": lambda _: {"frozen": "2020-02-31T00:00:00Z"},
    "limits that stand for billions": lambda _: {"limits": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"},
    "limits that are nested deep": lambda _: {"limits": "[" * 100_000},
    "limits that run a command": lambda _: {"limits": "!!python/object/apply:os.system [false]\n"},
    "limits whose tag does not fit": lambda _: {"limits": "a: !!bool maybe\n"},
    "a limit that is no number": lambda known: {"limits": known.limits.replace("380.0", ".nan")},
    "a key that comes twice": lambda known: {"limits": known.limits * 2},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_contract_that_says_what_none_says_is_refused_before_anything_is_measured(sold, name):
    known = sold.freeze()
    sold.contract.write_bytes(replace(known, **HOSTILE[name](known)).content)
    code, said = sold.run()
    assert code == 2 and one_line(said), said
    assert not (sold.machine.folder / "command.txt").exists() and not sold.bundle.exists()


@pytest.mark.parametrize("name", [5, STEERS, "a\nb", ""])
def test_a_draft_with_a_test_case_of_no_name_is_refused(sold, name):
    sold.freeze()
    draft = {**draft_of(), "testcases": {name: {"cells": 12, "size": 8}}}
    (sold.folder / "draft.yaml").write_text(yaml.safe_dump(draft))
    code = cli.main(["contract", "freeze", str(sold.folder / "draft.yaml"), "--out", str(sold.folder / "new.json")])
    said = "".join(sold.capsys.readouterr())
    assert code == 2 and one_line(said) and "test" in said and not (sold.folder / "new.json").exists()


def test_two_that_are_frozen_at_once_are_not_written_over_each_other(sold, monkeypatch):
    sold.freeze()
    out = sold.folder / "new.json"

    def meanwhile(draft):
        out.write_text("another one's")
        return known

    known = terms.load(sold.contract)
    monkeypatch.setattr(terms, "frozen", meanwhile)
    assert cli.main(["contract", "freeze", str(sold.folder / "draft.yaml"), "--out", str(out)]) == 4
    assert out.read_text() == "another one's" and str(out) in sold.capsys.readouterr().err


def test_a_folder_is_no_bundle(sold):
    sold.freeze()
    code, said = sold.run(Path("/"))
    assert code == 2 and one_line(said) and "is no name of a file" in said


def in_a_circle(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path)


@pytest.mark.parametrize(("make", "wanted"), [(in_a_circle, 2), (os.mkfifo, 2), (Path.mkdir, 2)])
def test_what_is_no_list_of_runs_ends_a_run_before_it_measures_and_resume_knows_what_it_knew(sold, make, wanted):
    known = sold.freeze()
    assert sold.machine.run("--system", "node:gpu")[0] == 0
    (last,) = (sold.machine.folder / "locks").glob("*.last.json")
    before, count = last.read_bytes(), len(sold.machine.commands())
    collecting.kept(sold.machine.folder, known).parent.mkdir()
    make(collecting.kept(sold.machine.folder, known))
    code, said = sold.run()
    assert code == wanted and "nobody foresaw" not in said and str(collecting.kept(Path(), known)) in said
    assert last.read_bytes() == before and len(sold.machine.commands()) == count


def no_room(monkeypatch, pattern):
    """Files whose paths fit the pattern are not written any more."""
    replaced = files.replace

    def full(place, *more, **named):
        if place.match(pattern):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replaced(place, *more, **named)

    monkeypatch.setattr(files, "replace", full)


def of_the_proof(sold, out):
    """Its verdict, judged anew."""
    code = cli.main(["contract", "verify", str(out)])
    return code, "".join(sold.capsys.readouterr())


@pytest.mark.parametrize(("low", "wanted"), [(380.0, 0), (398.0, 1)])
def test_what_was_measured_is_packed_when_the_disk_has_room_again(sold, monkeypatch, low, wanted):
    sold.freeze(low=low)
    with monkeypatch.context() as full:
        no_room(full, "*.tar")
        code, said = sold.run()
    assert code == 4 and f"linkmatrix: {sold.bundle}: No space left on device" in said
    assert f"linkmatrix contract pack {sold.contract}" in said and not sold.bundle.exists()
    measured = len(sold.machine.commands())
    code, said = packed(sold)
    assert code == wanted and sold.verify()[0] == wanted and len(sold.machine.commands()) == measured
    assert str(sold.bundle.with_suffix(".html")) in said


def packed(sold, out=None):
    code = cli.main(["contract", "pack", str(sold.contract), "--out", str(out or sold.bundle)])
    return code, "".join(sold.capsys.readouterr())


def test_a_full_temporary_folder_loses_nothing(sold, monkeypatch):
    sold.freeze()
    with monkeypatch.context() as full:
        no_room(full, "records/*/record.json")  # they are judged in files
        code, said = sold.run()
    assert code == 4 and "No space left on device" in said and not sold.bundle.exists()
    assert packed(sold)[0] == 0 and sold.verify()[0] == 0


def test_an_interrupt_while_it_is_packed_loses_nothing(sold, monkeypatch):
    sold.freeze()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(collecting, "made", interrupted)
        code, said = sold.run()
    assert code == 4 and "linkmatrix contract pack" in said and not sold.bundle.exists()
    assert packed(sold)[0] == 0 and sold.verify()[0] == 0


def test_a_bundle_that_came_while_it_was_measured_is_not_written_over(sold, monkeypatch):
    sold.freeze()
    made = collecting.made

    def meanwhile(*words):
        sold.bundle.write_text("the proof of another run")
        return made(*words)

    monkeypatch.setattr(collecting, "made", meanwhile)
    code, said = sold.run()
    assert code == 4 and f"{sold.bundle}: File exists" in said and "linkmatrix contract pack" in said
    assert sold.bundle.read_text() == "the proof of another run"
    monkeypatch.undo()
    other = sold.folder / "other.tar"
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(sold.machine.folder))
    monkeypatch.chdir(sold.machine.folder.parent / "repository")
    assert packed(sold, other)[0] == 0 and of_the_proof(sold, other)[0] == 0


def test_of_a_page_that_cannot_be_written_the_bundle_is_whole(sold, monkeypatch):
    sold.freeze()
    with monkeypatch.context() as full:
        no_room(full, "*.html")
        code, said = sold.run()
    assert code == 4 and f"{sold.bundle.with_suffix('.html')}: No space left on device" in said
    assert sold.verify("--page", sold.folder / "page.html")[0] == 0


def test_what_was_not_measured_is_not_packed(sold):
    sold.freeze()
    code, said = packed(sold)
    assert code == 2 and one_line(said) and "nothing was measured under" in said


def test_a_run_that_left_no_report_is_no_verdict_when_it_is_packed(sold):
    collecting.begin(sold.machine.folder, sold.freeze())
    code, said = packed(sold)
    assert code == 3 and "has no report: it did not end" in said and sold.verify()[0] == 3


def test_runs_that_are_written_down_at_once_are_all_there(sold):
    known = sold.freeze()
    threads = [threading.Thread(target=collecting.begin, args=(sold.machine.folder, known)) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(collecting.begun_under(sold.machine.folder, known)) == 8


def test_notes_that_are_written_at_once_are_all_there(sold):
    there = [threading.Thread(target=cli_note, args=(number,)) for number in range(8)]
    for one in there:
        one.start()
    for one in there:
        one.join()
    assert sorted(one.text for one in notes.load(folders.prefix())) == [f"note {number}" for number in range(8)]


def cli_note(number):
    notes.add(folders.prefix(), notes.Note("2026-11-20T10:00:00Z", "note", f"note {number}", "", (), "2026", "eva"))


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (in_a_circle, 2),
        (os.mkfifo, 2),
        (Path.mkdir, 2),
        (lambda path: path.write_text('{"schema": NaN}'), 2),
        (lambda path: path.write_text("[" * 1_000_000), 2),
        (lambda path: path.write_text(json.dumps({"schema": notes.SCHEMA, "notes": [{"when": "9" * 5000}]})), 2),
    ],
)
def test_what_holds_no_notes_is_one_sentence_and_stays_as_it_is(sold, make, wanted):
    file = sold.machine.folder / notes.FILE
    make(file)
    before = os.lstat(file)
    code = cli.main(["note", "--place", "n12/3", "cable reseated"])
    said = sold.capsys.readouterr()
    assert code == wanted and one_line(said.err) and str(file) in said.err, said
    assert os.lstat(file).st_ino == before.st_ino and os.lstat(file).st_size == before.st_size


def test_a_note_on_a_full_disk_is_not_half_there(sold, monkeypatch):
    words = ["note", "--place", "n12/3", "--when", "2026-11-20T10:00"]
    assert cli.main([*words, "cable reseated"]) == 0
    file = sold.machine.folder / notes.FILE
    before = file.read_bytes()
    sold.capsys.readouterr()
    with monkeypatch.context() as full:
        no_room(full, notes.FILE)
        assert cli.main([*words, "again"]) == 4
    said = sold.capsys.readouterr().err
    assert one_line(said) and f"{file}: No space left on device" in said and file.read_bytes() == before
    assert cli.main([*words, "again"]) == 0


def test_a_contract_of_many_parts_has_each_of_them_once(sold):
    """Parts by node are looked up, not searched for each node."""
    parts = [{"node": f"n{at % 3}", "slot": str(at)} for at in range(9)]
    known = sold.freeze(parts=parts, testcases={TESTCASE: {"cells": 6}})
    assert known.nodes == ["n0", "n1", "n2"]
    assert {node: [part.slot for part in of] for node, of in known.parts_of.items()} == {
        f"n{at}": [str(at), str(at + 3), str(at + 6)] for at in range(3)
    }
