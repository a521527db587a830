"""Reads the partitions of a cluster from its scheduler, and writes a system file.

A login node cannot ask the compute nodes. Links and models of GPUs therefore stay unknown. Each unknown value is a
comment in the file, and never a guess.
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


class Dialect(NamedTuple):
    """A scheduler: the commands that report its cluster, and the function that reads them."""

    commands: tuple[str, ...]
    ask: Callable[[Answer], Cluster]


# auto asks the first whose commands are all on PATH: Slurm may have a qstat and pbsnodes too, and Grid Engine a qstat
DIALECTS = {
    "slurm": Dialect(("sinfo", "scontrol"), slurm),
    "sge": Dialect(("qconf", "qhost"), grid_engine),
    "pbs": Dialect(("qstat", "pbsnodes"), pbs),
}
CHOICES = ("auto", "local", *DIALECTS)


def candidates(name: str) -> list[str]:
    """The schedulers to ask: `name`; for "auto" the schedulers whose commands are on PATH, otherwise "local".

    Raises BadInput if the commands of the named scheduler are missing.
    """
    missing = {key: [one for one in row.commands if not shutil.which(one)] for key, row in DIALECTS.items()}
    if name == "auto":
        return [key for key, commands in missing.items() if not commands] or ["local"]
    if missing.get(name):
        absent = " and ".join(missing[name])
        raise BadInput(
            f"--scheduler {name} needs {absent}, which PATH does not contain: use a login node,"
            " or load the scheduler's module"
        )
    return [name]


def ask(names: Sequence[str], tell: Callable[[str], None]) -> Cluster:
    """The cluster of the first scheduler that reports a partition. Raises OSError, BadInput."""
    for name, other in itertools.pairwise([*names, ""]):
        try:
            found = DIALECTS[name].ask(machine.answer)
            if found.partitions:
                break
            raise BadInput(f"{name} names no partition with nodes here: describe this machine with --scheduler local")
        except (OSError, BadInput) as error:
            if not other:
                raise
            tell(f"{name} is on PATH, but {error}; asking {other}")
    return found


def files(
    names: Sequence[str], config: Path, system: str | None, partition: str | None, tell: Callable[[str], None]
) -> dict[Path, str]:
    """{path: text} of the system file of a cluster. partition: the only one to write. Raises BadInput, OSError."""
    found = ask(names, tell)
    host = socket.gethostname()
    system = machine.checked_name(system or machine.name_of_host(host, "cluster"), "--system")
    known = list(dict.fromkeys(one.whole or one.name for one in found.partitions))
    if partition is not None and partition not in [*known, *(one.name for one in found.partitions)]:
        there = ", ".join(known)
        raise BadInput(f"--partition '{partition}' is not a partition of this cluster (there are: {there})")
    chosen = tuple(one for one in found.partitions if partition in (None, one.name, one.whole))
    text = system_file(Cluster(**{**vars(found), "partitions": chosen, "host": host}), system)
    return {config / "systems" / f"{system.replace('-', '_')}.py": text}


def reframe_names(partitions: Iterable[str]) -> dict[str, str]:
    """{partition: distinct name that ReFrame and the file system accept}: "all.q" is all-q, "80gb" is p-80gb."""
    found: dict[str, str] = {}
    for partition in partitions:
        name = re.sub(r"[^A-Za-z0-9_-]", "-", partition)
        name = name if machine.NAME.fullmatch(name) else f"p-{name.lstrip('-')}"
        each = [name, *(f"{name}-{number}" for number in range(2, len(found) + 2))]
        found[partition] = next(one for one in each if one not in found.values())
    return found


def commented(text: str) -> str:
    """The entry of a partition as comments. Remove each `# ` to use the entry."""
    return re.sub(r"^ {8}(?=.)", "        # ", text, flags=re.MULTILINE)


def login_hosts(host: str) -> str:
    """A regular expression for all login nodes with this name and any number: "login[0-9]+" for login1."""
    name, dot, domain = host.partition(".")
    return re.sub(r"[0-9]+", "[0-9]+", re.escape(name)) + re.escape(dot + domain)


def system_file(found: Cluster, system: str) -> str:
    """The text of config/systems/<system>.py."""
    names = reframe_names(one.name for one in found.partitions)
    template = machine.template("cluster.jinja", reframe_name=names.__getitem__, commented=commented)
    return template.render(found=found, system=system, hostname=login_hosts(found.host), modules=modules.loaded())
