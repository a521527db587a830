"""Checks of copies inside one node: between GPUs, between host memory and GPUs, and between ranks."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from .case import p2p_matrix_case
from .cells import endpoints
from .expect import gpu_faults, rank_faults
from .on_ranks import OnRanks
from .testcases import DEVICE_TESTCASES, TESTCASES, has_own_size

#: Smoke test: a minimum of test cases that shows whether the node works.
SMOKE = {
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "device_to_device_latency_sm",
}
#: Quick test: shows whether the node is healthy.
QUICK = SMOKE | {"device_to_device_memcpy_read_ce", "host_device_latency_sm", "device_local_copy"}
#: Tests of the order of writes.
VISIBILITY = {name for name in DEVICE_TESTCASES if "visibility" in name}
#: The test cases that can run between pinned threads on a partition without GPUs.
ON_THREADS = VISIBILITY | {
    "device_to_device_memcpy_read_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "device_to_device_memcpy_write_sm",
    "device_to_device_latency_sm",
    "device_to_device_copy_latency_write_ce",
    "device_to_device_atomic_latency_sm",
    "device_to_device_flag_latency_sm",
    "device_to_device_memcpy_write_ce_stress",
}
SUITES = {"smoke": SMOKE, "quick": QUICK, "visibility": VISIBILITY}


def is_link_limited(testcase):
    """Whether a link limits the values of a test case, so that extras['limits'] apply."""
    return not has_own_size(testcase) and not testcase.endswith("_peer_off")


def limit_options(limits):
    """The option --limit of the program; [] without limits.

    limits: {link class: GB/s of one direction}.
    """
    values = ",".join(f"{link_class}={rate}" for link_class, rate in limits.items())
    return ["--limit", values] if values else []


@rfm.simple_test
class intranode_p2p(p2p_matrix_case):
    """Measures one matrix between the GPUs of a node, or between the GPUs and host memory.

    On a partition without GPUs, some test cases run between pinned threads. The endpoints are then cpu0, cpu1, and so
    on. Any number of endpoints is accepted.
    """

    testcase = parameter(DEVICE_TESTCASES, loggable=True)

    descr = "copies inside one node"

    @run_after("init")
    def choose_systems(self):
        self.valid_systems = ["*"] if self.testcase in ON_THREADS else ["+gpu +cuda"]
        self.tags = {
            "full",
            "intranode",
            "acceptance",
            *(tag for tag, suite in SUITES.items() if self.testcase in suite),
        }

    def prepare(self):
        super().prepare()
        self.choose_backend()
        if self.on_gpus:
            self.require_pairs()

    def backend(self):
        return "cuda" if self.on_gpus else "host"

    def machine_faults(self):
        return gpu_faults(self.record, self.expected) if self.on_gpus else []

    def program_opts(self):
        """The options of the program. If a link limits the test case, the options contain extras['limits']."""
        limits = self.current_partition.extras.get("limits", {}) if is_link_limited(self.testcase) else {}
        return [*super().program_opts(), *limit_options(limits)]

    def axes(self):
        """The required labels of rows and columns. None allows any labels, as for host memory."""
        devices = endpoints(self.record, self.testcase)
        labels = {"device": devices, "host": None, "local": ["local"], "all": ["all"]}
        return labels[TESTCASES[self.testcase]["rows"]], labels[TESTCASES[self.testcase]["columns"]]


@rfm.simple_test
class process_p2p(p2p_matrix_case):
    """Measures one matrix between the GPUs of a node, with one process per GPU. Most applications use GPUs in this way.

    The processes share memory by file descriptors or CUDA IPC, as the record shows. The references are those of
    `intranode_p2p`, because a single process measures the same values.
    """

    testcase = parameter(
        [
            "device_to_device_memcpy_read_ce",
            "device_to_device_memcpy_write_ce",
            "device_to_device_bidirectional_memcpy_write_ce",
            "device_to_device_memcpy_read_sm",
            "device_to_device_memcpy_write_sm",
            "device_to_device_latency_sm",
        ],
        loggable=True,
    )

    descr = "copies between processes with a GPU each"
    valid_systems = ["+gpu +cuda +mpi"]
    tags = {"acceptance", "full", "intranode"}
    memory = "device"

    def prepare(self):
        super().prepare()
        self.require_pairs()
        self.num_tasks = self.num_tasks_per_node = self.expected.devices or 2

    def backend(self):
        return "mpi"

    def machine_faults(self):
        """Reasons against PASS: missing ranks. If all ranks ran: missing GPUs, or unexpected connections."""
        return rank_faults(self.record, 1, self.num_tasks) or gpu_faults(self.record, self.expected)


@rfm.simple_test
class rank_p2p(OnRanks, p2p_matrix_case):
    """Measures one matrix between MPI ranks in host memory, on one node or on several nodes."""

    testcase = parameter(
        ["rank_to_rank_bandwidth_mpi", "rank_to_rank_bidirectional_mpi", "rank_to_rank_latency_mpi"], loggable=True
    )

    descr = "copies between ranks"
    valid_systems = ["+mpi"]

    @run_after("init")
    def set_tags(self):
        self.tags = {"acceptance", "full", "intranode"}
        if self.testcase == "rank_to_rank_bandwidth_mpi":
            self.tags |= {"smoke", "quick"}

    def backend(self):
        return "mpi"
