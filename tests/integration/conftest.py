"""Runs ReFrame with this repository's configuration and checks, in a process of its own, and reads what it left."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from reframe_runs import AS_ROOT, judged, wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT = 900  # seconds; the first run builds the programs
# Jobs have login shells. One that was killed while its pyenv took stock leaves a lock, for which each later one would
# wait a minute.
os.environ.setdefault("PYENV_REHASH_TIMEOUT", "0")
#: whose tests have real daemons or a real network, and all else that runs on this machine decides how long these take
LABS = ("slurm", "gridengine", "network", "pbs")  # the longest first


def lab(item):
    """The place of a test's lab among LABS; behind them where it needs none."""
    inside = item.path.is_relative_to(REPOSITORY / "tests/integration") and item.path.parent.name in LABS
    return LABS.index(item.path.parent.name) if inside else len(LABS)


def pytest_collection_modifyitems(items):
    """Sorts the tests of a lab first, because one process alone runs all tests of a lab.

    An integration test that fails runs once more, because other tests use the machine too. The summary lists the test
    as RERUN.
    """
    items.sort(key=lab)
    for item in items:
        if item.get_closest_marker("integration") and item.get_closest_marker("flaky") is None:
            item.add_marker(pytest.mark.flaky(reruns=1))


@dataclass(frozen=True)
class Run:
    """One ReFrame session: its exit code, its output and the test cases of its report."""

    code: int
    output: str
    prefix: Path
    testcases: tuple

    def checks(self):
        """The test cases that are judged: not the build, and not the sessions that ran them."""
        return [case for case in self.testcases if not case["fixture"]]

    def build(self):
        return next(case for case in self.testcases if case["name"].startswith("build_"))


