"""Extensions of ReFrame's schedulers, registered as `linkmatrix_slurm` and so on. The code of ReFrame stays unchanged.

System files contain the names of ReFrame's schedulers, such as "slurm". `config/settings.py` replaces each name by the
name of the extension. A system file that is not in `config/systems` (`reframe -C site.py -C config/settings.py`) must
call `scheduler`:

    from linkmatrix import reframe_ext

    partition = {"name": "gpu", "scheduler": reframe_ext.scheduler("slurm"), …}
"""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from ..suite import EXTENSION

#: {scheduler of ReFrame: module of its extension}
EXTENDED = {
    "slurm": "slurm",
    "squeue": "slurm",
    "pbs": "pbs",
    "torque": "pbs",
    "pbspro": "pbs",
    "sge": "grid_engine",
}
TESTED = ("4.10", "4.11")  # versions of ReFrame


def scheduler(name: str) -> str:
    """Registers the extension of a ReFrame scheduler. Returns the name of the extension, such as "linkmatrix_slurm".

    A scheduler without an extension, such as "local", keeps its name.
    """
    if name not in EXTENDED:
        return name
    importlib.import_module(f".schedulers.{EXTENDED[name]}", __name__)
    return EXTENSION + name


def reframe_name(name: str) -> str:
    """ReFrame's name of a scheduler, such as "slurm" for "linkmatrix_slurm". Other names are returned unchanged."""
    return name.removeprefix(EXTENSION)


def extend_schedulers(system: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a system of ReFrame's configuration, whose partitions use the extended schedulers.

    `extras["scheduler"]` of each partition contains ReFrame's name of the scheduler.
    """
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
    """Prints a warning, once per partition, if the partition uses a scheduler of ReFrame instead of its extension.

    name: the scheduler of the partition.
    """
    if name in EXTENDED:
        from reframe.core.logging import getlogger

        getlogger().info(
            f"linkmatrix: warning: the scheduler of {partition} is ReFrame's own '{name}'. A silent controller, a "
            "preempted job or a job that cannot begin may end or delay the session. Set the scheduler to "
            f"linkmatrix.reframe_ext.scheduler('{name}')."
        )


def version_warning(version: str) -> str:
    """A warning about an untested version of ReFrame; "" for a tested version."""
    if ".".join(version.split(".")[:2]) in TESTED:
        return ""
    return f"linkmatrix is tested with ReFrame {' and '.join(TESTED)}; this is ReFrame {version}"
