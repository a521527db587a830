"""Grid Engine, with limited waits. ReFrame waits forever for a job that cannot begin, or that is in the error state."""

from typing import ClassVar

from reframe.core.backends import register_scheduler
from reframe.core.schedulers.sge import SgeJobScheduler

from .pbs import BoundedWaits


@register_scheduler("linkmatrix_sge")
class GridEngine(BoundedWaits, SgeJobScheduler):
    """Grid Engine, polled by `qstat`."""

    REASON_QUERY: ClassVar = ("qstat -j {}", r"^scheduling info:\s*(.*)")
