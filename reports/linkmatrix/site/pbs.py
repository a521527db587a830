"""Reads the queues and nodes of a cluster from OpenPBS, PBS Pro or Torque."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from .cluster import (
    GPU_OPTIONS,
    NO_REQUEUE,
    Answer,
    Cluster,
    NodeType,
    Partition,
    attributes,
    number,
    shortest_limit,
    size_notes,
    time_notes,
)

# {property: its names in PBS and Torque}
CORES = ("resources_available.ncpus", "np", "pcpus")
GPUS = ("resources_available.ngpus", "gpus")
UNAVAILABLE = re.compile("down|offline|unknown|stale|maintenance")  # in the state of a node where no job starts


def parse_listing(text: str) -> dict[str, dict[str, str]]:
    """Returns {name: its attributes} from a listing of PBS.

    A line "NAME" or "Queue: NAME" starts an entry. The indented lines below are its attributes.
    """
    found: dict[str, dict[str, str]] = {}
    for paragraph in re.split(r"\n(?=\S)", text):
        head, _, rest = paragraph.partition("\n")
        if rest and not head.startswith("#"):
            found[head.removeprefix("Queue:").strip()] = attributes(rest.replace("\n\t", ""))
    return found


def first_number(fields: dict[str, str], names: Iterable[str]) -> int:
    """The value of the first attribute of `names` that `fields` contains; 0 without any of these attributes."""
    return next((number(fields[name]) for name in names if name in fields), 0)


def runs_queue(node: dict[str, str], name: str, queue: dict[str, str]) -> bool:
    """Whether the node runs jobs of the queue `name`.

    The node must have the resources that the attribute default_chunk of the queue requests.
    node, queue: the attributes.
    """
    wanted = {
        key.removeprefix("default_chunk."): value
        for key, value in queue.items()
        if key.startswith("default_chunk.") and not value[:1].isdigit()
    }
    has = {key: re.split(r'[",\s]+', node.get(f"resources_available.{key}", "")) for key in wanted}
    return node.get("queue", name) == name and all(value in has[key] for key, value in wanted.items())


def host_types(nodes: Iterable[dict[str, str]]) -> tuple[Counter, int]:
    """Returns ({type of host: number of hosts}, number of hosts that are down).

    A host can have several virtual nodes. Their cores and GPUs are added up.
    """
    hosts: dict[str, list[dict[str, str]]] = {}
    for index, fields in enumerate(nodes):
        hosts.setdefault(fields.get("resources_available.host", f"node {index}"), []).append(fields)
    kinds = Counter(
        NodeType(
            sum(first_number(fields, CORES) for fields in parts), sum(first_number(fields, GPUS) for fields in parts)
        )
        for parts in hosts.values()
    )
    down = sum(any(UNAVAILABLE.search(fields.get("state", "")) for fields in one) for one in hosts.values())
    return kinds, down


def best_queue(queues: list[Partition]) -> Partition:
    """The queue to use for measurements, from several queues with the same nodes.

    The best queue has the fewest restrictions. If several queues are equal, the queue with the longest time limit is
    best.
    """
    best = min(queues, key=lambda one: (one.closed, len(one.notes), -(one.limit or float("inf"))))
    others = ", ".join(one.name for one in queues if one is not best)
    return replace(best, notes=(*best.notes, f"other queues with the same nodes: {others}")) if others else best


def destinations(name: str, queues: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The queues in which the jobs of a queue run.

    The jobs of a routing queue run in its destinations. The jobs of any other queue run in the queue itself.
    """
    fields = queues.get(name, {})
    if not is_routing(fields):
        return [name]
    return [one.partition("@")[0] for one in re.split(r"[,\s]+", fields.get("route_destinations", "")) if one]


def is_routing(queue: Mapping[str, str]) -> bool:
    """Whether a queue of PBS is a routing queue. A routing queue moves its jobs to other queues."""
    return queue.get("queue_type", "").startswith(("R", "r"))


def stop_notes(queue: Mapping[str, str]) -> list[str]:
    """Notes about a queue that accepts no jobs or starts no jobs; [] for other queues.

    An attribute that PBS does not print is false.
    """
    return [f"the queue is not {key}: no job starts" for key in ("enabled", "started") if queue.get(key) != "True"]


