"""How fast is it between nodes with one, four and eight pairs of ranks at once, by every size and way of memory?"""

from dataclasses import dataclass

import reframe as rfm
from reframe.core.builtins import fixture, parameter

from .crossnode import sweep_run
from .expect import pairs_faults, transport_faults, version_faults
from .session import nodes_session
from .testcases import OF_RANKS

PAIRS = (1, 4, 8)  # as the published sweeps have them
SECONDS = 300  # of a process, of which a job has up to thirty: all would ask for five hours with the usual limit
OF_NODES = [name for name in OF_RANKS if name.startswith("node_")]


@dataclass(frozen=True)
class Route:
    """A way between the memory of GPUs on two nodes.

    options: of the program. environment: of MPI. promised: the partition's extras without which it would be the usual.
    """

    options: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    promised: str = ""


USUAL = "usual"
#: The variables are those of UCX, which other transports do not read.
ROUTES = {
    USUAL: Route(),
    "staged": Route(options=("--transport", "staged")),
    "without_gdrcopy": Route(("--transport", "mpi"), ("UCX_TLS=^gdr_copy",), "gdrcopy"),
    "without_gpudirect": Route(("--transport", "mpi"), ("UCX_IB_GPU_DIRECT_RDMA=no",), "gpudirect"),
}


@rfm.simple_test
class crossnode_pairs(sweep_run):
    """Measures two nodes with every size of message, by some of their ranks at once, each with its like: as osu_mbw_mr
    and osu_multi_lat do, and of one pair osu_bw, osu_bibw and osu_latency.

    A node has as many ranks as GPUs, or 8 as far as it has cores. References stand in the partition's table with
    ``@4-pairs@sweep`` added to its name.
    """

    testcase = parameter(OF_NODES, loggable=True)

    #: Pairs of ranks at once.
    pairs = parameter(list(PAIRS), loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "messages of every size between pairs of ranks of two nodes"
    valid_systems = ["+mpi +crossnode"]

    tags = {"crossnode", "pairs", "full"}

    def prepare(self):
        super().prepare()
        self.place_on_nodes(self.nodes or 2, self.ranks_at_most(max(PAIRS)))
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
    """The same between the memory of GPUs, one rank for each, by several ways.

    ``usual`` is what MPI takes for it, ``staged`` goes through pinned host memory. What a partition promises,
    extras['gpudirect'] and extras['gdrcopy'], is looked for in the usual way, and measured without it too. References
    stand in the table with ``@4-pairs@sweep@device`` added to its name, and ``@staged`` and so on.
    """

    #: The way between the GPUs.
    route = parameter(list(ROUTES), loggable=True)

    descr = "messages of every size between pairs of GPUs of two nodes"
    valid_systems = ["+gpu +cuda +mpi +crossnode"]
    memory = "device"
    least_gpus = 1

    def prepare(self):
        super().prepare()
        promised = ROUTES[self.route].promised
        lacks = promised and not self.current_partition.extras.get(promised)
        self.skip_partition(lacks, f"does not promise it: extras['{promised}']")
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
