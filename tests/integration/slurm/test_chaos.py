"""`linkmatrix run` in a real Slurm, which is disturbed once per run at a random moment.

LINKMATRIX_CHAOS_ROUNDS is the number of rounds, LINKMATRIX_CHAOS_SEED the seed of the moments. The kinds take turns.
"""

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chaos_place import cells
from reframe_runs import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slurm, pytest.mark.slow]

ROUNDS = int(os.environ.get("LINKMATRIX_CHAOS_ROUNDS", 26))
SEED = int(os.environ.get("LINKMATRIX_CHAOS_SEED", 1))
#: Seconds of a disturbed run. If the controller ends while a step starts, srun waits until the time limit of the job.
LONGEST = 420
PENDING = "100s"  # a job that cannot start is given up after this time
WRITE, BANDWIDTH = "device_to_device_memcpy_write_ce", "rank_to_rank_bandwidth_mpi"
TESTS = f"intranode_p2p.*{WRITE}$|crossnode_matrix.*{BANDWIDTH}.*extent=two"
SUITES = (f"node_session.suite={WRITE}", f"nodes_session.suite={BANDWIDTH}")
SIZES = ("intranode_p2p.size=1MiB", "crossnode_matrix.size=64KiB")
VARIABLES = (*SUITES, *SIZES, f"max_pending_time={PENDING}", "record_wait=2", "time_limit=3m")
CHOSEN = ("-n", TESTS, *(word for one in VARIABLES for word in ("-S", one)))
EXIT_CODES, PASSED = (0, 1, 2, 3, 4), 0
STOPPED = (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM)  # exit codes of a run that was signalled


