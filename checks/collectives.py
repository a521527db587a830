"""How fast is what all GPUs, or all ranks, do together: every size, out of place and in place?"""

from itertools import permutations

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import fixture, parameter, run_before, variable

import linkmatrix.record.printed
from linkmatrix.locate.left_out import WITHOUT

from .case import p2p_matrix_case
from .crossnode import OfExtent
from .expect import Table, device_faults, engine_faults, nccl_faults, path_faults
from .intranode import BANDWIDTH
from .one_node import OnRanks
from .p2p import p2p_matrix_run
from .session import nodes_session
from .sizes import (
    all_there,
    at_least,
    collective_faults,
    largest_of,
    promise_faults,
    sizes_of,
    sizes_option,
    utilisation_faults,
    utilisations,
)

TABLES = (Table("bus bandwidth", "GB/s"), Table("algorithm bandwidth", "GB/s"), Table("time", "us"))
OUT, IN = "out-of-place", "in-place"
BOTH = (OUT, IN)

#: The test cases of collective_perf that are measured: the ways of NCCL, and of MPI, which chooses its algorithms.
CASES = {
    "all_reduce_perf": (BOTH, BOTH),
    "all_reduce_perf_ring": (BOTH, ()),
    "all_reduce_perf_tree": (BOTH, ()),
    "all_gather_perf": (BOTH, BOTH),
    "reduce_scatter_perf": (BOTH, BOTH),
    "broadcast_perf": (BOTH, (IN,)),
    "reduce_perf": (BOTH, BOTH),
    "alltoall_perf": ((OUT,), (OUT,)),
    "gather_perf": (BOTH, BOTH),
    "scatter_perf": (BOTH, BOTH),
    "sendrecv_perf": ((OUT,), (OUT,)),
}
OF_NCCL = {name: nccl for name, (nccl, _) in CASES.items()}
OF_MPI = {name: mpi for name, (_, mpi) in CASES.items() if mpi}


class collective_run(p2p_matrix_run, special=True):
    """A test of collective_perf: the base of the checks of collectives.

    The performance variables are bus bandwidths of a way and a size in bytes, such as ``in-place@4194304``.

    A partition may promise how much of what links allow, in percent, the largest size of a test case has:
    extras['collective_utilisation'], such as ``{"all_reduce_perf": 70}``. Inside a node a GPU's NVLinks or PCIe slot
    count, between nodes the sum of a node's network ports. What it has is published then, ``utilisation[in-place]``,
    with the promise as its reference.
    """

    #: The sizes: of --size, such as ``4KiB,1MiB``, or MIN:MAX:FACTOR, which references are for as far as they are of
    #: the same.
    #:
    #: :type: :class:`str`
    #: :default: from 1 KiB by fours: of GPUs to 1 GiB, between nodes to 16 MiB, else 4 KiB and 4 MiB
    sizes = variable(str, value="", loggable=True)

    program = executable = "collective_perf"
    #: by which library, and the test cases that it has, with their ways
    engine, cases = "mpi", OF_MPI
    usual_sizes = "4KiB,4MiB"
    # not in quick, whose links explain a slow collective: NCCL's communicators take a second more
    tags = {"acceptance", "full", "collectives"}

    def program_opts(self):
        return sizes_option(self.wanted_sizes())

    def wanted_sizes(self):
        """Those that were asked for, or the usual ones that leave each of its ranks a part."""
        return self.sizes or at_least(self.usual_sizes, self.num_tasks)

    def wanted_ranks(self):
        """How many take part."""
        return self.num_tasks

    def ways(self):
        """The columns of each result."""
        return self.cases[self.testcase]

    def machine_faults(self):
        """Is all that should take part there, and as promised?"""
        raise NotImplementedError

    def faults(self):
        self.tables = [
            table for table in linkmatrix.record.printed.p2p_matrix(self.text) if table.testcase == self.testcase
        ]
        self.results = [one for one in self.record["results"] if one["testcase"] == self.testcase]
        wanted = sizes_of(self.wanted_sizes())
        faults = all_there(self.results, wanted, self.wanted_ranks(), self.testcase)
        faults += collective_faults(self.results, self.tables, TABLES, self.ways())
        promised = self.current_partition.extras.get("collective_utilisation", {})
        unclear = promise_faults(promised, CASES)
        faults += unclear or utilisation_faults(self.results, promised.get(self.testcase))
        return [*self.machine_faults(), *engine_faults(self.results, self.engine), *faults, *self.counter_faults()]

    def nccl_promise(self):
        """What the partition's extras say of NCCL."""
        extras = self.current_partition.extras
        return extras.get("nccl_transport"), extras.get("nccl_network")

    @run_before("performance")
    def publish_sizes(self):
        if self.is_dry_run():
            return
        self.perf_variables = {
            f"{way}@{table.size_bytes}": sn.make_performance_function(sn.defer(value), table.unit)
            for table in self.tables
            if table.title == TABLES[0].title
            for (_, way), value in table.cells.items()
            if isinstance(value, float)
        }

    @run_before("performance")
    def publish_utilisation(self):
        """What the largest size has of what links allow, in percent; of what nobody promised there is no reference."""
        promised = self.current_partition.extras.get("collective_utilisation", {}).get(self.testcase)
        if self.is_dry_run() or promised is None:
            return
        shares = {f"utilisation[{way}]": share for way, share in utilisations(largest_of(self.results)).items()}
        self.perf_variables |= {
            name: sn.make_performance_function(sn.defer(share), "%") for name, share in shares.items()
        }
        try:
            known = self.reference[self] if self.reference.index else {}
        except KeyError:  # there are none for this test case
            known = {}
        of_promise = dict.fromkeys(shares, (promised, 0, None, "%"))
        self.reference = {self.current_partition.fullname: {**known, **of_promise}}


