"""Asks a scheduler for its cluster, and writes that down as a system file with all of its partitions.

Asked on a login node, where the nodes themselves cannot be: so links, models and architectures of GPUs stay unknown,
and the file says so where they belong. Everything else that is not known is a comment too, never a guess.
"""

import re
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from . import machine, modules
from .cluster import Answer, Cluster, Kind, Partition, attributes, least, number, time_notes
from .slurm import slurm

# PBS and Torque: {what: the names that they give it}
CORES = ("resources_available.ncpus", "np", "pcpus")
GPUS = ("resources_available.ngpus", "gpus")
AWAY = re.compile("down|offline|unknown|stale|maintenance")  # in the state of a node where no job starts


def blocks(text: str) -> dict[str, dict[str, str]]:
    """{name: attributes} of PBS's listings: "NAME" or "Queue: NAME" at the margin, indented attributes below it."""
    found: dict[str, dict[str, str]] = {}
    for paragraph in re.split(r"\n(?=\S)", text):
        head, _, rest = paragraph.partition("\n")
        if rest and not head.startswith("#"):
            found[head.removeprefix("Queue:").strip()] = attributes(rest.replace("\n\t", ""))
    return found


def first(said: dict[str, str], names: Iterable[str]) -> int:
    """The number that stands under the first of `names` that is there; 0 for none."""
    return next((number(said[name]) for name in names if name in said), 0)


def serves(node: dict[str, str], name: str, queue: dict[str, str]) -> bool:
    """Does the node run jobs of the queue? A queue asks for nodes by words in default_chunk that the node has too."""
    wanted = {
        key.removeprefix("default_chunk."): value
        for key, value in queue.items()
        if key.startswith("default_chunk.") and not value[:1].isdigit()
    }
    has = {key: re.split(r'[",\s]+', node.get(f"resources_available.{key}", "")) for key in wanted}
    return node.get("queue", name) == name and all(value in has[key] for key, value in wanted.items())


def pbs_kinds(nodes: Iterable[dict[str, str]]) -> tuple[Counter, int]:
    """({kind: how many hosts}, how many are down); a host may have several virtual nodes, with a part of it each."""
    hosts: dict[str, list[dict[str, str]]] = {}
    for index, said in enumerate(nodes):
        hosts.setdefault(said.get("resources_available.host", f"node {index}"), []).append(said)
    kinds = Counter(
        Kind(sum(first(said, CORES) for said in parts), sum(first(said, GPUS) for said in parts))
        for parts in hosts.values()
    )
    down = sum(any(AWAY.search(said.get("state", "")) for said in one) for one in hosts.values())
    return kinds, down


def once(queues: list[Partition]) -> Partition:
    """The queue to measure by, of those that have the same nodes: one that is open to most, for the longest jobs."""
    best = min(queues, key=lambda one: (one.closed, len(one.notes), -(one.limit or float("inf"))))
    others = ", ".join(one.name for one in queues if one is not best)
    return replace(best, notes=(*best.notes, f"the same nodes by other queues: {others}")) if others else best


