"""Explains why a job ended, from the scheduler's state, the output of launcher and program, and the file system.

These arguments have the same meaning in all functions:

* state: the scheduler's state of the job
* errors: the standard error of the job
* text: the standard output of the program
"""

import re
import shutil
from pathlib import Path

from ...suite import PROGRAMS, REFUSED_OPTIONS

MOST_LINES = 4  # quoted lines of standard error
LEAST_FREE = 64 * 1024  # bytes; a file system with less free space is full
#: {state of a job: sentence about its end}
ENDED = {
    "TIMEOUT": "the job reached its time limit",
    "OUT_OF_MEMORY": "the job ran out of memory",
    "NODE_FAIL": "a node of the job failed",
    "BOOT_FAIL": "a node of the job did not boot",
    "PREEMPTED": "another job preempted the job (state PREEMPTED)",
    "CANCELLED": "the job was cancelled (state CANCELLED)",
    "DEADLINE": "the job reached its deadline",
    "LOST": "Slurm does not know the job any more, or did not answer for long",
}
#: Messages of launchers about a lost node, without regard to case.
LOST_NODE = (
    r"Node failure on (\S+)",
    r"error: (?:Job|Step|\*\*\*).*on node (\S+) (?:failed|is down)",
    r"communicate with (?:node|host|daemon on) (\S+)",
    r"lost connection to (?:node|host) (\S+)",
    r"remote host:\s+(\S+)",
)
#: Messages of launchers about a process that died.
DIED = re.compile(
    r"srun: error: .*task.*: (?:Segmentation fault|Bus error|Killed|Aborted|Illegal instruction|Out Of Memory).*"
    r"|.*(?:noticed that process rank|exited on signal) .*",
    re.IGNORECASE,
)
#: Lines of Open MPI and srun without information.
EMPTY_WORDS = re.compile(r"-{8,}|NOTE: invoking MPI_ABORT.*|You may or may not see output.*|exactly when Open MPI.*")
# a note of srun that explains why ranks share cores, but no end of a program
NO_BINDING = re.compile(r"^srun: cluster configuration lacks support for cpu binding\n?", re.MULTILINE)
#: The start of a message of this suite's programs.
OURS = re.compile(rf"(?:{'|'.join(PROGRAMS)}|adapter_rank): ")
#: The message of p2p_matrix about an MPI without one-sided transfers over its network.
NOT_HERE = re.compile(
    r"^p2p_matrix: (?:--testcase \S+ cannot run here: )?(?:\S+: )?(this MPI cannot create a window [^:]*)", re.MULTILINE
)

#: {text in the output of ranks without PMI: sentence}. Ranks print concurrently, so the whole sentence may be garbled.
WITHOUT_PMI = {
    "OMPI was not built with SLURM's PMI support": 'Open MPI reports: "The application appears to have been direct'
    ' launched using "srun", but OMPI was not built with SLURM\'s PMI support and therefore cannot execute."',
    "requires access to a local PMIx server": 'Open MPI reports: "Open MPI requires access to a local PMIx server to'
    ' execute."',
    "No PMIx server was reachable": 'Open MPI reports: "No PMIx server was reachable, but a PMI1/2 was detected."',
    "only one rank was started: start two or more": "each rank started alone",
}
SET_PMI = "set SLURM_MPI_TYPE in 'env_vars' of the partition (`srun --mpi=list` prints its values)"

#: A line of Slurm with the launcher's node.
CANCELLED_ON = re.compile(r"\bON \S+ CANCELLED AT\b")
#: The message of a program that refuses its options.
USAGE = re.compile(rf"^(?:{'|'.join(PROGRAMS)}): ((?:unknown option |--).*)", re.MULTILINE)

#: The message of a program with --refuse-busy if another process uses the node.
OTHERS = re.compile(rf"^(?:{'|'.join(PROGRAMS)}): (another process uses the node: .*)", re.MULTILINE)


def unsupported_reason(errors: str) -> str:
    """A sentence if the MPI library does not support the test case; "" otherwise."""
    found = NOT_HERE.search(errors)
    return f"not possible here: {found[1]}" if found else ""


def usage_error(errors: str, text: str, program: str = "p2p_matrix") -> str:
    """A sentence if the program refused its options; "" if the program accepted its options."""
    found = None if "Result: " in text else USAGE.search(errors)
    return f"{program} {REFUSED_OPTIONS}: {found[1]}" if found else ""


