"""What `make build` makes of a machine: scripts/preset, with tools that a test puts on PATH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRESET = Path(__file__).resolve().parents[2] / "scripts" / "preset"


@pytest.fixture
def preset(tmp_path):
    """A function that runs it with these programs on PATH, and with NCCL where it is to be found."""

    def run(*arguments, tools=(), nccl=True):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        for name in tools:
            (folder / name).write_text("#!/bin/sh\n")
        for file in folder.iterdir():
            file.chmod(0o755)
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
