"""Finds the causes of a failed build in its output, and the names of its log files."""

import re
from itertools import takewhile

# of compilers, linkers, nvcc, CMake and Spack
CAUSE = re.compile(r"[Ee]rror(:| at )|\bfatal\b|\bundefined reference\b|^build_linkmatrix: ")
LOG = re.compile(r"/\S+(?:\.log|/spack-build-out\.txt)(?=\s|$)")
MOST = 8  # lines: the first error causes the others


def causes(texts):
    """The distinct lines with the causes of a failed build, at most MOST; the last lines if no line has a cause."""
    lines = [line.strip("> \t") for text in texts for line in text.splitlines() if line.strip()]
    found = [
        " ".join([line, *continuation(line, lines[at + 1 :])]) for at, line in enumerate(lines) if CAUSE.search(line)
    ]
    return list(dict.fromkeys(found))[:MOST] or lines[-MOST:] or ["no output"]


def continuation(line, later):
    """The lines that continue a line with ":" at its end, such as "failed … for the following reasons:".

    later: all lines after `line`. The result is the first of them, or after "CMake Error at FILE:" up to three, because
    CMake names a missing compiler in the second. The result ends before a call stack.
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
