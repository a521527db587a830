"""Runs of `linkmatrix run` on this machine, each of which something happens to at a random moment.

    python tests/tools/chaos.py [--rounds 200] [--seed 1]

What happens is one of HAPPENS: a signal to a random process of the run, a full disk, a file that vanishes, a second
start. Afterwards the run must have ended in time with one of its exit codes and a last word, without a traceback, a
process or a PASS that is not true (there are no references, so none is); `show` must open what is left; and the next
run, to which nothing happens, must measure all. It prints a line for each kind with its counts, and each violation with
the seed that repeats its round; the exit code is 1 if there was one. Everything lies in a file system of its own, in
memory, so this needs root; it takes about half a minute a round.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BOUND = 180  # seconds until a run has ended, whatever happened: more than its own limits for what hangs
STOPPED = 15  # seconds that a stopped process stays so: the kernel's word for a machine that swaps
ROOM = 768  # MiB of the file system; a run keeps some MiB
WITHOUT_VERDICT = 3
CODES = {1, 3, 4, 128 + signal.SIGKILL, -signal.SIGKILL, -signal.SIGXCPU, 128 + signal.SIGXCPU}


@dataclass
class Run:
    """`linkmatrix run` under way: its process and what it printed so far."""

    process: subprocess.Popen[bytes]
    output: Path

    def family(self) -> list[int]:
        """The process and all that it started and did not give away."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                except (OSError, ValueError):
                    continue
                children.setdefault(parent, []).append(int(entry.name))
        found, left = [], [self.process.pid]
        while left:
            one = left.pop()
            found.append(one)
            left += children.get(one, [])
        return found

    def said(self) -> str:
        return self.output.read_text(errors="replace")


@dataclass
class Place:
    """Where runs keep what they measure, and how long an undisturbed one takes."""

    folder: Path
    dice: random.Random
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def prefix(self) -> Path:
        return self.folder / "results"

    def start(self, name: str = "run") -> Run:
        output = self.folder.parent / f"{name}.txt"
        environ = {**os.environ, "LINKMATRIX_PREFIX": str(self.prefix)}
        command = [sys.executable, "-m", "linkmatrix", "run", "--mode=quick"]
        with output.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=REPOSITORY, env=environ, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
        return Run(process, output)


def to_a_process(number: int) -> Callable[[Place, Run], str]:
    def happen(place: Place, run: Run) -> str:
        victim = place.dice.choice(run.family())
        try:
            name = Path(f"/proc/{victim}/comm").read_text().strip()
            os.kill(victim, number)
        except (OSError, ValueError):
            return "nobody was there any more"
        if number == signal.SIGSTOP:
            time.sleep(STOPPED)
            try:
                os.kill(victim, signal.SIGCONT)
            except ProcessLookupError:
                return f"{name}, which ended"
        return name

    return happen


def full_disk(place: Place, run: Run) -> str:
    filler = place.folder / "filler"
    with filler.open("wb") as file, open("/dev/zero", "rb") as zeros:
        try:
            while True:
                file.write(zeros.read(1 << 20))
        except OSError:
            pass
    return "the file system is full"


def vanished_file(place: Place, run: Run) -> str:
    files = sorted(path for path in place.prefix.rglob("*") if path.is_file())
    if not files:
        return "nothing was there"
    one = place.dice.choice(files)
    one.unlink(missing_ok=True)
    return one.name


def second_start(place: Place, run: Run) -> str:
    second = place.start("second")
    if second.process.wait(BOUND) != 4 and run.process.poll() is None:
        place.notes.append(f"a second start beside the first ended with {second.process.returncode}")
    return "a second start"


HAPPENS: dict[str, Callable[[Place, Run], str]] = {
    "SIGKILL": to_a_process(signal.SIGKILL),
    "SIGTERM": to_a_process(signal.SIGTERM),
    "SIGSTOP": to_a_process(signal.SIGSTOP),
    "SIGXCPU": to_a_process(signal.SIGXCPU),
    "full disk": full_disk,
    "vanished file": vanished_file,
    "second start": second_start,
}


def ended(run: Run) -> int | None:
    """Its exit code; None if it did not end in time, and was killed."""
    try:
        return run.process.wait(BOUND)
    except subprocess.TimeoutExpired:
        for one in run.family():
            os.kill(one, signal.SIGKILL)
        run.process.wait()
        return None


def of_this_place(place: Place) -> list[int]:
    """Processes whose results would lie there: of a run that is over there must be none."""
    mark = f"LINKMATRIX_PREFIX={place.prefix}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def shown(place: Place) -> Iterator[str]:
    """What is wrong with what `show` makes of what is there."""
    environ = {**os.environ, "LINKMATRIX_PREFIX": str(place.prefix)}
    command = [sys.executable, "-m", "linkmatrix", "show"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, timeout=BOUND)
    if done.returncode not in (1, 2, 3) or "Traceback" in done.stdout + done.stderr:
        yield f"show ended with {done.returncode}: {(done.stderr or done.stdout)[-300:]}"


def violations(place: Place, run: Run, code: int | None) -> Iterator[str]:
    """What must not be after a run that something happened to."""
    if code is None:
        yield f"it did not end in {BOUND} s"
    elif code not in CODES:
        yield f"it ended with {code}"
    said = run.said()
    if "Traceback" in said:
        yield f"a traceback: {said[said.index('Traceback') :][-400:]}"
    if code in (1, 3, 4) and not said.strip():
        yield "it ended without a word"
    deadline = time.monotonic() + 15  # what was killed ends what it started a moment later
    while (left := of_this_place(place)) and time.monotonic() < deadline:
        time.sleep(0.5)
    if left:
        yield f"{len(left)} processes were left"
        for one in left:
            os.kill(one, signal.SIGKILL)
    yield from place.notes
    place.notes.clear()


def after(place: Place) -> Iterator[str]:
    """What must not be of the store, and of the next run."""
    (place.folder / "filler").unlink(missing_ok=True)
    if (place.prefix / "reports").exists():
        yield from shown(place)
    run = place.start("next")
    code = ended(run)
    if code != WITHOUT_VERDICT:
        yield f"the next run ended with {code}: {run.said()[-400:]}"


@contextmanager
def own_file_system() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    (folder / "disk").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}m", "chaos", folder / "disk"], check=True)
    try:
        yield folder / "disk"
    finally:
        subprocess.run(["umount", "--lazy", folder / "disk"], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    done, wrong = Counter(), Counter()
    with own_file_system() as folder:
        place = Place(folder, random.Random(asked.seed))
        ended(place.start("built"))  # with all that is built
        began = time.monotonic()
        if (code := ended(run := place.start("first"))) != WITHOUT_VERDICT:
            sys.exit(f"chaos: an undisturbed run ended with {code}: {run.said()[-400:]}")
        place.seconds = time.monotonic() - began
        for number in range(asked.rounds):
            place.dice = random.Random(f"{asked.seed} {number}")
            kind = place.dice.choice(sorted(HAPPENS))
            run = place.start()
            time.sleep(place.dice.uniform(0, place.seconds))
            what = HAPPENS[kind](place, run)
            found = [*violations(place, run, ended(run)), *after(place)]
            done[kind] += 1
            wrong[kind] += bool(found)
            for one in found:
                print(f"VIOLATION seed {asked.seed}, round {number}, {kind} ({what}): {one}", flush=True)
            print(f"{number + 1}: {kind} ({what}): {'violated' if found else 'well'}", file=sys.stderr, flush=True)
    for kind in sorted(done):
        print(f"{kind:16s}{done[kind]:6d} rounds{wrong[kind]:6d} with violations")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