class Lab:
    """A site with results below `folder`, on the login node of the cluster."""

    def __init__(self, folder, site, environment, slurm, daemons):
        self.prefix, self.site, self.slurm, self.daemons = folder / "results", site, slurm, daemons
        self.environment = {**environment, "LINKMATRIX_PREFIX": str(self.prefix)}
        self.output = folder / "output.txt"
        self.dice = random.Random(SEED)

    def start(self):
        """Start `linkmatrix run`. Returns its process."""
        reframe = ["--reframe", str(Path(sys.executable).parent / "reframe")]
        command = [sys.executable, "-m", "linkmatrix", "run", "--mode=nightly", "--system=slurm-example:cpu", *reframe]
        with self.output.open("wb") as file:
            return subprocess.Popen(
                ["bash", "-c", f"exec {shlex.join([*command, '--', '--nocolor', *CHOSEN])}"],
                env=self.environment,
                cwd=self.site,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def ask(self, *words):
        """Run a command of linkmatrix on the stored results."""
        command = [sys.executable, "-m", "linkmatrix", *words]
        return subprocess.run(
            command, env=self.environment, cwd=self.site, capture_output=True, text=True, timeout=120, check=False
        )

    def jobs(self):
        """The numbers of all jobs in the queue."""
        return self.slurm("squeue", "-h", "-o", "%i").split()

    def processes(self):
        """The folders in /proc of all processes on the nodes of the cluster."""
        nodes = [subprocess.run(["ip", "netns", "pids", f"lmx{number}"], capture_output=True) for number in (1, 2, 3)]
        return [Path("/proc", number) for node in nodes for number in node.stdout.decode().split()]

    def cells(self):
        """{passed test of the newest report: the cells of its record}."""
        newest = max((self.prefix / "reports").glob("run-report-*.json"), key=lambda path: path.stat().st_mtime_ns)
        cases = json.loads(newest.read_text())["runs"][-1]["testcases"]
        passed = [one for one in cases if one["result"] == "pass" and not one["fixture"]]
        return {one["display_name"]: cells(Path(one["outputdir"]) / "record.json") for one in passed}


def signalled(name, number):
    """Send a signal to a random process of this name, on any node."""

    def happen(lab, process):
        found = [one for one in lab.processes() if one.exists() and (one / "comm").read_text().strip() == name]
        if not found:
            return f"no {name} ran"
        os.kill(int(lab.dice.choice(found).name), number)
        return name

    return happen


def stopped(number):
    """Send a signal to `linkmatrix run`."""

    def happen(lab, process):
        process.send_signal(number)
        return "linkmatrix"

    return happen


def with_a_job(*command):
    """Run a command of Slurm with the number of a job that runs or waits."""

    def happen(lab, process):
        jobs = lab.jobs()
        if not jobs:
            return "no job was in the queue"
        lab.slurm(*command, lab.dice.choice(jobs))
        return shlex.join(command)

    return happen


def drained(lab, process):
    lab.slurm("scontrol", "update", "NodeName=lmx2", "State=DRAIN", "Reason=chaos")
    return "lmx2"


def cut(lab, process):
    seconds = lab.dice.uniform(1, 15)
    subprocess.run(["ip", "link", "set", "lmxv2", "down"], check=True)
    time.sleep(seconds)
    subprocess.run(["ip", "link", "set", "lmxv2", "up"], check=True)
    return f"lmx2 for {seconds:.0f} s"


def ended(name):
    """End a daemon of Slurm for some seconds."""

    def happen(lab, process):
        lab.daemons.end(name, signal.SIGKILL)
        time.sleep(lab.dice.uniform(1, 10))
        lab.daemons.start(name)
        return name

    return happen


def lost_jobs(lab, process):
    lab.daemons.lose_jobs()
    return "the controller knows no job"


KINDS = {
    "cancelled job": with_a_job("scancel"),
    "requeued job": with_a_job("scontrol", "requeue"),
    "held job": with_a_job("scontrol", "hold"),
    "suspended job": with_a_job("scontrol", "suspend"),
    "drained node": drained,
    "cut link": cut,
    "killed rank": signalled("p2p_matrix", signal.SIGKILL),
    "killed srun": signalled("srun", signal.SIGKILL),
    "killed controller": ended("slurmctld"),
    "killed accounting": ended("slurmdbd"),
    "lost jobs": lost_jobs,
    "SIGTERM": stopped(signal.SIGTERM),
    "SIGKILL": stopped(signal.SIGKILL),
}


@pytest.fixture
def lab(tmp_path, site, of_linkmatrix, slurm, daemons):
    return Lab(tmp_path, site, of_linkmatrix, slurm, daemons)


def undo(lab):
    """Restore the cluster: no job, all nodes idle."""
    for job in lab.jobs():
        lab.slurm("scontrol", "resume", job)
        lab.slurm("scancel", "--signal=KILL", job)
        lab.slurm("scancel", job)
    for node in lab.slurm("sinfo", "-h", "-N", "-p", "cpu", "-o", "%N").split():
        lab.slurm("scontrol", "update", f"NodeName={node}", "State=RESUME")
    lab.daemons.until_well()


def broken_rules(lab, process, usual, may_leave_jobs):
    """Yield each rule that the run broke."""
    try:
        code = process.wait(LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        yield f"it did not end in {LONGEST} s"
        return
    text = lab.output.read_text(errors="replace")
    if code not in EXIT_CODES + (STOPPED if may_leave_jobs else ()):
        yield f"it ended with {code}"
    if "Traceback" in text:
        yield f"a traceback: {text[text.index('Traceback') :][:3000]}"
    if code == PASSED and lab.cells() != usual:
        yield f"exit code 0 with {lab.cells()}, expected {usual}"
    if not may_leave_jobs:
        try:
            wait_until(lambda: not lab.jobs(), "jobs are left", 60)
        except AssertionError as error:
            yield str(error)


def test_no_disturbance_of_the_cluster_makes_a_false_pass_or_a_later_failure(lab):
    process = lab.start()
    assert process.wait(900) == PASSED, lab.output.read_text()
    began, usual = time.monotonic(), lab.cells()
    assert lab.start().wait(LONGEST) == PASSED and len(usual) == 2
    seconds, wrong = time.monotonic() - began, []
    for number in range(ROUNDS):
        kind = sorted(KINDS)[number % len(KINDS)]
        process = lab.start()
        time.sleep(lab.dice.uniform(0, seconds))
        what = KINDS[kind](lab, process)
        found = list(broken_rules(lab, process, usual, kind.startswith("SIG")))
        printed = lab.output.read_text(errors="replace")
        undo(lab)
        if list((lab.prefix / "reports").glob("run-report-*.json")):
            for command in ("show", "history"):
                done = lab.ask(command)
                if done.returncode not in EXIT_CODES or "Traceback" in done.stdout + done.stderr:
                    found.append(f"{command} ended with {done.returncode}: {done.stderr[-400:]}")
        again = lab.start()
        if (code := again.wait(LONGEST)) != PASSED or lab.cells() != usual:
            found.append(f"the next run ended with {code}: {lab.output.read_text()[-1500:]}")
        last = re.sub(r"\s+", " ", printed[-300:])
        print(f"{number}: {kind} ({what}): {'; '.join(found) or 'well'} | {last}", file=sys.stderr, flush=True)
        wrong += [f"round {number}, {kind} ({what}): {one}" for one in found]
    assert wrong == []
