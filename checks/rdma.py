"""Has each node the network adapters that it should have, and what do they deliver?"""

import reframe as rfm

from .adapters import adapter_faults
from .p2p import p2p_matrix_run
from .processes import LOOK


@rfm.simple_test
class rdma_adapters(p2p_matrix_run):
    """Reads a node's network adapters and holds them against the partition's promise, before anything is timed.

    Measures nothing, as `gpu_topology`. The promise is extras['adapters'] of a partition with the feature ``rdma``: a
    group of adapters, or a list of groups, as ``{"number": 8, "rate": 400, "width": 16}``. Each port must be as its
    group says; what the kernel does not tell is a fault.

    ================  =======================================================================
    ``names``         which they are, ``mlx5_0``, and ``mlx5_0:2`` for a second port; without
                      it, all RDMA adapters
    ``number``        how many ports
    ``state``         ``ACTIVE`` unless told
    ``rate``          line rate in Gb/s
    ``link_layer``    ``InfiniBand`` or ``Ethernet``
    ``width``         lanes of the PCI link now
    ``speed``         of a lane now, in GT/s
    ================  =======================================================================
    """

    descr = "the network adapters of a node"
    valid_systems = ["+rdma"]
    valid_prog_environs = ["*"]
    tags = {"smoke", "quick", "full", "acceptance", "intranode", "topology", "rdma"}
    num_tasks = 1
    without_mpi = True
    apart = LOOK

    def prepare(self):
        super().prepare()
        features = {"gpu", "cuda"} & set(self.current_partition.features)
        self.on_gpus = len(features) == 2 and "cuda" in self.current_environ.features
        if self.on_gpus:
            self.num_gpus_per_node = self.promise.devices

    def program_opts(self):
        return ["--backend", "cuda" if self.on_gpus else "host"]

    def faults(self):
        return adapter_faults(self.record, self.current_partition.extras)
