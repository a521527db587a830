"""What every check of p2p_matrix has in common: one run of the program, read once, judged without gaps."""

from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import JobError, ReframeError, SanityError

import linkmatrix.record.reading

from . import endings, parts, session
from .build import build_linkmatrix
from .expect import Promise, listed, run_faults

# states of jobs, in the words of any scheduler, that tell why there is no output; the others could be either
RAN, NEVER_RAN = {"COMPLETED", "FAILED", "TIMEOUT"}, {"PENDING", "CANCELLED", "DEADLINE"}


class p2p_matrix_run(rfm.RunOnlyRegressionTest, special=True):
    """A test of p2p_matrix: the base of the checks, which say what to measure and what must come out.

    A session runs it with all others that were selected, and it reads its part: standard output, which is what is
    judged, and the record of the same run, `record.json`, which is kept in the output directory. Where it is repeated
    or restored it has a job of its own.
    """

    #: Further options of the program, e.g. ``-S intranode_p2p.extra_opts=--samples,15``. It refuses one that does
    #: nothing in its run.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    extra_opts = variable(typ.List[str], value=[])

    #: The table of references that this run is held against, a first-level key in `config/references/*.yaml`.
    #:
    #: :type: :class:`str`
    #: :default: the partition's ``extras['reference']``, else empty: no references, and no verdict
    reference_name = variable(str, value="", loggable=True)

    #: What of the machine is measured, where that is more than its usual: ``@all@crossed``. It is added to the name of
    #: its table, so that no two collide.
    #:
    #: :type: :class:`str`
    #: :default: set by the checks
    reference_variant = variable(str, value="", loggable=True)

    #: The node to run on, e.g. ``-S on=node017``; the partition's resource ``node`` says how a job asks for one.
    #:
    #: :type: :class:`str`
    #: :default: empty: any node
    on = variable(str, value="", loggable=True)

    #: How the program was built: CMake's options, or Spack's concrete spec.
    #:
    #: :type: :class:`str`
    #: :default: set by the build
    built = variable(str, value="", loggable=True)

    #: Why a job that ran did not get as far as this test case, which is no verdict on what it would have measured.
    #:
    #: :type: :class:`str`
    #: :default: empty: it was measured
    unmeasured = variable(str, value="", loggable=True)

    sourcesdir = None
    executable = "p2p_matrix"
    keep_files = ["record.json", "record.*.npy"]  # cells of matrices that are too large for the record
    max_pending_time = "8h"
    exclusive_access = True
    local = True  # it has no job; `_setup_run_job` takes that back
    #: whether it is one process that is no rank: mpirun would bind it, and all of its threads, to one core
    without_mpi = False
    build = fixture(build_linkmatrix, scope="environment")
    session = fixture(session.node_session, scope="environment")

    @run_after("setup")
    def be_prepared(self):
        self.prepare()

    def prepare(self):
        """What follows from the partition and the environment; of it, the session makes its job before this runs.

        A check that adds to it calls this one first.
        """
        if hasattr(self, ".nid"):
            raise ReframeError(
                "--distribute is not for these tests: they share a job, and each node's would read that of one node; "
                "run once for each node, with -S on=NODE"
            )
        self.promise = Promise.of(self.current_partition)
        self.reference_name = self.reference_name or self.current_partition.extras.get("reference", "")
        if self.on and not self.current_partition.get_resource("node", host=self.on):
            raise ReframeError(
                f"on={self.on}: {self.current_partition.fullname} has no resource 'node' to ask for one by"
            )

    def measure_of_it(self, word):
        """Names what of the machine is measured; references for it stand in a table of its own, where it has one."""
        self.reference_variant += f"@{word}"
        if self.reference_name:
            self.reference_name += f"@{word}"

    def gpus_of_job(self):
        """A check of host memory asks for no GPUs, unless the partition takes no job without, and says so."""
        every = self.current_partition.extras.get("gpus_in_every_job")
        return self.num_gpus_per_node or (self.promise.devices if every else 0) or 0

    def wish(self):
        """What this test needs of a job."""
        testcase = getattr(self, "testcase", "")
        return session.Wish(
            check=self.unique_name,
            testcase=testcase,
            opts=(*self.program_opts(), *self.extra_opts),
            size=self.size_asked_for(),
            tasks=self.num_tasks,
            on_each=self.num_tasks_per_node,
            gpus=self.gpus_of_job(),
            without_mpi=self.without_mpi,
            separate="_put_" in testcase,  # an MPI may be unable to, and the process then ends
            node=self.on,
        )

    def size_asked_for(self):
        """That of --size; None where it does not matter."""
        return None

    def program_opts(self):
        """The options that make the program measure what the check asks for, beside the test case and the size."""
        raise NotImplementedError

    def sessions(self):
        """The session of this test, if it runs now, and measures it."""
        there = session.running()
        found = [case.check for case in self._case().deps if case in there and isinstance(case.check, session.session)]
        return [one for one in found if self.unique_name in one.where or (one.trouble and not one.where)]

    def _setup_run_job(self, **options):
        """No job where a session has measured this test; else one of its own."""
        self.alone = not self.sessions() and not hasattr(self, ".nid")
        if self.alone:
            self.local = False
            super()._setup_run_job(**options)

    @run_before("run")
    def set_job(self):
        self.built = self.build.built
        if self.alone:
            self.names = {self.unique_name: self.display_name}
            session.fill(self, session.processes_of([self.wish()]), self.display_name)

    def run(self):
        if self.alone:
            super().run()

    def run_wait(self):
        if self.is_dry_run():
            return
        if self.alone:
            super().run_wait()
            self.part_of(Path(self.stagedir), 0, 1, self.display_name)
            return
        found = self.sessions()[0] if self.sessions() else self.session
        if found.job is None:
            raise JobError(found.trouble or "the session of this test has run nothing")
        self._job = found.job  # not before: a scheduler would be asked after it
        self.part_of(Path(found.stagedir), *found.where[self.unique_name], found.display_name)

    def part_of(self, stage, number, sharing, asked_by):
        """Copies this test's part of what a process left into its own stage, as if it had run it alone.

        stage: of the job; sharing: how many tests the process measured; asked_by: the name that it was given
        """
        self.sharing, self.asked_by = sharing, asked_by if sharing > 1 else self.display_name
        left = parts.Left(stage, stage / session.folder_of(number), self._job, self.asked_by)
        self.unbegun = left.begun and not left.output.exists()
        left.copy_to(Path(self.stagedir), self.testcase if sharing > 1 else None, self.display_name)

    @sanity_function
    def everything_is_as_expected(self):
        faults = self.result_faults()
        if not self.alone and self.session.trouble:
            faults.insert(0, self.session.trouble)
        if self.text is None:
            raise SanityError(listed(faults))
        if self.unbegun or (self.sharing > 1 and not Path("record.json").exists()):
            self.unmeasured = "it was not measured: its job or process ended before it was its turn"
            raise SanityError(listed([self.unmeasured, *faults]))
        try:
            self.record = linkmatrix.record.reading.load("record.json")
            faults += self.node_faults() + run_faults(self.record, self.display_name) + self.faults()
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
        return endings.sentences(self.job.state, errors, self.text, self.stagedir)

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
