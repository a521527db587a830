"""Calls the Spack on PATH, and writes a packages.yaml with the packages that Spack finds on this machine."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ..errors import BadInput
from . import nccl as places

OLDEST = (1, 0)  # the first that knows the package API of spack-env/repo
TIMEOUT_S = 600  # the first question to a new Spack may fetch its recipes and index them
# the packages that get an entry if they are installed: compilers, build tools, MPI, CUDA
COMPILERS = ("gcc", "llvm")
MPIS = ("openmpi", "mpich", "mvapich", "cray-mpich", "intel-oneapi-mpi")
WANTED = (*COMPILERS, "cmake", "gmake", "ninja", *MPIS, "cuda")
HEADER = """# The packages of {host} that Spack does not build, and its preferences, from `linkmatrix detect --spack`.
#
# Complete this file for your site. linkmatrix chooses the packages to build by the features in
# config/systems. For a module instead of a prefix, write `modules: [name]`.
"""


def answer(*command: object, errors: bool = False) -> str:
    """The standard output of a command.

    Raises BadInput if the command cannot be run, fails, or does not end in TIMEOUT_S.
    errors: whether to append the standard error.
    """
    shown = " ".join(map(str, command))
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise BadInput(f"'{shown}' did not answer in {TIMEOUT_S} s") from None
    except OSError as error:
        raise BadInput(f"'{shown}' cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise BadInput(f"'{shown}' failed with exit code {done.returncode}: {lines[-1] if lines else 'no output'}")
    return done.stdout + (done.stderr if errors else "")


@cache
def version() -> str:
    """The version of the Spack on PATH, such as "1.1.0 (1fe8d53…)"; "" without Spack. Raises BadInput."""
    return answer("spack", "--version").strip() if shutil.which("spack") else ""


def unusable_reason() -> str:
    """The reason why the Spack on PATH cannot be used; "" if it can be used. Raises BadInput."""
    found = version()
    if not found:
        return "no spack is on PATH: source the share/spack/setup-env.sh of a Spack"
    numbers = re.match(r"(\d+)\.(\d+)", found)
    if not numbers or tuple(map(int, numbers.groups())) < OLDEST:
        return f"the Spack on PATH is {found}, and the recipe needs {'.'.join(map(str, OLDEST))} or newer"
    return ""


def packages_file(host: str, archs: list[str]) -> str:
    """The text of a packages.yaml for this machine. Raises BadInput.

    archs: the architectures of the machine's GPUs, such as ["90"].
    """
    reason = unusable_reason()
    if reason:
        raise BadInput(reason)
    packages = found_packages()
    providers = [name for name in MPIS if name in packages]
    compiler = next((name for name in COMPILERS if name in packages), None)
    # generic machine code, as CMake alone generates it, so that results do not depend on the build
    preferences: dict[str, Any] = {"all": {"target": [platform.machine()]}}
    if providers:
        preferences["all"]["providers"] = {"mpi": providers}
        preferences["mpi"] = {"buildable": False}
    if compiler:
        preferences |= {language: {"require": [compiler]} for language in ("c", "cxx")}
    return HEADER.format(host=host) + yaml.safe_dump(
        {"packages": preferences | packages | nccl(packages, archs)}, sort_keys=False, width=120
    )


def found_packages() -> dict[str, Any]:
    """Returns {name: entry of packages.yaml} for the packages in WANTED that Spack finds on this machine.

    Spack searches in a temporary environment.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "spack.yaml").write_text("spack:\n  specs: []\n  view: false\n")
        here, scope = ("spack", "-e", folder), f"env:{folder}"
        # compilers first, because Spack finds no MPI without a compiler
        answer(*here, "compiler", "find", "--scope", scope)
        answer(*here, "external", "find", "--not-buildable", "--scope", scope, *WANTED[len(COMPILERS) :])
        # includes the entries of the site and of the user
        every = yaml.safe_load(answer(*here, "config", "get", "packages"))["packages"]
    packages = {}
    for name in WANTED:
        entries = [with_cuda_prefix(name, entry) for entry in (every.get(name) or {}).get("externals", ())]
        # Spack also reports wrappers, such as the shims of pyenv
        real = {str(one): one for one in entries if "modules" in one or "shims" not in Path(one["prefix"]).parts}
        if real:
            packages[name] = {"buildable": False, "externals": list(real.values())}
    return packages


def with_cuda_prefix(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The entry of a package, with the real prefix of CUDA. Entries of other packages do not change.

    If nvcc is a link, Spack reports the prefix of the link. nvcc itself reports the real prefix.
    """
    nvcc = Path(entry.get("prefix", "")) / "bin" / "nvcc"
    if name != "cuda" or not nvcc.exists():
        return entry
    top = re.search(
        r"^#\$ TOP=(.+)$", answer(nvcc, "--dryrun", "-x", "cu", "-c", os.devnull, errors=True), re.MULTILINE
    )
    return entry | {"prefix": str(Path(top[1]).resolve())} if top else entry


def nccl(packages: dict[str, Any], archs: list[str]) -> dict[str, Any]:
    """Returns {"nccl": entry of packages.yaml}, or {} without NCCL. Spack does not search for NCCL itself.

    The searched places are $NCCL_ROOT and similar variables, the prefixes of CUDA, and /usr.
    """
    toolkits = [entry["prefix"] for entry in packages.get("cuda", {}).get("externals", ()) if "prefix" in entry]
    for prefix in places.prefixes(toolkits):
        text = places.header(prefix).read_text(errors="replace")
        numbers = [
            re.search(rf"^#define NCCL_{part} +(\d+)", text, re.MULTILINE) for part in ("MAJOR", "MINOR", "PATCH")
        ]
        if all(numbers):
            release = ".".join(number[1] for number in numbers if number)
            spec = f"nccl@{release}-1 +cuda" + (f" cuda_arch={','.join(archs)}" if archs else "")
            return {"nccl": {"buildable": False, "externals": [{"spec": spec, "prefix": str(prefix)}]}}
    return {}
