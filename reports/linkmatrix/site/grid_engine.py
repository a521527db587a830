"""Reads the queues and hosts of a cluster from Grid Engine."""

import re
from collections import Counter
from fnmatch import fnmatchcase
from typing import NamedTuple

from .cluster import Answer, Cluster, NodeType, Partition, number, shortest_limit, time_notes

# lines of `qhost -q -F`: a host, one of its resources, and a queue on this host
HOST = re.compile(r"(\S+)\s+\S+\s+(\d+|-)\s")
RESOURCE = re.compile(r"\s+h[lcfv]:([^=]*gpus?)=(\S+)")
QUEUE = re.compile(r"\s+(\S+)\s+[A-Z]+\s+\d+/\d+/\d+\s*(\S*)")
# {letter of a state of Grid Engine: its meaning}. No job starts in these states.
LETTERS = {
    "u": "its daemon does not answer",
    "d": "disabled",
    "D": "disabled by its calendar",
    "E": "in error state",
    "a": "too much load",
    "A": "its jobs are suspended for too much load",
    "s": "suspended",
    "S": "suspended for another queue",
    "C": "suspended by its calendar",
    "P": "preempted by another queue",
    "c": "its configuration is ambiguous",
    "o": "orphaned: it was removed from the queue",
}


class QueueInstance(NamedTuple):
    """A queue on one host. state: the state as letters; "" if jobs can start."""

    queue: str
    host: str
    kind: NodeType
    state: str

    @property
    def unavailable(self) -> str:
        """The reason why no job can start, such as "d: disabled"; "" if jobs can start.

        For an unknown state, the reason is the state itself.
        """
        meaning = ", ".join(LETTERS[letter] for letter in LETTERS if letter in self.state)
        return f"{self.state}: {meaning}" if meaning else self.state


def queue_instances(text: str) -> list[QueueInstance]:
    """The queues of each host, from the output of `qhost -q`. Only the output of `qhost -q -F` contains GPUs."""
    found: list[QueueInstance] = []
    host, kind = "", NodeType(0, 0)
    for line in text.splitlines():
        if head := HOST.match(line):
            host, kind = head[1], NodeType(number(head[2]), 0)
        elif resource := RESOURCE.match(line):
            kind = NodeType(kind.cores, number(resource[2]), resource[1])
        elif queue := QUEUE.match(line):
            found.append(QueueInstance(queue[1], host, kind, queue[2]))
    return found


def is_selected(pattern: str, instance: QueueInstance) -> bool:
    """Whether a pattern of Grid Engine selects a queue on a host.

    Patterns are "gpu.q", "gpu*", "gpu.q@n1" or "*@n1". A group of hosts, as in "gpu.q@@rack1", selects every host,
    because the hosts of the group are unknown.
    """
    name, _, place = pattern.partition("@")
    host = instance.host.partition(".")[0]
    by_host = not place or place.startswith("@") or fnmatchcase(host, place.partition(".")[0])
    return fnmatchcase(instance.queue, name or "*") and by_host


def words(text: str) -> dict[str, str]:
    """Returns {name: value} of the lines "name value" of qconf. A backslash at the end of a line continues the line."""
    lines = (line.split(maxsplit=1) for line in re.sub(r"\\\n\s*", "", text).splitlines())
    return {line[0]: line[1].strip() for line in lines if len(line) == 2}


def grid_engine(answer: Answer) -> Cluster:
    """The cluster of Grid Engine, from qconf and qhost. Raises OSError if a command fails."""
    instances = queue_instances(answer(["qhost", "-q", "-F"]))
    partitions, cluster_notes, gpu_resource = [], [], ""
    for name in dict.fromkeys(answer(["qconf", "-sql"]).split()):
        fields = words(answer(["qconf", "-sq", name]))
        hosts = [one for one in instances if one.queue == name]
        if not hosts:
            cluster_notes.append(f"left out: {name} has no hosts")
            continue
        kinds = Counter(one.kind for one in hosts)
        gpu_resource = next((kind.description for kind in kinds if kind.gpus), gpu_resource)
        environments = [pe for pe in re.split(r"[\s,]+", fields.get("pe_list", "")) if pe not in ("", "NONE")]
        rules = {pe: words(answer(["qconf", "-sp", pe])).get("allocation_rule", "") for pe in environments}
        layout: tuple[str, ...] = (f"-pe {environments[0]} {{num_tasks}}",) if environments else ()
        notes = [f"allocation_rule of the parallel environment {pe} is {rule}" for pe, rule in rules.items()]
        if not environments:
            notes.append("no parallel environment, so no job of several ranks can start: see `qconf -spl`")
        notes += time_notes(fields.get("h_rt", ""), "its time limit")
        down = sum(bool(one.unavailable) for one in hosts)
        layout = (*layout, f"-q {name}", "-S /bin/bash", "-V", "-r n")
        limit = shortest_limit(fields.get("h_rt", ""))
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
