"""The environment of chaos.py: its own site, its own disk, and the process of each run."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from linkmatrix.references.reading import MAX_VALUE

REPOSITORY = Path(__file__).resolve().parents[2]
TABLE = "chaos"  # the name of the table of references
#: References are worse than the measured values by this factor. An undisturbed run then passes on a busy machine, and
#: each PASS can be verified. Messages between ranks that share a core wait: 16 KiB took 3,500 times as long.
WORSE, TOLERANCE = 100_000, 0.5
#: {mode of `linkmatrix run`, also the tag of its tests: the variables that shorten them}.
SHORT = {
    "quick": (),
    "acceptance": (
        "intranode_p2p.size=1MiB",
        "rank_p2p.size=64KiB",
        "rank_collectives.sizes=16KiB,64KiB",
        "crossnode_matrix.size=64KiB",
        "crossnode_sweep.sizes=4KiB:64KiB:16",
        "node_collectives.sizes=16KiB,64KiB",
    ),
}
#: Drops the capabilities by which root reads files of any mode. The run then reads files as a user does.
OBEY_MODES = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@dataclass
class Run:
    """A running `linkmatrix run`: its process, its output so far, and the stamps of earlier runs."""

    process: "subprocess.Popen[bytes]"
    output: Path
    before: frozenset[str]

    def printed(self) -> str:
        return self.output.read_text(errors="replace")


@dataclass
class Place:
    """A site below `folder`, and a small file system `folder`/disk for its results.

    bound: the maximum seconds from a disturbance to the end of its run.
    """

    folder: Path
    dice: random.Random
    mode: str = "quick"
    bound: float = 180.0
    seconds: float = 0.0  # an undisturbed run
    notes: list[str] = field(default_factory=list)

    @property
    def disk(self) -> Path:
        return self.folder / "disk"

    @property
    def prefix(self) -> Path:
        return self.disk / "results"

    @property
    def site(self) -> Path:
        return self.folder / "site"

    @property
    def clock(self) -> Path:
        """The file with the seconds by which moved_clock.cpp moves the clock, 8 bytes."""
        return self.folder / "clock"

    def prepare(self) -> None:
        """Create the site, which is this repository without references, and the moved clock."""
        shutil.copytree(REPOSITORY / "config", self.site / "config")
        for name in ("checks", "src", "reports"):
            (self.site / name).symlink_to(REPOSITORY / name)
        with (self.site / "config" / "settings.py").open("a") as file:  # a run that is given them is a part of its mode
            more = [f"-S {one}" for one in SHORT[self.mode]]
            file.write('\nfor one in site_configuration["modes"]:\n')
            file.write(f'    one["options"] += {more} if one["name"] == "{self.mode}" else []\n')
        self.move_clock(0)
        source, library = Path(__file__).with_name("moved_clock.cpp"), self.folder / "moved_clock.so"
        subprocess.run(["g++", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
        self.straighten()

    def straighten(self) -> None:
        """Restore the network of the namespace, which is a loopback."""
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], stderr=subprocess.DEVNULL, check=False)

    def finish(self) -> None:
        """End all processes of the place."""
        for one in self.processes():
            kill(one, signal.SIGKILL)

    def prune(self) -> None:
        """Empty the results if the disk is a quarter full."""
        usage = shutil.disk_usage(self.disk)
        if usage.used > usage.total / 4:
            shutil.rmtree(self.prefix)

    def move_clock(self, seconds: int) -> None:
        """Write the clock's file in place, because processes have mapped the file."""
        with self.clock.open("r+b" if self.clock.exists() else "wb") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))

    def variables(self) -> dict[str, str]:
        """The environment variables of all processes of the place."""
        variables = {
            "LINKMATRIX_PREFIX": self.prefix,
            "LINKMATRIX_BUILD": REPOSITORY / ".build",
            "CUDA_VISIBLE_DEVICES": "",
        }
        variables |= {
            "CHAOS_CLOCK": self.clock,
            "LD_PRELOAD": self.folder / "moved_clock.so",
            "RFM_POLL_RATE_MAX": "10",
        }
        variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        variables |= {
            "PYTHONPATH": REPOSITORY / "reports",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        return {**os.environ, **{name: str(value) for name, value in variables.items()}}

    def start(self, name: str = "run", *more: str) -> Run:
        output = self.folder / f"{name}.txt"
        command = [*OBEY_MODES, sys.executable, "-m", "linkmatrix", "run", f"--mode={self.mode}", *more]
        before = frozenset(self.stamps())
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*command, "--", "--nocolor"],
                cwd=self.site,
                env=self.variables(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Run(process, output, before)

    def measure_once(self, seconds: float) -> None:
        """Build the programs and measure without references, with ReFrame alone. Raises SystemExit."""
        command = ["reframe", "-C", "config/settings.py", "-c", "checks", "-R", "-r", f"--tag={self.mode}"]
        command += [word for one in SHORT[self.mode] for word in ("-S", one)]
        output, nothing = self.folder / "once.txt", subprocess.DEVNULL
        with output.open("wb") as file:
            done = subprocess.run(
                command, cwd=self.site, env=self.variables(), stdin=nothing, stdout=file, timeout=seconds, check=False
            )
        if done.returncode:
            raise SystemExit(
                f"chaos: without references ReFrame ended with {done.returncode}\n{output.read_text()[-4000:]}"
            )

    def ended(self, run: Run, seconds: float | None = None) -> int | None:
        """The exit code of the run; None if the run exceeded its time and was killed."""
        try:
            return run.process.wait(seconds or self.bound)
        except subprocess.TimeoutExpired:
            for one in self.processes():
                kill(one, signal.SIGKILL)
            run.process.wait()
            return None

    def processes(self) -> list[int]:
        """All processes whose environment names the results of this place."""
        mark, found = f"LINKMATRIX_PREFIX={self.prefix}".encode(), []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def ask(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of linkmatrix on the stored results."""
        command = [sys.executable, "-m", "linkmatrix", *arguments]
        return subprocess.run(
            command, cwd=self.site, env=self.variables(), capture_output=True, text=True, timeout=self.bound
        )

    def stamps(self) -> set[str]:
        """The folders of runs below stage and output. Each run has its own folder."""
        return {path.name for kind in ("stage", "output") for path in (self.prefix / kind).glob("*")}

    def measured(self, run: Run) -> dict[tuple[str, int], int]:
        """{(test case, rows): the highest number of cells in a record of this run}; unreadable records are skipped."""
        found: dict[tuple[str, int], int] = {}
        for stamp in self.stamps() - run.before:
            for kind in ("stage", "output"):
                for folder, _, files in os.walk(self.prefix / kind / stamp):  # which a run may tidy up meanwhile
                    counted = cells(Path(folder) / "record.json") if "record.json" in files else {}
                    for key, count in counted.items():
                        found[key] = max(found.get(key, 0), count)
        return found

    def reported(self) -> dict[str, dict[tuple[str, int], int]]:
        """{passed test of the newest report: the cells of its record}. Raises OSError, ValueError, KeyError."""
        newest = max((self.prefix / "reports").glob("run-report-*.json"), key=lambda path: path.stat().st_mtime_ns)
        cases = json.loads(newest.read_text())["runs"][-1]["testcases"]
        return {
            case["display_name"]: cells(Path(case["outputdir"]) / "record.json")
            for case in cases
            if case["result"] == "pass" and not case["fixture"]
        }

    def write_references(self) -> None:
        """Write the figures of the newest report as references with wide tolerances, into the table TABLE."""
        newest = max((self.prefix / "reports").glob("run-report-*.json"), key=lambda path: path.stat().st_mtime_ns)
        tables: dict[str, dict[str, dict[str, dict[str, list[Any]]]]] = {}
        for case in json.loads(newest.read_text())["runs"][-1]["testcases"]:
            for name, (value, _, _, _, unit, _) in numbers(case).items():
                is_time = unit in ("us", "ns", "s")
                lower, upper = (None, TOLERANCE) if is_time else (-TOLERANCE, None)
                table = TABLE + case["reference_variant"]
                of_check = tables.setdefault(case["name"].split()[0], {}).setdefault(table, {})
                of_check.setdefault(case["testcase"], {})[name] = [
                    min(value * WORSE, MAX_VALUE) if is_time else value / WORSE,
                    lower,
                    upper,
                    unit,
                ]
        content = {
            check: {"$index": ["reference_name", "testcase"], **of_tables} for check, of_tables in tables.items()
        }
        for file in (self.site / "config" / "references").glob("*.yaml"):
            file.write_text(yaml.safe_dump(content if file.name == "p2p.yaml" else {}, sort_keys=False))
        with (self.site / "config" / "systems" / "generic.py").open("a") as file:
            file.write(f'\nfor one in system["partitions"]:\n    one["extras"]["reference"] = "{TABLE}"\n')


def numbers(case: dict[str, Any]) -> dict[str, list[Any]]:
    return {name.split(":")[-1]: entry for name, entry in (case["perfvalues"] or {}).items()}


def cells(record: Path) -> dict[tuple[str, int], int]:
    """{(test case, rows): number of measured cells} of a record's file, read as plain JSON."""
    try:
        results = json.loads(record.read_text())["results"]
        return {
            (one["testcase"], len(one["rows"])): sum(value is not None for row in one["values"] for value in row)
            for one in results
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def kill(process: int, number: int) -> bool:
    """Kill a process. Returns whether the process existed."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


def wait_until(true: Any, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True
