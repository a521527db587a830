"""What is written is written whole or not at all, and by one at a time where what is there counts."""

import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from linkmatrix import cli, files, lock
from linkmatrix.references.tables import References

CASES = [f"device_to_device_memcpy_{way}_{engine}" for way in ("read", "write") for engine in ("ce", "sm")]


@pytest.fixture
def runs(tmp_path, make_record, write_record):
    """Folders of six runs of each of four test cases."""
    folders = {}
    for testcase in CASES:
        folders[testcase] = tmp_path / "runs" / testcase
        for run in range(6):
            content = make_record(value=396.0 + run / 10)
            content["started"] = f"2026-11-{1 + run:02}T01:50:22Z"
            content["results"][0] |= {
                "testcase": testcase,
                "engine": testcase[-2:],
                "direction": testcase.split("_")[4],
            }
            content["results"][0]["kernel"] = "noncached" if testcase.endswith("sm") else None
            write_record(content, folders[testcase] / str(run) / "record.json")
    return folders


def test_of_four_that_adopt_at_once_all_are_in_the_file(tmp_path, runs):
    file = tmp_path / "p2p.yaml"
    command = [sys.executable, "-m", "linkmatrix", "adopt", "--table", "hgx", "--file", str(file), "--write"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen([*command, str(folder)], env=environment, stdout=subprocess.PIPE, text=True)
        for folder in runs.values()
    ]
    said = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0] * 4, said
    assert all(f"{file}: written" in out for out in said)
    assert References.load(file).testcases("hgx") == sorted(CASES)
    assert not list(tmp_path.glob(".*"))


def test_a_file_that_another_host_writes_is_left_alone_in_one_sentence(tmp_path, runs, linkmatrix, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    file = tmp_path / "p2p.yaml"
    held = {"pid": 1, "born": "1", "host": "elsewhere", "since": "2026-11-21T01:00:00Z"}
    (tmp_path / ".p2p.yaml.lock").write_text(json.dumps(held))
    command = ["adopt", str(runs[CASES[0]]), "--table", "hgx", "--file", str(file)]
    assert "elsewhere has been running since" in linkmatrix.err(*command, "--write", code=4) and not file.exists()
    assert cli.main(command) == 0  # to look, nobody needs the lock


def test_the_lock_of_a_writer_that_died_is_taken_over(tmp_path, runs):
    held = {"pid": 2**22 + 1, "born": "1", "host": socket.gethostname(), "since": "2026-11-21T01:00:00Z"}
    (tmp_path / ".p2p.yaml.lock").write_text(json.dumps(held))
    file = tmp_path / "p2p.yaml"
    assert cli.main(["adopt", str(runs[CASES[0]]), "--table", "hgx", "--file", str(file), "--write"]) == 0
    assert file.exists() and not (tmp_path / ".p2p.yaml.lock").exists()


@pytest.mark.parametrize("name", [".p2p.yaml.part.yaml", ".p2p.yaml.0123.part", ".p2p.yaml.lock", ".p2p.yaml.swp"])
def test_what_a_crash_left_disturbs_no_command(tmp_path, reference_folder, write_record, name):
    (reference_folder / name).write_text("intranode_p2p: [half a")
    path = str(write_record())
    assert cli.main(["show", path, "--references", str(reference_folder), "--reference", "hgx"]) == 0


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"a\.json"):
        files.write_whole(path, b"new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_copy_does_not_wait_for_the_disk_and_is_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "copy.json"

    def fails(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fails)
    files.write_whole(path, b"copy", lasting=False)
    assert path.read_text() == "copy"
    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match=r"copy\.json"):
        files.write_whole(path, b"new", lasting=False)
    assert path.read_text() == "copy" and list(tmp_path.iterdir()) == [path]


