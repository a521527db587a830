"""The script that runs perftest between two nodes: both of its ranks on this machine, with recorded outputs."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from fake_programs import fake_program
from sysfs_tree import make

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "src" / "rdma" / "adapter_pairs.sh"
STAND_IN = REPOSITORY / "tests" / "tools" / "recorded_perftest"
LIMIT = "6"  # seconds of a server or client
# of this process alone: who listens on a port on which a server does not, in a test beside this one, is taken for it
OWN_PORTS = str(21000 + 500 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")))


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """Starts rank 0 and rank 1 with these arguments and faults of the stand-in; returns their ends."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("ib_write_bw", "ib_read_bw", "ib_send_lat"):
        (programs / name).symlink_to(STAND_IN)
    fake_program(programs / "nvidia-smi", "printf '0, 00000000:6B:00.0\\n1, 00000000:51:00.0\\n'")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    make("a100x8_roce", tmp_path / "tree")
    started = []

    def start(*arguments, faults="", ranks=(0, 1), adapters="mlx5_0,mlx5_1", sysfs=None, port=OWN_PORTS):
        command = [SCRIPT, "--into", tmp_path / "meeting", "--limit", LIMIT, "--port", port]
        command += ["--adapters", adapters] if adapters else []
        for rank in ranks:
            tree = (sysfs or {}).get(rank, tmp_path / "tree" / "sys")
            environment = {**os.environ, "PMIX_RANK": str(rank), "RECORDED_PERFTEST": faults}
            started.append(
                subprocess.Popen(
                    [*command, "--sysfs", tree, *arguments],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return started[-len(ranks) :]

    def run(*arguments, **how):
        ends = []
        for one in start(*arguments, **how):
            out, err = one.communicate(timeout=60)
            ends.append((one.returncode, out, err))
        return ends if len(ends) > 1 else ends[0]

    run.start = start
    yield run
    for one in started:
        if one.poll() is None:
            one.kill()
        one.wait()


BANDWIDTH = ("ib_write_bw", "--report_gbits", "-F", "-s", "1048576")


def steps(text):
    return [line for line in text.splitlines() if line.startswith("step ")]


def test_each_adapter_is_measured_alone_and_all_at_once(pair):
    (server, said, _), (client, text, errors) = pair("--at-once", *BANDWIDTH)
    assert (server, client, said, errors) == (0, 0, "", "")
    assert steps(text) == [
        "step ib_write_bw mlx5_0 alone code=0",
        "step ib_write_bw mlx5_1 alone code=0",
        "step ib_write_bw mlx5_0 at-once code=0",
        "step ib_write_bw mlx5_1 at-once code=0",
    ]
    assert text.startswith("version 6.06\n")
    assert text.count("|  1048576    5000             97.77 ") == 4
    assert text.count("mlx5_1 100 Gb/sec (4X EDR)") == 2 and text.endswith("Result: PASS\n")


@pytest.mark.parametrize("name", ["n0.invalid", "n$PMIX_RANK.invalid"], ids=["one machine", "two machines"])
def test_names_of_nodes_need_not_resolve(pair, tmp_path, name):
    """Those of a container mostly do not."""
    fake_program(tmp_path / "bin" / "uname", f'echo "{name}"')
    fake_program(tmp_path / "bin" / "hostname", "echo 127.0.0.1 fd00::1")
    (_, (client, text, errors)) = pair(*BANDWIDTH)
    assert (client, errors) == (0, "") and "Result: PASS" in text


def test_without_a_list_it_is_every_port_that_is_active(pair):
    (_, _, _), (code, text, _) = pair("ib_send_lat", "-F", adapters="")
    assert code == 0
    assert [line.split()[2] for line in steps(text)] == [f"mlx5_{number}" for number in range(7)], "mlx5_7 is down"


def test_a_port_that_is_in_use_is_passed_over(pair):
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        (server, _, _), (client, text, errors) = pair(*BANDWIDTH, port=str(taken.getsockname()[1]))
    assert (server, client, errors) == (0, 0, "") and text.endswith("Result: PASS\n")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("dead:server", "the server on {} did not start:  Unable to find the Infiniband/RoCE device"),
        ("deaf:server", "the server on {} did not start: it did not listen within 6 s"),
        ("hang:client", "it took more than 6 s"),
        ("hang:server", "Failed to exchange data between server and clients"),
    ],
)
def test_what_does_not_begin_or_end_costs_its_adapter_and_no_other(pair, fault, sentence):
    (server, _, _), (client, text, _) = pair(*BANDWIDTH, faults=f"mlx5_0={fault}")
    assert (server, client) == (0, 1)
    first, second = steps(text)
    assert not first.endswith("code=0") and second == "step ib_write_bw mlx5_1 alone code=0"
    assert sentence.format(os.uname().nodename) in text
    assert text.endswith("Result: FAIL\n")


