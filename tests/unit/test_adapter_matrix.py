"""Adapters of ranks: each is the one that was asked for, and its byte counters prove that it carried the messages."""

import importlib
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from reasons import said as sentences

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "src" / "rdma" / "adapter_rank.sh"
adapter_matrix = importlib.import_module("linkmatrix_checks.adapter_matrix").adapter_matrix
LABELS = ("n1:rank0", "n1:rank1", "n2:rank2", "n2:rank3")
MIB = 1 << 20


def record(metric="bandwidth"):
    """Two nodes of two ranks; 5 samples of 1 MiB a cell."""
    devices = [{"label": label, "node": label.partition(":")[0]} for label in LABELS]
    samples = [[0 if row == column else 5 for column in LABELS] for row in LABELS]
    result = {"metric": metric, "rows": LABELS, "columns": LABELS, "size_bytes": MIB, "samples": samples}
    return {"devices": devices, "results": [result]}


def said(changed=()):
    """What the ranks say that their adapters carried: 10 MiB to each of two ranks and as much from them."""
    lines = {
        rank: f"adapter host={LABELS[rank][:2]} rank={rank} name=mlx5_{rank % 2} sent={20 * MIB} received={20 * MIB}"
        for rank in range(4)
    }
    return "\n".join(line for line in (lines | dict(changed)).values() if line) + "\n"


def faults(text, metric="bandwidth"):
    check = SimpleNamespace(
        record=record(metric),
        outputs=lambda: ("", text),
        adapter_names=lambda: ["mlx5_0", "mlx5_1"],
        num_tasks_per_node=2,
    )
    check.required_bytes = lambda: adapter_matrix.required_bytes(check)
    return sentences(adapter_matrix.traffic_faults(check))


@pytest.mark.parametrize("metric", ["bandwidth", "bidirectional", "latency"])
def test_adapters_that_carried_the_messages_have_no_faults(metric):
    assert faults(said(), metric) == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (f"adapter host=n1 rank=1 name=mlx5_1 sent=4096 received={20 * MIB}", "n1:rank1: mlx5_1 sent 4096 bytes, but"),
        (f"adapter host=n1 rank=1 name=mlx5_1 sent={20 * MIB} received=0", "n1:rank1: mlx5_1 received 0 bytes, but"),
        (
            f"adapter host=n1 rank=1 name=mlx5_0 sent={20 * MIB} received={20 * MIB}",
            "n1:rank1 used mlx5_0 instead of mlx5_1",
        ),
        (
            "adapter host=n1 rank=1 name=mlx5_1 sent=unknown received=unknown",
            "does not count the bytes that mlx5_1 sent",
        ),
        ("", "n1:rank1 did not report the bytes of its adapter"),
        ("adapter host=n1 rank=1 name=mlx5_1 sent=", "n1:rank1 did not report the bytes of its adapter"),
    ],
)
def test_an_adapter_that_is_another_or_carried_nothing_is_named(line, fault):
    found = faults(said({1: line}))
    assert found and fault in found[0]


def test_of_both_ways_each_rank_of_a_cell_sends():
    """10 MiB to each of two ranks, and as much for the cells of which it is the column."""
    short = f"adapter host=n1 rank=1 name=mlx5_1 sent={15 * MIB} received={20 * MIB}"
    assert faults(said({1: short})) == []
    assert "sent" in faults(said({1: short}), "bidirectional")[0]


def run(sysfs, *words, number="0", **environment):
    command = [SCRIPT, "--adapters", "mlx5_0,eth0", "--sysfs", sysfs, *words]
    there = {"PATH": os.environ["PATH"], "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": number}
    return subprocess.run(
        command, env={**there, **environment}, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.fixture
def sysfs(tmp_path):
    counters = tmp_path / "class/infiniband/mlx5_0/ports/1/counters"
    statistics = tmp_path / "class/net/eth0/statistics"
    for folder, names in ((counters, ("port_xmit_data", "port_rcv_data")), (statistics, ("tx_bytes", "rx_bytes"))):
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text("1000\n")
    return tmp_path


def test_a_rank_is_bound_to_the_adapter_of_its_number_and_says_what_that_carried(sysfs):
    sent = sysfs / "class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"
    ended = run(sysfs, "sh", "-c", f'echo 1500 > {sent}; echo "$UCX_NET_DEVICES $LINKMATRIX_ADAPTER"; exit 3')
    assert ended.returncode == 3
    assert ended.stdout == "mlx5_0:1 mlx5_0\n"
    assert ended.stderr.endswith(" rank=3 name=mlx5_0 sent=2000 received=0\n"), "words of four bytes"
    ended = run(sysfs, "sh", "-c", 'echo "$OMPI_MCA_btl_tcp_if_include"', number="1")
    assert ended.stdout == "eth0\n" and ended.stderr.endswith(" rank=3 name=eth0 sent=0 received=0\n")


def test_a_counter_that_is_not_there_or_fell_is_unknown(sysfs):
    counters = sysfs / "class/infiniband/mlx5_0/ports/1/counters"
    ended = run(sysfs, "sh", "-c", f"rm {counters}/port_rcv_data; echo 7 > {counters}/port_xmit_data")
    assert ended.stderr.endswith(" sent=unknown received=unknown\n")


@pytest.mark.parametrize(
    ("number", "remove", "said"),
    [
        ("2", None, "--adapters has 2 adapters"),
        ("1", "eth0", "unknown adapter eth0"),
        ("x", None, "does not set"),
    ],
)
def test_a_rank_without_an_adapter_of_its_own_ends_with_a_sentence(sysfs, number, remove, said):
    if remove:
        (sysfs / "class/net" / remove).rename(sysfs / "gone")
    ended = run(sysfs, "echo", "started", number=number)
    assert ended.returncode == 2 and ended.stdout == ""
    assert said in ended.stderr and ended.stderr.count("\n") == 1


def test_a_signal_to_the_rank_reaches_its_program_which_ends_as_it_wants_to(sysfs):
    command = "trap 'echo ended; exit 4' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"
    ended = run(sysfs, "sh", "-c", command)
    assert ended.returncode == 4 and ended.stdout == "ended\n"
    assert "adapter host=" in ended.stderr
