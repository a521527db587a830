"""What the checks that measure have in common: one test case, whose matrix is whole, compared, and published."""

from reframe.core.builtins import variable

from . import references
from .expect import ALL_PAIRS, cell_faults, endpoints, parts_of
from .p2p import p2p_matrix_run
from .programs import BUILT
from .reasons import missing
from .sizes import has_own_size


class p2p_matrix_case(p2p_matrix_run):
    """Runs one test case and publishes its matrix: the base of the checks that measure.

    The performance variables are those of `variables.matrix_figures`: pairs such as ``gpu0->gpu3``, and summaries
    of each link class such as ``min[NV18]``. A matrix that is too large for its record has those of
    `variables.large_figures`.
    """

    measured_pairs = ALL_PAIRS

    #: Bytes of each copy of a bandwidth test case, and of each message, with the suffixes KiB, MiB and GiB. The
    #: latencies inside a node have a size of their own.
    #:
    #: :type: :class:`str`
    #: :default: empty: the program's own, which references are for
    #:
    #: .. versionadded:: 0.1.0
    size = variable(str, value="", loggable=True)

    def prepare(self):
        super().prepare()
        if self.size and self.takes_size():
            self.measure_of_it(self.size)

    def program_opts(self):
        return ["--backend", self.backend()]

    def known_references(self, testcase):
        if self.program != BUILT[0] or not self.reference_name:
            return ()
        file = self.current_partition.extras.get("reference_file", "p2p.yaml")
        return references.lines_of(type(self).__name__, self.reference_name, testcase, file)

    def size_asked_for(self):
        return self.size if self.takes_size() else None

    def takes_size(self):
        """Whether the test case has no size of its own."""
        return not has_own_size(self.testcase)

    def backend(self):
        """The program's back end."""
        raise NotImplementedError

    def axes(self):
        """The labels of the rows and of the columns that must be measured; None for any."""
        labels = endpoints(self.record, self.testcase)
        return labels, labels

    def faults(self):
        results = [one for one in self.record["results"] if one["testcase"] == self.testcase]
        if len(results) != 1:
            lacking = f"{self.testcase}: the record has {len(results)} matrices instead of one"
            return self.machine_faults() + missing(lacking)
        parts = parts_of(self.testcase, self.record["backend"] == "cuda")
        return self.machine_faults() + cell_faults(results[0], *self.axes(), parts, self.measured_pairs)
