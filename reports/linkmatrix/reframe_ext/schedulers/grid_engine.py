"""Grid Engine, with an end to every wait: ReFrame waits without end for a job that cannot begin or is in error."""

from typing import ClassVar

from reframe.core.backends import register_scheduler
from reframe.core.schedulers.sge import SgeJobScheduler

from .pbs import EndedWaits


@register_scheduler("linkmatrix_sge")
class GridEngine(EndedWaits, SgeJobScheduler):
    """Grid Engine, asked by `qstat`."""

    ASK: ClassVar = ("qstat -j {}", r"^scheduling info:\s*(.*)")
