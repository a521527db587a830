"""Reads the partitions of a cluster from its scheduler, and writes a system file.

A login node cannot query the compute nodes, so links and models of GPUs stay unknown. The file contains a comment for
each unknown value.
"""

import itertools
import re
import shutil
import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from . import machine, modules
from .cluster import Answer, Cluster
from .grid_engine import grid_engine
from .pbs import pbs
from .slurm import slurm


class Scheduler(NamedTuple):
    """A type of scheduler.

    commands: the programs that query the scheduler.
    ask: the function that reads the output of these programs.
    """

    commands: tuple[str, ...]
    ask: Callable[[Answer], Cluster]


# "auto" uses the first scheduler whose commands are all on PATH. PBS is last, because Slurm may have qstat and
# pbsnodes too, and Grid Engine has a qstat.
SCHEDULERS = {
    "slurm": Scheduler(("sinfo", "scontrol"), slurm),
    "sge": Scheduler(("qconf", "qhost"), grid_engine),
    "pbs": Scheduler(("qstat", "pbsnodes"), pbs),
}
CHOICES = ("auto", "local", *SCHEDULERS)


def candidates(name: str) -> list[str]:
    """The names of the schedulers to query. Raises BadInput if a command of the scheduler `name` is missing.

    name: one scheduler, or "auto" for all schedulers whose commands are on PATH. ["local"] if "auto" finds none.
    """
    missing = {key: [one for one in row.commands if not shutil.which(one)] for key, row in SCHEDULERS.items()}
    if name == "auto":
        return [key for key, commands in missing.items() if not commands] or ["local"]
    if missing.get(name):
        absent = " and ".join(missing[name])
        raise BadInput(
            f"--scheduler {name} needs {absent}, which PATH does not contain: use a login node,"
            " or load the scheduler's module"
        )
    return [name]


def query_cluster(names: Sequence[str], tell: Callable[[str], None]) -> Cluster:
    """The cluster, from the first scheduler that reports a partition. Raises OSError or BadInput if no scheduler does.

    tell: a function that prints a line.
    """
    for name, other in itertools.pairwise([*names, ""]):
        try:
            found = SCHEDULERS[name].ask(machine.answer)
            if found.partitions:
                break
            raise BadInput(f"{name} reports no partition with nodes: describe this machine with --scheduler local")
        except (OSError, BadInput) as error:
            if not other:
                raise
            tell(f"{name} is on PATH, but {error}; asking {other}")
    return found


def files(
    names: Sequence[str], config: Path, system: str | None, partition: str | None, tell: Callable[[str], None]
) -> dict[Path, str]:
    """Returns {path: text} of the system file of a cluster. Raises BadInput or OSError.

    names: the schedulers to query.
    partition: the only partition in the file; None for all partitions of the cluster.
    """
    found = query_cluster(names, tell)
    host = socket.gethostname()
    system = machine.checked_name(system or machine.host_system_name(host, "cluster"), "--system")
    known = list(dict.fromkeys(one.parent or one.name for one in found.partitions))
    if partition is not None and partition not in [*known, *(one.name for one in found.partitions)]:
        there = ", ".join(known)
        raise BadInput(f"--partition '{partition}' is not a partition of this cluster (there are: {there})")
    chosen = tuple(one for one in found.partitions if partition in (None, one.name, one.parent))
    text = system_file(Cluster(**{**vars(found), "partitions": chosen, "host": host}), system)
    return {config / "systems" / f"{system.replace('-', '_')}.py": text}


def reframe_names(partitions: Iterable[str]) -> dict[str, str]:
    """Returns {partition: name for ReFrame}, such as all-q for all.q, and p-80gb for 80gb.

    The names are distinct. ReFrame and the file system accept them.
    """
    found: dict[str, str] = {}
    for partition in partitions:
        name = re.sub(r"[^A-Za-z0-9_-]", "-", partition)
        name = name if machine.NAME.fullmatch(name) else f"p-{name.lstrip('-')}"
        each = [name, *(f"{name}-{number}" for number in range(2, len(found) + 2))]
        found[partition] = next(one for one in each if one not in found.values())
    return found


def commented(text: str) -> str:
    """The text of a partition's entry in the system file, with each line changed to a comment."""
    return re.sub(r"^ {8}(?=.)", "        # ", text, flags=re.MULTILINE)


def login_hosts(host: str) -> str:
    """A regular expression for the names of this login node and similar login nodes: "login[0-9]+" for login1."""
    name, dot, domain = host.partition(".")
    return re.sub(r"[0-9]+", "[0-9]+", re.escape(name)) + re.escape(dot + domain)


def system_file(cluster: Cluster, system: str) -> str:
    """The text of the system file of a cluster. system: the name of the system."""
    names = reframe_names(one.name for one in cluster.partitions)
    template = machine.template("cluster.jinja", reframe_name=names.__getitem__, commented=commented)
    return template.render(found=cluster, system=system, hostname=login_hosts(cluster.host), modules=modules.loaded())
