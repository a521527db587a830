"""The check of a node's connections against the connections that the partition specifies."""

import reframe as rfm

from linkmatrix.judge.device_state import state_faults, unequal_faults
from linkmatrix.reframe_ext.sessions.processes import TOPOLOGY_FOLDER

from .expect import device_faults, path_faults
from .p2p import p2p_matrix_run


@rfm.simple_test
class gpu_topology(p2p_matrix_run):
    """Reads the topology of a node's GPUs and compares it with the partition's specification.

    This test measures nothing, so run it first on a suspect node. If other tests measure the GPUs, it reads the
    topology from their process. The number and the model of the GPUs are in
    `config/topology/<system>-<partition>/devices.json`. The partition's extras specify every pair: ``link_class``,
    ``peer_access`` and ``hops``, as in `expect.ExpectedConfiguration`.

    ``device_state`` specifies every GPU, by the names of a record's ``devices[].state``: ``{"ecc": "on", "mig": "off",
    "power_limit_enforced_w": "700", "fabric_state": "completed", "nvlinks_active": "18", "pcie_width": "16"}``.
    ``equal`` names facts that must be equal in all GPUs, such as ``["vbios", "firmware", "driver"]``. A pending reset,
    a PCIe slot narrower than possible and an incomplete fabric are faults without any specification.
    """

    descr = "the links of a node's GPUs"
    valid_systems = ["+gpu +cuda"]
    tags = {"smoke", "quick", "full", "acceptance", "intranode", "topology"}
    subfolder = TOPOLOGY_FOLDER
    least_gpus = 1

    def program_opts(self):
        return ["--backend", "cuda"]

    def faults(self):
        faults = device_faults(self.record, self.expected) + path_faults(self.record, self.expected)
        return (
            faults + state_faults(self.record, self.expected.state) + unequal_faults(self.record, self.expected.equal)
        )
