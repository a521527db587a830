"""What a release says of itself is the same everywhere, and what GitHub reads can be read."""

import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import linkmatrix

REPOSITORY = Path(__file__).resolve().parents[2]


def read(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("src/CMakeLists.txt", r"^set\(LINKMATRIX_VERSION (\S+)\)"),
        ("CITATION.cff", r"^version: (.+)$"),
    ],
)
def test_the_version_is_the_same_everywhere(file, pattern):
    assert re.findall(pattern, read(file), re.MULTILINE) == [linkmatrix.__version__]


def test_the_project_of_cmake_is_of_the_release_that_is_under_way():
    release = re.sub(r"\.dev\d+$", "", linkmatrix.__version__)
    assert re.findall(r"^project\(linkmatrix VERSION (\S+) ", read("src/CMakeLists.txt"), re.MULTILINE) == [release]


def test_what_is_locked_is_what_development_asks_for_with_hashes():
    """`LOCKED=1 make setup`: a requirement that is new or raised stands there too."""
    text = re.sub(r"^#.*\n", "", read("requirements.lock"), flags=re.MULTILINE)
    locked = {}
    for entry in re.findall(r"^\S.*(?:\n .*)*", text, re.MULTILINE):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
        one = Requirement(entry.partition("\\")[0])
        locked.setdefault(canonicalize_name(one.name), []).append(str(one.specifier).removeprefix("=="))
    project = read("pyproject.toml")
    lists = [
        re.search(rf"^{name} = \[(.*?)\]$", project, re.MULTILINE | re.DOTALL)[1]
        for name in ("dependencies", "test", "docs")
    ]
    asked = [Requirement(word) for text in lists for word in re.findall(r'"([^"]+)"', re.sub(r"#.*", "", text))]
    asked = [one for one in asked if one.name != "linkmatrix"]
    assert len(asked) > 15
    for one in asked:
        versions = locked.get(canonicalize_name(one.name), [])
        assert versions and all(one.specifier.contains(version) for version in versions), f"{one}: {versions}"


def test_github_runs_what_ci_run_runs_and_builds_the_docs():
    jobs = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert any(command.endswith(".ci/run") for command in commands) and "make docs" in commands
    # what the tests need is said in one place
    assert not any(package in command for command in commands for package in ("g++", "slurm", "pytest"))


def test_what_github_keeps_of_hidden_folders_is_asked_for():
    """Without the word upload-artifact leaves out whatever has a name with a dot first, since its 4.4."""
    jobs = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]
    kept = [step["with"] for job in jobs.values() for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
    assert kept and all(one.get("include-hidden-files") is True for one in kept if one["path"].startswith("."))


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda p: p.name
)
def test_forms_of_issues_ask_for_the_version_and_name_each_field_once(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.name == "config.yml":
        assert form == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= set(form)
    fields = [one["id"] for one in form["body"]]
    assert len(set(fields)) == len(fields) and "version" in fields
    assert all(one["type"] in ("textarea", "input") and one["attributes"]["label"] for one in form["body"])


def test_the_citation_has_what_its_format_requires():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == re.findall('^license = "(.+)"$', read("pyproject.toml"), re.MULTILINE)[0]
