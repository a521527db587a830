"""How far long work has come is shown on a terminal, and nowhere else."""

import io
import sys

import pytest

from linkmatrix import cli
from linkmatrix.show import screen


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def taken(count, stream):
    with screen.watched(range(count), "runs", stream) as items:
        return list(items)


def test_a_terminal_sees_how_far_it_is_and_every_item_comes_in_order():
    stream = Terminal()
    assert taken(5, stream) == [0, 1, 2, 3, 4]
    assert "reading runs" in stream.getvalue() and "100%" in stream.getvalue()


@pytest.mark.parametrize(("stream", "count"), [(io.StringIO(), 5), (Terminal(), 2)])
def test_a_pipe_and_short_work_get_nothing(stream, count):
    assert len(taken(count, stream)) == count and stream.getvalue() == ""


def test_without_rich_nothing_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    stream = Terminal()
    assert taken(5, stream) == list(range(5)) and stream.getvalue() == ""


def test_what_is_said_of_an_error_stands_below_a_line_that_is_gone():
    stream = Terminal()
    try:
        with screen.watched(range(5), "runs", stream) as items:
            [1 / (item - 2) for item in items]
    except ZeroDivisionError:
        shown = stream.getvalue()
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is hidden"
    assert shown.endswith("\x1b[2K"), "the line is there"


def test_adopt_shows_it_on_standard_error_alone(store, tmp_path, monkeypatch, capsys):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    records = sorted(map(str, store(6).glob("*/record.json")))
    assert cli.main(["adopt", *records, "--table", "hgx", "--file", str(tmp_path / "p2p.yaml")]) == 0
    assert "reading runs" in stream.getvalue() and "reading" not in capsys.readouterr().out
