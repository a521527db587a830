"""The base class of checks of collectives: sizes, placements, and performance variables."""

from reframe.core.builtins import variable

from linkmatrix.record.names import ALL
from linkmatrix.references.reading import Reference

from .case import measuring_run
from .shares import Share, column_shares, largest_result
from .sizes import PART, parse_sizes, size_faults, sizes_for_ranks
from .variables import Figure, size_figures

OUT, IN = "out-of-place", "in-place"
BOTH = (OUT, IN)

#: {test case of collective_perf: (placements with NCCL, placements with MPI)}. MPI chooses its algorithms itself.
CASES = {
    "all_reduce_perf": (BOTH, BOTH),
    "all_reduce_perf_ring": (BOTH, ()),
    "all_reduce_perf_tree": (BOTH, ()),
    "all_gather_perf": (BOTH, BOTH),
    "reduce_scatter_perf": (BOTH, BOTH),
    "broadcast_perf": (BOTH, (IN,)),
    "reduce_perf": (BOTH, BOTH),
    "alltoall_perf": ((OUT,), (OUT,)),
    "gather_perf": (BOTH, BOTH),
    "scatter_perf": (BOTH, BOTH),
    "sendrecv_perf": ((OUT,), (OUT,)),
}
NCCL_PLACEMENTS = {name: nccl for name, (nccl, _) in CASES.items()}
MPI_PLACEMENTS = {name: mpi for name, (_, mpi) in CASES.items() if mpi}
UTILISATION = Share("collective_utilisation", "utilisation", "of the links' limit", tuple(CASES), most=101)


class collective_run(measuring_run, special=True):
    """The base class of checks of collectives, which collective_perf measures.

    The performance variables are bus bandwidths by placement and size in bytes, such as ``in-place@4194304``.

    A partition may require a utilisation of the links, in percent: extras['collective_utilisation'], such as
    ``{"all_reduce_perf": 70}``. The requirement applies to the largest size of a test case. Inside a node, the limit is
    the sum of a GPU's NVLinks, or a GPU's PCIe slot. Between nodes, the limit is the sum of a node's network ports. The
    performance variable ``utilisation[in-place]`` has the requirement as its reference.
    """

    #: The sizes: a list, such as ``4KiB,1MiB``, or MIN:MAX:FACTOR. Only sizes with references are judged.
    #: :default: GPUs: ``1KiB:1GiB:4``; host memory: inside a node ``4KiB,4MiB``, between nodes ``1KiB:16MiB:4``
    sizes = variable(str, value="", loggable=True)
    size_variable = "sizes"

    program = executable = "collective_perf"
    #: the library, and its {test case: placements}
    engine, cases = "mpi", MPI_PLACEMENTS
    share = UTILISATION
    usual_sizes = "4KiB,4MiB"
    # not in quick: a slow link explains a slow collective, and creating NCCL's communicators takes a second
    tags = {"acceptance", "full", "collectives"}

    def program_opts(self):
        sizes = self.requested_sizes()
        return ["--sweep" if ":" in sizes else "--size", sizes]

    def requested_sizes(self):
        """The requested sizes as text: the value of `sizes`. Default: the sizes that are large enough for all ranks."""
        return self.sizes or sizes_for_ranks(self.usual_sizes, self.num_tasks)

    def expected_ranks(self):
        """The number of ranks of the collective."""
        return self.num_tasks

    def placements(self):
        """The placements that each result must contain as columns, such as out-of-place and in-place."""
        return self.cases[self.testcase]

    def axes(self):
        return [ALL], self.placements()

    def size_faults(self):
        found, wanted = [one["size_bytes"] for one in self.results], parse_sizes(self.requested_sizes())
        return size_faults(self.testcase, found, wanted, slack=max(PART * self.expected_ranks(), 1) - 1)

    def expected_nccl(self):
        """(transport, network) of NCCL, from the partition's extras. None means unspecified."""
        extras = self.current_partition.extras
        return extras.get("nccl_transport"), extras.get("nccl_network")

    def figures(self):
        """The performance variables: bus bandwidths, and the utilisation if the partition requires a utilisation."""
        figures = size_figures(self.judged_results())
        percent = self.current_partition.extras.get(UTILISATION.extra, {}).get(self.testcase)
        if percent is None or not self.results:
            return figures
        known = Reference(percent, 0, None, "%")
        shares = column_shares(largest_result(self.results), UTILISATION).items()
        return figures | {
            f"utilisation[{placement}]": Figure(share, "%", known, limited=True)
            for placement, share in shares
            if share is not None
        }
