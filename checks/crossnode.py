"""How fast is it between nodes: each pair of them, each pair of their ranks, and every size of message?"""

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
from .sizes import size_faults, sizes_of
from .testcases import OF_RANKS
from .variables import Figure


class CrossNode(rfm.RegressionTestPlugin):
    """Ranks on several nodes of a partition, which has the feature ``crossnode``."""

    #: Nodes of the job, e.g. ``-S crossnode_matrix.nodes=16``. Tests of the extent ``two`` measure two nodes.
    #: :default: 0: all nodes of the partition that take jobs; of a sweep two
    nodes = variable(int, value=0, loggable=True)

    #: The nodes of the partition that take no jobs, with the reason. A test of all nodes leaves them out.
    #: :default: set by the run
    nodes_left_out = variable(str, value="", loggable=True)

    #: Whether one of these nodes is down, and no administrator has taken it out of service.
    #: :default: set by the run
    nodes_missing = variable(typ.Bool, value=False, loggable=True)

    #: Ranks on each node.
    #: :default: 0: as many as the node has GPUs, or 1 where it has none
    ranks = variable(int, value=0)

    def place_on_nodes(self, wanted, ranks):
        """Asks for `wanted` nodes, 0: all that take jobs, with `ranks` ranks on each."""
        partition = self.current_partition
        self.skip_partition(partition.scheduler.is_local, "runs jobs on this machine: there is no other node")
        self.nodes = wanted or self.nodes_that_take_jobs()
        self.skip_partition(self.nodes < 2, "has one node: there is no pair of nodes", too_small=True)
        self.num_tasks_per_node = self.ranks or ranks
        if self.ranks:
            self.add_variant(f"{self.ranks}-ranks")
        self.num_tasks = self.nodes * self.num_tasks_per_node

    def nodes_that_take_jobs(self):
        """The number of nodes that take jobs, and at most extras['nodes']. Sets `nodes_left_out`.

        Skips the test if the number is not known, or if fewer than two of several nodes take jobs.
        """
        partition = self.current_partition
        most, known = partition.extras.get("nodes", 0), nodes.at_start(partition)
        if not known:
            option = f"-S {type(self).__name__}.nodes=N"
            why = f"has nodes whose number its scheduler does not tell: set extras['nodes'], or {option}"
            self.skip_partition(not most, why)
            return most
        up = sum(not why for why in known.values())
        self.skip_partition(up < 2 <= len(known), f"has {up} of {len(known)} nodes that take jobs now")
        out = {node: why for node, why in known.items() if why}
        if out and (not most or up < most):
            self.nodes_left_out = "; ".join(f"{node}: {why}" for node, why in out.items())
            self.nodes_missing = not all(nodes.is_taken_out(why, partition) for why in out.values())
        return min(up, most or up)

    def ranks_at_most(self, wanted):
        """Ranks of a node: one for each GPU; without, as many as are wanted and have cores, where it says how many."""
        cores = self.current_partition.processor.num_cores or 1
        return self.expected.devices or min(wanted, cores)

    def skip_without_ranks(self, pairs):
        """Skips what needs more ranks on a node than there are."""
        there, option = self.num_tasks_per_node, f"-S {type(self).__name__}.ranks={pairs}"
        self.skip_partition(pairs > there, f"has {there} ranks on a node, and {pairs} pairs need as many: {option}")

    def machine_faults(self):
        """All ranks that were started took part, on as many nodes as were asked for, as many on each, and each of them
        has the adapters that the partition specifies."""
        partition = self.current_partition
        promised = adapter_faults(self.record, partition.extras) if "rdma" in partition.features else []
        return rank_faults(self.record, self.nodes, self.num_tasks_per_node) + promised


class OfExtent(CrossNode):
    """Two nodes, or all of the partition, as the test's parameter `extent` says; its session is one of nodes.

    References of the extent ``all`` stand in the table with ``@all`` added to its name.
    """

    def prepare(self):
        """Asks for the nodes, with a rank for each of their GPUs, or one where they have none."""
        super().prepare()
        if self.extent == "two" and self.nodes not in (0, 2):
            getlogger().info(f"note: {self.display_name} measures two nodes: nodes={self.nodes} is of extent=all")
        self.place_on_nodes({"two": 2, "all": self.nodes}[self.extent], max(1, self.expected.devices or 0))
        if self.extent == "all":
            self.add_variant("all")


