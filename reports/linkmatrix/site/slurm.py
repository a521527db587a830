"""Asks Slurm for its cluster: partitions and their nodes, and what whoever asks may have of them."""

import getpass
import os
import re
from collections import Counter
from typing import NamedTuple

from .cluster import Answer, Cluster, Kind, Partition, attributes, least, number, time_notes

NODES = ["sinfo", "-h", "-e", "-o", "%R|%D|%T|%c|%G|%f"]
ALL = ("ALL", "N/A", "(null)", "UNLIMITED", "")
# srun ends the tasks of a step once one failed, and 60 s after the first ended; else the time limit does
ENVIRONMENT = (("SLURM_KILL_BAD_EXIT", "1"), ("SLURM_WAIT", "60"))
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


def gpus_of_gres(gres: str) -> int:
    """The number of GPUs in Slurm's words: "gpu:h200:8(S:0-1),tmpdisk:100" has 8."""
    entries = re.findall(r"(?:^|,)gpu(?::[^:,(]+)??(?::(\d+))?(?=[(,]|$)", gres)
    return sum(int(count or 1) for count in entries)


def nodes_in(text: str) -> dict[str, tuple[Counter, int]]:
    """{partition: ({kind: how many}, how many are down)} in the answer of sinfo in NODES's format."""
    found: dict[str, tuple[Counter, int]] = {}
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) != 6:
            raise OSError(f"sinfo answered '{line}', not six fields with | between them")
        name, count, state, cores, gres, features = fields
        nodes, down = found.get(name, (Counter(), 0))
        said = ", ".join(words for words in (gres, features) if words not in ("(null)", ""))
        if number(count):
            nodes[Kind(number(cores), gpus_of_gres(gres), said)] += number(count)
        away = unfit(state) or (held(state) and not state.startswith("reserved"))  # others run jobs on what is reserved
        found[name] = nodes, down + (number(count) if away else 0)
    return found


def unfit(state: str) -> bool:
    """Whether a node in this state, in sinfo's words, starts no job."""
    return state.lower().startswith(NO_JOB) or state[-1:] in SIGNS


def held(state: str) -> bool:
    """Whether a node in this state, in sinfo's words, starts only jobs of its reservation."""
    return state.lower().startswith(HELD) or state[-1:] in HELD_SIGNS


class Rights(NamedTuple):
    """What accounting says of whoever asks; all empty where there is none, or it does not answer.

    longest: {account: time limit}, of all that are theirs; walls: {quality of service: time limit}
    """

    longest: dict[str, str]
    walls: dict[str, str]


def rights(answer: Answer) -> Rights:
    """Asked of sacctmgr, which a cluster may have no use for."""

    def table(*words: str) -> list[list[str]]:
        try:
            return [line.split("|") for line in answer(["sacctmgr", "-n", "-P", "show", *words]).splitlines()]
        except OSError:
            return []

    mine = table("assoc", f"user={getpass.getuser()}", "format=account,maxwall")
    walls = table("qos", "format=name,maxwall")
    return Rights(
        {row[0]: row[1] for row in mine if len(row) == 2 and row[0]}, {row[0]: row[1] for row in walls if len(row) == 2}
    )


def allowed(said: str, mine: dict[str, str]) -> list[str]:
    """Those of `mine` that Slurm's list lets in; all that it names where nothing is known of mine."""
    named = said.split(",")
    return [one for one in named if one in mine] if mine else named


def partition(said: dict[str, str], kinds: Counter, down: int, mine: Rights) -> Partition:
    """A partition in the words of `scontrol show partition`."""
    name, state = said.get("PartitionName", ""), said.get("State", "UP")
    access, notes, closed = [f"--partition={name}"], [], False
    if said.get("Default") == "YES":
        notes.append(f"the default partition of {said.get('Nodes', '')}")
    if state != "UP":
        notes.append(f"its state is {state}: no job starts")
        closed = True
    if said.get("RootOnly") == "YES" and os.getuid() != 0:
        notes.append("only for root (RootOnly): no job of yours starts")
        closed = True
    if said.get("ReqResv") == "YES":
        notes.append("only for jobs of a reservation (ReqResv): add --reservation= to access")
        closed = True
    denied = said.get("DenyAccounts", "")
    accounts = [one for one in mine.longest if one not in denied.split(",")]
    if mine.longest and not accounts:
        notes.append(f"not for {denied} (DenyAccounts), which all of your accounts are: no job of yours starts")
        closed = True
    elif denied and len(accounts) == 1:
        access.append(f"--account={accounts[0]}")
    if (listed := said.get("AllowAccounts", "ALL")) not in ALL:
        accounts = allowed(listed, mine.longest)
        if not accounts:
            notes.append(f"only for {listed} (AllowAccounts), and none of your accounts is: no job of yours starts")
            closed = True
        elif len(accounts) == 1:
            access.append(f"--account={accounts[0]}")
            notes.append(f"only for {listed} (AllowAccounts)")
        else:
            notes.append(f"only for {', '.join(accounts)} (AllowAccounts): add --account= to access")
    walls = [mine.longest.get(account, "") for account in accounts] if len(accounts) == 1 else []
    if (listed := said.get("AllowQos", "ALL")) not in ALL:
        if "," in listed:
            notes.append(f"only for {listed} (AllowQos): add --qos= to access")
        else:
            access.append(f"--qos={listed}")
            notes += time_notes(mine.walls.get(listed, ""), f"the time limit of the QOS {listed}")
            walls.append(mine.walls.get(listed, ""))
    notes += time_notes(said.get("MaxTime", ""), "its time limit")
    if (own := said.get("QoS", "")) not in ALL:
        notes += time_notes(mine.walls.get(own, ""), f"the time limit of its QOS {own}")
        walls.append(mine.walls.get(own, ""))
    limit = least(said.get("MaxTime", ""), *walls)
    # a job whose node is lost does not begin again: it would wait for that node, and half of its output is there
    access.append("--no-requeue")
    most = number(said.get("MaxNodes"))
    return Partition(name, kinds, down, tuple(access), notes=tuple(notes), limit=limit, most=most, closed=closed)


def slurm(answer: Answer) -> Cluster:
    """A cluster with Slurm, asked by sinfo, scontrol and sacctmgr."""
    nodes = nodes_in(answer(NODES))
    config = attributes(answer(["scontrol", "show", "config"]))
    accounting = config.get("AccountingStorageType", "").rpartition("/")[2] not in ("", "none", "(null)")
    mine = rights(answer) if accounting else Rights({}, {})
    partitions, notes = [], []
    for line in answer(["scontrol", "show", "partition", "--oneliner"]).splitlines():
        said = dict(word.split("=", 1) for word in line.split() if "=" in word)
        kinds, down = nodes.get(said.get("PartitionName", ""), (Counter(), 0))
        if kinds:
            partitions.append(partition(said, kinds, down, mine))
        else:
            notes.append(f"left out: {said.get('PartitionName', '')} has no nodes")
    if config.get("MpiDefault", "none") == "none":
        notes.append("MpiDefault is none: srun starts ranks where SLURM_MPI_TYPE says how (`srun --mpi=list`)")
    by_node = config.get("SelectType", "").endswith("cons_tres")  # only that plugin knows --gpus-per-node
    return Cluster(
        title="Slurm",
        scheduler="slurm" if accounting else "squeue",
        launcher="srun",
        partitions=tuple(partitions),
        gpu_option=f"--{'gpus-per-node=' if by_node else 'gres=gpu:'}{{num_gpus_per_node}}",
        node_option="--nodelist={host}",
        environment=ENVIRONMENT,
        notes=tuple(notes),
    )
