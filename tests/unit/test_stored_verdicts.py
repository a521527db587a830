"""Verdicts are made once, by the check, and stored: readers take them from verdict.json, and from no other file."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
import stored_verdicts

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.judge.test_verdict import CheckFacts
from linkmatrix.judge.verdicts import Reason, Verdict
from linkmatrix.references.tables import References
from linkmatrix.runs import judging, stored, verdict_file

TESTCASE = "device_to_device_memcpy_write_ce"
PROMISE = Reason(Verdict.FAIL, "the partition specifies 8 GPUs, node001 has gpu0, gpu1, gpu2, gpu3")


@pytest.fixture
def run(machine, reference_folder):
    """A function that prepares a report with one test case, its verdict stored, and returns it as it is read."""

    def prepared(result="pass", check=None, change=None, references=reference_folder, name=None, **changes):
        machine.prepare(result, **changes)
        path = machine.folder / "prepared.json"
        stored_verdicts.of_report(path, references, check)
        report = json.loads(path.read_text())
        (case,) = report["runs"][0]["testcases"]
        if change:
            change(case)
        reports = machine.folder / "reports"
        reports.mkdir(exist_ok=True)
        (reports / "run-report-0.json").write_text(json.dumps(report))
        found = stored.find(reports / "run-report-0.json")
        (one,) = judging.judge_all(found, References.load(reference_folder), name)
        return one

    return prepared


def test_the_stored_verdict_is_taken_with_the_references_that_it_was_made_by(run, reference_folder):
    """References that a site changes later change no verdict."""
    one = run()
    assert one.verdict is Verdict.PASS and one.reference == "hgx" and one.began
    file = reference_folder / "p2p.yaml"
    file.write_text(file.read_text().replace("396.0", "500.0"))
    again = run(references=None, change=None)
    assert again.verdict is Verdict.INCOMPLETE, "without references when it was judged: a named table was missing"
    assert judging.judge(one.test, References.load(reference_folder), None).verdict is Verdict.PASS
    assert {cell.verdict for _, matrix in one.matrices for cell in matrix.cells.values()} == {Verdict.PASS}


def test_the_stored_verdict_has_the_adopted_classes_of_its_table(run, reference_folder):
    file = reference_folder / "p2p.yaml"
    head = file.read_text().partition("      gpu0->gpu1")[0]
    rows = "      cell[NV18]: [396.0, -0.02, 0.02, GB/s]\n"
    file.write_text(head.replace("  hgx:\n", "  hgx:\n    $classes:\n      NV18: gpu[0-4]->gpu[0-4]\n") + rows)
    one = run("fail")
    assert one.verdict is Verdict.INCOMPLETE and len(one.matrices[0][1].missing) == 8
    assert verdict_file.read(one.test.path.with_name(verdict_file.FILE)).references.cells("hgx", TESTCASE)[
        "gpu0", "gpu4"
    ]


def test_another_reference_judges_again_and_keeps_what_the_check_found(run):
    assert run("fail", name="hgx", off={(0, 1): 300.0}).verdict is Verdict.FAIL
    one = run("fail", check=CheckFacts(reasons=(PROMISE,)), name="hgx")
    assert one.verdict is Verdict.FAIL and PROMISE.sentence in one.reasons


def test_a_counter_that_the_check_tolerates_is_tolerated_by_every_reader(run, make_record):
    counter = {"name": "pcie_replay", "before": 0, "after": 5}
    content = {**make_record(), "health": [{"label": "gpu1", "counters": [counter], "readings": []}]}
    assert run("fail", content=content).verdict is Verdict.FAIL
    check = CheckFacts(tolerated_counters=("pcie_replay",))
    assert run("pass", check=check, content=content).verdict is Verdict.WARN
    assert run("pass", check=check, content=content, name="hgx").verdict is Verdict.WARN


@pytest.mark.parametrize("result", ["fail", "abort", "xfail", "xpass"])
def test_where_reframe_failed_and_the_verdict_is_milder_the_test_is_incomplete(run, result):
    one = run(result)
    assert one.verdict is Verdict.INCOMPLETE and "it failed" in one.reasons


def test_where_only_references_are_missing_a_failed_performance_stage_is_no_more_than_not_judged(run, machine):
    def in_phase(phase):
        def change(case):
            case |= {"fail_phase": phase, "fail_reason": "performance error: no reference value found"}

        return change

    def without_table(case):
        case["reference_name"] = ""

    machine_prepare = machine.prepare

    def prepare(*words, **changes):
        text = json.loads(machine_prepare(*words, **changes))
        for case in text["runs"][0]["testcases"]:
            without_table(case)
        machine.store(text)

    machine.prepare = prepare
    assert run("fail", change=in_phase("performance")).verdict is Verdict.NOT_JUDGED
    assert run("fail", change=in_phase("sanity")).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("what", ["edited", "missing", "of another test", "no digest"])
def test_without_the_very_file_there_is_no_verdict(run, what):
    def change(case):
        file = Path(case["verdict_file"])
        if what == "edited":
            file.write_text(file.read_text().replace("FAIL", "PASS"))
        elif what == "missing":
            file.unlink()
        elif what == "of another test":
            case["verdict_sha256"] = "0" * 64
        else:
            case |= {"verdict_sha256": "", "verdict_file": ""}

    one = run("fail", change=change, off={(0, 1): 300.0})
    assert one.verdict is Verdict.INCOMPLETE and one.reasons and one.evaluation is None


@pytest.mark.parametrize("what", ["edited", "missing"])
def test_a_verdict_about_another_record_is_none(run, what):
    def change(case):
        record = Path(case["outputdir"]) / "record.json"
        record.unlink() if what == "missing" else record.write_text(record.read_text().replace("396.0", "395.0"))

    one = run(change=change)
    assert one.verdict is Verdict.INCOMPLETE and "record.json" in one.reasons[0]


def test_a_prefix_that_was_copied_has_its_verdicts(run, machine, tmp_path):
    run("fail", off={(0, 1): 300.0})
    shutil.move(machine.folder, tmp_path / "elsewhere")
    found = stored.find(tmp_path / "elsewhere" / "reports" / "run-report-0.json")
    (one,) = judging.judge_all(found, References({}), None)
    assert one.verdict is Verdict.FAIL


def test_reports_of_earlier_versions_are_judged_now(machine, reference_folder):
    """They have no key for a digest."""
    for off, verdict in (({}, Verdict.PASS), ({(0, 1): 300.0}, Verdict.FAIL)):
        report = machine.folder / "run-report-1.json"
        report.write_text(machine.prepare("pass", off=off))
        (one,) = judging.judge_all(stored.find(report), References.load(reference_folder), None)
        assert one.verdict is verdict and not one.test.current


def test_what_is_written_fits_the_schema_and_has_the_worst_cells(machine, reference_folder):
    machine.prepare("fail", count=4, off={(0, c): 300.0 - c for c in (1, 2, 3)})
    (content,) = stored_verdicts.of_report(machine.folder / "prepared.json", reference_folder)
    schema = json.loads(verdict_file.SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(content, schema)
    (case,) = content["testcases"]
    assert content["verdict"] == case["verdict"] == "FAIL" and case["counts"] == {"PASS": 9, "FAIL": 3}
    assert (case["cells"][0]["destination"], case["cells"][0]["value"]) == ("gpu3", 297.0)
    assert content["references"]["entries"][case["testcase"]]["gpu0->gpu1"] == [396.0, -0.02, 0.02, "GB/s"]
    many = {(r, c): 300.0 for r in range(9) for c in range(9) if r != c}
    machine.prepare("fail", count=9, off=many)
    (content,) = stored_verdicts.of_report(machine.folder / "prepared.json")
    jsonschema.validate(content, schema)
    assert len(content["testcases"][0]["cells"]) <= verdict_file.MOST_CELLS


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"schema": "linkmatrix.verdict/2"}, "schema"),
        ({"verdict": "NO VERDICT"}, "verdict"),
        ({"record_sha256": "abc"}, "record_sha256"),
        ({"reasons": [{"verdict": "FAIL"}]}, "reasons"),
        ({"more": 1}, "more"),
    ],
)
def test_a_file_that_does_not_fit_the_schema_is_refused_in_a_sentence(machine, reference_folder, change, place):
    machine.prepare("pass")
    (content,) = stored_verdicts.of_report(machine.folder / "prepared.json", reference_folder)
    digest = verdict_file.write(machine.folder, content | change)
    with pytest.raises(BadInput, match=place) as error:
        verdict_file.read(machine.folder / "verdict.json", digest)
    assert "measure again" in str(error.value)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_file_with_a_number_that_json_lacks_is_refused(machine, reference_folder, number):
    machine.prepare("fail", off={(0, 3): 297.0})
    (content,) = stored_verdicts.of_report(machine.folder / "prepared.json", reference_folder)
    content["testcases"][0]["cells"][0]["value"] = "a number"
    file = machine.folder / "verdict.json"
    file.write_text(json.dumps(content).replace('"a number"', number))
    with pytest.raises(BadInput, match="measure again"):
        verdict_file.read(file)


def test_a_simulated_fault_stands_in_the_verdict(machine, make_record):
    content = make_record() | {"notes": ["simulated fault: slow:gpu1"]}
    machine.prepare("pass", content=content)
    (stored_content,) = stored_verdicts.of_report(machine.folder / "prepared.json")
    assert stored_content["simulated"] == "slow:gpu1"


def put(machine):
    """The prepared report as a stored one."""
    reports = machine.folder / "reports"
    reports.mkdir(exist_ok=True)
    return Path(shutil.copy(machine.folder / "prepared.json", reports / "run-report-0.json"))


def judged(path, references):
    return judging.judge_all(stored.find(path), References.load(references), None)


def test_a_copied_prefix_keeps_its_verdicts_where_the_original_folder_has_another_run(
    machine, reference_folder, tmp_path
):
    """An archive of machine A, read where machine B or a later run has the same paths."""
    machine.prepare("fail", off={(0, 1): 300.0})
    stored_verdicts.of_report(machine.folder / "prepared.json", reference_folder)
    put(machine)
    archive = tmp_path / "archive"
    shutil.copytree(machine.folder, archive)
    (case,) = json.loads((machine.folder / "prepared.json").read_text())["runs"][0]["testcases"]
    place = Path(case["outputdir"])
    record = json.loads((place / "record.json").read_text())
    for grid in ("values", "low", "high"):
        record["results"][0][grid][0][1] = 396.0
    record["results"][0]["sampled"][0][1] = [396.0] * 7
    (place / "record.json").write_text(json.dumps(record))
    stored_verdicts.store({**case, "result": "pass"}, reference_folder)
    (one,) = judged(archive / "reports" / "run-report-0.json", reference_folder)
    assert one.verdict is Verdict.FAIL and one.evaluation is not None, one.reasons


def test_a_stored_fail_stays_where_only_its_record_is_gone(machine, reference_folder):
    """ReFrame's report contains the SHA-256 of verdict.json: a removed record.json makes no FAIL milder."""
    machine.prepare("fail")
    path = machine.folder / "prepared.json"
    stored_verdicts.of_report(path, reference_folder, CheckFacts(reasons=(PROMISE,)))
    (case,) = json.loads(path.read_text())["runs"][0]["testcases"]
    report = put(machine)
    (before,) = judged(report, reference_folder)
    assert before.verdict is Verdict.FAIL
    (Path(case["outputdir"]) / "record.json").unlink()
    (one,) = judged(report, reference_folder)
    assert one.verdict is Verdict.FAIL and PROMISE.sentence in one.reasons


