"""One at a time has the lock, and that of a dead holder is taken over."""

import errno
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from linkmatrix import lock
from linkmatrix.lock import Held


def test_the_second_run_says_who_holds_the_lock(machine):
    machine.prepare("pass")
    (machine.folder / "locks").mkdir()
    holder = {**lock.holder(), "since": "2026-11-21T01:00:00Z"}
    (machine.folder / "locks" / "node-gpu.lock").write_text(json.dumps(holder))
    code, out = machine.run("--system", "node:gpu")
    assert code == 4 and f"process {os.getpid()}" in out and "since 2026-11-21T01:00:00Z" in out
    assert not (machine.folder / "command.txt").exists()
    assert machine.run("--system", "node:other")[0] == 0


def test_the_locks_of_another_user_end_a_run_with_the_remedy(machine, monkeypatch):
    machine.prepare("pass")
    (machine.folder / "locks").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locks")
    code, out = machine.run("--system", "node:gpu")
    assert code == 4 and "/locks cannot be written: name another folder in $LINKMATRIX_PREFIX" in out


def test_the_lock_of_a_dead_holder_is_taken_over_with_a_note(machine):
    machine.prepare("pass")
    (machine.folder / "locks").mkdir()
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(timeout=30)
    dead = {"pid": child.pid, "born": "1", "host": socket.gethostname(), "since": "2026-11-21T01:00:00Z"}
    (machine.folder / "locks" / "any.lock").write_text(json.dumps(dead))
    code, out = machine.run()
    assert code == 0 and "removed the lock of process" in out
    assert list((machine.folder / "locks").iterdir()) == [machine.folder / "locks" / "any-acceptance.last.json"]


def test_a_process_that_only_has_the_number_of_the_dead_does_not_hold_the_lock(tmp_path):
    path = tmp_path / "a.lock"
    path.write_text(json.dumps({**lock.holder(), "born": "1"}))
    with lock.held(path) as note:
        assert "removed the lock" in note


def test_a_holder_that_ended_has_lost_the_lock_though_nobody_asked_after_it(tmp_path):
    """The first process of a container may ask after none: a killed run held the lock for as long as that one lived."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    path, born = tmp_path / "a.lock", lock.born(child.pid)
    path.write_text(json.dumps({**lock.holder(), "pid": child.pid, "born": born}))
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is listed still
    with lock.held(path) as note:
        assert born and "removed the lock" in note
    child.wait(timeout=30)


def test_a_holder_on_another_host_is_believed(tmp_path):
    path = tmp_path / "a.lock"
    path.write_text(json.dumps({"pid": 1, "born": "1", "host": "elsewhere", "since": "2026-11-21T01:00:00Z"}))
    with pytest.raises(Held, match="on elsewhere has been running since"), lock.held(path):
        pass
    assert path.exists()


NUMBER = '{"pid": Infinity, "host": "a", "since": "b"}'


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', NUMBER, "[" * 100_000, "x" * 100_000])
def test_what_is_no_lock_is_left_alone(tmp_path, text):
    path = tmp_path / "a.lock"
    path.write_text(text)
    with pytest.raises(Held, match="check its content"), lock.held(path):
        pass
    assert path.read_text() == text


def test_of_many_that_want_the_lock_one_at_a_time_has_it(tmp_path):
    path = tmp_path / "a.lock"
    code = (
        "import sys, time; from pathlib import Path; from linkmatrix import lock\n"
        "place = Path(sys.argv[1])\n"
        "for _ in range(400):\n"
        "    try:\n"
        "        with lock.held(place / 'a.lock'):\n"
        "            (place / 'busy').mkdir(); time.sleep(0.002); (place / 'busy').rmdir()\n"
        "            break\n"
        "    except lock.Held:\n"
        "        time.sleep(0.005)\n"
        "else:\n"
        "    sys.exit(3)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    path.write_text(json.dumps({"pid": 2**22 + 1, "born": "1", "host": socket.gethostname(), "since": "then"}))
    children = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment) for _ in range(6)]
    assert [child.wait(timeout=60) for child in children] == [0] * 6
    assert not path.exists()


def test_a_process_that_has_the_lock_does_not_get_it_twice(tmp_path):
    held, waiting = threading.Event(), threading.Event()

    def hold():
        with lock.held(tmp_path / "a.lock"):
            held.set()
            waiting.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    with pytest.raises(Held), lock.held(tmp_path / "a.lock"):
        pass
    waiting.set()
    thread.join(10)
    assert not (tmp_path / "a.lock").exists()


def test_a_full_disk_names_the_lock_and_leaves_nothing(tmp_path, monkeypatch):
    """Each try left one more file among the references."""
    write = Path.write_text

    def full(path, text, **options):
        write(path, "", **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left") as caught, lock.held(tmp_path / "p2p.lock"):
        pass
    assert caught.value.filename == str(tmp_path / "p2p.lock") and list(tmp_path.iterdir()) == []


def test_a_lock_that_was_removed_by_hand_and_taken_by_another_stays_the_others(tmp_path):
    place = tmp_path / "p2p.lock"
    with lock.held(place):
        place.unlink()
        place.write_text("another's")
    assert place.read_text() == "another's" and list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "circle"])
def test_what_is_no_file_in_the_place_of_a_lock_is_left_alone_and_not_waited_for(tmp_path, kind):
    path, other = tmp_path / "a.lock", tmp_path / "other"
    other.write_text("mine")
    {
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to(other),
        "circle": lambda: path.symlink_to(path),
    }[kind]()
    with pytest.raises(Held, match="check its content"), lock.held(path):
        pass
    assert other.read_text() == "mine" and os.path.lexists(path)
    assert {one.name for one in tmp_path.iterdir()} == {"a.lock", "other"}


def test_a_file_system_that_takes_no_writes_is_said_with_the_name_of_the_lock(tmp_path, monkeypatch):
    def refused(path, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "write_text", refused)
    monkeypatch.setattr(Path, "unlink", refused)  # also of what is not there
    with pytest.raises(OSError, match="Read-only") as error, lock.held(tmp_path / "node.lock"):
        pass
    assert error.value.filename == str(tmp_path / "node.lock")
