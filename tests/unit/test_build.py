"""What a build may be used for again."""

import importlib
import subprocess
from types import SimpleNamespace

import pytest

on_path = importlib.import_module("linkmatrix_checks.build").on_path
ConfiguredOnce = importlib.import_module("linkmatrix_checks.configured_once").ConfiguredOnce

# stands for CMake: it notes what it is asked for, makes the cache, and fails where FAIL is set
CMAKE = """#!/bin/sh
echo "$1" >> "$LOG"
[ "$1" = --build ] || touch "$FOLDER/CMakeCache.txt"
[ -z "$FAIL" ]
"""


def tool(folder, text="#!/bin/sh\n"):
    folder.mkdir()
    path = folder / "mpicxx"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_build_is_of_the_mpi_that_path_gives_first(tmp_path, monkeypatch):
    one, other = tool(tmp_path / "one"), tool(tmp_path / "other")
    monkeypatch.setenv("PATH", f"{one.parent}:{other.parent}")
    first = on_path("mpicxx")
    assert [path for path, _ in first] == [str(one)]
    monkeypatch.setenv("PATH", f"{other.parent}:{one.parent}")
    assert on_path("mpicxx") != first


def test_a_build_is_not_of_an_mpi_that_was_replaced_in_its_place(tmp_path, monkeypatch):
    path = tool(tmp_path / "one")
    monkeypatch.setenv("PATH", str(path.parent))
    first = on_path("mpicxx")
    path.unlink()
    path.parent.rmdir()
    tool(path.parent, "#!/bin/bash\n")
    assert on_path("mpicxx") != first


def test_a_build_knows_an_mpi_by_the_file_that_a_link_leads_to(tmp_path, monkeypatch):
    real = tool(tmp_path / "openmpi-5")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpicxx").symlink_to(real)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    ((path, _),) = on_path("mpicxx", "", "no-such-compiler")
    assert path == str(real)


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A function that builds with an option of CMake, and what CMake was asked for: "configure" and "build"."""
    folder, log = tmp_path / "my build", tmp_path / "log"
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "cmake").write_text(CMAKE)
    (tools / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("LOG", str(log))
    monkeypatch.setenv("FOLDER", str(folder))
    environ = SimpleNamespace(
        cc="gcc",
        cxx="g++",
        ftn="",
        nvcc="",
        cppflags=[],
        cflags=[],
        cxxflags=["-O2 -DX=\"'y'\""],
        fflags=[],
        ldflags=[],
    )

    def run(option="-DA=1", fail=""):
        system = ConfiguredOnce()
        system.configuredir, system.builddir, system.config_opts = "src", f"'{folder}'", [option]
        script = "\n".join(["trap 'exit 1' ERR", *system.emit_build_commands(environ)])
        log.write_text("")
        monkeypatch.setenv("FAIL", fail)
        code = subprocess.run(["bash", "-c", script], check=False).returncode
        asked = ["build" if line == "--build" else "configure" for line in log.read_text().splitlines()]
        return asked if code == 0 else [*asked, "failed"]

    run.folder = folder
    return run


def test_a_folder_is_configured_once_for_the_same_options(build):
    assert build() == ["configure", "build"]
    assert build() == ["build"]
    assert build("-DA=2") == ["configure", "build"]
    assert build("-DA=1") == ["configure", "build"]


def test_a_folder_whose_cache_is_gone_is_configured_again(build):
    build()
    (build.folder / "CMakeCache.txt").unlink()
    assert build() == ["configure", "build"]


def test_a_configuration_that_failed_counts_for_none(build):
    build()
    assert build("-DA=2", fail="yes") == ["configure", "failed"]
    assert build("-DA=1") == ["configure", "build"]
