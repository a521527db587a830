"""Where NCCL is: the places that src/cmake/nccl.cmake looks into."""

import os
from collections.abc import Iterable
from pathlib import Path

VARIABLES = ("NCCL_ROOT", "NCCL_HOME", "NCCL_DIR")  # as modules and people set them
SYSTEM = ("/usr", "/usr/local")


def header(prefix: str) -> Path:
    """Where a prefix has the header."""
    return Path(prefix) / "include" / "nccl.h"


def prefixes(toolkits: Iterable[str] = ()) -> list[str]:
    """Those that have the header; toolkits: prefixes of CUDA."""
    said = [os.environ.get(name, "") for name in VARIABLES]
    return [prefix for prefix in dict.fromkeys([*said, *toolkits, *SYSTEM]) if prefix and header(prefix).is_file()]


def place(nvcc: str | None = None) -> str:
    """The first prefix with header and library; "" where there is none. nvcc: the compiler of a CUDA."""
    toolkits = [str(Path(nvcc).resolve().parents[1])] if nvcc else []
    return next((prefix for prefix in prefixes(toolkits) if has_library(prefix)), "")


def told(prefix: str) -> str:
    """The prefix, if CMake would find it only in a shell with this one's variables; else ""."""
    return prefix if prefix in [os.environ.get(name) for name in VARIABLES] else ""


def has_library(prefix: str) -> bool:
    """Is the library there, in a folder of libraries or in that of an architecture below one?"""
    return any(
        next(Path(prefix).glob(f"{folder}/libnccl.so*"), None) for folder in ("lib", "lib64", "lib/*-linux-gnu*")
    )