def pmi_error(errors: str) -> str:
    """A sentence with the remedy, if ranks started without a PMI of the launcher; "" otherwise."""
    found = next((sentence for part, sentence in WITHOUT_PMI.items() if part in errors), "")
    return f"the launcher gave the ranks no PMI: {SET_PMI}; {found}" if found else ""


def busy_reason(errors: str) -> str:
    """A sentence if a program with --refuse-busy did not measure, because the node was in use; "" otherwise."""
    found = OTHERS.search(errors)
    return f"not measured: {found[1]}" if found else ""


def lost_nodes(text: str) -> list[str]:
    """The names of the nodes that a launcher's messages report as lost, in the order of the messages."""
    found = (name for pattern in LOST_NODE for name in re.findall(pattern, text, re.IGNORECASE))
    return list(dict.fromkeys(name.strip(".,:;'\"") for name in found))


def end_reason(state: str, errors: str) -> str:
    """A sentence that explains why the scheduler or a lost node ended the job; "" if the reason is unknown."""
    nodes = lost_nodes(errors)
    named = f": {', '.join(nodes)}" if nodes else ""
    if state in ENDED:
        return ENDED[state] + (named if state == "NODE_FAIL" else "")
    if nodes or re.search(r"DUE TO NODE FAILURE", errors):
        return ENDED["NODE_FAIL"] + named
    if re.search(r"slurmstepd: error: \*\*\* \S+ \d\S* ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT", errors):
        return ENDED["TIMEOUT"]
    return ""


def disk_fault(folder: Path | str) -> str:
    """A sentence if the file system of a folder is full or unreadable; "" otherwise."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"{folder} cannot be read: {error.strerror}"
    return f"No space left on device: {folder}" if free < LEAST_FREE else ""


def relevant_errors(errors: str, last: str) -> str:
    """The lines of standard error that explain the end of a program, joined into one line.

    If the program printed a result, only messages of the program are relevant. Otherwise messages of the launcher are
    relevant too.
    last: the last line of standard output.
    """
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    lines = [line for line in lines if not EMPTY_WORDS.fullmatch(line)]
    died = [line for line in lines if DIED.fullmatch(line)]
    # a rank that was ended because of another rank prints a message too, possibly first
    own = sorted(filter(OURS.match, lines), key=lambda line: "ended by signal" in line)
    quoted = own[-MOST_LINES:] if last.startswith("Result: ") else [*own[:1], *died[:1], *lines[-MOST_LINES:]]
    if last == "Result: TIMEOUT":  # the launcher may have ended this process because another process died
        quoted = [*died[:1], *own[-MOST_LINES:]]
    return " / ".join(dict.fromkeys(quoted))


def causes(state: str, errors: str, folder: Path | str) -> list[str]:
    """Sentences about causes outside of the program, such as a full disk, a job limit or a lost node; [] if unknown."""
    return [reason for reason in (disk_fault(folder), end_reason(state, errors)) if reason]


def sentences(state: str, errors: str, text: str, folder: Path | str, program: str = "p2p_matrix") -> list[str]:
    """Sentences that explain why a program did not end with PASS; [] for PASS.

    folder: the folder of the program's output files.
    """
    last = text.rstrip().rpartition("\n")[2]
    if last == "Result: PASS":
        return []
    if refused := usage_error(errors, text, program):
        return [refused]
    if why := pmi_error(errors):
        return [why]
    ended, reasons = end_reason(state, errors), causes(state, errors, folder)
    messages = relevant_errors(NO_BINDING.sub("", errors), last)
    # a program that was stopped reports TIMEOUT; a killed program reports nothing
    was_stopped = last.startswith("Result: TIMEOUT") or (ended and not last.startswith("Result: "))
    if reasons and was_stopped and state != "TIMEOUT":
        # the launcher's node may be healthy, so lines with its name are left out
        own = " / ".join(line for line in messages.split(" / ") if not CANCELLED_ON.search(line))
        return [*reasons, f"{program} was stopped before its end" + (f": {own}" if own else "")]
    ended_with = f"with '{last}'" if last else "without output"
    return [*reasons, f"{program} ended {ended_with}, not with 'Result: PASS'" + (f": {messages}" if messages else "")]
