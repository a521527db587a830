"""Finds the causes of a failed build in its output, and the names of its log files."""

import re
from itertools import takewhile

#: An error line of compilers, linkers, nvcc, CMake or Spack.
CAUSE = re.compile(r"[Ee]rror(:| at )|\bfatal\b|\bundefined reference\b|^build_linkmatrix: ")
LOG = re.compile(r"/\S+(?:\.log|/spack-build-out\.txt)(?=\s|$)")
MOST = 8  # reported lines; the first error usually causes the others


def causes(texts):
    """The error lines in the output of a failed build: at most MOST distinct lines.

    If the output contains no error line: its last lines.
    texts: the contents of standard output and standard error.
    """
    lines = [line.strip("> \t") for text in texts for line in text.splitlines() if line.strip()]
    found = [
        " ".join([line, *continuation_lines(line, lines[at + 1 :])])
        for at, line in enumerate(lines)
        if CAUSE.search(line)
    ]
    return list(dict.fromkeys(found))[:MOST] or lines[-MOST:] or ["no output"]


def continuation_lines(line, later):
    """The lines that continue an error line with ":" at its end, such as "failed … for the following reasons:".

    * After "CMake Error at FILE:": up to three lines, without lines of a call stack. The second line may name a missing
      compiler.
    * After other error lines: one line.

    later: all lines after `line`.
    """
    if not line.endswith(":"):
        return []
    if not line.startswith("CMake Error"):
        return later[:1]
    return list(takewhile(lambda one: not one.startswith("Call Stack"), later[:3]))


def logs(texts):
    """The paths of log files in the output, such as Spack's log of the build of a package."""
    found = [path for text in texts for line in text.splitlines() for path in LOG.findall(line) if "CMake" not in path]
    return list(dict.fromkeys(found))
