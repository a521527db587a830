"""Finds NCCL in the same folders as src/cmake/nccl.cmake."""

import os
from collections.abc import Iterable
from pathlib import Path

VARIABLES = ("NCCL_ROOT", "NCCL_HOME", "NCCL_DIR")  # that modules and users set
SYSTEM = ("/usr", "/usr/local")


def header(prefix: str) -> Path:
    """The path of nccl.h below an installation prefix."""
    return Path(prefix) / "include" / "nccl.h"


def prefixes(toolkits: Iterable[str] = ()) -> list[str]:
    """The installation prefixes that contain nccl.h. toolkits: prefixes of CUDA, which are searched too."""
    given = [os.environ.get(name, "") for name in VARIABLES]
    return [prefix for prefix in dict.fromkeys([*given, *toolkits, *SYSTEM]) if prefix and header(prefix).is_file()]


def find_prefix(nvcc: str | None = None) -> str:
    """The first installation prefix with NCCL's header and library; "" if there is none.

    nvcc: the path of the CUDA compiler.
    """
    toolkits = [str(Path(nvcc).resolve().parents[1])] if nvcc else []
    return next((prefix for prefix in prefixes(toolkits) if has_library(prefix)), "")


def is_from_environment(prefix: str) -> bool:
    """Whether an environment variable of this shell names the prefix.

    In a shell without this variable, CMake does not find the prefix.
    """
    return bool(prefix) and prefix in map(os.environ.get, VARIABLES)


def has_library(prefix: str) -> bool:
    """Whether a library folder below the prefix contains libnccl.so."""
    return any(
        next(Path(prefix).glob(f"{folder}/libnccl.so*"), None) for folder in ("lib", "lib64", "lib/*-linux-gnu*")
    )
