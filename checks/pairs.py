"""Checks between two nodes with 1, 4 and 8 concurrent pairs of ranks, all message sizes, and several routes."""

from dataclasses import dataclass

import reframe as rfm
from reframe.core.builtins import fixture, parameter

from .crossnode import sweep_run
from .expect import pairs_faults, transport_faults, version_faults
from .session import nodes_session
from .testcases import RANK_TESTCASES

PAIRS = (1, 4, 8)  # as in published sweeps
SECONDS = 300  # per process; a job has up to 30 processes and would request five hours with the default limit
OF_NODES = [name for name in RANK_TESTCASES if name.startswith("node_")]


@dataclass(frozen=True)
class Route:
    """A route of data between the GPU memory of two nodes.

    options: options of the program.
    environment: environment variables of MPI.
    extra: a key of the partition's extras. If a partition lacks this key, its data takes the usual route anyway, and
    the tests of the route are skipped. With "", the tests run on every partition.
    """

    options: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    extra: str = ""


USUAL = "usual"
#: The environment variables configure UCX. MPI without UCX ignores the variables.
ROUTES = {
    USUAL: Route(),
    "staged": Route(options=("--transport", "staged")),
    "without_gdrcopy": Route(("--transport", "mpi"), ("UCX_TLS=^gdr_copy",), "gdrcopy"),
    "without_gpudirect": Route(("--transport", "mpi"), ("UCX_IB_GPU_DIRECT_RDMA=no",), "gpudirect"),
}


@rfm.simple_test
class crossnode_pairs(sweep_run):
    """Measures all message sizes between two nodes with several concurrent pairs of ranks.

    The tests are comparable with osu_mbw_mr and osu_multi_lat. Tests with one pair are comparable with osu_bw, osu_bibw
    and osu_latency. A node has one rank per GPU. A node without GPUs has up to 8 ranks. The name of the table of
    references ends with, for example, ``@4-pairs@sweep``.
    """

    testcase = parameter(OF_NODES, loggable=True)

    #: The number of concurrent pairs of ranks.
    pairs = parameter(list(PAIRS), loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "messages of every size between pairs of ranks of two nodes"
    valid_systems = ["+mpi +crossnode"]

    tags = {"crossnode", "pairs", "full"}

    def prepare(self):
        super().prepare()
        self.place_on_nodes(self.nodes or 2, self.default_ranks(max(PAIRS)))
        self.skip_without_ranks(self.pairs)
        self.add_variant(f"{self.pairs}-pairs")
        self.add_variant("sweep")

    def program_opts(self):
        limit = [] if "--timeout" in self.extra_opts else ["--timeout", str(SECONDS)]
        return [*super().program_opts(), "--pairs-per-node", str(self.pairs), *limit]

    def machine_faults(self):
        return super().machine_faults() + pairs_faults(self.record, self.pairs, self.num_tasks_per_node)


@rfm.simple_test
class crossnode_device_pairs(crossnode_pairs):
    """Measures all message sizes between the GPUs of two nodes, with one rank per GPU and several routes.

    * ``usual``: MPI's default route. If the partition has extras['gpudirect'] or extras['gdrcopy'], the route must use
      GPUDirect or GDRCopy.
    * ``staged``: through pinned host memory.
    * ``without_gdrcopy``, ``without_gpudirect``: with GDRCopy or GPUDirect switched off. Only for partitions that
      specify GDRCopy or GPUDirect.

    The name of the table of references ends with ``@device``. For all routes except ``usual``, the name of the route
    follows.
    """

    #: The route between the GPUs.
    route = parameter(list(ROUTES), loggable=True)

    descr = "messages of every size between pairs of GPUs of two nodes"
    valid_systems = ["+gpu +cuda +mpi +crossnode"]
    memory = "device"
    least_gpus = 1

    def prepare(self):
        super().prepare()
        extra = ROUTES[self.route].extra
        lacks = extra and not self.current_partition.extras.get(extra)
        self.skip_partition(lacks, f"does not specify extras['{extra}']")
        self.add_variant("device")
        if self.route != USUAL:
            self.add_variant(self.route)

    def environment_of_ranks(self):
        return ROUTES[self.route].environment

    def program_opts(self):
        return [*super().program_opts(), *ROUTES[self.route].options]

    def machine_faults(self):
        extras, faults = self.current_partition.extras, super().machine_faults()
        if self.route != USUAL:
            return faults
        faults += transport_faults(self.record, "mpi") if extras.get("gpudirect") else []
        return faults + (version_faults(self.record, ["GDRCopy"]) if extras.get("gdrcopy") else [])
