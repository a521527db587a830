"""Runs under a contract: none that was measured is forgotten, and wrong data or a FAIL is not repeated away."""

import json
import time

import pytest
import stores
from contracts import TESTCASE, Sold

from linkmatrix import files, lock
from linkmatrix.contract import collecting, sessions
from linkmatrix.contract.terms import WORD
from linkmatrix.runs import reframe_output


@pytest.fixture
def sold(machine, tmp_path, capsys):
    machine.prepare("pass")
    return Sold(tmp_path / "sold", machine, capsys)


def test_a_failure_stays_though_what_follows_the_measurement_cannot_be_read(sold, machine):
    sold.freeze(low=395.0)
    machine.prepare("pass", value=300.0)
    references = machine.folder.parent / "repository/config/references"
    for broken, text in ((machine.folder / "notes.json", "{"), (references / "zz.yaml", "a: [")):
        broken.write_text(text)
        first = sold.folder / f"{broken.stem}.tar"
        code, out = sold.run(first)
        assert code == 1 and "FAIL  'Lot 1'" in out and first.is_file(), out
        broken.unlink()
    machine.prepare("pass")
    sold.later()
    code, out = sold.run()
    assert code == 1 and "run 1 of" in out and "run 2 of" in out and "was FAIL: " in out


def first_attempt(write_record, folder, **changes):
    """Before the prepared attempt one with another record."""

    def again(runs):
        (case,) = runs[0]["testcases"]
        write_record(path=folder / "record.json", **changes)
        record = json.loads((folder / "record.json").read_text()) | {"started": "2026-11-21T01:40:00Z"}
        (folder / "record.json").write_text(json.dumps(record))
        before = {**case, "outputdir": str(folder), "stagedir": str(folder)}
        return [{"testcases": [before]}, {"testcases": [{**case, "run_index": 1}]}]

    return again


def test_no_retry_takes_back_wrong_data(sold, write_record, tmp_path):
    sold.cases(first_attempt(write_record, tmp_path / "first", off={(0, 1): "corrupt"}))
    sold.freeze(retries=1)
    code, out = sold.run()
    assert code == 1 and "no repetition takes back wrong data" in out, out
    assert sold.verify()[0] == 1


def test_no_later_run_takes_back_wrong_data(sold, machine):
    sold.freeze(retries=3)
    machine.prepare("pass", off={(0, 1): "corrupt"})
    assert sold.run(sold.folder / "first.tar")[0] == 1
    machine.prepare("pass")
    sold.later()
    code, out = sold.run()
    assert code == 1 and "no repetition takes back wrong data" in out, out
    assert sold.verify()[0] == 1


@pytest.mark.parametrize(("allowed", "wanted", "word"), [(0, 1, "FAIL"), (1, 0, "WARN")])
def test_an_earlier_run_that_failed_counts_as_a_retry(sold, machine, allowed, wanted, word):
    sold.freeze(low=395.0, retries=allowed)
    machine.prepare("pass", value=394.0)
    assert sold.run(sold.folder / "first.tar")[0] == 1
    machine.prepare("pass")
    sold.later()
    code, out = sold.run()
    assert code == wanted and f"{word}  'Lot 1'" in out and "was FAIL: " in out, out
    assert sold.verify()[0] == wanted


def test_wrong_data_beyond_the_contract_on_what_was_sold_is_told(sold, write_record, tmp_path):
    def more(runs):
        (case,) = runs[0]["testcases"]
        path = write_record(path=tmp_path / "other" / "record.json", off={(0, 1): "corrupt"})
        text = path.read_text().replace(TESTCASE, "device_to_device_memcpy_read_ce")
        path.write_text(text.replace("01:50:22Z", "01:51:22Z"))
        wrong = {"name": "other", "display_name": "other", "result": "fail", "fail_reason": "wrong data"}
        return [{"testcases": [case, {**case, **wrong, "outputdir": str(path.parent), "stagedir": str(path.parent)}]}]

    sold.cases(more)
    sold.freeze()
    code, out = sold.run()
    assert code == 0 and "WARN  'Lot 1'" in out and "other, no part of the contract, had wrong data on node001" in out


