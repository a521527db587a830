"""The base class of all tests: its requirements on partition and job, and its verdict."""

import sys

import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, run_after, variable
from reframe.core.exceptions import ReframeError, SanityError

from linkmatrix import reframe_ext
from linkmatrix.judge.test_verdict import CheckFacts
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References
from linkmatrix.reframe_ext.sessions.member import Member
from linkmatrix.reframe_ext.sessions.processes import JobRequest
from linkmatrix.runs import modes

from . import session, verdicts
from .build import FEATURES, build_linkmatrix
from .expect import ExpectedConfiguration


def scale_tag(extent, nodes):
    """The tag for the number of nodes of a test, such as "2_nodes". "all_nodes" if the partition determines the number.

    extent: "two" or "all"; "" for a test without this parameter.
    nodes: the requested number of nodes; 0 for the default.
    """
    number = {"two": 2, "all": nodes}.get(extent, nodes or 2)
    return f"{number}_node{'s' * (number != 1)}" if number else "all_nodes"


class session_test(Member, special=True):
    """A test that a session measures in one job with the other tests of its suite."""

    #: The node to run on, e.g. ``-S on=node017``. The job requests the node by the partition's resource ``node``.
    #: :default: empty: any node
    on = variable(str, value="", loggable=True)

    #: The reason why the test was skipped on this partition, for ReFrame's report.
    #: :default: set by the run; empty: the test was not skipped
    skipped = variable(str, value="", loggable=True)

    #: Whether the test was skipped because the partition has fewer GPUs, ranks or nodes than the test needs.
    #: :default: set by the run
    too_small = variable(typ.Bool, value=False, loggable=True)

    #: The file with the verdict, in the test's output folder.
    #: :default: set by the sanity function; empty: the test ended before
    verdict_file = variable(str, value="", loggable=True)

    #: The SHA-256 of the file with the verdict. Readers refuse any other file.
    #: :default: set by the sanity function; empty: the test ended before
    verdict_sha256 = variable(str, value="", loggable=True)

    max_pending_time = "8h"
    exclusive_access = True
    #: whether the test has a record
    measures = True
    build = fixture(build_linkmatrix, scope="environment")
    session = fixture(session.node_session, scope="environment")

    @run_after("init", always_last=True)
    def complete(self):
        """Adds the tag for the number of nodes. Sets `valid_prog_environs` to the needed features.

        This hook runs after all other hooks of `init`, because other hooks change systems and tags.
        """
        self.tags = {*self.tags, scale_tag(getattr(self, "extent", ""), getattr(self, "nodes", 1))}
        if not hasattr(self, "valid_prog_environs"):
            self.valid_prog_environs = [" ".join(f"+{name}" for name in sorted(self.needed_features())) or "*"]

    def prepare(self):
        partition = self.current_partition
        reframe_ext.warn_of_plain_scheduler(partition.fullname, partition.scheduler.registered_name)
        if hasattr(self, ".nid"):
            raise ReframeError(
                "--distribute is refused, because the tests of all nodes would share one job on one node. "
                "Run once per node with -S on=NODE, or sweep the nodes: LINKMATRIX_NODES=all, --mode=sweep"
            )
        if refused := modes.refused_option(sys.argv[1:]) or ("" if self.strict_check else modes.NOT_STRICT):
            raise ReframeError(refused)
        self.expected = ExpectedConfiguration.of(self.current_partition)
        queued = self.current_partition.scheduler.registered_name != "local"
        if self.on and queued and not self.current_partition.get_resource("node", host=self.on):
            raise ReframeError(
                f"on={self.on}: {self.current_partition.fullname} has no resource 'node' that requests a node"
            )

    def needed_features(self):
        """The features of FEATURES that the programs of this test need."""
        return {name for name in FEATURES if f"+{name}" in " ".join(self.valid_systems).split()}

    def skip(self, msg=None):
        """Skips the test with ReFrame's `skip`, and stores the reason in `skipped` for ReFrame's report."""
        self.skipped = msg or ""
        super().skip(msg)

    def skip_partition(self, condition, why, too_small=False):
        """Skips the test if `condition` is true, because the partition cannot run the test.

        why: the reason. The text continues a sentence that begins with the name of the partition.
        too_small: whether the partition has fewer GPUs, ranks or nodes than the test needs.
        """
        self.too_small = self.too_small or bool(condition and too_small)
        self.skip_if(bool(condition), f"{self.current_partition.fullname} {why}")

    def requested_gpus(self):
        """The number of GPUs per node that the test requests.

        A test of host memory requests no GPUs, unless the partition has extras['gpus_in_every_job'].
        """
        every = self.current_partition.extras.get("gpus_in_every_job")
        return self.num_gpus_per_node or (self.expected.devices if every else 0) or 0

    def job_request(self):
        """The request of this test: its program, options and resources. A check replaces fields of the request."""
        return JobRequest(
            check=self.unique_name,
            testcase="",
            opts=(),
            tasks=self.num_tasks,
            ranks_per_node=self.num_tasks_per_node,
            gpus=self.requested_gpus(),
            without_mpi=self.num_tasks == 1,  # mpirun would bind all threads of the process to one core
            node=self.on,
        )

    def conclude(self, reasons, record=None, references=None):
        """Judges the test and stores the verdict. Raises SanityError for FAIL, DISTURBED and INCOMPLETE.

        The method raises no error if the only cause of a FAIL is values outside their tolerances. ReFrame fails such a
        test in its performance stage.

        reasons: the reasons against PASS that this check found, as `Reason`.
        record: the validated record; None if the test has no record.
        references: the references of the test; None if the test has no references.
        """
        check = CheckFacts(
            getattr(self, "testcase", ""), tuple(reasons), tuple(getattr(self, "tolerated_counters", ())), self.measures
        )
        try:
            self.verdict, stored = verdicts.judge_and_store(self, check, record, references or References({}))
            self.verdict_file, self.verdict_sha256 = stored
        except OSError as error:
            raise SanityError(f"INCOMPLETE: the verdict cannot be written: {error}") from None
        self.published = self.figures() if record is not None else {}
        if self.verdict.verdict < Verdict.DISTURBED:
            return True
        if self.verdict.verdict is Verdict.FAIL and verdicts.is_reference_failure(self.verdict, record, self.published):
            return True
        raise SanityError(verdicts.message(self.verdict, record))

    def figures(self):
        """The performance variables of this test: {name: `variables.Figure`}."""
        return {}
