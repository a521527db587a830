"""A bundle that was changed is refused, or judged anew by what its records say: never a PASS that they do not give."""

import json

import pytest
from apart_records import apart
from contracts import Sold

from linkmatrix.contract import bundle, collecting, terms


@pytest.fixture
def sold(machine, tmp_path, capsys):
    machine.prepare("pass")
    return Sold(tmp_path / "sold", machine, capsys)


def test_every_flipped_byte_is_refused(sold):
    sold.freeze()
    assert sold.run()[0] == 0
    whole = sold.bundle.read_bytes()
    places = {*range(0, 520), *range(0, len(whole), max(1, len(whole) // 150)), len(whole) - 1}
    for place in sorted(places):
        sold.bundle.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ValueError, match="lot.tar"):
            collecting.verified(sold.bundle)
    for cut in (0, 1, 511, 512, len(whole) // 2, len(whole) - 512):
        sold.bundle.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="lot.tar"):
            collecting.verified(sold.bundle)


def edit_record(change):
    def edit(members):
        content = json.loads(members["records/1-0-0/record.json"])
        change(content)
        members["records/1-0-0/record.json"] = json.dumps(content).encode()

    return edit


def slower(content):
    content["results"][0]["values"][0][1] = content["results"][0]["low"][0][1] = 100.0


def fewer(content):
    content["results"][0] |= {"rows": [], "columns": []}


def replace_verdict(members):
    said = json.loads(members[bundle.VERDICT])
    members[bundle.VERDICT] = terms.canonical({**said, "verdict": "PASS", "reasons": []})


def drop(name):
    return lambda members: members.pop(name)


@pytest.mark.parametrize(
    "change",
    [
        edit_record(slower),
        edit_record(fewer),
        edit_record(lambda content: content.update(started="2019-01-01T00:00:00Z")),
        edit_record(lambda content: content.update(backend="imported")),
        lambda members: members.update({"records/1-0-0/record.json": b"{"}),
        lambda members: members.update({"reports/2.json": members["reports/1.json"]}),
        lambda members: members.update({bundle.VERDICT: b"[]"}),
        lambda members: members.update({bundle.CONTRACT: members[bundle.CONTRACT].replace(b"380.0", b"100.0")}),
        lambda members: members.update({bundle.RUNS: members[bundle.RUNS].replace(b"run-report-0", b"run-report-1")}),
        drop("records/1-0-0/record.json"),
        drop("reports/1.json"),
        drop(bundle.VERSIONS),
    ],
)
def test_what_was_edited_and_hashed_anew_is_judged_anew_and_refused(sold, change):
    sold.freeze()
    assert sold.run()[0] == 0
    sold.tampered(change)
    code, said = sold.verify()
    assert code == 2 and "PASS  'Lot 1'" not in said


def edit_report(change):
    def edit(members):
        content = json.loads(members["reports/1.json"])
        change(content)
        members["reports/1.json"] = json.dumps(content).encode()

    return edit


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(runs=[7]),
        lambda content: content.update(runs={"a": 1}),
        lambda content: content["runs"][0].update(testcases=["x"]),
        lambda content: content["runs"][0]["testcases"][0].update(result=None),
        lambda content: content["runs"][0]["testcases"][0].update(display_name={"a": 1}, run_index="x"),
        lambda content: content["runs"][0]["testcases"][0].update(keep_files=3),
        lambda content: content["session_info"].update(time_start_unix="x"),
        lambda content: content["session_info"].pop("cmdline"),
    ],
)
def test_a_report_that_is_none_is_refused_in_a_sentence(sold, change):
    sold.freeze()
    assert sold.run()[0] == 0
    sold.tampered(edit_report(change))
    code, said = sold.verify()
    assert code == 2 and said.startswith("linkmatrix: ") and "/tmp/" not in said.replace(str(sold.folder), "")


def test_cells_in_a_file_that_is_gone_are_no_verdict_the_same_everywhere(sold, machine, make_record):
    (place,) = (machine.folder / "output").iterdir()
    apart(json.loads(json.dumps(make_record()).replace("NV18", "NODE")), place)
    (place / "cells.npy").unlink()
    sold.freeze()
    code, out = sold.run()
    assert code == 3 and "cells.npy" in out
    assert "/linkmatrix-" not in "".join(one for one in out.splitlines() if "cells.npy" in one)
    assert sold.verify()[0] == 3


def test_a_verdict_that_was_written_over_is_refused(sold):
    sold.freeze(low=397.0)
    assert sold.run()[0] == 1
    sold.tampered(replace_verdict)
    code, said = sold.verify()
    assert code == 2 and "it says PASS, and its records give FAIL" in said


@pytest.mark.parametrize("name", ["x" * 150 + ".npy", "a b.npy", "-x.npy"])
def test_cells_in_a_file_whose_name_no_bundle_can_hold_are_no_verdict_and_the_bundle_is_made(
    sold, machine, make_record, name
):
    (place,) = (machine.folder / "output").iterdir()
    apart(json.loads(json.dumps(make_record()).replace("NV18", "NODE")), place)
    (place / "cells.npy").rename(place / name)
    record = place / "record.json"
    record.write_text(record.read_text().replace("cells.npy", name))
    sold.freeze()
    assert sold.run()[0] == 3
    assert sold.verify()[0] == 3


@pytest.mark.parametrize("when", ["1e300", "NaN", "-1e18"])
def test_a_report_whose_time_is_none_is_refused_in_a_sentence(sold, machine, when):
    contract = sold.freeze()
    (machine.folder / "reports").mkdir()
    report = machine.folder / "reports" / "run-report-0.json"
    told = f'"cmdline": "reframe {terms.WORD}{contract.digest}"'
    report.write_text(f'{{"session_info": {{{told}, "time_start_unix": {when}}}, "runs": []}}')
    code, out = sold.run()
    assert code == 2 and "run-report-0.json is not a report of ReFrame" in out, out
