"""Chooses the Slurm partition for a job of `scrontab` that starts runs.

The runs must not measure the nodes of this partition. The job of `scrontab` occupies a core of its node. A run that
measures this node waits until the whole node is free, and would wait forever.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import BadInput
from . import configured, nodes
from .cluster import Answer, Partition
from .slurm import slurm

INSTEAD = "use --cron or --systemd on a login node"


def partition(wanted: str | None, measured: Iterable[Mapping[str, Any]], answer: Answer) -> Partition:
    """The Slurm partition for the job of `scrontab`. Raises BadInput if no partition is suitable.

    wanted: the user's choice; None for the suitable partition with the longest time limit.
    measured: the partitions that the runs measure, from ReFrame's configuration.
    """
    try:
        every = {one.name: one for one in slurm(answer).partitions}
        of_each = {name: set(nodes.slurm([f"--partition={name}"], answer)) for name in every}
        taken = {node for one in measured for node in nodes.slurm(configured.job_options(one), answer)}
    except (OSError, ValueError) as error:
        raise BadInput(f"--scrontab needs the answers of Slurm: {error}; {INSTEAD}") from None
    if wanted is not None:
        check_partition(wanted, every, of_each, taken)
        return every[wanted]
    free = [one for name, one in every.items() if not one.closed and of_each[name] and not of_each[name] & taken]
    if not free:
        raise BadInput(
            "every partition that takes jobs has nodes that the run measures. The scrontab job would occupy a core of"
            f" such a node: {INSTEAD}"
        )
    return max(free, key=lambda one: float("inf") if one.limit is None else one.limit)


def check_partition(
    wanted: str, every: Mapping[str, Partition], of_each: Mapping[str, set[str]], taken: set[str]
) -> None:
    """Checks the user's choice of a partition.

    Raises BadInput if the partition does not exist, starts no job, or has nodes that the runs measure.
    every: {name: partition}.
    of_each: {name of a partition: its nodes}.
    taken: the nodes that the runs measure.
    """
    if wanted not in every:
        raise BadInput(f"--partition '{wanted}' is not a partition of this cluster (there are: {', '.join(every)})")
    if every[wanted].closed:
        raise BadInput(f"--partition '{wanted}' starts no job of yours: {'; '.join(every[wanted].notes)}")
    if shared := sorted(of_each[wanted] & taken):
        few = ", ".join(shared[:3]) + (f" and {len(shared) - 3} more" if len(shared) > 3 else "")
        raise BadInput(
            f"--partition '{wanted}' has nodes that the run measures ({few}). The scrontab job would occupy"
            f" a core of such a node: name another partition, or {INSTEAD}"
        )
