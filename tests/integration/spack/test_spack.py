"""Spack, ReFrame, the recipe and the build fixture together; skipped where no Spack is on PATH."""

import json
import re
import threading
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools", "site")]

SPACK = ("-S", "build_linkmatrix.method=spack")


def built(run, environment):
    """The folder with what a passed session keeps of its build."""
    assert run.code == 0, run.output
    (build,) = (case for case in run.testcases if case["name"].startswith("build_") and case["environ"] == environment)
    return Path(build["outputdir"])


def refusal(run):
    """Why a build did not begin, without ReFrame's name of the error."""
    assert run.code != 0
    return run.build()["fail_reason"].partition(": ")[2].strip()


@pytest.mark.parametrize("environment, variants", [("gnu", "~cuda +mpi"), ("gnu-cuda", "+cuda cuda_arch=90 +mpi")])
def test_auto_takes_spack_and_the_results_say_what_it_built(site, session, environment, variants):
    run = session(site, environment=environment)
    kept = built(run, environment)
    how = json.loads((kept / "build.json").read_text())
    assert how["method"] == "spack"
    assert set(variants.split()) <= set(how["built"].split())
    assert "linkmatrix" in json.loads((kept / "spack.lock").read_text())["roots"][0]["spec"]
    assert {case["built"] for case in run.testcases} == {how["built"]}


def test_a_second_session_concretises_and_compiles_nothing(site, session):
    locks = [(built(session(site), "gnu") / "spack.lock").read_text() for _ in range(2)]
    said = (built(session(site), "gnu") / "rfm_build.out").read_text()
    assert locks[0] == locks[1]
    assert "Building" not in said and "Concretized" not in said


def test_two_sessions_at_once_build_the_same_without_collision(other_site, session):
    runs = []
    sessions = [threading.Thread(target=lambda: runs.append(session(other_site, *SPACK))) for _ in range(2)]
    for one in sessions:
        one.start()
        time.sleep(1)
    for one in sessions:
        one.join()
    assert len(runs) == 2
    locks = [(built(run, "gnu") / "spack.lock").read_text() for run in runs]
    assert locks[0] == locks[1]


def test_src_is_left_as_it_was(site, session):
    built(session(site), "gnu")
    sources = Path(__file__).resolve().parents[3] / "src"
    assert [path for path in sources.iterdir() if path.is_symlink()] == []


def test_a_failed_build_shows_what_the_compiler_said_and_where_the_log_is(site, session):
    run = session(site, *SPACK, "-S", "build_linkmatrix.spack_spec=cxxflags=-DLINKMATRIX_VERSION=nonsense")
    said = refusal(run)
    assert re.search(r"error: .*nonsense", said)
    logs = [path for path in said.split("logs: ")[1].split(", ") if "/spack/" in path]
    assert logs and all(Path(path.split()[0]).is_file() for path in logs)


def test_a_system_without_packages_is_built_by_cmake_and_says_why(other_site, session):
    other_site.packages.unlink()
    run = session(other_site)
    assert json.loads((built(run, "gnu") / "build.json").read_text())["method"] == "cmake"
    said = f"{other_site.packages} is missing: 'linkmatrix detect --spack --system spack-test' writes one"
    assert f"building with CMake alone, because {said}" in run.output
    assert refusal(session(other_site, *SPACK)) == said


def test_an_external_that_is_not_there_is_named_before_anything_is_built(other_site, session):
    text = other_site.packages.read_text()
    other_site.packages.write_text(re.sub(r"(cmake@.*\n.*prefix: ).*", r"\1/nowhere", text))
    said = refusal(session(other_site, *SPACK))
    assert re.fullmatch(r"\S+packages.yaml: cmake@\S+ should be in /nowhere, which is not a folder here: .*", said)
    assert not other_site.builds.exists()


def test_a_cuda_that_does_not_know_the_architecture_is_named(other_site, session, monkeypatch):
    monkeypatch.setenv("LINKMATRIX_TEST_CUDA_ARCH", "999")
    said = refusal(session(other_site, *SPACK, environment="gnu-cuda"))
    assert re.match(r"\S+packages.yaml: cuda@\S+ does not compile for cuda_arch 999: name a CUDA toolkit", said)
    assert "\n" not in said
    assert not other_site.builds.exists()


def test_nccl_without_cuda_is_refused_in_the_words_of_the_recipe(site, session):
    said = refusal(session(site, *SPACK, "-S", "build_linkmatrix.spack_spec=+nccl"))
    assert "+nccl needs +cuda: say '+cuda cuda_arch=90 +nccl', or '~nccl'" in said
