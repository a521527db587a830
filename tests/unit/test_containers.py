"""The files for containers do what CI does on a bare Debian 12, with the same packages, and both do the same."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ("Containerfile", "linkmatrix.def")
OF_A_CLONE = {"git", "ca-certificates"}  # which CI has before it begins


def text(name):
    return (REPOSITORY / "scripts" / "containers" / name).read_text(encoding="utf-8").replace("\\\n", " ")


def packages(name):
    return set(re.search(r"apt-get install -qy --no-install-recommends ([a-z0-9 .+-]+)", text(name))[1].split())


@pytest.mark.parametrize("name", FILES)
def test_what_it_installs_is_what_ci_installs(name):
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    known = {word for found in re.findall(r"packages\+?=\(([^)]*)\)", script) for word in found.split()}
    assert packages(name) - known == OF_A_CLONE
    assert {"python3-venv", "g++", "make", "libgtest-dev", "openmpi-bin"} <= packages(name)


def test_both_have_the_same():
    assert packages(FILES[0]) == packages(FILES[1])
    for name in FILES:
        assert "debian:12" in text(name) and "make build" in text(name) and "make .venv/.ready-test" in text(name)


def test_every_target_is_one_of_make():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8").replace("$(VENV)", ".venv")
    asked = {target for name in FILES for target in re.findall(r"\bmake (?!libgtest)([\w./-]+)", text(name))}
    assert {target for target in asked if not re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)} == set()


def test_what_a_clone_has_built_is_left_out_of_an_image():
    ignored = (REPOSITORY / ".containerignore").read_text(encoding="utf-8").split()
    assert {".venv", ".build", ".linkmatrix"} <= set(ignored)
