"""The nodes of a sweep, and their states.

$LINKMATRIX_NODES contains the names of the nodes. The value `all` means all nodes that the scheduler reports.
"""

import os
import socket
import sys
import time

import reframe.core.runtime as runtime
from reframe.core.logging import getlogger

from linkmatrix import reframe_ext
from linkmatrix.errors import BadInput
from linkmatrix.record import units
from linkmatrix.record.names import short
from linkmatrix.runs.modes import job_options
from linkmatrix.site import nodes

VARIABLE = "LINKMATRIX_NODES"
MOST_AGE = 60  # maximum age of an answer in seconds, because nodes may be drained during a sweep
answers = {}  # {partition: (time, its node states)}
first_answers = {}  # {partition: its first node states}


def node_states(partition):
    """{node: reason why the node accepts no job now, or ""} of a partition; None if its nodes are unknown."""
    asked, answer = answers.get(partition.fullname, (None, None))
    if asked is None or time.monotonic() - asked > MOST_AGE:
        answer = ask_scheduler(partition)
        answers[partition.fullname] = (time.monotonic(), answer)
    return answer


def first_node_states(partition):
    """The first result of `node_states` in this process, so that a session and its tests use the same nodes."""
    if partition.fullname not in first_answers:
        first_answers[partition.fullname] = node_states(partition)
    return first_answers[partition.fullname]


def ask_scheduler(partition):
    """Asks the scheduler about the nodes of a partition. Returns the result of `node_states`.

    Without a scheduler, this machine is the only node of the partition.
    """
    scheduler = scheduler_of(partition)
    if scheduler == "local":
        return {short(socket.gethostname()): ""}
    resources = [option for options in partition.resources.values() for option in options]
    # options of the command line come first, because they override options of the partition
    options = [*job_options(sys.argv[1:]), *partition.access, *(one for one in resources if one.startswith("-"))]
    try:
        return nodes.availability(scheduler, options)
    except (OSError, BadInput) as error:
        getlogger().info(f"{partition.fullname}: the state of its nodes is unknown: {error}")
        return None


def scheduler_of(partition):
    """ReFrame's name of a partition's scheduler, such as "slurm", also if the scheduler is extended."""
    return reframe_ext.reframe_name(partition.scheduler.registered_name)


def requested_nodes():
    """The node names in $LINKMATRIX_NODES. Each name is a parameter value of the check.

    If the list is malformed, the function returns the whole text as the only name. The test of this name then fails.
    After an exception, ReFrame would only print a warning and skip the check.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if text == nodes.ALL:
        found = {name for partition in every_partition() for name in node_states(partition) or {}}
        return [*sorted(found), *([text] if unknown_partitions() or not found else [])]
    try:
        return nodes.expand_names(text) if text else []
    except BadInput:
        return [text]


def every_partition():
    """The partitions of the current system."""
    return runtime.runtime().system.partitions


def unknown_partitions():
    """The partitions whose nodes are unknown: the scheduler does not answer, or reports no nodes.

    If the job options contain a reservation, an empty list of nodes is valid, because the reservation may contain no
    node of the partition.
    """
    is_reserved = any(option.startswith("--reservation") for option in job_options(sys.argv[1:]))
    states = [(partition, node_states(partition)) for partition in every_partition()]
    return [partition for partition, known in states if known is None or (not known and not is_reserved)]


def sweeping_partitions(node):
    """The names of the partitions in which a test of this node may run.

    * If several partitions contain the node, the function chooses one. The first criterion is whether the node accepts
      jobs in the partition, the second criterion is whether the partition has GPUs.
    * The function adds partitions with unknown nodes, unless LINKMATRIX_NODES is `all`.
    * If no partition is found, the result is all partitions.
    * For the node name `all`, the result is the partitions with unknown nodes.
    """
    every = every_partition()
    if node == nodes.ALL:
        return [one.fullname for one in unknown_partitions() or every]
    found = [one for one in every if short(node) in map(short, node_states(one) or {})]
    found = sorted(found, key=lambda one: (bool(unavailable_reason(node, one)), "gpu" not in one.features))[:1]
    if os.environ.get(VARIABLE, "").strip() != nodes.ALL or not found:
        found += [one for one in every if node_states(one) is None]
    return [one.fullname for one in found or every]


def unknown_node_reason(node, partition):
    """A sentence if a node name is malformed, or if the partition has no such node; "" otherwise.

    If the nodes of the partition are unknown, the node is accepted.
    """
    known = node_states(partition)
    if node == nodes.ALL:
        return f"the nodes of {partition.fullname} are unknown: name them in {VARIABLE}, or with --nodes"
    try:
        nodes.expand_names(node)
    except BadInput as error:
        return f"{VARIABLE}: {error}"
    if known is None or short(node) in map(short, known):
        return ""
    return f"{partition.fullname} has no node {node}, only {units.listed(sorted(known), 3) or 'none'}"


def scheduler_name(node, partition):
    """The name that the scheduler uses for a node: short (n1) or long (n1.cluster.example)."""
    known = node_states(partition) or {}
    return node if node in known else next((name for name in known if short(name) == short(node)), node)


def unavailable_reason(node, partition, ask_again=False):
    """The scheduler's reason why a node accepts no job now; "" if the node accepts jobs.

    ask_again: whether to ask the scheduler even if a stored answer is recent.
    """
    if ask_again:
        answers.pop(partition.fullname, None)
    known = node_states(partition) or {}
    return next((why for name, why in known.items() if short(name) == short(node)), "")


def is_out_of_service(why, partition):
    """Whether an administrator has taken a node out of service.

    why: the reason from `unavailable_reason`.
    """
    return nodes.is_out_of_service(scheduler_of(partition), why)
