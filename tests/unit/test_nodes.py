"""Many nodes side by side: which is worse than the others."""

import pytest

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References
from linkmatrix.runs import judging, testcases
from linkmatrix.show import nodes


@pytest.fixture
def of_nodes(make_record, judged_run):
    """Judged runs, one a node; {node: {(row, column): value}} of what is not 396 GB/s; None: no record."""

    def judge(nodes, reference=None):
        judged = []
        for name, off in nodes.items():
            record = None if off is None else make_record(off=off, host=name)
            for device in record["devices"] if record else []:
                device["node"] = name
            judged += judged_run(record, reference=reference, node="" if record else name)[1]
        return judged

    return judge


def test_the_worst_node_is_first_and_its_cell_is_named(of_nodes):
    found = nodes.entries(of_nodes({"a": {}, "b": {(0, 1): 380.0}, "c": {(2, 3): 300.0}, "d": {}}))
    assert [entry.node for entry in found][:2] == ["c", "b"]
    assert found[0].pair == ("gpu2", "gpu3")
    assert found[0].worse == pytest.approx(96 / 396)
    assert found[0].text == "300.00 GB/s (-24.2 %)"
    assert {entry.worse for entry in found[2:]} == {0.0}


def test_a_node_that_fails_comes_before_one_that_is_slow(of_nodes):
    found = nodes.entries(of_nodes({"a": {}, "b": {(0, 1): 390.0}, "c": {(2, 3): "corrupt"}, "d": {}}, reference="hgx"))
    assert found[0].node == "c"
    assert found[0].verdict == Verdict.FAIL


def test_a_node_that_measured_nothing_is_in_the_table(of_nodes):
    found = nodes.entries(of_nodes({"a": {}, "b": None, "c": {}}, reference="hgx"))
    assert found[0].node == "b"
    assert found[0].verdict == Verdict.INCOMPLETE
    assert "b" in dict(nodes.by_node(found)[1])


def test_a_node_that_measured_nothing_comes_before_those_that_lack_a_reference_alone(of_nodes):
    found = nodes.entries(of_nodes({"a": {}, "b": {(0, 1): 300.0}, "c": None}))
    assert {entry.verdict for entry in found} == {Verdict.INCOMPLETE, Verdict.NOT_JUDGED}
    assert [entry.node for entry in found][:2] == ["c", "b"]


def test_one_node_is_no_fleet(of_nodes):
    assert nodes.entries(of_nodes({"a": {}})) == []


def test_a_cell_that_no_other_node_has_is_compared_with_nothing(make_record, judged_run):
    judged = [
        one
        for name, count in [("a", 4), ("b", 2)]
        for one in judged_run({**make_record(count=count, host=name), "devices": []})[1]
    ]
    by_name = {entry.node: entry for entry in nodes.entries(judged)}
    assert by_name["a"].worse == 0.0  # by the cells that both have
    assert by_name["b"].worse == 0.0


@pytest.mark.parametrize(
    ("case", "node"),
    [
        ({"display_name": "x %testcase=y %.part=s:p %.nid=lmx3"}, "lmx3"),
        ({"display_name": "x %.nid=node-01.cluster /abc"}, "node-01.cluster"),
        ({"display_name": "x %testcase=y", "on": "n7"}, "n7"),
        ({"display_name": "x %testcase=y"}, ""),
    ],
)
def test_the_node_that_was_asked_for_is_known_without_a_record(case, node):
    assert testcases.pinned_node(case) == node


@pytest.mark.parametrize(
    ("result", "kept", "verdict"),
    [("pass", [], Verdict.PASS), ("fail", [], Verdict.INCOMPLETE), ("pass", ["record.json"], Verdict.INCOMPLETE)],
)
def test_a_check_that_leaves_no_record_is_judged_by_reframe(judged_run, tmp_path, result, kept, verdict):
    """A check that should have left a record is INCOMPLETE without one."""
    case = {"name": "x", "result": result, "keep_files": kept, "fail_reason": None, "stagedir": str(tmp_path)}
    test = testcases.read_test(case, tmp_path / "reports" / "run-report-1.json", {})
    (judged,) = judged_run(None, result=test.result, measures=test.measures)[1]
    assert judged.verdict == verdict


@pytest.mark.parametrize("option", ["--dry-run", "'--dry-run'", "--dry"])
def test_what_a_dry_run_calls_passed_was_not_measured(tmp_path, option):
    case = {"name": "rank_binding", "result": "pass", "keep_files": [], "fail_reason": None, "stagedir": str(tmp_path)}
    session = {"cmdline": f"reframe -n rank_binding {option}"}
    test = testcases.read_test(case, tmp_path / "reports" / "run-report-1.json", session)
    judged = judging.judge(test, References.load(None), None)
    assert (judged.verdict, judged.reasons) == (Verdict.INCOMPLETE, ("nothing was measured: it was a dry run",))


UNCHECKED = "ReFrame did not check the test: leave out --skip-sanity-check and --skip-performance-check"


@pytest.mark.parametrize(
    "option", ["--skip-sanity-check", "'--skip-sanity-check'", "--skip-sa", "--skip-performance-check"]
)
@pytest.mark.parametrize("with_record", [True, False])
def test_what_reframe_did_not_check_is_no_pass_though_it_says_so(
    tmp_path, write_record, make_record, reference_folder, option, with_record
):
    case = {"name": "rank_binding", "result": "pass", "keep_files": [], "fail_reason": None, "stagedir": str(tmp_path)}
    if with_record:
        write_record(make_record(), tmp_path / "record.json")
        case |= {"keep_files": ["record.json"], "reference_name": "hgx"}

    def judged(command):
        test = testcases.read_test(case, tmp_path / "reports" / "run-report-1.json", {"cmdline": command})
        return judging.judge(test, References.load(reference_folder), None)

    assert judged("reframe -r --skip-system-check --skip-prgenv-check").verdict is Verdict.PASS
    refused = judged(f"reframe -r {option}")
    assert (refused.verdict, refused.reasons) == (Verdict.INCOMPLETE, (UNCHECKED,))


@pytest.mark.parametrize(
    ("options", "reason"),
    [("--dry-run", testcases.DRY_RUN), ("--skip-sanity-check", judging.NO_VERDICT)],
)
@pytest.mark.parametrize("measures", [True, False])
def test_what_nobody_checked_has_no_stored_verdict(tmp_path, write_record, make_record, options, reason, measures):
    """Since checks store verdicts, a report has a key for the digest, which is empty then."""
    write_record(make_record(), tmp_path / "record.json")
    case = {"name": "x", "result": "pass", "stagedir": str(tmp_path), testcases.DIGEST: "", "verdict_file": ""}
    case |= {} if measures else {"keep_files": []}
    test = testcases.read_test(case, tmp_path / "reports" / "run-report-1.json", {"cmdline": f"reframe -r {options}"})
    judged = judging.judge(test, References.load(None), None)
    assert (judged.verdict, judged.reasons, test.record) == (Verdict.INCOMPLETE, (reason,), None)


def test_a_dry_run_takes_no_record_of_another_run(tmp_path, write_record, make_record):
    write_record(make_record(), tmp_path / "record.json")
    case = {"name": "x", "result": "pass", "keep_files": ["record.json"], "stagedir": str(tmp_path)}
    test = testcases.read_test(case, tmp_path / "reports" / "run-report-1.json", {"cmdline": "reframe --dry-run"})
    judged = judging.judge(test, References.load(None), None)
    assert test.record is None and not judged.began
    assert (judged.verdict, judged.reasons) == (Verdict.INCOMPLETE, (testcases.DRY_RUN,))
