"""CMake's build, which configures a folder only where it was not configured by the same command before."""

import shlex

from reframe.core.buildsystems import CMake


class ConfiguredOnce(CMake):
    """As ReFrame's: compilers and flags of the environment, then the build; with a finished build, that alone.

    CMake asks compilers and libraries anew each time that it configures. What changes without a word to the command is
    seen by the build itself: CMakeLists.txt and what it includes, and a file that is new.
    """

    def emit_build_commands(self, environ):
        *prepare, configure, build = super().emit_build_commands(environ)
        # the cache is what users remove to have a folder configured anew
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
