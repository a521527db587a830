"""The base class of checks of collectives: sizes, placements, and performance variables."""

from reframe.core.builtins import variable

from linkmatrix.record.names import ALL
from linkmatrix.references.reading import Reference

from .case import measuring_run
from .shares import Share, largest_of, shares_of
from .sizes import PART, at_least, size_faults, sizes_of
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
OF_NCCL = {name: nccl for name, (nccl, _) in CASES.items()}
OF_MPI = {name: mpi for name, (_, mpi) in CASES.items() if mpi}
UTILISATION = Share("collective_utilisation", "utilisation", "of the links' limit", tuple(CASES), most=101)


class collective_run(measuring_run, special=True):
    """A test of collective_perf: the base of the checks of collectives.

    The performance variables are bus bandwidths by placement and size in bytes, such as ``in-place@4194304``.

    A partition may require a utilisation of the links, in percent, for the largest size of a test case:
    extras['collective_utilisation'], such as ``{"all_reduce_perf": 70}``. Inside a node, the limit is a GPU's NVLinks
    or PCIe slot. Between nodes, the limit is the sum of a node's network ports. The performance variable
    ``utilisation[in-place]`` then has the requirement as its reference.
    """

    #: The sizes: a list for --size, such as ``4KiB,1MiB``, or MIN:MAX:FACTOR. Sizes that have references are compared.
    #: :default: inside a node ``4KiB,4MiB``, between nodes ``1KiB:16MiB:4``, of GPUs ``1KiB:1GiB:4``
    sizes = variable(str, value="", loggable=True)
    size_variable = "sizes"

    program = executable = "collective_perf"
    #: the library, and {test case: placements} that it supports
    engine, cases = "mpi", OF_MPI
    share = UTILISATION
    usual_sizes = "4KiB,4MiB"
    # not in quick: the links explain a slow collective, and NCCL's communicators take another second
    tags = {"acceptance", "full", "collectives"}

    def program_opts(self):
        sizes = self.wanted_sizes()
        return ["--sweep" if ":" in sizes else "--size", sizes]

    def wanted_sizes(self):
        """The requested sizes, or the default sizes that leave each rank a part."""
        return self.sizes or at_least(self.usual_sizes, self.num_tasks)

    def wanted_ranks(self):
        """The number of ranks that take part."""
        return self.num_tasks

    def placements(self):
        """The columns of each result, such as out-of-place and in-place."""
        return self.cases[self.testcase]

    def axes(self):
        return [ALL], self.placements()

    def size_faults(self):
        found, wanted = [one["size_bytes"] for one in self.results], sizes_of(self.wanted_sizes())
        return size_faults(self.testcase, found, wanted, slack=max(PART * self.wanted_ranks(), 1) - 1)

    def expected_nccl(self):
        """(transport, network) that the partition's extras specify for NCCL; None for unspecified."""
        extras = self.current_partition.extras
        return extras.get("nccl_transport"), extras.get("nccl_network")

    def figures(self):
        """The bus bandwidths, and the utilisation of the largest size if the partition specifies one."""
        figures = size_figures(self.judged_results())
        percent = self.current_partition.extras.get(UTILISATION.extra, {}).get(self.testcase)
        if percent is None or not self.results:
            return figures
        known = Reference(percent, 0, None, "%")
        shares = shares_of(largest_of(self.results), UTILISATION).items()
        return figures | {
            f"utilisation[{placement}]": Figure(share, "%", known, limited=True)
            for placement, share in shares
            if share is not None
        }
