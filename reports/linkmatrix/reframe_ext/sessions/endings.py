"""Why a job ended, in the words of who knows: the scheduler, the launcher, the file system."""

import re
import shutil
from pathlib import Path

from ...suite import PROGRAMS, REFUSED_OPTIONS

MOST_LINES = 4  # of standard error that are quoted
LEAST_FREE = 64 * 1024  # bytes of a file system that has room for a line
# states that say why a program did not end well; what it or its launcher wrote may not
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
# what launchers write of a node that is gone, in any case of letters
LOST_NODE = (
    r"Node failure on (\S+)",
    r"error: (?:Job|Step|\*\*\*).*on node (\S+) (?:failed|is down)",
    r"communicate with (?:node|host|daemon on) (\S+)",
    r"lost connection to (?:node|host) (\S+)",
    r"remote host:\s+(\S+)",
)
# how launchers say that a process died; others that exit then follow from it
DIED = re.compile(
    r"srun: error: .*task.*: (?:Segmentation fault|Bus error|Killed|Aborted|Illegal instruction|Out Of Memory).*"
    r"|.*(?:noticed that process rank|exited on signal) .*",
    re.IGNORECASE,
)
# lines of Open MPI that tell nothing
EMPTY_WORDS = re.compile(r"-{8,}|NOTE: invoking MPI_ABORT.*|You may or may not see output.*|exactly when Open MPI.*")
# how a sentence of a program of ours begins
OURS = re.compile(rf"(?:{'|'.join(PROGRAMS)}|adapter_rank): ")
# what p2p_matrix says of an MPI that has no one-sided transfers over its network
NOT_HERE = re.compile(
    r"^p2p_matrix: (?:--testcase \S+ cannot run here: )?(?:\S+: )?(this MPI makes no window [^:]*)", re.MULTILINE
)

#: {part of what ranks print without PMI: what it says}; several ranks print the sentence of Open MPI at once
WITHOUT_PMI = {
    "OMPI was not built with SLURM's PMI support": 'Open MPI reports: "The application appears to have been direct'
    ' launched using "srun", but OMPI was not built with SLURM\'s PMI support and therefore cannot execute."',
    "requires access to a local PMIx server": 'Open MPI reports: "Open MPI requires access to a local PMIx server to'
    ' execute."',
    "No PMIx server was reachable": 'Open MPI reports: "No PMIx server was reachable, but a PMI1/2 was detected."',
    "only one rank was started: start two or more": "each rank started alone",
}
SET_PMI = "set SLURM_MPI_TYPE in 'env_vars' of the partition (`srun --mpi=list` prints its values)"

# how a program reports wrong options, before it begins
USAGE = re.compile(rf"^(?:{'|'.join(PROGRAMS)}): ((?:unknown option |--).*)", re.MULTILINE)

# what a program says that was told to measure nothing beside others (--refuse-busy)
OTHERS = re.compile(rf"^(?:{'|'.join(PROGRAMS)}): (another process uses the node: .*)", re.MULTILINE)


def not_here(errors: str) -> str:
    """Why the test case is not possible here, "" where nothing says so."""
    found = NOT_HERE.search(errors)
    return f"not possible here: {found[1]}" if found else ""


def usage_error(errors: str, text: str, program: str = "p2p_matrix") -> str:
    """Why a program refused its options, "" if it began. errors: standard error; text: standard output."""
    found = None if "Result: " in text else USAGE.search(errors)
    return f"{program} {REFUSED_OPTIONS}: {found[1]}" if found else ""


def without_pmi(errors: str) -> str:
    """Why the ranks could not meet, with Open MPI's words; "" if standard error does not contain it."""
    found = next((sentence for part, sentence in WITHOUT_PMI.items() if part in errors), "")
    return f"the launcher gave the ranks no PMI: {SET_PMI}; {found}" if found else ""


def refused_for_others(errors: str) -> str:
    """Why nothing was measured beside others, "" where nothing says so."""
    found = OTHERS.search(errors)
    return f"not measured: {found[1]}" if found else ""


def lost_nodes(text: str) -> list[str]:
    """Names of nodes that a launcher says are gone, in the order in which it says so."""
    found = (name for pattern in LOST_NODE for name in re.findall(pattern, text, re.IGNORECASE))
    return list(dict.fromkeys(name.strip(".,:;'\"") for name in found))


def ended_because(state: str, errors: str) -> str:
    """Why the job ended, by its state and by what was written to standard error; "" where neither says."""
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
    """A sentence where nothing more can be written below `folder`; "" where it can."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"{folder} cannot be looked at: {error.strerror}"
    return f"No space left on device: {folder}" if free < LEAST_FREE else ""


def said_by(errors: str, last: str) -> str:
    """What standard error says, in one line. last: the last line of standard output."""
    # a launcher says in several lines, and in any order, why it ended; that it was ended by the program, which has said
    # why, is no news
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    lines = [line for line in lines if not EMPTY_WORDS.fullmatch(line)]
    died = [line for line in lines if DIED.fullmatch(line)]
    # a rank that had to end as another one failed says so too, and may be heard first
    own = sorted(filter(OURS.match, lines), key=lambda line: "ended by signal" in line)
    quoted = own[-MOST_LINES:] if last.startswith("Result: ") else [*own[:1], *died[:1], *lines[-MOST_LINES:]]
    if last == "Result: TIMEOUT":  # also of one that its launcher ended because another had died
        quoted = [*died[:1], *own[-MOST_LINES:]]
    return " / ".join(dict.fromkeys(quoted))


def causes(state: str, errors: str, folder: Path | str) -> list[str]:
    """Why a program was ended from outside: a full disk, its job, its node. [] for no known cause."""
    return [reason for reason in (disk_fault(folder), ended_because(state, errors)) if reason]


def sentences(state: str, errors: str, text: str, folder: Path | str, program: str = "p2p_matrix") -> list[str]:
    """Why a run is no PASS: [] where it is one. text: standard output; folder: where both were written."""
    last = text.rstrip().rpartition("\n")[2]
    if last == "Result: PASS":
        return []
    if refused := usage_error(errors, text, program):
        return [refused]
    if why := without_pmi(errors):
        return [why]
    ended, reasons = ended_because(state, errors), causes(state, errors, folder)
    said = said_by(errors, last)
    # the program's word for any end that comes from outside; or it was killed before it could say so
    from_outside = last.startswith("Result: TIMEOUT") or (ended and not last.startswith("Result: "))
    if reasons and from_outside and state != "TIMEOUT":
        return [*reasons, f"{program} was stopped before its end" + (f": {own}" if (own := not_of_nodes(said)) else "")]
    return [*reasons, f"{program} ended with '{last}', not with 'Result: PASS'" + (f": {said}" if said else "")]


def not_of_nodes(said: str) -> str:
    """Without lines that name the node on which the launcher ran, as if it were that one's fault."""
    return " / ".join(line for line in said.split(" / ") if not re.search(r"\bON \S+ CANCELLED AT\b", line))
