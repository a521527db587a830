"""ReFrame, and its output during a run: errors and warnings are printed, and progress is one line on standard error.

All output is in ReFrame's log file.
"""

import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from ..errors import in_ascii, say
from . import folders
from .supervise import supervised

SHOWN = re.compile(r"(ERROR|WARNING|linkmatrix|waiting): ")
#: ReFrame warns about each fixture that lacks a variable of -S, which is harmless.
HARMLESS = re.compile(r"WARNING: test '[^']*': the following variables were not set|WARNING: Ignoring check search")
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

    def take(self, line: str) -> None:
        """Reads one line."""
        line = without_colours(line.rstrip("\n"))
        with self.lock:
            self.last = [*self.last, line][-MOST_KEPT:] if line.strip() else self.last
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
            count = compiled(folders.prefix(), self.began_at)
        text = f"{self.phase}{count}, {seconds:.0f} s"
        if self.to.isatty():
            self.write(f"{CLEAR}{text}")
        else:
            self.write(f"{text}\n" if seconds >= 1 else f"{self.phase} …\n")

    def write(self, text: str) -> None:
        """Writes progress. A stream without UTF-8 gets ASCII."""
        ascii_only = not (self.to.encoding or "").lower().startswith("utf")
        self.to.write(in_ascii(text) if ascii_only else text)
        self.to.flush()

    def tick(self) -> None:
        """Prints progress until the end, so that nobody sees a silent minute."""
        while not self.over.wait(TERMINAL_SECONDS if self.to.isatty() else FILE_SECONDS):
            with self.lock:
                if self.phase:
                    self.show_progress()

    def unreported(self) -> None:
        """Prints the end of the output of a run without a report: it contains the reason."""
        said = set(self.shown[:MOST_SHOWN])
        say(*(line for line in self.last if line not in said), flush=True)


def without_colours(text: str) -> str:
    """ReFrame's output without escape sequences."""
    return COLOUR.sub("", text)


def compiled(prefix: Path, since: float) -> str:
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
    """Runs ReFrame as `supervised` does: its exit code, and its output. verbose: leave its output on the terminal."""
    output = ReframeOutput()
    if verbose:
        return supervised(command, folder, timeout, environment, prepare), output
    with output:
        return supervised(command, folder, timeout, environment, prepare, output.take), output
