"""The check of rank placement: cores, NUMA node, device and nearest NIC of each rank."""

from dataclasses import replace

import reframe as rfm
from reframe.core.builtins import sanity_function

from linkmatrix.judge.verdicts import missing
from linkmatrix.reframe_ext.sessions.endings import relevant_errors
from linkmatrix.reframe_ext.sessions.processes import RANKS_FOLDER

from .on_ranks import OnRanks
from .ranks import parse_bindings, placement_faults
from .session_test import session_test

SCRIPT = "binding.sh"  # the build copies this script next to the programs


@rfm.simple_test
class rank_binding(OnRanks, session_test):
    """Starts ranks in the same way as the other checks, and judges the placement of the ranks.

    If other tests of the session measure ranks of one node, this test judges these ranks. The rules are:

    * Two ranks of a node share no core, unless the partition has extras['shared_cores'].
    * The cores of a rank belong to one NUMA node, unless the partition has extras['spans_numa'].
    * Each rank has its own GPU if the node has enough GPUs.

    extras['rank_options'] are the launcher's options for binding and mapping.
    """

    descr = "placement of ranks by the launcher"
    valid_systems = ["+mpi"]
    tags = {"quick", "full", "topology"}
    time_limit = "5m"
    subfolder = RANKS_FOLDER
    measures = False

    def prepare(self):
        super().prepare()
        if self.expected.devices:
            self.num_gpus_per_node = self.expected.devices

    def job_request(self):
        return replace(super().job_request(), program=SCRIPT, execs_next=True, without_mpi=False)

    @sanity_function
    def check_placement(self):
        text, errors = self.outputs()
        if text is None:
            return self.conclude(missing(*self.job_errors(), self.report_no_output()))
        found, extras = parse_bindings(text), self.current_partition.extras
        faults = placement_faults(
            found,
            ranks=self.num_tasks,
            nodes=self.nodes,
            shared_cores=extras.get("shared_cores", False),
            spans_numa=extras.get("spans_numa", False),
            devices=self.expected.devices or 0,
        )
        if faults:
            faults = [*missing(*self.job_errors()), *faults]
            if message := relevant_errors(errors, ""):
                faults += missing(f"the launcher reports: {message}")
        return self.conclude(faults)
