"""Checks of network adapters: their properties, and their bandwidth and latency by perftest or UCX."""

from dataclasses import replace

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, parameter, variable
from reframe.core.exceptions import ReframeError

from linkmatrix.foreign.adapter_pairs import measurement_faults, parse_output, record_of
from linkmatrix.judge.verdicts import missing
from linkmatrix.record.names import parse_size
from linkmatrix.reframe_ext.sessions.processes import TOPOLOGY_FOLDER

from .adapters import MalformedExtrasError, adapter_faults, ratio_faults, specified
from .crossnode import CrossNode
from .foreign_run import foreign_run
from .p2p import p2p_matrix_run
from .session import nodes_session
from .session_test import session_test

#: Programs of perftest.
BANDWIDTHS = ("ib_write_bw", "ib_read_bw", "ib_send_bw")
LATENCIES = ("ib_write_lat", "ib_read_lat", "ib_send_lat")
CONCURRENT = "_at_once"
SCRIPT = "adapter_pairs.sh"  # the build copies this script next to the programs


def adapter_groups(partition):
    """The groups of adapters in a partition: a list of `Adapters`. Raises ReframeError for malformed extras."""
    try:
        return specified(partition.extras)
    except MalformedExtrasError as error:
        raise ReframeError(str(error)) from None


@rfm.simple_test
class rdma_adapters(p2p_matrix_run):
    """Reads the properties of a node's network adapters, and compares them with the partition's extras.

    This test measures nothing. A partition with the feature ``rdma`` specifies extras['adapters']: a group of adapters,
    such as ``{"number": 8, "rate": 400, "width": 16}``, or a list of groups. `adapters.Adapters` describes all keys. If
    the kernel does not report a specified property, the test is INCOMPLETE.
    """

    descr = "the network adapters of a node"
    valid_systems = ["+rdma"]
    tags = {"smoke", "quick", "full", "acceptance", "intranode", "topology", "rdma"}
    subfolder = TOPOLOGY_FOLDER

    def prepare(self):
        super().prepare()
        features = {"gpu", "cuda"} & set(self.current_partition.features)
        self.on_gpus = len(features) == 2 and "cuda" in self.current_environ.features
        if self.on_gpus:
            self.request_gpus(1)

    def program_opts(self):
        return ["--backend", "cuda" if self.on_gpus else "host"]

    def faults(self):
        return adapter_faults(self.record, self.current_partition.extras)


