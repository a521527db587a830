"""Detects login nodes. On a login node, a scheduler answers, and the host is not in the scheduler's list of nodes."""

import os
import re
import shutil
import socket

from . import machine

SECONDS = 10  # time limit of a scheduler's answer
#: Variables of jobs on their nodes. SLURM_JOB_ID is missing, because `salloc` may start its shell on the login node.
JOB_VARIABLES = ("SLURMD_NODENAME", "PBS_JOBID", "SGE_JOB_SPOOL_DIR")


#: (scheduler, the command that lists its nodes, the regular expression of a node in the output).
LISTS = (
    ("Slurm", ["sinfo", "-a", "-h", "-N", "-o", "%N"], r"^(\S+)"),
    ("Grid Engine", ["qconf", "-sel"], r"^(\S+)"),
    ("PBS", ["pbsnodes", "-a"], r"^\s+(?:resources_available\.host|Mom) = (\S+)|^([^\s#]\S*)"),
)


def scheduler_of_login_node() -> str:
    """The title of the scheduler, if this host is a login node of the scheduler; else ""."""
    if any(os.environ.get(name) for name in JOB_VARIABLES):
        return ""
    host = socket.gethostname().partition(".")[0]
    for title, command, pattern in LISTS:
        if not shutil.which(command[0]):
            continue
        try:
            found = re.findall(pattern, machine.answer(command, SECONDS), re.MULTILINE)
        except OSError:
            continue
        names = {name.partition(".")[0] for row in found for name in ([row] if isinstance(row, str) else row)} - {""}
        if names:
            return "" if host in names else title
    return ""
