"""Runs ReFrame with this repository's configuration and checks, in a process of its own, and reads what it left."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT = 900  # seconds; the first run builds the programs


@dataclass(frozen=True)
class Run:
    """One ReFrame session: its exit code, its output and the test cases of its report."""

    code: int
    output: str
    prefix: Path
    testcases: tuple

    def checks(self):
        """The test cases that measure, without the build."""
        return [case for case in self.testcases if not case["name"].startswith("build_")]

    def build(self):
        return next(case for case in self.testcases if case["name"].startswith("build_"))


def stop(reason):
    """Skips with the reason; fails where LINKMATRIX_NO_SKIP is set, as in CI."""
    if os.environ.get("LINKMATRIX_NO_SKIP"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
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
        stop(f"no ReFrame beside {sys.executable}")


@pytest.fixture
def reframe(tmp_path):
    """A function that runs `reframe` with our configuration and the given options; results go to a temporary folder.

    references: the text of p2p.yaml, none by default.
    """

    def run(*options, references="intranode_p2p: {}\n", python_path=(), timeout=TIMEOUT, config=REPOSITORY / "config"):
        prefix = tmp_path / f"results{len(list(tmp_path.iterdir()))}"
        (prefix / "references").mkdir(parents=True)
        (prefix / "references" / "p2p.yaml").write_text(references)
        environment = {
            **os.environ,
            "LINKMATRIX_PREFIX": str(prefix),
            # the back end host everywhere, so that the tests say the same on a machine with GPUs
            "CUDA_VISIBLE_DEVICES": "",
            "RFM_REFERENCE_PREFIX": str(prefix / "references"),
            "PYTHONPATH": os.pathsep.join([*map(str, python_path), str(REPOSITORY / "reports")]),
        }
        files = ["-C", str(config / "settings.py"), "-c", str(REPOSITORY / "checks"), "-R"]
        command = [str(Path(sys.executable).parent / "reframe"), "--nocolor", *files, *options]
        done = subprocess.run(
            command,
            env=environment,
            cwd=tmp_path,
            timeout=timeout,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        reports = list((prefix / "reports").glob("run-report-*.json"))
        testcases = json.loads(reports[0].read_text())["runs"][-1]["testcases"] if reports else ()
        return Run(done.returncode, done.stdout, prefix, tuple(testcases))

    return run