def stop(reason):
    """Skips with the reason; fails where LINKMATRIX_NO_SKIP is set, as in CI."""
    if os.environ.get("LINKMATRIX_NO_SKIP"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def unavailable():
    """A function that ends a test for a reason that lies in this machine."""
    return stop


@pytest.fixture(scope="session")
def tools():
    """What a run on this machine needs."""
    for tool in ("g++", "cmake"):
        if not shutil.which(tool):
            stop(f"no {tool} on PATH")
    if not (Path(sys.executable).parent / "reframe").exists():
        stop(f"ReFrame is not installed in the folder of {sys.executable}")


def ignoring_others(config):
    """Changes a copy of config/: partitions ignore other processes, which on a machine that tests may be many."""
    for file in (config / "systems").glob("*.py"):
        file.write_text(file.read_text().replace('"extras": {', '"extras": {"ignored_processes": ["*:*"], '))
    return config


@pytest.fixture(scope="session")
def undisturbed():
    """`ignoring_others`, for the conftest.py of each scheduler."""
    return ignoring_others


@pytest.fixture(scope="session")
def config(tmp_path_factory):
    """A copy of config/, whose partitions ignore other processes."""
    folder = tmp_path_factory.mktemp("configuration") / "config"
    shutil.copytree(REPOSITORY / "config", folder)
    return ignoring_others(folder)


@pytest.fixture
def reframe(tmp_path, config):
    """A function that runs `reframe` with our configuration and the given options; results go to a temporary folder.

    references: the text of p2p.yaml, and of the files in its place, none by default. folder: the name of that of
    results. umask: of all that is written, as of this process by default. polls: how often a second a scheduler may be
    asked, None: as the configuration says; those of the tests are theirs alone.
    """

    def run(
        *options,
        references="intranode_p2p: {}\n",
        python_path=(),
        timeout=TIMEOUT,
        config=config,
        folder="results",
        umask=-1,
        polls=10,
    ):
        prefix = tmp_path / f"{folder}{len(list(tmp_path.iterdir()))}"
        (prefix / "references").mkdir(parents=True)
        for file in (REPOSITORY / "config" / "references").glob("*.yaml"):  # which one, says the partition
            (prefix / "references" / file.name).write_text(references)
        environment = {
            **os.environ,
            **AS_ROOT,
            "LINKMATRIX_PREFIX": str(prefix),
            # the back end host everywhere, so that the tests say the same on a machine with GPUs
            "CUDA_VISIBLE_DEVICES": "",
            "RFM_REFERENCE_PREFIX": str(prefix / "references"),
            "PYTHONPATH": os.pathsep.join([*map(str, python_path), str(REPOSITORY / "reports")]),
            **({"RFM_POLL_RATE_MAX": str(polls)} if polls else {}),
        }
        files = ["-C", str(config / "settings.py"), "-c", str(REPOSITORY / "checks"), "-R"]
        command = [str(Path(sys.executable).parent / "reframe"), "--nocolor", *files, *options]
        done = subprocess.run(
            command,
            env=environment,
            cwd=tmp_path,
            timeout=timeout,
            umask=umask,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        reports = list((prefix / "reports").glob("run-report-*.json"))
        testcases = json.loads(reports[0].read_text())["runs"][-1]["testcases"] if reports else ()
        return Run(done.returncode, done.stdout, prefix, tuple(testcases))

    return run


@pytest.fixture
def ranks(reframe, unavailable):
    """A function that runs checks of ranks with these options of ReFrame. Skips the test without an MPI."""

    def run(*options, **keywords):
        done = reframe(*options, **keywords)
        if not done.checks():
            unavailable("no MPI here, so ReFrame has no rank check to run")
        return done

    return run


@pytest.fixture
def on_system(reframe, tmp_path):
    """A function that runs ReFrame on a partition of a shipped system, its file changed as a site changes it.

    file: name of the file in config/systems; replace: {text of it: other text}; grace: seconds in the place of
    BoundedWaits.GRACE_SECONDS.
    """

    def run(file, partition, *options, replace=None, grace=None, **keywords):
        config = tmp_path / "config"
        shutil.copytree(REPOSITORY / "config", config, dirs_exist_ok=True)
        path = config / "systems" / file
        text = path.read_text()
        for old, new in (replace or {}).items():
            assert old in text, f"{path.name} has no {old}"
            text = text.replace(old, new)
        if grace is not None:
            text += "\nfrom linkmatrix.reframe_ext.schedulers.pbs import BoundedWaits\n"
            text += f"\nBoundedWaits.GRACE_SECONDS = {grace}\n"
        path.write_text(text)
        ignoring_others(config)
        system = file.removesuffix(".py").replace("_", "-")
        return reframe(f"--system={system}:{partition}", *options, config=config, **keywords)

    return run


def cluster_of(script, base, *arguments):
    """Runs `script up`, yields, and always runs `script down`; fails with the log where it does not come up."""
    log = base / "up.log"
    silent = {"stdin": subprocess.DEVNULL, "timeout": 180}
    try:
        with log.open("w") as output:  # daemons keep a pipe open: a file does not wait for them
            subprocess.run([script, "up", base, *arguments], stdout=output, stderr=output, check=True, **silent)
        yield
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.fail(f"the cluster did not come up:\n{log.read_text()}")
    finally:
        subprocess.run([script, "down", base], capture_output=True, check=False, **silent)


@pytest.fixture(scope="session")
def started():
    """A function that starts a cluster by its script, in a folder that its daemons' users can enter, and ends it."""
    return contextlib.contextmanager(cluster_of)


@pytest.fixture(scope="session")
def need_namespaces():
    """Skips where nobody may make network namespaces, and where no rank can be started."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces and a scheduler's daemons need root")
    if subprocess.run(["unshare", "--net", "--uts", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("this machine lets nobody make network namespaces: a container without the right to?")
    if not (shutil.which("mpicxx") and shutil.which("mpirun")):
        pytest.skip("no MPI here, so there are no ranks to start")


@pytest.fixture
def measuring(tmp_path):
    """A function that waits until a job's program measures: its scheduler says that it runs before it has begun."""

    def measures():
        outputs = tmp_path.glob("results*/stage/**/process1/out")
        return any("Link class" in output.read_text(errors="replace") for output in outputs)

    return lambda: wait_until(measures, "no program of a job measures")


@pytest.fixture
def sweep(login, monkeypatch):
    """A function that sweeps nodes of a lab, and returns the run, its tests by node and what `linkmatrix` says of it.

    login: the lab's own fixture; more: further words of the program's options
    """

    def run(nodes, *options, more=(), **keywords):
        monkeypatch.setenv("LINKMATRIX_NODES", nodes)
        words = ",".join(["--samples", "3", "--target-ci", "50", "--size", "1MiB", *more])
        done = login("-r", "--mode=sweep", "-S", f"node_sweep.extra_opts={words}", *options, **keywords)
        return done, {check["node"]: check for check in done.checks()}, judged(done)

    return run


@pytest.fixture
def meanwhile():
    """A function that runs another one on a thread of its own. The test fails with what that one raised."""
    with ThreadPoolExecutor() as threads:
        started = []
        yield lambda action: started.append(threads.submit(action))
        for one in started:
            one.result(timeout=30)
