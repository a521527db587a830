"""A run that measured nothing: the first screen and the page say what to do now, and with which command."""

import html
import io
import json
import re

import pytest

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References
from linkmatrix.runs import judging, testcases
from linkmatrix.runs.stored import Run
from linkmatrix.show import analysis, page, terminal, words
from linkmatrix.show.analysis import Analysis

ONE_GPU = "skipped: node:gpu has one GPU: there is no pair to measure"
SESSION = "reframe -C config/settings.py -c checks -R -r"
MEASURE = "linkmatrix measure"


def skipped(reason=ONE_GPU, **more):
    return testcases.Test(name="intranode_p2p", result="skip", reason=reason, partition="node:gpu", **more)


@pytest.fixture
def said(tmp_path, reference_folder):
    """What the head of the terminal and of the page say of tests: (steps, commands), the same on both."""

    def told(*tests, rerun=SESSION, reference=None):
        run = Run(path=tmp_path / "run-report-0.json", tests=tests, rerun=rerun)
        judged = judging.judge_all(run, References.load(reference_folder), reference)
        stream = io.StringIO()
        terminal.show(Analysis(run, judged), file=stream, width=2000)
        assert Analysis(run, judged).verdict is Verdict.INCOMPLETE
        lines = stream.getvalue().split("\n\n")[-1].splitlines()
        text = page.render(Analysis(run, judged), lambda *_: b"")
        head = html.unescape(re.sub("</?span[^>]*>", "", text[: text.index("</header>")]))
        done = [line.strip().partition(". ")[2] for line in lines if re.match(r"  \d+\. ", line)]
        done += [line.partition(": ")[2] for line in lines if line.startswith("Next step: ")]
        again = [line.partition("again: ")[2] for line in lines if "  again: " in line]
        assert done and "Next step" in head and all(line in head for line in done)
        assert again and "<summary>Run it again</summary>" in head and all(line in head for line in again)
        assert not any(analysis.GET_REFERENCES in line for line in done), "nothing was measured that could be adopted"
        return done, again, lines

    return told


@pytest.mark.parametrize("count", [1, 3])
def test_where_every_test_was_skipped_it_is_said_what_to_do(said, count):
    done, again, lines = said(*[skipped()] * count)
    assert "linkmatrix detect --dry-run" in done[0] and "-x NAME" in done[0] and again == [SESSION]
    assert any(line.strip().startswith("Nothing was measured") for line in lines)


def test_a_check_that_passed_without_measuring_makes_no_difference(said):
    done, _, lines = said(
        skipped(), testcases.Test(name="gpu_topology", result="pass", partition="node:gpu", measures=False)
    )
    assert "linkmatrix detect --dry-run" in done[0] and "is verified" not in " ".join(lines)


@pytest.mark.parametrize("result", ["skip", "fail_deps", "abort"])
def test_where_reframe_says_no_more_than_that_it_did_not_run_its_reason_is_sought(said, result):
    done, again, _ = said(testcases.Test(name="intranode_p2p", result=result, partition="node:gpu"))
    assert re.search("run (it )?again|Repeat the run", done[0]) and again == [SESSION]


def test_what_could_not_run_today_keeps_its_own_advice(said):
    done, _, _ = said(skipped("not run: drained", unmeasured="not run: drained"))
    assert done[0].startswith("Fix what kept the job from running") and not any("-x NAME" in line for line in done)


def test_ranks_on_the_same_cores_are_told_where_to_bind_them(said):
    reasons = "rank 0 on n1 (cores 0-1) and rank 1 share cores 0-1; the launcher reports: srun: no cpu binding"
    done, _, _ = said(testcases.Test(name="rank_binding", result="fail", reason=reasons, partition="node:gpu"))
    assert len(done) == 1 and "rank_options" in done[0]


def test_a_run_of_no_test_is_told_how_to_choose_some(said):
    done, again, _ = said(rerun=f"{SESSION} -n nothing_of_this_name")
    assert MEASURE in done[0] and "-l lists" in done[0] and again == [MEASURE]


def test_where_no_command_is_known_there_is_one_that_measures_what_fits(said):
    assert said(skipped(), rerun="")[1] == [MEASURE]


def test_a_matrix_without_a_pair_is_told_what_one_endpoint_can_measure(said, make_record):
    done, again, lines = said(testcases.Test(name="p2p", record=make_record(count=1)), rerun="p2p_matrix --testcase x")
    assert MEASURE in done[0] and again == [MEASURE]
    assert any("no pair of endpoints" in line for line in lines)


def test_what_was_skipped_beside_what_passed_asks_for_no_references(said, make_record):
    done, _, lines = said(skipped(), testcases.Test(name="p2p", record=make_record(), result="pass"), reference="hgx")
    assert "linkmatrix detect --dry-run" in done[0]
    assert not any("references for only" in line for line in lines)


@pytest.mark.parametrize("words", [["skip", "skip"], []])
def test_a_run_by_linkmatrix_says_so_too(machine, words):
    content = json.loads(machine.prepare(*words))
    for case in content["runs"][0]["testcases"]:
        case |= {"fail_reason": None, "skipped": "node:gpu has one GPU: there is no pair to measure"}
    machine.store(content)
    code, out = machine.run("--mode", "nightly")
    assert code == 4 and "Nothing was measured, so there is nothing to judge." in out
    assert ("node:gpu has one GPU" in out and "linkmatrix detect --dry-run" in out) if words else MEASURE in out


def test_a_test_for_more_devices_than_the_machine_has_is_not_judged_and_never_the_whole_run(tmp_path, make_record):
    small = testcases.Test(
        name="without",
        result="skip",
        reason="skipped: node:gpu has 2 GPUs, but the test needs 3",
        too_small=True,
        began=False,
    )
    measured = testcases.Test(name="p2p", record=make_record(), result="pass")
    judged = judging.judge_all(Run(tmp_path, (small, measured)), References({}), None)
    assert [one.verdict for one in judged] == [Verdict.NOT_JUDGED] * 2 and judging.exit_code(judged) == 0
    assert judging.exit_code(judged, acceptance=True) == 3
    assert any("linkmatrix baseline" in line for line in Analysis(None, judged, Verdict.NOT_JUDGED).steps)
    assert judging.overall(judged[:1]) is Verdict.INCOMPLETE and judging.exit_code(judged[:1]) == 4


def test_a_page_without_a_record_says_of_which_partition_it_is(said, tmp_path):
    judged = judging.judge_all(Run(path=tmp_path, tests=(skipped(),)), References({}), None)
    assert words.title(judged) == "node:gpu: no record"
    assert words.title([]) == "no record"
