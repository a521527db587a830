"""Checks between nodes: matrices of nodes or ranks, and sweeps of message sizes."""

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, parameter, run_after, variable
from reframe.core.logging import getlogger

from linkmatrix.judge.verdicts import Verdict

from . import nodes
from .adapters import adapter_faults
from .case import measuring_run, p2p_matrix_case
from .cells import MATCHINGS
from .expect import rank_faults, transport_faults
from .session import nodes_session
from .sizes import parse_sizes, size_faults
from .testcases import RANK_TESTCASES
from .variables import Figure


class CrossNode(rfm.RegressionTestPlugin):
    """The base class of checks with ranks on several nodes. The partition has the feature ``crossnode``."""

    #: The number of nodes of the job, e.g. ``-S crossnode_matrix.nodes=16``. Tests with ``extent=two`` ignore it.
    #: :default: 0: all nodes that accept jobs for a matrix, two for a sweep
    nodes = variable(int, value=0, loggable=True)

    #: The nodes of the partition that accept no jobs, with the reasons. A test of all nodes leaves these nodes out.
    #: :default: set by the run
    nodes_left_out = variable(str, value="", loggable=True)

    #: Whether one of these nodes is down and no administrator has taken the node out of service.
    #: :default: set by the run
    nodes_missing = variable(typ.Bool, value=False, loggable=True)

    #: The number of ranks per node.
    #: :default: 0: one per GPU of the node, or 1 without GPUs
    ranks = variable(int, value=0)

    def place_on_nodes(self, wanted, ranks):
        """Requests nodes and ranks.

        wanted: the number of nodes; 0 for all nodes that accept jobs.
        ranks: the default number of ranks per node. The user can set the variable `ranks` instead.
        """
        partition = self.current_partition
        self.skip_partition(partition.scheduler.is_local, "runs jobs on this machine, which is one node")
        self.nodes = wanted or self.count_available_nodes()
        self.skip_partition(self.nodes < 2, "has one node: there is no pair of nodes", too_small=True)
        self.num_tasks_per_node = self.ranks or ranks
        if self.ranks:
            self.add_variant(f"{self.ranks}-ranks")
        self.num_tasks = self.nodes * self.num_tasks_per_node

    def count_available_nodes(self):
        """The number of nodes that accept jobs, at most extras['nodes']. Sets `nodes_left_out` and `nodes_missing`.

        Skips the test if the number is unknown, or if fewer than two of several nodes accept jobs.
        """
        partition = self.current_partition
        most, known = partition.extras.get("nodes", 0), nodes.first_node_states(partition)
        if not known:
            option = f"-S {type(self).__name__}.nodes=N"
            why = f"has an unknown number of nodes: set extras['nodes'], or {option}"
            self.skip_partition(not most, why)
            return most
        up = sum(not why for why in known.values())
        self.skip_partition(
            up < 2 <= len(known), f"has {len(known)} nodes, but jobs can start on only {up} of them now"
        )
        unavailable = {node: why for node, why in known.items() if why}
        if unavailable and (not most or up < most):
            self.nodes_left_out = "; ".join(f"{node}: {why}" for node, why in unavailable.items())
            self.nodes_missing = not all(nodes.is_out_of_service(why, partition) for why in unavailable.values())
        return min(up, most or up)

    def default_ranks(self, wanted):
        """The number of ranks per node: one per GPU. On nodes without GPUs: `wanted`, at most one per core."""
        cores = self.current_partition.processor.num_cores or 1
        return self.expected.devices or min(wanted, cores)

    def skip_without_ranks(self, pairs):
        """Skips the test if a node has fewer than `pairs` ranks."""
        ranks, option = self.num_tasks_per_node, f"-S {type(self).__name__}.ranks={pairs}"
        self.skip_partition(
            pairs > ranks, f"has {ranks} ranks per node, but {pairs} pairs need {pairs} ranks: set {option}"
        )

    def machine_faults(self):
        """Reasons against PASS: missing or misplaced ranks, or unexpected adapters of the nodes."""
        partition = self.current_partition
        of_adapters = adapter_faults(self.record, partition.extras) if "rdma" in partition.features else []
        return rank_faults(self.record, self.nodes, self.num_tasks_per_node) + of_adapters


class TwoOrAllNodes(CrossNode):
    """The base class of checks of two nodes or of all nodes. The parameter `extent` is ``two`` or ``all``.

    For ``all``, the name of the table of references ends with ``@all``.
    """

    def prepare(self):
        """Requests the nodes, with one rank per GPU. A node without GPUs has one rank."""
        super().prepare()
        if self.extent == "two" and self.nodes not in (0, 2):
            getlogger().info(
                f"note: {self.display_name} measures two nodes: nodes={self.nodes} is ignored without extent=all"
            )
        self.place_on_nodes({"two": 2, "all": self.nodes}[self.extent], max(1, self.expected.devices or 0))
        if self.extent == "all":
            self.add_variant("all")


