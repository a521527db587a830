"""Build folders that several users share: who may write builds, and others copy finished programs."""

import os
import shlex
import subprocess
from types import SimpleNamespace

import pytest
from check_runs import checks

from linkmatrix.errors import BadInput

module, shared_build = checks("build"), checks("shared_build")


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A function that chooses how to build in a folder, with these files in it and this right to write there."""
    folder = tmp_path / ".build" / "programs"

    def of(files, may_write, preset=False):
        made = module.build_linkmatrix
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        monkeypatch.setattr(shared_build.os, "access", lambda path, mode: may_write)
        run = SimpleNamespace(
            current_partition=SimpleNamespace(features=[]),
            current_environ=SimpleNamespace(features=[], extras={}),
            build_folder=lambda: folder,
            preset_folder=lambda options: folder if preset else None,
            missing_tool=lambda: "",
            cmake_opts=[],
            programs=["p2p_matrix"],
            prebuild_cmds=[],
            postbuild_cmds=[],
        )
        for name in ("features", "architectures", "build_in"):
            setattr(run, name, getattr(made, name).__get__(run))
        made.with_cmake(run)
        return run

    of.folder = folder
    return of


BUILT = {"p2p_matrix": "", "built-from": f"{shared_build.present_source_hash()} p2p_matrix"}


@pytest.mark.parametrize("preset", [False, True])
def test_a_build_that_its_user_may_not_change_is_copied_and_nothing_is_written_there(shared, preset):
    before = {path: path.stat().st_mtime_ns for path in shared.folder.parent.rglob("*")}
    run = shared(BUILT, may_write=False, preset=preset)
    assert run.build_system.commands[-1] == f"cp {shared.folder}/p2p_matrix prefix/bin/"
    assert not [command for command in run.prebuild_cmds if "9>" in command] and not run.postbuild_cmds
    assert {path for path in shared.folder.parent.rglob("*")} - set(before) <= {
        shared.folder,
        *(shared.folder / name for name in BUILT),
    }


@pytest.mark.parametrize(
    "files", [{}, {"p2p_matrix": ""}, {**BUILT, "built-from": "other p2p_matrix"}, {"built-from": BUILT["built-from"]}]
)
def test_a_build_folder_without_the_programs_that_its_user_may_not_change_is_one_sentence(shared, files):
    with pytest.raises(BadInput, match=r"LINKMATRIX_BUILD") as caught:
        shared(files, may_write=False)
    assert str(shared.folder) in str(caught.value)


def test_a_preset_whose_programs_were_built_again_is_no_build_of_these_sources(shared):
    shared.folder.mkdir(parents=True)
    (shared.folder / "built-from").write_text(BUILT["built-from"])
    os.utime(shared.folder / "built-from", (1, 1))
    with pytest.raises(BadInput):
        shared({"p2p_matrix": ""}, may_write=False, preset=True)


def test_who_may_write_builds_a_preset_and_marks_it(shared):
    run = shared(BUILT, may_write=True, preset=True)
    assert any("9>" in command for command in run.prebuild_cmds)
    assert not (shared.folder / "built-from").exists()  # until it is built
    assert run.mark == (shared.folder / "built-from", BUILT["built-from"].encode())


def test_readers_of_a_build_wait_for_its_builder(tmp_path):
    """Both lock the same file; a folder that was never locked has none."""
    folder = tmp_path / "my build"
    reads = "\n".join(shared_build.shared_lock_commands(folder))
    assert subprocess.run(["bash", "-ec", f"{reads}\necho read"], capture_output=True, text=True).stdout == "read\n"
    assert not list(tmp_path.iterdir())
    writes = "\n".join(shared_build.exclusive_lock_commands(folder))
    reads = reads.replace(f"--timeout {shared_build.LOCKED_SECONDS}", "--nonblock")
    done = subprocess.run(
        ["bash", "-c", f"{writes}\nbash -c {shlex.quote(reads)} 9>&-"], capture_output=True, text=True
    )
    assert "locked by another session" in done.stderr
    assert (
        subprocess.run(["bash", "-ec", f"{reads}\n{reads}\necho read"], capture_output=True, text=True).stdout
        == "read\n"
    )
