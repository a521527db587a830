"""Records: whatever is not whole and consistent is refused in one sentence that names the file."""

import json
import math
import re
from pathlib import Path

import jsonschema
import pytest
from damaged_records import changed, refusal
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.errors import BadInput
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import names, reading
from linkmatrix.references.tables import References

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize(
    "name", ["h200x4_write_ce", "h200x4_full", "h200x4_sweep", "h200x2_blocks", "h200x4_gate_failed"]
)
def test_records_of_real_runs_are_read(name):
    assert reading.load(DATA / f"{name}.record.json")["backend"] == "cuda"


def test_a_run_that_failed_in_the_middle_keeps_what_it_measured():
    broken = reading.load(DATA / "h200x4_gate_failed.record.json")
    assert broken["result"] == "ERROR"
    assert "gate" in broken["error"]
    assert [result["complete"] for result in broken["results"]] == [True] * 19 + [False]


def test_a_record_that_was_cut_is_refused(tmp_path):
    content = (DATA / "h200x4_write_ce.record.json").read_bytes()
    for length in range(0, len(content.rstrip()), 7):
        refusal(tmp_path, content[:length])


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        reading.load(tmp_path / "none.json")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_refused(tmp_path, make_record, number):
    content = make_record()
    content["results"][0]["values"][0][1] = number
    refusal(tmp_path, content)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 400])
def test_numbers_that_no_computer_holds_are_refused(tmp_path, make_record, number):
    for known in ('"seconds": 1.5', '"interference": 0.0005', '"low": [[null, 396.0'):
        text = json.dumps(make_record())
        assert known in text
        refusal(tmp_path, text.replace(known, re.sub(r"[\d.]+$", number, known)).encode())


def test_a_key_that_comes_twice_and_what_is_no_utf8_are_refused(tmp_path):
    assert "twice" in refusal(tmp_path, b'{"schema": "linkmatrix.record/2", "schema": "linkmatrix.record/2"}')
    assert "UTF-8" in refusal(tmp_path, b"\xff\xfe{}")


def not_applicable(result, row, column):
    """A copy in which a cell is left out of what has to be measured."""
    for steps, to in (("status", "not-applicable"), ("values", None), ("low", None), ("high", None)):
        result = changed(result, steps, row, column, to=to)
    return result


def without_last(result):
    """A copy without the last row and column, consistent in itself."""
    maps = {name: [row[:-1] for row in result[name][:-1]] for name in reading.CELL_MAPS}
    return {**result, **maps, "rows": result["rows"][:-1], "columns": result["columns"][:-1]}


