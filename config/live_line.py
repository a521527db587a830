"""One line on a terminal about what a session does at the moment, which is gone as soon as something is printed.

ReFrame prints when a test begins and when it ends, and so nothing in the minutes in which the programs are compiled. In
a job, a pipe or a file there is no line: standard output and standard error must both be terminals.
"""

import functools
import os
import re
import shutil
import sys
import time
from pathlib import Path

import reframe.core.logging
from reframe.frontend.executors.policies import AsynchronousExecutionPolicy

AFTER, PAUSE = 2, 1  # seconds of silence before it is drawn, and from one drawing to the next
ERASE = "\r\33[K"
END = 4096  # bytes at the end of a build's output, in which the last step stands
# how Ninja and make count, and what they count
STEPS = re.compile(r"^\[(\d+)/(\d+)\] ", re.MULTILINE)
PERCENT = re.compile(r"^\[ *(\d+)%\] ", re.MULTILINE)


def is_drawn():
    """Whether anybody sees it."""
    terminals = sys.stdout.isatty() and sys.stderr.isatty()
    return terminals and os.environ.get("TERM", "") not in ("", "dumb")


def how_far(output):
    """How far a build has come by the end of its output: "34 of 158 steps", "21 %", or "" where it does not count."""
    if steps := STEPS.findall(output):
        return "{} of {} steps".format(*steps[-1])
    percent = PERCENT.findall(output)
    return f"{percent[-1]} %" if percent else ""


def end_of(file):
    """The last END bytes of a file; "" for one that cannot be read."""
    try:
        with open(file, "rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - END))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""


def since(task, phase):
    """When a task of ReFrame began its phase, in seconds since 1970."""
    return task._timestamps.get(f"{phase}_start", time.time())


def text_of(tasks, done, total):
    """The line for all tasks that have not ended, `done` of `total` being through; "" where none does anything."""
    now = time.time()
    building = [task for task in tasks if task.state == "compiling"]
    running = [task for task in tasks if task.state == "running"]
    parts = []
    for task in building[:1]:  # several, of several environments, end within moments of each other
        seen = how_far(end_of(Path(task.check.stagedir) / task.check.build_job.stdout))
        parts.append(f"building{f', {seen}' if seen else ''}, {now - since(task, 'compile'):.0f} s")
    if running:
        jobs = "1 job" if len(running) == 1 else f"{len(running)} jobs"
        parts.append(f"waiting for {jobs}, {now - min(since(task, 'run') for task in running):.0f} s")
    if parts and done:
        parts.insert(0, f"{done} of {total} test cases are done")
    return "; ".join(parts)


class LiveLine:
    """What is drawn, and when it must go."""

    def __init__(self, stream):
        self.stream, self.drawn = stream, False
        self.due = time.monotonic() + AFTER

    def draw(self, text):
        """Draws the text, cut off where the terminal ends: some fold a full line."""
        self.stream.write(ERASE + text[: shutil.get_terminal_size().columns - 1])
        self.stream.flush()
        self.drawn, self.due = bool(text), time.monotonic() + PAUSE

    def give_way(self):
        """Somebody else writes."""
        if self.drawn:
            self.stream.write(ERASE)
        self.drawn, self.due = False, time.monotonic() + AFTER


def beneath(line, make):
    """The maker of a log handler that takes the line away before it writes."""

    def made(*arguments):
        handler = make(*arguments)
        emit = handler.emit

        def emit_alone(record):
            line.give_way()
            emit(record)

        handler.emit = emit_alone
        return handler

    return made


def after_each_look(line, poll):
    """`_poll_tasks` of ReFrame's policy, and after it the line, when it is time."""

    @functools.wraps(poll)
    def poll_and_draw(policy):
        poll(policy)
        if time.monotonic() >= line.due:
            printer = policy.printer
            line.draw(text_of(policy._current_tasks, printer._progress_count, printer._progress_total))

    poll_and_draw.draws = True
    return poll_and_draw


def say_what_goes_on():
    """From now on, in this process; once however often a configuration is read."""
    policy = AsynchronousExecutionPolicy
    if hasattr(policy._poll_tasks, "draws") or not is_drawn():
        return
    line, makers = LiveLine(sys.stdout), reframe.core.logging._create_handlers
    makers["stream"] = beneath(line, makers["stream"])
    policy._poll_tasks = after_each_look(line, policy._poll_tasks)