@rfm.simple_test
class crossnode_matrix(TwoOrAllNodes, p2p_matrix_case):
    """Measures one matrix between nodes, or between the ranks of nodes.

    In a matrix of nodes, all ranks of a pair of nodes transfer concurrently. A node whose row and column are slow is
    faulty. If a single pair is slow, its path is faulty. `linkmatrix diagnose` names the faulty component.
    """

    testcase = parameter(RANK_TESTCASES, loggable=True)

    #: ``two`` nodes, or ``all``: the number in `nodes`, else all nodes that accept jobs, at most extras['nodes'].
    extent = parameter(["two", "all"], loggable=True)

    #: The pairs of ranks of two nodes in matrices of nodes. ``affine`` pairs ranks with equal local numbers.
    #: ``crossed`` pairs each rank with the next local number, so the data passes from one rail to another.
    mapping = variable(str, value="affine", loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "messages between nodes"
    valid_systems = ["+mpi +crossnode"]

    tags = {"crossnode", "matrix", "acceptance", "full"}
    quick_case = "node_to_node_bandwidth_mpi"

    @run_after("init")
    def tag_quick_case(self):
        if self.testcase == self.quick_case:
            self.tags = {*self.tags, "smoke", "quick"}

    def prepare(self):
        super().prepare()
        if self.mapping != "affine" and self.is_node_matrix():
            self.add_variant(self.mapping)

    def backend(self):
        return "mpi"

    def program_opts(self):
        return [
            *super().program_opts(),
            *(["--mapping", self.mapping] if self.is_node_matrix() and self.mapping != "affine" else []),
        ]

    def is_node_matrix(self):
        """Whether the rows and columns of the matrix are nodes. Otherwise, they are ranks."""
        return self.testcase.startswith("node_")


@rfm.simple_test
class crossnode_device_matrix(crossnode_matrix):
    """Measures one matrix between the GPUs of several nodes, with one rank per GPU. The messages are in GPU memory.

    If the partition has extras['gpudirect'], MPI must accept device addresses, and data between nodes must not pass
    through host memory. The name of the table of references ends with ``@device``.
    """

    testcase = parameter([name for name in RANK_TESTCASES if "_put_" not in name], loggable=True)

    descr = "messages between GPUs of different nodes"
    valid_systems = ["+gpu +cuda +mpi +crossnode"]
    memory = "device"
    least_gpus = 1

    def prepare(self):
        super().prepare()
        self.add_variant("device")

    def machine_faults(self):
        gpudirect = self.current_partition.extras.get("gpudirect", False)
        return super().machine_faults() + (transport_faults(self.record, "mpi") if gpudirect else [])


class sweep_run(CrossNode, measuring_run, special=True):
    """The base class of checks that measure many message sizes between nodes.

    The performance variables are medians by link class and size in bytes, such as ``NET@4096``.
    """

    #: The sizes: MIN:MAX:FACTOR, in bytes or with the suffixes KiB, MiB and GiB.
    #: :default: up to 4 MiB, from 1 byte; latencies from 0 bytes
    sizes = variable(str, value="")
    size_variable = "sizes"

    #: the default factor between two sizes
    factor = 2

    @run_after("init")
    def choose_sizes(self):
        least = 0 if "latency" in self.testcase else 1
        self.sizes = self.sizes or f"{least}:4MiB:{self.factor}"

    def program_opts(self):
        return ["--backend", "mpi", "--sweep", self.sizes]

    def size_faults(self):
        found = [result["size_bytes"] for result in self.results]
        return size_faults(self.testcase, found, parse_sizes(self.sizes))

    def figures(self):
        """The performance variables: one median per link class and size, with the reference of the link class."""
        figures = {}
        for result, matrix in self.judged_results():
            for group, summary in matrix.matrix.classes.items():
                known, unit = matrix.expected.class_references.get(group), matrix.matrix.unit
                failed = matrix.counts[Verdict.FAIL]
                figure = Figure(summary.median, unit, known, limited=known is not None, cells=failed)
                agreed = not figure.outside or failed
                name = f"{group}@{result['size_bytes']}"
                figures[name] = figure if agreed else figure._replace(limited=False)
        return figures


@rfm.simple_test
class crossnode_sweep(sweep_run):
    """Measures all message sizes between two nodes with one rank per node, as the OSU benchmarks do.

    The name of the table of references ends with ``@sweep``.
    """

    testcase = parameter([name for name in RANK_TESTCASES if name.startswith("rank_")], loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "messages of every size between two nodes"
    valid_systems = ["+mpi +crossnode"]
    tags = {"crossnode", "sweep", "acceptance", "full"}
    factor = 4

    def prepare(self):
        super().prepare()
        self.place_on_nodes(self.nodes or 2, 1)
        self.add_variant("sweep")


@rfm.simple_test
class crossnode_matchings(crossnode_matrix):
    """Measures thousands of nodes in minutes. Each node exchanges data with a few random nodes.

    Afterwards, the program measures slow nodes with healthy partners, and measures slow nodes again after a pause. The
    test does not judge single links, because the program measures only a random sample of all pairs. The performance
    variables are therefore summaries of link classes. The name of the table of references ends with ``@matchings``.
    """

    testcase = parameter([name for name in RANK_TESTCASES if "_put_" not in name], loggable=True)

    #: ``all`` nodes: the number in `nodes`, else all nodes that accept jobs, at most extras['nodes'].
    extent = parameter(["all"], loggable=True)

    #: A file with the nodes of each leaf switch: lines such as ``leaf1: n[1-32]``, or Slurm's topology.conf. The node
    #: of rank 0 reads the file. With groups, uplinks are judged, and congestion is distinguished from faults.
    #: :default: empty: the groups are unknown
    groups = variable(str, value="")

    descr = "messages between nodes, with a few partners per node"
    tags = {"crossnode", "matchings"}
    quick_case = ""
    measured_pairs = MATCHINGS

    def prepare(self):
        super().prepare()
        self.add_variant("matchings")

    def program_opts(self):
        groups = ["--groups", self.groups] if self.groups else []
        return [*super().program_opts(), "--concurrency", "matchings", *groups]

    def result_figures(self, result, matrix):
        """The performance variables of link classes only, because each run measures other pairs."""
        figures = crossnode_matrix.result_figures(self, result, matrix)
        return {name: figure for name, figure in figures.items() if "->" not in name}
