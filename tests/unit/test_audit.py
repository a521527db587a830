"""What is installed is locked by SHA-256, and a known hole in it is found, or it is said that nobody could look."""

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from datetime import date, timedelta
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
TODAY = date.today()
OLD = TODAY - timedelta(days=60)


def hole(package="jinja2", changed=TODAY, **affected):
    """An advisory in the OSV format: mended in 3.1.5, unless told otherwise."""
    events = [{"introduced": "0"}, {"fixed": "3.1.5"}]
    affected = affected or {"ranges": [{"type": "ECOSYSTEM", "events": events}]}
    return {
        "id": "PYSEC-1-1",
        "aliases": ["CVE-1-1", "GHSA-x"],
        "modified": f"{changed}T00:00:00Z",
        "affected": [{"package": {"name": package, "ecosystem": "PyPI"}, **affected}],
    }


@pytest.fixture
def audit(tmp_path):
    """Runs it on a lock of these lines, with these advisories, or a PATH on which pip-audit may be."""

    def run(lines, *advisories, words=(), path="/nowhere"):
        lock, place = tmp_path / "a.lock", tmp_path / "advisories"
        lock.write_text(lines)
        place.mkdir(exist_ok=True)
        for number, advisory in enumerate(advisories):
            (place / f"{number}.json").write_text(advisory if isinstance(advisory, str) else json.dumps(advisory))
        words = words or (["--advisories", place] if advisories else [])
        command = [sys.executable, REPOSITORY / "scripts" / "audit", *words, lock]
        done = subprocess.run(command, capture_output=True, text=True, env={"PATH": str(path)}, timeout=60)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    return run


def pip_audit(folder, says, code=0):
    """A stand-in for pip-audit on a PATH of its own."""
    folder.mkdir()
    (folder / "says").write_text(says)
    (folder / "pip-audit").write_text(f'#!/bin/sh\n/bin/cat "{folder}/says"\necho "it was down" >&2\nexit {code}\n')
    (folder / "pip-audit").chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("version", "affected", "found"),
    [
        ("3.1.4", {}, True),
        ("3.1.5", {}, False),
        ("3.1.10", {}, False),  # as text it would be less than 3.1.5
        ("3.1.4rc1", {}, True),
        ("9.9", {"versions": ["9.9"]}, True),
        ("9.9", {"versions": ["9.9.1"]}, False),
        ("2.0", {"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "2.1"}]}]}, False),
        ("2.1", {"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "2.1"}]}]}, True),
        ("2.2", {"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"last_affected": "2.2"}]}]}, True),
        ("2.3", {"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"last_affected": "2.2"}]}]}, False),
        ("2.3", {"ranges": [{"type": "GIT", "events": [{"introduced": "0"}]}]}, False),
    ],
)
def test_a_version_that_an_advisory_is_on_is_found_and_no_other(audit, version, affected, found):
    code, said = audit(f"Jinja2=={version}\n", hole(**affected))
    assert found == (code == 1) and code in (0, 1)
    assert (f"jinja2 {version}: PYSEC-1-1, CVE-1-1" in said) is found


def test_what_was_withdrawn_or_is_of_another_package_is_none(audit):
    assert audit("jinja2==1.0\n", {**hole(), "withdrawn": "2020-01-01T00:00:00Z"}, hole("jinja"))[0] == 0
    other = hole()
    other["affected"][0]["package"]["ecosystem"] = "npm"
    assert audit("jinja2==1.0\n", other)[0] == 0


def test_old_advisories_rule_no_hole_out_and_find_one_all_the_same(audit):
    code, said = audit("jinja2==9.9\n", hole(changed=OLD))
    assert code == 3 and "the newest of" in said and f"{OLD}" in said and "days ago" in said
    assert audit("jinja2==1.0\n", hole(changed=OLD))[0] == 1


def test_a_zip_of_advisories_is_read(audit, tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("PYSEC-1-1.json", json.dumps(hole()))
    assert audit("jinja2==1.0\n", words=["--advisories", tmp_path / "all.zip"])[0] == 1


@pytest.mark.parametrize(
    "advisory",
    ["{", "[]", '{"modified": "x"}', json.dumps(hole(ranges=[{"type": "ECOSYSTEM", "events": [{"introduced": "?"}]}]))],
)
def test_what_is_no_advisory_is_bad_input(audit, advisory):
    code, said = audit("jinja2==1.0\n", advisory)
    assert code == 2 and said.startswith("audit: ") and said.count("\n") == 1


def test_a_lock_of_nothing_is_bad_input(audit):
    code, said = audit("", hole())
    assert code == 2 and "locks nothing" in said


def test_without_advisories_and_pip_audit_it_is_said_that_nobody_could_look(audit):
    code, said = audit("jinja2==9.9\n")
    assert code == 3 and "known holes were not ruled out: there is no pip-audit here" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("says", "code", "expected", "words"),
    [
        ("", 1, 3, "pip-audit could not ask: it was down"),
        ('{"dependencies": [{"name": "jinja2", "version": "9.9", "vulns": []}]}', 0, 0, "0 known holes"),
        (
            '{"dependencies": [{"name": "jinja2", "version": "9", "vulns": [{"id": "P-1", "fix_versions": ["10"]}]}]}',
            1,
            1,
            "jinja2 9: P-1, mended in 10",
        ),
    ],
    ids=["no network", "none", "one"],
)
def test_pip_audit_is_believed_of_what_it_looked_at_alone(audit, tmp_path, says, code, expected, words):
    code_of, said = audit("jinja2==9.9\n", path=pip_audit(tmp_path / "bin", says, code))
    assert code_of == expected and words in said


def test_a_pip_audit_that_ends_well_and_looked_at_nothing_rules_no_hole_out(audit, tmp_path):
    says = '{"dependencies": [{"name": "jinja2", "skip_reason": "not found"}]}'
    code, said = audit("jinja2==9.9\n", path=pip_audit(tmp_path / "bin", says))
    assert code == 3 and "pip-audit left out 1, such as jinja2" in said


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
    assert "gives another file than was locked" in said and said.count("\n") == 1
    assert install(right, "tiny>=1") == (0, "", True)


def test_what_is_not_locked_is_not_installed(index):
    install, right = index
    code, said, there = install(right, "tiny", "other>=2")
    assert code == 2 and not there and "tools.lock has no other" in said
