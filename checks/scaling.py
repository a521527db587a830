"""Checks of scaling: the efficiency of an N-body simulation on 1, 2, 4, … devices."""

import reframe as rfm
from reframe.core.builtins import fixture, parameter, variable

from linkmatrix.record.names import ALL, body_count

from .case import measuring_run
from .crossnode import TwoOrAllNodes
from .expect import device_faults
from .on_ranks import OnRanks
from .session import nodes_session
from .shares import Share
from .sizes import size_faults
from .variables import size_figures

#: The test cases of nbody_scaling. In weak scaling, the number of bodies is proportional to the number of devices.
CASES = ("nbody_float_strong", "nbody_float_weak", "nbody_double_strong", "nbody_double_weak")
EFFICIENCY = Share("scaling_efficiency", "efficiency", "of the efficiency of one device", CASES)


def device_columns(devices):
    """The labels of the columns of a result, such as "1-device", "2-devices", "4-devices" and "6-devices".

    devices: the largest number of devices. The other columns are the powers of two below this number.
    """
    counts = [1 << power for power in range(devices.bit_length()) if 1 << power < devices] + [devices]
    return [f"{count}-device{'' if count == 1 else 's'}" for count in counts]


class scaling_run(measuring_run, special=True):
    """The base class of checks of simulations, which nbody_scaling measures.

    The performance variables are computation rates by number of devices and size, such as ``4-devices@16777216``. The
    size is the number of bytes of all positions: 16 per body in single precision, 32 in double precision.

    A partition may require an efficiency in percent: extras['scaling_efficiency'], such as ``{"nbody_float_strong":
    92}``. The requirement applies to the largest number of bodies, with each number of devices.
    """

    #: The numbers of bodies, such as ``65536,1048576``. For weak scaling, the numbers are per device.
    #: :default: depends on the test case: 65536 to 1048576 bodies on GPUs; 2048 and 8192 bodies on ranks
    bodies = variable(str, value="", loggable=True)

    program = executable = "nbody_scaling"
    engine, share = "sm", EFFICIENCY
    #: {test case: default of `bodies`}. Seven steps take a few seconds on each number of devices. The time of a step
    #: is proportional to the square of all bodies, so weak scaling needs fewer bodies per device.
    usual_bodies = dict.fromkeys(CASES, "65536,262144") | {"nbody_float_strong": "65536,262144,1048576"}
    # not in acceptance, because simulations take longer than its minute
    tags = {"full", "nbody"}

    def program_opts(self):
        return ["--bodies", self.wanted_bodies()]

    def wanted_bodies(self):
        """The numbers of bodies to measure, separated by commas."""
        return self.bodies or self.usual_bodies[self.testcase]

    def expected_devices(self):
        """The largest number of devices in the simulation."""
        return self.num_tasks

    def axes(self):
        return [ALL], device_columns(self.expected_devices())

    def size_faults(self):
        found = sorted(body_count(result) or 0 for result in self.results)
        wanted = sorted(int(word) for word in self.wanted_bodies().split(",") if word.strip().isdigit())
        return size_faults(self.testcase, found, wanted, "bodies")

    def figures(self):
        return size_figures(self.judged_results())


@rfm.simple_test
class device_scaling(scaling_run):
    """Measures a simulation on the GPUs of a node, in one process. Each GPU copies its positions to the other GPUs."""

    testcase = parameter(CASES, loggable=True)

    descr = "N-body on the GPUs of a node"
    valid_systems = ["+gpu +cuda"]
    least_gpus = 1

    def program_opts(self):
        return [*super().program_opts(), "--backend", "cuda"]

    def expected_devices(self):
        return self.expected.devices or len(self.record["devices"])

    def machine_faults(self):
        return device_faults(self.record, self.expected)


@rfm.simple_test
class rank_scaling(OnRanks, scaling_run):
    """Measures a simulation on the cores of a node, with one rank per core. MPI gathers the positions."""

    testcase = parameter(CASES, loggable=True)

    descr = "N-body on ranks of a node"
    valid_systems = ["+mpi"]
    usual_bodies = dict.fromkeys(CASES, "2048,8192")


@rfm.simple_test
class node_scaling(TwoOrAllNodes, scaling_run):
    """Measures a simulation on the GPUs of several nodes, with one rank per GPU. MPI gathers the positions."""

    testcase = parameter(CASES, loggable=True)

    #: ``two`` nodes, or ``all``: the number in `nodes`, else all nodes that accept jobs, at most extras['nodes'].
    extent = parameter(["two", "all"], loggable=True)

    session = fixture(nodes_session, scope="environment")
    descr = "N-body on GPUs of several nodes"
    valid_systems = ["+gpu +cuda +mpi +crossnode"]
    usual_bodies = {
        "nbody_float_strong": "262144,1048576",
        "nbody_float_weak": "65536",
        "nbody_double_strong": "65536,262144",
        "nbody_double_weak": "65536",
    }
    memory = "device"
    least_gpus = 1
