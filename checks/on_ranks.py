"""The base class of checks whose ranks use host memory."""

import reframe as rfm
from reframe.core.builtins import variable

from .expect import rank_faults


class OnRanks(rfm.RegressionTestPlugin):
    """The base class of checks with ranks in host memory, on one or several nodes."""

    #: The number of ranks per node.
    #: :default: 0: the number of GPUs of the node, at least 2
    ranks = variable(int, value=0)

    #: The number of nodes, e.g. ``-S rank_p2p.nodes=4``.
    nodes = variable(int, value=1, loggable=True)

    def prepare(self):
        super().prepare()
        self.num_tasks_per_node = self.ranks or max(2, self.expected.devices or 0)
        self.num_tasks = self.nodes * self.num_tasks_per_node
        if self.ranks and self.measures:
            self.add_variant(f"{self.ranks}-ranks")
        if self.nodes > 1 and self.measures:
            self.add_variant(f"{self.nodes}-nodes")

    def machine_faults(self):
        """Reasons against PASS: missing or misplaced ranks."""
        return rank_faults(self.record, self.nodes, self.num_tasks_per_node)