def pbs(answer: Answer) -> Cluster:
    """A cluster with OpenPBS, PBS Pro or Torque, asked by qstat and pbsnodes."""
    nodes, queues = blocks(answer(["pbsnodes", "-a"])), blocks(answer(["qstat", "-Qf"]))
    torque = any("np" in said for said in nodes.values())
    of_nodes: dict[tuple[str, ...], list[Partition]] = {}
    cluster_notes = []
    for name, said in queues.items():
        if said.get("queue_type", "").startswith(("R", "r")):
            cluster_notes.append(f"left out: {name} only routes jobs to other queues")
            continue
        served = [node for node, words in nodes.items() if serves(words, name, said)]
        if not served:
            cluster_notes.append(f"left out: {name} has no nodes")
            continue
        kinds, down = pbs_kinds(nodes[node] for node in served)
        # what was never set to True is not printed
        stopped = [f"it is not {key}: no job starts" for key in ("enabled", "started") if said.get(key) != "True"]
        notes = [f"not for all: {key} = {said[key]}" for key in ("acl_users", "acl_groups") if key in said]
        walltime = said.get("resources_max.walltime", "")
        notes += [*stopped, *time_notes(walltime, "its time limit")]
        # without scatter PBS may put the ranks of two nodes on one
        place = () if torque else ("-l place=scatter:excl",)
        access = (f"-q {name}", *place, "-r n", "-V")
        queue = Partition(name, kinds, down, access, notes=tuple(notes), limit=least(walltime), closed=bool(stopped))
        of_nodes.setdefault(tuple(sorted(served)), []).append(queue)
    return Cluster(
        title="Torque" if torque else "PBS",
        scheduler="torque" if torque else "pbs",
        launcher="mpirun",
        partitions=tuple(once(queues) for queues in of_nodes.values()),
        gpu_option="gpus={num_gpus_per_node}" if torque else "ngpus={num_gpus_per_node}",
        node_option="{host}" if torque else "host={host}",
        notes=tuple(cluster_notes),
    )


# Grid Engine


def sge_hosts(text: str) -> dict[str, list[tuple[Kind, str]]]:
    """{queue: [(kind, state)]} of the hosts of each queue, in the answer of `qhost -q -F`."""
    found: dict[str, list[tuple[Kind, str]]] = {}
    kind = Kind(0, 0)
    for line in text.splitlines():
        host = re.match(r"(\S+)\s+\S+\s+(\d+|-)\s", line)
        resource = re.match(r"\s+h[lcfv]:([^=]*gpus?)=(\S+)", line)
        queue = re.match(r"\s+(\S+)\s+[A-Z]+\s+\d+/\d+/\d+\s*(\S*)", line)
        if host:
            kind = Kind(number(host[2]), 0)
        elif resource:
            kind = Kind(kind.cores, number(resource[2]), resource[1])
        elif queue:
            found.setdefault(queue[1], []).append((kind, queue[2]))
    return found


def words(text: str) -> dict[str, str]:
    """{name: value} of qconf's lines, "name   value"; a backslash goes on with the next line."""
    lines = (line.split(maxsplit=1) for line in re.sub(r"\\\n\s*", "", text).splitlines())
    return {line[0]: line[1].strip() for line in lines if len(line) == 2}


def sge(answer: Answer) -> Cluster:
    """A cluster with Grid Engine, asked by qconf and qhost."""
    hosts = sge_hosts(answer(["qhost", "-q", "-F"]))
    partitions, cluster_notes, gpu_resource = [], [], ""
    for name in answer(["qconf", "-sql"]).split():
        said = words(answer(["qconf", "-sq", name]))
        if name not in hosts:
            cluster_notes.append(f"left out: {name} has no hosts")
            continue
        kinds = Counter(kind for kind, _ in hosts[name])
        gpu_resource = next((kind.said for kind in kinds if kind.gpus), gpu_resource)
        environments = [pe for pe in re.split(r"[\s,]+", said.get("pe_list", "")) if pe not in ("", "NONE")]
        rules = {pe: words(answer(["qconf", "-sp", pe])).get("allocation_rule", "") for pe in environments}
        layout: tuple[str, ...] = (f"-pe {environments[0]} {{num_tasks}}",) if environments else ()
        notes = [f"allocation_rule of the parallel environment {pe} is {rule}" for pe, rule in rules.items()]
        notes += [] if environments else ["it has no parallel environment, so no job of several ranks: `qconf -spl`"]
        notes += time_notes(said.get("h_rt", ""), "its time limit")
        down = sum(bool(re.search("[auEdDs]", state)) for _, state in hosts[name])
        layout = (*layout, f"-q {name}", "-S /bin/bash", "-V", "-r n")
        limit = least(said.get("h_rt", ""))
        partitions.append(Partition(name, kinds, down, (), layout, tuple(notes), limit))
    return Cluster(
        title="Grid Engine",
        scheduler="sge",
        launcher="mpirun",
        partitions=tuple(partitions),
        gpu_option=f"-l {gpu_resource or 'gpu'}={{num_gpus_per_node}}",
        node_option="-l hostname={host}",
        notes=tuple(cluster_notes),
    )


