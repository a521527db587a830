"""Ranks in host memory: how many, where, and whether they took part. What checks of several programs have in common."""

import reframe as rfm
from reframe.core.builtins import variable

from .expect import rank_faults


class OnRanks(rfm.RegressionTestPlugin):
    """Ranks on one node or several, in host memory, started by the partition's launcher."""

    #: Ranks on each node.
    #: :default: 0: as many as the node has GPUs, or 2 where it has none
    ranks = variable(int, value=0)

    #: Nodes that the ranks are spread over, e.g. ``-S rank_p2p.nodes=4``.
    nodes = variable(int, value=1, loggable=True)

    def prepare(self):
        super().prepare()
        self.num_tasks_per_node = self.ranks or max(2, self.promise.devices or 0)
        self.num_tasks = self.nodes * self.num_tasks_per_node
        if self.ranks and self.measures:
            self.measure_of_it(f"{self.ranks}-ranks")
        if self.nodes > 1 and self.measures:
            self.measure_of_it(f"{self.nodes}-nodes")

    def machine_faults(self):
        """Reasons if not all ranks took part."""
        return rank_faults(self.record, self.nodes, self.num_tasks_per_node)
