"""Finds lines that report the early end of a program: signals, aborts, CUDA errors.

The program or its launcher prints these lines.
"""

import re

from .table import Reading

MOST_CHARACTERS = 400  # searched per line
COPIES = "several copies of the program ran concurrently: build the program with MPI"
ENDED = "the program ended early"
MOST_ENDINGS = 3  # per run: each rank repeats the message
XID = re.compile(r"\bNVRM: (?P<how>Xid \([\w:. ]{1,40}\): \d{1,4})\b")
REPORTED = "the driver reported an error of this GPU"
#: Messages about the early end of a program. The group `how` is quoted.
ENDINGS = tuple(
    map(
        re.compile,
        (
            r"\bSignal: (?P<how>[A-Z][\w ]{2,40} \(\d{1,2}\))",  # Open MPI
            r"\bexited on (?P<how>signal \d{1,2}(?: \([A-Za-z ]{1,40}\))?)",  # mpirun
            r"\b(?P<how>KILLED BY SIGNAL: \d{1,2}(?: \([A-Za-z ]{1,40}\))?)",  # Intel MPI
            r"\b(?P<how>BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES)",  # MPICH
            r"\b(?P<how>MPI_ABORT was invoked|MPI_Abort\(\)? ?|application called MPI_Abort)",
            r"\b(?P<how>exited with (?:a )?non-zero (?:status|exit code)|returned a non-zero exit code)",
            r"\btasks? [\d,-]{1,40}: (?P<how>[A-Z][\w ()-]{2,60})\s*$",  # srun
            r"\b(?P<how>DUE TO (?:TIME LIMIT|PREEMPTION|NODE FAILURE))\b",  # Slurm
            r"\b(?P<how>CANCELLED AT)\b",
            r"\b(?P<how>oom[-_]kill|Out Of Memory|out of memory)\b",
            r"(?:^|[:)] ?|\d )(?P<how>(?:Segmentation fault|Bus error|Floating point exception|Illegal instruction"
            r"|Aborted|Killed|Terminated)(?: \(core dumped\))?)\s*(?:$|[.:\d/]|  |\(core dumped\))",  # a shell
            r"(?P<how>[\w ]{1,40} \(core dumped\))",
            r"(?P<how>terminate called (?:after throwing an instance of '[\w:<>, ]{1,80}'|without an active))",
            r"\b(?P<how>CUDA_ERROR_[A-Z_]{3,60}|cudaError[A-Z]\w{2,60}|Test (?:NCCL|CUDA) failure)\b",
            r"^\s*(?P<how>Cuda failure \S{1,80}:\d{1,6}: '[^']{1,80}')",  # the CUDA samples
            r"\b(?P<how>ASSERT in expression|Assertion .{1,80} failed)",
            r"^\s*(?P<how>This test requires (?:exactly|at least) \w{1,10} processes)",  # OSU with one rank
            r"^\s*(?P<how>Completion with error at (?:client|server)|Failed status \d{1,3}: wr_id)",  # perftest
            r"(?:^|: )(?P<how>Speicherzugriffsfehler|Erreur de segmentation|Violación de segmento)\b",  # a shell
        ),
    )
)


def ending(line: str) -> str:
    """The words in a line that report the early end of a program, such as a signal; "" for any other line."""
    found = (pattern.search(line, 0, MOST_CHARACTERS) for pattern in ENDINGS)
    return next((match["how"].strip() for match in found if match), "")


def note_ending(reading: Reading) -> None:
    """Record a problem if the line at the reading position reports an early end or an Xid error.

    The problem belongs to the run above the line, or to the first run of the text.
    """
    xid = XID.search(reading.line(), 0, MOST_CHARACTERS)
    how, means = (xid["how"], REPORTED) if xid else (ending(reading.line()), ENDED)
    if not how:
        return
    sentence = f"line {reading.at + 1}: '{how}': {means}"
    # the error stream is often written before the tables, so the message may belong to the next run
    problems = reading.runs[-1].problems if reading.runs else reading.early_problems
    if sum(one.endswith(means) for one in problems) < MOST_ENDINGS:
        problems.append(sentence)
