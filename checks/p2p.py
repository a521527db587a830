"""What every check of a program that measures has in common: one run of the program, read once, judged without gaps."""

import os
import shlex
from dataclasses import replace
from pathlib import Path

import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError

from linkmatrix.errors import BadInput
from linkmatrix.judge.reasons import missing
from linkmatrix.judge.test_verdict import BY_SIGNAL
from linkmatrix.record import reading, units
from linkmatrix.references import for_program
from linkmatrix.reframe_ext.sessions import endings, parts
from linkmatrix.reframe_ext.sessions.member import NEVER_RAN
from linkmatrix.reframe_ext.sessions.processes import folder_of
from linkmatrix.runs.bound import short
from linkmatrix.site import ignored_processes
from linkmatrix.suite import PROGRAMS

from .expect import exclusive_faults, run_faults, without_pairs
from .ranks import crowded_faults
from .session_test import session_test
from .variables import large_figures, matrix_figures


class p2p_matrix_run(session_test, special=True):
    """A test of p2p_matrix, or of another `program`: the base of the checks, which say what to measure and what must
    come out.

    It reads its part of what the session left: standard output, which is what is judged, and the record of the same
    run, `record.json`, which is kept in the output directory.
    """

    #: Further options of the program, e.g. ``-S intranode_p2p.extra_opts=--samples,15``. It refuses one that does
    #: nothing in its run.
    extra_opts = variable(typ.List[str], value=[])

    #: Seconds to wait, at most, until nobody else uses what is measured, e.g. ``-S wait_idle=60``; then it is measured
    #: all the same.
    wait_idle = variable(float, value=0.0)

    #: Whether nothing is measured where somebody else still uses it, which is no verdict: ``-S refuse_busy=y``.
    refuse_busy = variable(typ.Bool, value=False)

    #: The table of references that this run is held against, a first-level key in `config/references/p2p.yaml`, or in
    #: the file there that the partition names, ``extras['reference_file']``.
    #: :default: the partition's ``extras['reference']``, else empty: no references, and no verdict
    reference_name = variable(str, value="", loggable=True)

    #: What of the machine is measured, where that is more than its usual: ``@all@crossed``. It is added to the name of
    #: its table, so that no two collide.
    #: :default: set by the checks
    reference_variant = variable(str, value="", loggable=True)

    #: How the program was built: CMake's options, or Spack's concrete spec.
    #: :default: set by the build
    built = variable(str, value="", loggable=True)

    #: Error counters that may rise, e.g. ``-S tolerated_counters=pcie_replay``: no others may.
    tolerated_counters = variable(typ.List[str], value=[])

    #: the program that measures, one of `suite.PROGRAMS`
    program = "p2p_matrix"
    executable = program
    #: the GPUs of a node that the test needs at least; 0: it needs none
    least_gpus = 0
    #: the memory between which ranks send: "host" or "device"
    memory = "host"
    #: seconds that a record may take to become visible after the end of its job, as on a network file system
    RECORD_SECONDS = 30

    def prepare(self):
        super().prepare()
        if self.least_gpus:
            self.take_gpus(self.least_gpus)
        extras = self.current_partition.extras
        self.reference_name = self.reference_name or extras.get("reference", "")
        try:
            self.ignored = ignored_processes.of_extras(extras)
        except BadInput as error:
            raise ReframeError(str(error)) from None

    def take_gpus(self, least):
        """Asks for all GPUs of each node. Skips the test on nodes with fewer GPUs than it needs."""
        found = self.num_gpus_per_node = self.promise.devices
        needed = f"has {units.counted(found, 'GPU')}, and the test needs {least}"
        self.skip_partition(found is not None and found < least, needed)

    def choose_backend(self):
        """Measures GPUs where the partition has them. Skips the test in an environment that cannot use them."""
        self.on_gpus = "gpu" in self.current_partition.features
        lacks = self.on_gpus and "cuda" not in self.current_environ.features
        self.skip_partition(lacks, f"has GPUs, and the environment {self.current_environ.name} has no CUDA")

    def need_pairs(self):
        """Asks for all GPUs of a node. Skips the test on nodes without a pair of GPUs that it could measure."""
        self.take_gpus(1)
        why = without_pairs(self.testcase, self.promise)
        self.skip_partition(why, why)

    def measure_of_it(self, word):
        """Names what of the machine is measured; references for it stand in a table of its own, where it has one."""
        self.reference_variant += f"@{word}"
        if self.reference_name:
            self.reference_name += f"@{word}"

    def wish(self):
        """What this test needs of a job."""
        testcase, memory = self.part(), ("--memory", "device") if self.memory == "device" else ()
        return replace(
            super().wish(),
            testcase=testcase,
            opts=(*self.program_opts(), *memory, *self.ignore_opts(), *self.idle_opts(), *self.extra_opts),
            size=self.size_asked_for(),
            program=self.program,
            group="puts" if "_put_" in testcase else "",  # an MPI may be unable to, and the process then ends
            environment=self.environment_of_ranks(),
            references=self.told_references(testcase),
        )

    def ignore_opts(self):
        """The option with the processes that the partition ignores, for programs that poll other processes."""
        if not self.ignored or self.program not in PROGRAMS:
            return ()
        return ("--ignore-processes", shlex.quote(",".join(self.ignored)))

    def idle_opts(self):
        """What the program is told of others that use the machine, where it sees them."""
        if not self.part() or self.program not in PROGRAMS:
            return ()
        wait = ("--wait-idle", f"{self.wait_idle:g}") if self.wait_idle else ()
        return (*wait, *(["--refuse-busy"] if self.refuse_busy else []))

    def told_references(self, testcase):
        """What its program is told that the cells of a test case should be, unless an option changes what they are."""
        given = {word.partition("=")[0] for word in (*self.program_opts(), *self.extra_opts)}
        return () if given & for_program.OTHERS else self.known_references(testcase)

    def known_references(self, testcase):
        """Those that cells of a test case are held against, as `for_program.lines_of` makes them."""
        return ()

    def environment_of_ranks(self):
        """NAME=VALUE of each variable that its process has beside those of the job, for MPI."""
        return ()

    def part(self):
        return getattr(self, "testcase", "")

    def part_of(self, stage, number, sharing, asked_by):
        if self.job.state not in (*endings.ENDED, *NEVER_RAN):
            folder = stage / folder_of(number)
            folder = folder / self.apart if (folder / self.apart).exists() else folder
            parts.wait_for_record(stage, folder, self.job.jobid, self.RECORD_SECONDS, self.job.stdout)
        super().part_of(stage, number, sharing, asked_by)

    def size_asked_for(self):
        """That of --size; None where it does not matter."""
        return None

    def program_opts(self):
        """The options that make the program measure what the check asks for, beside the test case and the size."""
        raise NotImplementedError

    @run_before("run")
    def say_how_it_was_built(self):
        self.built = self.build.built

    @run_before("sanity")
    def skip_what_cannot_be(self):
        """What an MPI cannot do is no fault, and no verdict: only the manifest excuses it."""
        reason = "" if self.is_dry_run() else endings.not_here(self.outputs()[1])
        self.skip_if(bool(reason), reason)

    @sanity_function
    def everything_is_as_expected(self):
        reasons, self.record = self.result_faults(), None
        if self.text is not None:
            found = self.found_in_record()
            reasons = [*([] if self.record_tells_the_result() else reasons), *found]
        return self.conclude([*missing(*self.trouble_of_job()), *reasons], self.record, self.all_references())

    def result_faults(self):
        """Reasons from the end of the program: the last line of its standard output, or else its errors."""
        self.text, errors = self.outputs()
        if self.text is None:
            return missing(self.without_output())
        if refused := endings.refused_for_others(errors):
            self.unmeasured = refused
        return missing(*endings.sentences(self.job.state, errors, self.text, self.stagedir, self.program))

    def found_in_record(self):
        """Reads the record. Reasons for what it lacks, or what differs from the expected configuration."""
        if self.unbegun or (self.sharing > 1 and not Path("record.json").exists()):
            self.unmeasured = "it was not measured: its job or process ended before its turn"
            return missing(self.unmeasured)
        if not Path("record.json").exists():
            return []  # the judge reports a missing record
        try:
            self.record = reading.load("record.json")
            reasons = self.node_faults() + run_faults(self.record, self.display_name) + self.faults()
        except (OSError, ValueError) as error:
            return missing(str(error))
        if not self.current_partition.extras.get("shared_cores"):
            reasons += crowded_faults(self.record)
        return reasons + exclusive_faults(self.record, self.promise)

    def record_tells_the_result(self):
        """Whether the program ended by itself and its record contains the result, which the judge then reports.

        If a signal ended the program, the launcher and the scheduler know more than the record.
        """
        if self.record is None or endings.causes(self.job.state, self.outputs()[1], self.stagedir):
            return False
        if (self.record["error"] or "").startswith(BY_SIGNAL):
            return False
        return self.text.rstrip().endswith(f"Result: {self.record['result']}")

    def all_references(self):
        """The references in the partition's file, else in all files; None if there are none."""
        folder, file = os.environ["RFM_REFERENCE_PREFIX"], self.current_partition.extras.get("reference_file", "")
        try:
            return for_program.references(os.path.join(folder, file) if file else folder)
        except BadInput:
            return None

    def node_faults(self):
        """Did it run on the node that was asked for?"""
        ran, wanted = self.record["host"]["name"], self.on
        if not wanted or short(ran) == short(wanted):
            return []
        return missing(f"it was to run on {wanted} but ran on {ran}")

    def faults(self):
        """A `Reason` for each thing that is missing or differs from the expected configuration."""
        raise NotImplementedError

    def judged_results(self):
        """[(result of the record, its `MatrixVerdict`)]."""
        if self.verdict.evaluation is None:
            return []
        return list(zip(self.record["results"], self.verdict.evaluation.matrices, strict=True))

    def table_of(self, result):
        """{name: reference} of a result's test case."""
        known = self.all_references()
        if known is None or not self.reference_name:
            return {}
        return known.of(self.record, result).table(self.reference_name, result["testcase"])

    def figures(self):
        return {
            name: figure
            for result, matrix in self.judged_results()
            for name, figure in self.figures_of(result, matrix).items()
        }

    def figures_of(self, result, matrix):
        """Those of one result."""
        table = self.table_of(result)
        return large_figures(result, table) if "cells" in result else matrix_figures(matrix, table)

    @run_before("performance")
    def publish(self):
        """Gives ReFrame the performance variables, with the references that the judge compared them with."""
        if self.is_dry_run():
            return
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(figure.value), figure.unit)
            for name, figure in self.published.items()
        }
        known = {name: figure.tolerances for name, figure in self.published.items() if figure.reference}
        self.reference = {self.current_partition.fullname: known} if known else {}
