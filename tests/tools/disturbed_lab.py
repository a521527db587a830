"""Runs p2p_matrix while another process uses the machine, and judges the results. disturbed_runs.py uses it.

Every command has a time limit. A command that fails or hangs is a line in the log, and the next command starts.
"""

import contextlib
import itertools
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TABLE = "disturbed-lab"  # of references
NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
NOT_FOUND, TIMED_OUT = 127, 124
READY = 60.0  # seconds until another process uses the resource of its mode
LOADED = "180"  # seconds after which another process ends by itself
QUICK = (  # the test cases of devices in the suite `quick`
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "device_to_device_memcpy_read_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "host_device_latency_sm",
    "device_to_device_latency_sm",
    "device_local_copy",
)
RANK_TESTCASE = "rank_to_rank_bandwidth_mpi"


@dataclass(frozen=True)
class Load:
    """The arguments of another process, `other_process`.

    gpus: the minimum number of GPUs. late: whether it waits, so that the run starts first. namespace: whether it has
    its own pid namespace.
    """

    name: str
    arguments: tuple[str, ...]
    gpus: int = 2
    late: bool = False
    namespace: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments, with a default time limit."""
        return self.arguments if "--seconds" in self.arguments else (*self.arguments, "--seconds", LOADED)


@dataclass(frozen=True)
class Ended:
    """A finished command. code: TIMED_OUT after its time limit, NOT_FOUND if the command did not start."""

    code: int
    output: str
    seconds: float


@dataclass
class Running:
    """A started other process. pid: as this process sees it; 0 if unknown."""

    process: subprocess.Popen | None = None
    pid: int = 0
    ready: bool = False

    def end(self) -> None:
        """End a process, and wait for its end."""
        if self.process is None:
            return
        self.process.kill()  # the first process of a pid namespace ignores the other signals
        self.process.wait(10)
        end = time.monotonic() + 10
        while Path(f"/proc/{self.pid}").exists() and time.monotonic() < end:
            time.sleep(0.02)


@dataclass
class Lab:
    """The folders of commands and records.

    gpus: the number of GPUs of the machine. deadline: in time.monotonic(); nothing starts afterwards.
    """

    program: Path
    other: Path
    folder: Path
    gpus: int
    deadline: float
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def site(self) -> Path:
        """The folder of `linkmatrix init`."""
        return self.folder / "site"

    @property
    def references(self) -> Path:
        """The file of the adopted references."""
        return self.site / "config" / "references"

    @property
    def backend(self) -> str:
        """The back end of p2p_matrix."""
        return "cuda" if self.gpus else "host"

    def left(self) -> float:
        """The seconds until the deadline."""
        return self.deadline - time.monotonic()

    def log(self, text: str) -> None:
        """Append to the log."""
        with (self.folder / "log.txt").open("a") as file:
            file.write(text.rstrip() + "\n")

    def run(self, words: Sequence[object], limit: float = 60, cwd: Path | None = None) -> Ended:
        """Run a command to its end, or end the command and its children at the time limit."""
        texts, started = [str(word) for word in words], time.monotonic()
        limit = max(1.0, min(limit, self.left() + 20))
        try:
            process = subprocess.Popen(
                texts,
                cwd=cwd,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            self.log(f"$ {' '.join(texts)}\n{error}")
            return Ended(NOT_FOUND, str(error), 0.0)
        try:
            output, _ = process.communicate(timeout=limit)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            code = TIMED_OUT
        seconds = time.monotonic() - started
        self.log(f"$ {' '.join(texts)}\n{output}\n[{code} after {seconds:.1f} s]")
        return Ended(code, output, seconds)

    def linkmatrix(self, *words: object, limit: float = 60) -> Ended:
        """Run a command of linkmatrix in the site's folder."""
        return self.run(["python3", "-m", "linkmatrix", *words], limit, self.site if self.site.is_dir() else None)

    def start(self, load: Load | None) -> Running:
        """Start another process, and wait until it uses the resource of its mode."""
        if load is None:
            return Running()
        words = [*(NAMESPACE if load.namespace else ()), str(self.other), *load.words]
        out = self.folder / "other_process.txt"
        try:
            with out.open("w") as file:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        except OSError as error:
            self.log(f"$ {' '.join(words)}\n{error}")
            return Running()
        end = time.monotonic() + (2 if load.late else READY)
        while not load.late and time.monotonic() < end and process.poll() is None and "ready" not in out.read_text():
            time.sleep(0.02)
        ready = load.late or "ready" in out.read_text()
        self.log(f"$ {' '.join(words)}\n{out.read_text()}")
        return Running(process, youngest(process.pid), ready)

    def measure(self, name: str, load: Load | None = None) -> dict[str, object] | None:
        """Run the suite `quick` without ReFrame: one process for the devices, and one per rank.

        Records are in runs/NAME-N. Returns None if too little time is left.
        """
        if self.left() < 15:
            return None
        places = (self.folder / "runs" / f"{name}-{number:02}" for number in itertools.count(1))
        folder = next(place for place in places if not place.exists())
        other = self.start(load)
        try:
            ended = self.programs(folder)
        finally:
            alive = other.process is not None and other.process.poll() is None
            other.end()
        return {
            "name": folder.name,
            "other": load.words if load else None,
            "pid": other.pid,
            "other_was_ready": other.ready,
            "other_outlived_the_run": alive,
            "programs": [one.code for one in ended],
            "seconds": round(sum(one.seconds for one in ended), 2),
        }

    def programs(self, folder: Path) -> list[Ended]:
        """Run the two programs of a measurement."""
        reference_opts = (
            ["--references", self.folder / "references.tsv"] if (self.folder / "references.tsv").exists() else []
        )
        common = ["--timeout", "40", "--record"]
        node, of_ranks = folder / "node", folder / "ranks"
        node.mkdir(parents=True)
        asked = ["--asked-by", f"intranode_p2p of {folder.name}"]
        of_ranks.mkdir()
        words = [self.program, "--backend", self.backend, "--testcase", ",".join(QUICK), *asked, *reference_opts]
        ended = [self.run([*words, *common, node / "record.json"], 60)]
        (node / "out").write_text(ended[0].output)
        words = ["mpirun", "-n", "2", "--bind-to", "core", self.program, "--backend", "mpi"]
        words += ["--testcase", RANK_TESTCASE]
        ended.append(self.run([*words, *common, of_ranks / "record.json"], 60))
        (of_ranks / "out").write_text(ended[1].output)
        return ended

    def judge(self, run: dict[str, object]) -> dict[str, object]:
        """Add the results of linkmatrix to a measurement."""
        try:
            run |= judged(self.folder / "runs" / str(run["name"]), self.references, int(str(run["pid"])))
        except Exception as error:  # the next run has its verdict all the same
            run |= {"verdict": "?", "error": f"{type(error).__name__}: {error}"}
            self.log(f"{run['name']}: {run['error']}")
        return run

    def show_all(self, runs: Sequence[dict[str, object]]) -> None:
        """Add the exit code of `linkmatrix show` to each measurement, and whether it names the other process."""

        def show(run: dict[str, object]) -> None:
            words = (self.folder / "runs" / str(run["name"]), "--reference", TABLE, "--references", self.references)
            shown = self.linkmatrix("show", *words)
            run["show"] = {"code": shown.code, "pid_is_named": bool(run["pid"]) and str(run["pid"]) in shown.output}

        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            list(pool.map(show, runs))


