"""A partition of ReFrame's configuration, its nodes and leaf switches, and the options of its jobs.

ReFrame prints the configuration in another process, because system files are Python code and settings.py changes them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadInput, clean
from ..files import read_whole
from ..reframe_ext import reframe_name
from . import machine, nodes
from .cluster import Answer
from .slurm_blocks import BLOCK_LINES, TOPOLOGY, blocks_in

GENERIC = "this-machine"  # the system of machines without a system file
MOST_BYTES = 1 << 24  # of a file of groups
#: ReFrame's schedulers → the lowest priority of a job, as the value of ReFrame's `-J`. Each scheduler allows users to
#: lower the priority: sbatch(1) --nice, qsub(1) of PBS and of Grid Engine -p.
LOWEST = {
    **dict.fromkeys(("slurm", "squeue"), "nice=2147483645"),
    **dict.fromkeys(("pbs", "pbspro", "torque"), "p=-1024"),
    "sge": "p=-1023",
}
#: ReFrame's schedulers → the option of a job on certain nodes, as the value of ReFrame's `-J`.
ON_NODES = dict.fromkeys(("slurm", "squeue"), "nodelist={}")
LEAF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,319}")


def partition(program: str, repository: Path, name: str, answer: Answer = machine.answer) -> dict[str, Any]:
    """ReFrame's configuration of a partition. Raises BadInput for an unknown partition.

    name: "system:partition". The entry `scheduler` contains ReFrame's name of the scheduler, not the name of the
    extension in reframe_ext.
    """
    settings = repository / "config" / "settings.py"
    command = [program, "-C", str(settings), f"--system={name}", "--show-config=systems/0/partitions"]
    try:
        found = next(dict(one) for one in json.loads(answer(command)) if one["name"] == name.partition(":")[2])
        return {**found, "scheduler": reframe_name(found["scheduler"])}
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        reason = str(error) or "it has no such partition"
        raise BadInput(f"--system {name}: ReFrame cannot read this partition: {clean(reason)}") from None


def measured_partitions(
    program: str, repository: Path, name: str | None = None, answer: Answer = machine.answer
) -> tuple[str, list[dict[str, Any]]]:
    """Returns (system, partitions): the system that ReFrame measures, and its partitions.

    Raises BadInput for an unknown system.
    name: the value of ReFrame's option --system; None for the system of this machine.
    """
    options = [f"--system={name}"] if name else []
    wanted = (name or "").partition(":")[2]
    try:
        text = answer([program, "-C", str(repository / "config" / "settings.py"), *options, "--show-config=systems/0"])
        found = json.loads(text[text.index("{") :])  # site files print lines too
        return str(found["name"]), [dict(one) for one in found["partitions"] if wanted in ("", one["name"])]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"ReFrame cannot read the system of {name or 'this machine'}: {clean(str(error))}") from None


def chosen_partition(program: str, repository: Path, name: str | None = None, answer: Answer = machine.answer) -> str:
    """The partition that ReFrame chooses, as "system:partition".

    Raises BadInput for an unknown system, and for a system with several partitions if `name` names none of them.
    name: the value of ReFrame's option --system; None for the system of this machine.
    """
    system, found = measured_partitions(program, repository, name, answer)
    partitions = [str(one["name"]) for one in found]
    if len(partitions) != 1:
        there = ", ".join(partitions)
        raise BadInput(f"system {system} has the partitions {there}: choose one with --system {system}:NAME")
    return f"{system}:{partitions[0]}"


def nodes_of(config: Mapping[str, Any], answer: Answer = machine.answer) -> dict[str, str]:
    """Returns {node: reason} for the nodes of a partition. The reason says why the node accepts no job now.

    The reason is "" for a node that accepts jobs. Raises the errors of `nodes.availability`.
    """
    return nodes.availability(config["scheduler"], job_options(config), answer)


def job_options(config: Mapping[str, Any]) -> list[str]:
    """The options of every job of a partition."""
    resources = [option for one in config.get("resources", []) for option in one.get("options", [])]
    return [*config.get("access", []), *(one for one in resources if one.startswith("-"))]


def low_priority_options(config: Mapping[str, Any]) -> list[str]:
    """ReFrame's options for jobs with the lowest priority. Raises BadInput.

    The site's options are in extras["preemptible"], such as ["--qos=scavenger"].
    """
    own = config.get("extras", {}).get("preemptible", [])
    if not isinstance(own, list) or not all(isinstance(one, str) and one.startswith("-") for one in own):
        raise BadInput(f"extras['preemptible'] of {config.get('name')} is {own!r}: write [\"--qos=scavenger\"]")
    lowest = LOWEST.get(config.get("scheduler", ""))
    return [*([f"-J{lowest}"] if lowest else []), *(f"-J{one}" for one in own)]


def node_option(config: Mapping[str, Any], names: Iterable[str]) -> str:
    """ReFrame's option for a job on the nodes `names`; "" if the scheduler has no such option."""
    form = ON_NODES.get(config.get("scheduler", ""), "")
    return f"-J{form.format(','.join(names))}" if form else ""


