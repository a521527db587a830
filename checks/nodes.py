"""The nodes of a sweep: those that $LINKMATRIX_NODES names, or all of the partitions, as their scheduler says."""

import os
import socket
import sys
import time

import reframe.core.runtime as runtime
from reframe.core.logging import getlogger

from linkmatrix import reframe_ext
from linkmatrix.errors import BadInput
from linkmatrix.runs.bound import short
from linkmatrix.runs.modes import job_options
from linkmatrix.site import nodes

VARIABLE = "LINKMATRIX_NODES"
ENOUGH = 60  # seconds for which an answer is good: a sweep of hours asks again, for nodes are drained meanwhile
answers = {}  # {partition: (when it was asked, what it said)}
first_answers = {}  # {partition: what it said first}


def of_partition(partition):
    """{node: why it takes no job now, "" where it does} of a partition of ReFrame; None where nobody can say."""
    asked, said = answers.get(partition.fullname, (None, None))
    if asked is None or time.monotonic() - asked > ENOUGH:
        said = ask(partition)
        answers[partition.fullname] = (time.monotonic(), said)
    return said


def at_start(partition):
    """As `of_partition`, but always the first answer: a session and its tests must agree on the number of nodes."""
    if partition.fullname not in first_answers:
        first_answers[partition.fullname] = of_partition(partition)
    return first_answers[partition.fullname]


def ask(partition):
    """As `of_partition`; a partition without a scheduler is this machine."""
    scheduler = scheduler_of(partition)
    if scheduler == "local":
        return {short(socket.gethostname()): ""}
    resources = [option for options in partition.resources.values() for option in options]
    # the command line overrides the partition
    options = [*job_options(sys.argv[1:]), *partition.access, *(one for one in resources if one.startswith("-"))]
    try:
        return nodes.of(scheduler, options)
    except (OSError, BadInput) as error:
        getlogger().info(f"{partition.fullname}: which of its nodes take jobs is not known: {error}")
        return None


def scheduler_of(partition):
    """ReFrame's name of a partition's scheduler."""
    return reframe_ext.reframe_name(partition.scheduler.registered_name)


def asked_for():
    """The names in $LINKMATRIX_NODES, the values of a check's parameter; a list that cannot be read is one itself.

    A check that raised here would be left out with a warning, and what is left out looks passed.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if text == nodes.ALL:
        found = {name for partition in every_partition() for name in of_partition(partition) or {}}
        return [*sorted(found), *([text] if unknown_partitions() or not found else [])]
    try:
        return nodes.expanded(text) if text else []
    except BadInput:
        return [text]


def every_partition():
    """Those of the system that runs."""
    return runtime.runtime().system.partitions


def unknown_partitions():
    """Those whose nodes nobody can say, or of which the scheduler says that it has none: then a name is wrong."""
    return [one for one in every_partition() if not of_partition(one)]


def partitions_of(node):
    """The partition that sweeps a node, and those that may have it; all, where none has, so that a test says so.

    Of several partitions that share a node, the first with GPUs sweeps the node, or else the first. A partition that
    takes jobs there comes before one that does not.

    With `all` each name came from a partition that has it: it is not sent to one of which nothing is known. That has a
    test of its own, which is named `all` and says so.
    """
    every = every_partition()
    if node == nodes.ALL:
        return [one.fullname for one in unknown_partitions() or every]
    found = [one for one in every if short(node) in map(short, of_partition(one) or {})]
    found = sorted(found, key=lambda one: (bool(why_not_now(node, one)), "gpu" not in one.features))[:1]
    if os.environ.get(VARIABLE, "").strip() != nodes.ALL or not found:
        found += [one for one in every if of_partition(one) is None]
    return [one.fullname for one in found or every]


def why_unknown(node, partition):
    """Why a partition has no such node, in a sentence; "" where it has, or nobody can say."""
    known = of_partition(partition)
    if node == nodes.ALL:
        return f"which nodes {partition.fullname} has is not known: name them in {VARIABLE}, or --nodes"
    try:
        nodes.expanded(node)
    except BadInput as error:
        return f"{VARIABLE}: {error}"
    if known is None or short(node) in map(short, known):
        return ""
    few = sorted(known)[:3]
    others = ", ".join(few) + (f" and {len(known) - len(few)} more" if len(known) > len(few) else "")
    return f"{partition.fullname} has no node {node}, but {others or 'none'}"


def known_as(node, partition):
    """A node as its scheduler writes it, which takes no other name: n1 for n1.cluster.example, or the other way."""
    known = of_partition(partition) or {}
    return node if node in known else next((name for name in known if short(name) == short(node)), node)


def why_not_now(node, partition, ask_anew=False):
    """Why a node takes no job now, in the scheduler's words; "" where it does, or nobody can say."""
    if ask_anew:
        answers.pop(partition.fullname, None)
    known = of_partition(partition) or {}
    return next((why for name, why in known.items() if short(name) == short(node)), "")


def is_taken_out(why, partition):
    """Whether an administrator has taken a node out of service. why: the words of `why_not_now`."""
    return nodes.is_taken_out(scheduler_of(partition), why)
