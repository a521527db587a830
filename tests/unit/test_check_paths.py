"""Loading of tests by ReFrame: `linkmatrix run` loads fewer check files than there are, and loses no test of a mode."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from linkmatrix import cli, suite
from linkmatrix.runs.modes import MODES, WITHOUT_TESTS, check_paths

REPOSITORY = Path(__file__).resolve().parents[2]
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
        paths = check_paths(mode, folder)
        assert paths == check_paths(mode, REPOSITORY) and "checks" not in paths
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
    assert check_paths("quick", tmp_path) == ["checks/ours.py"]
    (tmp_path / "checks" / "folder").mkdir()
    assert check_paths("quick", tmp_path) == ["checks"]


def test_all_checks_are_loaded_for_other_modes_and_where_there_are_none(tmp_path):
    assert check_paths("acceptance", REPOSITORY) == ["checks"]
    assert check_paths("quick", tmp_path) == ["checks"]


def test_no_test_has_a_value_under_a_deprecated_name():
    """ReFrame walks the stack for each of them when it makes a test."""
    found = importlib.import_module("linkmatrix_checks.intranode").intranode_p2p.var_space
    assert [name for name, one in found.items() if one.is_deprecated() and one.is_defined()] == []
