"""What the checks that measure have in common: the record has all cells of one test case."""

from reframe.core.builtins import variable

from linkmatrix.judge.reasons import missing
from linkmatrix.references.for_program import lines_of
from linkmatrix.suite import PROGRAMS

from .cells import ALL_PAIRS, cell_faults, endpoints, parts_of
from .expect import engine_faults
from .p2p import p2p_matrix_run
from .shares import share_faults
from .sizes import has_own_size


class measuring_run(p2p_matrix_run, special=True):
    """A test of one test case: the base of the checks that measure. They say what the record must have."""

    #: the pairs of a matrix that are measured
    measured_pairs = ALL_PAIRS
    #: the library that measures; None for any
    engine = None
    #: the `shares.Share` that a partition may promise; None for none
    share = None

    def axes(self):
        """The labels of the rows and of the columns of each result; None for any."""
        labels = endpoints(self.record, self.testcase)
        return labels, labels

    def size_faults(self):
        """Reasons if the results have other sizes than requested."""
        if len(self.results) == 1:
            return []
        return missing(f"{self.testcase}: the record has {len(self.results)} matrices instead of one")

    def faults(self):
        self.results = [one for one in self.record["results"] if one["testcase"] == self.testcase]
        reasons = self.machine_faults() + self.size_faults() + engine_faults(self.results, self.engine)
        parts = parts_of(self.testcase, self.record["backend"] == "cuda")
        for result in self.results:
            reasons += cell_faults(result, *self.axes(), parts, self.measured_pairs)
        return reasons + share_faults(self.share, self.current_partition.extras, self.testcase, self.results)


class p2p_matrix_case(measuring_run, special=True):
    """Runs one test case and publishes its matrix: the base of the checks that measure.

    The performance variables are those of `variables.matrix_figures`: pairs such as ``gpu0->gpu3``, and summaries
    of each link class such as ``min[NV18]``. A matrix that is too large for its record has those of
    `variables.large_figures`.
    """

    #: Bytes of each copy of a bandwidth test case, and of each message, with the suffixes KiB, MiB and GiB. The
    #: latencies inside a node have a size of their own.
    #: :default: empty: the program's own, which references are for
    size = variable(str, value="", loggable=True)

    def prepare(self):
        super().prepare()
        if self.size and self.takes_size():
            self.measure_of_it(self.size)

    def program_opts(self):
        return ["--backend", self.backend()]

    def known_references(self, testcase):
        if self.program != PROGRAMS[0] or not self.reference_name:
            return ()
        file = self.current_partition.extras.get("reference_file", "p2p.yaml")
        return lines_of(type(self).__name__, self.reference_name, testcase, file)

    def size_asked_for(self):
        return self.size if self.takes_size() else None

    def takes_size(self):
        """Whether the test case has no size of its own."""
        return not has_own_size(self.testcase)

    def backend(self):
        """The program's back end."""
        raise NotImplementedError
