"""What `make build` makes of a machine: scripts/preset, with tools that a test puts on PATH."""

import importlib
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_programs import fake_program

PRESET = Path(__file__).resolve().parents[2] / "scripts" / "preset"


@pytest.fixture
def preset(tmp_path):
    """A function that runs it with these programs on PATH, and with NCCL where it is to be found."""

    def run(*arguments, tools=(), nccl=True):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        fake_program(folder / "python3", f'exec {sys.executable} "$@"')
        for name in tools:
            fake_program(folder / name)
        if nccl:
            for file in ("include/nccl.h", "lib/libnccl.so.2"):
                (tmp_path / file).parent.mkdir(exist_ok=True)
                (tmp_path / file).touch()
        reports = str(PRESET.parents[1] / "reports")
        environment = {"PATH": str(folder), "PYTHONPATH": reports, "NCCL_ROOT": str(tmp_path), "HOME": os.devnull}
        done = subprocess.run(["/bin/bash", PRESET, *arguments], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.mark.parametrize(
    ("tools", "name"),
    [
        ((), "host"),
        (("mpicxx",), "mpi"),
        (("nvcc", "nvidia-smi"), "cuda"),
        (("nvcc", "nvidia-smi", "mpicxx"), "all"),
        (("nvcc", "mpicxx"), "mpi"),
    ],
)
def test_the_preset_is_of_the_tools_that_are_there(preset, tools, name):
    assert preset(tools=tools) == name


def test_collectives_of_gpus_are_built_where_nccl_is_found_beside_cuda(preset):
    gpus = ("nvcc", "nvidia-smi")
    assert preset("nccl", tools=gpus) == "-DLINKMATRIX_NCCL=ON"


def test_without_gpus_nothing_is_said_of_nccl(preset):
    assert preset("nccl", tools=("mpicxx",)) == ""


SOURCES = {
    "CMakePresets.json": """{"version": 3, "configurePresets": [
  {"name": "host", "generator": "Ninja", "binaryDir": "${sourceDir}/../.build/host"}]}""",
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.21)
project(small LANGUAGES CXX)
if(CMAKE_CXX_COMPILER_VERSION STREQUAL "")
  message(FATAL_ERROR "it is not known which compiler this is")
endif()
""",
}


@pytest.fixture
def configure(tmp_path):
    """A function that configures sources of nothing with what a compiler is: (exit code, the compiler of the cache)."""
    if not all(map(shutil.which, ("cmake", "ninja", "c++"))):
        pytest.skip("no cmake, no ninja or no compiler here")
    (tmp_path / "scripts").mkdir()
    shutil.copy(PRESET.with_name("configure"), tmp_path / "scripts")
    (tmp_path / "src").mkdir()
    for name, text in SOURCES.items():
        (tmp_path / "src" / name).write_text(text)

    def again(name):
        environment = {**os.environ, "CXX": str(tmp_path / name)}
        command = [tmp_path / "scripts" / "configure", "host"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        cache = tmp_path / ".build" / "host" / "CMakeCache.txt"
        text = cache.read_text() if cache.exists() else ""
        return done.returncode, "".join(re.findall("^CMAKE_CXX_COMPILER:[A-Z]+=(.*)$", text, re.MULTILINE))

    def run(name, text):
        fake_program(tmp_path / name, text)
        return again(name)

    run.again = again
    return run


COMPILES = 'exec c++ "$@"'


def test_the_compiler_of_the_next_build_is_the_one_that_it_names(configure, tmp_path):
    assert configure("old", COMPILES) == (0, str(tmp_path / "old"))
    assert configure("new", COMPILES) == (0, str(tmp_path / "new"))


@pytest.mark.parametrize("name", ["new", "broken"])
def test_a_compiler_that_failed_leaves_nothing_to_one_that_works(configure, tmp_path, name):
    assert configure("broken", "exit 1") == (1, "")
    assert configure(name, COMPILES) == (0, str(tmp_path / name))


def test_a_configuration_by_the_same_compilers_keeps_what_was_built(configure, tmp_path):
    configure("old", COMPILES)
    built = tmp_path / ".build" / "host" / "program"
    built.touch()
    configure.again("old")
    assert built.exists()
    configure("new", COMPILES)
    assert not built.exists()


preset_builds = importlib.import_module("linkmatrix_checks.cmake_builds")
OPTIONS = {"LINKMATRIX_CUDA": "OFF", "LINKMATRIX_MPI": "ON", "CMAKE_BUILD_TYPE": "Release"}


def environment(**others):
    plain = {"cxx": "g++", "nvcc": "nvcc", "modules": [], "env_vars": {}}
    flags = dict.fromkeys(("cppflags", "cflags", "cxxflags", "fflags", "ldflags"), ())
    return SimpleNamespace(**{**plain, **flags, **others})


@pytest.fixture
def compilers(tmp_path, monkeypatch):
    """c++ and g++ are one, clang++ is another, and so is nvcc."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("g++", "clang++", "nvcc"):
        (folder / name).touch()
        (folder / name).chmod(stat.S_IRWXU)
    (folder / "c++").symlink_to(folder / "g++")
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def built(tmp_path, compilers):
    """A function that makes the folder of a preset, with entries of its cache that are to differ."""
    source = tmp_path / "src"

    def make(preset="mpi", **entries):
        cache = {
            "CMAKE_HOME_DIRECTORY": str(source),
            "CMAKE_CXX_COMPILER": str(compilers / "c++"),
            "LINKMATRIX_NCCL": "OFF",
            **OPTIONS,
            **entries,
        }
        folder = tmp_path / ".build" / preset
        folder.mkdir(parents=True)
        lines = ["# a comment", *(f"{name}:STRING={value}" for name, value in cache.items())]
        (folder / "CMakeCache.txt").write_text("\n".join(lines))
        return folder

    make.root, make.source = tmp_path / ".build", source
    return make


def found(built, options=OPTIONS, **environ):
    return preset_builds.matching_folder(built.root, built.source, environment(**environ), options)


def test_the_folder_that_make_build_left_is_taken(built):
    assert found(built) is None
    folder = built()
    assert found(built) == folder


@pytest.mark.parametrize(
    "entries",
    [
        {"LINKMATRIX_MPI": "OFF"},
        {"CMAKE_BUILD_TYPE": "Debug"},
        {"CMAKE_HOME_DIRECTORY": "/another/clone/src"},
        {"CMAKE_CXX_COMPILER": "/no/such/c++"},
    ],
)
def test_a_folder_of_other_options_sources_or_compilers_is_not(built, entries):
    built(**entries)
    assert found(built) is None


@pytest.mark.parametrize(
    "environ",
    [{"cxx": "clang++"}, {"modules": ["gcc/13"]}, {"env_vars": {"CPATH": "/opt"}}, {"cxxflags": ["-O1"]}],
)
def test_an_environment_that_compiles_otherwise_has_a_folder_of_its_own(built, environ):
    built()
    assert found(built, **environ) is None


def test_the_compiler_of_kernels_is_the_same_too(built, compilers):
    cuda = {**OPTIONS, "LINKMATRIX_CUDA": "ON"}
    folder = built("all", LINKMATRIX_CUDA="ON", CMAKE_CUDA_COMPILER=compilers / "nvcc")
    assert found(built, cuda) == folder
    shutil.rmtree(folder)
    built("all", LINKMATRIX_CUDA="ON", CMAKE_CUDA_COMPILER="/usr/local/cuda-11/bin/nvcc")
    assert found(built, cuda) is None


def test_a_cache_that_cannot_be_read_is_none(built):
    (built() / "CMakeCache.txt").write_bytes(b"\xff\xfe\x00")
    assert found(built) is None
