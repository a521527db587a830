"""The nodes of a sweep: the nodes that $LINKMATRIX_NODES names, or all nodes that the scheduler reports."""

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
MOST_AGE = 60  # seconds until the scheduler is asked again, because nodes are drained during a sweep
answers = {}  # {partition: (time, answer of its scheduler)}
first_answers = {}  # {partition: the first answer of its scheduler}


def of_partition(partition):
    """{node: why it takes no job now, "" if it takes jobs} of a partition; None if unknown."""
    asked, answer = answers.get(partition.fullname, (None, None))
    if asked is None or time.monotonic() - asked > MOST_AGE:
        answer = ask(partition)
        answers[partition.fullname] = (time.monotonic(), answer)
    return answer


def at_start(partition):
    """The first answer of `of_partition`, because a session and its tests must agree on the number of nodes."""
    if partition.fullname not in first_answers:
        first_answers[partition.fullname] = of_partition(partition)
    return first_answers[partition.fullname]


def ask(partition):
    """Ask the scheduler, and return as `of_partition`. A partition without a scheduler has this machine as its node."""
    scheduler = scheduler_of(partition)
    if scheduler == "local":
        return {short(socket.gethostname()): ""}
    resources = [option for options in partition.resources.values() for option in options]
    # the command line overrides the partition
    options = [*job_options(sys.argv[1:]), *partition.access, *(one for one in resources if one.startswith("-"))]
    try:
        return nodes.availability(scheduler, options)
    except (OSError, BadInput) as error:
        getlogger().info(f"{partition.fullname}: the state of its nodes is unknown: {error}")
        return None


def scheduler_of(partition):
    """ReFrame's name of a partition's scheduler."""
    return reframe_ext.reframe_name(partition.scheduler.registered_name)


def requested_nodes():
    """The node names in $LINKMATRIX_NODES, for a check's parameter. A malformed list is returned as one name.

    ReFrame would skip a check that raises here with a warning, and a skipped check looks like a passed one.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if text == nodes.ALL:
        found = {name for partition in every_partition() for name in of_partition(partition) or {}}
        return [*sorted(found), *([text] if unknown_partitions() or not found else [])]
    try:
        return nodes.expand_names(text) if text else []
    except BadInput:
        return [text]


def every_partition():
    """The partitions of the current system."""
    return runtime.runtime().system.partitions


def unknown_partitions():
    """The partitions without known nodes, because the scheduler does not answer or reports none.

    With a reservation, a partition without nodes is not unknown: none of its nodes is reserved.
    """
    is_reserved = any(option.startswith("--reservation") for option in job_options(sys.argv[1:]))
    each = [(one, of_partition(one)) for one in every_partition()]
    return [one for one, known in each if known is None or (not known and not is_reserved)]


def partitions_of(node):
    """The partition that sweeps a node, and those that may have it; all partitions if none has it.

    If several partitions share a node, the first one with GPUs sweeps the node, else the first one. A partition that
    takes jobs on the node comes before a partition that does not. With `all`, each name comes from a partition that has
    the node, so partitions without known nodes are left out. The node name `all` itself stands for these partitions.
    """
    every = every_partition()
    if node == nodes.ALL:
        return [one.fullname for one in unknown_partitions() or every]
    found = [one for one in every if short(node) in map(short, of_partition(one) or {})]
    found = sorted(found, key=lambda one: (bool(unavailable_reason(node, one)), "gpu" not in one.features))[:1]
    if os.environ.get(VARIABLE, "").strip() != nodes.ALL or not found:
        found += [one for one in every if of_partition(one) is None]
    return [one.fullname for one in found or every]


def unknown_node_reason(node, partition):
    """A sentence on why a partition has no such node; "" if it has the node, or its nodes are unknown."""
    known = of_partition(partition)
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
    """A node's name as its scheduler writes it: n1 for n1.cluster.example, or the long name for the short one."""
    known = of_partition(partition) or {}
    return node if node in known else next((name for name in known if short(name) == short(node)), node)


def unavailable_reason(node, partition, ask_again=False):
    """The scheduler's reason why a node takes no job now; "" without one. ask_again: ignore earlier answers."""
    if ask_again:
        answers.pop(partition.fullname, None)
    known = of_partition(partition) or {}
    return next((why for name, why in known.items() if short(name) == short(node)), "")


def is_taken_out(why, partition):
    """Whether an administrator has taken a node out of service. why: the words of `unavailable_reason`."""
    return nodes.is_out_of_service(scheduler_of(partition), why)
