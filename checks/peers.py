"""Checks that measure the same links with established benchmarks, if these benchmarks are installed."""

import reframe as rfm
from reframe.core.builtins import fixture, parameter, variable
from reframe.core.exceptions import ReframeError

from linkmatrix.judge.verdicts import mismatch, missing
from linkmatrix.record.names import parse_size
from linkmatrix.reframe_ext.sessions.processes import TESTCASES

from .cells import cell_faults, endpoints
from .crossnode import CrossNode
from .pairs import PAIRS
from .peer import peer_run
from .session import nodes_session
from .sizes import PART, parse_sizes, size_faults
from .variables import size_figures

ONE_DIRECTION = "_one_direction"  # suffix of bidirectional test cases of which nvbandwidth prints one direction


class peer_matrix(peer_run, special=True):
    """The base class of checks of matrices of GPUs.

    The performance variables have the names of linkmatrix, such as ``gpu0->gpu3`` and ``min[NV18]``.
    """

    def prepare(self):
        super().prepare()
        self.require_pairs()

    def table_faults(self):
        (result,) = self.record["results"]
        named = {name for name in (*result["rows"], *result["columns"]) if name.startswith("gpu")}
        absent = [name for name in endpoints(self.record, self.testcase) if name not in named]
        parts = ["enqueue"] if result["quantity"] == "copy latency" else []  # the program prints this table too
        sentences = (f"{self.testcase}: {name} is missing in the table" for name in absent)
        return missing(*sentences) + cell_faults(result, None, None, parts)


@rfm.simple_test
class peer_nvbandwidth(peer_matrix):
    """Measures matrices of a node with nvbandwidth. One process measures all test cases.

    nvbandwidth compares the copied data. Since version 0.6, bidirectional values between GPUs are the sum of both
    directions. Bidirectional values between a GPU and host memory are the bandwidth of one direction. The names of
    these test cases end with ``_one_direction``.
    """

    #: The test case, with the name from `linkmatrix import`.
    testcase = parameter(
        [
            "host_to_device_memcpy_ce",
            "device_to_host_memcpy_ce",
            "host_to_device_bidirectional_memcpy_ce" + ONE_DIRECTION,
            "device_to_device_memcpy_read_ce",
            "device_to_device_memcpy_write_ce",
            "device_to_device_bidirectional_memcpy_write_ce",
            "device_to_device_memcpy_read_sm",
            "device_to_device_memcpy_write_sm",
            "device_to_device_latency_sm",
            "device_local_copy",
        ],
        loggable=True,
    )

    descr = "copies inside one node, by nvbandwidth"
    valid_systems = ["+gpu +cuda"]
    size = 512 << 20

    def program_testcase(self):
        return self.testcase.removesuffix(ONE_DIRECTION)

    def command(self):
        return ("nvbandwidth", "-j", "-b", str(self.size >> 20), "-t", TESTCASES)


@rfm.simple_test
class peer_p2p_sample(peer_matrix):
    """Measures matrices with p2pBandwidthLatencyTest of the CUDA samples. One process measures all test cases.

    The cells of the diagonal are copies inside a GPU. The program does not compare the copied data, so the cells are
    NOT JUDGED.
    """

    #: The test case, with linkmatrix's name.
    testcase = parameter(
        [
            name + peer_access
            for name in (
                "device_to_device_memcpy_write_ce",
                "device_to_device_bidirectional_memcpy_write_ce",
                "device_to_device_copy_latency_write_ce",
            )
            for peer_access in ("", "_peer_off")
        ],
        loggable=True,
    )

    descr = "copies between GPUs, by the CUDA sample"
    valid_systems = ["+gpu +cuda"]
    size = 160_000_000  # the program's default, which the program does not print

    def command(self):
        return ("p2pBandwidthLatencyTest", f"--numElems={self.size // 4}")

    def machine_faults(self):
        """Reasons against PASS: pairs without peer access. The program copies their data through host memory."""
        faults = peer_run.machine_faults(self)
        if self.testcase.endswith("_peer_off"):
            return faults
        labels, reached = self.record["topology"]["labels"], self.record["topology"]["peer_access"]
        return faults + [
            reason
            for r, row in enumerate(labels)
            for c, column in enumerate(labels)
            if r != c and reached[r][c] is not True
            for reason in mismatch(
                reached[r][c],
                f"{self.testcase}: {row}->{column} has no peer access, or the program did not report it",
            )
        ]


class peer_sizes(peer_run, special=True):
    """The base class of checks of several sizes. The performance variables end with the size in bytes.

    Examples are ``out-of-place@4194304`` and ``NET@4096``.
    """

    def requested_sizes(self):
        """The requested sizes, as text that `sizes.parse_sizes` can parse."""
        raise NotImplementedError

    def sharing_ranks(self):
        """The number of ranks among which the program divides a size; 0 if the program does not divide sizes."""
        return 0

    def table_faults(self):
        found = [result["size_bytes"] for result in self.record["results"]]
        slack = max(PART * self.sharing_ranks(), 1) - 1
        return size_faults(self.testcase, found, parse_sizes(self.requested_sizes()), slack=slack)

    def figures(self):
        figures = size_figures(self.judged_results())
        return {
            f"{self.link_class}@{name.rpartition('@')[2]}" if self.link_class else name: figure
            for name, figure in figures.items()
        }