@rfm.simple_test
class crossnode_matrix(OfExtent, p2p_matrix_case):
    """Measures one matrix between nodes: of the nodes, all their ranks at once, or of the ranks.

    A node whose row and column are low is at fault itself; a pair that is low alone is its path. `linkmatrix diagnose`
    says which.
    """

    testcase = parameter(OF_RANKS, loggable=True)

    #: ``two`` nodes, or ``all``: as many as `nodes` says, or else all that take jobs, at most extras['nodes'].
    extent = parameter(["two", "all"], loggable=True)

    #: How the ranks of two nodes pair off in the matrices of nodes: ``affine``, each with the one of its own number,
    #: or ``crossed``, with the next one's, which takes the data from one rail to another.
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
        if self.mapping != "affine" and self.is_of_nodes():
            self.add_variant(self.mapping)

    def backend(self):
        return "mpi"

    def program_opts(self):
        return [
            *super().program_opts(),
            *(["--mapping", self.mapping] if self.is_of_nodes() and self.mapping != "affine" else []),
        ]

    def is_of_nodes(self):
        """Whether whole nodes meet, of which the mapping says how their ranks pair off."""
        return self.testcase.startswith("node_")


@rfm.simple_test
class crossnode_device_matrix(crossnode_matrix):
    """The same between the memory of GPUs, one rank for each.

    A partition that promises GPUDirect, extras['gpudirect'], must get it: MPI then takes the addresses of devices, and
    nothing between nodes goes through host memory. References stand in the table with ``@device`` added to its name.
    """

    testcase = parameter([name for name in OF_RANKS if "_put_" not in name], loggable=True)

    descr = "messages between GPUs of different nodes"
    valid_systems = ["+gpu +cuda +mpi +crossnode"]
    memory = "device"
    least_gpus = 1

    def prepare(self):
        super().prepare()
        self.add_variant("device")

    def machine_faults(self):
        promised = self.current_partition.extras.get("gpudirect", False)
        return super().machine_faults() + (transport_faults(self.record, "mpi") if promised else [])


class sweep_run(CrossNode, measuring_run, special=True):
    """A test of messages of every size between nodes: the base of the checks that sweep.

    The performance variables are medians of the link class and a size, such as ``NET@4096``.
    """

    #: The sizes: MIN:MAX:FACTOR, in bytes or with the suffixes KiB, MiB and GiB.
    #: :default: up to 4 MiB; latencies from empty messages on
    sizes = variable(str, value="")
    size_variable = "sizes"

    #: how many times the one before each size is, unless told
    factor = 2

    @run_after("init")
    def choose_sizes(self):
        least = 0 if "latency" in self.testcase else 1
        self.sizes = self.sizes or f"{least}:4MiB:{self.factor}"

    def program_opts(self):
        return ["--backend", "mpi", "--sweep", self.sizes]

    def size_faults(self):
        found = [result["size_bytes"] for result in self.results]
        return size_faults(self.testcase, found, sizes_of(self.sizes))

    def figures(self):
        """The median of each size, with the reference of its link class."""
        figures = {}
        for result, matrix in self.judged_results():
            for group, summary in matrix.matrix.classes.items():
                known, unit = matrix.expected.of_class.get(group), matrix.matrix.unit
                failed = matrix.counts[Verdict.FAIL]
                figure = Figure(summary.median, unit, known, limited=known is not None, cells=failed)
                agreed = not figure.outside or failed
                name = f"{group}@{result['size_bytes']}"
                figures[name] = figure if agreed else figure._replace(limited=False)
        return figures


@rfm.simple_test
class crossnode_sweep(sweep_run):
    """Measures two nodes with every size of message, as the OSU benchmarks do: one rank on each.

    References stand in the partition's table with ``@sweep`` added to its name.
    """

    testcase = parameter([name for name in OF_RANKS if name.startswith("rank_")], loggable=True)

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
    """The same of thousands of nodes in minutes: a few random matchings of all, then suspects with good partners.

    Which endpoint is slow by itself is found, and confirmed after a pause; links are not judged, for few pairs meet.
    The pairs are others each time, so that only figures of the link class are published. References stand in the table
    with ``@matchings`` added to its name.
    """

    testcase = parameter([name for name in OF_RANKS if "_put_" not in name], loggable=True)

    #: All nodes that `nodes` says, or else all that take jobs, at most extras['nodes'].
    extent = parameter(["all"], loggable=True)

    #: A file that says which nodes share a leaf switch: lines such as ``leaf1: n[1-32]``, or Slurm's topology.conf. It
    #: must be there where rank 0 runs. Uplinks are judged then, and congestion is told from faults.
    #: :default: empty: no groups are known
    groups = variable(str, value="")

    descr = "messages between nodes, a few pairs of each"
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
        """Without pairs, which are others in each run."""
        figures = crossnode_matrix.result_figures(self, result, matrix)
        return {name: figure for name, figure in figures.items() if "->" not in name}
