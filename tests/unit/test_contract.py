"""A contract: what was sold is frozen, measured and proven; what is missing, late or repeated is never a PASS."""

import hashlib
import json
from datetime import datetime, timezone

import pytest
from contracts import SERIALS, TESTCASE, Sold, draft_of, limits_of

from linkmatrix import cli
from linkmatrix.contract import bundle, collecting, terms
from linkmatrix.contract.inventory import Inventory
from linkmatrix.judge.verdicts import Verdict


@pytest.fixture
def sold(machine, tmp_path, capsys):
    machine.prepare("pass")
    return Sold(tmp_path / "sold", machine, capsys)


def test_what_was_sold_and_is_there_passes_and_is_proven_anywhere(sold, tmp_path, monkeypatch):
    sold.freeze()
    code, out = sold.run()
    assert code == 0 and out.rstrip().endswith(str(sold.bundle.with_suffix(".html"))), out
    assert "PASS  'Lot 1'" in out and "12 in 1 records; nearest to its limit 380 GB/s: 396 GB/s" in out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "elsewhere"))
    digest = hashlib.sha256(sold.bundle.read_bytes()).hexdigest()
    page = tmp_path / "page.html"
    code, again = sold.verify("--sha256", digest, "--contract", sold.contract, "--page", page)
    assert code == 0 and digest in again and "PASS  'Lot 1'" in again
    assert page.read_bytes() == sold.bundle.with_suffix(".html").read_bytes()
    assert digest in page.read_text() and "<script" not in page.read_text()


def test_a_bundle_is_the_same_wherever_it_is_made(sold, machine):
    contract = sold.freeze()
    assert sold.run()[0] == 0
    packed, _ = collecting.made(machine.folder, sold.folder.parent / "repository", contract)
    assert packed == sold.bundle.read_bytes()
    members = bundle.unpacked(packed, sold.bundle)
    assert {"contract.json", "reports/1.json", "records/1-0-0/record.json", "verdict.json"} <= members.keys()
    assert "configuration/references/p2p.yaml" in members and b"reframe-hpc" in members["versions.json"]


def test_limits_of_the_contract_judge_and_not_the_references_of_the_site(sold, machine):
    sold.freeze(low=397.0)
    code, out = sold.run()
    assert code == 1 and "FAIL  'Lot 1'" in out and sold.verify()[0] == 1
    assert "is 0.3 % under its reference 397.00 GB/s" in out


def test_references_of_the_site_that_were_missed_are_no_matter_of_the_contract(sold, machine):
    machine.prepare("fail", value=390.0)
    failed = {"fail_phase": "performance", "fail_reason": "performance error: gpu0->gpu1 is off its reference"}
    sold.cases(lambda runs: [{"testcases": [{**case, **failed} for case in run["testcases"]]} for run in runs])
    sold.freeze(low=380.0)
    assert sold.run()[0] == 0
    sold.freeze(low=391.0)
    assert sold.run(sold.folder / "second.tar")[0] == 1


def test_a_test_that_reframe_failed_for_another_reason_is_incomplete(sold, machine):
    machine.prepare("fail")
    sold.freeze()
    assert sold.run()[0] == 3


@pytest.mark.parametrize(
    ("draft", "prepared", "said"),
    [
        ({"parts": [*draft_of()["parts"], {"node": "n2"}], "testcases": {TESTCASE: {"cells": 12}}}, {},
         "node n2 was not measured"),
        ({"serials": (*SERIALS, "1654")}, {}, "4 devices in a record, and 5 were sold"),
        ({"serials": SERIALS[:3]}, {}, "4 devices in a record, and 3 were sold"),
        ({"serials": (*SERIALS[:3], "1999")}, {}, "serial 1999 was sold for node001/slot 3, and serial 1653 in"),
        ({"serials": ("1651", "1650", *SERIALS[2:])}, {}, "serial 1651 was sold for node001/slot 0"),
        ({"testcases": {TESTCASE: {}, "device_local_copy": {"cells": 4}}}, {}, None),
        ({"testcases": {TESTCASE: {"cells": 56}}}, {}, "12 of 56 cells were judged"),
        ({"testcases": {TESTCASE: {"cells": 6}}}, {}, "12 of 6 cells were judged"),
        ({}, {"off": {(1, 2): "timeout"}}, "11 of 12 cells were judged"),
        ({}, {"off": {(1, 2): "no-peer-access"}}, "11 of 12 cells were judged"),
        ({"testcases": {TESTCASE: {"nodes": "all", "cells": 12}}, "parts": [*draft_of()["parts"], {"node": "n2"}]}, {},
         "has no record of n2, node001"),
    ],
)  # fmt: skip
def test_what_is_missing_or_another_is_incomplete(sold, machine, draft, prepared, said):
    machine.prepare("pass", **prepared)
    if said is None:
        file = sold.folder
        file.mkdir()
        with pytest.raises(ValueError, match="there is no limit for device_local_copy"):
            sold.freeze(**draft)
        return
    sold.freeze(**draft)
    code, out = sold.run()
    assert code == 3 and said in out, out
    assert sold.verify()[0] == 3