@pytest.mark.parametrize("by", ["record", "folder"])
def test_a_record_beside_its_verdict_is_shown_with_it(machine, reference_folder, by, capsys):
    """The check found that GPUs are missing; no cell of the record shows that."""
    machine.prepare("fail")
    path = machine.folder / "prepared.json"
    (content,) = stored_verdicts.of_report(path, reference_folder, CheckFacts(reasons=(PROMISE,)))
    assert content["verdict"] == "FAIL"
    (case,) = json.loads(path.read_text())["runs"][0]["testcases"]
    code = cli.main(["show", case["outputdir"] + ("/record.json" if by == "record" else "")])
    assert code == 1, capsys.readouterr().out[:300]


def test_a_verdict_about_another_record_is_not_taken_for_a_record_alone(machine, reference_folder, make_record):
    machine.prepare("fail")
    path = machine.folder / "prepared.json"
    stored_verdicts.of_report(path, reference_folder, CheckFacts(reasons=(PROMISE,)))
    (case,) = json.loads(path.read_text())["runs"][0]["testcases"]
    record = Path(case["outputdir"]) / "record.json"
    record.write_text(json.dumps(make_record(off={(0, 1): 395.0})))
    assert cli.main(["show", str(record)]) == 0


def test_a_verdict_of_another_test_is_not_taken(machine, reference_folder):
    """verdict.json names its test: the second test case does not get the PASS of the first."""
    machine.prepare("pass", "pass")
    path = machine.folder / "prepared.json"
    stored_verdicts.of_report(path, reference_folder)
    report = json.loads(path.read_text())
    first, second = report["runs"][0]["testcases"]
    second |= {name: first[name] for name in ("verdict_sha256", "verdict_file")}
    path.write_text(json.dumps(report))
    _, other = judged(put(machine), reference_folder)
    assert other.verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize(("known", "verdict"), [(True, Verdict.NOT_JUDGED), (False, Verdict.INCOMPLETE)])
def test_cells_without_a_reference_have_the_same_verdict_from_the_stored_references(run, tmp_path, known, verdict):
    """A test case that a known table lacks is not judged; a table that does not exist is missing."""
    file = tmp_path / "references" / "p2p.yaml"
    file.write_text(file.read_text().replace(f"{TESTCASE}:", "another_testcase:"))
    one = run("pass" if known else "fail", references=file if known else None)
    assert one.verdict is verdict and [matrix.verdict for _, matrix in one.matrices] == [verdict]
