"""A patrol on a real Slurm, half of whose jobs are preempted: what they measured counts, and the rest stays due."""

import re
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe_runs import wait_until

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.runs import folders, index

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

REPOSITORY = Path(__file__).resolve().parents[3]
PARTITION = "slurm-example:cpu"
PREEMPTIBLE = '# "preemptible": ["--qos=scavenger"],'
SHORT = "--samples,3,--target-ci,50,--size,1MiB"
# each test case takes its time, so that a job is preempted between the first and the last
LONG = "--samples,20,--target-ci,50,--size,8MiB,--max-time,300"
# between two nodes there is one matrix alone
LONG_PAIR = "--samples,10000,--target-ci,0.001,--max-time,300,--timeout,600"
GROUPS = "leaf1: lmx1\nleaf2: lmx[2-3]\n"
ROOM = "room"  # the name of jobs for which others are preempted


@pytest.fixture
def patrol(of_linkmatrix, site, tmp_path):
    """Calls `linkmatrix` in a site's folder: its exit code and output; prefix: the folder of results, site: its own.

    As a site sets it, jobs that others may preempt have the QOS scavenger. how_long: options of all that is measured.
    """
    system = site / "config" / "systems" / "slurm_example.py"
    text = system.read_text()
    assert PREEMPTIBLE in text
    system.write_text(text.replace(PREEMPTIBLE, f'{PREEMPTIBLE[2:]} "reference": "here",', 1))
    (site / "groups").write_text(GROUPS)
    reframe, prefix = tmp_path / "reframe", tmp_path / "results"
    program = Path(sys.executable).parent / "reframe"
    opts = "-S node_sweep.extra_opts=$HOW_LONG -S crossnode_matrix.extra_opts=$HOW_LONG_PAIR"
    reframe.write_text(f'#!/bin/sh\nexec {program} --nocolor "$@" {opts}\n')
    reframe.chmod(reframe.stat().st_mode | stat.S_IXUSR)

    def call(command, *words, how_long=(SHORT, SHORT)):
        done = subprocess.run(
            [sys.executable, "-m", "linkmatrix", command, "--reframe", str(reframe), *words],
            env={
                **of_linkmatrix,
                "LINKMATRIX_PREFIX": str(prefix),
                "HOW_LONG": how_long[0],
                "HOW_LONG_PAIR": how_long[1],
            },
            cwd=site,
            timeout=500,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return SimpleNamespace(code=done.returncode, output=done.stdout)

    call.prefix, call.site = prefix, site
    return call


def records(prefix):
    """The records below a folder of results, by the names of their nodes, the newest last."""
    found = {}
    paths = (path for path in prefix.rglob("record.json") if not path.parent.name.startswith("process"))
    for record in sorted(map(reading.load, paths), key=lambda record: record["started"]):
        found.setdefault(tuple(sorted({device["node"] for device in record["devices"]})), []).append(record)
    return found


def any_is_enough(record):
    """References that every cell of a record is within."""
    lines = ["intranode_p2p:", "  $index: [reference_name, testcase]", "  here:"]
    for result in record["results"]:
        lines.append(f"    {result['testcase']}:")
        classes = {name for row in result["link_class"] for name in row if name}
        limits = "1.0e+6, null, 0.5" if result["unit"] == "us" else "0.001, -0.5, null"
        lines += [f"      'cell[{name}]': [{limits}, {result['unit']}]" for name in sorted(classes)]
    return "\n".join([*lines, ""])


def jobs_of(slurm):
    """{number: (name, state, nodes)} of all jobs of checks that the controller knows."""
    rows = (line.split("|") for line in slurm("squeue", "-h", "-t", "all", "-o", "%i|%j|%T|%N").splitlines())
    return {number: tuple(row) for number, *row in rows if row[0].startswith("rfm_") and "build" not in row[0]}


def make_room(slurm, name, node, tables):
    """Preempt the running job of a check on a node, after the job has printed a number of tables."""

    def has_printed():
        for line in slurm("squeue", "-h", "-t", "R", "-w", node, "-o", "%j|%Z").splitlines():
            job, _, folder = line.partition("|")
            outputs = [file.read_text(errors="replace") for file in Path(folder).glob("process*/out")]
            printed = sum(len(re.findall("^verified: ", text, re.MULTILINE)) for text in outputs)
            if job.startswith(f"rfm_{name}") and outputs and printed >= tables:
                return True
        return False

    wait_until(has_printed, f"no job {name} on {node} printed {tables} tables", 180)
    slurm("sbatch", "-J", ROOM, "-p", "cpu", "-w", node, "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1")


def left(slurm):
    """The names of jobs that wait or run, after the jobs of `make_room` have ended."""
    jobs = ("squeue", "-h", "-o", "%j")
    wait_until(lambda: set(slurm(*jobs).split()) != {ROOM}, "the jobs that made room have not ended", 120)
    return slurm(*jobs).split()


def used(slurm, numbers):
    """Node-seconds of jobs, as accounting has them, and how they ended."""
    lines = slurm("sacct", "-n", "-X", "-P", "-o", "State,ElapsedRaw,NNodes", "-j", ",".join(numbers)).splitlines()
    rows = [line.split("|") for line in lines]
    return sum(int(seconds) * int(nodes) for _, seconds, nodes in rows), sorted(state for state, _, _ in rows)


@pytest.mark.slow
def test_a_patrol_half_of_whose_jobs_are_preempted_keeps_what_they_measured(patrol, slurm, meanwhile, capsys):
    assert patrol("run", "--mode=sweep", f"--system={PARTITION}", "--nodes=lmx1").code == 3  # no references yet
    (record,) = records(patrol.prefix)[("lmx1",)]
    (patrol.site / "config" / "references" / "p2p.yaml").write_text(any_is_enough(record))
    first = patrol("run", "--mode=sweep", f"--system={PARTITION}", "--nodes=lmx[1-3]")
    assert first.code == 0, first.output
    pair = patrol("run", "--mode=pair", f"--system={PARTITION}", "--", "-Jnodelist=lmx1,lmx2")
    assert len(records(patrol.prefix)[("lmx1", "lmx2")]) == 1, pair.output
    before = jobs_of(slurm)

    def preempt():
        make_room(slurm, "node_sweep", "lmx2", tables=2)
        make_room(slurm, "crossnode_matrix", "lmx2", tables=0)

    meanwhile(preempt)
    budget = ("--budget=20-node-minutes", f"--groups={patrol.site / 'groups'}")
    done = patrol("next", *budget, "--submit", how_long=(LONG, LONG_PAIR))
    after = {number: job for number, job in jobs_of(slurm).items() if number not in before}

    # four jobs, as planned: two of them preempted, none of them again
    planned = re.search(r"planned: ([\d.]+) of 0.333333 node-hours", done.output)
    assert planned and 0 < float(planned[1]) <= 1 / 3, done.output
    assert sorted(state for _, state, _ in after.values()) == ["COMPLETED"] * 2 + ["PREEMPTED"] * 2, done.output
    assert left(slurm) == []

    # its word, and no verdict on what was not measured: neither a pass nor a fault of the node
    assert done.code == 3, done.output
    assert done.output.count("another job preempted the job (state PREEMPTED)") >= 2
    assert re.search(r"^3 nodes: 1 INCOMPLETE, (1 WARN, 1 PASS|2 WARN|2 PASS)$", done.output, re.MULTILINE), done.output
    assert not re.search(r"^ *FAIL\b|\d FAIL\b| is flagged since ", done.output, re.MULTILINE), done.output

    # what it had measured is stored and counts
    newest = records(patrol.prefix)[("lmx2",)][-1]
    whole = [result["testcase"] for result in newest["results"] if result["complete"]]
    assert newest["result"] != "PASS" and 2 <= len(whole) < len(record["results"])
    with index.open_index(patrol.prefix, patrol.site / "config" / "references") as found:
        ages = {}
        for node, cases, started in found.measured_cases(PARTITION):
            for name, (_, all_of_it) in cases.items():
                if all_of_it:
                    ages[node, name] = max(started, ages.get((node, name), 0))
        standing = {(run.node, run.verdict) for run in found.single_node_outcomes(PARTITION)}
    since = folders.epoch(newest["started"])
    assert {name for (node, name), started in ages.items() if node == "lmx2" and started >= since} == set(whole)
    assert ("lmx2", Verdict.FAIL) not in standing and ("lmx2", Verdict.INCOMPLETE) in standing

    # and what it did not is due: the next one begins with it
    again = patrol("next", *budget)
    assert again.code == 0, again.output
    reasons = re.findall(r"^  (lmx\d): (.*)$", again.output, re.MULTILINE)
    assert reasons == [("lmx2", "the last attempt was incomplete")], again.output
    node_seconds, states = used(slurm, after)
    with capsys.disabled():
        print(f"\na patrol of {planned[1]} node-hours, {states}: {node_seconds / 3600:.3g} node-hours of Slurm's jobs")


def test_a_preempted_job_that_may_be_requeued_does_not_run_again(sweep, slurm, meanwhile):
    before = jobs_of(slurm)
    meanwhile(lambda: make_room(slurm, "node_sweep", "lmx2", tables=1))
    long = ("--samples", "1000", "--target-ci", "0.001", "--max-time", "300", "--timeout", "600")
    run, by_node, judged = sweep("lmx2", "-J--qos=standby", more=long)
    after = {number: job for number, job in jobs_of(slurm).items() if number not in before}
    assert [(state, nodes) for _, state, nodes in after.values()] == [("PREEMPTED", "lmx2")], run.output
    assert left(slurm) == []
    assert run.code != 0 and "state PREEMPTED" in by_node["lmx2"]["fail_reason"]
    assert [one.verdict for one in judged] == [Verdict.INCOMPLETE]