@rfm.simple_test
class rdma_perftest(foreign_run, CrossNode):
    """Runs a program of perftest between two nodes, over each network adapter or over all adapters concurrently.

    `src/rdma/adapter_pairs.sh` starts server and clients in one job, on cores near their adapter. The test measures the
    adapters that ``names`` in extras['adapters'] specifies. Without ``names``, the test measures all active adapters.
    ``ratio`` and ``at_once`` in these extras specify required bandwidths. Performance variables are, for example,
    ``mlx5_0->peer`` and ``min[NET]``.
    """

    #: The program of perftest.
    testcase = parameter([*BANDWIDTHS, *LATENCIES, *(name + CONCURRENT for name in BANDWIDTHS)], loggable=True)

    #: Bytes of each message of a bandwidth, with the suffixes KiB, MiB and GiB. Latencies use perftest's 2 bytes.
    #: :default: ``'1MiB'``
    size = variable(str, value="", loggable=True)

    #: Seconds per measurement of a bandwidth. perftest ignores the first two and the last two seconds.
    seconds = variable(int, value=6)

    #: Further options of the program, e.g. ``-S rdma_perftest.perftest_opts=-x,3`` for the index of a GID.
    perftest_opts = variable(typ.List[str], value=[])

    session = fixture(nodes_session, scope="environment")
    descr = "bandwidth and latency of network adapters, by perftest"
    valid_systems = ["+rdma +crossnode"]
    tags = {"crossnode", "rdma", "acceptance", "full"}
    program = "adapter_pairs"
    environment_prefix = ""  # environment variables before the command

    def prepare(self):
        super().prepare()
        self.place_on_nodes(2, 1)
        if self.size and not self.is_latency():
            self.add_variant(self.size)

    def is_latency(self):
        """Whether the test case measures a latency. A latency has a fixed message size."""
        return self.testcase in LATENCIES

    def specified(self):
        """The groups of adapters that the partition specifies, as `Adapters`."""
        return adapter_groups(self.current_partition)

    def job_request(self):
        names = [name for group in self.specified() for name in group.names]
        opts = (
            *("--into", f"meeting-{self.unique_name}"),
            *(("--adapters", ",".join(names)) if names else ()),
            *(("--at-once",) if self.steps()[1:] else ()),
            *(("--memory", "cuda") if self.memory == "device" else ()),
            *self.command(),
        )
        return replace(session_test.job_request(self), opts=opts, program=SCRIPT, tasks=2, ranks_per_node=1)

    def command(self):
        """The program with its options."""
        program = self.testcase.removesuffix(CONCURRENT)
        measured = ("--report_gbits", "-s", str(parse_size(self.size or "1MiB", "size")), "-D", str(self.seconds))
        return (program, "-F", *(() if self.is_latency() else measured), *self.perftest_opts)

    def steps(self):
        """The steps to measure, such as ["alone", "at-once"]. The test case has the values of the last step."""
        return ["alone", "at-once"] if self.testcase.endswith(CONCURRENT) else ["alone"]

    def read_output(self):
        command = " ".join(self.command())
        self.output = parse_output(self.text, self.environment_prefix + command)
        content = record_of(self.output, self.testcase, self.steps()[-1], self.display_name, command, self.memory)
        return content, measurement_faults(self.output, self.steps())

    def faults(self):
        groups = self.specified()
        named = [name for group in groups for name in group.names]
        reasons = missing(*(f"{name} was not measured" for name in named if name not in self.output.names))
        wanted = [group.number for group in groups if group.number is not None and not group.names]
        if wanted and len(self.output.names) != sum(wanted):
            reasons += missing(f"{len(self.output.names)} adapters were measured, expected are {sum(wanted)}")
        return reasons + ratio_faults(self.record, groups)


@rfm.simple_test
class rdma_device_perftest(rdma_perftest):
    """Runs perftest with the memory of the GPU nearest to each adapter (GPUDirect).

    The name of the table of references ends with ``@device``.
    """

    #: The program of perftest, which must be built with CUDA.
    testcase = parameter([*BANDWIDTHS, *LATENCIES[1:], *(name + CONCURRENT for name in BANDWIDTHS)], loggable=True)

    descr = "bandwidth and latency of network adapters with GPU memory, by perftest"
    valid_systems = ["+rdma +crossnode +gpu +cuda"]
    memory = "device"
    least_gpus = 1

    def prepare(self):
        super().prepare()
        self.add_variant("device")


@rfm.simple_test
class tcp_perftest(rdma_perftest):
    """Runs ucx_perftest over TCP between two nodes without RDMA.

    The messages use each interface alone, or all interfaces concurrently.

    The partition has the feature ``tcp``. Its extras['adapters'] name the interfaces: ``{"names": ["ens1f0"]}``.
    """

    #: The test of ucx_perftest with tagged messages: bandwidth, latency, or bandwidth over all interfaces concurrently.
    testcase = parameter(["ucx_tag_bw", "ucx_tag_lat", "ucx_tag_bw" + CONCURRENT], loggable=True)

    descr = "bandwidth and latency of network interfaces over TCP, by UCX"
    valid_systems = ["+tcp +crossnode"]
    tags = {"crossnode", "tcp", "acceptance", "full"}
    environment_prefix = "UCX_NET_DEVICES={adapter} UCX_TLS=tcp "

    def is_latency(self):
        return self.testcase.endswith("_lat")

    def command(self):
        test = self.testcase.removesuffix(CONCURRENT).removeprefix("ucx_")
        size, count, warmup = ("8", "50000", "1000") if self.is_latency() else (self.size or "1MiB", "5000", "100")
        return (
            *("ucx_perftest", "-t", test, "-s", str(parse_size(size, "size")), "-n", count, "-w", warmup),
            *self.perftest_opts,
        )
