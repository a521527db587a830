"""config/settings.py as ReFrame reads it, and the check files that `linkmatrix run` loads."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks import p2p
from linkmatrix import cli, suite
from linkmatrix.runs.modes import MODES, WITHOUT_TESTS, paths_with_tests

REPOSITORY = Path(__file__).resolve().parents[2]
PRINTED = "import os, runpy; runpy.run_path({!r}); print(os.environ['RFM_REFERENCE_PREFIX'])"


@pytest.mark.parametrize(
    ("given", "folder"), [(None, "config/references"), ("", "config/references"), ("mine", "{}/mine"), ("/", "/")]
)
def test_the_folder_of_references_is_absolute(tmp_path, given, folder):
    """Tests are judged in other folders than that where ReFrame starts: a relative one has no references there."""
    (tmp_path / "mine").mkdir()
    variables = {**os.environ, "LINKMATRIX_PREFIX": str(tmp_path / "results"), "RFM_REFERENCE_PREFIX": given}
    done = subprocess.run(
        [sys.executable, "-c", PRINTED.format(str(REPOSITORY / "config" / "settings.py"))],
        env={name: value for name, value in variables.items() if value is not None},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == REPOSITORY / folder.format(tmp_path)


def test_acceptance_alone_takes_short_samples_and_no_mode_builds_simulations(tmp_path):
    modes = "print({one['name']: one['options'] for one in site_configuration['modes']})"
    text = (REPOSITORY / "config" / "settings.py").read_text()
    path = str(REPOSITORY / "config" / "settings.py")
    done = subprocess.run(
        [sys.executable, "-c", f"__file__ = {path!r}\n{text}\n{modes}"],
        env={**os.environ, "LINKMATRIX_PREFIX": str(tmp_path / "results")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    options = ast.literal_eval(done.stdout.splitlines()[-1])
    assert "--setvar=node_session.short_samples=72" in options["acceptance"]
    assert not any("short_samples" in one for mode in ("quick", "smoke", "measure") for one in options[mode])
    for mode, all_options in options.items():
        words = " ".join(all_options)
        assert "build_linkmatrix.programs=p2p_matrix,collective_perf" in words, f"{mode} builds nbody_scaling"


@pytest.mark.parametrize(
    ("program", "options", "taken"),
    [
        ("p2p_matrix", ["--backend", "cuda"], ("--short-samples", "72")),
        ("p2p_matrix", ["--backend", "mpi", "--sweep", "4K:1M"], ()),
        ("p2p_matrix", ["--backend", "mpi", "--concurrency", "matchings"], ()),
        ("collective_perf", ["--backend", "cuda"], ()),
    ],
)
def test_programs_without_repeated_samples_of_one_matrix_take_no_short_samples(program, options, taken):
    session = SimpleNamespace(short_samples=72)
    check = SimpleNamespace(
        session_class=session, program=program, program_opts=lambda: options, shared_testcase=lambda: "x"
    )
    assert p2p.p2p_matrix_run.short_opts(check) == taken


CHECK = "import reframe as rfm\n\n\n@rfm.simple_test\nclass ours(rfm.RunOnlyRegressionTest):\n    pass\n"


def listed(folder, mode, paths):
    """The tests of a mode on any system, and the lines with which ReFrame reports a file that it cannot read."""
    reframe = Path(sys.executable).parent / "reframe"
    if not reframe.exists():
        pytest.skip(f"ReFrame is not installed in the folder of {sys.executable}")
    chosen = [word for path in paths for word in ("-c", path)]
    tags = [option for option in MODES[mode] if option.startswith("--tag=")]
    command = [reframe, "--nocolor", "-C", "config/settings.py", *chosen, "-R", "-l", "--skip-system-check", *tags]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0 and "skipping" not in done.stdout + done.stderr
    return sorted(re.findall(r"^- (.*)", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("mode", WITHOUT_TESTS)
def test_the_files_of_a_mode_have_all_of_its_tests(tmp_path, mode):
    assert cli.main(["init", str(tmp_path / "site")]) == 0
    for folder in (REPOSITORY, tmp_path / "site"):
        paths = paths_with_tests(mode, folder)
        assert paths == paths_with_tests(mode, REPOSITORY) and "checks" not in paths
        found = listed(folder, mode, paths)
        assert found and found == listed(folder, mode, ["checks"])


def test_a_left_out_file_exists():
    names = {path.name for path in (suite.FOLDER / "checks").glob("*.py")}
    assert names.issuperset(*WITHOUT_TESTS.values())


def test_a_new_check_of_a_site_is_not_left_out(tmp_path):
    (tmp_path / "checks").mkdir()
    for name in ("ours.py", *WITHOUT_TESTS["quick"]):
        (tmp_path / "checks" / name).write_text(CHECK)
    (tmp_path / "checks" / "helper.py").write_text("")
    assert paths_with_tests("quick", tmp_path) == ["checks/ours.py"]
    (tmp_path / "checks" / "folder").mkdir()
    assert paths_with_tests("quick", tmp_path) == ["checks"]


def test_all_checks_are_loaded_for_other_modes_and_where_there_are_none(tmp_path):
    assert paths_with_tests("acceptance", REPOSITORY) == ["checks"]
    assert paths_with_tests("quick", tmp_path) == ["checks"]


def test_no_test_has_a_value_under_a_deprecated_name():
    """ReFrame walks the stack for each of them when it makes a test."""
    found = importlib.import_module("linkmatrix_checks.intranode").intranode_p2p.var_space
    assert [name for name, one in found.items() if one.is_deprecated() and one.is_defined()] == []
