"""What every test has in common that a session can measure: it reads its part of one job for a suite."""

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
from .expect import Promise
from .kept_fixtures import KeepsFixtures

# states of jobs, in the words of any scheduler, that tell why there is no output; the others could be either
RAN, NEVER_RAN = {"COMPLETED", "FAILED", "TIMEOUT"}, {"PENDING", "CANCELLED", "DEADLINE", "PREEMPTED"}


def scale_tag(extent, nodes):
    """The tag for the nodes of a test, as other suites have it; `all_nodes` where the partition says how many.

    extent: ``two`` or ``all``, "" for a test that has none; nodes: what was asked for, 0 for the test's usual number.
    """
    number = {"two": 2, "all": nodes}.get(extent, nodes or 2)
    return f"{number}_node{'s' * (number != 1)}" if number else "all_nodes"


class session_test(KeepsFixtures, rfm.RunOnlyRegressionTest, special=True):
    """A test that a session measures with all others of its suite. Its method `wish` returns what it needs of the job.

    It then finds its standard output and errors in its own stage, as if it had run alone. Outside of the suite,
    repeated, retried or restored, it has a job of its own.
    """

    #: The node to run on, e.g. ``-S on=node017``; the partition's resource ``node`` says how a job asks for one.
    #: :default: empty: any node
    on = variable(str, value="", loggable=True)

    #: Why nothing was measured, which is no verdict on what it would have been: the job did not begin, or did not get
    #: as far as this test.
    #: :default: set by the run; empty: it was measured
    unmeasured = variable(str, value="", loggable=True)

    #: Why there was nothing to run on this partition, for ReFrame's report does not say it.
    #: :default: set by the run; empty: it was not skipped
    skipped = variable(str, value="", loggable=True)

    #: Whether the job of this test began, even if the test then measured nothing.
    #: :default: set by the run
    job_began = variable(typ.Bool, value=False, loggable=True)

    #: The file with the verdict, in the test's output folder.
    #: :default: set by the sanity function; empty: the test ended before
    verdict_file = variable(str, value="", loggable=True)

    #: The SHA-256 of the file with the verdict. Readers refuse any other file.
    #: :default: set by the sanity function; empty: the test ended before
    verdict_sha256 = variable(str, value="", loggable=True)

    sourcesdir = None
    max_pending_time = "8h"
    exclusive_access = True
    #: whether a session may measure it; else it has a job of its own
    in_session = True
    #: the session that this copy of a test is for, which only plans; None: the test runs
    planner = None
    #: whether it measures in a job of its own, and whether it has read its part of the session's job
    alone, has_read = True, False
    #: why its own job did not run to its end
    trouble = ""
    #: whether it leaves a record
    measures = True
    #: where in the folder of a shared process something may lie for this test alone, as `processes` names it
    apart = ""
    build = fixture(build_linkmatrix, scope="environment")
    session = fixture(session.node_session, scope="environment")

    @run_after("init", always_last=True)
    def register(self):
        """Adds the tag of its nodes, `-t 2_nodes`, and tells sessions of the test: last, because tests choose their
        tags after `init` too."""
        self.tags = {*self.tags, scale_tag(getattr(self, "extent", ""), getattr(self, "nodes", 1))}
        if self.in_session:
            suites.register(self)

    @property
    def current_partition(self):
        """As ReFrame's, and the session's while it plans."""
        return self.planner.current_partition if self.planner else super().current_partition

    @property
    def current_environ(self):
        """As ReFrame's, and the session's while it plans."""
        return self.planner.current_environ if self.planner else super().current_environ

    @property
    def job(self):
        """As ReFrame's, and the session's job once the test has read its part."""
        return self.session.job if self.has_read else super().job

    def setup(self, partition, environ, **options):
        """Decides whether the test has a job of its own before ReFrame makes one. A local job is never submitted."""
        self.alone = not self.in_session or session.session_of(self, partition, environ) is None
        self.local = not self.alone
        super().setup(partition, environ, **options)

    @run_after("setup")
    def be_prepared(self):
        partition = self.current_partition
        reframe_ext.warn_of_plain_scheduler(partition.fullname, partition.scheduler.registered_name)
        self.prepare()

    def prepare(self):
        """What follows from the partition and the environment; of it, the session makes its job before this runs.

        A check that adds to it calls this one first.
        """
        if hasattr(self, ".nid"):
            raise ReframeError(
                "--distribute is not for these tests: they share a job, and each node's would read that of one node; "
                "run once for each node, with -S on=NODE, or sweep them: LINKMATRIX_NODES=all, --mode=sweep"
            )
        if refused := modes.refused(sys.argv[1:]) or ("" if self.strict_check else modes.NOT_STRICT):
            raise ReframeError(refused)
        self.promise = Promise.of(self.current_partition)
        queued = self.current_partition.scheduler.registered_name != "local"
        if self.on and queued and not self.current_partition.get_resource("node", host=self.on):
            raise ReframeError(
                f"on={self.on}: {self.current_partition.fullname} has no resource 'node' to ask for one by"
            )

    def skip(self, msg=None):
        """As ReFrame's, with the reason where readers of its report find it."""
        self.skipped = msg or ""
        super().skip(msg)

    def gpus_of_job(self):
        """A check of host memory asks for no GPUs, unless the partition takes no job without, and says so."""
        every = self.current_partition.extras.get("gpus_in_every_job")
        return self.num_gpus_per_node or (self.promise.devices if every else 0) or 0

    def wish(self):
        """What this test needs of a job. A check replaces what differs."""
        return processes.Wish(
            check=self.unique_name,
            testcase="",
            opts=(),
            tasks=self.num_tasks,
            on_each=self.num_tasks_per_node,
            gpus=self.gpus_of_job(),
            without_mpi=self.num_tasks == 1,  # mpirun would bind it, and all of its threads, to one core
            node=self.on,
        )

    def wishes(self):
        """All that a job of its own measures."""
        return [self.wish()]

    @run_before("run")
    def set_job(self):
        if self.alone:
            self.names = {self.unique_name: self.display_name}
            processes.fill(self, processes.processes_of(self.wishes()), self.display_name)

    def run(self):
        if self.alone:
            try:
                super().run()
            except ReframeError as error:
                self.unmeasured = f"not run: {error}"
                raise

    def run_complete(self):
        if not self.alone:
            return True
        try:
            return super().run_complete()
        except ReframeError as error:
            self.job_began = self.begun()
            if not self.job_began:
                self.unmeasured = f"not run: {error}"
                raise
            self.trouble = str(error)  # what it measured until then is judged
            return True

    def begun(self):
        """Whether its job runs, or ran."""
        return self.job.state == "RUNNING" or Path(self.stagedir, self.job.stdout).exists()

    def run_wait(self):
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

    def part_of(self, stage, number, sharing, asked_by):
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

    def part(self):
        """Its test case, "" where it wants the topology alone; None where it shares no process."""
        return None

    def trouble_of_job(self):
        """Why the job did not run to its end, in sentences."""
        trouble = self.trouble if self.alone else self.session.trouble
        return [trouble] if trouble else []

    def conclude(self, reasons, record=None, references=None):
        """Judges the test and stores its verdict. Raises SanityError for DISTURBED, INCOMPLETE and most of FAIL.

        A FAIL by references alone passes here, and ReFrame fails the test in its performance stage. reasons: findings
        of this check. record: checked. references: None if there are none.
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
        """Standard output and standard error; the first is None where the job has left none."""
        files = [Path(self.stagedir, sn.evaluate(name)) for name in (self.stdout, self.stderr)]
        return (parts.read(files[0]) if files[0].is_file() else None), parts.read(files[1])

    def without_output(self):
        """Why there may be none: ReFrame cancels a job that waits too long, and says so only in its log.

        Of one that did not begin there is no verdict; what ran and could not write is a failure.
        """
        said = self.no_output()
        if self.job.state in NEVER_RAN:
            self.unmeasured = f"not run: {said}"
        return said

    def no_output(self):
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
