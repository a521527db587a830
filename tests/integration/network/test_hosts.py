"""p2p_matrix under mpirun between hosts with a network of their own: what is whole, and which link is at fault."""

import itertools
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

BANDWIDTH = (
    *("--testcase", "rank_to_rank_bandwidth_mpi", "--size", "1MiB", "--concurrency", "serial"),
    *("--samples", "5", "--target-ci", "5"),
)
SHORT = ("--testcase", "rank_to_rank_bandwidth_mpi", "--size", "256KiB", "--window", "4", "--target-ci", "20")
LATENCY = ("--testcase", "rank_to_rank_latency_mpi", "--samples", "3", "--concurrency", "serial", "--max-time", "10")
HOSTS = Path(__file__).parent / "hosts"
MEGABYTE = 1_000_000


def label(rank):
    """What rows and columns are called; rank r is the only one of host lmn(r + 1)."""
    return f"lmn{rank + 1}:rank{rank}"


def cells(result, table="values"):
    """{(row, column): entry} of a matrix, without the diagonal."""
    return {
        (row, column): result[table][r][c]
        for r, row in enumerate(result["rows"])
        for c, column in enumerate(result["columns"])
        if r != c
    }


#: what a link of 100 Mbit/s gives, less what the headers take; and a latency that a busy machine stays below
REFERENCES = """
rank_p2p:
  $index: [reference_name, testcase]
  100mbit:
    rank_to_rank_bandwidth_mpi:
      'cell[NET]': [0.012, -0.2, 0.2, GB/s]
    rank_to_rank_latency_mpi:
      'cell[NET]': [4000, null, 4.0, us]
"""


def on_own_processors(record):
    """The record of hosts that share no processors, as these do with each other and all else that runs here."""
    for result in record["results"]:
        result["others"]["uses"] = [use for use in result["others"]["uses"] if use["of"] != "cpu"]
    return record


def linkmatrix(command, done):
    """What `linkmatrix show` or `diagnose` prints of the record, with the references."""
    done.path.write_text(json.dumps(on_own_processors(done.record)))
    (done.path.parent / "p2p.yaml").write_text(REFERENCES)
    judged = ("--references", done.path.parent, "--reference", "100mbit")
    words = [sys.executable, "-m", "linkmatrix", command, done.path, *judged]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=120, env={**os.environ, "COLUMNS": "2000"}
    ).stdout


def lines_with(word, text):
    return [line.strip() for line in text.splitlines() if word in line]


def machine():
    """What this machine's own network and names are."""
    own = [subprocess.check_output(["ip", *words.split()], text=True) for words in ("-br link", "-br address", "route")]
    return own, socket.gethostname(), Path("/etc/hosts").read_text(), Path("/etc/netns").exists()


def test_the_network_and_names_of_the_machine_stay_as_they_are(network):
    before = machine()
    hosts = network(2)
    assert hosts.measure(None, launch=["hostname"]).code == 0
    assert machine() == before
    hosts.script("down")
    hosts.script("down")
    assert machine() == before


def test_hosts_that_are_there_already_are_not_taken_over_nor_ended(network, tmp_path):
    hosts = network(2)
    others = type(hosts)(tmp_path / "others", 2, hosts.mpi)
    with pytest.raises(AssertionError, match="has such hosts already"):
        others.script("up", 2)
    others.script("down")
    assert hosts.measure(None, launch=["hostname"]).code == 0


def test_hosts_of_a_run_that_was_killed_are_cleared_away(network, tmp_path):
    code = "import subprocess, sys; subprocess.run(sys.argv[1:], check=True)"
    killed = tmp_path / "killed"
    subprocess.run([sys.executable, "-c", code, HOSTS, "up", killed, "2"], timeout=60, check=True)
    assert network(3).measure(None, launch=["hostname"]).code == 0
    assert not (killed / "made").exists()


def test_one_rank_on_each_host_is_a_complete_matrix_over_the_network(network, program):
    hosts = network(4)
    before = hosts.sent("lmn3")
    done = hosts.measure(program, *BANDWIDTH)
    assert done.code == 0, done.output
    assert [device["node"] for device in done.record["devices"]] == hosts.names
    assert [node["name"] for node in done.record["nodes"]] == hosts.names
    assert all(node["kernel"] and node["boot"] for node in done.record["nodes"])
    assert set(cells(done.result, "link_class").values()) == {"NET"}
    assert set(cells(done.result, "status").values()) == {"ok"}
    assert done.result["complete"] and done.result["verified"]
    # three samples to each of three others went over the wire, not through memory that all hosts share
    assert hosts.sent("lmn3") - before > 9 * MEGABYTE


def test_ranks_of_one_host_have_another_class_also_with_addresses_and_an_interface(network, program):
    hosts = network(3)
    addresses = [f"10.97.77.{number} slots={slots}" for number, slots in ((1, 2), (2, 1), (3, 2))]
    interface = ("--mca", "btl_tcp_if_include", "eth0")
    done = hosts.measure(program, *BANDWIDTH, hostfile=hosts.hostfile(addresses), options=interface)
    assert done.code == 0, done.output
    nodes = [device["node"] for device in done.record["devices"]]
    assert nodes == ["lmn1", "lmn1", "lmn2", "lmn3", "lmn3"]
    expected = {
        (label_r, label_c): "NODE" if nodes[r] == nodes[c] else "NET"
        for r, label_r in enumerate(done.result["rows"])
        for c, label_c in enumerate(done.result["columns"])
        if r != c
    }
    assert cells(done.result, "link_class") == expected
    assert set(cells(done.result, "status").values()) == {"ok"}


