"""What every check of collectives is: the sizes and ways of one, each judged, and what it publishes."""

from reframe.core.builtins import variable

from linkmatrix.record.collective import ALL
from linkmatrix.references.reading import Reference

from .case import measuring_run
from .shares import Share, largest_of, shares_of
from .sizes import PART, at_least, size_faults, sizes_of
from .variables import Figure, size_figures

OUT, IN = "out-of-place", "in-place"
BOTH = (OUT, IN)

#: The test cases of collective_perf that are measured: the ways of NCCL, and of MPI, which chooses its algorithms.
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
UTILISATION = Share("collective_utilisation", "utilisation", "of what links allow", tuple(CASES), most=101)


class collective_run(measuring_run, special=True):
    """A test of collective_perf: the base of the checks of collectives.

    The performance variables are bus bandwidths of a way and a size in bytes, such as ``in-place@4194304``.

    A partition may promise how much of what links allow, in percent, the largest size of a test case has:
    extras['collective_utilisation'], such as ``{"all_reduce_perf": 70}``. Inside a node a GPU's NVLinks or PCIe slot
    count, between nodes the sum of a node's network ports. What it has is published then, ``utilisation[in-place]``,
    with the promise as its reference.
    """

    #: The sizes: of --size, such as ``4KiB,1MiB``, or MIN:MAX:FACTOR, which references are for as far as they are of
    #: the same.
    #: :default: from 1 KiB by fours: of GPUs to 1 GiB, between nodes to 16 MiB, else 4 KiB and 4 MiB
    sizes = variable(str, value="", loggable=True)
    size_variable = "sizes"

    program = executable = "collective_perf"
    #: by which library, and the test cases that it has, with their ways
    engine, cases = "mpi", OF_MPI
    share = UTILISATION
    usual_sizes = "4KiB,4MiB"
    # not in quick, whose links explain a slow collective: NCCL's communicators take a second more
    tags = {"acceptance", "full", "collectives"}

    def program_opts(self):
        sizes = self.wanted_sizes()
        return ["--sweep" if ":" in sizes else "--size", sizes]

    def wanted_sizes(self):
        """Those that were asked for, or the usual ones that leave each of its ranks a part."""
        return self.sizes or at_least(self.usual_sizes, self.num_tasks)

    def wanted_ranks(self):
        """How many take part."""
        return self.num_tasks

    def ways(self):
        """The columns of each result."""
        return self.cases[self.testcase]

    def axes(self):
        return [ALL], self.ways()

    def size_faults(self):
        found, wanted = [one["size_bytes"] for one in self.results], sizes_of(self.wanted_sizes())
        return size_faults(self.testcase, found, wanted, slack=max(PART * self.wanted_ranks(), 1) - 1)

    def nccl_promise(self):
        """What the partition's extras say of NCCL."""
        extras = self.current_partition.extras
        return extras.get("nccl_transport"), extras.get("nccl_network")

    def figures(self):
        """Bus bandwidths; and what the largest size has of what links allow, in percent, where that is promised."""
        figures = size_figures(self.judged_results())
        percent = self.current_partition.extras.get(UTILISATION.extra, {}).get(self.testcase)
        if percent is None or not self.results:
            return figures
        known = Reference(percent, 0, None, "%")
        shares = shares_of(largest_of(self.results), UTILISATION).items()
        return figures | {
            f"utilisation[{way}]": Figure(share, "%", known, limited=True) for way, share in shares if share is not None
        }
