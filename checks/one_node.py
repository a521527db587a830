"""Ranks of one node: how many, and whether they took part. What checks of several programs have in common."""

import reframe as rfm
from reframe.core.builtins import variable

from .expect import rank_faults


class OnRanks(rfm.RegressionTestPlugin):
    """Ranks on one node, in host memory, started by the partition's launcher."""

    #: Ranks on the node.
    #:
    #: :type: :class:`int`
    #: :default: 0: as many as the node has GPUs, or 2 where it has none
    #:
    #: .. versionadded:: 0.2.0
    ranks = variable(int, value=0)

    def place_on_ranks(self):
        """Asks for the ranks."""
        self.num_tasks = self.num_tasks_per_node = self.ranks or max(2, self.promise.devices or 0)
        if self.ranks:
            self.measure_of_it(f"{self.ranks}-ranks")

    def machine_faults(self):
        """All ranks that were started took part."""
        return rank_faults(self.record, 1, self.num_tasks)
