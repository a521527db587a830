"""CMake builds in an existing folder: a folder of `make build`, or a folder that an earlier session configured."""

import hashlib
import os
import re
import shlex
import shutil
from pathlib import Path

from reframe.core.buildsystems import CMake

PRESETS = ("host", "cuda", "mpi", "all", "test")  # in src/CMakePresets.json
#: The presets compile several sources as one, which takes a third of the time.
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=18")
MARK = "built-from"  # file of a build folder with the hash of the sources and the names of the built programs
ENTRY = re.compile(r"^(?P<name>[\w-]+):\w+=(?P<value>.*)$", re.MULTILINE)


class BuiltByPreset(CMake):
    """A build in a folder that `make build` configured. If CMake files change, CMake configures the folder again."""

    def emit_build_commands(self, environ):
        return super().emit_build_commands(environ)[-1:]


class ConfiguredOnce(CMake):
    """A CMake build that configures its folder only if the configuration command has changed since the last session.

    This saves the time to check compilers and libraries again. The build itself detects new and changed files.
    """

    def emit_build_commands(self, environ):
        *prepare, configure, build = super().emit_build_commands(environ)
        # a user may remove the cache to configure the folder again
        cache, mark = (f"{self.builddir}/{name}" for name in ("CMakeCache.txt", "configured-by"))
        return [
            *prepare,
            f'if [ ! -e {cache} ] || [ "$(cat {mark} 2> /dev/null)" != {shlex.quote(configure)} ]; then',
            f"rm -f {mark}",  # a failed configuration leaves a folder that matches no command
            # removes CMake's stored facts about compilers, because a user may repair a compiler
            f"{configure} || {{ rm -rf {cache} {self.builddir}/CMakeFiles/[0-9]*; false; }}",
            f"echo {shlex.quote(configure)} > {mark}",
            "fi",
            build,
        ]


def cmake_cache(folder):
    """The entries of the CMakeCache.txt in a folder, as {name: value}; {} if CMake has not configured the folder."""
    try:
        return {entry["name"]: entry["value"] for entry in ENTRY.finditer((folder / "CMakeCache.txt").read_text())}
    except (OSError, UnicodeDecodeError):
        return {}


def same_tool(path, name):
    """Whether the compiler at `path` is the program that PATH finds for `name`."""
    found = shutil.which(name) if name else None
    return bool(path and found) and os.path.realpath(path) == os.path.realpath(found)


def matching_folder(root, source, environ, options):
    """The folder of a preset that was configured with the same sources, compilers and options; None if there is none.

    Also None if the environment has modules, variables or flags, because these may change the programs.
    root: the folder that contains the folders of the presets.
    environ: ReFrame's environment.
    options: {name: value} for CMake.
    """
    flags = (environ.cppflags, environ.cflags, environ.cxxflags, environ.fflags, environ.ldflags)
    if environ.modules or environ.env_vars or any(flags):
        return None
    for preset in PRESETS:
        cache = cmake_cache(root / preset)
        same_options = all(cache.get(name) == value for name, value in options.items())
        cuda = options.get("LINKMATRIX_CUDA") != "ON" or same_tool(cache.get("CMAKE_CUDA_COMPILER"), environ.nvcc)
        place = cache.get("CMAKE_HOME_DIRECTORY")
        if place == str(source) and same_options and cuda and same_tool(cache.get("CMAKE_CXX_COMPILER"), environ.cxx):
            return root / preset
    return None


def on_path(*tools):
    """[(file, modification time)] of the tools that PATH finds. An upgrade of a tool changes the result."""
    found = [os.path.realpath(path) for path in map(shutil.which, filter(None, tools)) if path]
    return [(path, os.stat(path).st_mtime_ns) for path in found]


def first_build_notice(folder):
    """A notice that the first build in a folder takes minutes; "" for a later build."""
    if (folder / "CMakeCache.txt").exists():
        return ""
    return f"building in {folder}: the first build takes some minutes without output"


def source_hash(source):
    """The SHA-256 hash of the names and contents of all files below the folder `source`."""
    found = hashlib.sha256()
    for path in sorted(path for path in Path(source).rglob("*") if path.is_file()):
        for part in (str(path.relative_to(source)).encode(), path.read_bytes()):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def is_built(folder, content, programs, place=""):
    """Whether a build folder contains the programs, built from sources with the hash `content`.

    The function compares hashes, because file times are unreliable after a reinstallation.
    place: the subfolder of the programs.
    """
    try:
        known, *built = (folder / MARK).read_text().split()
    except (OSError, ValueError):
        return False
    return (
        known == content and set(programs) <= set(built) and all((folder / place / name).exists() for name in programs)
    )
