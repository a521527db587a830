"""`linkmatrix init`: a site's folder has what is its own, takes the rest from the package, and outlives upgrades."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkmatrix import cli, suite

REPOSITORY = Path(__file__).resolve().parents[2]
SYSTEM = """system = {
    "name": "ours", "hostnames": ["none"],
    "partitions": [{"name": "gpu", "scheduler": "local", "launcher": "local", "environs": ["builtin"]}],
}
"""


@pytest.fixture
def site(tmp_path, linkmatrix):
    """The folder of a site, made anew."""
    folder = tmp_path / "site"
    out = linkmatrix.out("init", folder)
    assert f"next: cd {folder} && linkmatrix measure" in out
    return folder


def reframe(folder, *options):
    """Runs ReFrame as the commands do: (exit code, what it printed)."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LINKMATRIX_", "RFM_"))}
    environment["PYTHONPATH"] = str(REPOSITORY / "reports")
    command = [Path(sys.executable).parent / "reframe", "--nocolor", "-C", "config/settings.py", "-c", "checks", "-R"]
    if not command[0].exists():
        pytest.skip(f"ReFrame is not installed in the folder of {sys.executable}")
    done = subprocess.run(
        [*command, *options], cwd=folder, env=environment, text=True, capture_output=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def test_all_checks_are_there_and_results_go_to_the_site(site):
    code, out = reframe(site, "-l")
    assert code == 0 and "- intranode_p2p " in out and "skipping test file" not in out
    assert (site / ".linkmatrix" / "reframe.log").exists()


def test_objects_and_what_spack_is_told_are_the_sites(site):
    text = "import os, pathlib; from linkmatrix import suite; suite.settings(pathlib.Path('config').absolute())"
    text += "; print(os.environ['LINKMATRIX_BUILD'], os.environ['LINKMATRIX_SITE'])"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LINKMATRIX_", "RFM_"))}
    environment["PYTHONPATH"] = str(REPOSITORY / "reports")
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=site, env=environment, text=True, capture_output=True, timeout=60
    )
    assert done.stdout.split() == [str(site / ".build"), str(site)], done.stderr


def test_a_system_of_the_site_is_one_of_those_that_are_known(site):
    (site / "config" / "systems" / "ours.py").write_text(SYSTEM)
    code, out = reframe(site, "--system=ours", "--show-config=systems/0/prefix")
    assert code == 0 and str(site / ".linkmatrix") in out
    assert reframe(site, "--system=hgx-h200", "--show-config=general/0/topology_prefix")[1].count("topology") == 1


def test_a_reference_of_the_site_that_cannot_be_read_is_named(site):
    (site / "config" / "references" / "p2p.yaml").write_text("intranode_p2p: [\n")
    code, out = reframe(site, "-l")
    assert code != 0 and str(site / "config" / "references" / "p2p.yaml") in out


