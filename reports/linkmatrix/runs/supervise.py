"""Runs ReFrame: its process group, and its output with progress.

All output is in ReFrame's log file.
"""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from ..errors import say, to_ascii
from . import folders

PR_SET_PDEATHSIG = 1  # linux/prctl.h
GRACE = 60  # seconds between SIGTERM and SIGKILL
#: The signals that `run_supervised` passed on. A caller that runs several commands stops after the first signal.
FORWARDED: list[int] = []
POLL = 1.0  # seconds between two comparisons of the clocks
#: Seconds. ReFrame 4.10.4 sleeps as long as the clock went back (docs/reframe-issues.md). Time services step less.
CLOCK_STEP = 60
DRAIN = 5  # seconds to read what is left: a process that the command left behind may keep its output open


def end_with_parent() -> None:
    """Called in the child: a SIGKILL of `linkmatrix run` ends ReFrame too, which then cancels its jobs.

    Else it would measure on without a lock, beside the next run.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def read_lines(child: subprocess.Popen[str], output: Callable[[str], object] | None) -> None:
    """Gives each line of a command to `output`, until the command closes its output."""
    if output is not None and child.stdout is not None:
        for line in child.stdout:
            output(line)


def run_supervised(
    command: list[str],
    folder: Path,
    timeout: float,
    environment: Mapping[str, str],
    prepare: Callable[[], object] = lambda: None,
    output: Callable[[str], object] | None = None,
) -> int:
    """Runs a command in a process group of its own, which does not outlive `timeout`.

    prepare: called once while the command starts. output: called for each line that the command prints; None leaves
    them on the terminal.

    The group gets SIGTERM for SIGTERM and SIGINT. ReFrame ends its jobs upon both, and SIGINT under --warn-as-error
    also makes it print a traceback.
    """
    children: list[subprocess.Popen[str]] = []
    forwarded_before = len(FORWARDED)

    def forward(number: int, _frame: Any) -> None:
        FORWARDED.append(number)
        for child in children:
            end(child)

    # before the command starts: a signal right after its start must reach it too
    before = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        child, reader = start(command, folder, environment, output)
        children.append(child)
        if len(FORWARDED) > forwarded_before:
            end(child)
        return wait_for(child, reader, timeout, prepare)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end(child: subprocess.Popen[str]) -> None:
    """Sends SIGTERM to the process group of a command."""
    with contextlib.suppress(ProcessLookupError):  # it has ended
        os.killpg(child.pid, signal.SIGTERM)


def start(
    command: list[str], folder: Path, environment: Mapping[str, str], output: Callable[[str], object] | None
) -> tuple[subprocess.Popen[str], threading.Thread]:
    """The command in a process group of its own, and the thread that reads what it prints."""
    child = subprocess.Popen(
        command,
        cwd=folder,
        start_new_session=True,
        preexec_fn=end_with_parent,
        env=environment,
        stdout=None if output is None else subprocess.PIPE,
        stderr=None if output is None else subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    reader = threading.Thread(target=read_lines, args=(child, output), daemon=True)
    reader.start()
    return child, reader


def wait_for(
    child: subprocess.Popen[str], reader: threading.Thread, timeout: float, prepare: Callable[[], object]
) -> int:
    """The exit code of a command. After the timeout, its group gets SIGTERM, and SIGKILL if it does not end."""
    try:
        began, wall_began = time.monotonic(), time.time()
        prepare()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(min(POLL, timeout))
            elapsed = time.monotonic() - began
            back = elapsed - (time.time() - wall_began)
            if elapsed > timeout:
                return stop(child, f"the time limit of {timeout / 3600:g} hours has passed: the run was ended")
            if back > CLOCK_STEP:
                return stop(child, f"the clock went back by {back:.0f} s: the run was ended. Set the clock, and repeat")
    finally:
        reader.join(DRAIN)


def stop(child: subprocess.Popen[str], reason: str) -> int:
    """Prints the reason, ends the process group of a command, and returns the exit code of the command."""
    say(reason)
    end(child)
    try:
        return child.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.wait(GRACE)


SHOWN = re.compile(r"(ERROR|WARNING|linkmatrix|waiting): ")
#: ReFrame warns about each fixture that lacks a variable of -S, which is harmless.
HARMLESS = re.compile(r"WARNING: test '[^']*': the following variables were not set|WARNING: Ignoring check search")
TRACEBACK = "Traceback (most recent call last):"
STARTED = re.compile(r"\[ RUN +\] (\S+)")
ENDED = re.compile(r"\[ +(?:OK|FAIL|SKIP|ABORT) +\] \( *(\d+)/(\d+)\)")
BUILD = "build_linkmatrix"
BUILD_OUTPUT = f"stage/*/*/*/*/{BUILD}*/rfm_build.out"
COMPILED = re.compile(r"^\[(\d+)/(\d+)\]", re.MULTILINE)  # as ninja counts its steps
PREPARING = "preparing the programs"
MOST_SHOWN = 5
MOST_KEPT = 20  # lines, for a run without a report
TERMINAL_SECONDS, FILE_SECONDS = 1.0, 60.0  # between two lines of progress
CLEAR = "\r\x1b[K"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ReframeOutput:
    """Takes ReFrame's output line by line. `with` it, progress is printed."""

    def __init__(self, to: TextIO | None = None) -> None:
        self.to = to or sys.stderr
        self.last: list[str] = []  # lines of any kind, for a run without a report
        self.in_traceback = False
        self.shown: list[str] = []
        self.phase = ""
        self.count = ""
        self.began = time.monotonic()
        self.began_at = time.time()
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.ticker = threading.Thread(target=self.tick, daemon=True)

    def __enter__(self) -> "ReframeOutput":
        self.phase = "starting ReFrame"
        if self.to.isatty():  # elsewhere it would precede the sentence on bad input
            self.show_progress()
        self.ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.ticker.join()
        if self.phase and self.to.isatty():
            self.write(CLEAR)

    def read_line(self, line: str) -> None:
        """Reads one line."""
        line = without_colours(line.rstrip("\n"))
        with self.lock:
            self.in_traceback = line.startswith(TRACEBACK) or (self.in_traceback and line.startswith(" "))
            if line.strip() and not self.in_traceback:  # the last line of a traceback has the reason
                self.last = [*self.last, line][-MOST_KEPT:]
            if SHOWN.match(line) and not HARMLESS.match(line) and line not in self.shown:
                self.shown.append(line)
                if len(self.shown) <= MOST_SHOWN:
                    self.show(line)
            if found := ENDED.search(line):
                self.count = f", {found[1]} of {found[2]} tests ended"
            elif found := STARTED.search(line):
                self.enter(PREPARING if found[1] == BUILD else "measuring")

    def show(self, line: str) -> None:
        """Prints a line of ReFrame; an error of linkmatrix on standard error, as everywhere."""
        if self.to.isatty():
            self.write(CLEAR)
        say(line, to=sys.stderr if line.startswith("linkmatrix: ") else None, flush=True)

    def enter(self, phase: str) -> None:
        """Begins a phase. Tests of other files may start while the programs compile: compiling ends it."""
        if phase == self.phase:
            return
        self.phase, self.began = phase, time.monotonic()
        self.show_progress()

    def show_progress(self) -> None:
        """Prints the phase, its seconds and how many tests ended."""
        seconds = time.monotonic() - self.began
        count = self.count if self.phase == "measuring" else ""
        if self.phase == PREPARING:
            count = build_progress(folders.prefix(), self.began_at)
        text = f"{self.phase}{count}, {seconds:.0f} s"
        if self.to.isatty():
            self.write(f"{CLEAR}{text}")
        else:
            self.write(f"{text}\n" if seconds >= 1 else f"{self.phase} …\n")

    def write(self, text: str) -> None:
        """Writes progress. A stream without UTF-8 gets ASCII."""
        ascii_only = not (self.to.encoding or "").lower().startswith("utf")
        self.to.write(to_ascii(text) if ascii_only else text)
        self.to.flush()

    def tick(self) -> None:
        """Prints progress until the end, so that no minute passes without output."""
        while not self.over.wait(TERMINAL_SECONDS if self.to.isatty() else FILE_SECONDS):
            with self.lock:
                if self.phase:
                    self.show_progress()

    def print_last_lines(self) -> None:
        """Prints the end of the output of a run without a report: it contains the reason."""
        said = set(self.shown[:MOST_SHOWN])
        say(*(line for line in self.last if line not in said), flush=True)


