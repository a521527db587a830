"""Reads the partitions and nodes of a cluster from Slurm, and the limits of the current user."""

import getpass
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

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
from .gres import gpus_in
from .node_kinds import NodeLists, split_by_node_type, with_distinct_names
from .slurm_blocks import block_notes

NODES = ["sinfo", "-h", "-e", "-o", "%R|%D|%T|%c|%G|%f"]
ALL = ("ALL", "N/A", "(null)", "UNLIMITED", "")
# With these variables, srun ends all tasks of a step after one task failed, and 50 s after the first task ended.
# Without them, the other tasks run until the time limit of the job.
ENVIRONMENT = (("SLURM_KILL_BAD_EXIT", "1"), ("SLURM_WAIT", "50"))
# "NODE STATE CODES" in sinfo's manual: beginnings of states in which no job starts, and signs at the end of such states
NO_JOB = ("down", "drain", "fail", "inval", "unk", "power", "future", "reboot", "blocked", "perfctrs")
SIGNS = {
    "*": "it does not answer",
    "!": "it is about to be powered down",
    "%": "it is being powered down",
    "^": "it is being rebooted",
}
# states in which only jobs of a reservation start. ~ (powered off) and # (powered up) are missing: a job wakes the node
RESERVED = ("reserved", "maint")
RESERVED_SIGNS = {"$": "it is in a reservation for maintenance"}


def nodes_in(text: str) -> dict[str, tuple[Counter, Counter]]:
    """Returns {partition: (nodes, nodes that are down)}. Both are {type of node: number of nodes}.

    Raises OSError for a line in another format.
    text: the output of the command NODES (sinfo).
    """
    found: dict[str, tuple[Counter, Counter]] = {}
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) != 6:
            raise OSError(f"sinfo answered '{line}', not six fields separated by |")
        name, count, state, cores, gres, features = fields
        nodes, down = found.setdefault(name, (Counter(), Counter()))
        if not number(count):
            continue
        kind = kind_of(number(cores), gres, features)
        nodes[kind] += number(count)
        # a reserved node is not down, because the users of the reservation run jobs on it
        if starts_no_job(state) or (is_reserved(state) and not state.startswith("reserved")):
            down[kind] += number(count)
    return found


def kind_of(cores: int, gres: str, features: str) -> NodeType:
    """The type of a node. gres, features: fields of Slurm."""
    description = ", ".join(words for words in (gres, features) if words not in ("(null)", ""))
    gpus = gpus_in(gres)
    named = tuple(word for word in features.split(",") if word not in ("(null)", ""))
    return NodeType(cores, gpus.count, description, gpus.types, gpus.slices, named)


def starts_no_job(state: str) -> bool:
    """Whether a node with this state in sinfo starts no job."""
    return state.lower().startswith(NO_JOB) or state[-1:] in SIGNS


def is_reserved(state: str) -> bool:
    """Whether a node with this state in sinfo starts only the jobs of a reservation."""
    return state.lower().startswith(RESERVED) or state[-1:] in RESERVED_SIGNS


class Association(NamedTuple):
    """An association of the current user with an account in Slurm's accounting.

    wall: the time limit of the association's jobs.
    usual: the quality of service (QOS) of jobs that request no QOS.
    partition: the partition to which the association applies; "" for all partitions without a separate association.
    """

    account: str
    wall: str = ""
    usual: str = ""
    partition: str = ""


class Associations(NamedTuple):
    """The associations of the current user; empty if Slurm has no accounting, or if sacctmgr does not answer.

    walls: {quality of service (QOS): time limit}.
    """

    mine: tuple[Association, ...] = ()
    walls: dict[str, str] = {}

    def in_partition(self, partition: str) -> dict[str, Association]:
        """Returns {account: its association} for a partition. An association for only this partition has priority."""
        found = {one.account: one for one in self.mine if not one.partition}
        return found | {one.account: one for one in self.mine if one.partition == partition}


def user_associations(answer: Answer, cluster: str) -> Associations:
    """The associations of the current user, from sacctmgr.

    cluster: the name of the cluster; several clusters may share the accounting.
    """

    def table(columns: int, *words: str) -> list[list[str]]:
        try:
            rows = [line.split("|") for line in answer(["sacctmgr", "-n", "-P", "show", *words]).splitlines()]
        except OSError:
            return []
        return [row for row in rows if len(row) == columns]

    which = [f"user={getpass.getuser()}", *([f"cluster={cluster}"] if cluster else [])]
    mine = table(4, "assoc", *which, "format=account,maxwall,defaultqos,partition")
    return Associations(
        tuple(Association(*row) for row in mine if row[0]),
        dict(table(2, "qos", "format=name,maxwall")),
    )


