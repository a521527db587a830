"""What every check of p2p_matrix has in common: one run of the program, read once, judged without gaps."""

import re
import shlex
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError, SanityError

import linkmatrix.parse
import linkmatrix.record

from . import large
from .build import build_linkmatrix
from .expect import Promise, cell_faults, listed, table_faults
from .ranks import launch_options, layout_of
from .variables import matrix_variables

MOST_LINES = 4  # of standard error that are quoted
# states of jobs, in the words of any scheduler, that tell why there is no output; the others could be either
RAN, NEVER_RAN = {"COMPLETED", "FAILED", "TIMEOUT"}, {"PENDING", "CANCELLED", "DEADLINE"}
# states that say why a program did not end well; what it or its launcher wrote may not
ENDED = {
    "TIMEOUT": "the job reached its time limit",
    "OUT_OF_MEMORY": "the job ran out of memory",
    "NODE_FAIL": "a node of the job failed",
    "PREEMPTED": "the job made room for another",
}


class p2p_matrix_run(rfm.RunOnlyRegressionTest):
    """Runs p2p_matrix once; the base of the checks, which say what to measure and what must come out.

    Standard output is what is judged; the record of the same run, `record.json`, is kept in the output directory.
    """

    #: Further options of the program, e.g. ``-S extra_opts=--samples,15``.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    extra_opts = variable(typ.List[str], value=[])

    #: The table of references that this run is held against, a first-level key in `config/references/*.yaml`.
    #:
    #: :type: :class:`str`
    #: :default: the partition's ``extras['reference']``, else empty: no references, and no verdict
    reference_name = variable(str, value="", loggable=True)

    #: The node to run on, e.g. ``-S on=node017``; the partition's resource ``node`` says how a job asks for one. What
    #: ``--distribute`` does for all nodes at once where ReFrame can list them.
    #:
    #: :type: :class:`str`
    #: :default: empty: any node
    on = variable(str, value="", loggable=True)

    #: How the program was built: CMake's options, or Spack's concrete spec.
    #:
    #: :type: :class:`str`
    #: :default: set by the build
    built = variable(str, value="", loggable=True)

    executable = "p2p_matrix"
    sourcesdir = None
    keep_files = ["record.json", "record.*.npy"]  # cells of matrices that are too large for the record
    time_limit = "30m"
    max_pending_time = "8h"
    exclusive_access = True
    build = fixture(build_linkmatrix, scope="environment")

    @run_after("setup")
    def read_promise(self):
        self.promise = Promise.of(self.current_partition)
        self.reference_name = self.reference_name or self.current_partition.extras.get("reference", "")

    @run_after("setup")
    def ask_for_gpus_as_every_job(self):
        """A check of host memory asks for no GPUs, unless the partition takes no job without, and says so."""
        if self.current_partition.extras.get("gpus_in_every_job"):
            self.num_gpus_per_node = self.num_gpus_per_node or self.promise.devices

    @run_before("run")
    def say_layout(self):
        """For back ends that do not ask for nodes and tasks themselves: a partition's resource `layout` can."""
        self.layout = layout_of(self.num_tasks, self.num_tasks_per_node or 1)
        self.extra_resources = {**self.extra_resources, "layout": self.layout}

    @run_before("run")
    def bind_processes(self):
        """As the partition says, for ranks or for a process that has the node to itself."""
        kind = "rank_options" if self.num_tasks and self.num_tasks > 1 else "process_options"
        options = launch_options(self.current_partition.extras, kind, self.layout)
        self.job.launcher.options = [*self.job.launcher.options, *options]

    @run_before("run")
    def ask_for_the_node(self):
        if not self.on:
            return
        if not self.current_partition.get_resource("node", host=self.on):
            raise ReframeError(
                f"on={self.on}: {self.current_partition.fullname} has no resource 'node' to ask for one by"
            )
        self.extra_resources = {**self.extra_resources, "node": {"host": self.on}}

    @run_before("run")
    def set_program(self):
        self.built = self.build.built
        self.executable = shlex.quote(str(Path(self.build.stagedir) / "prefix" / "bin" / "p2p_matrix"))
        self.executable_opts = [*self.program_opts(), "--record", "record.json", "--max-display", "1024"]
        self.executable_opts += self.extra_opts

    def program_opts(self):
        """The options that make the program measure what the check asks for."""
        raise NotImplementedError

    def start_without_mpi(self):
        """For one process that is no rank: mpirun would bind it, and all of its threads, to one core."""
        if self.job.launcher.registered_name.startswith(("mpirun", "mpiexec")):
            self.job.launcher = getlauncher("local")()

    @sanity_function
    def everything_is_as_expected(self):
        faults = self.result_faults()
        if self.text is None:
            raise SanityError(listed(faults))
        try:
            self.record = linkmatrix.record.load("record.json")
            faults += self.node_faults() + self.faults()
        except (OSError, ValueError) as error:
            faults.append(str(error))
        if faults:
            raise SanityError(listed(faults))
        return True

    def result_faults(self):
        """The program's own verdict is its last line; what it says instead stands on standard error."""
        self.text, errors = None, ""
        try:
            errors = Path(sn.evaluate(self.stderr)).read_text(errors="replace")
            self.text = Path(sn.evaluate(self.stdout)).read_text(errors="replace")
        except OSError:
            return [self.without_output()]
        last = self.text.rstrip().rpartition("\n")[2]
        if last == "Result: PASS":
            return []
        # a launcher says in several lines, and in any order, why it ended; that it was ended by the program, which has
        # said why, is no news
        ended_itself = last.startswith("Result: ")
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        own = [line for line in lines if line.startswith("p2p_matrix: ")]
        quoted = own[-MOST_LINES:] if ended_itself else [*own[:1], *lines[-MOST_LINES:]]
        said = " / ".join(dict.fromkeys(quoted))
        ended = [ENDED[self.job.state]] if self.job.state in ENDED else []
        return [*ended, f"p2p_matrix ended with '{last}', not with 'Result: PASS'" + (f": {said}" if said else "")]

    def node_faults(self):
        """Did it run on the node that was asked for?"""
        ran, wanted = self.record["host"]["name"], self.on
        if not wanted or ran.partition(".")[0] == wanted.partition(".")[0]:
            return []
        return [f"it should run on {wanted}, and ran on {ran}"]

    def without_output(self):
        """Why there may be none: ReFrame cancels a job that waits too long, and says so only in its log."""
        state, waited = self.job.state, f", max_pending_time is {self.max_pending_time:g} s"
        never = (
            f"it did not begin in time{waited if self.max_pending_time else ''}, or was cancelled before it could write"
        )
        unshared = (
            f"it ran where {self.stagedir} cannot be written: results must go to a folder that login and compute nodes"
            " share ($LINKMATRIX_PREFIX, or 'prefix' of the system)"
        )
        why = unshared if state in RAN else never if state in NEVER_RAN else f"{never}; or {unshared}"
        return f"job {self.job.jobid} left no output, the scheduler says {state or 'nothing of it'}: {why}"

    def faults(self):
        """What is missing or not as promised, in sentences."""
        raise NotImplementedError

    @run_before("performance")
    def read_references(self):
        """Not in the class: there ReFrame reads and checks all of the file's references for each variant it lists."""
        self.reference = {"$ref": "p2p.yaml"}