def without_colours(text: str) -> str:
    """ReFrame's output without escape sequences."""
    return COLOUR.sub("", text)


def build_progress(prefix: Path, since: float) -> str:
    """How far ninja is in the newest build, such as ", 7 of 19"; "" if no build since `since` counts its steps."""
    try:
        outputs = [(file.stat().st_mtime, file) for file in prefix.glob(BUILD_OUTPUT)]
        changed, newest = max(outputs)
        steps = COMPILED.findall(newest.read_text(errors="replace")) if changed >= since else []
    except (OSError, ValueError):
        return ""
    return ", {} of {}".format(*steps[-1]) if steps else ""


def log() -> Path:
    """ReFrame's log file, as config/settings.py names it."""
    return folders.prefix() / "reframe.log"


def run(
    command: list[str],
    folder: Path,
    timeout: float,
    environment: Mapping[str, str],
    verbose: bool,
    prepare: Callable[[], object] = lambda: None,
) -> tuple[int, ReframeOutput]:
    """Runs ReFrame with `run_supervised`. Returns (exit code, output). verbose: prints all of its output."""
    output = ReframeOutput()
    if verbose:
        return run_supervised(command, folder, timeout, environment, prepare), output
    with output:
        return run_supervised(command, folder, timeout, environment, prepare, output.read_line), output
