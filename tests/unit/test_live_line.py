"""The line about what a session does at the moment: how far a build is, what it says, and that it gives way."""

import io
import time
from types import SimpleNamespace

import pytest


@pytest.fixture
def live_line(config_module):
    return config_module("live_line")


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("[1/158] Building a\n[34/158] Building b\n", "34 of 158 steps"),
        ("[ 21%] Building a\n[ 22%] Linking b\n", "22 %"),
        ("[100%] Built target a\n", "100 %"),
        ("-- Configuring done\n", ""),
        ("a note about [3/4] of it\n", ""),
        ("", ""),
    ],
)
def test_a_build_has_come_as_far_as_its_last_step_says(live_line, output, said):
    assert live_line.how_far(output) == said


def task(state, began, tmp_path):
    check = SimpleNamespace(stagedir=str(tmp_path), build_job=SimpleNamespace(stdout="rfm_build.out"))
    phase = {"compiling": "compile", "running": "run"}.get(state, "setup")
    return SimpleNamespace(state=state, check=check, _timestamps={f"{phase}_start": time.time() - began})


def test_the_line_says_what_is_built_how_far_and_for_how_long(live_line, tmp_path):
    (tmp_path / "rfm_build.out").write_text("x" * 10000 + "\n[34/158] Building b\n")
    assert live_line.text_of([task("compiling", 65, tmp_path)], 0, 38) == "building, 34 of 158 steps, 65 s"


def test_a_build_that_does_not_count_or_has_written_nothing_is_timed_all_the_same(live_line, tmp_path):
    assert live_line.text_of([task("compiling", 65, tmp_path)], 0, 38) == "building, 65 s"


def test_jobs_are_waited_for_since_the_first_of_them_began(live_line, tmp_path):
    tasks = [task("running", 3, tmp_path), task("running", 12, tmp_path), task("ready_run", 0, tmp_path)]
    assert live_line.text_of(tasks, 3, 38) == "3 of 38 test cases are done; waiting for 2 jobs, 12 s"


def test_nothing_is_said_where_nothing_goes_on(live_line, tmp_path):
    assert live_line.text_of([task("ready_run", 3, tmp_path)], 3, 38) == ""


def test_what_is_printed_stands_where_the_line_was(live_line):
    stream = io.StringIO()
    line = live_line.LiveLine(stream)
    handler = live_line.beneath(line, lambda: SimpleNamespace(emit=lambda record: stream.write(f"{record}\n")))()
    handler.emit("first")
    line.draw("building")
    handler.emit("second")
    handler.emit("third")
    assert stream.getvalue() == "first\n\r\33[Kbuilding\r\33[Ksecond\nthird\n"


def test_the_line_is_as_long_as_the_terminal_and_no_longer(live_line, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    live_line.LiveLine(stream).draw("x" * 50)
    assert stream.getvalue() == live_line.ERASE + "x" * 19


@pytest.mark.parametrize(("output", "errors", "kind"), [(1, 1, "dumb"), (1, 1, ""), (0, 1, "xterm"), (1, 0, "xterm")])
def test_in_a_pipe_a_file_or_on_a_terminal_that_cannot_erase_there_is_no_line(
    live_line, monkeypatch, output, errors, kind
):
    for name, is_terminal in (("stdout", output), ("stderr", errors)):
        monkeypatch.setattr(live_line.sys, name, SimpleNamespace(isatty=lambda said=is_terminal: bool(said)))
    monkeypatch.setenv("TERM", kind)
    assert not live_line.is_drawn()
    monkeypatch.setattr(live_line.sys, "stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(live_line.sys, "stderr", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setenv("TERM", "xterm")
    assert live_line.is_drawn()
