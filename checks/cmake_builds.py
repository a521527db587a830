"""Builds with CMake that avoid repeated work: in a folder of `make build`, or in a folder configured once."""

import hashlib
import os
import re
import shlex
import shutil
from pathlib import Path

from reframe.core.buildsystems import CMake

PRESETS = ("host", "cuda", "mpi", "all", "test")  # in src/CMakePresets.json; `make test` builds the last one
#: Several sources per object, as in these presets: compiling takes a third of the time.
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=18")
MARK = "built-from"  # file of a build folder: the content of the sources, and the programs that were built from it
ENTRY = re.compile(r"^(?P<name>[\w-]+):\w+=(?P<value>.*)$", re.MULTILINE)


class BuiltByPreset(CMake):
    """A build in a folder that `make build` configured. CMake configures the folder again if the sources require it."""

    def emit_build_commands(self, environ):
        return super().emit_build_commands(environ)[-1:]


class ConfiguredOnce(CMake):
    """ReFrame's CMake build, which configures a folder only if it is not configured with this command yet.

    CMake checks compilers and libraries again each time that it configures. The build itself detects changes of
    CMakeLists.txt, of the files that it includes, and new files.
    """

    def emit_build_commands(self, environ):
        *prepare, configure, build = super().emit_build_commands(environ)
        # users remove the cache to configure a folder again
        cache, mark = (f"{self.builddir}/{name}" for name in ("CMakeCache.txt", "configured-by"))
        return [
            *prepare,
            f'if [ ! -e {cache} ] || [ "$(cat {mark} 2> /dev/null)" != {shlex.quote(configure)} ]; then',
            f"rm -f {mark}",  # a failed configuration leaves a folder that matches no command
            # CMake would trust its old facts about compilers that were repaired since
            f"{configure} || {{ rm -rf {cache} {self.builddir}/CMakeFiles/[0-9]*; false; }}",
            f"echo {shlex.quote(configure)} > {mark}",
            "fi",
            build,
        ]


def cache_of(folder):
    """{name: value} of a folder's CMakeCache.txt; {} for an unconfigured folder."""
    try:
        return {entry["name"]: entry["value"] for entry in ENTRY.finditer((folder / "CMakeCache.txt").read_text())}
    except (OSError, UnicodeDecodeError):
        return {}


def same_tool(path, name):
    """Whether the compiler in a cache is the compiler that the environment would use."""
    found = shutil.which(name) if name else None
    return bool(path and found) and os.path.realpath(path) == os.path.realpath(found)


def folder_of(root, source, environ, options):
    """The folder of a preset in `root` that matches the sources, compilers and options; None without one.

    options: {name: value} for CMake. An environment with its own modules, variables or flags never matches, because it
    may build other programs from the same options.
    """
    flags = (environ.cppflags, environ.cflags, environ.cxxflags, environ.fflags, environ.ldflags)
    if environ.modules or environ.env_vars or any(flags):
        return None
    for preset in PRESETS:
        cache = cache_of(root / preset)
        same_options = all(cache.get(name) == value for name, value in options.items())
        cuda = options.get("LINKMATRIX_CUDA") != "ON" or same_tool(cache.get("CMAKE_CUDA_COMPILER"), environ.nvcc)
        place = cache.get("CMAKE_HOME_DIRECTORY")
        if place == str(source) and same_options and cuda and same_tool(cache.get("CMAKE_CXX_COMPILER"), environ.cxx):
            return root / preset
    return None


def on_path(*tools):
    """[(file, modification time)] of the tools on PATH. A new MPI then requires a new build."""
    found = [os.path.realpath(path) for path in map(shutil.which, filter(None, tools)) if path]
    return [(path, os.stat(path).st_mtime_ns) for path in found]


def patience(folder):
    """A sentence for the first build in a folder, which takes minutes; "" for a later build."""
    if (folder / "CMakeCache.txt").exists():
        return ""
    return f"building in {folder}: the first build takes some minutes without output"


def content_of(source):
    """The SHA-256 of the names and contents of all files below a folder."""
    found = hashlib.sha256()
    for path in sorted(path for path in Path(source).rglob("*") if path.is_file()):
        for part in (str(path.relative_to(source)).encode(), path.read_bytes()):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def is_built(folder, content, programs, place=""):
    """Whether the subfolder `place` of a folder has programs of these sources.

    Compares hashes, because the times of files are wrong after a reinstallation.
    """
    try:
        known, *built = (folder / MARK).read_text().split()
    except (OSError, ValueError):
        return False
    return (
        known == content and set(programs) <= set(built) and all((folder / place / name).exists() for name in programs)
    )