class p2p_matrix_case(p2p_matrix_run):
    """Runs one test case and publishes its matrix: the base of the checks that measure.

    The performance variables are those of `variables.matrix_variables`: pairs such as ``gpu0->gpu3``, and summaries
    of each link class such as ``min[NV18]``. A matrix that is too large for its record has those of `large.variables`.
    """

    #: Bytes of each copy of a bandwidth test case, with the suffixes KiB, MiB and GiB.
    #:
    #: :type: :class:`str`
    #: :default: empty: the program's own, which references are for
    size = variable(str, value="", loggable=True)

    #: Error counters that may rise, e.g. ``-S tolerated_counters=pcie_replay``: no others may.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    tolerated_counters = variable(typ.List[str], value=[])

    @run_after("setup")
    def keep_references_to_their_size(self):
        if self.size and self.reference_name:
            self.reference_name += f"@{self.size}"

    def program_opts(self):
        return ["--testcase", self.testcase, "--backend", self.backend(), *(["--size", self.size] if self.size else [])]

    def backend(self):
        """The program's back end."""
        raise NotImplementedError

    def faults(self):
        self.large = large.result_of(self.record, self.testcase)
        if self.large is not None:
            return self.machine_faults() + self.large_faults() + self.counter_faults()
        self.tables = linkmatrix.parse.p2p_matrix(self.text)
        faults = table_faults(self.tables, self.wanted_tables(), self.testcase)
        if faults:
            return faults
        return self.machine_faults() + self.matrix_faults() + self.counter_faults()

    def large_faults(self):
        """As `matrix_faults`, of a matrix whose cells are in a file."""
        table, folder = self.wanted_tables()[0], Path("record.json").resolve().parent
        return large.matrix_faults(self.large, self.text, table, self.wanted_endpoints(), folder)

    def wanted_endpoints(self):
        """The endpoints of which each pair must be measured, where they may be too many for a table."""
        return []

    def counter_faults(self):
        """Errors that a device counted while it was measured, though every cell may be fine."""
        risen = linkmatrix.record.risen_counters(self.record)
        return [fault for fault in risen if not any(f": {name} " in fault for name in self.tolerated_counters)]

    def matrix_faults(self):
        """The wanted cells are all there, in every table, and their data was compared."""
        cells, excused = self.wanted_cells(), self.excused_cells()
        # a cell that is missing is so in every table
        faults = list(dict.fromkeys(fault for table in self.tables for fault in cell_faults(table, cells, excused)))
        needed = sum(self.tables[0].cells.get(pair) != "no-peer-access" for pair in cells)
        verified = re.findall(r"^verified: (\d+) of (\d+) cells$", self.text, re.MULTILINE)
        if verified != [(str(needed), str(needed))]:
            said = " and ".join(f"{done} of {all_} cells" for done, all_ in verified) or "nothing"
            faults.append(f"{self.testcase}: {needed} cells must be verified, the program says {said}")
        return faults

    @run_before("performance")
    def publish_matrix(self):
        if self.is_dry_run():
            return
        if self.large is not None:
            unit, found = self.large["unit"], large.variables(self.large)
        else:
            unit, found = self.tables[0].unit, matrix_variables(self.tables[0], self.link_classes())
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit) for name, value in found.items()
        }

    def link_classes(self):
        """{(source, destination): link class} of the test case's cells, from the record."""
        result = next(result for result in self.record["results"] if result["testcase"] == self.testcase)
        return {
            (row, column): result["link_class"][r][c]
            for r, row in enumerate(result["rows"])
            for c, column in enumerate(result["columns"])
        }
