"""What every check of a program of others has in common: how it is started, found, read and published."""

from dataclasses import replace

from reframe.core.builtins import run_before, variable
from reframe.core.exceptions import ReframeError

from linkmatrix.foreign.peer_output import found_in, output_of, places_first, record_of
from linkmatrix.judge.reasons import missing
from linkmatrix.reframe_ext.sessions.processes import PROGRAM_FOLDER, TESTCASES

from .expect import device_faults
from .foreign_run import foreign_run
from .session_test import session_test

SCRIPT = "peer.sh"  # the build puts it next to the programs


class peer_run(foreign_run, special=True):
    """A test of a program of others: the base of the checks that run one.

    It is looked for beside what the build left (`-S build_linkmatrix.peers=yes`), then on PATH, with the modules of the
    environment; a test of one that is not installed is skipped, and says so. What it prints is read as `linkmatrix
    import` reads it, and judged by references of the check itself: its definitions are not those of linkmatrix.
    """

    #: Seconds that the program may take, with all test cases that it is asked for at once.
    seconds = variable(int, value=300)

    tags = {"peers"}
    program = executable = "peer"
    of_gpus = True  # whether it is of GPUs
    topology = True  # whether nvidia-smi is asked how they are connected
    link_class = ""  # of a pair of ranks
    size = None  # bytes of a copy, where the program does not print them

    def prepare(self):
        super().prepare()
        if self.seconds < 1:
            raise ReframeError(f"{type(self).__name__}.seconds={self.seconds}: give the program a second or more")

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
        return replace(session_test.job_request(self), testcase=self.asked_for(), opts=tuple(opts), program=SCRIPT)

    def asked_for(self):
        """The test case as the program calls it."""
        return self.testcase

    def command(self):
        """The program and its options; TESTCASES stands for all that are asked of one process."""
        raise NotImplementedError

    def written(self):
        """The command as the record has it."""
        words = (self.asked_for() if word == TESTCASES else word for word in (*self.command(), *self.extra_opts))
        return " ".join(words)

    @run_before("sanity")
    def skip_what_is_not_installed(self):
        """A program that nobody installed is no fault of the machine, and no verdict."""
        text = None if self.is_dry_run() else self.outputs()[0]
        said = output_of(text or "")
        self.skip_if(
            bool(said.missing),
            f"{said.missing} is not installed on {said.node}: neither on PATH, nor by a module of the environment"
            f" {self.current_environ.name}, nor built by Spack (-S build_linkmatrix.peers=yes)",
        )

    def outputs(self):
        text, errors = super().outputs()
        return (None if text is None else places_first(text)), errors

    def read_output(self):
        self.output = output_of(self.text)
        self.found = found_in(self.output, self.testcase, self.written())
        content = record_of(self.output, self.found, self.testcase, self.display_name, self.link_class, self.size)
        return content, self.found.faults

    def faults(self):
        if not self.found.run.tables:
            return []  # why, has been said
        return [*self.machine_faults(), *self.table_faults()]

    def machine_faults(self):
        """Did the ranks run where they should, and the GPUs take part that the partition specifies?"""
        places, each = self.output.places, self.num_tasks_per_node or 1
        reasons = []
        if sorted(places.count(node) for node in set(places)) != [each] * (self.num_tasks // each):
            where = ", ".join(places) or "nowhere"
            reasons += missing(f"{self.num_tasks} ranks should run, {each} on a node: they ran on {where}")
        return reasons + (device_faults(self.record, self.expected) if self.of_gpus else [])

    def table_faults(self):
        """Are all tables there, and all of their cells?"""
        raise NotImplementedError
