"""The programs of a platform wheel: where they are used, where programs are built, and what is left out."""

import importlib
import json
import platform
from types import SimpleNamespace

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.site import machine, prebuilt
from tests.unit.test_generic_system import loaded

build_module = importlib.import_module("linkmatrix_checks.build")
WITH_CUDA = {"features": ["cuda"], "built": "cmake -DLINKMATRIX_CUDA=ON", "cuda": "13.0", "oldest_gpu": 75}
TOOLS = ("cmake", "g++", "nvcc", "mpicxx", "mpirun")
H200 = "NVIDIA H200, 9.0\n"


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A function that installs prebuilt programs with this build.json, on a machine with this driver ("" for none)."""

    def install(content=WITH_CUDA, driver=""):
        folder = tmp_path / "prebuilt"
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "build.json").write_text(json.dumps(content))
        monkeypatch.setattr(prebuilt, "FOLDER", folder)
        monkeypatch.setattr(prebuilt, "DRIVER", tmp_path / "driver")
        if driver:
            (tmp_path / "driver").write_text(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue Aug\n")
        prebuilt.build_facts.cache_clear()

    prebuilt.build_facts.cache_clear()
    monkeypatch.delenv(prebuilt.NEEDED, raising=False)
    yield install
    prebuilt.build_facts.cache_clear()


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """A function that puts programs on PATH, and no others. nvidia-smi prints `gpus`."""

    def only(*names, gpus=""):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in [*names, *(["nvidia-smi"] if gpus else [])]:
            (folder / name).write_text(f"#!/bin/sh\n[ \"$1\" = topo ] || printf '%s' '{gpus}'\n")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        for name in ("CXX", "CUDA_VISIBLE_DEVICES", "NCCL_ROOT", "NCCL_HOME", "NCCL_DIR"):
            monkeypatch.delenv(name, raising=False)

    return only


def chosen(features, arch="sm_90", lacks="", **options):
    """The build after the choice of its method, for a partition and an environment with these features."""
    gpu = SimpleNamespace(arch=arch)
    run = SimpleNamespace(
        method="auto",
        cmake_opts=[],
        left_out="",
        current_partition=SimpleNamespace(
            features=features.split(),
            scheduler=SimpleNamespace(registered_name="local"),
            select_devices=lambda kind: [gpu] if "cuda" in features else [],
            processor=SimpleNamespace(platform=platform.machine()),
        ),
        current_environ=SimpleNamespace(features=features.split(), cxx="g++"),
        missing_tool=lambda: lacks,
        spack_root=lambda: None,
        place=lambda: (),
    )
    vars(run).update(options)
    for name in ("features", "can_use_prebuilt", "choose_spack", "with_prebuilt"):
        setattr(run, name, getattr(build_module.build_linkmatrix, name).__get__(run))
    run.choose_spack()
    return run


@pytest.fixture(autouse=True)
def without_spack(monkeypatch):
    monkeypatch.setattr(build_module.spack_environment, "unusable_reason", lambda *_: "there is no spack")


@pytest.mark.parametrize("features", ["", "cuda", "gpu cuda"])
def test_prebuilt_programs_are_used_where_they_have_all_features(wheel, features):
    wheel()
    run = chosen(features)
    assert run.method == "prebuilt"
    run.with_prebuilt()
    assert run.lacking == [] and run.built.startswith("prebuilt: cmake") and "ranks of MPI" in run.left_out


@pytest.mark.parametrize("features", ["mpi", "gpu cuda mpi", "gpu cuda nccl"])
def test_mpi_and_nccl_are_built_where_the_tools_are(wheel, features):
    wheel()
    assert chosen(features).method == "cmake"


@pytest.mark.parametrize(("needed", "method"), [("", "prebuilt"), ("gpu cuda", "prebuilt"), ("cuda mpi", "cmake")])
def test_nothing_is_built_for_features_that_no_selected_test_needs(wheel, monkeypatch, needed, method):
    wheel()
    monkeypatch.setenv(prebuilt.NEEDED, needed)
    run = chosen("gpu cuda mpi nccl")
    assert run.method == method
    if method == "prebuilt":
        run.with_prebuilt()
        assert run.lacking == [] and run.left_out == ""


def test_gpus_need_cuda_whatever_is_selected(wheel, monkeypatch):
    wheel({**WITH_CUDA, "features": []})
    monkeypatch.setenv(prebuilt.NEEDED, "")
    assert chosen("gpu cuda mpi").method == "cmake"


def test_without_a_compiler_the_features_that_no_wheel_has_are_named_as_lacking(wheel, on_path):
    wheel()
    on_path("mpirun")
    run = chosen("gpu cuda mpi nccl", lacks="no cmake is on PATH")
    assert run.method == "prebuilt"
    run.with_prebuilt()
    assert run.lacking == ["mpi", "nccl"]
    assert all(name in run.left_out for name in ("cmake", "g++", "mpicxx")) and "mpirun" not in run.left_out


@pytest.mark.parametrize(
    "changed",
    [
        {"content": {**WITH_CUDA, "features": []}},
        {"content": {**WITH_CUDA, "oldest_gpu": 100}},
        {"driver": "570.86.15"},
    ],
)
def test_programs_without_cuda_for_these_gpus_or_this_driver_are_not_used(wheel, changed):
    wheel(**changed)
    assert chosen("gpu cuda").method == "cmake"
    assert chosen("").method == "prebuilt"


def test_own_options_and_another_processor_need_a_build(wheel):
    wheel()
    assert chosen("", cmake_opts=["-DCMAKE_CXX_FLAGS=-O1"]).method == "cmake"
    assert not prebuilt.fits_machine([], [], "riscv64")


def test_without_a_platform_wheel_nothing_is_prebuilt(tmp_path, monkeypatch):
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path)
    prebuilt.build_facts.cache_clear()
    run = chosen("")
    assert run.method == "cmake" and prebuilt.features() == set()
    with pytest.raises(BadInput, match="no prebuilt programs"):
        run.with_prebuilt()


def partition_of(module):
    return module.system["partitions"][0], set(module.environments[0]["features"])


def test_gpus_are_measured_without_a_compiler_of_kernels(wheel, on_path):
    wheel()
    on_path(gpus=H200 * 2)
    partition, environment = partition_of(loaded())
    assert {"gpu", "cuda"} <= {*partition["features"]} and environment == {"cuda"}
    assert "collectives of NCCL" in prebuilt.left_out_sentence("g++", True)


@pytest.mark.parametrize("missing", ["cmake", "g++", "mpicxx"])
def test_ranks_are_left_out_where_nothing_can_be_built(wheel, on_path, missing):
    wheel()
    on_path(*(name for name in TOOLS if name != missing))
    partition, _ = partition_of(loaded())
    assert "mpi" not in partition["features"] and partition["launcher"] == "local" and not machine.machine().mpi
    assert f"PATH lacks {missing}" in prebuilt.left_out_sentence("g++", True)
