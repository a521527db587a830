"""Builds with CMake that do nothing twice: in a folder of `make build`, or in one that is configured only once."""

import os
import re
import shlex
import shutil

from reframe.core.buildsystems import CMake

PRESETS = ("host", "cuda", "mpi", "all")  # of src/CMakePresets.json, as scripts/preset chooses
#: Several sources per object, as in these presets: a third of the time of the compiler.
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=18")
ENTRY = re.compile(r"^(?P<name>[\w-]+):\w+=(?P<value>.*)$", re.MULTILINE)


class BuiltByPreset(CMake):
    """The build alone, in a folder that `make build` configured: it configures again if the sources need it."""

    def emit_build_commands(self, environ):
        return super().emit_build_commands(environ)[-1:]


class ConfiguredOnce(CMake):
    """As ReFrame's: compilers and flags of the environment, then the build; with a finished build, that alone.

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
            f"rm -f {mark}",  # one that fails leaves a folder that is of neither
            # nor what it found out of the compilers: CMake would believe it when they were mended
            f"{configure} || {{ rm -rf {cache} {self.builddir}/CMakeFiles/[0-9]*; false; }}",
            f"echo {shlex.quote(configure)} > {mark}",
            "fi",
            build,
        ]


def cache_of(folder):
    """{name: value} of a folder's CMakeCache.txt; {} where it was not configured."""
    try:
        return {entry["name"]: entry["value"] for entry in ENTRY.finditer((folder / "CMakeCache.txt").read_text())}
    except (OSError, UnicodeDecodeError):
        return {}


def same_tool(path, name):
    """Is the compiler of a cache the one that the environment would use?"""
    found = shutil.which(name) if name else None
    return bool(path and found) and os.path.realpath(path) == os.path.realpath(found)


def folder_of(root, source, environ, options):
    """The folder of a preset in `root` that was made of `source` by these compilers and options; None: there is none.

    options: {name: value} of what CMake would be told. An environment with modules, variables or flags of its own may
    make other programs of the same options: it has none.
    """
    flags = (environ.cppflags, environ.cflags, environ.cxxflags, environ.fflags, environ.ldflags)
    if environ.modules or environ.env_vars or any(flags):
        return None
    for preset in PRESETS:
        cache = cache_of(root / preset)
        told = all(cache.get(name) == value for name, value in options.items())
        cuda = options.get("LINKMATRIX_CUDA") != "ON" or same_tool(cache.get("CMAKE_CUDA_COMPILER"), environ.nvcc)
        place = cache.get("CMAKE_HOME_DIRECTORY")
        if place == str(source) and told and cuda and same_tool(cache.get("CMAKE_CXX_COMPILER"), environ.cxx):
            return root / preset
    return None
