"""How much faster do devices compute together than one alone? An N-body simulation on 1, 2, 4 … of them."""

import reframe as rfm
from reframe.core.builtins import fixture, parameter, variable

import linkmatrix.record.printed

from .crossnode import OfExtent
from .expect import Table, device_faults, engine_faults
from .one_node import OnRanks
from .p2p import p2p_matrix_run
from .session import nodes_session
from .simulations import columns_of, efficiency_faults, every_number_there, simulation_faults
from .sizes import promise_faults
from .variables import size_figures

RATE = Table("compute rate", "GFLOP/s")
TABLES = (RATE, Table("efficiency", "%"), Table("time of a step", "us"), Table("bodies", "bodies"))
EFFICIENCY = "extras['scaling_efficiency']"
#: The test cases of nbody_scaling, by precision and by what grows with the devices.
CASES = ("nbody_float_strong", "nbody_float_weak", "nbody_double_strong", "nbody_double_weak")


class scaling_run(p2p_matrix_run, special=True):
    """A test of nbody_scaling: the base of the checks of simulations.

    The performance variables are rates of computation of a number of devices and the bytes of all positions, 16 a body
    in single and 32 in double precision, such as ``4-devices@16777216``.

    A partition may promise how efficient the most bodies are on every number of devices, in percent:
    extras['scaling_efficiency'], such as ``{"nbody_float_strong": 92}``.
    """

    #: Numbers of bodies, such as ``65536,1048576``; of a weak scaling, of each device.
    #:
    #: :type: :class:`str`
    #: :default: of GPUs 65536, 262144 and 1048576, of ranks 2048 and 8192
    #:
    #: .. versionadded:: 0.2.0
    bodies = variable(str, value="", loggable=True)

    program = executable = "nbody_scaling"
    usual_bodies = "65536,262144,1048576"
    # not in acceptance, which is of links and ends within a minute: simulations take longer than all of them
    tags = {"full", "nbody"}

    def program_opts(self):
        return ["--bodies", self.bodies or self.usual_bodies]

    def wanted_devices(self):
        """How many there are to compute on."""
        return self.num_tasks

    def machine_faults(self):
        """Is all that should take part there, and as promised?"""
        raise NotImplementedError

    def faults(self):
        self.tables = [
            table for table in linkmatrix.record.printed.p2p_matrix(self.text) if table.testcase == self.testcase
        ]
        self.results = [one for one in self.record["results"] if one["testcase"] == self.testcase]
        columns = columns_of(self.wanted_devices())
        reasons = every_number_there(self.results, self.bodies or self.usual_bodies, self.testcase)
        reasons += simulation_faults(self.results, self.tables, TABLES, columns)
        promised = self.current_partition.extras.get("scaling_efficiency", {})
        unclear = promise_faults(promised, CASES, EFFICIENCY, "simulations")
        reasons += unclear or efficiency_faults(self.results, promised.get(self.testcase))
        return [*self.machine_faults(), *engine_faults(self.results, "sm"), *reasons]

    def figures(self):
        return size_figures(self.judged_results())


@rfm.simple_test
class device_scaling(scaling_run):
    """Measures a simulation on the GPUs of a node, in one process: each copies its positions to the others."""

    #: The test case of nbody_scaling.
    testcase = parameter(CASES, loggable=True)

    descr = "N-body on the GPUs of a node"
    valid_systems = ["+gpu +cuda"]
    valid_prog_environs = ["+cuda"]
    num_tasks = 1
    without_mpi = True

    def prepare(self):
        super().prepare()
        self.num_gpus_per_node = self.promise.devices

    def program_opts(self):
        return [*super().program_opts(), "--backend", "cuda"]

    def wanted_devices(self):
        return self.promise.devices or len(self.record["devices"])

    def machine_faults(self):
        return device_faults(self.record, self.promise)


@rfm.simple_test
class rank_scaling(OnRanks, scaling_run):
    """Measures a simulation on cores of a node, one rank each, whose positions MPI gathers."""

    #: The test case of nbody_scaling.
    testcase = parameter(CASES, loggable=True)

    descr = "N-body on ranks of a node"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    usual_bodies = "2048,8192"

    def prepare(self):
        super().prepare()
        self.place_on_ranks()


@rfm.simple_test
class node_scaling(OfExtent, scaling_run):
    """Measures a simulation on the GPUs of several nodes, one rank each, whose positions MPI gathers."""

    #: The test case of nbody_scaling.
    testcase = parameter(CASES, loggable=True)

    #: ``two`` nodes, or ``all``: as many as `nodes` says, or else the partition in its extras['nodes'].
    extent = parameter(["two", "all"], loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "N-body on GPUs of several nodes"
    valid_systems = ["+gpu +cuda +mpi +crossnode"]
    valid_prog_environs = ["+cuda +mpi"]
    usual_bodies = "262144,1048576"

    def prepare(self):
        super().prepare()
        self.place_on_extent()
        self.num_gpus_per_node = self.promise.devices

    def program_opts(self):
        return [*super().program_opts(), "--memory", "device"]
