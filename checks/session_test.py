"""The base class of tests that a session can measure."""

import sys
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, run_after, run_before, variable
from reframe.core.exceptions import JobError, ReframeError, SanityError

from linkmatrix import reframe_ext
from linkmatrix.judge.test_verdict import CheckFacts
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References
from linkmatrix.runs import modes

from . import parts, processes, session, suites, verdicts
from .build import build_linkmatrix
from .expect import ExpectedConfiguration
from .kept_fixtures import KeepsFixtures

# states of jobs of any scheduler; a job in another state may or may not have run
RAN, NEVER_RAN = {"COMPLETED", "FAILED", "TIMEOUT"}, {"PENDING", "CANCELLED", "DEADLINE", "PREEMPTED"}


def scale_tag(extent, nodes):
    """The tag for the number of nodes of a test, such as `2_nodes`; `all_nodes` if the partition sets the number.

    extent: ``two`` or ``all``, "" for a test without this parameter. nodes: the requested number, 0 for the default.
    """
    number = {"two": 2, "all": nodes}.get(extent, nodes or 2)
    return f"{number}_node{'s' * (number != 1)}" if number else "all_nodes"


class session_test(KeepsFixtures, rfm.RunOnlyRegressionTest, special=True):
    """A test that a session measures together with the other tests of its suite.

    The method `job_request` returns the resources that the test needs. The test then copies its part of the session's
    files into its own stage. A test that is outside of the suite, repeated, retried or restored has a job of its own.
    """

    #: The node to run on, e.g. ``-S on=node017``. The job requests the node by the partition's resource ``node``.
    #:
    #: :type: :class:`str`
    #: :default: empty: any node
    #:
    #: .. versionadded:: 0.2.0
    on = variable(str, value="", loggable=True)

    #: Why nothing was measured: the job did not begin, or ended before this test. The test then has no verdict.
    #:
    #: :type: :class:`str`
    #: :default: set by the run; empty: the test was measured
    #:
    #: .. versionadded:: 0.2.0
    unmeasured = variable(str, value="", loggable=True)

    #: Why the test was skipped on this partition. ReFrame's report does not contain this reason.
    #:
    #: :type: :class:`str`
    #: :default: set by the run; empty: the test was not skipped
    #:
    #: .. versionadded:: 0.2.0
    skipped = variable(str, value="", loggable=True)

    #: Whether the job of this test began, even if the test then measured nothing.
    #:
    #: :type: :class:`bool`
    #: :default: set by the run
    #:
    #: .. versionadded:: 0.2.0
    job_began = variable(typ.Bool, value=False, loggable=True)

    #: The file with the verdict, in the test's output folder.
    #:
    #: :type: :class:`str`
    #: :default: set by the sanity function; empty: the test ended before
    #:
    #: .. versionadded:: 0.2.0
    verdict_file = variable(str, value="", loggable=True)

    #: The SHA-256 of the file with the verdict. Readers refuse any other file.
    #:
    #: :type: :class:`str`
    #: :default: set by the sanity function; empty: the test ended before
    #:
    #: .. versionadded:: 0.2.0
    verdict_sha256 = variable(str, value="", loggable=True)

    sourcesdir = None
    max_pending_time = "8h"
    exclusive_access = True
    #: whether a session may measure the test; else the test has a job of its own
    in_session = True
    #: the session that plans with this copy of the test; None for the test itself
    planning_session = None
    #: whether the test measures in a job of its own, and whether `job` is the job of the session
    has_own_job, uses_session_job = True, False
    #: why the test's own job did not run to its end
    trouble = ""
    #: whether the test has a record
    measures = True
    #: the subfolder of a shared process's folder with files for this test only, as named in `processes`
    subfolder = ""
    build = fixture(build_linkmatrix, scope="environment")
    session = fixture(session.node_session, scope="environment")

    @run_after("init", always_last=True)
    def register(self):
        """Adds the tag for the number of nodes, and registers the test for sessions.

        This runs last, because tests add tags after `init` too.
        """
        self.tags = {*self.tags, scale_tag(getattr(self, "extent", ""), getattr(self, "nodes", 1))}
        if self.in_session:
            suites.register(self)

    @property
    def current_partition(self):
        """The partition of the test, or of the session that plans with this copy."""
        return self.planning_session.current_partition if self.planning_session else super().current_partition

    @property
    def current_environ(self):
        """The environment of the test, or of the session that plans with this copy."""
        return self.planning_session.current_environ if self.planning_session else super().current_environ

    @property
    def job(self):
        """The job of the test, or of its session after the session's job has ended."""
        return self.session.job if self.uses_session_job else super().job

    def setup(self, partition, environ, **options):
        """Decides whether the test has a job of its own, before ReFrame creates a job.

        A test without a job of its own gets a local job, which is never submitted.
        """
        self.has_own_job = not self.in_session or session.find_session(self, partition, environ) is None
        self.local = not self.has_own_job
        super().setup(partition, environ, **options)

    @run_after("setup")
    def prepare_after_setup(self):
        partition = self.current_partition
        reframe_ext.warn_of_plain_scheduler(partition.fullname, partition.scheduler.registered_name)
        self.prepare()

    def prepare(self):
        """Sets what depends on the partition and the environment. A session calls this method to plan its job.

        A check that overrides this method calls the base method first.
        """
        if hasattr(self, ".nid"):
            raise ReframeError(
                "--distribute is refused, because the tests of all nodes would share one job on one node. "
                "Run once per node with -S on=NODE, or sweep the nodes: LINKMATRIX_NODES=all, --mode=sweep"
            )
        if refused := modes.refused(sys.argv[1:]) or ("" if self.strict_check else modes.NOT_STRICT):
            raise ReframeError(refused)
        self.expected = ExpectedConfiguration.of(self.current_partition)
        queued = self.current_partition.scheduler.registered_name != "local"
        if self.on and queued and not self.current_partition.get_resource("node", host=self.on):
            raise ReframeError(
                f"on={self.on}: {self.current_partition.fullname} has no resource 'node' that requests a node"
            )

    def skip(self, msg=None):
        """Skips the test as ReFrame does, and stores the reason in ReFrame's report."""
        self.skipped = msg or ""
        super().skip(msg)

    def requested_gpus(self):
        """The GPUs per node. A check of host memory requests none, unless the partition sets `gpus_in_every_job`."""
        every = self.current_partition.extras.get("gpus_in_every_job")
        return self.num_gpus_per_node or (self.expected.devices if every else 0) or 0

    def job_request(self):
        """The program, options and resources of this test. A check replaces the fields that differ."""
        return processes.JobRequest(
            check=self.unique_name,
            testcase="",
            opts=(),
            tasks=self.num_tasks,
            ranks_per_node=self.num_tasks_per_node,
            gpus=self.requested_gpus(),
            without_mpi=self.num_tasks == 1,  # mpirun would bind all threads of the process to one core
            node=self.on,
        )

    def job_requests(self):
        """The requests that the test's own job fulfils."""
        return [self.job_request()]

    @run_before("run")
    def set_job(self):
        if self.has_own_job:
            self.display_names = {self.unique_name: self.display_name}
            processes.fill_job(self, processes.plan_processes(self.job_requests()), self.display_name)

    def run(self):
        if self.has_own_job:
            try:
                super().run()
            except ReframeError as error:
                self.unmeasured = f"not run: {error}"
                raise

    def run_complete(self):
        if not self.has_own_job:
            return True
        try:
            return super().run_complete()
        except ReframeError as error:
            self.job_began = self.has_job_begun()
            if not self.job_began:
                self.unmeasured = f"not run: {error}"
                raise
            self.trouble = str(error)  # the results until then are judged
            return True

    def has_job_begun(self):
        """Whether the test's own job runs or ran."""
        return self.job.state == "RUNNING" or Path(self.stagedir, self.job.stdout).exists()

    def run_wait(self):
        if self.is_dry_run():
            return
        if self.has_own_job:
            super().run_wait()
            self.copy_result(Path(self.stagedir), 0, 1, self.display_name)
            return
        if self.session.job is None:
            self.unmeasured = f"not run: {self.session.trouble}"
            raise JobError(self.unmeasured)
        self.uses_session_job = True  # not before: ReFrame would poll the local scheduler for the session's job
        self.copy_result(
            Path(self.session.stagedir), *self.session.processes_by_test[self.unique_name], self.session.display_name
        )

    def copy_result(self, stage, number, sharing, asked_by):
        """Copies this test's part of the files of a process into its own stage.

        stage: the stage of the job. number: of the process. sharing: the number of tests that the process measured.
        asked_by: the name that the process was given by `--asked-by`.
        """
        folder, part = stage / processes.process_folder(number), self.shared_testcase()
        if self.subfolder and (folder / self.subfolder).exists():
            folder, sharing = folder / self.subfolder, 1
        self.sharing, self.asked_by = sharing, asked_by if sharing > 1 else self.display_name
        output = parts.ProcessOutput(stage, folder, self.job, self.asked_by)
        self.job_began = output.job_began
        self.process_not_started = output.job_began and not output.output.exists()
        output.copy_to(Path(self.stagedir), part if sharing > 1 else None, self.display_name)

    def shared_testcase(self):
        """The test case that identifies the test in a shared process.

        "" for a test that reads the topology only; None for a test that shares no process.
        """
        return None

    def job_errors(self):
        """Sentences about why the job did not run to its end."""
        trouble = self.trouble if self.has_own_job else self.session.trouble
        return [trouble] if trouble else []

    def conclude(self, reasons, record=None, references=None):
        """Judges the test and stores its verdict. Raises SanityError for DISTURBED, INCOMPLETE and most of FAIL.

        A FAIL that follows from references only passes here: ReFrame fails the test in its performance stage. reasons:
        findings of this check. record: the validated record, None for none. references: None for none.
        """
        check = CheckFacts(
            getattr(self, "testcase", ""), tuple(reasons), tuple(getattr(self, "tolerated_counters", ())), self.measures
        )
        try:
            self.verdict, stored = verdicts.judged(self, check, record, references or References({}))
            self.verdict_file, self.verdict_sha256 = stored
        except OSError as error:
            raise SanityError(f"INCOMPLETE: the verdict cannot be written: {error}") from None
        self.published = self.figures() if record is not None else {}
        if self.verdict.verdict < Verdict.DISTURBED:
            return True
        if self.verdict.verdict is Verdict.FAIL and verdicts.left_to_references(self.verdict, record, self.published):
            return True
        raise SanityError(verdicts.message(self.verdict, record))

    def figures(self):
        """{name of a performance variable: `variables.Figure`}."""
        return {}

    def outputs(self):
        """(standard output, standard error). Standard output is None if the job left none."""
        files = [Path(self.stagedir, sn.evaluate(name)) for name in (self.stdout, self.stderr)]
        return (parts.read_text(files[0]) if files[0].is_file() else None), parts.read_text(files[1])

    def report_no_output(self):
        """Returns why the job left no output. Marks the test as unmeasured if the job did not begin.

        ReFrame cancels a job that waits too long, and writes the reason to its log only.
        """
        reason = self.no_output_reason()
        if self.job.state in NEVER_RAN:
            self.unmeasured = f"not run: {reason}"
        return reason

    def no_output_reason(self):
        """A sentence about why the job left no output."""
        state, waited = self.job.state, f", max_pending_time is {self.max_pending_time:g} s"
        never = (
            f"it did not begin in time{waited if self.max_pending_time else ''}, or was cancelled before it could write"
        )
        unshared = (
            f"it ran where {self.stagedir} cannot be written: results must go to a folder that login and compute nodes"
            " share ($LINKMATRIX_PREFIX, or 'prefix' of the system)"
        )
        why = unshared if state in RAN else never if state in NEVER_RAN else f"{never}; or {unshared}"
        return f"job {self.job.jobid} left no output, the scheduler reports {state or 'no state'}: {why}"
