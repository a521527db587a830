"""What a newcomer's machine may have against the set-up: one sentence with a remedy each, before anything is spoilt."""

import fcntl
import getpass
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NOBODY = 65534


def said(done):
    """(exit code, the lines that it printed)."""
    return done.returncode, (done.stdout + done.stderr).splitlines()


def as_user(*command, **keywords):
    """Runs a command as somebody whom modes of files bind; root is nobody for it."""
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.run(command, text=True, capture_output=True, timeout=60, check=False, **user, **keywords)


@pytest.fixture
def clone(tmp_path):
    """A function that puts what the set-up consists of into a folder, with programs that a test puts first on PATH."""

    def make(folder=tmp_path / "clone", programs=None):
        shutil.copytree(REPOSITORY / "scripts", folder / "scripts")
        shutil.copy(REPOSITORY / "pyproject.toml", folder)
        tools = tmp_path / "tools"
        tools.mkdir(exist_ok=True)
        for name, text in (programs or {}).items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)

        def setup(*arguments):
            environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
            command = ["scripts/setup", ".venv", *arguments]
            return subprocess.Popen(
                command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )

        return folder, setup

    return make


@pytest.mark.parametrize("name", ["my clone", "it's", "a$b", "a:b", 'say "hi"', "back\\slash"])
def test_a_path_that_reframe_cannot_take_is_refused_before_anything_is_made(clone, tmp_path, name):
    folder, setup = clone(tmp_path / name)
    before = {path.name for path in folder.iterdir()}
    process = setup()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2 and out.count("\n") == 1
    assert str(folder) in out and "mv " in out
    assert {path.name for path in folder.iterdir()} == before
    # the remedy, as it is written
    command = out[out.index("mv ") :].strip()
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(["bash", "-c", command], env={**os.environ, "HOME": str(home)}, check=True, timeout=60)
    assert (home / "linkmatrix" / "scripts" / "setup").is_file()


def test_a_clone_that_may_not_be_written_is_named():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "clone")
        shutil.copytree(REPOSITORY / "scripts", folder / "scripts")
        for path in (Path(place), folder):
            path.chmod(0o555)
        try:
            code, lines = said(as_user("scripts/setup", ".venv", cwd=folder))
        finally:
            Path(place).chmod(0o755)
    user = "nobody" if os.geteuid() == 0 else getpass.getuser()
    assert code == 2 and len(lines) == 1 and f"{folder} cannot be written by {user}" in lines[0]


def test_a_disk_without_room_for_what_is_installed_is_refused(clone):
    df = "#!/bin/sh\necho Filesystem\necho /dev/vda 999999 899999 102400 90% /\n"
    folder, setup = clone(programs={"df": df})
    process = setup()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2 and f"{folder} has 100 MiB of free space" in out
    assert not list((folder / ".venv").iterdir())


def test_all_missing_tools_are_named_in_one_run(clone, monkeypatch):
    """A bare Debian 12 needed four runs of make, because each run named one missing tool."""
    monkeypatch.setenv("CXX", "nosuch-cxx")
    monkeypatch.setenv("PYTHON", "nosuch-python")
    _, setup = clone()
    process = setup()
    out, _ = process.communicate(timeout=60)
    compiler, python = out.splitlines()
    assert process.returncode == 2 and "no C++ compiler 'nosuch-cxx'" in compiler and "apt install g++" in compiler
    assert "no python >= 3.10 is installed" in python and "apt install python3-venv" in python


def test_a_second_set_up_waits_for_the_first_and_has_nothing_left_to_do(clone):
    folder, setup = clone()
    (folder / ".build").mkdir()
    with (folder / ".build" / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = setup()
        assert "waiting" in second.stdout.readline()
        (folder / ".venv" / ".ready").touch()  # the first one is done
    assert second.communicate(timeout=60)[0] == "" and second.returncode == 0
    assert [path.name for path in (folder / ".venv").iterdir()] == [".ready"]


NEW = "Failed to establish a new connection: [Errno"
RETRYING = "WARNING: Retrying (Retry(total=0, connect=None, status=None)) after connection broken by"
AT_LAST = """ERROR: Could not find a version that satisfies the requirement setuptools>=77 (from versions: none)
ERROR: No matching distribution found for setuptools>=77
"""
#: what pip 23 printed, and what of it is said
OF_PIP = {
    f"{RETRYING} 'NewConnectionError('<…>: {NEW} -3] Temporary failure in name resolution')'"
    f": /simple/setuptools/\n{AT_LAST}": "PyPI cannot be reached: Temporary failure in name resolution; set",
    f"{RETRYING} 'ProxyError('Cannot connect to proxy.', NewConnectionError('<…>: {NEW} 111] Connection refused'))'\n"
    f"{AT_LAST}": "PyPI cannot be reached: Cannot connect to proxy; set https_proxy",
    f"{RETRYING} 'SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
    f"self-signed certificate (_ssl.c:1006)'))': /simple/setuptools/\n{AT_LAST}": "certificate verify failed",
    AT_LAST: "PyPI has no setuptools>=77, or answers with an error",
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n": "no space left: free",
    "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: '/v/x'\n": "be written",
    "  error: subprocess-exited-with-error\nERROR: Failed to build numpy\n": "failed: ERROR: Failed to build numpy",
    "": "pip printed no reason",
}


@pytest.mark.parametrize("printed", OF_PIP)
def test_what_pip_prints_when_it_fails_is_one_sentence(tmp_path, printed):
    (tmp_path / "pip.py").write_text(f"import sys\nsys.stderr.write({printed!r})\nsys.exit(1)\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    environment.pop("PIP_INDEX_URL", None)
    command = [sys.executable, REPOSITORY / "scripts" / "pip_install", "setuptools>=77"]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=60, check=False)
    code, lines = said(done)
    assert code == 2 and len(lines) == 1
    assert OF_PIP[printed].removeprefix("failed: ") in lines[0]
