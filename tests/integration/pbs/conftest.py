"""An OpenPBS cluster of two nodes, and ReFrame on its login node: this machine itself."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from reframe_runs import wait_until

HERE = Path(__file__).parent
NODES = 2


@pytest.fixture(scope="session")
def pbs(tmp_path_factory, tools, need_namespaces, started):
    """A function that runs a command of PBS and returns what it prints; the daemons end with the session."""
    qsub = shutil.which("qsub")
    if not qsub:
        pytest.skip("no qsub on PATH: OpenPBS is no Debian package; with its bin folder on PATH these tests run")
    if not (Path(qsub).resolve().parents[1] / "sbin" / "pbs_server").exists():
        pytest.skip(f"{qsub} belongs to no OpenPBS with a server")
    base = tmp_path_factory.mktemp("pbs")
    base.chmod(0o755)
    for folder in list(base.parents)[:3]:  # pytest keeps them to root; the database has a user of its own
        if folder.name.startswith("pytest"):
            folder.chmod(0o755)
    with started(HERE / "cluster", base, str(NODES)):

        def run(command, *arguments):
            done = subprocess.run([base / "bin" / command, *arguments], capture_output=True, text=True, timeout=60)
            return done.stdout.strip()

        run.commands, run.installed = base / "bin", Path(qsub).resolve().parents[1]
        yield run


@pytest.fixture
def login(pbs, on_system, monkeypatch):
    """A function that runs ReFrame on the login node with config/systems/pbs_example.py, for an MPI without PBS.

    gpus: how many each job asks for, as a partition with GPUs would.
    """
    monkeypatch.setenv("PATH", f"{pbs.commands}:{os.environ['PATH']}")
    variables = {
        "plm_rsh_agent": f"{pbs.commands}/agent",
        # the agent starts the daemon of each node, and is there as long as that is
        "plm_rsh_no_tree_spawn": "1",
        "orte_leave_session_attached": "1",
    }
    more = "".join(f', ["OMPI_MCA_{name}", "{value}"]' for name, value in variables.items())
    hosts = {'# "prepare_cmds"': '"prepare_cmds"', '# "env_vars"': '"env_vars"', '/hosts"]]': f'/hosts"]{more}]'}

    def run(*options, replace=None, gpus=0, **keywords):
        chunk = {'"max_jobs": 4,': f'"max_jobs": 4, "resources": [{{"name": "layout", "options": ["ngpus={gpus}"]}}],'}
        changes = {**hosts, **(chunk if gpus else {}), **(replace or {})}
        return on_system("pbs_example.py", "cpu", *options, replace=changes, **keywords)

    yield run
    for job in re.findall(r"^(\d+)\.", pbs("qstat"), re.MULTILINE):
        pbs("qdel", "-W", "force", job)


@pytest.fixture
def when(pbs):
    """A function that waits until the job of a check is in a state of qstat, and returns its number."""

    def find(state):
        return re.search(rf"^(\d+\.\S+) +rfm\S* +\S+ +\S+ {state} ", pbs("qstat"), re.MULTILINE)

    return lambda state: wait_until(lambda: find(state), f"no job of a check is in the state {state}")[1]


@pytest.fixture
def lose_node(pbs):
    """A function that kills the pbs_mom of a job's node, as if the node were lost; it is back when the test ends."""
    lost = []

    def lose(job):
        node = re.search(r"exec_host = (\w+)/", pbs("qstat", "-f", job))[1]
        found = subprocess.run(["ip", "netns", "pids", node], capture_output=True, text=True, timeout=10).stdout.split()
        lost.append(node)
        for number in found:
            with contextlib.suppress(FileNotFoundError):  # a process that ended since
                if Path(f"/proc/{number}/comm").read_text().strip() == "pbs_mom":
                    os.kill(int(number), signal.SIGKILL)

    yield lose
    for node in lost:
        command = [pbs.commands.parent / "inside", node, pbs.installed / "sbin" / "pbs_mom"]
        subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    nodes = ("pbsnodes", "-a", "-F", "dsv")
    wait_until(lambda: not lost or pbs(*nodes).count("|state=free|") == NODES, "lost nodes are not free again")
