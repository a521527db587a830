"""Whether this host is a login node: a scheduler answers here, and this host is none of its nodes."""

import os
import re
import shutil
import socket
from typing import NamedTuple

from . import machine

SECONDS = 10  # patience with a scheduler
#: Set on the nodes of a job. SLURM_JOB_ID is none of them: `salloc` may start its shell on the login node.
IN_A_JOB = ("SLURMD_NODENAME", "PBS_JOBID", "SGE_JOB_SPOOL_DIR")


class Nodes(NamedTuple):
    """A scheduler's title, the command that lists its nodes, and the regular expression of a node in the answer."""

    title: str
    command: tuple[str, ...]
    pattern: str


LISTS = (
    Nodes("Slurm", ("sinfo", "-a", "-h", "-N", "-o", "%N"), r"^(\S+)"),
    Nodes("Grid Engine", ("qconf", "-sel"), r"^(\S+)"),
    Nodes("PBS", ("pbsnodes", "-a"), r"^\s+(?:resources_available\.host|Mom) = (\S+)|^([^\s#]\S*)"),
)


def scheduler_of_login_node() -> str:
    """The title of the scheduler whose login node this host is; "" for any other host, and on a node of a job."""
    if any(os.environ.get(name) for name in IN_A_JOB):
        return ""
    host = socket.gethostname().partition(".")[0]
    for scheduler in LISTS:
        if not shutil.which(scheduler.command[0]):
            continue
        try:
            found = re.findall(scheduler.pattern, machine.answer([*scheduler.command], SECONDS), re.MULTILINE)
        except OSError:
            continue
        names = {name.partition(".")[0] for row in found for name in ([row] if isinstance(row, str) else row)} - {""}
        if names:
            return "" if host in names else scheduler.title
    return ""
