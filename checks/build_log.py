"""What a failed build said: the lines that say why, and where the rest of them is."""

import re
from itertools import takewhile

# compilers, linkers, nvcc, CMake and Spack
SAYS_WHY = re.compile(r"[Ee]rror(:| at )|\bfatal\b|\bundefined reference\b|^build_linkmatrix: ")
LOG = re.compile(r"/\S+(?:\.log|/spack-build-out\.txt)(?=\s|$)")
MOST = 8  # lines: the first error is the one that caused the others


def why(texts):
    """The lines of a build's output that say why it failed, each once; its last lines where none does."""
    lines = [line.strip("> \t") for text in texts for line in text.splitlines() if line.strip()]
    said = [
        " ".join([line, *continuation(line, lines[at + 1 :])]) for at, line in enumerate(lines) if SAYS_WHY.search(line)
    ]
    return list(dict.fromkeys(said))[:MOST] or lines[-MOST:] or ["it said nothing"]


def continuation(line, later):
    """The later lines that belong to a line: a head such as "failed … for the following reasons:" has one.

    "CMake Error at FILE:" has up to three, because CMake names a compiler in the second. A call stack is not quoted.
    """
    if not line.endswith(":"):
        return []
    if not line.startswith("CMake Error"):
        return later[:1]
    return list(takewhile(lambda one: not one.startswith("Call Stack"), later[:3]))


def logs(texts):
    """The paths of the logs that the output names: Spack's own log of a package's build is one."""
    found = [path for text in texts for line in text.splitlines() for path in LOG.findall(line) if "CMake" not in path]
    return list(dict.fromkeys(found))
