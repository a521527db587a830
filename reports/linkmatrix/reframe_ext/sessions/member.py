"""The base class of tests that a session can measure."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import required, run_after, run_before, variable
from reframe.core.exceptions import JobError, ReframeError

from ..aborts import ABORTS
from ..schedulers.pending import rejected
from . import durations, parts, processes, suites
from .fixtures import KeepsFixtures
from .processes import JobRequest
from .session import Session, find_session

# states of jobs of all schedulers; a job in any other state may or may not have run
RAN, NEVER_RAN = {"COMPLETED", "FAILED", "TIMEOUT"}, {"PENDING", "CANCELLED", "DEADLINE", "PREEMPTED"}


class Member(KeepsFixtures, rfm.RunOnlyRegressionTest, special=True):
    """A test that a session can measure together with the other tests of its suite.

    A subclass has the fixtures `build` and `session`. Its method `job_request` returns the program and the resources of
    the test. After the session, the test copies its results from the stage of the session into its own stage.

    These tests measure in their own jobs: tests outside of the suite, and repeated, retried or restored tests.
    """

    #: The reason if nothing was measured, because the job did not begin, or ended before this test. Such a test has no
    #: verdict.
    unmeasured = variable(str, value="", loggable=True)

    #: Whether the job of this test began, even if nothing was measured.
    job_began = variable(typ.Bool, value=False, loggable=True)

    #: The class sets no value, because this variable has a deprecated alias in ReFrame. For a value, ReFrame would walk
    #: the stack twice per test, which takes a third of the time to load the tests.
    env_vars = required

    sourcesdir = None
    #: whether a session may measure the test
    in_session = True
    #: the session that plans its job with this copy of the test; None for the test itself
    planning_session: Session | None = None
    #: whether the test measures in its own job
    has_own_job = True
    #: whether the property `job` is the job of the session
    uses_session_job = False
    #: why the test's own job did not run to its end
    trouble = ""
    #: a subfolder of the process's folder with files for this test only: TOPOLOGY_FOLDER or RANKS_FOLDER of `processes`
    subfolder = ""

    @property
    def session_class(self) -> Any:
        """The class of the test's session. Its variables have the values from the command line."""
        return type(self).fixture_space["session"].cls

    @run_after("init")
    def set_env_vars(self) -> None:
        """Sets `env_vars` to {}, unless a check or ``-S env_vars=`` has set a value."""
        if not hasattr(self, "env_vars"):
            self.env_vars = {}

    @run_after("init")
    def register(self) -> None:
        """Registers the test in `suites`, so that a session can select the test."""
        if self.in_session:
            suites.register(self)

    @property
    def current_partition(self) -> Any:
        """The partition of the test. A copy with which a session plans its job has the session's partition."""
        return self.planning_session.current_partition if self.planning_session else super().current_partition

    @property
    def current_environ(self) -> Any:
        """The environment of the test. A copy with which a session plans its job has the session's environment."""
        return self.planning_session.current_environ if self.planning_session else super().current_environ

    @property
    def job(self) -> Any:
        """The job that measured the test: the session's job, or the test's own job."""
        return self.session.job if self.uses_session_job else super().job

    def setup(self, partition: Any, environ: Any, **options: Any) -> None:
        """Decides whether a session measures the test, or the test measures in its own job.

        If a session measures the test, ReFrame creates a local job, which is never submitted.
        """
        self.has_own_job = not self.in_session or find_session(self, partition, environ) is None
        self.local = self.local or not self.has_own_job
        super().setup(partition, environ, **options)

    @run_after("setup")
    def prepare_after_setup(self) -> None:
        self.prepare()

    def prepare(self) -> None:
        """Sets the attributes that depend on partition and environment. A session calls this method to plan its job.

        A check that overrides this method must first call the method of the base class.
        """

    def job_request(self) -> JobRequest:
        """The request of this test: its program, options and resources."""
        raise NotImplementedError

    def job_requests(self) -> list[JobRequest]:
        """The requests that the test's own job fulfils."""
        return [self.job_request()]

    @run_before("run")
    def set_job(self) -> None:
        if self.has_own_job:
            self.display_names = {self.unique_name: self.display_name}
            processes.fill_job(self, processes.plan_processes(self.job_requests()), self.display_name)

    def run(self) -> None:
        if self.has_own_job:
            try:
                super().run()
            except ABORTS:
                raise
            except ReframeError as error:
                reason = rejected(str(error))
                self.unmeasured = f"not run: {reason}"
                if reason != str(error):
                    raise JobError(reason) from error
                raise

    def run_complete(self) -> bool:
        if not self.has_own_job:
            return True
        try:
            return bool(super().run_complete())
        except ABORTS:
            raise
        except ReframeError as error:
            self.job_began = self.has_job_begun()
            if not self.job_began:
                self.unmeasured = f"not run: {error}"
                raise
            self.trouble = str(error)  # the existing results are judged
            return True

    def has_job_begun(self) -> bool:
        """Whether the job of this test has begun."""
        return self.job.state == "RUNNING" or Path(self.stagedir, self.job.stdout).exists()

    def run_wait(self) -> None:
        if self.is_dry_run():
            return
        if self.has_own_job:
            super().run_wait()
            durations.store(self.duration_file, Path(self.stagedir))
            self.copy_result(Path(self.stagedir), 0, 1, self.display_name)
            return
        if self.session.job is None:
            self.unmeasured = f"not run: {self.session.trouble}"
            raise JobError(self.unmeasured)
        self.uses_session_job = True  # not earlier, because ReFrame would poll the local scheduler for this job
        self.copy_result(
            Path(self.session.stagedir), *self.session.processes_by_test[self.unique_name], self.session.display_name
        )

    def copy_result(self, stage: Path, number: int, sharing: int, asked_by: str) -> None:
        """Copies the results of this test from the files of a process into the stage of the test.

        stage: the stage of the job that ran the process.
        number: the number of the process in the job, from 0.
        sharing: the number of tests that the process measured.
        asked_by: the value of the process's option `--asked-by`.
        """
        folder, part = stage / processes.process_folder(number), self.shared_testcase()
        if self.subfolder and (folder / self.subfolder).exists():
            folder, sharing = folder / self.subfolder, 1
        self.sharing, self.asked_by = sharing, asked_by if sharing > 1 else self.display_name
        output = parts.ProcessOutput(stage, folder, self.job, self.asked_by)
        self.job_began = output.job_began
        self.process_not_started = output.job_began and not output.output.exists()
        output.copy_to(Path(self.stagedir), part if sharing > 1 else None, self.display_name)

    def shared_testcase(self) -> str | None:
        """The name of this test's test case, if a process can measure this test case together with other test cases.

        Returns "" if the test only reads the topology. Returns None if a process that measures this test can measure no
        other test.
        """
        return None

    def job_errors(self) -> list[str]:
        """Sentences that explain why the job did not run to its end; [] if the job completed."""
        trouble = self.trouble if self.has_own_job else self.session.trouble
        return [trouble] if trouble else []

    def outputs(self) -> tuple[str | None, str]:
        """Returns (standard output, standard error) of the test. Standard output is None if its file is missing."""
        files = [Path(self.stagedir, sn.evaluate(name)) for name in (self.stdout, self.stderr)]
        return (parts.read_text(files[0]) if files[0].is_file() else None), parts.read_text(files[1])

    def report_no_output(self) -> str:
        """Stores in `unmeasured` why the job wrote no output, and returns the reason."""
        reason = self.no_output_reason()
        self.unmeasured = f"not run: {reason}"
        return reason

    def no_output_reason(self) -> str:
        """A sentence that explains why the job wrote no output."""
        state, limit = self.job.state, self.max_pending_time
        now = time.time()
        waited = (self.job.completion_time or now) - (self.job.submit_time or now)
        never = f"the job ended {waited:.0f} s after its submission, before it could write"
        if limit and waited >= limit - 1:  # the scheduler rounds to seconds
            never = f"the job did not begin in time, max_pending_time is {limit:g} s"
        folder = Path(self.stagedir).parent  # the same for all tests of the job
        unshared = (
            f"the node of the job cannot write {folder}: use a folder shared by login and compute nodes"
            " ($LINKMATRIX_PREFIX, or 'prefix' of the system)"
        )
        why = unshared if state in RAN else never if state in NEVER_RAN else f"{never}; or {unshared}"
        return f"job {self.job.jobid} left no output, the scheduler reports {state or 'no state'}: {why}"
