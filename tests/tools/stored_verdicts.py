"""Stores verdicts, as checks do, for reports that a test writes."""

import json
from pathlib import Path

from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.runs import verdict_file


def store(case, references=None, check=None):
    """Judge the test case of a report by the record in its output folder, and store the verdict.

    references: a folder or a file; None for none. Returns the content of the file with the verdict.
    """
    place = Path(case["outputdir"])
    file, check = place / "record.json", check or CheckFacts()
    record = reading.load(file) if file.exists() else None
    known = References.load(references) if references else References({})
    found = judge_test(record, check, known, case.get("reference_name", ""))
    digest = verdict_file.sha256(file.read_bytes()) if record else None
    subject = verdict_file.JudgedTest(case["display_name"], "session", record, digest)
    content = verdict_file.verdict_content(subject, found, check, known)
    case["verdict_sha256"] = verdict_file.write(place, content)
    case["verdict_file"], case["job_began"] = str(place / verdict_file.FILE), True
    return content


def of_report(path, references=None, check=None):
    """Store a verdict for each test case of a prepared report."""
    report = json.loads(path.read_text())
    contents = [store(case, references, check) for run in report["runs"] for case in run["testcases"]]
    path.write_text(json.dumps(report))
    return contents
