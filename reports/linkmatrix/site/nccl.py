"""Finds NCCL in the folders that src/cmake/nccl.cmake searches."""

import os
from collections.abc import Iterable
from pathlib import Path

VARIABLES = ("NCCL_ROOT", "NCCL_HOME", "NCCL_DIR")  # as modules and people set them
SYSTEM = ("/usr", "/usr/local")


def header(prefix: str) -> Path:
    """The path of the header below a prefix."""
    return Path(prefix) / "include" / "nccl.h"


def prefixes(toolkits: Iterable[str] = ()) -> list[str]:
    """The prefixes with the header. toolkits: prefixes of CUDA."""
    given = [os.environ.get(name, "") for name in VARIABLES]
    return [prefix for prefix in dict.fromkeys([*given, *toolkits, *SYSTEM]) if prefix and header(prefix).is_file()]


def place(nvcc: str | None = None) -> str:
    """The first prefix with header and library; "" without one. nvcc: the path of the CUDA compiler."""
    toolkits = [str(Path(nvcc).resolve().parents[1])] if nvcc else []
    return next((prefix for prefix in prefixes(toolkits) if has_library(prefix)), "")


def is_from_environment(prefix: str) -> bool:
    """Whether CMake finds a prefix only by environment variables of this shell."""
    return bool(prefix) and prefix in map(os.environ.get, VARIABLES)


def has_library(prefix: str) -> bool:
    """Whether a folder of libraries, or the folder of an architecture inside it, contains the library."""
    return any(
        next(Path(prefix).glob(f"{folder}/libnccl.so*"), None) for folder in ("lib", "lib64", "lib/*-linux-gnu*")
    )