def test_a_test_case_that_was_not_measured_is_incomplete(sold, machine):
    sold.freeze()
    sold.cases(lambda runs: [{"testcases": []}])
    assert sold.run()[0] == 3
    assert "has no record of node001" in sold.verify()[1]


def test_a_report_that_never_came_is_told_of(sold, machine):
    sold.freeze()
    (machine.folder / "prepared.json").unlink()
    assert sold.run()[0] == 4 and not sold.bundle.exists()  # nothing began
    machine.prepare("pass")
    code, out = sold.run()
    assert code == 0 and "WARN  'Lot 1'" in out and "run 1 of" in out and "has no report" in out


def test_a_run_that_was_refused_before_it_began_is_none(sold, machine, capsys):
    sold.freeze()
    arguments = ["contract", "run", str(sold.contract), "--out", str(sold.bundle)]
    assert cli.main([*arguments, "--reframe", "no-such-program"]) == 4
    prepared = (machine.folder / "prepared.json").read_text()
    (machine.folder / "prepared.json").unlink()
    (machine.folder / "code").write_text("2")
    assert cli.main([*arguments, "--reframe", str(machine.reframe)]) == 2
    (machine.folder / "code").unlink()
    (machine.folder / "prepared.json").write_text(prepared)
    capsys.readouterr()
    assert "PASS  'Lot 1'" in sold.run()[1]


def test_a_run_that_failed_stays_in_the_bundle_of_the_next(sold, machine):
    contract = sold.freeze(low=395.0, retries=1)
    machine.prepare("pass", value=394.0)
    assert sold.run(sold.folder / "first.tar")[0] == 1
    machine.prepare("pass")
    sold.later()
    code, out = sold.run()
    assert code == 0 and "WARN  'Lot 1'" in out and "was FAIL: " in out
    (machine.folder / "reports" / "run-report-0.json").unlink()
    packed, ruling = collecting.made(machine.folder, sold.folder.parent / "repository", contract)
    assert ruling.verdict is Verdict.INCOMPLETE
    assert "the report of run 1 is not in the bundle" in [one.sentence for one in ruling.reasons]
    sold.bundle.write_bytes(packed)
    assert sold.verify()[0] == 3


@pytest.mark.parametrize(("allowed", "wanted", "word"), [(0, 1, "FAIL"), (1, 0, "WARN")])
def test_a_retry_hides_no_failure(sold, machine, write_record, tmp_path, allowed, wanted, word):
    def again(runs):
        (case,) = runs[0]["testcases"]
        place = tmp_path / "first attempt"
        write_record(path=place / "record.json", value=300.0)
        worse = {**case, "outputdir": str(place), "stagedir": str(place)}
        record = json.loads((place / "record.json").read_text()) | {"started": "2026-11-21T01:40:00Z"}
        (place / "record.json").write_text(json.dumps(record))
        return [{"testcases": [worse]}, {"testcases": [{**case, "run_index": 1}]}]

    sold.cases(again)
    sold.freeze(retries=allowed)
    code, out = sold.run()
    assert code == wanted and f"{word}  'Lot 1'" in out and "retry: intranode_p2p %testcase=0, attempt 1: FAIL" in out
    assert sold.verify()[0] == wanted


def test_one_measurement_that_stands_for_two_attempts_is_incomplete(sold):
    sold.cases(lambda runs: [runs[0], {"testcases": [{**runs[0]["testcases"][0], "run_index": 1}]}])
    sold.freeze(retries=1)
    code, out = sold.run()
    assert code == 3 and "one measurement counts once" in out


def test_a_contract_that_was_frozen_after_the_run_began_is_incomplete(sold):
    sold.freeze(when=datetime(2099, 1, 1, tzinfo=timezone.utc))
    code, out = sold.run()
    assert code == 3 and "before the contract was frozen at 2099-01-01T00:00:00Z" in out


