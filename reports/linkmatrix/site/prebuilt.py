"""The compiled programs of a platform wheel.

These programs have the host back end, and never MPI or NCCL. They have CUDA if the wheel was built with nvcc.
"""

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
def build_facts() -> dict[str, Any]:
    """The content of build.json: features, CMake's options, and versions of CUDA. {} without prebuilt programs."""
    try:
        content: dict[str, Any] = json.loads((FOLDER / "build.json").read_text(encoding="utf-8"))
    except OSError:
        return {}
    return content


def features() -> set[str]:
    """The features of the prebuilt programs that this machine can run, such as {"cuda"}."""
    found = set(build_facts().get("features", ()))
    return found - {"cuda"} if driver_is_old() else found


def driver_is_old() -> bool:
    """Whether this machine's NVIDIA driver is too old for the prebuilt programs. False without a driver."""
    try:
        version = re.search(r"\s(\d+)\.\d+[\d.]*\s", DRIVER.read_text(encoding="utf-8"))
    except OSError:
        return False
    oldest = OLDEST_DRIVER.get(str(build_facts().get("cuda", "")).partition(".")[0], 0)
    return version is not None and int(version[1]) < oldest


def needed_features(features: Iterable[str]) -> set[str]:
    """The given features that the selected tests need.

    A feature that is not in NEVER is always needed. If the selection of tests is unknown, all features are needed.
    """
    needed = os.environ.get(NEEDED)
    unneeded = set(NEVER) - {*needed.split()} if needed is not None else set()
    return {*features} - unneeded


def fits_machine(needed: Iterable[str], architectures: Iterable[str], machine: str | None) -> bool:
    """Whether the prebuilt programs have the needed features, and run on the processor and the GPUs.

    architectures: the architectures of the GPUs, such as "sm_90".
    machine: the architecture of the processor, such as "x86_64"; None or "" for any.
    """
    found = build_facts()
    if not found or machine not in (None, "", platform.machine()) or not set(needed) <= features():
        return False
    numbers = [int(number) for name in architectures for number in re.findall(r"\d+", name)]
    return all(number >= found.get("oldest_gpu", 0) for number in numbers)


def missing_tools(cxx: str, gpus: bool) -> list[str]:
    """The programs that a build with MPI needs, but that are not on PATH.

    cxx: the C++ compiler. gpus: whether the build needs CUDA too.
    """
    needed = ["cmake", cxx, *(["nvcc"] if gpus else []), "mpicxx", "mpirun"]
    return [name for name in needed if not shutil.which(name)]


def can_build(cxx: str, gpus: bool) -> bool:
    """Whether to build the programs with MPI on this machine.

    False if prebuilt programs exist, and a tool for the build is missing. Without prebuilt programs, True: then a build
    is the only way to get programs.
    cxx: the C++ compiler. gpus: whether the build needs CUDA too.
    """
    return not (build_facts() and missing_tools(cxx, gpus))


def left_out_sentence(cxx: str, gpus: bool) -> str:
    """A sentence with the tests that the prebuilt programs cannot run, and the tools that a build would need."""
    tests = "ranks of MPI and collectives of NCCL" if gpus else "ranks of MPI"
    missing = ", ".join(missing_tools(cxx, gpus))
    why = f"the prebuilt programs have neither MPI nor NCCL{f', and PATH lacks {missing}' if missing else ''}"
    return f"not measured: {tests}, because {why}"