def test_a_page_is_written_whole_or_not_at_all(tmp_path, write_record, monkeypatch, capsys):
    path = write_record()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert cli.main(["report", str(path), "--out", str(tmp_path / "out")]) == 4
    assert (tmp_path / "out" / "report.html").read_text() == "old"
    assert not [one for one in (tmp_path / "out").iterdir() if one.name != "report.html"]


def test_the_mode_of_a_file_and_the_link_to_it_stay(tmp_path):
    path, link = tmp_path / "shared.yaml", tmp_path / "p2p.yaml"
    path.write_text("old")
    path.chmod(0o664)
    link.symlink_to(path)
    files.write_whole(link, b"new")
    assert link.is_symlink() and path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o664


@pytest.mark.parametrize("where", ["last", "folder", "behind a link of one's own"])
def test_a_link_of_another_user_where_all_may_write_is_not_followed(tmp_path, monkeypatch, where):
    """Its name can be foreseen, and what it leads to would be written over."""
    kept, shared, others = tmp_path / "kept", tmp_path / "shared", []
    kept.mkdir(), shared.mkdir()
    (kept / "cells.csv").write_text("old")
    link, own = shared / "results", tmp_path / "own"
    link.symlink_to(kept / "cells.csv" if where == "last" else kept)
    own.symlink_to(link)
    asked = {"last": link, "folder": link / "cells.csv", "behind a link of one's own": own / "cells.csv"}[where]
    monkeypatch.setattr(files, "owner_of", lambda one: 4711 if one in others else os.geteuid())
    others.append(link)
    shared.chmod(0o1777)
    for write in (files.write_whole, lambda path, _: files.changing(path).__enter__()):
        with pytest.raises(OSError, match="a link of another user in a folder that all users can write") as refused:
            write(asked, b"new")
        assert refused.value.errno == errno.EACCES
    assert (kept / "cells.csv").read_text() == "old" and sorted(kept.iterdir()) == [kept / "cells.csv"]
    shared.chmod(0o755)  # nobody else can have put it there without the owner of the folder
    files.write_whole(asked, b"new")
    assert (kept / "cells.csv").read_text() == "new"
    shared.chmod(0o1777)
    others.clear()  # one's own
    files.write_whole(asked, b"newer")
    assert (kept / "cells.csv").read_text() == "newer"


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "out.csv")
    code = "import pathlib, sys; from linkmatrix import files; files.write_whole(pathlib.Path(sys.argv[1]), b'x')"
    command = [sys.executable, "-c", code, str(tmp_path / "out.csv")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "no process reads this pipe" in done.stderr and "out.csv" in done.stderr


def test_a_pipe_that_somebody_reads_gets_all(tmp_path):
    pipe, got, content = tmp_path / "out.csv", tmp_path / "got", b"x" * 1_000_000
    os.mkfifo(pipe)
    with got.open("wb") as file, subprocess.Popen(["cat", str(pipe)], stdout=file):
        opened = os.open(pipe, os.O_WRONLY)  # when it reads
        files.write_whole(pipe, content)
        os.close(opened)
    assert got.read_bytes() == content


def test_a_pipe_that_came_into_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    place = tmp_path / "record.json"
    place.write_text("{}")
    said = files.regular(place)
    place.unlink()
    os.mkfifo(place)
    monkeypatch.setattr(files, "regular", lambda _: said)
    assert files.read_whole(place, 10) == b""


def test_what_is_no_file_is_written_into(tmp_path):
    files.write_whole(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()


def test_one_that_waits_gets_the_lock_when_it_is_free(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from linkmatrix import lock\n"
        "place = Path(sys.argv[1])\n"
        "with lock.held(place / 'a.lock', 60):\n"
        "    (place / 'busy').mkdir(); time.sleep(0.05); (place / 'busy').rmdir()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment) for _ in range(6)]
    assert [child.wait(timeout=90) for child in children] == [0] * 6
    with lock.held(tmp_path / "a.lock"):
        assert [path.name for path in tmp_path.iterdir() if path.name == "a.lock"] == ["a.lock"]
    assert not list(tmp_path.iterdir())
