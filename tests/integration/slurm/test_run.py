"""`linkmatrix run` on the login node of a real Slurm: jobs that are held, tests that are repeated, two runs at once."""

import json
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe_runs import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

LITTLE = "intranode_p2p.extra_opts=--samples,3"
SIZE = ("-S", "intranode_p2p.size=1MiB")
PAIRS = ("cpu0->cpu1", "cpu1->cpu0")
ONE = ("-n", "device_to_device_memcpy_write_ce$", "-S", LITTLE, *SIZE)
THREE = ("-n", "intranode_p2p.*device_to_device_(bidirectional_)?memcpy_(write|read)_ce$")


def typed(command, environment, folder):
    """A command as a user types it in a folder; its output has both streams."""
    return subprocess.run(
        ["bash", "-c", command],
        env=environment,
        cwd=folder,
        timeout=150,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture
def run(of_linkmatrix, site, tmp_path):
    """A function that calls `linkmatrix run`: its exit code, its output, the report, the folder of results.

    options: of `linkmatrix run`; more: of ReFrame
    """

    def call(*more, options=(), folder="results"):
        prefix = tmp_path / folder
        reframe = ["--reframe", str(Path(sys.executable).parent / "reframe")]
        command = [sys.executable, "-m", "linkmatrix", "run", "--mode=quick", "--system=slurm-example:cpu", *reframe]
        environment = {**of_linkmatrix, "LINKMATRIX_PREFIX": str(prefix)}
        done = typed(shlex.join([*command, *options, "--", "--nocolor", *more]), environment, site)
        reports = sorted((prefix / "reports").glob("run-report-*.json"))
        content = json.loads(reports[-1].read_text()) if reports else None
        return SimpleNamespace(code=done.returncode, output=done.stdout, report=content, prefix=prefix)

    return call


def test_the_second_run_of_a_suite_asks_for_little_more_time_than_it_takes(run, slurm):
    jobs = [
        next(one["jobid"] for one in run(*ONE).report["runs"][0]["testcases"] if one["name"].startswith("node_session"))
        for _ in range(2)
    ]
    limits = slurm("sacct", "-n", "-X", "-P", "-o", "TimelimitRaw", "-j", ",".join(jobs)).split()
    assert [int(limit) for limit in limits] == [22, 7]  # minutes


def held_back(slurm):
    """Holds the job of a check before it can begin, and lets the nodes go that it waits for."""
    other = slurm("sbatch", "--parsable", "-p", "cpu", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 300")

    def pending():
        jobs = slurm("squeue", "-h", "-t", "PD", "-o", "%i %j")
        return re.search(r"^(\d+) rfm_node_session", jobs, re.MULTILINE)

    def hold():
        job = wait_until(pending, "no job of the session is pending")
        slurm("scontrol", "uhold", job[1])
        slurm("scancel", other)

    return hold


def test_a_job_that_is_held_is_waited_for_no_longer_than_said_and_is_incomplete_with_the_reason(run, slurm, meanwhile):
    meanwhile(held_back(slurm))
    done = run(*ONE, "-S", "max_pending_time=15s")
    assert done.code == 4, done.output  # nothing began
    held = "JobHeldUser (its user holds the job: run `scontrol release`)"
    assert re.search(rf"waiting: job \d+ \(rfm_node_session\S*\): {re.escape(held)}", done.output)
    last = done.output[done.output.index("1 test case: 1 INCOMPLETE") :]
    assert "  not measured: intranode_p2p" in last and held in last
    assert slurm("squeue", "-h") == ""


def drill_of_the_first_job(folder, fault):
    """The option that has the first job, and no other, do a drill: its shell makes a folder there, which is then."""
    return (*SIZE, "-S", f"{LITTLE},$(mkdir {folder}/once 2>/dev/null && echo --simulate-fault {fault})")


def of_each(report):
    """{test: its results, one for each attempt}."""
    found = {}
    for attempt in report["runs"]:
        for case in attempt["testcases"]:
            if not case["fixture"]:
                found.setdefault(case["display_name"], []).append(case["result"])
    return found


@pytest.fixture
def references(site):
    """Any bandwidth is enough."""
    lines = ["intranode_p2p:", "  $index: [reference_name, testcase]", "  here@1MiB:"]
    for kind in ("memcpy_write_ce", "memcpy_read_ce", "bidirectional_memcpy_write_ce"):
        lines += [f"    device_to_device_{kind}:", *(f"      '{name}': [0.001, -0.5, null, GB/s]" for name in PAIRS)]
    (site / "config" / "references" / "p2p.yaml").write_text("\n".join([*lines, ""]))
    return ("-S", "intranode_p2p.reference_name=here")


@pytest.mark.parametrize("fault", ["error:cpu1", "corrupt:cpu1"], ids=["a device was lost", "wrong data"])
def test_what_failed_once_is_repeated_alone_and_is_no_clean_pass(run, references, tmp_path, fault):
    done = run(*THREE, *drill_of_the_first_job(tmp_path, fault), *references, options=("--retries=2",))
    assert done.code == 1, done.output
    attempts = of_each(done.report)
    assert len(attempts) == 3 and set(map(tuple, attempts.values())) == {("fail", "pass")}
    assert "3 test cases: 3 FAIL" in done.output and "FAIL  quick of slurm-example:cpu" in done.output


#: A matrix of three nodes.
NODES = ("-n", "crossnode_matrix.*node_to_node_bandwidth_mpi.*extent=all", "-S", "crossnode_matrix.nodes=3")


@pytest.mark.parametrize(
    ("chosen", "table", "pairs", "words"),
    [
        ((*ONE, *SIZE), "intranode_p2p here@1MiB device_to_device_memcpy_write_ce", PAIRS, ["intranode_p2p.on="]),
        (
            (*NODES, "-S", "crossnode_matrix.size=1MiB", "-S", "crossnode_matrix.extra_opts=--samples,3"),
            "crossnode_matrix here@1MiB@all node_to_node_bandwidth_mpi",
            [f"node{a}->node{b}" for a, b in permutations(range(3), 2)],
            ["-Jnodelist=", "crossnode_matrix.nodes="],
        ),
    ],
    ids=["one node", "three nodes"],
)
def test_the_next_experiment_runs_as_printed_on_the_login_node(run, of_linkmatrix, site, chosen, table, pairs, words):
    """No program of the login node is started: the job is on nodes that were measured, as the partition has it."""
    check, name, testcase = table.split()
    limits = [f"      '{pair}': [{0.001 if at else 100000}, -0.02, null, GB/s]" for at, pair in enumerate(pairs)]
    lines = [f"{check}:", "  $index: [reference_name, testcase]", f"  {name}:", f"    {testcase}:", *limits, ""]
    (site / "config" / "references" / "p2p.yaml").write_text("\n".join(lines))
    known = ("-S", f"{check}.reference_name=here")
    done = run(*chosen, *known)
    assert done.code == 1, done.output
    environment = {**of_linkmatrix, "LINKMATRIX_PREFIX": str(done.prefix)}
    linkmatrix = [sys.executable, "-m", "linkmatrix"]
    shown = subprocess.run([*linkmatrix, "diagnose"], env=environment, cwd=site, text=True, capture_output=True)
    assert "next: " in shown.stdout, shown.stdout + shown.stderr
    command = re.search(r"next: (.*)  # ", shown.stdout)[1]
    assert all(word in command for word in words) and "mpirun" not in command and "srun" not in command
    size = chosen[chosen.index(next(word for word in chosen if ".size=" in word)) - 1 :][:2]
    repeated = typed(f"{command} {shlex.join([*size, *known])}", environment, site)
    assert repeated.returncode == 1 and "1 test case: 1 FAIL" in repeated.stdout, repeated.stdout
    newest = max((done.prefix / "reports").glob("run-report-*.json"), key=lambda path: path.stat().st_mtime)
    before, after = (
        [one for one in report["runs"][0]["testcases"] if not one["fixture"]]
        for report in (done.report, json.loads(newest.read_text()))
    )
    (case,), (again,) = before, after
    assert {*again["job_nodelist"]} <= {*case["job_nodelist"]} and again["jobid"] != case["jobid"]


def test_the_printed_command_measures_a_failed_test_case_again_by_slurm(run, of_linkmatrix, site):
    done = run(*ONE, "-S", f"{LITTLE},--simulate-fault,corrupt:cpu1")
    (again,) = re.findall(r"again: (\S.* -n /\w+)  #", done.output)
    environment = {**of_linkmatrix, "LINKMATRIX_PREFIX": str(done.prefix)}
    repeated = typed(f"{again} -S {LITTLE} {' '.join(SIZE)}", environment, site)
    assert repeated.returncode == 0 and "1 test case: 1 NOT JUDGED" in repeated.stdout, repeated.stdout
    newest = max((done.prefix / "reports").glob("run-report-*.json"), key=lambda path: path.stat().st_mtime)
    (case,) = (one for one in json.loads(newest.read_text())["runs"][0]["testcases"] if not one["fixture"])
    assert case["scheduler"] == "linkmatrix_slurm" and int(case["jobid"]) > 0


def test_reframe_by_itself_loses_no_test_that_it_repeats(login, tmp_path):
    once = drill_of_the_first_job(tmp_path, "error:cpu1")
    options = ("--max-retries=2", f"--report-junit={tmp_path}/junit.xml", "-S", "node_session.suite=quick")
    run = login("-r", *THREE, *once, *options)
    assert run.code == 0, run.output
    assert [check["result"] for check in run.checks()] == ["pass"] * 3
    suites = ElementTree.parse(tmp_path / "junit.xml").findall("testsuite")
    assert [(len(suite.findall("testcase")), suite.get("failures")) for suite in suites] == [(5, "3"), (3, "0")]