class Rule(NamedTuple):
    """The effect of a setting of a partition on jobs.

    options: options that every job needs.
    notes: sentences for the administrator of the site.
    walls: time limits in addition to MaxTime.
    closed: whether no job of the current user can start.
    """

    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    walls: tuple[str, ...] = ()
    closed: bool = False


Settings = Mapping[str, str]  # of `scontrol show partition`


def availability_rules(settings: Settings) -> Iterator[Rule]:
    """The rules for these settings of a partition: down, only for root, only for reservations."""
    state = settings.get("State", "UP")
    if state != "UP":
        yield Rule(notes=(f"its state is {state}: no job starts",), closed=True)
    if settings.get("RootOnly") == "YES" and os.getuid() != 0:
        yield Rule(notes=("only for root (RootOnly): none of your jobs can start",), closed=True)
    if settings.get("ReqResv") == "YES":
        yield Rule(
            notes=("only for jobs of a reservation (ReqResv): add --reservation=NAME to the options in access",),
            closed=True,
        )


def no_association(mine: Associations) -> Rule:
    """The rule of a partition for which the current user has no association."""
    others = ", ".join(sorted({one.partition for one in mine.mine}))
    words = f"your accounts are only for {others} (sacctmgr show assoc): none of your jobs can start"
    return Rule(notes=(words,), closed=True)


AccountAssociations = Mapping[str, Association]  # of a partition, by account


def accounts_of(settings: Settings, mine: AccountAssociations) -> list[str]:
    """The user's accounts that the partition allows.

    If the user's accounts are unknown, returns all accounts in AllowAccounts.
    """
    if (listed := settings.get("AllowAccounts", "ALL")) not in ALL:  # Slurm then ignores DenyAccounts
        return [one for one in listed.split(",") if one in mine or not mine]
    return [one for one in mine if one not in settings.get("DenyAccounts", "").split(",")]


def account_rules(settings: Settings, mine: AccountAssociations) -> Iterator[Rule]:
    """The rules that follow from the accounts that a partition allows or denies."""
    listed, denied = settings.get("AllowAccounts", "ALL"), settings.get("DenyAccounts", "")
    accounts = accounts_of(settings, mine)
    named = (f"--account={accounts[0]}",) if len(accounts) == 1 else ()
    walls = tuple(mine[account].wall for account in accounts[:1] if len(accounts) == 1 and account in mine)
    if listed in ALL:
        if mine and not accounts:
            words = f"not for {denied} (DenyAccounts), which are all of your accounts: none of your jobs can start"
            yield Rule(notes=(words,), closed=True)
        yield Rule(named, walls=walls)
    elif not accounts:
        words = f"only for {listed} (AllowAccounts), not for your accounts: none of your jobs can start"
        yield Rule(notes=(words,), closed=True)
    elif named:
        yield Rule(named, (f"only for {listed} (AllowAccounts)",), walls)
    else:
        yield Rule(
            notes=(f"only for {', '.join(accounts)} (AllowAccounts): add --account=NAME to the options in access",)
        )


def qos_rules(settings: Settings, mine: AccountAssociations, wall_of: Mapping[str, str]) -> Iterator[Rule]:
    """The rules that follow from three settings of quality of service (QOS).

    The settings are the QOS that the partition allows or denies, the account's default QOS, and the partition's QOS.
    """
    listed, denied = settings.get("AllowQos", "ALL"), settings.get("DenyQos", "")
    # Slurm stores the names in small letters, but prints a partition's setting as the administrator wrote it
    usual = {mine[account].usual.lower() for account in accounts_of(settings, mine) or mine if account in mine}
    if listed not in ALL and "," not in listed:  # Slurm then ignores DenyQos
        yield time_limit_rule(wall_of.get(listed, ""), f"the time limit of the QOS {listed}", f"--qos={listed}")
    elif listed not in ALL and not (usual and usual <= set(listed.lower().split(","))):
        yield Rule(notes=(f"only for {listed} (AllowQos): add --qos=NAME to the options in access",))
    elif listed in ALL and denied not in ALL and not (usual and usual.isdisjoint({"", *denied.lower().split(",")})):
        yield Rule(notes=(f"not for {denied} (DenyQos): add another --qos=NAME to the options in access",))
    elif len(usual) == 1 and (own := usual.pop()):
        yield time_limit_rule(wall_of.get(own, ""), f"the time limit of {own}, the QOS of your jobs,")
    if (own := settings.get("QoS", "")) not in ALL:
        yield time_limit_rule(wall_of.get(own, ""), f"the time limit of its QOS {own}")


