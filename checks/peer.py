"""The base class of checks with established benchmarks: start, output, and verdict."""

from dataclasses import replace

from reframe.core.builtins import run_before, variable
from reframe.core.exceptions import ReframeError

from linkmatrix.foreign.peer_output import find_tables, parse_output, ranks_first, record_of
from linkmatrix.judge.verdicts import missing
from linkmatrix.reframe_ext.sessions.processes import PROGRAM_FOLDER, TESTCASES

from .expect import device_faults
from .foreign_run import foreign_run
from .session_test import session_test

SCRIPT = "peer.sh"  # the build copies this script next to the programs


class peer_run(foreign_run, special=True):
    """The base class of checks with established benchmarks.

    The test searches the program first in the build's folder (`-S build_linkmatrix.peers=yes`), then on PATH with the
    modules of the environment. If the program is not installed, the test is skipped with a reason. The test converts
    the output to a record, as `linkmatrix import` does. Each check has separate references, because each program
    defines its values differently.
    """

    #: The time limit of the program in seconds, for all test cases of one process.
    seconds = variable(int, value=300)

    tags = {"peers"}
    program = executable = "peer"
    of_gpus = True  # whether the program measures GPUs
    topology = True  # whether nvidia-smi reads the topology
    link_class = ""  # of the link between two ranks
    size = None  # bytes per copy, if the program does not print them

    def prepare(self):
        super().prepare()
        if self.seconds < 1:
            raise ReframeError(f"{type(self).__name__}.seconds={self.seconds}: give at least 1 second")

    def job_request(self):
        topology = ["--topology"] if self.topology else []
        opts = [
            "--beside",
            PROGRAM_FOLDER,
            "--timeout",
            str(self.seconds),
            *topology,
            *self.command(),
            *self.extra_opts,
        ]
        return replace(
            session_test.job_request(self), testcase=self.program_testcase(), opts=tuple(opts), program=SCRIPT
        )

    def program_testcase(self):
        """The name that the program uses for the test case."""
        return self.testcase

    def command(self):
        """The program and its options. The session replaces the word TESTCASES by the names of all test cases."""
        raise NotImplementedError

    def full_command(self):
        """The command line that the record contains."""
        words = (self.program_testcase() if word == TESTCASES else word for word in (*self.command(), *self.extra_opts))
        return " ".join(words)

    @run_before("sanity")
    def skip_if_not_installed(self):
        """Skips the test if the program is not installed. The test then has no verdict."""
        text = None if self.is_dry_run() else self.outputs()[0]
        output = parse_output(text or "")
        self.skip_if(
            bool(output.missing),
            f"{output.missing} is not installed on {output.node}: put it on PATH, load its module in the environment"
            f" {self.current_environ.name}, or build it with Spack (-S build_linkmatrix.peers=yes)",
        )

    def outputs(self):
        text, errors = super().outputs()
        return (None if text is None else ranks_first(text)), errors

    def read_output(self):
        self.output = parse_output(self.text)
        self.found = find_tables(self.output, self.testcase, self.full_command())
        content = record_of(self.output, self.found, self.testcase, self.display_name, self.link_class, self.size)
        return content, self.found.faults

    def faults(self):
        if not self.found.run.tables:
            return []  # `read_output` has reported why
        return [*self.machine_faults(), *self.table_faults()]

    def machine_faults(self):
        """Reasons against PASS: misplaced ranks, or missing GPUs."""
        places, per_node = self.output.nodes, self.num_tasks_per_node or 1
        reasons = []
        if sorted(places.count(node) for node in set(places)) != [per_node] * (self.num_tasks // per_node):
            nodes = ", ".join(places) or "no node"
            reasons += missing(f"{self.num_tasks} ranks should run, {per_node} per node: they ran on {nodes}")
        return reasons + (device_faults(self.record, self.expected) if self.of_gpus else [])

    def table_faults(self):
        """Reasons against PASS: missing tables, or missing cells."""
        raise NotImplementedError
