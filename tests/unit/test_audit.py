"""What is installed is locked by SHA-256."""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = Path(__file__).resolve().parents[2]
LOCKS = (REPOSITORY / "requirements.lock", REPOSITORY / "scripts" / "tools.lock")
ENTRY = re.compile(
    r"^([\w.-]+)==(\S+)(?: ; [^\n]*?)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_package_of_a_lock_has_its_hashes(lock):
    text = lock.read_text()
    assert len(ENTRY.findall(text)) == text.count("==") - len(re.findall(r" ; .*==", text)) > 0


def test_the_lock_has_what_the_package_wants():
    wanted = metadata.requires("linkmatrix")
    assert len(wanted) > 10
    check_locked(wanted, LOCKS[0])


def test_the_lock_of_tools_has_what_setup_may_install():
    said = subprocess.run(["scripts/setup", "--tools"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    check_locked(said.stdout.split(), LOCKS[1])


def check_locked(wanted, lock):
    """A version of each package is locked, and is one that is wanted."""
    locked = {}
    for name, version, _ in ENTRY.findall(lock.read_text()):
        locked.setdefault(name, []).append(Version(version))
    for requirement in map(Requirement, wanted):
        if requirement.name != "linkmatrix":
            assert any(version in requirement.specifier for version in locked[canonicalize_name(requirement.name)]), (
                requirement
            )


@pytest.fixture
def index(tmp_path):
    """What installs from a folder with a wheel in place of an index, and the SHA-256 of that wheel."""
    wheel = tmp_path / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        archive.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.dist-info/RECORD", "")
    (tmp_path / "scripts").mkdir()

    def install(sha256, *words):
        (tmp_path / "scripts" / "tools.lock").write_text(f"# made\ntiny==1 \\\n    --hash=sha256:{sha256}\n")
        command = [sys.executable, REPOSITORY / "scripts" / "pip_install", "--target", tmp_path / "site", *words]
        ways = {"LOCKED": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PATH": os.environ["PATH"]}
        done = subprocess.run(command, cwd=tmp_path, env=ways, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr, (tmp_path / "site" / "tiny.py").exists()

    return install, hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_a_file_that_is_not_the_locked_one_is_not_installed(index):
    install, right = index
    code, said, there = install("0" * 64, "tiny>=1")
    assert code == 2 and not there
    assert "provides another file than the locked file" in said and said.count("\n") == 1
    assert install(right, "tiny>=1") == (0, "", True)


def test_what_is_not_locked_is_not_installed(index):
    install, right = index
    code, said, there = install(right, "tiny", "other>=2")
    assert code == 2 and not there and "tools.lock has no other" in said