class Dialect(NamedTuple):
    """A scheduler: the commands that it is asked by, and how."""

    commands: tuple[str, ...]
    ask: Callable[[Answer], Cluster]


# auto takes the first whose commands are all on PATH: Slurm may have a qstat and pbsnodes too, and Grid Engine a qstat
DIALECTS = {
    "slurm": Dialect(("sinfo", "scontrol"), slurm),
    "sge": Dialect(("qconf", "qhost"), sge),
    "pbs": Dialect(("qstat", "pbsnodes"), pbs),
}
CHOICES = ("auto", "local", *DIALECTS)


def choose(name: str) -> str:
    """`name`, or what "auto" is here. Raises BadInput where the commands of the one that is named are missing."""
    missing = {key: [one for one in row.commands if not shutil.which(one)] for key, row in DIALECTS.items()}
    if name == "auto":
        return next((key for key, commands in missing.items() if not commands), "local")
    if missing.get(name):
        absent = " and ".join(missing[name])
        raise BadInput(
            f"--scheduler {name} needs {absent}, not on PATH here: take a login node, or load the scheduler's module"
        )
    return name


def files(name: str, config: Path, system: str | None, partition: str | None) -> dict[Path, str]:
    """{path: text} of the system file of a cluster; `partition` leaves out all others. Raises BadInput, OSError."""
    found = DIALECTS[name].ask(machine.answer)
    host = socket.gethostname()
    system = machine.checked_name(system or machine.name_of_host(host, "cluster"), "--system")
    names = [one.name for one in found.partitions]
    if partition is not None and partition not in names:
        known = ", ".join(names) or "none"
        raise BadInput(f"--partition '{partition}' is no partition of this cluster (there are: {known})")
    if not names:
        raise BadInput(f"{name} names no partition with nodes here: describe this machine with --scheduler local")
    chosen = tuple(one for one in found.partitions if partition in (None, one.name))
    text = system_file(Cluster(**{**vars(found), "partitions": chosen, "host": host}), system)
    return {config / "systems" / f"{system.replace('-', '_')}.py": text}


def reframe_names(partitions: Iterable[str]) -> dict[str, str]:
    """{partition: its name as ReFrame and a folder take it}, no two alike: "all.q" is all-q, "80gb" is p-80gb."""
    found: dict[str, str] = {}
    for partition in partitions:
        name = re.sub(r"[^A-Za-z0-9_-]", "-", partition)
        name = name if machine.NAME.fullmatch(name) else f"p-{name.lstrip('-')}"
        each = [name, *(f"{name}-{number}" for number in range(2, len(found) + 2))]
        found[partition] = next(one for one in each if one not in found.values())
    return found


def commented(text: str) -> str:
    """A partition's entry as comments, so that `# ` removed makes it one again."""
    return re.sub(r"^ {8}(?=.)", "        # ", text, flags=re.MULTILINE)


def login_hosts(host: str) -> str:
    """A regular expression for all login nodes that are numbered as this one: "login[0-9]+" for login1."""
    name, dot, domain = host.partition(".")
    return re.sub(r"[0-9]+", "[0-9]+", re.escape(name)) + re.escape(dot + domain)


def system_file(found: Cluster, system: str) -> str:
    """The text of config/systems/<system>.py."""
    names = reframe_names(one.name for one in found.partitions)
    template = machine.template("cluster.jinja", reframe_name=names.__getitem__, commented=commented)
    return template.render(found=found, system=system, hostname=login_hosts(found.host), modules=modules.loaded())