def youngest(pid: int) -> int:
    """The last descendant of a process with one child each, as `unshare` starts; else the process itself."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if int(parent) == pid:
                return youngest(int(stat.parent.name))
    return pid


def judged(folder: Path, references: Path, pid: int) -> dict[str, object]:
    """The results of linkmatrix for a folder: verdict, cells, findings, and other processes."""
    from linkmatrix.judge.verdicts import WORDS, Verdict
    from linkmatrix.locate.diagnosis import diagnose
    from linkmatrix.references.tables import References
    from linkmatrix.runs import judging, stored

    known = References.load(references)
    tests = judging.judge_all(stored.find_all([folder]), known, TABLE if TABLE in known.names() else None)
    cells, flagged, sentences, marked = Counter(), [], [], []
    for test in tests:
        sentences += test.reasons
        sentences += [fact.sentence for fact in test.facts]
        for result, matrix in test.matrices:
            cells.update({WORDS[verdict]: count for verdict, count in matrix.counts.items() if count})
            for (row, column), cell in matrix.worst_cells(8)[0]:
                sentence = f"{WORDS[cell.verdict]}: {cell.reason}"
                marked.append(f"{result['testcase']} {row}->{column} {cell.value} {sentence}")
            found = diagnose(test.test.record or {}, result, matrix)
            each = zip(found.components, found.verdicts, strict=False)
            flagged += [f"{result['testcase']}: {who}" for who, verdict in each if verdict is Verdict.FAIL]
    records = [test.test.record or {} for test in tests]
    others = [one["others"] for record in records for one in (record, *record.get("results", [])) if one.get("others")]
    disturbances = [one for other in others for one in other.get("disturbances", ())]
    processes = [one for other in others for one in other.get("processes", ())]
    pids = {one.get("pid") for one in processes} | {one for each in disturbances for one in each["pids"]}
    names = {str(one.get("name")) for one in processes}
    return {
        "verdict": WORDS[judging.overall(tests)],
        "cells": dict(cells),
        "flagged": flagged,
        "marked": marked[:24],
        "reasons": sentences[:16],
        "disturbed": sorted({f"{one['kind']} {one['where']}" for one in disturbances}),
        "named": "pid" if pid in pids else "name" if "other_process" in names else "no",
    }
