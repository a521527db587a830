"""What `make build` has compiled is not compiled again by a session, unless it would be something else."""

import importlib
import shutil
import stat
from types import SimpleNamespace

import pytest

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
    return preset_builds.folder_of(built.root, built.source, environment(**environ), options)


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