def test_a_run_that_was_killed_before_it_named_its_report_is_judged(sold, machine, monkeypatch):
    sold.freeze(low=395.0)
    machine.prepare("pass", value=300.0)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(collecting, "ended", killed)
        assert sold.run(sold.folder / "first.tar")[0] == 4
    machine.prepare("pass")
    sold.later()
    code, out = sold.run()
    assert code == 1 and "run 1 of" in out and "run 2 of" not in out and "was FAIL: " in out, out


def test_a_run_whose_entry_was_removed_is_found_by_its_report(sold, machine):
    sold.freeze(low=395.0)
    machine.prepare("pass", value=300.0)
    assert sold.run(sold.folder / "first.tar")[0] == 1
    for file in (machine.folder / "contracts").iterdir():
        file.unlink()
    machine.prepare("pass")
    sold.later()
    code, out = sold.run()
    assert code == 1 and "run 1 of" in out and "was FAIL: " in out, out


def test_a_run_that_another_one_kept_from_starting_is_none(sold, machine):
    sold.freeze()
    with lock.held(machine.folder / "locks" / "node-gpu.lock"):
        code, out = sold.run()
    assert code == 4 and "not started" in out
    assert "PASS  'Lot 1'" in sold.run()[1]


@pytest.mark.parametrize(("known", "said"), [(("uuid", "serial"), "UUID GPU-990"), (("serial",), "serial 990")])
def test_a_device_that_was_measured_on_two_nodes_is_no_part_of_both(sold, machine, make_record, known, said):
    nodes = ("n1", "n2")

    def each(runs):
        (case,) = runs[0]["testcases"]
        found = []
        for at, node in enumerate(nodes):
            record = stores.of_node(make_record(), node) | {"started": f"2026-11-21T01:4{at}:00Z"}
            for slot, device in enumerate(record["devices"]):
                texts = {"uuid": f"GPU-99{slot}", "serial": f"99{slot}"}
                device["part"] = {name: texts[name] for name in known}
                device["uuid"] = device["part"].get("uuid")
            folder = machine.folder / "output" / f"0-{node}"
            folder.mkdir(parents=True)
            (folder / "record.json").write_text(json.dumps(record))
            of = {"display_name": f"intranode_p2p %node={node}", "outputdir": str(folder), "stagedir": str(folder)}
            found.append({**case, **of})
        return [{"testcases": found}]

    sold.cases(each)
    sold.freeze(parts=[{"node": node} for node in nodes for _ in range(4)])
    code, out = sold.run()
    assert code == 3 and f"{said} was measured on n1 and on n2: one device is no part of two nodes" in out, out
    assert sold.verify()[0] == 3


def test_a_run_that_begins_before_the_one_before_it_has_named_its_report_keeps_its_own(sold, machine):
    terms = sold.freeze()
    collecting.begin(machine.folder, terms)
    report = machine.folder / "reports" / "run-report-0.json"
    report.parent.mkdir()
    session = {"cmdline": f"reframe {WORD}{terms.digest}", "time_start_unix": time.time() + 1}
    report.write_text(json.dumps({"session_info": session, "runs": []}))
    collecting.begin(machine.folder, terms)
    collecting.ended(machine.folder, terms, report)
    assert [one.report for one in collecting.begun_under(machine.folder, terms)] == [report.name, None]


def test_what_a_killed_run_leaves_while_the_next_one_measures_is_judged(sold, machine, monkeypatch):
    terms = sold.freeze(low=395.0)
    first = sessions.Begun("2026-11-21T01:44:00Z")  # and killed
    files.write_whole(collecting.kept(machine.folder, terms), sessions.to_json(terms, [first]))
    failed, own = (json.loads(machine.prepare("pass", value=value)) for value in (300.0, 396.0))
    failed["session_info"] = {"cmdline": f"reframe {WORD}{terms.digest}", "time_start_unix": 1795225500.0}
    own["session_info"]["time_start_unix"] = 1795225500.0 + 86400
    (machine.folder / "prepared.json").write_text(json.dumps(own))
    sold.later()

    def measure(*arguments):
        (machine.folder / "reports" / "run-report-late.json").write_text(json.dumps(failed))
        return supervised(*arguments)

    supervised = reframe_output.supervised
    monkeypatch.setattr(reframe_output, "supervised", measure)
    code, out = sold.run()
    assert code == 1 and "run 1 of" in out and "run 2 of" not in out and "was FAIL: " in out, out
    assert sold.verify()[0] == 1
