"""Has each node the network adapters that it should have, and what do they deliver?"""

from dataclasses import replace

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, parameter, variable
from reframe.core.exceptions import ReframeError

from linkmatrix.foreign.adapter_pairs import faults_of, output_of, record_of
from linkmatrix.judge.reasons import missing
from linkmatrix.record.units import parse_size
from linkmatrix.reframe_ext.sessions.processes import TOPOLOGY_FOLDER

from .adapters import UnreadableError, adapter_faults, promised, ratio_faults
from .crossnode import CrossNode
from .foreign_run import foreign_run
from .p2p import p2p_matrix_run
from .session import nodes_session
from .session_test import session_test

#: The programs of perftest that are test cases.
BANDWIDTHS = ("ib_write_bw", "ib_read_bw", "ib_send_bw")
LATENCIES = ("ib_write_lat", "ib_read_lat", "ib_send_lat")
AT_ONCE = "_at_once"
SCRIPT = "adapter_pairs.sh"  # the build puts it next to the programs


def groups_of(partition):
    """The groups of adapters that a partition promises. Raises ReframeError for extras that cannot be read."""
    try:
        return promised(partition.extras)
    except UnreadableError as error:
        raise ReframeError(str(error)) from None


@rfm.simple_test
class rdma_adapters(p2p_matrix_run):
    """Reads a node's network adapters and compares them with the partition's promise, before anything is timed.

    Measures nothing, as `gpu_topology`. The promise is extras['adapters'] of a partition with the feature ``rdma``: a
    group of adapters, or a list of groups, as ``{"number": 8, "rate": 400, "width": 16}``. `adapters.Adapters` has all
    keys. A fact that the kernel does not tell is a fault.
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
    """Runs a program of perftest over each network adapter between two nodes, or over all of them at once.

    Server and clients are started in one job by `src/rdma/adapter_pairs.sh`, on the cores near their adapter. The
    performance variables are those of a matrix of the adapters, ``mlx5_0->peer`` and ``min[NET]``. The adapters of
    extras['adapters'] are measured, without ``names`` all that are active. Its ``ratio`` and ``at_once`` are expected.
    """

    #: The program of perftest.
    testcase = parameter([*BANDWIDTHS, *LATENCIES, *(name + AT_ONCE for name in BANDWIDTHS)], loggable=True)

    #: Bytes of each message of a bandwidth, with the suffixes KiB, MiB and GiB; latencies are of perftest's own, 2.
    #: :default: ``'1MiB'``
    size = variable(str, value="", loggable=True)

    #: Seconds that each bandwidth is measured, of which the first and last two do not count.
    seconds = variable(int, value=6)

    #: Further options of the program, e.g. ``-S rdma_perftest.perftest_opts=-x,3`` for the index of a GID.
    perftest_opts = variable(typ.List[str], value=[])

    session = fixture(nodes_session, scope="environment")
    descr = "what a network adapter delivers, by perftest"
    valid_systems = ["+rdma +crossnode"]
    tags = {"crossnode", "rdma", "acceptance", "full"}
    program = "adapter_pairs"
    told = ""  # that stand before its command

    def prepare(self):
        super().prepare()
        self.place_on_nodes(2, 1)
        if self.size and not self.is_latency():
            self.add_variant(self.size)

    def is_latency(self):
        """Whether it is one, which has a size of its own."""
        return self.testcase in LATENCIES

    def promised(self):
        """The groups of adapters that the partition specifies."""
        return groups_of(self.current_partition)

    def job_request(self):
        names = [name for group in self.promised() for name in group.names]
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
        program = self.testcase.removesuffix(AT_ONCE)
        measured = ("--report_gbits", "-s", str(parse_size(self.size or "1MiB", "size")), "-D", str(self.seconds))
        return (program, "-F", *(() if self.is_latency() else measured), *self.perftest_opts)

    def steps(self):
        """Those that each adapter must have; the last is the test case."""
        return ["alone", "at-once"] if self.testcase.endswith(AT_ONCE) else ["alone"]

    def read_output(self):
        command = " ".join(self.command())
        self.output = output_of(self.text, self.told + command)
        content = record_of(self.output, self.testcase, self.steps()[-1], self.display_name, command, self.memory)
        return content, faults_of(self.output, self.steps())

    def faults(self):
        groups = self.promised()
        named = [name for group in groups for name in group.names]
        reasons = missing(*(f"{name} was not measured" for name in named if name not in self.output.names))
        wanted = [group.number for group in groups if group.number is not None and not group.names]
        if wanted and len(self.output.names) != sum(wanted):
            reasons += missing(f"{len(self.output.names)} adapters were measured, expected are {sum(wanted)}")
        return reasons + ratio_faults(self.record, groups)


@rfm.simple_test
class rdma_device_perftest(rdma_perftest):
    """The same with the memory of the GPU that is nearest to the adapter (GPUDirect), as far as perftest can.

    References stand in the table with ``@device`` added to its name.
    """

    #: The program of perftest, which must be built with CUDA.
    testcase = parameter([*BANDWIDTHS, *LATENCIES[1:], *(name + AT_ONCE for name in BANDWIDTHS)], loggable=True)

    descr = "what a network adapter delivers from the memory of GPUs, by perftest"
    valid_systems = ["+rdma +crossnode +gpu +cuda"]
    memory = "device"
    least_gpus = 1

    def prepare(self):
        super().prepare()
        self.add_variant("device")


@rfm.simple_test
class tcp_perftest(rdma_perftest):
    """The same question where there is no RDMA device: ucx_perftest over TCP and each interface between two nodes.

    For a partition with the feature ``tcp``; its extras['adapters'] name the interfaces, ``{"names": ["ens1f0"]}``.
    """

    #: The test of ucx_perftest, tagged messages: their bandwidth or latency, or the bandwidth over all at once.
    testcase = parameter(["ucx_tag_bw", "ucx_tag_lat", "ucx_tag_bw" + AT_ONCE], loggable=True)

    descr = "what a network interface delivers over TCP, by UCX"
    valid_systems = ["+tcp +crossnode"]
    tags = {"crossnode", "tcp", "acceptance", "full"}
    told = "UCX_NET_DEVICES={adapter} UCX_TLS=tcp "

    def is_latency(self):
        return self.testcase.endswith("_lat")

    def command(self):
        test = self.testcase.removesuffix(AT_ONCE).removeprefix("ucx_")
        size, count, warmup = ("8", "50000", "1000") if self.is_latency() else (self.size or "1MiB", "5000", "100")
        return (
            *("ucx_perftest", "-t", test, "-s", str(parse_size(size, "size")), "-n", count, "-w", warmup),
            *self.perftest_opts,
        )