@rfm.simple_test
class device_collectives(collective_run):
    """Measures one collective of NCCL between all GPUs of a node, in one process.

    A partition may promise by what NCCL connects its GPUs: extras['nccl_transport'], such as ``P2P``. What went another
    way, such as SHM, through host memory, fails then.
    """

    #: The test case of collective_perf.
    testcase = parameter(OF_NCCL, loggable=True)

    descr = "collectives between the GPUs of a node"
    valid_systems = ["+gpu +cuda +nccl"]
    valid_prog_environs = ["+cuda +nccl"]
    num_tasks = 1
    without_mpi = True
    engine, cases = "nccl", OF_NCCL
    usual_sizes = "1KiB:1GiB:4"

    def prepare(self):
        super().prepare()
        where = self.current_partition.fullname
        self.skip_if(self.promise.devices == 1, f"{where} has one GPU: there is nothing to do together")
        self.num_gpus_per_node = self.promise.devices

    def wanted_ranks(self):
        return self.promise.devices or len(self.record["devices"])

    def machine_faults(self):
        return device_faults(self.record, self.promise) + nccl_faults(self.record, self.nccl_promise()[0])


@rfm.simple_test
class device_collectives_without(device_collectives):
    """Measures an all-reduce of NCCL between all GPUs of a node but one, without each in turn.

    Where one GPU, or the way between two, holds all others back, `linkmatrix diagnose` says which.
    """

    #: The test case of collective_perf.
    testcase = parameter(["all_reduce_perf_without"], loggable=True)

    descr = "collectives between the GPUs of a node but one"
    tags = {"full", "collectives"}
    usual_sizes = "256MiB"

    def prepare(self):
        super().prepare()
        few = self.promise.devices == 2
        self.skip_if(
            few, f"{self.current_partition.fullname} has two GPUs: without one there is nothing to do together"
        )

    def ways(self):
        return [f"{WITHOUT}{device['label']}" for device in self.record["devices"]]


@rfm.simple_test
class device_sends(p2p_matrix_case):
    """Measures the matrix of NCCL's own sends between the GPUs of a node, in one process: one pair after the other.

    The partition's promises are those of `device_collectives`, and those of its links.
    """

    #: The test case of collective_perf.
    testcase = parameter(["rank_to_rank_bandwidth_nccl"], loggable=True)

    descr = "sends of NCCL between the GPUs of a node"
    valid_systems = ["+gpu +cuda +nccl"]
    valid_prog_environs = ["+cuda +nccl"]
    tags = {"acceptance", "full", "collectives"}
    num_tasks = 1
    without_mpi = True
    program = executable = "collective_perf"

    def prepare(self):
        super().prepare()
        where = self.current_partition.fullname
        self.skip_if(self.promise.devices == 1, f"{where} has one GPU: there is no pair to measure")
        self.num_gpus_per_node = self.promise.devices

    def program_opts(self):
        return []

    def wanted_tables(self):
        return BANDWIDTH

    def machine_faults(self):
        transport = self.current_partition.extras.get("nccl_transport")
        faults = device_faults(self.record, self.promise) + path_faults(self.record, self.promise)
        return faults + nccl_faults(self.record, transport) + engine_faults(self.record["results"], "nccl")

    def wanted_cells(self):
        return list(permutations([device["label"] for device in self.record["devices"]], 2))

    def excused_cells(self):
        return set()


@rfm.simple_test
class rank_collectives(OnRanks, collective_run):
    """Measures one collective of MPI between ranks of one node: host memory, through the partition's launcher."""

    #: The test case of collective_perf.
    testcase = parameter(OF_MPI, loggable=True)

    descr = "collectives between ranks"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]

    def prepare(self):
        super().prepare()
        self.place_on_ranks()


@rfm.simple_test
class node_collectives(OfExtent, collective_run):
    """Measures one collective of MPI between ranks of several nodes: host memory and the network."""

    #: The test case of collective_perf.
    testcase = parameter(OF_MPI, loggable=True)

    #: ``two`` nodes, or ``all``: as many as `nodes` says, or else the partition in its extras['nodes'].
    extent = parameter(["two", "all"], loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "collectives between nodes"
    valid_systems = ["+mpi +crossnode"]
    valid_prog_environs = ["+mpi"]
    usual_sizes = "1KiB:16MiB:4"

    def prepare(self):
        super().prepare()
        self.place_on_extent()


@rfm.simple_test
class node_device_collectives(node_collectives):
    """The same by NCCL between GPUs of several nodes, one rank for each.

    A partition may promise NCCL's network, extras['nccl_network'], such as ``IB``, and with extras['gpudirect'] that no
    data between nodes goes through host memory.
    """

    #: The test case of collective_perf.
    testcase = parameter(OF_NCCL, loggable=True)

    descr = "collectives between GPUs of different nodes"
    valid_systems = ["+gpu +cuda +nccl +mpi +crossnode"]
    valid_prog_environs = ["+cuda +nccl +mpi"]
    engine, cases = "nccl", OF_NCCL
    usual_sizes = "1KiB:1GiB:4"

    def prepare(self):
        super().prepare()
        self.num_gpus_per_node = self.promise.devices

    def program_opts(self):
        return [*super().program_opts(), "--memory", "device"]

    def machine_faults(self):
        direct = self.current_partition.extras.get("gpudirect", False)
        return super().machine_faults() + nccl_faults(self.record, *self.nccl_promise(), direct=direct)
