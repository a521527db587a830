"""Collectives between nodes through a real Slurm: host memory over the network, judged, and what is at fault named."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from reframe_runs import MPIRUN, judged, only, published, record_of, report_of

from linkmatrix import cli
from linkmatrix.judge.verdicts import Verdict

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

SIZES = (1024, 1 << 20)
WAYS = ("out-of-place", "in-place")
NAMES = {f"{way}@{size}" for way in WAYS for size in SIZES}
FEW = "extra_opts=--samples,3,--target-ci,50"
SIZE_OPTIONS = ("-S", "node_collectives.sizes=1KiB,1MiB")
SLOW = "lmx2"
ALONE = 3  # tries until nobody else has the processors: on a machine of two cores whatever is built has them too


def all_reduce(extent="two"):
    """The options of reframe for an all-reduce of few bytes and samples."""
    return ("-r", "-n", f"node_collectives%testcase=all_reduce_perf%extent={extent}", *SIZE_OPTIONS)


def verdict(run):
    """The verdict on the single check, by the references of the run; its reasons are printed."""
    return verdict_and_reasons(run)[0]


def verdict_and_reasons(run):
    """(verdict on the single check, the reasons of the cells that do not pass)."""
    (one,) = judged(run, run.prefix / "references")
    cells = [cell.reason for _, matrix in one.matrices for cell in matrix.cells.values() if cell.reason]
    print(*one.reasons, *(fact.sentence for fact in one.facts), *cells, sep="\n")
    return one.verdict, cells


def references(table, least):
    """Those of an all-reduce, in GB/s."""
    lines = ["node_collectives:", "  $index: [reference_name, testcase]", f"  {table}:", "    all_reduce_perf:"]
    return "\n".join([*lines, *(f"      '{name}': [{least}, -0.5, null, GB/s]" for name in sorted(NAMES)), ""])


@pytest.mark.parametrize("replace", [{}, MPIRUN], ids=["srun", "mpirun"])
def test_an_all_reduce_of_two_nodes_is_judged_and_has_its_table(login, replace):
    here = ("-S", "node_collectives.reference_name=here")
    run = login(*all_reduce(), *here, "-S", FEW, references=references("here", "0.000001"), replace=replace)
    assert run.code == 0, run.output
    check = only(run)
    assert verdict(run) in (Verdict.PASS, Verdict.WARN)  # few samples are noisy
    assert published(check) == NAMES
    record = record_of(check)
    assert len({device["node"] for device in record["devices"]}) == len(record["devices"]) == 2
    assert [result["size_bytes"] for result in record["results"]] == list(SIZES)
    assert all(result["verified"] and result["complete"] for result in record["results"])
    table = (Path(check["outputdir"]) / "rfm_job.out").read_text().partition("\n# all_reduce_perf\n")[2]
    rows = re.findall(r"^ +(\d+) +\d+ +float +sum .* (\d+)$", table, re.MULTILINE)
    assert rows == [(str(size), "0") for size in SIZES]  # none wrong


def test_an_all_reduce_that_is_too_slow_fails_for_its_sizes(login):
    """No network carries a thousand GB/s; beside others in each collective it has no verdict, and they are named."""
    here = ("-S", "node_collectives.reference_name=here")
    for _ in range(ALONE):
        run = login(*all_reduce(), *here, "-S", FEW, references=references("here", 1000))
        assert run.code != 0
        assert only(run)["fail_phase"] == "performance"
        found, reasons = verdict_and_reasons(run)
        if found is not Verdict.INCOMPLETE:
            break
        assert reasons and all("busy: others had" in reason for reason in reasons)
    else:
        pytest.skip(f"others had the processors in each of {ALONE} tries: beside them no collective has a verdict")
    assert found is Verdict.FAIL


def test_wrong_data_of_a_rank_fails_the_sanity_with_its_sizes(login):
    run = login(*all_reduce(), "-S", f"{FEW},--simulate-fault,corrupt:rank1")
    assert run.code != 0
    check = only(run)
    assert check["fail_phase"] == "sanity"
    for size in SIZES:
        assert f"all_reduce_perf of {size} bytes: all->in-place: " in check["fail_reason"]
    assert verdict(run) is Verdict.FAIL


@pytest.mark.parametrize("fault", ["error:rank1", "hang:rank1,--collective-timeout,5"], ids=["error", "hang"])
def test_a_rank_that_fails_or_hangs_is_named_and_no_size_looks_measured(login, fault):
    run = login(*all_reduce("all"), "-S", "node_collectives.nodes=3", "-S", f"{FEW},--simulate-fault,{fault}")
    assert run.code != 0
    check = only(run)
    assert "rank1 was lost: simulated fault" in check["fail_reason"]
    assert check["fail_phase"] == "sanity"
    assert not any(result["complete"] for result in record_of(check, "stagedir")["results"])
    assert verdict(run) >= Verdict.INCOMPLETE


LONG = ("-S", "nodes=3", "-S", "node_collectives.extra_opts=--samples,3000,--target-ci,0.001,--max-time,60")


@pytest.fixture
def measured(process_of_rank):
    """A function that returns the process of rank 1 once it measures."""

    def wait():
        process = process_of_rank("collective_perf", 1)
        time.sleep(3)  # by then it measures
        return process

    return wait


def test_a_rank_that_is_killed_is_named_with_its_node(login, measured, meanwhile):
    """In the words of srun, which then ends the other ranks in time for a record."""
    meanwhile(lambda: os.kill(measured(), signal.SIGKILL))
    run = login(*all_reduce("all"), *LONG)
    assert run.code != 0
    assert "srun: error: lmx2: task 1: Killed" in only(run)["fail_reason"]
    assert verdict(run) in (Verdict.FAIL, Verdict.INCOMPLETE)


@pytest.mark.slow
def test_a_rank_that_is_stopped_ends_the_run_in_its_time_though_all_others_are_inside_of_a_call_of_mpi(
    login, measured, meanwhile
):
    meanwhile(lambda: os.kill(measured(), signal.SIGSTOP))
    run = login(*all_reduce("all"), *LONG[:-1], f"{LONG[-1]},--collective-timeout,20")
    assert run.code != 0
    assert re.search("another rank has ended or hangs|rank1 was lost", only(run)["fail_reason"])
    assert verdict(run) in (Verdict.FAIL, Verdict.INCOMPLETE)


def test_a_node_that_goes_down_meanwhile_is_named(login, slurm, measured, meanwhile):
    def take_down():
        measured()
        slurm("scontrol", "update", f"nodename={SLOW}", "state=down", "reason=test")
        assert slurm("sinfo", "-h", "-n", SLOW, "-o", "%T").startswith("down")

    meanwhile(take_down)
    try:
        run = login(*all_reduce("all"), *LONG)
    finally:
        slurm("scontrol", "update", "nodename=lmx[1-3]", "state=resume")
    assert run.code != 0
    assert f"a node of the job failed: {SLOW}; collective_perf was stopped" in only(run)["fail_reason"]
    assert verdict(run) in (Verdict.FAIL, Verdict.INCOMPLETE)


@pytest.fixture
def slow_link():
    """What SLOW sends goes through a narrow gate until the test ends; a function that shuts it."""
    gate = ["ip", "netns", "exec", SLOW, "tc", "qdisc"]

    def shut():
        narrow = ["root", "tbf", "rate", "100mbit", "burst", "64k", "latency", "100ms"]
        subprocess.run([*gate, "add", "dev", "eth0", *narrow], check=True, timeout=20)

    yield shut
    subprocess.run([*gate, "del", "dev", "eth0", "root"], check=False, timeout=20, capture_output=True)


def lower_bounds(*checks):
    """References of what was measured, of which half is enough."""
    tables = {}
    for check in checks:
        values = {name.split(":")[-1]: value[0] for name, value in check["perfvalues"].items()}
        lines = [f"      '{name}': [{value:.9f}, -0.5, null, GB/s]" for name, value in values.items()]
        table = "here" + check["reference_variant"]
        head = [f"{check['name'].split()[0]}:", "  $index: [reference_name, testcase]"]
        tables[check["name"]] = [*head, f"  {table}:", f"    {check['testcase']}:", *lines]
    return "\n".join(line for table in tables.values() for line in [*table, ""])


@pytest.mark.slow
def test_a_slow_link_turns_an_all_reduce_red_and_is_named(login, slow_link, capsys, monkeypatch):
    """By the matrix of the same nodes, which the same job measures; beside others no link has a verdict."""
    pairs = "crossnode_matrix.*rank_to_rank_bandwidth_mpi.*extent=all"
    wanted = (*all_reduce(), "-n", pairs, "-S", FEW, "-S", "crossnode_matrix.size=1MiB", "-S", "nodes=3")
    well = login(*wanted)
    assert well.code == 0, well.output
    slow_link()
    here = ("-S", "reference_name=here")
    for _ in range(ALONE):
        run = login(*wanted, *here, references=lower_bounds(*well.checks()))
        assert run.code != 0
        by_name = {check["name"].split()[0]: check for check in run.checks()}
        assert {check["fail_phase"] for check in by_name.values()} == {"performance"}, run.output
        capsys.readouterr()
        monkeypatch.setenv("COLUMNS", "2000")  # no sentence is folded
        code = cli.main(["diagnose", str(report_of(run)), "--references", str(run.prefix / "references")])
        said = capsys.readouterr().out
        if code == 3:
            assert "busy: others had" in said
            continue
        assert code == 1, said
        of_size = said.partition("FAIL  all_reduce_perf (1 MiB)\n")[2].partition("\nFAIL  ")[0]
        if "rank_to_rank_bandwidth_mpi has no verdict (busy: others" not in of_size:
            break
        assert "unknown whether its links explain this" in of_size and "its links are fine" not in of_size
    else:
        pytest.skip(f"others had the processors in each of {ALONE} tries: beside them no link has a verdict")
    assert re.search(
        rf"its links explain this: rank_to_rank_bandwidth_mpi: {SLOW}:rank1 sends \S+ % slow to every peer", of_size
    ), said


def test_the_node_without_which_all_others_are_faster_is_named_though_there_are_no_references(login, slow_link, capsys):
    slow_link()
    few = "node_collectives_without.extra_opts=--samples,7,--target-ci,80"
    run = login(
        *("-r", "-n", "node_collectives_without.*without_node", "-S", "nodes=3", "-S", few),
        *("-S", "node_collectives_without.sizes=1MiB"),
    )
    columns = record_of(only(run))["results"][0]["columns"]
    assert columns == ["without-lmx1", f"without-{SLOW}", "without-lmx3"]
    capsys.readouterr()
    cli.main(["diagnose", str(report_of(run))])
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(rf"excluding {SLOW} makes the other ranks \S+ % faster than excluding any other rank", said), said
