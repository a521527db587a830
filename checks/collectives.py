"""How fast is what all GPUs, or all ranks, do together, out of place and in place; and who holds them back?"""

import reframe as rfm
from reframe.core.builtins import fixture, parameter

from linkmatrix.locate.rank_subsets import WITHOUT, half_columns

from .case import p2p_matrix_case
from .collective import OF_MPI, OF_NCCL, collective_run
from .crossnode import OfExtent
from .expect import device_faults, gpu_faults, nccl_faults
from .on_ranks import OnRanks
from .session import nodes_session


@rfm.simple_test
class device_collectives(collective_run):
    """Measures one collective of NCCL between all GPUs of a node, in one process.

    A partition may promise by what NCCL connects its GPUs: extras['nccl_transport'], such as ``P2P``. What went another
    way, such as SHM, through host memory, fails then.
    """

    testcase = parameter(OF_NCCL, loggable=True)

    descr = "collectives between the GPUs of a node"
    valid_systems = ["+gpu +cuda +nccl"]
    engine, cases = "nccl", OF_NCCL
    usual_sizes = "1KiB:1GiB:4"
    least_gpus = 2

    def wanted_ranks(self):
        return self.expected.devices or len(self.record["devices"])

    def machine_faults(self):
        return device_faults(self.record, self.expected) + nccl_faults(self.record, self.nccl_promise()[0])


@rfm.simple_test
class device_collectives_without(device_collectives):
    """Measures an all-reduce of NCCL between all GPUs of a node but one, without each in turn.

    Where one GPU, or the way between two, holds all others back, `linkmatrix diagnose` says which.
    """

    testcase = parameter(["all_reduce_perf_without"], loggable=True)

    descr = "collectives between the GPUs of a node but one"
    tags = {"full", "collectives"}
    usual_sizes = "256MiB"
    least_gpus = 3

    def ways(self):
        return [f"{WITHOUT}{device['label']}" for device in self.record["devices"]]


@rfm.simple_test
class device_sends(p2p_matrix_case):
    """Measures the matrix of NCCL's own sends between the GPUs of a node, in one process: one pair after the other.

    The partition's promises are those of `device_collectives`, and those of its links.
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
    """Measures one collective of MPI between ranks of one node: host memory, through the partition's launcher."""

    testcase = parameter(OF_MPI, loggable=True)

    descr = "collectives between ranks"
    valid_systems = ["+mpi"]


@rfm.simple_test
class node_collectives(OfExtent, collective_run):
    """Measures one collective of MPI between ranks of several nodes: host memory and the network."""

    testcase = parameter(OF_MPI, loggable=True)

    #: ``two`` nodes, or ``all``: as many as `nodes` says, or else all that take jobs, at most extras['nodes'].
    extent = parameter(["two", "all"], loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "collectives between nodes"
    valid_systems = ["+mpi +crossnode"]
    usual_sizes = "1KiB:16MiB:4"


@rfm.simple_test
class node_device_collectives(node_collectives):
    """The same by NCCL between GPUs of several nodes, one rank for each.

    A partition may promise NCCL's network, extras['nccl_network'], such as ``IB``, and with extras['gpudirect'] that no
    data between nodes goes through host memory.
    """

    testcase = parameter(OF_NCCL, loggable=True)

    descr = "collectives between GPUs of different nodes"
    valid_systems = ["+gpu +cuda +nccl +mpi +crossnode"]
    engine, cases = "nccl", OF_NCCL
    usual_sizes = "1KiB:1GiB:4"
    memory = "device"
    least_gpus = 1

    def machine_faults(self):
        direct = self.current_partition.extras.get("gpudirect", False)
        return super().machine_faults() + nccl_faults(self.record, *self.nccl_promise(), direct=direct)


class of_subsets(rfm.RegressionTestPlugin):
    """An all-reduce of all nodes but one, without each in turn, or of half of the ranks: `linkmatrix diagnose` says
    which node or rank, if a single one, holds all others back."""

    #: by the end of a test case, what it needs at least, as the name of an attribute and a number
    fewest = {"_without_node": ("nodes", 3), "_without_rail": ("num_tasks_per_node", 3), "_halves": ("num_tasks", 4)}

    def prepare(self):
        """Skips a test that leaves one node or rail, which nobody can compare, or less than two ranks in each half."""
        super().prepare()
        name, least = next(need for end, need in self.fewest.items() if self.testcase.endswith(end))
        found = getattr(self, name)
        self.skip_partition(
            found < least, f"has {name}={found}, and {self.testcase} needs {least}", not self.nodes_missing
        )

    def ways(self):
        if self.testcase.endswith("_halves"):
            return half_columns(self.num_tasks)
        if self.testcase.endswith("_without_rail"):
            return [f"{WITHOUT}rail{rail}" for rail in range(self.num_tasks_per_node)]
        return list(dict.fromkeys(f"{WITHOUT}{device['node']}" for device in self.record["devices"]))


@rfm.simple_test
class node_collectives_without(of_subsets, node_collectives):
    """Measures an all-reduce of MPI between all nodes but one, without each in turn, and of halves of the ranks."""

    testcase = parameter(["all_reduce_perf_without_node", "all_reduce_perf_halves"], loggable=True)

    #: ``all`` nodes: as many as `nodes` says, or else all that take jobs, at most extras['nodes'].
    extent = parameter(["all"], loggable=True)

    descr = "collectives between all nodes but one"
    tags = {"full", "collectives"}
    usual_sizes = "16MiB"


@rfm.simple_test
class node_device_collectives_without(of_subsets, node_device_collectives):
    """The same by NCCL between GPUs, one rank for each, and without each rail."""

    testcase = parameter(
        ["all_reduce_perf_without_node", "all_reduce_perf_without_rail", "all_reduce_perf_halves"], loggable=True
    )

    #: ``all`` nodes: as many as `nodes` says, or else all that take jobs, at most extras['nodes'].
    extent = parameter(["all"], loggable=True)

    descr = "collectives between the GPUs of all nodes but one"
    tags = {"full", "collectives"}
    usual_sizes = "1GiB"