@rfm.simple_test
class peer_nccl_tests(peer_sizes):
    """Measures one collective of NCCL between all GPUs of a node with nccl-tests. nccl-tests compares all data."""

    #: The program of nccl-tests.
    testcase = parameter(
        [
            *("all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "broadcast_perf", "reduce_perf"),
            *("alltoall_perf", "sendrecv_perf"),
        ],
        loggable=True,
    )

    #: The sizes: MIN:MAX:FACTOR, with the suffixes KiB, MiB and GiB.
    #: :default: ``'16KiB:1GiB:4'``; smaller sizes have a bandwidth that nccl-tests prints as 0.00
    sizes = variable(str, value="16KiB:1GiB:4", loggable=True)

    descr = "collectives between the GPUs of a node, by nccl-tests"
    valid_systems = ["+gpu +cuda +nccl"]
    topology = False
    least_gpus = 2

    def prepare(self):
        super().prepare()
        try:
            parse_sizes(self.sizes)
            self.command()
        except ValueError as error:
            usual = "write MIN:MAX:FACTOR, such as 16KiB:1GiB:4"
            raise ReframeError(f"peer_nccl_tests.sizes={self.sizes}: {error}: {usual}") from None

    def requested_sizes(self):
        return self.sizes

    def sharing_ranks(self):
        return self.expected.devices or 0

    def command(self):
        least, *rest = self.sizes.split(":")
        ends = [str(parse_size(word, "sizes")) for word in (least, *(rest[:1] or [least]))]
        gpus = str(self.expected.devices or 1)
        return (self.testcase, "-b", ends[0], "-e", ends[1], "-f", *(rest[1:] or ["2"]), "-g", gpus)


@rfm.simple_test
class peer_osu(peer_sizes):
    """Measures all message sizes between two ranks of a node with OSU's benchmarks, which compare the data.

    The name of the table of references ends with ``@sweep``. A name in the table is, for example, ``NODE@4096``.
    """

    #: The benchmark, with the name from `linkmatrix import`: ``hh`` are buffers in host memory.
    testcase = parameter(["osu_bw_hh", "osu_bibw_hh", "osu_latency_hh"], loggable=True)

    descr = "messages of every size between two ranks, by OSU"
    valid_systems = ["+mpi"]
    of_gpus = topology = False
    link_class = "NODE"

    def prepare(self):
        super().prepare()
        self.place()
        self.add_variant("sweep")

    def place(self):
        """Requests two ranks."""
        self.num_tasks = self.num_tasks_per_node = 2

    def requested_sizes(self):
        return "1:4MiB:2"

    def command(self):
        # -c compares the data (since version 5.7 of 2020)
        return (self.testcase.removesuffix("_hh"), "-c", "-m", "1:4194304")


@rfm.simple_test
class peer_osu_crossnode(CrossNode, peer_osu):
    """Measures all message sizes between two nodes with OSU's benchmarks.

    A name in the table of references is, for example, ``NET@4096``.
    """

    session = fixture(nodes_session, scope="environment")
    descr = "messages of every size between two nodes, by OSU"
    valid_systems = ["+mpi +crossnode"]
    link_class = "NET"

    def place(self):
        self.place_on_nodes(2, 1)
        self.num_tasks, self.num_tasks_per_node = 2, 1  # the benchmark accepts two ranks only

    def machine_faults(self):
        return peer_osu.machine_faults(self)


@rfm.simple_test
class peer_osu_pairs(peer_osu_crossnode):
    """Measures all message sizes between two nodes with several concurrent pairs of ranks, with osu_mbw_mr.

    A value is the sum over all pairs. The values are comparable with node_to_node_bandwidth_mpi of `crossnode_pairs`.
    For a single pair, use `peer_osu_crossnode`.
    """

    #: The benchmark and its number of pairs, with the name from `linkmatrix import`.
    testcase = parameter([f"osu_mbw_mr_hh_{pairs}_pairs" for pairs in PAIRS if pairs > 1], loggable=True)

    descr = "messages of every size between pairs of ranks of two nodes, by OSU"

    def place(self):
        """Requests one rank per pair on each of two nodes, because the program uses all ranks."""
        self.pairs = int(self.testcase.split("_")[-2])
        self.place_on_nodes(2, self.default_ranks(self.pairs))
        self.skip_without_ranks(self.pairs)
        self.num_tasks, self.num_tasks_per_node = 2 * self.pairs, self.pairs

    def command(self):
        return ("osu_mbw_mr", "-c", "-m", "1:4194304")

    def machine_faults(self):
        """Reasons against PASS: misplaced ranks. Rank i of the first half must send to rank i of the second half."""
        faults, places = peer_osu.machine_faults(self), self.output.nodes
        inside = [
            f"{rank} and {rank + self.pairs}" for rank in range(self.pairs) if len({*places[rank :: self.pairs]}) < 2
        ]
        if not inside or faults:
            return faults
        sentence = f"{self.testcase}: ranks {', '.join(inside)} were on one node: the launcher must fill one node first"
        return missing(sentence)