def test_the_differences_to_the_shipped_files_are_shown_and_nothing_is_changed(site, linkmatrix):
    assert " 0 files with differences, 0 files not in" in linkmatrix.out("init", site, "--diff")
    references = site / "config" / "references" / "p2p.yaml"
    references.write_text("ours: {}\n" + references.read_text())
    (site / "config" / "references" / "abci.yaml").unlink()
    (site / "config" / "systems" / "ours.py").write_text(SYSTEM)
    (site / "config" / "systems" / "abci.py").write_text(SYSTEM)
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    out = linkmatrix.out("init", site, "--diff")
    assert "\n-ours: {}\n" in out and "--- config/systems/abci.py of the site" in out and "ours.py" not in out
    assert out.splitlines()[-1].endswith(f"linkmatrix init {site}") and "2 files with differences" in out
    assert any(line.startswith("new in ") and line.endswith("abci.yaml") for line in out.splitlines())
    assert before == {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_a_folder_without_a_site_has_no_differences(tmp_path, linkmatrix):
    errors = linkmatrix.err("init", tmp_path / "none", "--diff")
    assert "is not a folder of linkmatrix init" in errors and not (tmp_path / "none").exists()


def test_what_a_site_wrote_outlives_an_upgrade(site, tmp_path, monkeypatch, linkmatrix):
    references = site / "config" / "references" / "p2p.yaml"
    references.write_text("intranode_p2p: {}\n")
    (site / "config" / "systems" / "ours.py").write_text(SYSTEM)
    (site / "config" / "references" / "abci.yaml").unlink()
    upgraded = tmp_path / "upgraded"
    (upgraded / "config" / "references").mkdir(parents=True)
    (upgraded / "config" / "references" / "abci.yaml").write_text("new: {}\n")
    (upgraded / "config" / "references" / "p2p.yaml").write_text("new: {}\n")
    listed = "".join(f"0  config/references/{name}.yaml\n" for name in ("abci", "p2p"))
    (upgraded / "config" / "SHA256SUMS").write_text(listed)
    (upgraded / "config" / "topology" / "vm-cpu").mkdir(parents=True)  # of the machine that a clone is on
    (upgraded / "config" / "topology" / "vm-cpu" / "devices.json").write_text("[]")
    (upgraded / "checks").mkdir()
    monkeypatch.setattr(suite, "FOLDER", upgraded)
    assert "1 files created" not in (out := linkmatrix.out("init", site)) and "1 file created" in out
    assert references.read_text() == "intranode_p2p: {}\n"
    assert (site / "config" / "systems" / "ours.py").read_text() == SYSTEM
    assert (site / "config" / "references" / "abci.yaml").read_text() == "new: {}\n"
    assert (site / "checks").resolve() == upgraded / "checks"
    assert not (site / "config" / "topology" / "vm-cpu").exists()


@pytest.mark.parametrize("name", ["my site", "a$b"])
def test_a_path_that_reframe_cannot_take_is_refused_before_anything_is_made(tmp_path, linkmatrix, name):
    assert "without spaces" in linkmatrix.err("init", tmp_path / name) and not (tmp_path / name).exists()


def test_a_clone_and_a_folder_of_other_checks_stay_as_they_are(tmp_path, linkmatrix):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.py").write_text("site_configuration = {}\n")
    assert "linkmatrix init did not write" in linkmatrix.err("init", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config"]
    (tmp_path / "other" / "checks").mkdir(parents=True)
    assert "is not a link: move it away" in linkmatrix.err("init", tmp_path / "other")


def test_the_command_that_is_told_is_one_that_a_shell_takes(tmp_path, linkmatrix):
    folder = tmp_path / "a;id"
    assert f"next: cd '{folder}' && linkmatrix measure" in linkmatrix.out("init", folder)


@pytest.mark.parametrize("below", ["config", "config/systems", "deep/er"])
def test_no_site_is_made_within_a_clone(tmp_path, linkmatrix, below):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.py").write_text("site_configuration = {}\n")
    assert f"is inside {tmp_path}" in linkmatrix.err("init", tmp_path / below)
    assert [path.name for path in tmp_path.rglob("*")] == ["config", "settings.py"]


@pytest.mark.parametrize("name", ["", "/config", "/config/references"])
@pytest.mark.parametrize("target", [None, "nowhere", "loop"])
def test_what_is_no_folder_in_the_place_of_one_is_said_and_left_alone(tmp_path, linkmatrix, name, target):
    place = tmp_path / f"loop{name}"
    place.parent.mkdir(parents=True, exist_ok=True)
    if target:
        place.symlink_to(place if target == "loop" else tmp_path / target)
    else:
        place.write_text("kept")
    assert f"{place} is not a folder" in linkmatrix.err("init", tmp_path / "loop")
    assert place.is_symlink() if target else place.read_text() == "kept"


def test_a_site_that_lies_in_a_clone_already_is_brought_up_to_date(site, tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.py").write_text("site_configuration = {}\n")
    assert cli.main(["init", str(site)]) == 0
