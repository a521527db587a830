"""The compiled programs of a platform wheel: host back end, CUDA if it was built with nvcc, no MPI and no NCCL."""

import json
import os
import platform
import re
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from .. import suite

FOLDER = suite.FOLDER / "prebuilt"
NEVER = ("mpi", "nccl")  # features that prebuilt programs never have
#: The environment variable with the features that the selected tests need, as `linkmatrix run` and `measure` set it.
NEEDED = "LINKMATRIX_NEEDED"
DRIVER = Path("/proc/driver/nvidia/version")
#: CUDA's major version → the oldest driver that runs its programs
OLDEST_DRIVER = {"11": 450, "12": 525, "13": 580}


@cache
def described() -> dict[str, Any]:
    """The build.json of the programs: their features, CMake's options and, with CUDA, versions; {} without programs."""
    try:
        content: dict[str, Any] = json.loads((FOLDER / "build.json").read_text(encoding="utf-8"))
    except OSError:
        return {}
    return content


def features() -> set[str]:
    """The features of the programs, such as {"cuda"}, that this machine can run."""
    found = set(described().get("features", ()))
    return found - {"cuda"} if driver_is_old() else found


def driver_is_old() -> bool:
    """Whether this machine has an NVIDIA driver that is too old for the programs."""
    try:
        version = re.search(r"\s(\d+)\.\d+[\d.]*\s", DRIVER.read_text(encoding="utf-8"))
    except OSError:
        return False
    oldest = OLDEST_DRIVER.get(str(described().get("cuda", "")).partition(".")[0], 0)
    return version is not None and int(version[1]) < oldest


def selected(features: Iterable[str]) -> set[str]:
    """The features without those of NEVER that no selected test needs; all if the selection is not known."""
    needed = os.environ.get(NEEDED)
    unneeded = set(NEVER) - {*needed.split()} if needed is not None else set()
    return {*features} - unneeded


def fit(needed: Iterable[str], architectures: Iterable[str], machine: str | None) -> bool:
    """Whether the wheel has programs with the needed features for this processor and GPUs such as "sm_90"."""
    found = described()
    if not found or machine not in (None, "", platform.machine()) or not set(needed) <= features():
        return False
    numbers = [int(number) for name in architectures for number in re.findall(r"\d+", name)]
    return all(number >= found.get("oldest_gpu", 0) for number in numbers)


def missing_tools(cxx: str, gpus: bool) -> list[str]:
    """The programs that PATH lacks for a build with MPI, and with CUDA for GPUs. cxx: the C++ compiler."""
    needed = ["cmake", cxx, *(["nvcc"] if gpus else []), "mpicxx", "mpirun"]
    return [name for name in needed if not shutil.which(name)]


def can_build(cxx: str, gpus: bool) -> bool:
    """Whether this machine can build programs with MPI. Without a platform wheel always True."""
    return not (described() and missing_tools(cxx, gpus))


def left_out(cxx: str, gpus: bool) -> str:
    """A sentence about the tests that the prebuilt programs cannot run, with the programs that a build lacks."""
    tests = "ranks of MPI and collectives of NCCL" if gpus else "ranks of MPI"
    missing = ", ".join(missing_tools(cxx, gpus))
    why = f"the prebuilt programs have neither MPI nor NCCL{f', and PATH lacks {missing}' if missing else ''}"
    return f"not measured: {tests}, because {why}"