def test_a_link_at_half_its_rate_is_named_and_no_other(network, program):
    hosts = network(4, rate="100mbit")
    hosts.slow("lmn2", "lmn4", rate="50mbit")
    done = hosts.measure(program, *BANDWIDTH)
    assert done.code == 0, done.output
    (failure,) = lines_with("FAIL:", linkmatrix("show", done))
    assert failure.startswith(f"FAIL: {label(1)}->{label(3)} ")
    (sentence,) = lines_with(": check ", linkmatrix("diagnose", done))
    assert f"{label(1)}->{label(3)} is " in sentence


def test_a_link_with_a_delay_is_named_by_its_latency(network, program):
    hosts = network(4)
    hosts.slow("lmn1", "lmn3", delay=50)
    done = hosts.measure(program, *LATENCY)
    assert done.code == 0, done.output
    values = cells(done.result)
    worst = sorted(values, key=values.get)[-2:]
    assert set(worst) == {(label(0), label(2)), (label(2), label(0))}
    # a round trip has the delay once
    assert min(values[pair] for pair in worst) > 25_000
    (sentence,) = lines_with(": check ", linkmatrix("diagnose", done))
    assert f"{label(0)}->{label(2)} and {label(2)}->{label(0)} are both " in sentence


def test_a_link_that_loses_packets_is_the_worst(network, program):
    """All links have 4 ms, as between buildings: with hardly any delay, what is lost is sent again in no time."""
    hosts = network(3)
    for source, destination in itertools.permutations(hosts.names, 2):
        hosts.slow(source, destination, delay=4, **({"loss": 5} if (source, destination) == ("lmn3", "lmn1") else {}))
    done = hosts.measure(program, *SHORT, "--concurrency", "serial", "--samples", "3", "--max-time", "5")
    assert done.code == 0, done.output
    values = cells(done.result)
    assert min(values, key=values.get) == (label(2), label(0))
    assert set(cells(done.result, "status").values()) == {"ok"}


@pytest.mark.parametrize("differ", ["options", "builds"])
def test_ranks_that_differ_are_refused_before_measuring(network, program, tmp_path, differ):
    other, samples = program, "5"
    if differ == "builds":
        version = re.search(rb" (\d\S+)\n", subprocess.check_output([program, "--version"], timeout=30))[1]
        other, samples = tmp_path / "p2p_matrix", "3"
        other.write_bytes(program.read_bytes().replace(version, b"9" + version[1:]))
        other.chmod(0o755)
    hosts = network(2)
    path = hosts.folder / "record.json"
    testcase = (
        "--testcase",
        "rank_to_rank_bandwidth_mpi",
        "--size",
        "1MiB",
        "--record",
        path,
        "--timeout",
        "30",
        "--samples",
    )
    done = hosts.measure(None, launch=["-np", "1", program, *testcase, "3", ":", "-np", "1", other, *testcase, samples])
    assert done.code != 0
    assert "rank" in done.output and "differ" in done.output
    assert done.record is None


#: long enough that a host is lost in the middle: each sends some 20 MB at 12 MB/s
LONG = ("--testcase", "rank_to_rank_bandwidth_mpi", "--size", "1MiB", "--samples", "5", "--pair-timeout", "4")


def assert_marked(done, lost):
    """Everything without the host `lost` is there; what is missing in its row and column says why."""
    status = cells(done.result, "status")
    assert {word for pair, word in status.items() if lost not in pair} == {"ok"}
    theirs = [word for pair, word in status.items() if lost in pair]
    assert set(theirs) <= {"ok", "timeout", "error"}
    assert set(theirs) != {"ok"}
    for pair, value in cells(done.result).items():
        assert (value is None) == (status[pair] != "ok")
    assert not done.result["complete"]


@pytest.mark.slow
def test_a_host_cut_off_in_the_middle_is_marked_and_the_others_are_complete(network, program):
    hosts = network(4)

    def cut(process):
        hosts.when_sent("lmn4", 4 * MEGABYTE, process)
        hosts.script("cut", "lmn4")

    done = hosts.measure(program, *LONG, meanwhile=cut, options=hosts.mpi.word("gone"))
    assert done.code == 4, done.output
    assert_marked(done, label(3))


def test_a_rank_killed_in_the_middle_is_marked_and_the_others_are_complete(network, program):
    hosts = network(4)

    def kill(process):
        hosts.when_sent("lmn4", 4 * MEGABYTE, process)
        hosts.kill("lmn4", program.name)

    done = hosts.measure(program, *LONG, meanwhile=kill, options=hosts.mpi.word("died"))
    assert done.code == 4 or not hosts.mpi.word("tells"), done.output
    assert_marked(done, label(3))
