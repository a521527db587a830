"""What is connected to what, and is it what the partition should have?"""

import reframe as rfm

from linkmatrix.judge.device_state import state_faults, unequal_faults
from linkmatrix.reframe_ext.sessions.processes import TOPOLOGY_FOLDER

from .expect import device_faults, path_faults
from .p2p import p2p_matrix_run


@rfm.simple_test
class gpu_topology(p2p_matrix_run):
    """Reads the topology of a node's GPUs and holds it against the partition's promises.

    Measures nothing, so it is the first to run on a node in doubt; where test cases between the GPUs are measured too,
    it reads what their process saw before it measured, and needs none of its own. Promised are the number and the
    model of the GPUs (`config/topology/<system>-<partition>/devices.json`) and, in the partition's extras, what every
    pair must have: ``link_class``, ``peer_access`` and ``hops``, as `expect.ExpectedConfiguration` describes them.

    And of every GPU, ``device_state``, such as ``{"ecc": "on", "mig": "off", "power_limit_enforced_w": "700",
    "fabric_state": "completed", "nvlinks_active": "18", "pcie_width": "16"}``, by the names of a record's
    ``devices[].state``; and ``equal``, such as ``["vbios", "firmware", "driver"]``, which all GPUs must have alike.
    What waits for a reset, a slot that is narrower than it could be and a fabric that is not whole are faults without
    any promise.
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
