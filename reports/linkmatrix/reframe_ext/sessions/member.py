"""A test that a session measures with all others of its suite, and that reads its part of what the job left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, run_before, variable
from reframe.core.exceptions import JobError, ReframeError

from . import parts, processes, suites
from .fixtures import KeepsFixtures
from .processes import Wish
from .session import Session, session_of

# states of jobs, in the words of any scheduler, that tell why there is no output; the others could be either
RAN, NEVER_RAN = {"COMPLETED", "FAILED", "TIMEOUT"}, {"PENDING", "CANCELLED", "DEADLINE", "PREEMPTED"}


class Member(KeepsFixtures, rfm.RunOnlyRegressionTest, special=True):
    """A test of a suite. A subclass has the fixtures `build` and `session`, and says in `wish` what it needs of a job.

    The test finds its standard output and errors in its own stage, as if it had run alone. Outside of the suite,
    repeated, retried or restored, it has a job of its own.
    """

    #: Why nothing was measured: the job did not begin, or did not get as far as this test. It is no verdict.
    unmeasured = variable(str, value="", loggable=True)

    #: Whether the job of this test began, even if the test then measured nothing.
    job_began = variable(typ.Bool, value=False, loggable=True)

    sourcesdir = None
    #: whether a session may measure it; else it has a job of its own
    in_session = True
    #: the session that this copy of a test is for, which only plans; None: the test runs
    planner: Session | None = None
    #: whether it measures in a job of its own, and whether it has read its part of the session's job
    alone, has_read = True, False
    #: why its own job did not run to its end
    trouble = ""
    #: where in the folder of a shared process something may lie for this test alone, as `processes` names it
    apart = ""

    @run_after("init")
    def register(self) -> None:
        """Tells sessions of the test."""
        if self.in_session:
            suites.register(self)

    @property
    def current_partition(self) -> Any:
        """As ReFrame's, and the session's while it plans."""
        return self.planner.current_partition if self.planner else super().current_partition

    @property
    def current_environ(self) -> Any:
        """As ReFrame's, and the session's while it plans."""
        return self.planner.current_environ if self.planner else super().current_environ

    @property
    def job(self) -> Any:
        """As ReFrame's, and the session's job once the test has read its part."""
        return self.session.job if self.has_read else super().job

    def setup(self, partition: Any, environ: Any, **options: Any) -> None:
        """Decides whether the test has a job of its own before ReFrame makes one. A local job is never submitted."""
        self.alone = not self.in_session or session_of(self, partition, environ) is None
        self.local = self.local or not self.alone
        super().setup(partition, environ, **options)

    @run_after("setup")
    def be_prepared(self) -> None:
        self.prepare()

    def prepare(self) -> None:
        """What follows from the partition and the environment; of it, the session makes its job before this runs.

        A check that adds to it calls this one first.
        """

    def wish(self) -> Wish:
        """What this test needs of a job."""
        raise NotImplementedError

    def wishes(self) -> list[Wish]:
        """All that a job of its own measures."""
        return [self.wish()]

    @run_before("run")
    def set_job(self) -> None:
        if self.alone:
            self.display_names = {self.unique_name: self.display_name}
            processes.fill(self, processes.processes_of(self.wishes()), self.display_name)

    def run(self) -> None:
        if self.alone:
            try:
                super().run()
            except ReframeError as error:
                self.unmeasured = f"not run: {error}"
                raise

    def run_complete(self) -> bool:
        if not self.alone:
            return True
        try:
            return bool(super().run_complete())
        except ReframeError as error:
            self.job_began = self.begun()
            if not self.job_began:
                self.unmeasured = f"not run: {error}"
                raise
            self.trouble = str(error)  # what it measured until then is judged
            return True

    def begun(self) -> bool:
        """Whether its job runs, or ran."""
        return self.job.state == "RUNNING" or Path(self.stagedir, self.job.stdout).exists()

    def run_wait(self) -> None:
        if self.is_dry_run():
            return
        if self.alone:
            super().run_wait()
            self.part_of(Path(self.stagedir), 0, 1, self.display_name)
            return
        if self.session.job is None:
            self.unmeasured = f"not run: {self.session.trouble}"
            raise JobError(self.unmeasured)
        self.has_read = True  # not before: ReFrame would ask the local scheduler for the session's job
        self.part_of(Path(self.session.stagedir), *self.session.where[self.unique_name], self.session.display_name)

    def part_of(self, stage: Path, number: int, sharing: int, asked_by: str) -> None:
        """Copies this test's part of what a process left into its own stage, as if it had run it alone.

        stage: of the job; sharing: how many tests the process measured; asked_by: the name that it was given
        """
        folder, part = stage / processes.folder_of(number), self.part()
        if self.apart and (folder / self.apart).exists():
            folder, sharing = folder / self.apart, 1
        self.sharing, self.asked_by = sharing, asked_by if sharing > 1 else self.display_name
        left = parts.Left(stage, folder, self.job, self.asked_by)
        self.job_began = left.begun
        self.unbegun = left.begun and not left.output.exists()
        left.copy_to(Path(self.stagedir), part if sharing > 1 else None, self.display_name)

    def part(self) -> str | None:
        """Its test case, "" where it wants the topology alone; None where it shares no process."""
        return None

    def trouble_of_job(self) -> list[str]:
        """Why the job did not run to its end, in sentences."""
        trouble = self.trouble if self.alone else self.session.trouble
        return [trouble] if trouble else []

    def outputs(self) -> tuple[str | None, str]:
        """Standard output and standard error; the first is None where the job has left none."""
        files = [Path(self.stagedir, sn.evaluate(name)) for name in (self.stdout, self.stderr)]
        return (parts.read(files[0]) if files[0].is_file() else None), parts.read(files[1])

    def without_output(self) -> str:
        """Why there may be none: ReFrame cancels a job that waits too long, and says so only in its log.

        Of one that did not begin there is no verdict; what ran and could not write is a failure.
        """
        said = self.no_output()
        if self.job.state in NEVER_RAN:
            self.unmeasured = f"not run: {said}"
        return said

    def no_output(self) -> str:
        """Why a job has left none, in a sentence."""
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
