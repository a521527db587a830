"""A Slurm cluster of three nodes on this machine, and ReFrame on its login node: this machine itself."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from reframe_runs import AS_ROOT, wait_until

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
UNPACKED = REPOSITORY / ".build" / "debian" / "torque" / "usr" / "bin"  # where .ci/run puts Debian's package
NODES = 3
NEEDED = ("slurmctld", "slurmd", "slurmdbd", "mariadbd", "munged", "ip", "srun")


@pytest.fixture(scope="session")
def cluster(tools, need_namespaces, unavailable, started):
    """The environment variables that reach the cluster; it ends with the session."""
    missing = [tool for tool in NEEDED if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin")]
    if missing:
        unavailable(f"no {', '.join(missing)}: apt install slurm-wlm slurmdbd mariadb-server munge iproute2")
    # not in pytest's folder: munge and the database run as other users, and each start of pytest closes that folder
    base = Path(tempfile.mkdtemp(prefix="linkmatrix-slurm-"))
    base.chmod(0o755)
    with started(HERE / "cluster", base, str(NODES)):
        yield {"SLURM_CONF": str(base / "etc" / "slurm.conf")}
    shutil.rmtree(base, ignore_errors=True)  # the logs of a failed start stay


@pytest.fixture
def of_linkmatrix(cluster):
    """The environment of `linkmatrix` on the login node: of this repository, without GPUs, its polls seldom."""
    return {
        **os.environ,
        **cluster,
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": str(REPOSITORY / "reports"),
        **AS_ROOT,
        "RFM_POLL_RATE_MAX": "10",
    }


@pytest.fixture
def slurm(cluster):
    """A function that runs a command of Slurm and returns what it prints."""

    def run(*command):
        done = subprocess.run(command, env={**os.environ, **cluster}, capture_output=True, text=True, timeout=60)
        return done.stdout.strip()

    return run


@pytest.fixture
def hide(cluster):
    """A function that hides a folder from all nodes until the test ends: there it is empty, and another one."""
    run = Path(cluster["SLURM_CONF"]).parents[1] / "run"
    daemons = [file.read_text().strip() for file in run.glob("slurmd.*.pid")]
    hidden = []

    def everywhere(*command):
        for daemon in daemons:
            subprocess.run(["nsenter", "--mount", "--target", daemon, *command], timeout=20, check=True)

    def put(folder):
        folder.mkdir(parents=True, exist_ok=True)
        everywhere("mount", "-t", "tmpfs", "none", str(folder))
        hidden.append(folder)

    yield put
    for folder in hidden:
        everywhere("umount", "--lazy", str(folder))


class Daemons:
    """Slurm's daemons of the cluster, to be ended and started again."""

    def __init__(self, environment):
        self.folder = Path(environment["SLURM_CONF"]).parents[1]
        self.environment = {**os.environ, **environment, "MYSQL_UNIX_PORT": str(self.folder / "db" / "socket")}
        self.ended = []

    def end(self, name, number):
        os.kill(int((self.folder / "run" / f"{name}.pid").read_text()), number)
        self.ended.append(name)

    def start(self, name):
        """Its name is free, and its port too, a little after the other one has ended."""
        for _ in range(50):
            done = subprocess.run([name], env=self.environment, stdin=subprocess.DEVNULL, timeout=20, check=False)
            if done.returncode == 0:
                self.ended.remove(name)
                return
            time.sleep(0.2)

    def lose_jobs(self):
        """The controller ends and begins again without any job, and with numbers that accounting has no job of."""
        self.end("slurmctld", signal.SIGKILL)
        for file in (self.folder / "state").glob("job_state*"):
            file.unlink()
        with (self.folder / "etc" / "slurm.conf").open("a") as configuration:  # it stays: it is read more than once
            configuration.write(f"FirstJobId={1_000_000 + int(time.time()) % 60_000_000}\n")
        self.start("slurmctld")

    def restart_controller(self):
        """It reads its configuration anew: nodes are added by this alone."""
        self.end("slurmctld", signal.SIGTERM)
        self.start("slurmctld")

    @contextlib.contextmanager
    def configured_with(self, *lines):
        """While the context lasts, slurm.conf has further lines."""
        configuration = Path(self.environment["SLURM_CONF"])
        before = configuration.read_text()
        configuration.write_text(before + "".join(f"{line}\n" for line in lines))
        try:
            self.restart_controller()
            self.until_well()
            yield
        finally:
            configuration.write_text(before)
            self.restart_controller()

    def until_well(self):
        """All is as it was: accounting answers, and all nodes are idle."""
        for name in list(self.ended):
            self.start(name)

        def is_well():
            idle, accounting = (
                subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
                for command in (["sinfo", "-h", "-N", "-p", "cpu", "-t", "idle", "-o", "%N"], ["sacct", "-n"])
            )
            return len(idle.stdout.split()) == NODES and accounting.returncode == 0

        wait_until(is_well, "the cluster has no accounting or no idle nodes")


