"""Decides whether a waiting job of Slurm can begin although nobody changes a node or a limit.

Some of Slurm's reasons are temporary for one job and permanent for another. `ReqNodeNotAvail` is temporary if the nodes
are busy, and permanent if a requested node is drained. `QOSGrpNodeLimit` is temporary if other jobs use the nodes, and
permanent if the job alone exceeds the limit.
"""

import re
import shlex
from collections.abc import Callable, Mapping

from ...record import units

Query = Callable[[str], str]  # command line -> its standard output; "" without an answer

OF_NODES = re.compile(r"ReqNodeNotAvail|Nodes required for job are DOWN|NodeDown")
OF_LIMITS = re.compile(r"QOS(Grp|Max)\w+")
#: states of nodes in which no job starts until an administrator changes the state; a reboot ends by itself
OUT_OF_SERVICE = re.compile(r"down|drain|fail|inval|unk|future")
LIMITS = ("grptres", "maxtrespu", "maxtrespa")  # of a QOS: of all its jobs, of a user, of an account
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
MOST_NAMED = 3


def permanent_cause(reason: str, number: str, query: Query) -> str:
    """Why the job with this number waits forever, with the remedy; "" if it may begin, or if Slurm does not answer."""
    if not OF_NODES.match(reason) and not OF_LIMITS.match(reason):
        return ""
    job = words(query(f"scontrol show job --oneliner {shlex.quote(number)}"))
    if not job:
        return ""
    return nodes_cause(job, query) if OF_NODES.match(reason) else limits_cause(job, query)


def words(text: str) -> dict[str, str]:
    """{name: value} of a line such as "JobId=12 Partition=cpu"."""
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def nodes_cause(job: Mapping[str, str], query: Query) -> str:
    """Why nodes that are out of service keep a job from beginning; "" if enough other nodes exist."""
    partition, names = job.get("Partition", ""), job.get("ReqNodeList", "(null)")
    named = "" if names in ("", "(null)") else f" -n {shlex.quote(names)}"
    answer = query(f'sinfo -h -N -p {shlex.quote(partition)}{named} -o "%N|%T|%E"')
    rows = [line.split("|", 2) for line in answer.splitlines() if line.count("|") >= 2]
    out = {node: f"{node} is {state}: {why}" for node, state, why in rows if OUT_OF_SERVICE.match(state.lower())}
    nodes = {node for node, _, _ in rows}
    if not out:
        return ""
    few = "; ".join(units.first(list(out.values()), MOST_NAMED))
    if named:
        return f"{few}: return the node to service, or choose other nodes"
    requested, up = leading_number(job.get("NumNodes", "")), len(nodes) - len(out)
    if requested <= up:
        return ""
    return f"the job requests {requested} nodes, and {up} of {len(nodes)} of {partition} are in service: {few}"


def limits_cause(job: Mapping[str, str], query: Query) -> str:
    """Which limit of a quality of service the job exceeds alone; "" for none."""
    partition = words(query(f"scontrol show partition --oneliner {shlex.quote(job.get('Partition', ''))}"))
    chosen = {name.lower() for name in (job.get("QOS", ""), partition.get("QoS", "")) if name}
    requested = resources(job.get("ReqTRES") or job.get("TRES", ""))
    for line in query(f"sacctmgr -n -P show qos format=name,{','.join(LIMITS)}").splitlines():
        name, *limits = line.split("|")
        if name.lower() not in chosen:
            continue
        for resource, most in (pair for limit in limits for pair in resources(limit).items()):
            if requested.get(resource, 0) > most:
                return (
                    f"the job requests {resource}={plain(job, resource)}, which is more than the QOS {name} allows:"
                    " choose another QOS with -J qos=NAME, or request less"
                )
    return ""


def plain(job: Mapping[str, str], resource: str) -> str:
    """The requested amount of a resource, as Slurm writes it."""
    pairs = (job.get("ReqTRES") or job.get("TRES", "")).split(",")
    return next((pair.rpartition("=")[2] for pair in pairs if pair.rpartition("=")[0] == resource), "0")


def resources(text: str) -> dict[str, float]:
    """{resource: amount} of "cpu=4,mem=2G,gres/gpu=8"; entries without a number are left out."""
    found = {}
    for pair in text.split(","):
        name, _, value = pair.rpartition("=")
        if name and (amount := re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)", value)):
            found[name] = float(amount[1]) * UNITS.get(amount[2], 2**20 if name == "mem" else 1)
    return found


def leading_number(text: str) -> int:
    """2 of "2-4"; 0 without a number."""
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else 0
