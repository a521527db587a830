"""A disk that fills up while ReFrame runs: what its log file meets there is said once, and ends the session."""

import logging
import os
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).resolve().parents[2] / "config"
#: a session whose log file is on a disk that is full, as /dev/full plays it: ten lines, and then its end
SESSION = """
import atexit, importlib.util, logging, signal, sys
spec = importlib.util.spec_from_file_location("full_disk", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
ended = []
signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
module.end_the_session("/scratch/results")
handler = logging.FileHandler(sys.argv[2])
logger = logging.getLogger("session")
logger.addHandler(handler)
for number in range(10):
    logger.error("line %d", number)
handler.close()
print("ended by", ended)
"""


#: the same with a log that is rotated, as ReFrame's is, and a signal that raises; after its end another line is logged
ENDED = """
import importlib.util, logging.handlers, signal, sys
spec = importlib.util.spec_from_file_location("full_disk", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
def end(*_):
    raise RuntimeError("received signal 15")
signal.signal(signal.SIGTERM, end)
module.end_the_session("/scratch/results")
logger = logging.getLogger("session")
logger.addHandler(logging.handlers.RotatingFileHandler(sys.argv[2]))
try:
    logger.error("a line")
    print("it went on")
finally:
    logger.error("its end")
"""


def session(log, code=SESSION, check=True):
    command = [sys.executable, "-c", code, CONFIG / "full_disk.py", log]
    return subprocess.run(command, text=True, capture_output=True, timeout=60, check=check)


def test_it_is_one_sentence_and_one_signal():
    done = session("/dev/full")
    assert done.stderr == "the disk of /scratch/results is full, so this session is ended: make room\n"
    assert done.stdout == "ended by [15]\n"


def test_a_log_that_is_rotated_keeps_no_session_going_and_prints_no_traceback():
    done = session("/dev/full", ENDED, check=False)
    assert done.stderr == "the disk of /scratch/results is full, so this session is ended: make room\n"
    assert done.stdout == "" and done.returncode == 1


def test_where_there_is_room_nothing_is_said(tmp_path):
    done = session(tmp_path / "log")
    assert done.stderr == "" and done.stdout == "ended by []\n"
    assert (tmp_path / "log").read_text().count("\n") == 10


def test_other_faults_of_a_log_are_those_of_python(config_module, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(logging.Handler, "handleError", logging.Handler.handleError)
    monkeypatch.setattr(logging.FileHandler, "close", logging.FileHandler.close)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(os, "kill", lambda *_: None)
    config_module("full_disk").end_the_session(tmp_path)
    handler = logging.FileHandler(tmp_path / "log")
    handler.handle(logging.makeLogRecord({"msg": "%d", "args": ("no number",)}))
    handler.close()
    assert "TypeError" in capsys.readouterr().err
