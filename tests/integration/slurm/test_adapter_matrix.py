"""The matrix of network adapters through a real Slurm: two veth adapters a node, a rank bound to each of them."""

import re
import subprocess
from pathlib import Path

import pytest
from reframe_runs import only

import linkmatrix.record.reading

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

NODES, ADAPTERS = ("lmx1", "lmx2"), ("eth0", "eth1")
NETS = {"eth0": "10.98.77", "eth1": "10.98.78"}
TCP = {
    '"features": ["mpi", "crossnode"]': '"features": ["mpi", "crossnode", "tcp"]',
    '"extras": {': '"extras": {\n                "adapters": {"names": ["eth0", "eth1"]},',
}
FEW = "adapter_matrix.extra_opts=--samples,3,--target-ci,50"


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=20)


@pytest.fixture
def second_adapter(cluster):
    """A second adapter of each node on the same bridge; what has the address of one leaves and comes by that one."""
    try:
        for number, node in enumerate(NODES, 1):
            ip("link", "add", f"lmxw{number}", "type", "veth", "peer", "name", "eth1", "netns", node)
            ip("link", "set", f"lmxw{number}", "master", "lmxbr0", "up")
            ip("-n", node, "addr", "add", f"{NETS['eth1']}.{number}/24", "dev", "eth1")
            ip("-n", node, "link", "set", "eth1", "up")
            for table, (adapter, net) in enumerate(NETS.items(), 101):
                ip("-n", node, "rule", "add", "from", f"{net}.{number}", "lookup", str(table))
                ip("-n", node, "route", "replace", "default", "dev", adapter, "table", str(table))
            only_own = ["net.ipv4.conf.all.arp_ignore=1", "net.ipv4.conf.all.arp_announce=2"]
            subprocess.run(["ip", "netns", "exec", node, "sysctl", "-qw", *only_own], check=True, timeout=20)
        yield
    finally:
        for number, node in enumerate(NODES, 1):
            for table in (101, 102):
                subprocess.run(["ip", "-n", node, "rule", "del", "lookup", str(table)], check=False, timeout=20)
            subprocess.run(["ip", "link", "del", f"lmxw{number}"], check=False, timeout=20)


def matrix(login, *options):
    return login(
        *("-r", "-n", "adapter_matrix.*rank_to_rank_bandwidth_mpi.*extent=two", "-S", FEW),
        *("-S", "adapter_matrix.size=1MiB", *options),
        replace=TCP,
    )


def test_each_adapter_carries_what_its_rank_sends(login, second_adapter):
    run = matrix(login)
    check = only(run)
    record = linkmatrix.record.reading.load(Path(check["outputdir"] or check["stagedir"]) / "record.json")
    assert [device["nics"] for device in record["devices"]] == [["eth0"], ["eth1"]] * 2
    assert check["fail_reason"] is None or "sanity" not in check["fail_phase"], run.output
    (result,) = record["results"]
    assert result["rows"] == [f"{node}:rank{2 * at + k}" for at, node in enumerate(NODES) for k in range(2)]
    assert all((value is None) == (r == c) for r, row in enumerate(result["values"]) for c, value in enumerate(row))
    assert any(name.endswith(":min[NET]") for name in check["perfvalues"])


def test_an_adapter_that_is_not_there_is_named_with_its_node(login):
    check = only(matrix(login))
    assert re.search(r"adapter_rank: lmx\d: unknown adapter eth1", check["fail_reason"]), check["fail_reason"]
