"""Is every rank where it should be, before anything is timed: cores, NUMA node, device, nearest NIC?"""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

from .build import REPOSITORY
from .expect import Promise, listed
from .ranks import bindings, faults_of, launch_options, layout_of


@rfm.simple_test
class rank_binding(rfm.RunOnlyRegressionTest):
    """Starts ranks as the other checks do, and judges where the launcher put them.

    No two ranks of a node may share a core, no rank may span NUMA nodes, and on GPUs each rank has a device of its own.
    A partition whose ranks may do so says it in its extras:

    ================  ============================================================
    ``rank_options``  options of the launcher for ranks: binding and mapping
    ``shared_cores``  ranks may share cores, as on a workstation with few of them
    ``spans_numa``    a rank may use cores of several NUMA nodes
    ================  ============================================================
    """

    #: Ranks on each node.
    #:
    #: :type: :class:`int`
    #: :default: 0: as many as the node has GPUs, or 2 where it has none
    ranks = variable(int, value=0)

    #: Nodes that the ranks are spread over.
    #:
    #: :type: :class:`int`
    #: :default: 1
    nodes = variable(int, value=1, loggable=True)

    descr = "where the launcher puts ranks"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    tags = {"quick", "full", "topology"}
    sourcesdir = str(REPOSITORY / "src" / "binding")
    executable = "./binding.sh"
    time_limit = "5m"
    max_pending_time = "8h"
    exclusive_access = True

    @run_after("setup")
    def place_ranks(self):
        self.promise = Promise.of(self.current_partition)
        if self.promise.devices:
            self.num_gpus_per_node = self.promise.devices
        self.num_tasks_per_node = self.ranks or max(2, self.promise.devices or 0)
        self.num_tasks = self.nodes * self.num_tasks_per_node
        # for schedulers that ReFrame asks for no slots: a partition's resource `layout` can
        self.layout = layout_of(self.num_tasks, self.num_tasks_per_node)
        self.extra_resources = {**self.extra_resources, "layout": self.layout}

    @run_before("run")
    def bind_ranks(self):
        options = launch_options(self.current_partition.extras, "rank_options", self.layout)
        self.job.launcher.options = [*self.job.launcher.options, *options]

    @sanity_function
    def every_rank_is_where_it_should_be(self):
        with open(sn.evaluate(self.stdout), errors="replace") as output:
            found = bindings(output.read())
        extras = self.current_partition.extras
        faults = faults_of(
            found,
            ranks=self.num_tasks,
            nodes=self.nodes,
            shared_cores=extras.get("shared_cores", False),
            spans_numa=extras.get("spans_numa", False),
            devices=bool(self.promise.devices),
        )
        if faults:
            raise SanityError(listed(faults))
        return True
