"""Why a job ended, as the checks say it: in the words of scheduler and launcher, of the node that failed."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from linkmatrix.reframe_ext.sessions import endings
from linkmatrix.reframe_ext.sessions.member import Member
from linkmatrix.runs.testcases import one_line_reason

SOURCES = Path(__file__).parents[2] / "src"

CUT = "p2p_matrix: SIGTERM: the run was ended\n"
NODE_FAILURE = (
    "slurmstepd: error: *** STEP 7.0 ON cn01 CANCELLED AT 2026-11-22T03:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG"
    " FOR DETAILS ***\nsrun: error: Node failure on cn03\nsrun: Job step aborted: Waiting up to 2 seconds for job"
    " step to finish.\n"
)
CANCELLED = "slurmstepd: error: *** STEP 7.0 ON cn01 CANCELLED AT 2026-11-22T03:00:00 ***\nsrun: error: Terminated\n"


def said(state, errors, last, folder="/"):
    return "; ".join(endings.sentences(state, errors, f"a table\n{last}\n", folder))


def test_a_node_that_failed_is_named_and_not_the_one_where_the_launcher_ran():
    for state in ("NODE_FAIL", "FAILED"):
        text = said(state, CUT + NODE_FAILURE, "Result: TIMEOUT")
        assert text.startswith("a node of the job failed: cn03; p2p_matrix was stopped before its end")
        assert "cn01" not in text and "TIMEOUT" not in text


def test_a_program_that_was_killed_before_it_could_say_how_it_ended_was_stopped_too():
    text = said("NODE_FAIL", NODE_FAILURE, "lmx3:rank2     1     1     0")
    assert text.startswith("a node of the job failed: cn03; p2p_matrix was stopped before its end")
    assert "rank2" not in text


def test_the_rank_that_could_not_begin_is_quoted_before_those_that_were_ended_for_it():
    ended = "p2p_matrix: ended by signal Terminated\n"
    why = "adapter_rank: n1: there is no adapter eth1 (/sys/class/infiniband, /sys/class/net)\n"
    errors = ended + why + ended + "".join(f"srun: error: n{rank}: task {rank}: Exited\n" for rank in range(9))
    assert f"'Result: PASS': {why.strip()}" in said("FAILED", errors, "")


def test_a_note_of_srun_is_no_reason():
    """srun prints it for --cpu-bind on each cluster without task/affinity, also if all is well."""
    note = "srun: cluster configuration lacks support for cpu binding\n"
    why = "p2p_matrix: no NVIDIA driver; --backend host measures host memory\n"
    assert "cpu binding" not in said("NODE_FAIL", note, "") + said("FAILED", why + note, "")
    reasons = endings.sentences("FAILED", note + why, "", "/")
    assert reasons == ["p2p_matrix ended without output, not with 'Result: PASS': " + why.strip()]


def test_a_job_that_was_cancelled_did_not_run_out_of_time():
    text = said("CANCELLED", CUT + CANCELLED, "Result: TIMEOUT")
    assert text.startswith("the job was cancelled (state CANCELLED)")
    assert "TIMEOUT" not in text


@pytest.mark.parametrize(("seconds", "late"), [(240.2, False), (28799.9, True), (30000, True), (None, False)])
def test_only_a_job_that_waited_as_long_as_it_may_did_not_begin_in_time(seconds, late):
    """After 4 minutes of 8 hours somebody cancelled it."""
    ended = None if seconds is None else 1e9 + seconds
    submitted = 1e9 if seconds else None
    job = SimpleNamespace(state="CANCELLED", jobid="7", completion_time=ended, submit_time=submitted)
    test = SimpleNamespace(job=job, max_pending_time=28800.0, stagedir="/stage")
    said = Member.no_output_reason(test)
    assert ("max_pending_time is 28800 s" in said) is late
    assert late or f"ended {seconds or 0:.0f} s after its submission" in said
    assert "share" not in said


@pytest.mark.parametrize("state", ["FAILED", "COMPLETED", "CANCELLED"])
def test_all_tests_of_a_job_without_output_have_the_same_reason_and_were_not_run(state):
    """Eight tests of a session whose folder the node lacks are one finding, not eight."""
    job = SimpleNamespace(state=state, jobid="7", completion_time=1e9 + 9, submit_time=1e9)
    reasons = []
    for name in ("rank_binding", "intranode_p2p_c4ae6ed1"):
        test = SimpleNamespace(job=job, max_pending_time=28800.0, stagedir=f"/p/stage/now/sys/cpu/gnu/{name}")
        test.no_output_reason = lambda test=test: Member.no_output_reason(test)
        reasons.append(Member.report_no_output(test))
        assert test.unmeasured == f"not run: {reasons[-1]}"
    assert reasons[0] == reasons[1]


def test_a_job_that_reached_its_time_limit_says_so_with_the_last_line_of_the_program():
    text = said("TIMEOUT", CUT, "Result: TIMEOUT")
    assert text.startswith("the job reached its time limit; p2p_matrix ended with 'Result: TIMEOUT'")


def test_the_programs_own_time_limit_is_still_its_own():
    text = said("FAILED", "p2p_matrix: --timeout of 5 s has passed\n", "Result: TIMEOUT")
    assert (
        text
        == "p2p_matrix ended with 'Result: TIMEOUT', not with 'Result: PASS': p2p_matrix: --timeout of 5 s has passed"
    )


def test_a_pass_has_no_reasons_whatever_the_scheduler_says():
    assert said("FAILED", "", "Result: PASS") == ""


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("srun: error: Node failure on cn03", "cn03"),
        ("ORTE has lost communication with a remote daemon.\n  Remote host:   cn03", "cn03"),
    ],
)
def test_launchers_name_the_node_that_is_gone(line, node):
    assert endings.lost_nodes(f"something\n{line}\n") == [node]


DIED = """srun: error: lmx3: task 2: {}
srun: launch/slurm: _step_signal: Terminating StepId=1.0
srun: error: lmx1: task 0: Exited with exit code 4
--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD
with errorcode 4.

NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.
You may or may not see output from other processes, depending on
exactly when Open MPI kills them.
--------------------------------------------------------------------------
srun: error: lmx2: task 1: Exited with exit code 4
"""


@pytest.mark.parametrize("how", ["Segmentation fault", "Killed", "Bus error (core dumped)", "Out Of Memory"])
def test_the_rank_that_died_is_named_before_those_that_followed_from_it(how):
    text = said("FAILED", DIED.format(how), "")
    assert f"not with 'Result: PASS': srun: error: lmx3: task 2: {how} / " in text
    assert "You may or may not see" not in text and "----" not in text


def test_the_rank_that_died_is_named_though_the_launcher_ended_rank_0_in_time_for_a_result():
    killed = "srun: error: lmx2: task 1: Killed"
    errors = f"{killed}\nsrun: error: lmx3: task 2: Killed\np2p_matrix: ended by signal Terminated\n"
    assert f"'Result: PASS': {killed} / p2p_matrix: ended by signal" in said("FAILED", errors, "Result: TIMEOUT\n")
    assert "p2p_matrix ended with 'Result: FAIL', not" in said("FAILED", errors, "Result: FAIL\n")


def test_the_rank_that_died_is_named_where_mpirun_says_so():
    line = "mpirun noticed that process rank 2 with PID 0 on node n3 exited on signal 11 (Segmentation fault)."
    assert line in said("FAILED", f"{line}\n" + "a\nb\nc\nd\n", "")


def test_a_full_disk_is_said_with_its_folder(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10, 10, 0))
    text = said("FAILED", "", "| 0.1 | 0.", "/scratch/run")
    assert text.startswith("No space left on device: /scratch/run; ")


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            "spawned process error: command 'sbatch job.sh' failed with exit code 1:\n--- stdout ---\n--- stdout ---\n"
            "--- stderr ---\n--- stderr ---",
            "spawned process error: command 'sbatch job.sh' failed with exit code 1: no further reason was printed",
        ),
        (
            "spawned process error: command 'sbatch job.sh' failed with exit code 1:\n--- stdout ---\n--- stdout ---\n"
            "--- stderr ---\nsbatch: error: Invalid account\n--- stderr ---",
            "spawned process error: command 'sbatch job.sh' failed with exit code 1: sbatch: error: Invalid account",
        ),
        ("performance error:", "performance error: no further reason was printed"),
    ],
)
def test_no_reason_ends_without_words(reason, text):
    assert one_line_reason(reason) == text


def test_what_an_mpi_cannot_do_is_told_from_what_went_wrong():
    window = "this MPI cannot create a window for one-sided transfers over its selected network"
    said = f"p2p_matrix: --testcase rank_to_rank_put_latency_mpi cannot run here: n1:rank0: {window}: leave them out\n"
    assert endings.unsupported_reason(f"Warning\n{said}mpirun detected") == f"not possible here: {window}"
    assert endings.unsupported_reason("p2p_matrix: n1:rank0: 77 wrong bytes arrived\n") == ""


def test_a_job_that_was_preempted_says_so_and_is_no_verdict_on_what_it_did_not_reach():
    text = said("PREEMPTED", CUT + CANCELLED.replace(" ***", " DUE TO PREEMPTION ***"), "Result: TIMEOUT")
    assert text.startswith("another job preempted the job (state PREEMPTED); p2p_matrix was")
    assert "cn01" not in text
    assert endings.causes("PREEMPTED", "", "/") and not endings.causes("COMPLETED", "", "/")


@pytest.mark.parametrize("said", ["unknown option '--nosuch': did you mean --noise?", "--samples 'x': use a number"])
def test_a_program_that_refuses_its_options_is_the_reason_itself(tmp_path, said):
    errors = f"p2p_matrix: {said}\nmpirun detected that one or more processes exited\n"
    assert endings.sentences("FAILED", errors, "", tmp_path) == [f"p2p_matrix refused its options: {said}"]
    assert "refused" not in endings.sentences("FAILED", errors, "a table\nResult: FAIL\n", tmp_path)[0]


OPEN_MPI_4 = """The application appears to have been direct launched using "srun",
The application appears to have been direct launched using "srun",
but OMPI was not built with SLURM's PMI support and therefore cannot
execute. There are several options for building PMI support under
but OMPI was not built with SLURM's PMI support and therefore cannot
SLURM, depending upon the SLURM version you are using:
*** An error occurred in MPI_Init
srun: error: n1: task 0: Exited with exit code 1
"""
OPEN_MPI_5 = """PMIx_Init failed for the following reason:

  PMIX_ERR_UNREACH

Open MPI requires access to a local PMIx server to execute. Please ensure
that either you are operating in a PMIx-enabled environment, or use "mpirun"
"""


ONE_RANK = "only one rank was started: start two or more"


def test_the_program_prints_the_sentence_on_one_rank():
    assert ONE_RANK in (SOURCES / "ranks" / "rank_table.cpp").read_text()


@pytest.mark.parametrize(
    ("errors", "quoted"),
    [
        (OPEN_MPI_4, "OMPI was not built with SLURM's PMI support and therefore cannot execute."),
        (OPEN_MPI_5, "Open MPI requires access to a local PMIx server to execute."),
        (f"p2p_matrix: {ONE_RANK} with mpirun -n\n", "each rank started alone"),
    ],
)
def test_a_launcher_without_pmi_is_quoted_and_the_variable_is_named(tmp_path, errors, quoted):
    (said,) = endings.sentences("FAILED", errors, "", tmp_path)
    assert quoted in said and "SLURM_MPI_TYPE" in said
    assert endings.pmi_error("srun: error: n1: task 0: Exited with exit code 1") == ""
