"""A certificate is PASS only for a run by committed references, and lists every attempt since their commit."""

import html
import json
import re

import pytest

from linkmatrix.judge.verdicts import Reason, Verdict
from linkmatrix.runs import bundle

SLOW = {"off": {(0, 1): 300.0}}


@pytest.fixture
def certified(site, tmp_path, linkmatrix):
    """(exit code, text of the page, output) of a certificate."""

    def run(*arguments, out="lot"):
        code, told, _ = linkmatrix("report", "--certificate", "--out", tmp_path / out, *arguments)
        page = (tmp_path / out / "certificate.html").read_text()
        return code, " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split()), told

    return run


def test_a_certificate_has_what_the_signers_need_and_is_the_same_from_its_bundle(site, certified, tmp_path, linkmatrix):
    site.measure(1)
    code, text, out = certified()
    _, digest = bundle.load(tmp_path / "lot" / "certificate.tar")
    assert code == 0 and digest in text and digest in out and "PASS" in text
    for fact in ("node001", "serial 1650", "580.159.04", "linkmatrix", "2026-11-20T12:00:00Z", "2026-11-21"):
        assert fact in text
    site.leave()
    archive = tmp_path / "lot" / "certificate.tar"
    assert certified(archive, out="again")[:2] == (code, text)
    assert linkmatrix("report", "--certificate", "--out", tmp_path / "lot", archive)[0] == 4  # one is there


def other_references(site):
    file = site.references / "p2p.yaml"
    file.write_text(file.read_text().replace("396.0", "200.0"))
    site.commit("2026-11-20T13:00:00Z")


def ignored_references(site):
    (site.folder / ".git" / "info" / "exclude").write_text("mine.yaml\n")
    (site.references / "mine.yaml").write_text((site.references / "p2p.yaml").read_text().replace("hgx", "mine"))


def cut_report(site, length):
    report = next((site.prefix / "reports").glob("run-report-*.json"))
    report.with_name("run-report-0.json").write_bytes(report.read_bytes()[:length])


@pytest.mark.parametrize(
    ("change", "verdict", "fact"),
    [
        (lambda site: site.commit("2026-11-22T00:00:00Z"), "INCOMPLETE", "before the references were committed"),
        (lambda site: (site.references / "p2p.yaml").open("a").write("#\n"), "INCOMPLETE", "not committed"),
        (lambda site: site.git("rm", "-r", "--quiet", "--cached", "config"), "INCOMPLETE", "version control"),
        (lambda site: site.measure(0, **SLOW), "WARN", "1 other attempt"),
        (lambda site: site.measure(0, day=10, **SLOW), "PASS", "PASS"),  # before the commit
        (lambda site: site.measure(2, day=22, **SLOW), "FAIL", "300.00 GB/s"),
        (lambda site: site.measure(1, attempts=[SLOW]), "WARN", "attempt 1 FAIL"),
        (lambda site: site.measure(1, attempts=[{"off": {(0, 1): "corrupt"}}]), "FAIL", "wrong data"),
        (lambda site: site.measure(1, table=""), "NOT JUDGED", "no reference for 1 result"),
        (lambda site: site.measure(1, reasons=[Reason(Verdict.FAIL, "it is NV6")]), "FAIL", "it is NV6"),
        (lambda site: site.measure(1, notes=["simulated fault: a:b"]), "INCOMPLETE", "SIMULATED: --simulate-fault a:b"),
        (other_references, "INCOMPLETE", "was judged with references that differ from the committed references"),
        (ignored_references, "INCOMPLETE", "not committed"),
        (lambda site: cut_report(site, 0), "WARN", "run-report-0.json"),
        (lambda site: cut_report(site, 20), "WARN", "run-report-0.json"),
    ],
)  # fmt: skip
def test_only_an_undoubted_run_passes(site, certified, change, verdict, fact):
    site.measure(1)
    change(site)
    code, text, out = certified()
    assert out.splitlines()[-1] == verdict and fact in text
    assert code == {"PASS": 0, "WARN": 0, "FAIL": 1}.get(verdict, 3)


@pytest.mark.parametrize(
    ("session", "mode"),
    [({"cmdline": "reframe -r --mode=acceptance"}, "acceptance"), ({"linkmatrix_mode": "quick"}, "quick")],
)
@pytest.mark.parametrize("partition", ["node:gpu", "node:gpu2"])
def test_less_than_the_manifest_is_incomplete(site, certified, session, mode, partition):
    report = site.measure(1)
    content = json.loads(report.read_text())
    content["session_info"] |= session
    report.write_text(json.dumps(content))
    cases = {"cases": {"another +cuda": 12}, "skipped": {}, "frozen": []}
    manifest = site.folder / "config" / "manifests" / "node.json"
    manifest.parent.mkdir()
    manifest.write_text(json.dumps({"partition": partition, "modes": {mode: cases}}))
    code, text, _ = certified()
    assert code == 3 and "another +cuda" in text


def test_a_run_that_was_killed_and_one_that_was_cut_off_are_attempts(site, certified):
    report = site.measure(1)
    began = {"started": "2026-11-20T13:00:00Z", "mode": "quick", "system": "", "pid": 1, "host": "n9", "timeout": 1}
    (site.prefix / "runs").mkdir()
    (site.prefix / "runs" / "began-1.json").write_text(json.dumps(began))
    (site.prefix / "reports" / "run-report-0.json").write_bytes(report.read_bytes()[:-300])
    code, text, out = certified()
    assert code == 0 and out.splitlines()[-1] == "WARN" and "2 other attempts" in text
    assert "run-report-0.json" in text and "began-1.json" in text


def test_another_name_of_a_report_and_a_relative_path_hide_no_attempt(site, certified, monkeypatch):
    report = site.measure(1)
    site.measure(0, **SLOW)
    monkeypatch.chdir(report.parent)
    _, _, out = certified(report.name)
    assert out.splitlines()[-1] == "WARN"
    other = report.rename(report.with_name("lot.json"))
    _, text, out = certified(other, out="other")
    assert out.splitlines()[-1] == "WARN" and "1 other attempt" in text


def test_a_certificate_of_a_record_says_that_it_knows_no_other_attempt(site, certified):
    site.measure(1)
    _, text, _ = certified(site.prefix / "output" / "1-0" / "record.json")
    assert "other attempts are unknown, because the record has no report" in text


def test_a_waiver_is_listed_with_its_reason_and_changes_no_verdict(site, certified):
    file = site.references / "p2p.yaml"
    for name, until in (("gpu0->gpu1", "2026-12-31"), ("gpu1->gpu0", "2026-11-01")):
        waiver = f"{name}: [$xfail, ticket 4711 until {until}, [396.0, -0.02, 0.02, GB/s]]"
        file.write_text(re.sub(f"{name}: .*", waiver, file.read_text()))
    site.commit("2026-11-20T13:00:00Z")
    site.measure(1, off={(0, 1): 300.0})
    code, text, _ = certified()
    assert code == 1 and "gpu0->gpu1: ticket 4711 until 2026-12-31" in text
    assert "gpu1->gpu0: ticket 4711 until 2026-11-01 (expired)" in text


def test_a_certificate_is_of_one_run_and_a_known_table(site, tmp_path, linkmatrix):
    report = site.measure(1)
    assert linkmatrix("report", "--certificate", report, report)[0] == 2
    assert linkmatrix("export", "--format", "bundle", report, report)[0] == 2
    assert linkmatrix("report", "--certificate", "--out", tmp_path / "lot", "--reference", "typo")[0] == 2
    assert not list((tmp_path / "lot").glob("*"))
