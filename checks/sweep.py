"""The check of single nodes: one job and one test per node, with all test cases of a suite."""

import contextlib
from dataclasses import replace

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import parameter, run_after, run_before, variable
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError, SpawnedProcessError

from linkmatrix.judge.verdicts import Verdict, missing
from linkmatrix.references.tables import program_references
from linkmatrix.reframe_ext.aborts import ABORTS

from . import nodes
from .adapters import adapter_faults
from .expect import gpu_faults, no_pairs_reason
from .intranode import ON_THREADS, SUITES, limit_options
from .p2p import p2p_matrix_run
from .testcases import DEVICE_TESTCASES, has_own_size

NODES = nodes.requested_nodes()


class node_sweep(p2p_matrix_run, special=True):
    """Measures the test cases of a suite on one node, in one process.

    ``LINKMATRIX_NODES`` names the nodes, such as ``n[001-016],n20``. The value ``all`` means all nodes that the
    scheduler reports: ``LINKMATRIX_NODES=all reframe … -r --mode=sweep``. There is one test per node. If a node accepts
    no job, the test is skipped with the scheduler's reason. If a node belongs to several partitions, the node is
    measured once.

    The test uses the references of ``intranode_p2p``. The message of a failed test names test cases and pairs. The
    test has no performance variables, because the variables of a thousand nodes would make ReFrame's report larger than
    all records. The record contains all cells.
    """

    #: The node to measure.
    node = parameter(NODES, loggable=True)

    #: Whether an administrator has taken the node out of service. The verdict of the run then ignores the node.
    #: :default: set by the run
    out_of_service = variable(typ.Bool, value=False, loggable=True)

    #: The test cases to measure: the test cases of ``intranode_p2p`` with this tag.
    suite = variable(str, value="quick", loggable=True)

    descr = "all links of a node in a sweep"
    valid_prog_environs = ["*"]
    tags = {"node-sweep"}
    in_session = False

    @run_after("init")
    def choose_partitions(self):
        self.on = self.node
        self.valid_systems = nodes.sweeping_partitions(self.node)

    def prepare(self):
        partition = self.current_partition
        if why := nodes.unknown_node_reason(self.node, partition):
            self.cannot_measure(why)
        self.on = nodes.scheduler_name(self.node, partition)
        if self.suite not in SUITES:
            self.cannot_measure(f"suite={self.suite} is unknown: choose one of {', '.join(SUITES)}")
        super().prepare()
        self.choose_backend()
        if self.on_gpus:
            self.num_gpus_per_node = self.expected.devices
        self.skip_partition(not self.testcases(), f"can run no test case of the suite {self.suite}")

    def cannot_measure(self, why):
        """Raises SanityError, so that the node gets no verdict.

        why: the reason. The method stores the reason in `unmeasured`.
        """
        self.unmeasured = why
        raise SanityError(why)

    def testcases(self):
        """The test cases of the suite that the node can run."""
        names = [name for name in DEVICE_TESTCASES if name in SUITES[self.suite]]
        if self.on_gpus:
            return [name for name in names if not no_pairs_reason(name, self.expected)]
        return [name for name in names if name in ON_THREADS]

    def program_opts(self):
        limits = self.current_partition.extras.get("limits", {})
        return ["--backend", "cuda" if self.on_gpus else "host", *limit_options(limits)]

    def job_requests(self):
        """One request per test case. A single process measures the test cases of all requests."""
        return [
            replace(
                self.job_request(),
                testcase=name,
                size=None if has_own_size(name) else "",
                references=self.program_references(name),
            )
            for name in self.testcases()
        ]

    def testcase_references(self, testcase):
        """The references of a test case, as lines of text, from the references of `intranode_p2p`."""
        return (
            program_references("intranode_p2p", self.reference_name, testcase)
            if testcase and self.reference_name
            else ()
        )

    @run_before("run")
    def skip_before_job(self):
        """Skips the test if the scheduler has drained the node since the beginning of the sweep."""
        if self.is_dry_run():
            return
        self.skip_unavailable_node()

    def run_complete(self):
        """Whether the job has ended. If the job waits for a drained node, cancels the job and skips the test."""
        try:
            done = super().run_complete()
        except ABORTS:
            raise
        except ReframeError:
            if not self.has_job_begun():
                self.skip_unavailable_node(ask_again=True)
            raise
        if not done and not self.has_job_begun() and nodes.unavailable_reason(self.node, self.current_partition):
            with contextlib.suppress(SpawnedProcessError):  # the job may have ended
                self.job.cancel()
            self.skip_unavailable_node()
        return done

    def skip_unavailable_node(self, ask_again=False):
        """Skips the test if the scheduler accepts no job on the node. Stores the scheduler's reason in `unmeasured`.

        ask_again: whether to ask the scheduler even if a stored answer is recent.
        """
        why = nodes.unavailable_reason(self.node, self.current_partition, ask_again)
        if why:
            self.out_of_service = nodes.is_out_of_service(why, self.current_partition)
            self.unmeasured = f"not run: the scheduler reports {why}"
            self.skip(self.unmeasured)

    def faults(self):
        return self.machine_faults() + self.missing_testcases()

    def figures(self):
        return {}

    def machine_faults(self):
        """Reasons against PASS: adapters or GPUs differ from the partition's specification."""
        partition = self.current_partition
        found = adapter_faults(self.record, partition.extras) if "rdma" in partition.features else []
        return found + gpu_faults(self.record, self.expected) if self.on_gpus else found

    def missing_testcases(self):
        """The reason against PASS, if the record lacks test cases of the suite, for example because of a budget."""
        measured = {result["testcase"] for result in self.record["results"]}
        names = [name for name in self.testcases() if name not in measured]
        return missing(f"not measured: {', '.join(names)}") if names else []

    @run_before("performance")
    def require_references_of_cells(self):
        """Raises PerformanceError if `require_reference` is set and cells lack references.

        ReFrame cannot check the cells, because ReFrame checks only performance variables.
        """
        if not self.is_dry_run() and self.require_reference and self.verdict.verdict is Verdict.NOT_JUDGED:
            found = zip(self.record["results"], self.verdict.evaluation.matrices, strict=True)
            lacking = [result for result, matrix in found if matrix.verdict is Verdict.NOT_JUDGED]
            names = dict.fromkeys(result["testcase"] for result in lacking)
            raise PerformanceError(f"NOT JUDGED: not all cells have references: {', '.join(names)}")


if NODES:  # ReFrame warns about a check without parameter values, and --warn-as-error would end the run
    rfm.simple_test(node_sweep)
