"""The sessions. A session is one job that measures all test cases of a suite, on one node or on several nodes."""

from reframe.core.builtins import fixture

from linkmatrix.reframe_ext.sessions.session import Session

from .build import build_linkmatrix

RANKS_PER_NODE = "{num_tasks_per_node}"  # placeholder in the launcher options of a partition


class node_session(Session):
    """A session whose tests all use the same number of nodes, usually one node.

    On several nodes, the tests must also have the same number of ranks per node.
    """

    build = fixture(build_linkmatrix, scope="environment")

    def can_measure(self, request, first):
        same_ranks = request.nodes == 1 or request.ranks_per_node == first.ranks_per_node
        return request.nodes == first.nodes and request.node == first.node and same_ranks


class nodes_session(Session):
    """A session on several nodes. The largest request determines the number of nodes.

    A test of fewer nodes uses the first nodes of the job.
    """

    descr = "one job of several nodes for all test cases of a suite"
    build = fixture(build_linkmatrix, scope="environment")

    def can_measure(self, request, first):
        """Whether the launcher can start the ranks of `request` in the job that was requested for `first`.

        srun has an option for the number of ranks per node. Other launchers need the placeholder RANKS_PER_NODE in the
        partition's `rank_options`.
        """
        options = self.current_partition.extras.get("rank_options", [])
        srun = self.job.launcher.registered_name.startswith("srun")
        takes_number = srun or any(RANKS_PER_NODE in option for option in options)
        return request.node == first.node and (takes_number or request.ranks_per_node == first.ranks_per_node)
