"""Runs ReFrame in its own process group, and prints its progress. ReFrame's log file has the complete output."""

import contextlib
import ctypes
import math
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
CANCELLING = 300  # seconds in which ReFrame must cancel its jobs and end after a signal
GRACE = 60  # seconds between SIGTERM and SIGKILL
#: The signals that `run_supervised` passed on. A caller that runs several commands stops after the first signal.
FORWARDED: list[int] = []
POLL = 1.0  # seconds between two comparisons of the clocks
#: Seconds by which the clock may go back. ReFrame 4.10.4 sleeps for the same time (docs/reframe-issues.md). Time
#: services change a clock by less.
CLOCK_STEP = 60
DRAIN = 5  # seconds to read the rest of the output: a remaining child process may keep the output open


def end_with_parent() -> None:
    """Makes the kernel send SIGTERM to ReFrame when `linkmatrix run` is killed. Called in the child process.

    After SIGTERM, ReFrame cancels its jobs. Without SIGTERM, ReFrame would continue without the lock, and the next run
    would run concurrently.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def read_lines(child: subprocess.Popen[str], output: Callable[[str], object] | None) -> None:
    """Passes each line of a command's output to `output`. Returns when the command closes its output."""
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
    """Runs a command in its own process group, and returns its exit code.

    * timeout: in seconds. After this time, the process group is ended.
    * prepare: a function that is called once, after the start of the command
    * output: a function that is called for each line of output; None to print the output

    SIGTERM and SIGINT are forwarded to the group as SIGTERM. SIGINT is not forwarded unchanged, because ReFrame with
    --warn-as-error would print a traceback.
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
    """Starts a command in its own process group. Returns (process, thread that reads its output)."""
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
    """Waits for a command, and returns its exit code.

    Ends the command after the timeout, if the clock is set back, or if the command ignores a forwarded signal.
    """
    try:
        began, wall_began = time.monotonic(), time.time()
        signalled = math.inf  # the time of the first forwarded signal
        prepare()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(min(POLL, timeout))
            elapsed = time.monotonic() - began
            if FORWARDED:
                signalled = min(signalled, elapsed)
            if elapsed - signalled > CANCELLING:
                reason = f"ReFrame did not end {CANCELLING} s after the signal, and was killed"
                return stop(child, f"{reason}: cancel its remaining jobs with scancel or qdel")
            back = elapsed - (time.time() - wall_began)
            if elapsed > timeout:
                return stop(child, f"the time limit of {timeout / 3600:g} hours has passed: the run was ended")
            if back > CLOCK_STEP:
                return stop(child, f"the clock went back by {back:.0f} s: the run was ended. Set the clock, and repeat")
    finally:
        reader.join(DRAIN)


def stop(child: subprocess.Popen[str], reason: str) -> int:
    """Prints the reason, ends the process group of a command, and returns the exit code of the command.

    The group gets SIGTERM first, and SIGKILL after GRACE seconds.
    """
    say(reason)
    end(child)
    try:
        return child.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.wait(GRACE)


SHOWN = re.compile(r"(ERROR|WARNING|linkmatrix|waiting): ")
#: A harmless warning of ReFrame: a fixture lacks a variable of -S.
HARMLESS = re.compile(r"WARNING: test '[^']*': the following variables were not set|WARNING: Ignoring check search")
TRACEBACK = "Traceback (most recent call last):"
STARTED = re.compile(r"\[ RUN +\] (\S+)")
ENDED = re.compile(r"\[ +(?:OK|FAIL|SKIP|ABORT) +\] \( *(\d+)/(\d+)\)")
BUILD = "build_linkmatrix"
BUILD_OUTPUT = f"stage/*/*/*/*/{BUILD}*/rfm_build.out"
COMPILED = re.compile(r"^\[(\d+)/(\d+)\]", re.MULTILINE)  # ninja's step counter
PREPARING = "preparing the programs"
MOST_SHOWN = 5
MOST_KEPT = 20  # lines to print for a run without a report
TERMINAL_SECONDS, FILE_SECONDS = 1.0, 60.0  # between two lines of progress
CLEAR = "\r\x1b[K"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ReframeOutput:
    """Reads ReFrame's output line by line. As a context manager, the object also prints progress to the stream `to`."""

    def __init__(self, to: TextIO | None = None) -> None:
        self.to = to or sys.stderr
        self.last: list[str] = []  # the last lines, for a run without a report
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
        if self.to.isatty():  # in a file, the line would precede the message about bad input
            self.show_progress()
        self.ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.ticker.join()
        if self.phase and self.to.isatty():
            self.write(CLEAR)

    def read_line(self, line: str) -> None:
        """Reads one line: prints errors and warnings, and updates the progress."""
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
        """Prints a line of ReFrame. Error messages of linkmatrix go to standard error."""
        if self.to.isatty():
            self.write(CLEAR)
        say(line, to=sys.stderr if line.startswith("linkmatrix: ") else None, flush=True)

    def enter(self, phase: str) -> None:
        """Starts a phase of the progress. Does nothing if the phase has already started."""
        if phase == self.phase:
            return
        self.phase, self.began = phase, time.monotonic()
        self.show_progress()

    def show_progress(self) -> None:
        """Prints the phase, the number of ended tests, and the duration of the phase."""
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
        """Writes text to the progress stream. The text is converted to ASCII if the stream is not UTF-8."""
        ascii_only = not (self.to.encoding or "").lower().startswith("utf")
        self.to.write(to_ascii(text) if ascii_only else text)
        self.to.flush()

    def tick(self) -> None:
        """Prints the progress until the run ends: each second on a terminal, each minute in a file."""
        while not self.over.wait(TERMINAL_SECONDS if self.to.isatty() else FILE_SECONDS):
            with self.lock:
                if self.phase:
                    self.show_progress()

    def print_last_lines(self) -> None:
        """Prints the last lines of a run without a report. These lines contain the reason.

        Printed lines are not repeated.
        """
        printed = set(self.shown[:MOST_SHOWN])
        say(*(line for line in self.last if line not in printed), flush=True)


def without_colours(text: str) -> str:
    """The text of ReFrame's output without escape sequences."""
    return COLOUR.sub("", text)


def build_progress(prefix: Path, since: float) -> str:
    """The progress of the newest build, such as ", 7 of 19".

    Returns "" if no build since the time `since` prints a number of steps.
    """
    try:
        outputs = [(file.stat().st_mtime, file) for file in prefix.glob(BUILD_OUTPUT)]
        changed, newest = max(outputs)
        steps = COMPILED.findall(newest.read_text(errors="replace")) if changed >= since else []
    except (OSError, ValueError):
        return ""
    return ", {} of {}".format(*steps[-1]) if steps else ""


def log() -> Path:
    """The path of ReFrame's log file. config/settings.py sets the path."""
    return folders.prefix() / "reframe.log"


def run(
    command: list[str],
    folder: Path,
    timeout: float,
    environment: Mapping[str, str],
    verbose: bool,
    prepare: Callable[[], object] = lambda: None,
) -> tuple[int, ReframeOutput]:
    """Runs ReFrame with `run_supervised`. Returns (exit code, output). verbose: whether to print all of its output."""
    output = ReframeOutput()
    if verbose:
        return run_supervised(command, folder, timeout, environment, prepare), output
    with output:
        return run_supervised(command, folder, timeout, environment, prepare, output.read_line), output
