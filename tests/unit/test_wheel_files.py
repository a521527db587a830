"""The files of a wheel: those that are shipped, whatever a site has added or changed in the folders of its clone."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SUITE = ("checks", "config", "spack-env", "src")
SUMS = "config/SHA256SUMS"
REFERENCES = "config/references/p2p.yaml"
UPDATE = f"run: git ls-files config | grep -v SHA256SUMS | xargs sha256sum > {SUMS}"


@pytest.fixture
def sources(tmp_path):
    """A copy of what a wheel is made of, without git."""
    place = tmp_path / "sources"
    for name in (*SUITE, "reports"):
        shutil.copytree(REPOSITORY / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, place)
    return place


def build(sources):
    """Builds the package as pip does for a wheel: (exit code, what was printed, the folder _suite)."""
    # of this copy, though it may lie in a clone
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(sources.parent)}
    command = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", "built"]
    done = subprocess.run(command, cwd=sources, env=environment, text=True, capture_output=True, timeout=120)
    return done.returncode, done.stdout + done.stderr, sources / "built" / "linkmatrix" / "_suite"


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, text=True, capture_output=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


def test_the_files_of_a_site_are_not_in_a_wheel(sources):
    shipped = build(sources)[2]
    expected = files_of(shipped)
    added = ("config/systems/site.py", "config/topology/site-gpu/devices.json", "config/references/site.yaml")
    for name in (
        *added,
        "checks/site.py",
        "checks/__pycache__/build.pyc",
        "src/core/notes.txt",
        "spack-env/spack.lock",
    ):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text("")
    code, out, suite = build(sources)
    assert code == 0, out
    assert files_of(suite) == expected and "config/systems/generic.py" in expected


def test_the_files_of_a_wheel_are_those_that_git_tracks(sources):
    tracked = git(REPOSITORY, "ls-files", *SUITE)
    if tracked is None:
        pytest.skip("this is no clone, so git lists no files")
    assert files_of(build(sources)[2]) == set(tracked.split()), "MANIFEST.in lists the files of a wheel"


def test_the_sums_are_those_of_the_shipped_configuration():
    lines = (REPOSITORY / SUMS).read_text().splitlines()
    sums = {name: value for value, name in (line.split() for line in lines)}
    tracked = git(REPOSITORY, "ls-files", "config")
    assert tracked is None or {*sums, SUMS} == set(tracked.split()), UPDATE
    found = {name: hashlib.sha256((REPOSITORY / name).read_bytes()).hexdigest() for name in sums}
    assert found == sums, UPDATE


def test_edited_references_are_not_in_a_wheel(sources):
    shipped = (sources / REFERENCES).read_bytes()
    git(sources, "init")
    git(sources, "add", ".")
    git(sources, "commit", "-m", "all")
    (sources / REFERENCES).write_text("intranode_p2p: {}\n")
    code, out, suite = build(sources)
    assert code == 0, out
    assert (suite / REFERENCES).read_bytes() == shipped


def test_edited_references_without_git_are_refused_by_name(sources):
    (sources / REFERENCES).write_text("intranode_p2p: {}\n")
    code, out, _ = build(sources)
    assert code != 0 and REFERENCES in out and "linkmatrix init" in out


def test_a_file_of_an_earlier_build_is_not_in_a_wheel(sources):
    package = build(sources)[2].parent
    (package / "gone.py").write_text("")
    (package / "_suite" / "checks" / "gone.py").write_text("")
    assert build(sources)[0] == 0
    assert not (package / "gone.py").exists() and not (package / "_suite" / "checks" / "gone.py").exists()


def test_programs_stay_executable(sources):
    suite = build(sources)[2]
    assert os.access(suite / "src" / "peers" / "peer.sh", os.X_OK)