@pytest.fixture
def daemons(cluster):
    found = Daemons(cluster)
    yield found
    found.until_well()


@pytest.fixture
def fleet(daemons):
    """The partition `fleet`: the nodes, and 497 that there are in the configuration only; gone when the test ends."""
    gone = 'NodeName=gone[001-497] NodeAddr=10.98.77.253 State=DOWN Reason="never built"'
    with daemons.configured_with(gone, "PartitionName=fleet Nodes=ALL"):
        yield "fleet"


@pytest.fixture
def login(cluster, reframe, monkeypatch, tmp_path, config, undisturbed):
    """A function that runs ReFrame on the login node with config/systems/slurm_example.py.

    replace: {text of that file: other text}, as a site changes it; the system is then called slurm-other. config and
    system: others than those
    """
    for name, value in cluster.items():
        monkeypatch.setenv(name, value)

    def run(*options, replace=None, config=config, system="slurm-example", **keywords):
        if replace:
            system, config = "slurm-other", tmp_path / "config"
            shutil.copytree(REPOSITORY / "config", config, dirs_exist_ok=True)
            text = (config / "systems" / "slurm_example.py").read_text()
            for old, new in {'"name": "slurm-example"': '"name": "slurm-other"', **replace}.items():
                assert old in text, f"config/systems/slurm_example.py has no {old}"
                text = text.replace(old, new)
            (config / "systems" / "slurm_other.py").write_text(text)
            undisturbed(config)
        return reframe(f"--system={system}:cpu", *options, config=config, **keywords)

    return run


@pytest.fixture
def site(tmp_path, undisturbed):
    """This repository with a configuration of its own: what `linkmatrix run` is started in."""
    folder = tmp_path / "site"
    shutil.copytree(REPOSITORY / "config", folder / "config")
    undisturbed(folder / "config")
    for name in ("checks", "src", "reports"):
        (folder / name).symlink_to(REPOSITORY / name)
    return folder


@pytest.fixture
def when_running(slurm):
    """A function that waits for the job of a check and returns its number."""

    def running():
        jobs = slurm("squeue", "-h", "-t", "R", "-o", "%i %j")
        return re.search(r"^(\S+) rfm_(?:intranode_p2p|rank_p2p|nodes?_session)", jobs, re.MULTILINE)

    return lambda: wait_until(running, "no job of a check runs", 240)[1]  # the programs are built first


@pytest.fixture(scope="session")
def torque_commands(tmp_path_factory, unavailable):
    """A folder with the qsub, qstat and qdel that Slurm has for users of Torque, and what of Slurm they call."""
    wrappers = next((folder for folder in (UNPACKED, Path("/usr/bin")) if is_of_slurm(folder / "qsub")), None)
    if wrappers is None:
        unavailable("no qsub of Slurm: apt install slurm-wlm-torque, or see .ci/run")
    folder = tmp_path_factory.mktemp("torque")
    for name in ("qsub", "qstat", "qdel"):
        (folder / name).symlink_to(wrappers / name)
    for name in ("sbatch", "salloc", "srun", "squeue", "scancel"):
        (folder / name).symlink_to(shutil.which(name))
    return folder


def is_of_slurm(qsub):
    return qsub.exists() and b"This file is part of Slurm" in qsub.read_bytes()


@pytest.fixture
def process_of_rank():
    """A function that waits for the process of a rank of a program below srun, of this test: its number."""

    def processes():
        return set(Path("/proc").glob("[0-9]*"))

    before = processes()  # processes of an earlier test may still be ending

    def find(program, rank):
        for process in processes() - before:
            with contextlib.suppress(OSError):  # the process has ended
                named = (process / "comm").read_text() == f"{program}\n"
                if named and f"SLURM_PROCID={rank}\0".encode() in (process / "environ").read_bytes():
                    return int(process.name)
        return None

    # the programs are built first
    return lambda program, rank: wait_until(lambda: find(program, rank), f"no rank {rank} of {program} runs", 240)
