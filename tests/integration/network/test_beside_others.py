"""Other processes that use adapters or cores of hosts between which p2p_matrix measures: DISTURBED, and no finding."""

import contextlib
import getpass
import os
import subprocess
import sys

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References

pytestmark = pytest.mark.integration

TESTCASE = "rank_to_rank_bandwidth_mpi"
MEASURED = ("--testcase", TESTCASE, "--size", "256KiB", "--concurrency", "serial", "--samples", "6", "--target-ci", "5")
RATE = "2gbit"
SPEED = 170_000_000  # bytes per second, of the 250 million that an adapter sends at most
BUFFER = 44 * 1400  # bytes
GIVE = (
    "import os, socket, sys, time\n"
    "os.nice(-15)\n"  # on a busy machine it would send less
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "s.setsockopt(17, 103, 1400)\n"  # UDP_SEGMENT: the kernel splits a buffer into datagrams
    "s.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)\n"  # SO_SNDBUFFORCE: it never waits for the adapter
    "begin, sent = time.monotonic(), 0\n"
    "while 1:\n"
    f"    while sent < (time.monotonic() - begin) * {SPEED}: sent += s.sendto(bytes({BUFFER}), (sys.argv[1], 5001))\n"
    "    time.sleep(0.002)"
)


@contextlib.contextmanager
def stream(source, destination):
    """A process sends datagrams from one host to another until the context ends. No process reads them."""
    command = ["ip", "netns", "exec", source, sys.executable, "-c", GIVE, f"10.97.77.{destination.removeprefix('lmn')}"]
    sender = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield
        assert sender.poll() is None, "the stream ended before the run"
    finally:
        sender.kill()
        sender.wait(10)


def judged(done, expected):
    """(verdict, of each cell, what is found) of a run where each cell should have so many GB/s."""
    assert done.code == 0, done.output
    record = done.record
    reading.check(record)
    table = References({("hosts", TESTCASE): {"cell[NET]": Reference(expected, -0.3, 0.5, "GB/s")}})
    (matrix,) = evaluate(record, table, "hosts").matrices
    return matrix.verdict, matrix.cells, diagnosis.diagnose(record, record["results"][0], matrix)


def usual(done):
    """The median of all cells of a run."""
    assert done.code == 0, done.output
    values = sorted(value for row in done.result["values"] for value in row if value)
    return values[len(values) // 2]


def own_share(done, of):
    """{host: how much of what its adapter counted was the run's own}."""
    uses = [use for use in done.result["others"]["uses"] if use["of"] == of]
    assert all(use["by"] == "eth0" for use in uses)
    return {use["label"]: use["own"] / use["counted"] for use in uses}


def disturbed_adapters(done):
    """The hosts whose adapters another process used. Short processes of other tests may disturb the cores."""
    return {one["node"] for one in done.result["others"]["disturbances"] if one["kind"] == "adapter"}


def failed(cells):
    """Why cells fail."""
    return [cell.reason for cell in cells.values() if cell.verdict is Verdict.FAIL]


@pytest.mark.flaky(reruns=4)  # hosts share cores, and on a busy machine these limit pairs more than adapters do
def test_a_host_that_another_process_sends_from_is_disturbed_and_not_at_fault(network, program):
    ignored = f"*:{getpass.getuser()}"  # the hosts share their cores, and the subject is the adapters
    hosts = network(4, rate=RATE)
    before = hosts.measure(program, *MEASURED, ignored=ignored)
    _, cells, found = judged(before, usual(before))
    assert not disturbed_adapters(before) and not failed(cells) and not found.findings, before.output
    for of in ("net_out", "net_in"):
        assert min(own_share(before, of).values()) > 0.9, before.result["others"]
    with stream("lmn2", "lmn4"):
        disturbed = hosts.measure(program, *MEASURED, ignored=ignored)
    assert own_share(disturbed, "net_out")["lmn2"] < 0.6 and own_share(disturbed, "net_in")["lmn4"] < 0.6
    verdict, cells, found = judged(disturbed, usual(before))
    assert verdict is Verdict.DISTURBED, disturbed.output
    assert not failed(cells), disturbed.output
    assert not found.findings, found.sentences
    assert disturbed_adapters(disturbed) == {"lmn2", "lmn4"}
    assert ("lmn2:rank1", "lmn3:rank2") in {pair for pair, cell in cells.items() if cell.verdict is Verdict.DISTURBED}


LOOP = "while 1: pass"
STORM = (
    "import os, time\n"
    "while 1:\n"
    "    if not (child := os.fork()):\n"
    "        while time.process_time() < 0.03: pass\n"
    "        os._exit(0)\n"
    "    os.waitpid(child, 0)"
)


@contextlib.contextmanager
def hogs(count, code=LOOP, where=()):
    """Processes that want processors until the context ends."""
    others = [subprocess.Popen([*where, sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield [process.pid for process in others]
        assert [process.poll() for process in others] == [None] * count, "a hog ended before the run"
    finally:
        for process in others:
            process.kill()
            process.wait(10)


def disturbed_run(network, program, code):
    """(run with other processes that use the cores, pids of these, the reason of each DISTURBED cell)."""
    hosts = network(2, rate="40gbit")  # faster than these processors
    before = hosts.measure(program, *MEASURED, ignored="")
    with hogs(3 * len(os.sched_getaffinity(0)), code) as pids:
        disturbed = hosts.measure(program, *MEASURED, ignored="")
    verdict, cells, found = judged(disturbed, usual(before))
    assert verdict is Verdict.DISTURBED, disturbed.output
    assert not found.findings, found.sentences
    reasons = [cell.reason for cell in cells.values() if cell.verdict is Verdict.DISTURBED]
    assert reasons
    return disturbed, pids, reasons


def test_hosts_whose_cores_other_processes_use_are_disturbed_and_the_processes_named(network, program):
    disturbed, pids, reasons = disturbed_run(network, program, LOOP)
    assert all("% of the time that lmn" in reason or "% of the cores of lmn" in reason for reason in reasons), reasons
    assert {*pids} & {one["pid"] for one in disturbed.result["others"]["processes"]}


def test_processes_that_end_between_two_polls_disturb_too(network, program):
    """Each uses 30 ms of a core."""
    disturbed, _, reasons = disturbed_run(network, program, STORM)
    assert all("% of the" in reason for reason in reasons), reasons
    assert {one["kind"] for one in disturbed.result["others"]["disturbances"]} == {"cpu"}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_a_process_on_other_cores_disturbs_the_node(network, program):
    """Memory and caches belong to all cores."""
    ours, theirs, *_ = map(str, sorted(os.sched_getaffinity(0)))
    hosts = network(2, rate="40gbit")
    record = hosts.folder / "record.json"
    for_long = ("--testcase", TESTCASE, "--size", "256KiB", "--concurrency", "serial", "--samples", "400")
    with hogs(1, where=("taskset", "-c", theirs)) as [pid]:  # it is listed from a tenth of a second on
        done = hosts.measure(program, launch=("taskset", "-c", ours, program, *for_long, "--record", record))
    assert done.code == 0, done.output
    others = done.result["others"]
    assert pid in {one["pid"] for one in others["processes"]}, others["processes"]
    disturbances = [one for one in others["disturbances"] if pid in one["pids"]]
    assert disturbances and all(one["where"] == one["node"] for one in disturbances), others["disturbances"]