def time_limit_rule(wall: str, name: str, *options: str) -> Rule:
    """A rule with the time limit `wall`. A limit that is too short for the checks adds a note to the rule.

    name: the words with which this note begins. options: options that every job needs.
    """
    return Rule(options, tuple(time_notes(wall, name)), (wall,))


def size_rule(settings: Settings, nodes: int) -> Rule:
    """The rule about the number of nodes that a job on a partition may request.

    A minimum of more than one node excludes the checks of a single node.
    nodes: the number of nodes of the partition.
    """
    fewest, most = number(settings.get("MinNodes")), number(settings.get("MaxNodes")) or nodes
    notes, closed = size_notes(fewest, min(most, nodes), "MinNodes")
    return Rule(notes=notes, closed=closed)


def partition(settings: Settings, kinds: Counter, down: Counter, mine: Associations) -> Partition:
    """The partition with these settings of `scontrol show partition`.

    kinds: {type of node: number of nodes}.
    down: {type of node: number of nodes that are down}.
    mine: the associations of the current user.
    """
    name, longest = settings.get("PartitionName", ""), settings.get("MaxTime", "")
    there = mine.in_partition(name)
    rules = [
        *availability_rules(settings),
        *([no_association(mine)] if mine.mine and not there else account_rules(settings, there)),
        *qos_rules(settings, there, mine.walls),
        size_rule(settings, sum(kinds.values())),
    ]
    notes = [f"the default partition of {settings.get('Nodes', '')}"] if settings.get("Default") == "YES" else []
    return Partition(
        name,
        kinds,
        sum(down.values()),
        # without --no-requeue, a job whose node is lost starts again: it waits for the node, and mixes two outputs
        access=(f"--partition={name}", *(option for rule in rules for option in rule.options), NO_REQUEUE["slurm"]),
        notes=(*notes, *(note for rule in rules for note in rule.notes), *time_notes(longest, "its time limit")),
        limit=shortest_limit(longest, *(wall for rule in rules for wall in rule.walls)),
        most=number(settings.get("MaxNodes")),
        closed=any(rule.closed for rule in rules),
    )


def slurm(answer: Answer) -> Cluster:
    """The cluster of Slurm, from sinfo, scontrol and sacctmgr. Raises OSError if a command fails."""
    nodes = nodes_in(answer(NODES))
    config = attributes(answer(["scontrol", "show", "config"]))
    accounting = config.get("AccountingStorageType", "").rpartition("/")[2] not in ("", "none", "(null)")
    mine = user_associations(answer, config.get("ClusterName", "")) if accounting else Associations()
    listed = NodeLists(answer)
    partitions: list[Partition] = []
    notes = block_notes(answer)
    for line in dict.fromkeys(answer(["scontrol", "show", "partition", "--oneliner"]).splitlines()):
        settings = dict(word.split("=", 1) for word in line.split() if "=" in word)
        kinds, down = nodes.get(settings.get("PartitionName", ""), (Counter(), Counter()))
        if kinds:
            partitions += split_by_node_type(partition(settings, kinds, down, mine), down, listed)
        else:
            notes.append(f"left out: {settings.get('PartitionName', '')} has no nodes")
    if config.get("MpiDefault", "none") == "none":
        notes.append("MpiDefault is none: set SLURM_MPI_TYPE to a type that `srun --mpi=list` prints")
    by_node = config.get("SelectType", "").endswith("cons_tres")  # only this plugin supports --gpus-per-node
    return Cluster(
        title="Slurm",
        scheduler="slurm" if accounting else "squeue",
        launcher="srun",
        partitions=tuple(with_distinct_names(partitions)),
        gpu_option="--gpus-per-node={num_gpus_per_node}" if by_node else GPU_OPTIONS["slurm"],
        node_option="--nodelist={host}",
        environment=ENVIRONMENT,
        notes=tuple(notes),
    )
