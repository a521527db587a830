"""Grid Engine on one host, and ReFrame on its login node: this machine itself."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from reframe_runs import wait_until

HERE = Path(__file__).parent
UNPACKED = HERE.parents[2] / ".build" / "debian" / "gridengine"  # where .ci/run puts Debian's packages


@pytest.fixture(scope="session")
def gridengine(tmp_path_factory, tools, need_namespaces, unavailable, started):
    """A function that runs a command of Grid Engine and returns what it prints; the daemons end with the session."""
    root = os.environ.get("GRIDENGINE_ROOT") or (str(UNPACKED) if UNPACKED.exists() else "")
    if not Path(f"{root}/usr/lib/gridengine/sge_qmaster").exists():
        unavailable("no Grid Engine: apt install gridengine-master gridengine-exec gridengine-client, or see .ci/run")
    base = tmp_path_factory.mktemp("gridengine")
    os.environ["GRIDENGINE_ROOT"] = root
    with started(HERE / "cluster", base):

        def run(command, *arguments):
            done = subprocess.run([base / "bin" / command, *arguments], capture_output=True, text=True, timeout=60)
            return done.stdout.strip()

        run.commands = base / "bin"
        yield run


@pytest.fixture
def login(gridengine, on_system, monkeypatch):
    """A function that runs ReFrame on the login node with config/systems/sge_example.py."""
    monkeypatch.setenv("PATH", f"{gridengine.commands}:{os.environ['PATH']}")
    yield lambda *options, **keywords: on_system("sge_example.py", "cpu", *options, **keywords)
    gridengine("qdel", "-f", "-u", "*")


@pytest.fixture
def when(gridengine):
    """A function that waits until the job of a check is in a state of qstat, and returns its number."""

    def find(state):
        return re.search(rf"^ *(\d+) +\S+ rfm_\S+ +\S+ +{state} ", gridengine("qstat"), re.MULTILINE)

    return lambda state: wait_until(lambda: find(state), f"no job of a check is in the state {state}")[1]


@pytest.fixture
def daemon(gridengine):
    """A function that returns the process number of sge_execd, which runs the host's jobs."""

    def find():
        for line in subprocess.run(["ip", "netns", "pids", "lmxge"], capture_output=True, text=True).stdout.split():
            if Path(f"/proc/{line}/comm").read_text().strip() == "sge_execd":
                return int(line)
        raise AssertionError("no sge_execd runs")

    return find
