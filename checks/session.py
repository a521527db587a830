"""The sessions: one job for the test cases of a suite, on one node or on several."""

from reframe.core.builtins import fixture

from linkmatrix.reframe_ext.sessions.session import Session

from .build import build_linkmatrix

ON_A_NODE = "{num_tasks_per_node}"  # in an option of the launcher: ranks on a node


class node_session(Session):
    """One node: its GPUs, its processors and the ranks on it; or several, where all its tests are told so."""

    build = fixture(build_linkmatrix, scope="environment")

    def fits(self, wish, first):
        alike = wish.nodes == 1 or wish.on_each == first.on_each
        return wish.nodes == first.nodes and wish.node == first.node and alike


class nodes_session(Session):
    """Several nodes, as many as the largest test needs; a test of fewer takes the first of them."""

    descr = "one job of several nodes for all test cases of a suite"
    build = fixture(build_linkmatrix, scope="environment")

    def fits(self, wish, first):
        """srun can be told to start fewer ranks on a node than the job has, and another launcher where the partition's
        options for ranks say how many go on a node.
        """
        placed = self.current_partition.extras.get("rank_options", [])
        places = self.job.launcher.registered_name.startswith("srun") or any(ON_A_NODE in word for word in placed)
        return wish.node == first.node and (places or wish.on_each == first.on_each)
