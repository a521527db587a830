"""How much faster do devices compute together than one alone? An N-body simulation on 1, 2, 4 … of them."""

import reframe as rfm
from reframe.core.builtins import fixture, parameter, variable

from linkmatrix.record.collective import ALL, bodies_of

from .case import measuring_run
from .crossnode import OfExtent
from .expect import device_faults
from .on_ranks import OnRanks
from .session import nodes_session
from .shares import Share
from .sizes import size_faults
from .variables import size_figures

#: The test cases of nbody_scaling, by precision and by what grows with the devices.
CASES = ("nbody_float_strong", "nbody_float_weak", "nbody_double_strong", "nbody_double_weak")
EFFICIENCY = Share("scaling_efficiency", "efficiency", "of the efficiency of one device", CASES)


def columns_of(devices):
    """The columns for a number of devices, powers of two and all: "1-device", "2-devices" …"""
    counts = [1 << power for power in range(devices.bit_length()) if 1 << power < devices] + [devices]
    return [f"{count}-device{'' if count == 1 else 's'}" for count in counts]


class scaling_run(measuring_run, special=True):
    """A test of nbody_scaling: the base of the checks of simulations.

    The performance variables are rates of computation of a number of devices and the bytes of all positions, 16 a body
    in single and 32 in double precision, such as ``4-devices@16777216``.

    A partition may promise how efficient the most bodies are on every number of devices, in percent:
    extras['scaling_efficiency'], such as ``{"nbody_float_strong": 92}``.
    """

    #: Numbers of bodies, such as ``65536,1048576``; of a weak scaling, of each device.
    #: :default: of GPUs 65536, 262144 and 1048576, of ranks 2048 and 8192
    bodies = variable(str, value="", loggable=True)

    program = executable = "nbody_scaling"
    engine, share = "sm", EFFICIENCY
    usual_bodies = "65536,262144,1048576"
    # not in acceptance, which is of links and ends within a minute: simulations take longer than all of them
    tags = {"full", "nbody"}

    def program_opts(self):
        return ["--bodies", self.bodies or self.usual_bodies]

    def wanted_devices(self):
        """How many there are to compute on."""
        return self.num_tasks

    def axes(self):
        return [ALL], columns_of(self.wanted_devices())

    def size_faults(self):
        found = sorted(bodies_of(result) or 0 for result in self.results)
        wanted = sorted(int(word) for word in (self.bodies or self.usual_bodies).split(",") if word.strip().isdigit())
        return size_faults(self.testcase, found, wanted, "bodies")

    def figures(self):
        return size_figures(self.judged_results())


@rfm.simple_test
class device_scaling(scaling_run):
    """Measures a simulation on the GPUs of a node, in one process: each copies its positions to the others."""

    testcase = parameter(CASES, loggable=True)

    descr = "N-body on the GPUs of a node"
    valid_systems = ["+gpu +cuda"]
    least_gpus = 1

    def program_opts(self):
        return [*super().program_opts(), "--backend", "cuda"]

    def wanted_devices(self):
        return self.expected.devices or len(self.record["devices"])

    def machine_faults(self):
        return device_faults(self.record, self.expected)


@rfm.simple_test
class rank_scaling(OnRanks, scaling_run):
    """Measures a simulation on cores of a node, one rank each, whose positions MPI gathers."""

    testcase = parameter(CASES, loggable=True)

    descr = "N-body on ranks of a node"
    valid_systems = ["+mpi"]
    usual_bodies = "2048,8192"


@rfm.simple_test
class node_scaling(OfExtent, scaling_run):
    """Measures a simulation on the GPUs of several nodes, one rank each, whose positions MPI gathers."""

    testcase = parameter(CASES, loggable=True)

    #: ``two`` nodes, or ``all``: as many as `nodes` says, or else all that take jobs, at most extras['nodes'].
    extent = parameter(["two", "all"], loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "N-body on GPUs of several nodes"
    valid_systems = ["+gpu +cuda +mpi +crossnode"]
    usual_bodies = "262144,1048576"
    memory = "device"
    least_gpus = 1