def parse_groups(text: str, where: str) -> dict[str, str]:
    """Returns {node: its group} from a text.

    Raises BadInput for a line in another format, and for a text without groups.
    text: lines such as "leaf1: n[1-32],n40", or Slurm's topology of leaf switches or blocks. The option --groups of
    the programs accepts the same text.
    where: the name of the file, for messages.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            leaf, listed = group_in(line.partition("#")[0].strip())
            for node in nodes.expand_names(listed) if listed else ():
                if found.setdefault(node, leaf) != leaf:
                    raise BadInput(f"{node} is in {found[node]} and in {leaf}: name it once")
        except BadInput as error:
            raise BadInput(f"{where}, line {number}: {error}") from None
    if not found:
        raise BadInput(
            f"{where} contains no group of nodes: use lines such as leaf1: n[1-32], or Slurm's topology.conf"
        )
    return found


def group_in(line: str) -> tuple[str, str]:
    """Returns (group, its nodes) for a line, such as ("leaf1", "n[1-32]"). Raises BadInput for other lines.

    The nodes are "" for an empty line, for a switch that connects other switches, and for a group of blocks.
    """
    may_be_empty = not line
    if line.startswith(BLOCK_LINES):
        leaf, listed = next(iter(blocks_in(line).items()), ("block", ""))
        may_be_empty = True
    elif "SwitchName=" in line:
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        leaf, listed = words["SwitchName"], "" if words.get("Switches") else words.get("Nodes", "")
        may_be_empty = True
    else:
        leaf, _, listed = (part.strip() for part in line.partition(":"))
    if (line and not LEAF.fullmatch(leaf)) or not (listed or may_be_empty):
        raise BadInput(f"'{clean(line[:80])}' names no group: use lines such as leaf1: n[1-32]")
    return leaf, listed


def read_groups(path: Path) -> dict[str, str]:
    """Returns {node: its group} from a file in the format of `parse_groups`. Raises BadInput."""
    try:
        return parse_groups(read_whole(path, MOST_BYTES).decode(), str(path))
    except UnicodeDecodeError:
        raise BadInput(
            f"{path} is not a text file: use lines such as leaf1: n[1-32], or Slurm's topology.conf"
        ) from None


def group_type(path: Path) -> str:
    """The type of the groups in a file: "domain" (NVLink domain) for Slurm's blocks, else "leaf" (leaf switch)."""
    return "domain" if blocks_in(read_whole(path, MOST_BYTES).decode(errors="replace")) else "leaf"


def scheduler_groups(config: Mapping[str, Any], answer: Answer = machine.answer) -> dict[str, str]:
    """Returns {node: its leaf switch or block}, from the scheduler. Returns {} if the scheduler reports no groups."""
    if config.get("scheduler") not in ("slurm", "squeue"):
        return {}
    try:
        return parse_groups(answer(TOPOLOGY), " ".join(TOPOLOGY))
    except (OSError, BadInput):  # such as with topology/default, which has no switches
        return {}
