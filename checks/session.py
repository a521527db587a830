"""The sessions: a job for the test cases of a suite, on one node or on several nodes."""

from reframe.core.builtins import fixture

from linkmatrix.reframe_ext.sessions.session import Session

from .build import build_linkmatrix

RANKS_PER_NODE = "{num_tasks_per_node}"  # placeholder in the launcher options of a partition


class node_session(Session):
    """A job for the GPUs, processors and ranks of one node, or of several nodes if all tests request several."""

    build = fixture(build_linkmatrix, scope="environment")

    def can_measure(self, request, first):
        alike = request.nodes == 1 or request.ranks_per_node == first.ranks_per_node
        return request.nodes == first.nodes and request.node == first.node and alike


class nodes_session(Session):
    """A job of as many nodes as the largest test requests. Smaller tests run on the first nodes of the job."""

    descr = "one job of several nodes for all test cases of a suite"
    build = fixture(build_linkmatrix, scope="environment")

    def can_measure(self, request, first):
        """Whether the launcher can start the request's ranks in the job of the first request.

        srun takes a number of ranks per node. Another launcher takes a number if the partition's `rank_options` contain
        the placeholder.
        """
        options = self.current_partition.extras.get("rank_options", [])
        srun = self.job.launcher.registered_name.startswith("srun")
        takes_number = srun or any(RANKS_PER_NODE in option for option in options)
        return request.node == first.node and (takes_number or request.ranks_per_node == first.ranks_per_node)
