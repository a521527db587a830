"""What a failed build said: the lines that say why, and where the rest of them is."""

import re

# compilers, linkers, nvcc, CMake and make; and of Spack's concretizer the first of its reasons
SAYS_WHY = re.compile(r"\b[Ee]rror(:| at | \d)|\bfatal\b|\bundefined reference\b|^build_linkmatrix: |^ *1\. ")
LOG = re.compile(r"/\S+(?:\.log|/spack-build-out\.txt)(?=\s|$)")
MOST = 8  # lines: the first error is the one that caused the others


def why(texts):
    """The lines of a build's output that say why it failed, each once; its last lines where none does."""
    lines = [line.strip("> \t") for text in texts for line in text.splitlines() if line.strip()]
    said = [line for line in lines if SAYS_WHY.search(line)]
    return list(dict.fromkeys(said))[:MOST] or lines[-MOST:] or ["it said nothing"]


def logs(texts):
    """The paths of the logs that the output names: Spack's own log of a package's build is one."""
    found = [path for text in texts for line in text.splitlines() for path in LOG.findall(line) if "CMake" not in path]
    return list(dict.fromkeys(found))
