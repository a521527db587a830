"""The base class of checks that run a program and judge its record."""

import os
import shlex
from dataclasses import replace
from pathlib import Path

import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError

from linkmatrix.errors import BadInput
from linkmatrix.judge.test_verdict import BY_SIGNAL
from linkmatrix.judge.verdicts import Verdict, missing
from linkmatrix.record import reading, units
from linkmatrix.record.names import short
from linkmatrix.references import tables
from linkmatrix.reframe_ext.sessions import endings, parts
from linkmatrix.reframe_ext.sessions.member import NEVER_RAN
from linkmatrix.reframe_ext.sessions.processes import process_folder
from linkmatrix.site import ignored_processes
from linkmatrix.suite import PROGRAMS

from .expect import exclusive_faults, no_pairs_reason, run_faults
from .ranks import crowded_faults
from .session_test import session_test
from .variables import matrix_figures


class p2p_matrix_run(session_test, special=True):
    """A test that runs `program` and judges the record of the program.

    A check declares the options of the program, and the required content of the record. ReFrame copies `record.json` to
    the output folder.
    """

    #: Further options of the program, e.g. ``-S intranode_p2p.extra_opts=--samples,15``. The program refuses options
    #: without effect. A test with references refuses options that change the measurement, such as ``--size``.
    extra_opts = variable(typ.List[str], value=[])

    #: Maximum seconds to wait until other processes leave the measured devices, e.g. ``-S wait_idle=60``. After this
    #: time, the measurement starts in any case.
    wait_idle = variable(float, value=0.0)

    #: Whether the program refuses to measure while another process uses the devices: ``-S refuse_busy=y``. A refused
    #: test has no verdict.
    refuse_busy = variable(typ.Bool, value=False)

    #: Maximum seconds from the end of a job until its files are visible, e.g. ``-S record_wait=90``. A network file
    #: system may show new files late.
    record_wait = variable(float, value=30.0)

    #: The table of references for this test. The table is in `config/references/p2p.yaml`, or in the file that the
    #: partition names in ``extras['reference_file']``.
    #: :default: the partition's ``extras['reference']``, else empty: NOT JUDGED, because there are no references
    reference_name = variable(str, value="", loggable=True)

    #: The measured variant, such as ``@all@crossed``. The name of the table of references ends with the variant.
    #: :default: set by the checks
    reference_variant = variable(str, value="", loggable=True)

    #: The options of the build: CMake's options, or Spack's concrete spec.
    #: :default: set by the build
    built = variable(str, value="", loggable=True)

    #: Error counters that may rise without FAIL, e.g. ``-S tolerated_counters=pcie_replay``.
    tolerated_counters = variable(typ.List[str], value=[])

    #: the measuring program, one of `suite.PROGRAMS`
    program = "p2p_matrix"
    executable = program
    #: the minimum number of GPUs per node; 0 for a test without GPUs
    least_gpus = 0
    #: the name of the test's variable for the size of the measurement; "" for a test without such a variable
    size_variable = ""
    #: the memory of the ranks' messages: "host" or "device"
    memory = "host"

    def prepare(self):
        super().prepare()
        build = (self.planning_session or self).build
        lacks = self.program in PROGRAMS and self.needed_features() & {*build.lacking}
        self.skip_partition(lacks, build.left_out)
        if self.least_gpus:
            self.request_gpus(self.least_gpus)
        extras = self.current_partition.extras
        self.reference_name = self.reference_name or extras.get("reference", "")
        refused = tables.refused_option(self.extra_opts, type(self).__name__, self.size_variable)
        if refused and self.reference_name:
            raise ReframeError(refused)
        try:
            self.ignored = ignored_processes.from_extras(extras)
        except BadInput as error:
            raise ReframeError(str(error)) from None

    def request_gpus(self, least):
        """Requests all GPUs of each node. Skips the test if a node has fewer than `least` GPUs."""
        found = self.num_gpus_per_node = self.expected.devices
        needed = f"has {units.counted(found, 'GPU')}, but the test needs {least}"
        self.skip_partition(found is not None and found < least, needed, too_small=True)

    def choose_backend(self):
        """Sets `on_gpus` if the partition has GPUs. Skips the test if the environment has no CUDA for the GPUs."""
        self.on_gpus = "gpu" in self.current_partition.features
        lacks = self.on_gpus and "cuda" not in self.current_environ.features
        self.skip_partition(lacks, f"has GPUs, but the environment {self.current_environ.name} has no CUDA")

    def require_pairs(self):
        """Requests all GPUs of a node. Skips the test if a node has no pair of GPUs that the test case can measure."""
        self.request_gpus(1)
        why = no_pairs_reason(self.testcase, self.expected)
        self.skip_partition(why, why, too_small=True)

    def add_variant(self, word):
        """Appends a word to `reference_variant`, and to the name of the table of references."""
        self.reference_variant += f"@{word}"
        if self.reference_name:
            self.reference_name += f"@{word}"

    def job_request(self):
        """The request of this test: its program, options and resources."""
        testcase, memory = self.shared_testcase(), ("--memory", "device") if self.memory == "device" else ()
        return replace(
            super().job_request(),
            testcase=testcase,
            opts=(
                *self.program_opts(),
                *memory,
                *self.ignore_opts(),
                *self.idle_opts(),
                *self.short_opts(),
                *self.extra_opts,
            ),
            size=self.requested_size(),
            program=self.program,
            # an MPI without one-sided puts ends the process, so these test cases have their own process
            group="puts" if "_put_" in testcase else "",
            environment=self.environment_of_ranks(),
            references=self.program_references(testcase),
        )

    def ignore_opts(self):
        """The program's option --ignore-processes, if the partition ignores processes; () for a foreign program."""
        if not self.ignored or self.program not in PROGRAMS:
            return ()
        return ("--ignore-processes", shlex.quote(",".join(self.ignored)))

    def idle_opts(self):
        """The program's options --wait-idle and --refuse-busy; () for a foreign program."""
        if not self.shared_testcase() or self.program not in PROGRAMS:
            return ()
        wait = ("--wait-idle", f"{self.wait_idle:g}") if self.wait_idle else ()
        return (*wait, *(["--refuse-busy"] if self.refuse_busy else []))

    def short_opts(self):
        """The program's option --short-samples, if the test supports short samples; () otherwise."""
        number = self.session_class.short_samples
        measures = self.program == "p2p_matrix" and self.shared_testcase()
        supports = measures and {"--sweep", "matchings"}.isdisjoint(self.program_opts())
        return ("--short-samples", str(number)) if number and supports else ()

    def program_references(self, testcase):
        """The references for the program, as lines of text; () if an option changes what the program measures."""
        options = {word.partition("=")[0] for word in (*self.program_opts(), *self.extra_opts)}
        return () if options & tables.OTHERS else self.testcase_references(testcase)

    def testcase_references(self, testcase):
        """The references of a test case, as lines in the format of `tables.program_references`."""
        return ()

    def environment_of_ranks(self):
        """The environment variables that only this test's ranks get, as NAME=VALUE."""
        return ()

    def shared_testcase(self):
        return getattr(self, "testcase", "")

    def copy_result(self, stage, number, sharing, asked_by):
        if self.job.state not in (*endings.ENDED, *NEVER_RAN):
            folder = stage / process_folder(number)
            folder = folder / self.subfolder if (folder / self.subfolder).exists() else folder
            parts.wait_for_record(stage, folder, self.job.jobid, self.record_wait, self.job.stdout)
        super().copy_result(stage, number, sharing, asked_by)

    def requested_size(self):
        """The value of the program's option --size; None if the test requests no size."""
        return None

    def program_opts(self):
        """The options of the program, except test case and size."""
        raise NotImplementedError

    @run_before("run")
    def record_build(self):
        self.built = self.build.built

    @run_before("sanity")
    def skip_unsupported(self):
        """Skips the test if the MPI library does not support the test case.

        The skipped test is INCOMPLETE, unless the manifest leaves out the test.
        """
        reason = "" if self.is_dry_run() else endings.unsupported_reason(self.outputs()[1])
        self.skip_if(bool(reason), reason)

    @sanity_function
    def check_result(self):
        reasons, self.record = self.result_faults(), None
        if self.text is not None:
            found = self.record_faults()
            reasons = [*([] if self.record_has_result() else reasons), *found]
        return self.conclude([*missing(*self.job_errors()), *reasons], self.record, self.all_references())

    def result_faults(self):
        """Reasons against PASS in the output of the program: output is missing, or the program reports an error."""
        self.text, errors = self.outputs()
        if self.text is None:
            return missing(self.report_no_output())
        if refused := endings.busy_reason(errors):
            self.unmeasured = refused
        return missing(*endings.sentences(self.job.state, errors, self.text, self.stagedir, self.program))

    def record_faults(self):
        """Reads the record. Returns reasons against PASS: missing results, or an unexpected configuration."""
        if endings.usage_error(self.outputs()[1], self.text):
            return []
        if self.process_not_started or (self.sharing > 1 and not Path("record.json").exists()):
            self.unmeasured = "not measured: the job or process ended before this test"
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
        return reasons + exclusive_faults(self.record, self.expected)

    def record_has_result(self):
        """Whether the record explains how the program ended. Otherwise, only the job's output contains the cause."""
        if self.record is None or endings.causes(self.job.state, self.outputs()[1], self.stagedir):
            return False
        if (self.record["error"] or "").startswith(BY_SIGNAL):
            return False
        return self.text.rstrip().endswith(f"Result: {self.record['result']}")

    def all_references(self):
        """The references in the partition's `reference_file`. The default is all files of references.

        Returns None if a file is unreadable.
        """
        folder, file = os.environ["RFM_REFERENCE_PREFIX"], self.current_partition.extras.get("reference_file", "")
        try:
            return tables.loaded(os.path.join(folder, file) if file else folder)
        except BadInput:
            return None

    def node_faults(self):
        """The reason against PASS, if the test ran on another node than the requested node."""
        ran, wanted = self.record["host"]["name"], self.on
        if not wanted or short(ran) == short(wanted):
            return []
        return missing(f"the test should run on {wanted} but ran on {ran}")

    def faults(self):
        """Reasons against PASS: missing results, or an unexpected configuration."""
        raise NotImplementedError

    def judged_results(self):
        """[(result in the record, its `MatrixVerdict`)]; [] if no result was judged."""
        if self.verdict.evaluation is None:
            return []
        return list(zip(self.record["results"], self.verdict.evaluation.matrices, strict=True))

    def figures(self):
        return {
            name: figure
            for result, matrix in self.judged_results()
            for name, figure in self.result_figures(result, matrix).items()
        }

    def result_figures(self, result, matrix):
        """The performance variables of one result: {name: `variables.Figure`}."""
        return matrix_figures(matrix)

    @run_before("performance")
    def publish(self):
        """Sets ReFrame's performance variables and their references.

        If `require_reference` is set, ReFrame fails a test with a variable that has no reference. Only a NOT JUDGED
        test should fail for this reason. In other tests, a variable without a reference therefore gets a reference
        without limits.
        """
        if self.is_dry_run():
            return
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(figure.value), figure.unit)
            for name, figure in self.published.items()
        }
        lacks = self.verdict.verdict is Verdict.NOT_JUDGED
        known = {name: figure.tolerances for name, figure in self.published.items() if figure.reference or not lacks}
        self.reference = {self.current_partition.fullname: known} if known else {}
