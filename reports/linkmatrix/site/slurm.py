"""Reads the partitions and nodes of a cluster from Slurm, and the limits of the current user."""

import getpass
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .cluster import Answer, Cluster, Kind, Partition, attributes, least, number, size_notes, time_notes
from .gres import gpus_in
from .node_kinds import NodeLists, by_kind, distinct
from .slurm_blocks import block_notes

NODES = ["sinfo", "-h", "-e", "-o", "%R|%D|%T|%c|%G|%f"]
ALL = ("ALL", "N/A", "(null)", "UNLIMITED", "")
# srun ends the tasks of a step once one failed, and 50 s after the first ended, so that none lasts a minute longer;
# else the time limit does
ENVIRONMENT = (("SLURM_KILL_BAD_EXIT", "1"), ("SLURM_WAIT", "50"))
# "NODE STATE CODES" in sinfo's manual: what a state begins with, and the sign that it may end with, where no job starts
NO_JOB = ("down", "drain", "fail", "inval", "unk", "power", "future", "reboot", "blocked", "perfctrs")
SIGNS = {
    "*": "it does not answer",
    "!": "it is about to be powered down",
    "%": "it is being powered down",
    "^": "it is being rebooted",
}
# where only jobs of a reservation start; ~ (powered off) and # (powered up) are nowhere: a job wakes such a node
HELD = ("reserved", "maint")
HELD_SIGNS = {"$": "it is in a reservation for maintenance"}


def nodes_in(text: str) -> dict[str, tuple[Counter, Counter]]:
    """{partition: ({kind: how many}, {kind: how many are down})} in the answer of sinfo in NODES's format."""
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
        if unfit(state) or (held(state) and not state.startswith("reserved")):  # others run jobs on what is reserved
            down[kind] += number(count)
    return found


def kind_of(cores: int, gres: str, features: str) -> Kind:
    """The kind of a node, from Slurm's words for its GPUs and features."""
    said = ", ".join(words for words in (gres, features) if words not in ("(null)", ""))
    gpus = gpus_in(gres)
    named = tuple(word for word in features.split(",") if word not in ("(null)", ""))
    return Kind(cores, gpus.count, said, gpus.types, gpus.slices, named)


def unfit(state: str) -> bool:
    """Whether a node in this state of sinfo starts no job."""
    return state.lower().startswith(NO_JOB) or state[-1:] in SIGNS


def held(state: str) -> bool:
    """Whether a node in this state of sinfo starts only jobs of its reservation."""
    return state.lower().startswith(HELD) or state[-1:] in HELD_SIGNS


class Association(NamedTuple):
    """An association of the current user: one account, in all partitions or in one."""

    account: str
    wall: str = ""  # the time limit of its jobs
    usual: str = ""  # the quality of service of its jobs that ask for none
    partition: str = ""  # "": of all that have none of their own


class Rights(NamedTuple):
    """The associations of the current user; all empty without accounting, or without an answer.

    walls: {quality of service: time limit}
    """

    mine: tuple[Association, ...] = ()
    walls: dict[str, str] = {}

    def there(self, partition: str) -> dict[str, Association]:
        """{account: what is true of it in a partition}; an association of the partition's own goes before others."""
        found = {one.account: one for one in self.mine if not one.partition}
        return found | {one.account: one for one in self.mine if one.partition == partition}


def rights(answer: Answer, cluster: str) -> Rights:
    """The associations of the current user, from sacctmgr. cluster: one of the clusters that share accounting."""

    def table(columns: int, *words: str) -> list[list[str]]:
        try:
            rows = [line.split("|") for line in answer(["sacctmgr", "-n", "-P", "show", *words]).splitlines()]
        except OSError:
            return []
        return [row for row in rows if len(row) == columns]

    which = [f"user={getpass.getuser()}", *([f"cluster={cluster}"] if cluster else [])]
    mine = table(4, "assoc", *which, "format=account,maxwall,defaultqos,partition")
    return Rights(
        tuple(Association(*row) for row in mine if row[0]),
        dict(table(2, "qos", "format=name,maxwall")),
    )


class Rule(NamedTuple):
    """The effect of a partition's rule: options of every job, notes, and time limits in addition to MaxTime.

    closed: no job of the current user starts there
    """

    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    walls: tuple[str, ...] = ()
    closed: bool = False


Words = Mapping[str, str]  # of `scontrol show partition`


def shut(said: Words) -> Iterator[Rule]:
    """The rule of a partition that is down or accepts no jobs."""
    state = said.get("State", "UP")
    if state != "UP":
        yield Rule(notes=(f"its state is {state}: no job starts",), closed=True)
    if said.get("RootOnly") == "YES" and os.getuid() != 0:
        yield Rule(notes=("only for root (RootOnly): none of your jobs can start",), closed=True)
    if said.get("ReqResv") == "YES":
        yield Rule(notes=("only for jobs of a reservation (ReqResv): add --reservation= to access",), closed=True)


def elsewhere(mine: Rights) -> Iterator[Rule]:
    """The rule if all associations of the user are for other partitions."""
    others = ", ".join(sorted({one.partition for one in mine.mine}))
    words = f"your accounts are only for {others} (sacctmgr show assoc): none of your jobs can start"
    yield Rule(notes=(words,), closed=True)


Mine = Mapping[str, Association]  # of a partition, by account


