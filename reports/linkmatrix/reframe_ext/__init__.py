"""Extensions of ReFrame: schedulers under names of their own. ReFrame itself is never changed.

System files name ReFrame's schedulers. `config/settings.py` replaces each name by that of its extension. A system in
another file, as of `reframe -C site.py -C config/settings.py`, does so itself:

    from linkmatrix import reframe_ext

    partition = {"name": "gpu", "scheduler": reframe_ext.scheduler("slurm"), …}
"""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

#: ReFrame's scheduler → the module here that extends it
EXTENDED = {
    "slurm": "slurm",
    "squeue": "slurm",
    "pbs": "pbs",
    "torque": "pbs",
    "pbspro": "pbs",
    "sge": "grid_engine",
}
PREFIX = "linkmatrix_"
TRIED = ("4.10", "4.11")


def scheduler(word: str) -> str:
    """Register the extension of one of ReFrame's schedulers, and return its name, such as "linkmatrix_slurm".

    A scheduler without an extension, such as "local", keeps its own name.
    """
    if word not in EXTENDED:
        return word
    importlib.import_module(f".schedulers.{EXTENDED[word]}", __name__)
    return PREFIX + word


def site_word(name: str) -> str:
    """The scheduler as sites and ReFrame call it: "slurm" of "linkmatrix_slurm" and of "slurm"."""
    return name.removeprefix(PREFIX)


def with_schedulers(system: Mapping[str, Any]) -> dict[str, Any]:
    """A system with the extended schedulers. `extras["scheduler"]` of each partition has the scheduler's usual name."""
    partitions = [
        {
            **partition,
            "scheduler": scheduler(partition["scheduler"]),
            "extras": {**partition.get("extras", {}), "scheduler": partition["scheduler"]},
        }
        for partition in system["partitions"]
    ]
    return {**system, "partitions": partitions}


@functools.cache
def warn_of_plain_scheduler(partition: str, name: str) -> None:
    """Print a warning, once per partition, where its scheduler is one of ReFrame's that has an extension here."""
    if name in EXTENDED:
        from reframe.core.logging import getlogger

        getlogger().info(
            f"linkmatrix: warning: the scheduler of {partition} is ReFrame's own '{name}'. A silent controller, a "
            "preempted job or a job that cannot begin may end or delay the session. Set the scheduler to "
            f"linkmatrix.reframe_ext.scheduler('{name}')"
        )


def untried(version: str) -> str:
    """A warning about a version of ReFrame that linkmatrix is not tested with; "" for a tested one."""
    if ".".join(version.split(".")[:2]) in TRIED:
        return ""
    return f"linkmatrix is tested with ReFrame {' and '.join(TRIED)}; this is ReFrame {version}"
