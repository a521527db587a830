"""A contract on tests whose checks stored a verdict: the bundle contains it, and the limits judge again."""

import json

import pytest
from contracts import Sold

from linkmatrix.contract import bundle
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Reason, Verdict
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.runs import verdict_file

MEMBER = "records/1-0-0/verdict.json"


@pytest.fixture
def sold(machine, tmp_path, capsys):
    return Sold(tmp_path / "sold", machine, capsys)


def stored(machine, sold, reference_folder, reasons=(), **changes):
    """Prepares a run whose check stored a verdict, with references of the site and findings of its own."""
    machine.prepare("pass", **changes)
    (path,) = (machine.folder / "output").glob(f"0-{machine.prepared}/record.json")
    record, references = reading.load(path), References.load(reference_folder)
    check = CheckFacts(reasons=tuple(reasons))
    found = judge_test(record, check, references, "hgx")
    subject = verdict_file.Subject("intranode_p2p %testcase=0", "uuid", record, verdict_file.sha256(path.read_bytes()))
    digest = verdict_file.write(path.parent, verdict_file.content_of(subject, found, check, references))
    said = {"verdict_sha256": digest, "verdict_file": str(path.with_name(verdict_file.FILE)), "job_began": True}
    failed = {"result": "fail", "fail_phase": "sanity"} if found.verdict >= Verdict.DISTURBED else {}
    sold.cases(lambda runs: [{"testcases": [{**case, **said, **failed} for case in run["testcases"]]} for run in runs])
    return found.verdict


def test_the_limits_of_a_contract_judge_again_what_failed_the_references_of_the_site(sold, machine, reference_folder):
    assert stored(machine, sold, reference_folder, off={(0, 1): 385.0}) is Verdict.FAIL
    sold.freeze(low=380.0)
    code, out = sold.run()
    assert code == 0 and MEMBER in bundle.unpacked(sold.bundle.read_bytes(), sold.bundle), out
    assert sold.verify()[0] == 0


def test_what_a_check_found_stays_under_the_limits_of_a_contract(sold, machine, reference_folder):
    reason = Reason(Verdict.FAIL, "gpu3->gpu0 is NV6, expected NV18")
    assert stored(machine, sold, reference_folder, [reason]) is Verdict.FAIL
    sold.freeze()
    code, out = sold.run()
    assert code == 1 and reason.sentence in out
    assert sold.verify()[0] == 1


def test_a_verdict_that_is_missing_or_was_changed_is_incomplete(sold, machine, reference_folder):
    stored(machine, sold, reference_folder)
    sold.freeze()
    (file,) = (machine.folder / "output").glob(f"0-{machine.prepared}/verdict.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "verdict": "WARN"}))
    code, out = sold.run()
    assert code == 3 and "SHA-256" in out


def test_a_contract_is_not_met_beside_another_process(sold, machine, reference_folder):
    """The cell is outside its limit, and another process had a context on the node."""
    stored(machine, sold, reference_folder, off={(0, 1): 300.0})
    (path,) = (machine.folder / "output").glob(f"0-{machine.prepared}/record.json")
    record = json.loads(path.read_text())
    process = {"pid": 6129, "name": "hog", "user": "root", "where": "gpu0", "bytes": None, "seconds": None}
    others = {"seconds": 1.0, "shared": True, "uses": [], "nodes": [], "processes": [process], "untold": []}
    node = record["devices"][0]["node"]
    found = [{"node": node, "kind": "context", "where": "gpu0", "share": None, "pids": [6129]}]
    record["results"][0]["others"] = {**others, "disturbances": found, "ignored": []}
    path.write_text(json.dumps(record))
    sold.cases(lambda runs: [{"testcases": [without_verdict(case) for case in run["testcases"]]} for run in runs])
    sold.freeze()
    code, out = sold.run()
    assert code == 3 and "DISTURBED" in out and "pid 6129 (hog of root)" in out
    assert "pid 6129" in sold.bundle.with_suffix(".html").read_text()


def without_verdict(case):
    """The case as a report of an earlier version has it."""
    return {name: value for name, value in case.items() if not name.startswith(("verdict_", "job_", "fail_"))} | {
        "result": "pass"
    }