def test_a_report_measured_under_no_contract_or_another_is_refused(sold, machine):
    first = sold.freeze()
    assert sold.run()[0] == 0
    other = sold.freeze(low=1.0)

    def swap(members):
        members[bundle.CONTRACT] = other.content
        runs = members[bundle.RUNS].replace(first.digest.encode(), other.digest.encode())
        members[bundle.RUNS] = runs

    sold.tampered(swap)
    code, said = sold.verify()
    assert code == 2 and "is of no run under the contract" in said


def test_another_contracts_bundle_is_refused(sold):
    sold.freeze()
    assert sold.run()[0] == 0
    sold.freeze(low=300.0)
    code, said = sold.verify("--contract", sold.contract)
    assert code == 2 and "and not of" in said
    assert sold.verify("--sha256", "0" * 64)[0] == 2 and sold.verify("--sha256", "abc")[0] == 2


def test_bad_drafts_are_one_sentence(sold, capsys):
    sold.freeze()
    good = draft_of()
    wrong = [
        {key: value for key, value in good.items() if key != "parts"},
        good | {"more": 1},
        good | {"parts": []},
        good | {"parts": [{"slot": "1"}]},
        good | {"parts": [{"node": "../x"}]},
        good | {"parts": [{"node": "n1", "serial": "1"}, {"node": "n2", "serial": "1"}]},
        good | {"parts": [{"node": "n1", "slot": "1"}, {"node": "n1", "slot": "1"}]},
        good | {"parts": [{"node": "n1.a"}, {"node": "n1.b"}]},
        good | {"testcases": {}},
        good | {"testcases": {"host_to_device_memcpy_ce": {}}},
        good | {"testcases": {TESTCASE: {"cells": 0}}},
        good | {"testcases": {TESTCASE: {"nodes": "some"}}},
        good | {"table": "other"},
        good | {"limits": "nowhere.yaml"},
        good | {"document": "nowhere.pdf"},
        good | {"mode": "fast"},
        good | {"retries": -1},
        good | {"title": "a\u001b[2Jb"},
        good | {"title": ""},
    ]
    draft, out = sold.folder / "wrong.yaml", sold.folder / "wrong.json"
    for one in wrong:
        draft.write_text(json.dumps(one))
        assert cli.main(["contract", "freeze", str(draft), "--out", str(out)]) == 2, one
        said = capsys.readouterr().err
        assert said.startswith("linkmatrix: ") and said.count("\n") == 1 and not out.exists(), said
    assert cli.main(["contract", "freeze", str(sold.folder / "draft.yaml"), "--out", str(out)]) == 0
    assert cli.main(["contract", "freeze", str(sold.folder / "draft.yaml"), "--out", str(out)]) == 2


def test_the_example_can_be_frozen(tmp_path, capsys):
    assert cli.main(["contract", "freeze", "--example"]) == 0
    (tmp_path / "lot.yaml").write_text(capsys.readouterr().out)
    (tmp_path / "quote.pdf").write_bytes(b"%PDF")
    text = limits_of(380) + "    host_to_device_memcpy_ce:\n      cell[HOST]: [50, 0, null, GB/s]\n"
    (tmp_path / "limits.yaml").write_text(text)
    assert cli.main(["contract", "freeze", str(tmp_path / "lot.yaml")]) == 0
    assert "2 parts of 1 node, 2 test cases" in "".join(capsys.readouterr())
    assert terms.load(tmp_path / "lot.contract.json").document["name"] == "quote.pdf"


def test_a_hostile_title_stays_text(sold):
    sold.freeze(title="<img src=x onerror=alert(1)> $(touch x)", buyer="<script>")
    code, _ = sold.run()
    text = sold.bundle.with_suffix(".html").read_text()
    assert code == 0 and "<img" not in text and "<script" not in text and "&lt;img" in text


def test_ranks_in_host_memory_need_not_have_the_parts_and_others_may_have_none_that_was_not_sold(sold, make_record):
    contract = sold.freeze()
    whole = make_record()
    ranks = make_record(count=2)
    for device in ranks["devices"]:
        device["part"], device["place"] = {}, {"node": "node001"}
    assert Inventory(contract, [whole, ranks]).missing == []
    some = make_record(count=3)
    some["devices"][0] |= {"node": "n2", "place": {"node": "n2", "slot": "7"}}
    assert Inventory(contract, [whole, some]).missing == []
    some["devices"][1]["part"] = {"serial": "4711"}
    assert Inventory(contract, [whole, some]).missing == ["serial 4711 in node001/slot 1 was not sold"]
    assert "node node001 was not measured" in Inventory(contract, []).missing
    assert any("4 were sold" in one for one in Inventory(contract, [ranks]).missing)