def submission_queue(name: str, queues: Mapping[str, Mapping[str, str]]) -> tuple[str, list[str]]:
    """Returns (the queue that a job must name to run in the queue `name`, notes).

    Some queues accept jobs only from routing queues. The job must then name a routing queue that sends jobs to `name`.
    If no routing queue sends jobs to `name`, the returned queue is "".
    """
    if queues[name].get("from_route_only") != "True":
        return name, []
    leading = {one: found for one in queues if is_routing(queues[one]) and name in (found := destinations(one, queues))}
    usable = [one for one in leading if not stop_notes(queues[one])]
    if not usable:
        return "", ["no job starts, because no routing queue sends jobs to this queue (from_route_only)"]
    best = min(usable, key=lambda one: len(leading[one]))
    others = ", ".join(one for one in leading[best] if one != name)
    also = f", which leads to {others} too" if others else ""
    return best, [f"jobs reach this queue only through the routing queue {best}{also} (from_route_only)"]


def pbs_nodes(answer: Answer) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Returns ({node: its attributes}, notes). If the site hides its nodes from users, a note reports this."""
    try:
        nodes, why = parse_listing(answer(["pbsnodes", "-a"])), "its list is empty"
    except OSError as error:
        nodes, why = {}, str(error)
    return nodes, [] if nodes else [
        f"pbsnodes shows you no nodes ({why}): add the nodes and GPUs of each queue to the system file"
    ]


def pbs(answer: Answer) -> Cluster:
    """The cluster of PBS, from qstat and pbsnodes. Raises OSError if a command fails."""
    queues = parse_listing(answer(["qstat", "-Qf"]))
    nodes, cluster_notes = pbs_nodes(answer)
    torque = any("np" in fields for fields in nodes.values())
    of_nodes: dict[tuple[str, ...], list[Partition]] = {}
    for name, fields in queues.items():
        if is_routing(fields):
            cluster_notes.append(f"left out: {name} only routes jobs to other queues")
            continue
        served = [node for node, words in nodes.items() if runs_queue(words, name, fields)]
        if nodes and not served:
            cluster_notes.append(f"left out: {name} has no nodes")
            continue
        kinds, down = host_types(nodes[node] for node in served)
        queue = pbs_queue(name, queues, torque, kinds, down)
        of_nodes.setdefault(tuple(sorted(served)) or (name,), []).append(queue)
    return Cluster(
        title="Torque" if torque else "PBS",
        scheduler="torque" if torque else "pbs",
        launcher="mpirun",
        partitions=tuple(best_queue(queues) for queues in of_nodes.values()),
        gpu_option="gpus={num_gpus_per_node}" if torque else GPU_OPTIONS["pbs"],
        node_option="{host}" if torque else "host={host}",
        notes=tuple(cluster_notes),
    )


def pbs_queue(
    name: str, queues: Mapping[str, dict[str, str]], torque: bool, kinds: Counter[NodeType], down: int
) -> Partition:
    """The partition for the queue `name`, from the queue's attributes in `qstat -Qf`.

    kinds: {type of node: number of nodes}. down: the number of nodes that are down.
    """
    fields = queues[name]
    enter, through = submission_queue(name, queues)
    walltime, count = fields.get("resources_max.walltime", ""), sum(kinds.values())
    most = number(fields.get("resources_max.nodect"))
    fewest = number(fields.get("resources_min.nodect"))
    sizes, too_large = size_notes(fewest, min(filter(None, (most, count)), default=fewest), "resources_min.nodect")
    notes = [f"only for some users: {key} = {fields[key]}" for key in ("acl_users", "acl_groups") if key in fields]
    notes += [*through, *stop_notes(fields), *sizes, *time_notes(walltime, "its time limit")]
    # without scatter PBS may put the ranks of two nodes on one
    place = () if torque else ("-l place=scatter:excl",)
    return Partition(
        name,
        kinds,
        down,
        access=(f"-q {enter or name}", *place, NO_REQUEUE["pbs"], "-V"),
        notes=tuple(notes),
        limit=shortest_limit(walltime),
        most=most,
        closed=bool(stop_notes(fields) or too_large or not enter),
    )