R = ("results", 0)
DAMAGES = {
    "another schema": (("schema",), "linkmatrix.record/x"),
    "an unknown field": (("results",), lambda results: [{**results[0], "verdict": "PASS"}]),
    "a wrong unit": ((*R, "unit"), "MB/s"),
    "a unit in the wrong case": ((*R, "unit"), "gb/s"),
    "a missing row": ((*R, "values"), lambda rows: rows[:-1]),
    "a ragged row": ((*R, "values", 1), lambda row: row[:-1]),
    "a ragged status": ((*R, "status", 1), lambda row: row[:-1]),
    "a ragged limit": ((*R, "limit", 1), lambda row: [*row, None]),
    "a missing row of the topology": (("topology", "link_class"), lambda rows: rows[:-1]),
    "a topology of other devices": (("topology", "labels"), lambda labels: labels[::-1]),
    "a device twice": (("devices",), lambda devices: [*devices[:-1], devices[0]]),
    "a row label twice": ((*R, "rows"), lambda labels: [labels[0], *labels[:-1]]),
    "a value without its status": ((*R, "status", 0, 1), "timeout"),
    "a status without its value": ((*R, "values", 0, 1), None),
    "a value of zero": ((*R, "values", 0, 1), 0),
    "a negative value": ((*R, "values", 0, 1), -5.0),
    "a value out of its interval": ((*R, "high", 0, 1), 100.0),
    "a value without samples": ((*R, "samples", 0, 1), 0),
    "an unknown status": ((*R, "status", 0, 1), "fine"),
    "complete, and it is not": ((*R, "complete"), False),
    "a host name with markup": (("host", "name"), "<img src=x>"),
    "a host name that climbs": (("host", "name"), "../../etc"),
    "a control character": (("devices", 0, "name"), "H200\u001b[2J"),
    "a host name with a line end": (("host", "name"), "node001\n"),
    "a test case with a line end": ((*R, "testcase"), "case\n"),
    "a start without time zone": (("started",), "2026-11-21 08:00:00"),
    "a start with a line end": (("started",), "2026-11-21T08:00:00Z\n"),
    "a pair that is said not to apply": (("results",), lambda results: [not_applicable(results[0], 0, 1)]),
    "a matrix without the last device": (("results",), lambda results: [without_last(results[0])]),
    "passed, with an error": (("error",), "gpu0 is gone"),
    "a control cell without its second value": (
        ("results",),
        lambda results: [{**results[0], "controls": [{"row": "gpu0", "column": "gpu1", "before": 396.0}]}],
    ),
    "a text in place of results": (("results",), "none"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_refused(tmp_path, make_record, damage):
    steps, to = DAMAGES[damage]
    refusal(tmp_path, changed(make_record(), *steps, to=to))


def test_a_record_of_a_later_version_is_refused_with_the_way_out(tmp_path, make_record):
    said = refusal(tmp_path, {**make_record(), "schema": "linkmatrix.record/3", "a field of then": 1})
    assert "its format, linkmatrix.record/3, is newer than this version" in said
    assert "update linkmatrix" in said and "measure again" not in said


@pytest.mark.parametrize("field", ["schema", "results", "result", "topology", "devices", "notes"])
def test_a_missing_block_is_refused(tmp_path, make_record, field):
    content = make_record()
    del content[field]
    refusal(tmp_path, content)


def test_corrupt_cells_contradict_verified(tmp_path, make_record):
    content = make_record(off={(0, 1): "corrupt"}, result="FAIL")
    reading.check(content)
    content["results"][0]["verified"] = True
    assert "corrupt" in refusal(tmp_path, content)


def test_a_triangle_and_a_diagonal_are_whole_where_they_were_asked_for(tmp_path, make_record):
    content = make_record()
    (result,) = content["results"]
    assert result["status"][0][0] == "not-applicable"
    for name in reading.CELL_MAPS:
        result[name][0][0] = result[name][0][1]
        for device in range(1, len(result["rows"])):
            result[name][device][device] = result[name][0][1]
    said = refusal(tmp_path, content)
    assert "diagonal" in said
    result["local_copy"] = True
    reading.check(content)
    result["triangle"] = True
    assert "diagonal" in refusal(tmp_path, content)


def test_only_counters_that_rose_are_findings(make_record):
    content = make_record()
    assert names.counter_rises(content) == []
    steady, risen = {"name": "xid", "before": 2, "after": 2}, {"name": "nvlink_replay", "before": 1, "after": 6}
    unknown, new = {"name": "pcie_replay", "before": 4, "after": None}, {"name": "xid_79", "before": None, "after": 1}
    late = {"name": "ecc_uncorrected", "before": None, "after": 5000}  # of years, maybe
    back = {"name": "pcie_replay_rollover", "before": 9, "after": 3}
    content["health"] = [{"label": "gpu1", "counters": [steady, risen, unknown, new, late, back], "readings": []}]
    reading.check(content)
    assert [one.sentence for one in names.counter_rises(content)] == [
        "gpu1: nvlink_replay rose from 1 to 6 during the run",
        "gpu1: xid_79 rose from 0 to 1 during the run",
    ]


@given(
    st.sampled_from(["numbers", "counts", "flags", "words", "signed"]),
    st.lists(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-2, 2),
            st.sampled_from([10**9, 10**9 + 1, -1.5, 0.0, 2.5, 1e9, 1.1e9, "ok", "", "\x00", "a\n", 1e300]),
        ),
        min_size=reading.MANY,
        max_size=20,
    ),
)
def test_a_long_row_is_checked_as_every_single_cell_would_be(name, row):
    schema = {**reading.schema(), "$ref": f"#/$defs/{name}"}
    schema = {key: schema[key] for key in ("$schema", "$defs", "$ref") if key in schema}
    strict = jsonschema.Draft202012Validator(schema)
    assert strict.is_valid(reading.thinned([row])) == all(strict.is_valid([[cell]]) for cell in row)


def test_a_number_of_many_digits_and_an_exponent_is_refused(tmp_path, make_record):
    text = json.dumps(make_record()).replace('"seconds": 1.5', '"seconds": ' + "9" * 299 + "e99")
    assert "the number " in refusal(tmp_path, text.encode())


CONTRADICTIONS = {
    "an endpoint that was lost": (("lost",), [{"label": "gpu3", "why": "out of memory"}], "gpu3 was lost"),
    "a test case that is missing": (("expected",), ["device_local_copy"], "device_local_copy was not measured"),
    "data that was not all verified": ((*R, "verified"), False, "not all verified"),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_a_pass_is_refused_with(tmp_path, make_record, what):
    steps, to, said = CONTRADICTIONS[what]
    content = changed(make_record(), *steps, to=to)
    assert said in refusal(tmp_path, content)
    reading.check({**content, "result": "FAIL"})


@pytest.mark.parametrize("word", ["timeout", "corrupt"])
def test_a_pass_of_a_matrix_that_is_not_whole_is_refused(tmp_path, make_record, word):
    content = make_record(off={(0, 1): word})
    reading.check(content)
    assert "not complete" in refusal(tmp_path, {**content, "result": "PASS"})


def test_a_run_that_has_not_ended_is_no_pass_for_anybody(tmp_path, make_record, reference_folder, linkmatrix):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(make_record(result="INCOMPLETE")))
    evaluation = evaluate(reading.load(path), References.load(reference_folder), "hgx")
    assert evaluation.verdict is Verdict.INCOMPLETE
    references = ["--references", str(reference_folder), "--reference", "hgx"]
    assert "INCOMPLETE" in linkmatrix.out("show", path, *references, code=3)


def test_a_record_of_a_development_version_is_refused_by_its_name(make_record):
    with pytest.raises(BadInput, match=r"linkmatrix\.record/1 is of a development version"):
        reading.check({**make_record(), "schema": "linkmatrix.record/1"})
