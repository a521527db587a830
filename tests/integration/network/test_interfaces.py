"""Two hosts with two interfaces each, in namespaces of their own, measured by the real ucx_perftest over TCP."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import linkmatrix.record.reading
from linkmatrix.foreign import adapter_pairs

REPOSITORY = Path(__file__).resolve().parents[3]
SCRIPT = REPOSITORY / "src" / "rdma" / "adapter_pairs.sh"
HOSTS = ("lmf1", "lmf2")
CABLES = ("fab0", "fab1")  # an interface on each host
MIB, COUNT, WARMUP = 1 << 20, 200, 10
BANDWIDTH = ("ucx_perftest", "-t", "tag_bw", "-s", str(MIB), "-n", str(COUNT), "-w", str(WARMUP))

pytestmark = pytest.mark.integration


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)


@pytest.fixture
def hosts(unavailable):
    """The namespaces, with a cable for each interface."""
    for program, package in (("ucx_perftest", "ucx-utils"), ("ip", "iproute2")):
        if not shutil.which(program):
            unavailable(f"no {program} on PATH: apt install {package}")
    if os.geteuid() != 0:
        unavailable("only root can make network namespaces")
    remove()
    try:
        for host in HOSTS:
            ip("netns", "add", host)
            ip("-n", host, "link", "set", "lo", "up")
        for number, cable in enumerate(CABLES):
            ip("link", "add", cable, "netns", HOSTS[0], "type", "veth", "peer", "name", cable, "netns", HOSTS[1])
            for last, host in enumerate(HOSTS, start=1):
                ip("-n", host, "addr", "add", f"10.97.{number}.{last}/24", "dev", cable)
                ip("-n", host, "link", "set", cable, "up")
        end = time.monotonic() + 30
        while any(state_of(host, cable) != "UP" for host in HOSTS for cable in CABLES):
            assert time.monotonic() < end, "the interfaces do not come up"
            time.sleep(0.1)  # UCX takes none that the kernel does not call up yet
        yield
    finally:
        remove()


def remove():
    for host in HOSTS:
        with contextlib.suppress(subprocess.CalledProcessError):
            ip("netns", "del", host)


def link(host, cable):
    """What the kernel says of an interface."""
    said = subprocess.check_output(["ip", "-n", host, "-s", "-j", "link", "show", cable], text=True, timeout=10)
    return json.loads(said)[0]


def state_of(host, cable):
    """ "UP" where it can carry data."""
    return link(host, cable)["operstate"]


def sent(host, cable):
    """Bytes that an interface has sent."""
    return link(host, cable)["stats64"]["tx"]["bytes"]


def measured(folder, *arguments, cables=CABLES, rank_environment=None):
    """(exit codes, what the client printed, what both said)."""
    processes = []
    for rank, host in enumerate(HOSTS):
        command = ["ip", "netns", "exec", host, SCRIPT, "--into", folder, "--adapters", ",".join(cables), *arguments]
        environment = {**os.environ, "PMIX_RANK": str(rank), **(rank_environment or {})}
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True))
    ends = [process.communicate(timeout=300) for process in processes]
    return [process.returncode for process in processes], ends[1][0], "".join(errors for _, errors in ends)


def recorded(text, testcase, how):
    output = adapter_pairs.parse_output(text, "UCX_NET_DEVICES={adapter} UCX_TLS=tcp " + " ".join(BANDWIDTH))
    assert adapter_pairs.measurement_faults(output, ["alone", how] if how != "alone" else ["alone"]) == []
    record = adapter_pairs.record_of(output, testcase, how, None, " ".join(BANDWIDTH), "host")
    linkmatrix.record.reading.check(record)
    return record


def test_each_interface_is_measured_by_its_own_bytes_and_all_at_once(hosts, tmp_path):
    codes, text, errors = measured(tmp_path / "meeting", "--at-once", *BANDWIDTH)
    assert codes == [0, 0], text + errors
    record = recorded(text, "ucx_tag_bw_at_once", "at-once")
    (result,) = record["results"]
    assert record["imported"]["program"] == "ucx_perftest" and record["software"]["UCX"][0].isdigit()
    assert (result["rows"], result["engine"], result["transport"]) == (list(CABLES), "ucx", "tcp")
    assert result["size_bytes"] == MIB and result["complete"] and "alone" in result["parts"]
    assert result["limit"] == [[None], [None]], "what a virtual interface says of its speed is made up"
    for cable in CABLES:
        assert 2 * COUNT * MIB < sent(HOSTS[1], cable) < 2.5 * (COUNT + WARMUP) * MIB, "alone, and with the other"


def test_an_interface_that_is_down_is_named_and_the_other_is_measured(hosts, tmp_path):
    ip("-n", HOSTS[0], "link", "set", "fab1", "down")
    codes, text, _ = measured(tmp_path / "meeting", "--limit", "10", *BANDWIDTH)
    assert codes == [0, 1]
    steps = {line.split()[2]: line.split()[-1] for line in text.splitlines() if line.startswith("step ")}
    assert steps["fab0"] == "code=0" and steps["fab1"] != "code=0"
    assert text.endswith("Result: FAIL\n")


def test_memory_of_gpus_is_not_for_tcp(hosts, tmp_path):
    codes, _, errors = measured(tmp_path / "meeting", "--memory", "cuda", *BANDWIDTH)
    assert 2 in codes and "--memory cuda needs perftest: ucx_perftest runs over TCP" in errors
