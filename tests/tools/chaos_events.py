"""The disturbances of chaos.py: one function each, with the place and the run, that returns a description.

`undo` reverts disturbances that last longer than the call, after the end of the run.
"""

import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from chaos_place import Place, Run, kill

STOPPED = 15  # seconds that a process is stopped, as on a machine that swaps
CUT = (1, 20)  # seconds that the network is cut
#: Rates of a shaped link until the end of the run; other packets are lost. Packets of a loopback have 64 KiB.
SHAPES = ("rate 1mbit", "rate 20mbit", "rate 500mbit")
JUMPS = (-400 * 86_400, -3_600, -5, 5, 3_600, 400 * 86_400)  # seconds
REFUSED = 4  # the exit code of a second, concurrent start

Event = Callable[[Place, Run], str]


def signalled(number: int) -> Event:
    """Send a signal to a random process of the run, on any node."""

    def happen(place: Place, run: Run) -> str:
        there = place.processes()
        if not there:
            return "no process was left"
        victim = place.dice.choice(sorted(there))
        try:
            name = Path(f"/proc/{victim}/comm").read_text().strip()
        except OSError:
            return "the process had just ended"
        was_there = kill(victim, number)
        if number == signal.SIGSTOP and was_there:
            time.sleep(STOPPED)
            kill(victim, signal.SIGCONT)
        return name

    return happen


def full_disk(place: Place, run: Run) -> str:
    with (place.disk / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 20)):
                pass
        except OSError:
            pass
    return "the disk is full"


def vanished_file(place: Place, run: Run) -> str:
    files = sorted(path for path in place.prefix.rglob("*") if path.is_file())
    if not files:
        return "there was nothing to change"
    one = place.dice.choice(files)
    one.unlink(missing_ok=True)
    return str(one.relative_to(place.prefix))


def unreadable_folder(place: Place, run: Run) -> str:
    folders = sorted(path for path in place.prefix.rglob("*") if path.is_dir())
    if not folders:
        return "there was nothing to change"
    one = place.dice.choice(folders)
    one.chmod(0)
    return str(one.relative_to(place.prefix))


def second_start(place: Place, run: Run) -> str:
    second = place.start("second")
    code = place.ended(second)
    if code != REFUSED and run.process.poll() is None:
        place.notes.append(f"a second start beside the first ended with {code}")
    return f"it ended with {code}"


def moved_clock(place: Place, run: Run) -> str:
    jump = place.dice.choice(JUMPS)
    place.move_clock(jump)
    return f"by {jump} s"


def cut_link(place: Place, run: Run) -> str:
    """Cut the network of this machine, which connects the ranks and the runtime that starts them."""
    seconds = place.dice.uniform(*CUT)
    ip("link", "set", "lo", "down")
    time.sleep(seconds)
    ip("link", "set", "lo", "up")
    return f"for {seconds:.0f} s"


def shaped_link(place: Place, run: Run) -> str:
    """Slow the network with a token bucket, which all kernels have."""
    shape = place.dice.choice(SHAPES)
    words = ["root", "tbf", *shape.split(), "burst", "128k", "latency", "20ms"]
    subprocess.run(["tc", "qdisc", "replace", "dev", "lo", *words], check=True)
    return shape


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, timeout=20)


def undo(place: Place) -> None:
    """Revert all disturbances: full disk, unreadable folders, moved clock, and changed network."""
    (place.disk / "filler").unlink(missing_ok=True)
    for folder, names, _ in os.walk(place.disk):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink() and not stat.S_IMODE(path.stat().st_mode):
                path.chmod(0o755)
    place.move_clock(0)
    place.straighten()


EVENTS: dict[str, Event] = {
    "SIGKILL": signalled(signal.SIGKILL),
    "SIGTERM": signalled(signal.SIGTERM),
    "SIGSTOP": signalled(signal.SIGSTOP),
    "SIGXCPU": signalled(signal.SIGXCPU),
    "full disk": full_disk,
    "vanished file": vanished_file,
    "unreadable folder": unreadable_folder,
    "second start": second_start,
    "moved clock": moved_clock,
    "cut link": cut_link,
    "shaped link": shaped_link,
}
