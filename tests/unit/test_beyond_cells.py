"""A test that failed for what none of its matrices says: it is seen wherever verdicts are counted or listed."""

import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.runs.judging import judge
from linkmatrix.runs.testcases import Test as Stored
from linkmatrix.show import nodes, prometheus, summary, words
from linkmatrix.show.analysis import Analysis

pytestmark = pytest.mark.usefixtures("wide_terminal")

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests" / "data" / "h200x4_full.record.json"
PROMISE = "sanity error: gpu3->gpu0 is NV6, NV18 was promised"


@pytest.fixture(scope="module")
def references():
    return References.load(ROOT / "config" / "references")


@pytest.fixture(scope="module")
def stored(references):
    """A test on node n1 with three test cases that are all PASS."""
    record = copy.deepcopy(reading.load(RECORD))
    one = Stored("node_sweep %node=n1", node="n1", result="pass", record=record, reference="hgx-h200-half")
    good = [result for result, matrix in judge(one, references, None).matrices if matrix.verdict is Verdict.PASS][:3]
    names = [result["testcase"] for result in good]
    return replace(one, record={**record, "results": good, "expected": names})


@pytest.fixture
def judged(references, stored):
    """n1, which is PASS, and n2 with the same numbers, of which a check said that a promise was not kept."""
    bad = replace(stored, name="node_sweep %node=n2", node="n2", result="fail", reason=PROMISE)
    return [judge(one, references, None) for one in (stored, bad)]


def test_the_test_itself_is_incomplete_and_its_matrices_are_not(judged):
    good, bad = judged
    assert good.verdict_beyond_cells is None
    assert bad.verdict_beyond_cells is Verdict.INCOMPLETE  # only the judge says FAIL
    assert {bad.matrix_verdict(matrix) for _, matrix in bad.matrices} == {Verdict.PASS}


def test_it_is_counted(judged):
    assert words.verdict_tally(judged) == "6 test cases: 6 PASS; 1 test INCOMPLETE for a reason other than cells"


def test_its_node_is_the_worst_with_the_reason(judged):
    first, second = summary.node_lines(judged)
    assert first == "2 nodes: 1 INCOMPLETE, 1 PASS"
    assert second == f"  INCOMPLETE n2: {PROMISE}"
    worst = nodes.entries(judged)[0]
    assert (worst.node, worst.verdict, worst.reason) == ("n2", Verdict.INCOMPLETE, PROMISE)


def test_it_reaches_an_alarm(judged):
    verdicts = [one for one in prometheus.samples(Analysis(None, judged), []) if one.metric == "verdict"]
    failed = [one.labels["testcase"] for one in verdicts if one.value == int(Verdict.INCOMPLETE)]
    assert failed == ["node_sweep %node=n2"]


def test_a_program_that_timed_out_is_no_pass_though_all_that_it_measured_is(references, stored):
    late = replace(stored, record={**stored.record, "result": "TIMEOUT", "error": "the run took too long"})
    one = judge(late, references, None)
    assert one.verdict_beyond_cells is not None and one.verdict_beyond_cells >= Verdict.INCOMPLETE
    assert summary.node_lines([one, replace(one, test=replace(late, node="n2"))])[0].startswith("2 nodes: 2 ")
    assert "PASS" not in summary.node_lines([one, replace(one, test=replace(late, node="n2"))])[0]


def test_diagnose_says_it_and_does_not_end_with_0(tmp_path, stored, capsys):
    path = tmp_path / "record.json"
    path.write_text(json.dumps({**stored.record, "result": "TIMEOUT", "error": "the run took too long"}))
    code = cli.main(["diagnose", str(path), "--reference", "hgx-h200-half"])
    assert code != 0
    assert re.search(r"TIMEOUT: the run took too long", capsys.readouterr().out)
