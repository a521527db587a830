"""Decides whether a waiting job of Slurm can begin without a change of nodes or limits.

| Slurm's reason | the job waits for a time if | the job can never begin if |
|---|---|---|
| `ReqNodeNotAvail` | the nodes are busy | a requested node is drained |
| `QOSGrpNodeLimit` | other jobs use the nodes | the job alone exceeds the limit |
"""

import re
import shlex
from collections.abc import Callable, Mapping

from ...record import units

Query = Callable[[str], str]  # returns the standard output of a command line; "" without an answer

NODE_REASONS = re.compile(r"ReqNodeNotAvail|Nodes required for job are DOWN|NodeDown")
LIMIT_REASONS = re.compile(r"QOS(Grp|Max)\w+")
#: States of nodes that only an administrator can end.
OUT_OF_SERVICE = re.compile(r"down|drain|fail|inval|unk|future")
LIMITS = ("grptres", "maxtrespu", "maxtrespa")  # limits of a QOS: for all its jobs, per user, per account
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


def permanent_cause(reason: str, number: str, query: Query) -> str:
    """A sentence that explains why a job can never begin, with the remedy.

    Returns "" if the job may begin, or if Slurm does not answer.
    reason: Slurm's reason.
    number: the job ID.
    """
    if not NODE_REASONS.match(reason) and not LIMIT_REASONS.match(reason):
        return ""
    job = key_values(query(f"scontrol show job --oneliner {shlex.quote(number)}"))
    if not job:
        return ""
    return nodes_cause(job, query) if NODE_REASONS.match(reason) else limits_cause(job, query)


def key_values(text: str) -> dict[str, str]:
    """Parses a line such as "JobId=12 Partition=cpu" to {name: value}."""
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def nodes_cause(job: Mapping[str, str], query: Query) -> str:
    """A sentence about nodes out of service, if the job can never begin without these nodes; "" otherwise."""
    partition, names = job.get("Partition", ""), job.get("ReqNodeList", "(null)")
    named = "" if names in ("", "(null)") else f" -n {shlex.quote(names)}"
    answer = query(f'sinfo -h -N -p {shlex.quote(partition)}{named} -o "%N|%T|%E"')
    rows = [line.split("|", 2) for line in answer.splitlines() if line.count("|") >= 2]
    out = {node: f"{node} is {state}: {why}" for node, state, why in rows if OUT_OF_SERVICE.match(state.lower())}
    nodes = {node for node, _, _ in rows}
    if not out:
        return ""
    few = "; ".join(units.first(list(out.values())))
    if named:
        return f"{few}: return the node to service, or choose other nodes"
    requested, up = leading_number(job.get("NumNodes", "")), len(nodes) - len(out)
    if requested <= up:
        return ""
    return f"the job requests {requested} nodes, and {up} of {len(nodes)} of {partition} are in service: {few}"


def limits_cause(job: Mapping[str, str], query: Query) -> str:
    """A sentence, if this job alone exceeds a limit of its quality of service (QOS); else "".

    The limits are for all jobs of the QOS, of a user, or of an account.
    """
    partition = key_values(query(f"scontrol show partition --oneliner {shlex.quote(job.get('Partition', ''))}"))
    chosen = {name.lower() for name in (job.get("QOS", ""), partition.get("QoS", "")) if name}
    requested_text = job.get("ReqTRES") or job.get("TRES", "")  # such as "cpu=4,mem=2G"
    requested = resources(requested_text)
    for line in query(f"sacctmgr -n -P show qos format=name,{','.join(LIMITS)}").splitlines():
        name, *limits = line.split("|")
        if name.lower() not in chosen:
            continue
        for resource, most in (pair for limit in limits for pair in resources(limit).items()):
            if requested.get(resource, 0) > most:
                amount = next(pair for pair in requested_text.split(",") if pair.rpartition("=")[0] == resource)
                return (
                    f"the job requests {amount}, which is more than the QOS {name} allows: choose another QOS with -J"
                    " qos=NAME, or request less"
                )
    return ""


def resources(text: str) -> dict[str, float]:
    """Parses a text such as "cpu=4,mem=2G,gres/gpu=8" to {resource: amount}. Leaves out values that are not numbers."""
    found = {}
    for pair in text.split(","):
        name, _, value = pair.rpartition("=")
        if name and (amount := re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)", value)):
            found[name] = float(amount[1]) * UNITS.get(amount[2], 2**20 if name == "mem" else 1)
    return found


def leading_number(text: str) -> int:
    """The number at the start of a text, such as 2 for "2-4"; 0 without a number."""
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else 0
