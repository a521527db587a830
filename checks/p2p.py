"""What every check of p2p_matrix has in common: one run of the program, read once, judged without gaps."""

import functools
import json
import os
import re
import shutil
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import JobError, ReframeError, SanityError

import linkmatrix.record.printed
import linkmatrix.record.reading
from linkmatrix.files import write_whole
from linkmatrix.record.apart import Apart

from . import endings, large, parts, session
from .build import build_linkmatrix
from .expect import Promise, cell_faults, listed, run_faults, table_faults
from .variables import matrix_variables

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

        stage: of the job; sharing: how many tests the process measured.
        """
        own, place = Path(self.stagedir), stage / session.folder_of(number)
        job, self.sharing, self.asked_by = self._job, sharing, asked_by if sharing > 1 else self.display_name
        began = (stage / job.stdout).exists()
        self.unbegun = began and not (place / "out").exists()
        errors = read(place / "err") + read(stage / job.stderr)
        script = read(stage / job.script_filename)
        text, record = read(place / "out"), place / "record.json"
        if sharing > 1:
            text = self.own_part(text, record)
        elif record.exists():
            shutil.copyfile(record, own / "record.json")
            self.take_cells(place.glob("record.*.npy"))
        if began:
            write_whole(own / job.stdout, text.encode())
        write_whole(own / job.stderr, errors.encode())
        write_whole(own / job.script_filename, script.encode())

    def own_part(self, text, record):
        """The text of this test's part, whose record is written too, if there is one."""
        whole = record_in(record, os.stat(record).st_mtime_ns) if record.exists() else None
        part = parts.record_of(whole, self.testcase) if whole else None
        if part is None:
            return text  # how it ended
        if whole["asked_by"] == self.asked_by:  # this session's, and not one that was left
            part = {**part, "asked_by": self.display_name}
        write_whole(Path(self.stagedir, "record.json"), json.dumps(part).encode())
        apart = [found for found in map(Apart.of, part["results"]) if found]
        self.take_cells(file for file in (record.parent / one.name for one in apart) if file.exists())
        return parts.text_of(text, self.testcase, part["result"])

    def take_cells(self, files):
        """Matrices that are too large for the record lie beside it."""
        for file in files:
            shutil.copyfile(file, Path(self.stagedir) / file.name)

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


def read(path):
    """The text of a file; "" where there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


@functools.lru_cache(maxsize=4)
def record_in(path, _changed):
    """The record at a path, which many tests read; nobody changes it. None where it cannot be read."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


class p2p_matrix_case(p2p_matrix_run):
    """Runs one test case and publishes its matrix: the base of the checks that measure.

    The performance variables are those of `variables.matrix_variables`: pairs such as ``gpu0->gpu3``, and summaries
    of each link class such as ``min[NV18]``. A matrix that is too large for its record has those of `large.variables`.
    """

    #: Bytes of each copy of a bandwidth test case, and of each message, with the suffixes KiB, MiB and GiB. The
    #: latencies inside a node have a size of their own.
    #:
    #: :type: :class:`str`
    #: :default: empty: the program's own, which references are for
    size = variable(str, value="", loggable=True)

    #: Error counters that may rise, e.g. ``-S tolerated_counters=pcie_replay``: no others may.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    tolerated_counters = variable(typ.List[str], value=[])

    def prepare(self):
        super().prepare()
        if self.size and self.takes_size():
            self.measure_of_it(self.size)

    def program_opts(self):
        return ["--backend", self.backend()]

    def size_asked_for(self):
        return self.size if self.takes_size() else None

    def takes_size(self):
        """Whether the test case has no size of its own, which the program would not let change."""
        return self.testcase.endswith("_mpi") or "latency" not in self.testcase

    def backend(self):
        """The program's back end."""
        raise NotImplementedError

    def faults(self):
        self.large = large.result_of(self.record, self.testcase)
        if self.large is not None:
            return self.machine_faults() + self.large_faults() + self.counter_faults()
        self.tables = linkmatrix.record.printed.p2p_matrix(self.text)
        faults = table_faults(self.tables, self.wanted_tables(), self.testcase)
        if faults:
            return faults
        return self.machine_faults() + self.matrix_faults() + self.counter_faults()

    def large_faults(self):
        """As `matrix_faults`, of a matrix whose cells are in a file."""
        table, folder = self.wanted_tables()[0], Path("record.json").resolve().parent
        return large.matrix_faults(self.large, self.text, table, self.wanted_endpoints(), folder)

    def wanted_endpoints(self):
        """The endpoints of which each pair must be measured, where they may be too many for a table."""
        return []

    def counter_faults(self):
        """Errors that a device counted while it was measured, though every cell may be fine."""
        risen = linkmatrix.record.reading.risen_counters(self.record)
        return [fault for fault in risen if not any(f": {name} " in fault for name in self.tolerated_counters)]

    def matrix_faults(self):
        """The wanted cells are all there, in every table, and their data was compared."""
        cells, excused = self.wanted_cells(), self.excused_cells()
        # a cell that is missing is so in every table
        faults = list(dict.fromkeys(fault for table in self.tables for fault in cell_faults(table, cells, excused)))
        needed = sum(self.tables[0].cells.get(pair) != "no-peer-access" for pair in cells)
        verified = re.findall(r"^verified: (\d+) of (\d+) cells$", self.text, re.MULTILINE)
        if verified != [(str(needed), str(needed))]:
            said = " and ".join(f"{done} of {all_} cells" for done, all_ in verified) or "nothing"
            faults.append(f"{self.testcase}: {needed} cells must be verified, the program says {said}")
        return faults

    @run_before("performance")
    def publish_matrix(self):
        if self.is_dry_run():
            return
        if self.large is not None:
            unit, found = self.large["unit"], large.variables(self.large)
        else:
            unit, found = self.tables[0].unit, matrix_variables(self.tables[0], self.link_classes())
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit) for name, value in found.items()
        }

    def link_classes(self):
        """{(source, destination): link class} of the test case's cells, from the record."""
        result = next(result for result in self.record["results"] if result["testcase"] == self.testcase)
        return {
            (row, column): result["link_class"][r][c]
            for r, row in enumerate(result["rows"])
            for c, column in enumerate(result["columns"])
        }