def test_a_client_that_is_killed_is_no_pass(pair):
    (_, _, _), (code, text, _) = pair(*BANDWIDTH, faults="mlx5_1=crash:client")
    assert code == 1 and "step ib_write_bw mlx5_1 alone code=137" in text


@pytest.mark.thorough
def test_a_rank_that_is_alone_gives_up_and_says_what_is_missing(pair):
    code, text, errors = pair(*BANDWIDTH, ranks=(1,))
    assert code == 4 and "the server has not answered in 8 s: check that it runs and that both nodes can " in errors
    assert text == "Result: FAIL\n"


@pytest.mark.thorough
def test_nothing_is_left_where_a_rank_is_killed(pair, tmp_path):
    server, client = pair.start(*BANDWIDTH, faults="mlx5_0=hang")
    end = time.monotonic() + 20
    while not list((tmp_path / "meeting").glob("*.client")) and time.monotonic() < end:
        time.sleep(0.02)
    server.send_signal(signal.SIGKILL)
    text, errors = client.communicate(timeout=60)
    assert client.returncode != 0 and text.endswith("Result: FAIL\n")
    assert "the server has not answered" in errors
    end = time.monotonic() + 10
    while (left := of_stand_in()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left


def of_stand_in():
    """Processes of the stand-in."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [file.parent.name] if b"/bin/ib_write_bw" in file.read_bytes() else []
        except OSError:
            continue
    return found


def test_memory_of_a_gpu_is_that_of_the_one_behind_the_same_switch(pair):
    _, (code, text, _) = pair("--memory", "cuda", *BANDWIDTH, adapters="mlx5_0,mlx5_2")
    assert code == 0
    assert [line for line in text.splitlines() if "Picking" in line] == [
        "| Picking device No. 1",
        "| Picking device No. 0",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ((), 2, "no program: name a perftest program"),
        (("ib_no_such",), 2, "ib_no_such is not on PATH: install perftest, or load its module"),
        (("--memory", "tape", "ib_write_bw"), 2, "--memory tape: use host or cuda"),
        (("--fast", "ib_write_bw"), 2, "unknown option --fast"),
        (("--limit", "long", "ib_write_bw"), 2, "--limit long: use numbers"),
        (("--limit",), 2, "--limit needs a value"),
        (("--limit", "0", "ib_write_bw"), 2, "--limit 0: use numbers"),
        (("--limit", "", "ib_write_bw"), 2, "--limit : use numbers"),
        (("--limit", "08", "ib_write_bw"), 2, "--limit 08: use numbers"),
        (("--limit", "9" * 20, "ib_write_bw"), 2, "use at most 999999 seconds"),
        (("--port", "", "ib_write_bw"), 2, "--port  --limit"),
        (("--port", "70000", "ib_write_bw"), 2, "--port 70000: use at most 65535"),
        (("--port", "9" * 20, "ib_write_bw"), 2, f"--port {'9' * 20}: use at most 65535"),
    ],
)
def test_bad_input_is_one_sentence(pair, arguments, code, sentence):
    found, _, errors = pair(*arguments, ranks=(0,))
    assert found == code and sentence in errors and errors.count("\n") == 1


def test_other_adapters_on_the_other_node_or_none_are_one_sentence_and_end_both(pair, tmp_path):
    make("workstation", tmp_path / "other")
    ends = pair(*BANDWIDTH, adapters="", sysfs={1: tmp_path / "other" / "sys"})
    assert all(code == 1 for code, _, _ in ends)
    assert any("nodes differ: mlx4_0 on this node, mlx5_0 mlx5_1 " in errors for _, _, errors in ends)
    (code, _, errors), _ = pair(*BANDWIDTH)
    assert code == 2 and "meeting belongs to another run: name a new folder with --into" in errors
    shutil.rmtree(tmp_path / "meeting")
    ends = pair(*BANDWIDTH, adapters="mlx5_99")
    assert all("no active RDMA adapter among mlx5_99 (" in errors or code == 1 for code, _, errors in ends)
