"""What a failed build said: the lines that say why, and where the rest of them is."""

import re

# compilers, linkers, nvcc, CMake and Spack
SAYS_WHY = re.compile(r"[Ee]rror(:| at )|\bfatal\b|\bundefined reference\b|^build_linkmatrix: ")
LOG = re.compile(r"/\S+(?:\.log|/spack-build-out\.txt)(?=\s|$)")
MOST = 8  # lines: the first error is the one that caused the others


def why(texts):
    """The lines of a build's output that say why it failed, each once; its last lines where none does."""
    lines = [line.strip("> \t") for text in texts for line in text.splitlines() if line.strip()]
    found = [(at, at + 1 + following(line)) for at, line in enumerate(lines) if SAYS_WHY.search(line)]
    said = [" ".join(lines[first:end]) for first, end in found]
    return list(dict.fromkeys(said))[:MOST] or lines[-MOST:] or ["it said nothing"]


def following(line):
    """The number of lines that belong to a line: CMake names a compiler in the second line after the head."""
    if not line.endswith(":"):  # a head: "CMake Error at FILE:", "failed … for the following reasons:"
        return 0
    return 3 if line.startswith("CMake Error") else 1


def logs(texts):
    """The paths of the logs that the output names: Spack's own log of a package's build is one."""
    found = [path for text in texts for line in text.splitlines() for path in LOG.findall(line) if "CMake" not in path]
    return list(dict.fromkeys(found))
