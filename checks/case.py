"""The base classes of checks that measure one test case."""

from reframe.core.builtins import variable

from linkmatrix.judge.verdicts import missing
from linkmatrix.references.tables import program_references
from linkmatrix.suite import PROGRAMS

from .cells import ALL_PAIRS, cell_faults, endpoints
from .expect import engine_faults
from .p2p import p2p_matrix_run
from .shares import share_faults
from .testcases import has_own_size, part_names


class measuring_run(p2p_matrix_run, special=True):
    """The base class of checks that measure one test case. A subclass declares the required content of the record."""

    #: the pairs of a matrix to measure
    measured_pairs = ALL_PAIRS
    #: the required library; None for any library
    engine = None
    #: the `shares.Share` that a partition may require; None if it may require none
    share = None

    def axes(self):
        """The labels that each result must have: (rows, columns). None allows any labels."""
        labels = endpoints(self.record, self.testcase)
        return labels, labels

    def size_faults(self):
        """Reasons against PASS: the measured sizes are not the requested sizes. By default, one matrix is required."""
        if len(self.results) == 1:
            return []
        return missing(f"{self.testcase}: the record has {len(self.results)} matrices instead of one")

    def faults(self):
        self.results = [one for one in self.record["results"] if one["testcase"] == self.testcase]
        reasons = self.machine_faults() + self.size_faults() + engine_faults(self.results, self.engine)
        parts = part_names(self.testcase, self.record["backend"] == "cuda")
        for result in self.results:
            reasons += cell_faults(result, *self.axes(), parts, self.measured_pairs)
        return reasons + share_faults(self.share, self.current_partition.extras, self.testcase, self.results)


class p2p_matrix_case(measuring_run, special=True):
    """Measures one test case of p2p_matrix, and publishes its values as performance variables.

    `variables.matrix_figures` creates the performance variables: pairs such as ``gpu0->gpu3``, and summaries of each
    link class such as ``min[NV18]``.
    """

    #: Bytes of each copy of a bandwidth test case, and of each message, with the suffixes KiB, MiB and GiB. Latencies
    #: inside a node have a fixed size.
    #: :default: empty: the program's default size, for which there are references
    size = variable(str, value="", loggable=True)
    size_variable = "size"

    def prepare(self):
        super().prepare()
        if self.size and self.takes_size():
            self.add_variant(self.size)

    def program_opts(self):
        return ["--backend", self.backend()]

    def testcase_references(self, testcase):
        if self.program != PROGRAMS[0] or not self.reference_name:
            return ()
        file = self.current_partition.extras.get("reference_file", "p2p.yaml")
        return program_references(type(self).__name__, self.reference_name, testcase, file)

    def requested_size(self):
        return self.size if self.takes_size() else None

    def takes_size(self):
        """Whether the user can set the size of the test case."""
        return not has_own_size(self.testcase)

    def backend(self):
        """The back end of the program, such as "cuda"."""
        raise NotImplementedError
