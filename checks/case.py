"""What the checks that measure have in common: one test case, whose matrix is whole, compared, and published."""

import re
from pathlib import Path

from reframe.core.builtins import variable

import linkmatrix.record.printed
import linkmatrix.record.reading

from . import large, references
from .expect import cell_faults, has_words, table_faults
from .p2p import p2p_matrix_run
from .programs import BUILT
from .reasons import missing
from .sizes import has_own_size
from .variables import Figure, matrix_figures


class p2p_matrix_case(p2p_matrix_run):
    """Runs one test case and publishes its matrix: the base of the checks that measure.

    The performance variables are those of `variables.matrix_figures`: pairs such as ``gpu0->gpu3``, and summaries
    of each link class such as ``min[NV18]``. A matrix that is too large for its record has those of `large.variables`.
    """

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

    def faults(self):
        self.large = large.result_of(self.record, self.testcase)
        if self.large is not None:
            return self.machine_faults() + self.large_faults()
        self.tables = linkmatrix.record.printed.p2p_matrix(self.text)
        lacking = table_faults(self.tables, self.wanted_tables(), self.testcase)
        return self.machine_faults() + (lacking or self.matrix_faults())

    def large_faults(self):
        """As `matrix_faults`, of a matrix whose cells are in a file."""
        table, folder = self.wanted_tables()[0], Path("record.json").resolve().parent
        endpoints = self.wanted_endpoints()
        return large.matrix_faults(self.large, self.text, table, endpoints, folder, self.cells_wanted_of(endpoints))

    def cells_wanted_of(self, endpoints):
        """How many cells of a matrix between `endpoints` must be measured: each pair of them, both ways."""
        return len(endpoints) * (len(endpoints) - 1)

    def wanted_endpoints(self):
        """The endpoints of which each pair must be measured, where they may be too many for a table."""
        return []

    def matrix_faults(self):
        """The wanted cells are all there, in every table, and their data was compared."""
        cells, excused = self.wanted_cells(), self.excused_cells()
        # a cell that is missing is so in every table
        reasons = list(dict.fromkeys(one for table in self.tables for one in cell_faults(table, cells, excused)))
        needed = sum(self.tables[0].cells.get(pair) != "no-peer-access" for pair in cells)
        verified = re.findall(r"^verified: (\d+) of (\d+) cells$", self.text, re.MULTILINE)
        if verified != [(str(needed), str(needed))] and not has_words(self.tables[0], cells):
            said = " and ".join(f"{done} of {all_} cells" for done, all_ in verified) or "nothing"
            reasons += missing(f"{self.testcase}: {needed} cells must be verified, the program says {said}")
        return reasons

    def figures(self):
        return {
            name: figure
            for result, matrix in self.judged_results()
            if result["testcase"] == self.testcase
            for name, figure in self.figures_of(result, matrix).items()
        }

    def figures_of(self, result, matrix):
        """Those of one result."""
        table = self.table_of(result)
        if "cells" not in result:
            return matrix_figures(matrix, table)
        return {name: Figure(value, result["unit"], table.get(name)) for name, value in large.variables(result).items()}
