"""The check of the GPUs of a node and their connections."""

import reframe as rfm

from linkmatrix.judge.device_state import state_faults, unequal_faults
from linkmatrix.reframe_ext.sessions.processes import TOPOLOGY_FOLDER

from .expect import device_faults, path_faults
from .p2p import p2p_matrix_run


@rfm.simple_test
class gpu_topology(p2p_matrix_run):
    """Reads the topology of a node's GPUs, and compares the topology with the partition's specification.

    This test measures nothing, and is therefore a quick first test of a suspect node. If other tests of the job measure
    the GPUs, this test uses the topology from their process. The specification has these parts:

    * the number and the model of the GPUs, in `config/topology/<system>-<partition>/devices.json`
    * ``link_class``, ``peer_access`` and ``hops`` of all pairs of GPUs, in the partition's extras
    * ``device_state`` of all GPUs, in the extras, with the names in a record's ``devices[].state``: ``{"ecc": "on",
      "mig": "off", "power_limit_enforced_w": "700", "fabric_state": "completed", "nvlinks_active": "18", "pcie_width":
      "16"}``
    * ``equal``, in the extras: properties that are equal on all GPUs, such as ``["vbios", "firmware", "driver"]``

    A pending reset, a PCIe link narrower than its maximum and an incomplete fabric are faults without a specification.
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