def accounts_of(said: Words, mine: Mine) -> list[str]:
    """The user's accounts that the partition allows; all allowed accounts if the user's accounts are unknown."""
    if (listed := said.get("AllowAccounts", "ALL")) not in ALL:  # then Slurm reads no DenyAccounts
        return [one for one in listed.split(",") if one in mine or not mine]
    return [one for one in mine if one not in said.get("DenyAccounts", "").split(",")]


def by_account(said: Words, mine: Mine) -> Iterator[Rule]:
    """The rule for the accounts that a partition allows."""
    listed, denied, accounts = said.get("AllowAccounts", "ALL"), said.get("DenyAccounts", ""), accounts_of(said, mine)
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
        yield Rule(notes=(f"only for {', '.join(accounts)} (AllowAccounts): add --account= to access",))


def by_qos(said: Words, mine: Mine, wall_of: Mapping[str, str]) -> Iterator[Rule]:
    """The rule for qualities of service: the allowed ones, that of the account, and that of the partition."""
    listed, denied = said.get("AllowQos", "ALL"), said.get("DenyQos", "")
    # Slurm keeps their names in small letters, and prints a partition's as they were written
    usual = {mine[account].usual.lower() for account in accounts_of(said, mine) or mine if account in mine}
    if listed not in ALL and "," not in listed:  # then Slurm reads no DenyQos
        yield Rule((f"--qos={listed}",), *timed(wall_of.get(listed, ""), f"the time limit of the QOS {listed}"))
    elif listed not in ALL and not (usual and usual <= set(listed.lower().split(","))):
        yield Rule(notes=(f"only for {listed} (AllowQos): add --qos= to access",))
    elif listed in ALL and denied not in ALL and not (usual and usual.isdisjoint({"", *denied.lower().split(",")})):
        yield Rule(notes=(f"not for {denied} (DenyQos): add --qos= with another to access",))
    elif len(usual) == 1 and (own := usual.pop()):
        yield Rule((), *timed(wall_of.get(own, ""), f"the time limit of {own}, the QOS of your jobs,"))
    if (own := said.get("QoS", "")) not in ALL:
        yield Rule((), *timed(wall_of.get(own, ""), f"the time limit of its QOS {own}"))


def timed(wall: str, of: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The notes of a rule, with those about its time limits."""
    return tuple(time_notes(wall, of)), (wall,)


def by_size(said: Words, nodes: int) -> Iterator[Rule]:
    """The rule for the minimum number of nodes of a job: checks of one node request one."""
    fewest, most = number(said.get("MinNodes")), number(said.get("MaxNodes")) or nodes
    notes, closed = size_notes(fewest, min(most, nodes), "MinNodes")
    yield Rule(notes=notes, closed=closed)


def partition(said: Words, kinds: Counter, down: Counter, mine: Rights) -> Partition:
    """The partition in a line of `scontrol show partition`."""
    name, longest = said.get("PartitionName", ""), said.get("MaxTime", "")
    there = mine.there(name)
    rules = [
        *shut(said),
        *(elsewhere(mine) if mine.mine and not there else by_account(said, there)),
        *by_qos(said, there, mine.walls),
        *by_size(said, sum(kinds.values())),
    ]
    notes = [f"the default partition of {said.get('Nodes', '')}"] if said.get("Default") == "YES" else []
    return Partition(
        name,
        kinds,
        sum(down.values()),
        # a job whose node is lost does not begin again: it would wait for that node, and half of its output is there
        access=(f"--partition={name}", *(option for rule in rules for option in rule.options), "--no-requeue"),
        notes=(*notes, *(note for rule in rules for note in rule.notes), *time_notes(longest, "its time limit")),
        limit=least(longest, *(wall for rule in rules for wall in rule.walls)),
        most=number(said.get("MaxNodes")),
        closed=any(rule.closed for rule in rules),
    )


def slurm(answer: Answer) -> Cluster:
    """The cluster of Slurm, from sinfo, scontrol and sacctmgr. Raises OSError if a command fails."""
    nodes = nodes_in(answer(NODES))
    config = attributes(answer(["scontrol", "show", "config"]))
    accounting = config.get("AccountingStorageType", "").rpartition("/")[2] not in ("", "none", "(null)")
    mine = rights(answer, config.get("ClusterName", "")) if accounting else Rights()
    listed = NodeLists(answer)
    partitions: list[Partition] = []
    notes = block_notes(answer)
    for line in answer(["scontrol", "show", "partition", "--oneliner"]).splitlines():
        said = dict(word.split("=", 1) for word in line.split() if "=" in word)
        kinds, down = nodes.get(said.get("PartitionName", ""), (Counter(), Counter()))
        if kinds:
            partitions += by_kind(partition(said, kinds, down, mine), down, listed)
        else:
            notes.append(f"left out: {said.get('PartitionName', '')} has no nodes")
    if config.get("MpiDefault", "none") == "none":
        notes.append("MpiDefault is none: set SLURM_MPI_TYPE to a type that `srun --mpi=list` prints")
    by_node = config.get("SelectType", "").endswith("cons_tres")  # only that plugin knows --gpus-per-node
    return Cluster(
        title="Slurm",
        scheduler="slurm" if accounting else "squeue",
        launcher="srun",
        partitions=tuple(distinct(partitions)),
        gpu_option=f"--{'gpus-per-node=' if by_node else 'gres=gpu:'}{{num_gpus_per_node}}",
        node_option="--nodelist={host}",
        environment=ENVIRONMENT,
        notes=tuple(notes),
    )
