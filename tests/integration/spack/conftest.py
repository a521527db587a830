"""A site for Spack on this machine: its packages.yaml as `linkmatrix detect --spack` writes it, its folders our own.

spack-env/README.md, commands: a-site.

Spack itself is the one on PATH, with the repositories of packages that its configuration names.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from linkmatrix.site import spack

SETTINGS = Path(__file__).parent / "settings.py"
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
TIMEOUT = 1800  # seconds; a Spack that was never asked anything indexes its recipes first


@dataclass(frozen=True)
class Site:
    """Folders: `systems` has <system>/packages.yaml, Spack builds in `builds`/spack."""

    systems: Path
    builds: Path

    @property
    def packages(self):
        return self.systems / "spack-test" / "packages.yaml"


@pytest.fixture(scope="session")
def site(tmp_path_factory, tools):
    reason = spack.unusable_reason()
    if reason:
        pytest.skip(reason)
    if not (shutil.which("mpicxx") and shutil.which("mpirun")):
        pytest.skip("no MPI here, and Spack would build one")
    base = tmp_path_factory.mktemp("site")
    (base / "config").mkdir()
    command = [sys.executable, "-m", "linkmatrix", "detect", "--spack", "--system", "spack-test"]
    done = subprocess.run(
        [*command, "--config", base / "config"],
        timeout=TIMEOUT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return Site(base / "spack-env" / "systems", base / "builds")


@pytest.fixture
def other_site(site, tmp_path):
    """A copy of the site's packages.yaml, to be spoiled, and folders in which nothing was built."""
    there = Site(tmp_path / "other" / "systems", tmp_path / "other" / "builds")
    there.packages.parent.mkdir(parents=True)
    shutil.copy(site.packages, there.packages)
    return there


@pytest.fixture
def session(reframe, monkeypatch):
    """A function that builds at a site in a ReFrame session, and runs a check with what was built."""
    monkeypatch.setenv("LINKMATRIX_TEST_NVCC", NVCC)

    def run(site, *options, environment="gnu"):
        if "cuda" in environment and not Path(NVCC).exists():
            pytest.skip("no nvcc here, so nothing is built with CUDA")
        monkeypatch.setenv("LINKMATRIX_BUILD", str(site.builds))
        files = ["-C", str(SETTINGS), "--system=spack-test", "-p", f"^{environment}$"]
        what = ["-r", "-n", "device_to_device_flag_latency_sm$"]
        places = ["-S", f"build_linkmatrix.spack_systems={site.systems}"]
        return reframe(*files, *what, *places, *options, timeout=TIMEOUT)

    return run
