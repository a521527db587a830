"""Samples of a record: counts, times, short samples and comparisons that contradict each other are refused."""

import json
from pathlib import Path

import pytest
from damaged_records import changed, refusal

from linkmatrix.record import reading
from linkmatrix.show import matrix_text

DATA = Path(__file__).parents[1] / "data"
R = ("results", 0)


def with_coverage(wrong):
    """A record of which one cell had wrong data after so many of 66 samples."""
    content = json.loads(json.dumps(reading.load(DATA / "h200x4_write_ce.record.json")))
    content["result"] = "FAIL"
    result = content["results"][0]
    row, column = result["rows"][0], result["columns"][1]
    result["status"][0][1], result["verified"], result["complete"] = "corrupt", False, False
    result["coverage"] = {
        **{"samples": 792, "wrong_samples": wrong, "transfers": 1584, "compared_transfers": 792},
        **{"compared_share": 0.8, "wrong": [{"row": row, "column": column, "samples": 66, "wrong_samples": wrong}]},
    }
    return content


def test_how_many_samples_were_wrong_is_read_and_shown(tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(with_coverage(3)))
    result = reading.load(path)["results"][0]
    assert result["coverage"]["compared_transfers"] / result["coverage"]["transfers"] == 0.5
    assert "3 of 66 samples" in matrix_text.verification(result)


@pytest.mark.parametrize(
    ("shares", "stated"),
    [
        ([0.114], "11 % of one transfer per sample"),
        ([0.016], "1.6 % of one transfer per sample"),
        ([0.34, 1], "34 % or more of one transfer per sample"),
        ([1, 1], "one transfer per sample"),
    ],
)
def test_how_much_data_was_compared_is_shown(shares, stated):
    result = reading.load(DATA / "h200x4_write_ce.record.json")["results"][0]
    assert matrix_text.verification(result) == "data verified", "a record without its share"
    results = [{**result, "coverage": {"compared_share": share}} for share in shares]
    assert matrix_text.verification(*results) == f"data verified ({stated})"


def test_a_cell_without_a_wrong_sample_is_none_of_the_wrong_ones(tmp_path):
    assert "wrong_samples" in refusal(tmp_path, with_coverage(0))


def test_what_converged_from_too_few_samples_is_refused(tmp_path, make_record):
    content = make_record()
    content["results"][0]["samples"][0][1] = 5
    content["results"][0]["sampled"][0][1] = [396.0] * 5
    assert "with 5 samples, but an interval needs 6" in refusal(tmp_path, content)
    content["results"][0]["converged"][0][1] = False
    reading.check(content)


def test_times_and_lists_of_samples_agree_with_the_cells(tmp_path, make_record):
    backwards = changed(make_record(), *R, "ended", 1, 0, to=0.01)
    assert "ended at 0.01 s, before it began at 0.05 s" in refusal(tmp_path, backwards)
    fewer = changed(make_record(), *R, "sampled", 1, 0, to=[396.0] * 6)
    assert "has 7 samples, but 6 are listed" in refusal(tmp_path, fewer)
    refusal(tmp_path, changed(make_record(), *R, "sampled", to=lambda rows: rows[:-1]))
    refusal(tmp_path, changed(make_record(), *R, "round", to=lambda rows: rows[:-1]))
    reading.check(changed(make_record(), *R, "sampled", to=None))


def short_samples(asked=4, count=2, passes=2):
    """What a result of three endpoints says of its short samples."""
    cell = [395.0] * count
    values = [[[] if r == c else cell for c in range(3)] for r in range(3)]
    return {
        "asked": asked,
        "fewest": count * passes,
        "bytes": 2**26,
        "transfers": 1,
        "passes": [{"began": n + 0.1, "ended": n + 0.2, "values": values} for n in range(passes)],
    }


@pytest.mark.parametrize("passes", [0, 2])
def test_short_samples_are_a_part_of_a_result_that_may_be_missing(make_record, passes):
    content = make_record(count=3)
    content["results"][0]["short_samples"] = short_samples(passes=passes)
    reading.check(content)


SHORT = {
    "order": (("passes", 1, "began"), 0.15, "order of time"),
    "backwards": (("passes", 1, "ended"), 1.0, "order of time"),
    "rows": (("passes", 0, "values"), [[[395.0]] * 3] * 2, "3 rows of 3 cells"),
    "columns": (("passes", 0, "values"), [[[395.0]] * 2] * 3, "3 rows of 3 cells"),
    "zero": (("passes", 0, "values", 0, 1, 0), 0, "sample of 0"),
    "too many": (("asked",), 3, "4 samples, but 3 were requested"),
    "fewer": (("fewest",), 3, "'fewest' is 3, but a cell has 4"),
    "negative": (("passes", 0, "values", 0, 1, 0), -1, "-1"),
    "no asked": (("asked",), None, "asked"),
}


@pytest.mark.parametrize("what", SHORT)
def test_short_samples_that_contradict_themselves_are_refused(tmp_path, make_record, what):
    steps, to, said = SHORT[what]
    content = make_record(count=3)
    content["results"][0]["short_samples"] = short_samples()
    assert said in refusal(tmp_path, changed(content, *R, "short_samples", *steps, to=to))


def coverage(**other):
    """What a result says of the comparison of its data."""
    return {"samples": 14, "wrong_samples": 0, "transfers": 99, "compared_transfers": 14, "compared_share": 1} | {
        "wrong": [],
        **other,
    }


WRONG = {"row": "gpu0", "column": "gpu1", "samples": 7, "wrong_samples": 3}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"wrong_samples": 3, "wrong": [WRONG]}, "wrong data arrived in gpu0->gpu1, but its status is 'ok'"),
        ({"wrong_samples": 3, "wrong": [WRONG | {"row": "gpu9"}]}, "gpu9->gpu1 is not a cell of the matrix"),
        ({"wrong_samples": 3}, "contradict each other"),
        ({"compared_transfers": 100}, "contradict each other"),
    ],
)
def test_wrong_samples_of_a_cell_that_is_ok_are_refused(tmp_path, make_record, other, said):
    content = make_record(count=3)
    content["results"][0]["coverage"] = coverage()
    reading.check(content)
    assert said in refusal(tmp_path, changed(content, *R, "coverage", to=coverage(**other)))
