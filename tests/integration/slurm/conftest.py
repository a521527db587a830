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

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
UNPACKED = REPOSITORY / ".build" / "debian" / "torque" / "usr" / "bin"  # where .ci/run puts Debian's package
NODES = 3
NEEDED = ("slurmctld", "slurmd", "slurmdbd", "mariadbd", "munged", "ip", "srun")


@pytest.fixture(scope="session")
def cluster(tools):
    """The environment variables that reach the cluster; it ends with the session."""
    missing = [tool for tool in NEEDED if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin")]
    if os.geteuid() != 0:
        pytest.skip("network namespaces and Slurm's daemons need root")
    if subprocess.run(["unshare", "--net", "--uts", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("this machine lets nobody make network namespaces: a container without the right to?")
    if missing:
        reason = f"no {', '.join(missing)}: apt install slurm-wlm slurmdbd mariadb-server munge iproute2"
        pytest.fail(reason) if os.environ.get("LINKMATRIX_NO_SKIP") else pytest.skip(reason)
    if not (shutil.which("mpicxx") and shutil.which("mpirun")):
        pytest.skip("no MPI here, so there are no ranks to start")
    # not below pytest's folder: munge and the database have users of their own, and any pytest that starts closes that
    base = Path(tempfile.mkdtemp(prefix="linkmatrix-slurm-"))
    base.chmod(0o755)
    script = HERE / "cluster"
    log, came_up = base / "up.log", False
    try:
        with log.open("w") as output:  # daemons keep a pipe open: a file does not wait for them
            subprocess.run(
                [script, "up", base, str(NODES)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=120,
                check=True,
            )
        came_up = True
        yield {"SLURM_CONF": str(base / "etc" / "slurm.conf")}
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.fail(f"the cluster did not come up:\n{log.read_text()}")
    finally:
        subprocess.run(
            [script, "down", base],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
        if came_up:  # else its logs stay
            shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def of_linkmatrix(cluster):
    """The environment of `linkmatrix` on the login node: of this repository, without GPUs, its polls seldom."""
    return {
        **os.environ,
        **cluster,
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": str(REPOSITORY / "reports"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
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
        for _ in range(300):
            idle, told = (
                subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
                for command in (["sinfo", "-h", "-N", "-p", "cpu", "-t", "idle", "-o", "%N"], ["sacct", "-n"])
            )
            if len(idle.stdout.split()) == NODES and told.returncode == 0:
                return
            time.sleep(0.2)
        raise AssertionError("the cluster did not become as it was")


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
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")

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

    def wait(seconds=240):  # it is built first
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in slurm("squeue", "-h", "-t", "R", "-o", "%i %j").splitlines():
                number, name = line.split(maxsplit=1)
                if re.match(r"rfm_(intranode_p2p|rank_p2p|nodes?_session)", name):
                    return number
            time.sleep(0.2)
        raise AssertionError("no job of a check began to run")

    return wait


@pytest.fixture(scope="session")
def torque_commands(tmp_path_factory):
    """A folder with the qsub, qstat and qdel that Slurm has for users of Torque, and what of Slurm they call."""
    wrappers = next((folder for folder in (UNPACKED, Path("/usr/bin")) if is_of_slurm(folder / "qsub")), None)
    if wrappers is None:
        reason = "no qsub of Slurm: apt install slurm-wlm-torque, or see .ci/run"
        pytest.fail(reason) if os.environ.get("LINKMATRIX_NO_SKIP") else pytest.skip(reason)
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

    before = processes()  # what an earlier test left may take its time to end

    def wait(program, rank, seconds=240):  # it is built first
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for process in processes() - before:
                try:
                    named = (process / "comm").read_text() == f"{program}\n"
                    if named and f"SLURM_PROCID={rank}\0".encode() in (process / "environ").read_bytes():
                        return int(process.name)
                except OSError:  # it has ended meanwhile
                    continue
            time.sleep(0.2)
        raise AssertionError(f"no rank {rank} of {program} began to run")

    return wait
