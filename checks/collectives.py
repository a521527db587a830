"""Checks of collectives between GPUs or ranks. Collectives of subsets find the component that slows all others."""

import reframe as rfm
from reframe.core.builtins import fixture, parameter

from linkmatrix.locate.collective_cause import WITHOUT, half_columns

from .case import p2p_matrix_case
from .collective import MPI_PLACEMENTS, NCCL_PLACEMENTS, collective_run
from .crossnode import TwoOrAllNodes
from .expect import device_faults, gpu_faults, nccl_faults
from .on_ranks import OnRanks
from .session import nodes_session


@rfm.simple_test
class device_collectives(collective_run):
    """Measures one collective of NCCL between all GPUs of a node, in one process.

    A partition may specify the transport of NCCL between its GPUs: extras['nccl_transport'], such as ``P2P``. If NCCL
    uses another transport, such as SHM through host memory, the test is FAIL.
    """

    testcase = parameter(NCCL_PLACEMENTS, loggable=True)

    descr = "collectives between the GPUs of a node"
    valid_systems = ["+gpu +cuda +nccl"]
    engine, cases = "nccl", NCCL_PLACEMENTS
    usual_sizes = "1KiB:1GiB:4"
    least_gpus = 2

    def expected_ranks(self):
        return self.expected.devices or len(self.record["devices"])

    def machine_faults(self):
        return device_faults(self.record, self.expected) + nccl_faults(self.record, self.expected_nccl()[0])


@rfm.simple_test
class device_collectives_without(device_collectives):
    """Measures NCCL's all-reduce between all GPUs of a node except one.

    Each GPU is left out in turn. `linkmatrix diagnose` then names a GPU or link that slows all others.
    """

    testcase = parameter(["all_reduce_perf_without"], loggable=True)

    descr = "collectives between all GPUs of a node except one"
    tags = {"full", "collectives"}
    usual_sizes = "256MiB"
    least_gpus = 3

    def placements(self):
        return [f"{WITHOUT}{device['label']}" for device in self.record["devices"]]


@rfm.simple_test
class device_sends(p2p_matrix_case):
    """Measures NCCL's send operations between the GPUs of a node, one pair after the other, in one process.

    The test checks NCCL's transport (extras['nccl_transport']), and the specified connections of the GPUs.
    """

    testcase = parameter(["rank_to_rank_bandwidth_nccl"], loggable=True)

    descr = "sends of NCCL between the GPUs of a node"
    valid_systems = ["+gpu +cuda +nccl"]
    tags = {"acceptance", "full", "collectives"}
    program = executable = "collective_perf"
    engine = "nccl"
    least_gpus = 2

    def program_opts(self):
        return []

    def machine_faults(self):
        transport = self.current_partition.extras.get("nccl_transport")
        return gpu_faults(self.record, self.expected) + nccl_faults(self.record, transport)


@rfm.simple_test
class rank_collectives(OnRanks, collective_run):
    """Measures one collective of MPI between ranks of one node, with data in host memory."""

    testcase = parameter(MPI_PLACEMENTS, loggable=True)

    descr = "collectives between ranks"
    valid_systems = ["+mpi"]


@rfm.simple_test
class node_collectives(TwoOrAllNodes, collective_run):
    """Measures one collective of MPI between ranks of several nodes, with data in host memory."""

    testcase = parameter(MPI_PLACEMENTS, loggable=True)

    #: ``two`` nodes, or ``all``: the number in `nodes`, else all nodes that accept jobs, at most extras['nodes'].
    extent = parameter(["two", "all"], loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "collectives between nodes"
    valid_systems = ["+mpi +crossnode"]
    usual_sizes = "1KiB:16MiB:4"


@rfm.simple_test
class node_device_collectives(node_collectives):
    """Measures one collective of NCCL between GPUs of several nodes, with one rank per GPU.

    A partition may specify NCCL's network: extras['nccl_network'], such as ``IB``. If the partition has
    extras['gpudirect'], data between nodes must not pass through host memory.
    """

    testcase = parameter(NCCL_PLACEMENTS, loggable=True)

    descr = "collectives between GPUs of different nodes"
    valid_systems = ["+gpu +cuda +nccl +mpi +crossnode"]
    engine, cases = "nccl", NCCL_PLACEMENTS
    usual_sizes = "1KiB:1GiB:4"
    memory = "device"
    least_gpus = 1

    def machine_faults(self):
        direct = self.current_partition.extras.get("gpudirect", False)
        return super().machine_faults() + nccl_faults(self.record, *self.expected_nccl(), direct=direct)


class SubsetCollectives(rfm.RegressionTestPlugin):
    """An all-reduce of subsets of the ranks: all nodes except one, all rails except one, or half of the ranks.

    `linkmatrix diagnose` compares the subsets, and names a node or rank that slows all others.
    """

    #: {suffix of a test case: (attribute of the test, its minimum)}
    minimums = {"_without_node": ("nodes", 3), "_without_rail": ("num_tasks_per_node", 3), "_halves": ("num_tasks", 4)}

    def prepare(self):
        """Skips the test if a subset would have only one node, one rail or one rank."""
        super().prepare()
        name, least = next(need for end, need in self.minimums.items() if self.testcase.endswith(end))
        found = getattr(self, name)
        self.skip_partition(
            found < least, f"has {name}={found}, but {self.testcase} needs {least}", not self.nodes_missing
        )

    def placements(self):
        if self.testcase.endswith("_halves"):
            return half_columns(self.num_tasks)
        if self.testcase.endswith("_without_rail"):
            return [f"{WITHOUT}rail{rail}" for rail in range(self.num_tasks_per_node)]
        return list(dict.fromkeys(f"{WITHOUT}{device['node']}" for device in self.record["devices"]))


@rfm.simple_test
class node_collectives_without(SubsetCollectives, node_collectives):
    """Measures MPI's all-reduce between all nodes except one, and between halves of the ranks.

    Each node is left out in turn.
    """

    testcase = parameter(["all_reduce_perf_without_node", "all_reduce_perf_halves"], loggable=True)

    #: ``all`` nodes: the number in `nodes`, else all nodes that accept jobs, at most extras['nodes'].
    extent = parameter(["all"], loggable=True)

    descr = "collectives between all nodes except one"
    tags = {"full", "collectives"}
    usual_sizes = "16MiB"


@rfm.simple_test
class node_device_collectives_without(SubsetCollectives, node_device_collectives):
    """Measures NCCL's all-reduce between all nodes or rails except one, and between halves of the ranks.

    Each node or rail is left out in turn.
    """

    testcase = parameter(
        ["all_reduce_perf_without_node", "all_reduce_perf_without_rail", "all_reduce_perf_halves"], loggable=True
    )

    #: ``all`` nodes: the number in `nodes`, else all nodes that accept jobs, at most extras['nodes'].
    extent = parameter(["all"], loggable=True)

    descr = "collectives between the GPUs of all nodes except one"
    tags = {"full", "collectives"}
    usual_sizes = "1GiB"
