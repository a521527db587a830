"""A command in a process group of its own, which does not outlive its time or its parent."""

import ctypes
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import say

PR_SET_PDEATHSIG = 1  # linux/prctl.h
GRACE = 60  # seconds between SIGTERM and SIGKILL
#: The signals that `supervised` passed on. A caller that runs several commands stops after the first signal.
FORWARDED: list[int] = []
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


def supervised(
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

    def forward(number: int, _frame: Any) -> None:
        FORWARDED.append(number)
        os.killpg(child.pid, signal.SIGTERM)

    before = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        prepare()
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        say(f"the time limit of {timeout / 3600:g} hours is over: the run is ended")
        os.killpg(child.pid, signal.SIGTERM)
        try:
            return child.wait(GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.wait(GRACE)
    finally:
        reader.join(DRAIN)
        for number, handler in before.items():
            signal.signal(number, handler)
