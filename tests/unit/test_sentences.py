"""Sentences say what is so: never all, only or every unless each cell was measured and is; a cut list says how many."""

import copy
import io
import re

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.locate.diagnosis import INSIDE
from linkmatrix.record import units
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import suspects
from linkmatrix.show import analysis, page, terminal
from linkmatrix.show.analysis import Analysis

TESTCASE = "device_to_device_memcpy_write_ce"
STRONG = re.compile(r"\b(all|every|only|always|never)\b")


def table(count):
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    cells = {f"gpu{a}->gpu{b}": Reference(396.0, -0.02, 0.05, "GB/s") for a, b in pairs}
    return References({("hgx", TESTCASE): cells})


def sentences(content, references=None):
    found = evaluate(content, references or References({}), "hgx" if references else None)
    return diagnosis.diagnose(content, content["results"][0], found.matrices[0]).sentences


def slow(make_record, cells, count=8, **more):
    return make_record(count=count, off={**dict.fromkeys(cells, 340.0), **more.pop("off", {})}, **more)


def test_single_cells_are_never_the_only_ones_and_the_rest_is_counted(make_record):
    # scattered so that no device, link or class explains them
    cells = [(r, (r + step) % 16) for r in range(16) for step in ((1, 3) if r % 2 else (5,))]
    told = sentences(slow(make_record, cells, 16), table(16))
    assert not any("only" in one for one in told)
    named = [one for one in told if one.startswith("gpu") and "->" in one]
    assert len(named) == 12 and f"and {len(cells) - 12} more slow cells" in " ".join(told)


def test_all_are_only_all_where_each_one_is(make_record):
    everything = [(r, c) for r in range(4) for c in range(4) if r != c]
    (told,) = sentences(slow(make_record, everything, 4), table(4))
    assert "all NV18 cells are 14.1 % slow (12 of 12 cells)" in told
    (told,) = sentences(slow(make_record, everything[:-1], 4), table(4))
    assert "NV18 cells are 14.1 % slow (11 of 12 cells)" in told and not STRONG.search(told)


@pytest.mark.parametrize("missing", ["timeout", None])
def test_every_peer_is_said_only_where_each_is_measured_and_slow(make_record, missing):
    row = [(3, c) for c in range(8) if c != 3]
    assert "slow to every peer, receives fine (7 of 7 cells)" in sentences(slow(make_record, row), table(8))[0]
    content = slow(make_record, row[:-1], off={row[-1]: missing} if missing else {})
    told = sentences(content, table(8))[0]
    assert "gpu3 sends 14.1 % slow" in told and "every" not in told


def test_what_is_called_fine_was_measured_and_is(make_record):
    row = [(3, c) for c in range(8) if c != 3]
    assert "receives fine" in sentences(slow(make_record, row), table(8))[0]
    assert not any(
        "fine" in one for one in sentences(slow(make_record, [*row, (5, 3)]), table(8)) if "gpu3 sends" in one
    )
    assert "the reverse direction is fine" in sentences(slow(make_record, [(2, 5)]), table(8))[0]
    back = slow(make_record, [(2, 5)], off={(5, 2): "timeout"})
    assert "reverse" not in sentences(back, table(8))[0]


def test_a_latency_is_more_or_less_and_no_sending_is_longer(make_record):
    content = make_record(count=8, value=2.0, off={(3, c): 2.6 for c in range(8) if c != 3})
    content["results"][0].update(unit="us", metric="latency", quantity="copy latency")
    (told,) = sentences(content)
    assert told.startswith("gpu3 sends at 30.0 % more latency to every peer") and "longer" not in told


def dead(make_record, index=3, count=8, **more):
    gone = [(r, c) for r in range(count) for c in range(count) if r != c and index in (r, c)]
    return make_record(count=count, off=dict.fromkeys(gone, "timeout"), **more)


@pytest.mark.parametrize("references", [None, table(8)], ids=["from inside", "with references"])
def test_a_dead_device_has_a_sentence(make_record, references):
    told = sentences(dead(make_record), references)
    assert "none of the 14 cells of gpu3 has a value (14 timeout): check the device itself" in told[0]


def test_a_device_that_was_not_tried_any_more_is_not_called_dead(make_record):
    content = dead(make_record)
    for row in content["results"][0]["status"]:
        row[:] = ["not-run" if status == "timeout" else status for status in row]
    assert not any("no value" in one or "has a value" in one for one in sentences(content))


def test_a_run_without_any_value_names_no_device(make_record):
    everything = {(r, c): "timeout" for r in range(4) for c in range(4) if r != c}
    assert sentences(make_record(off=everything)) == ()


@pytest.mark.parametrize(("again", "blamed"), [((0, 1), {"gpu0", "gpu1"}), ((2, 3), set())])
def test_a_cell_of_one_look_makes_no_suspect_and_one_that_stayed_slow_alone_does(
    judged_run, make_record, again, blamed
):
    content = make_record(off={(0, 1): 340.0})
    row, column = (f"gpu{number}" for number in again)
    cell = {"row": row, "column": column, "before": 340.0, "after": 341.0, "outcome": "reproduced"}
    content["results"][0]["remeasured"] = [cell]
    _, judged = judged_run(content, reference="hgx")
    found, _, seen = suspects.run_flags(judged)
    assert {seen[one].label for one in found} == blamed


def test_a_cut_list_says_how_many_more():
    assert units.first(["a", "b", "c"], 3) == ["a", "b", "c"]
    assert units.first(["a", "b", "c", "d"], 2) == ["a", "b", "2 more"]


def test_diagnose_says_that_a_dead_device_is_one(make_record, write_record, linkmatrix):
    out = linkmatrix.out("diagnose", write_record(dead(make_record)), code=3)
    assert "none of the 14 cells of gpu3 has a value" in out


def slow_row(make_record):
    return slow(make_record, [(3, c) for c in range(8) if c != 3])


def screen(found, width=200):
    stream = io.StringIO()
    terminal.show(Analysis(*found), file=stream, width=width)
    return stream.getvalue().splitlines()


def answer(found, width=200):
    """The lines from the verdict of the run on, which a terminal shows last."""
    lines = screen(found, width)
    return lines[max(at for at, line in enumerate(lines) if "test case" in line and line.startswith(" ")) :]


def test_show_ends_with_the_finding_and_the_next_step_also_without_references(judged_run, make_record):
    lines = answer(judged_run(slow_row(make_record)))
    assert "NOT JUDGED" in lines[0]
    assert f"{INSIDE}gpu3 sends 14.1 % slow" in lines[1]
    assert lines[2].startswith("    evidence for: 7 of 7 cells slow")
    said = " ".join(lines[3:])
    first, last = (said.index(part) for part in (f"1. {analysis.FIRST}", "linkmatrix baseline"))
    assert first < last < said.index("again: p2p_matrix")
    lines = answer(judged_run(dead(make_record, count=4), reference="hgx"))
    assert "INCOMPLETE" in lines[0] and "none of the 6 cells of gpu3 has a value" in " ".join(lines[1:4])


def test_the_page_begins_with_the_finding_and_the_next_step_also_without_references(judged_run, make_record):
    html = page.render(Analysis(*judged_run(slow_row(make_record))), lambda *_: b"")
    header = html[: html.index("</header>")]
    assert header.index("NOT JUDGED") < header.index("gpu3 sends 14.1 % slow") < header.index(analysis.FIRST)


def test_of_many_findings_the_first_are_in_the_answer_and_the_others_are_counted(judged_run, make_record):
    record = slow_row(make_record)
    each = [slow(make_record, [(row, c) for c in range(8) if c != row])["results"][0] for row in range(8)]
    record["results"] = [{**one, "testcase": f"{TESTCASE}_{number}"} for number, one in enumerate(each)]
    lines = answer(judged_run(record))
    assert f"{TESTCASE}_0: {INSIDE}" in lines[1] and sum(INSIDE in line for line in lines) == 4
    assert "  and 4 more, above" in lines


def test_a_part_that_is_slow_in_several_test_cases_is_one_finding(judged_run, make_record):
    record = slow_row(make_record)
    record["results"] = [{**record["results"][0], "testcase": f"{TESTCASE}_{number}"} for number in range(9)]
    (told,) = [line for line in answer(judged_run(record), width=300) if "gpu3 sends" in line]
    assert told.strip().startswith(f"{TESTCASE}_0: {INSIDE}") and told.endswith("(also in 8 other test cases)")


def test_an_intermittent_cell_is_named_beside_a_finding_and_is_the_verdict_of_no_other(judged_run, make_record):
    """Its matrix was FAIL, and its headline was a slow egress found without references."""
    record = slow_row(make_record)
    result, size = record["results"][0], range(8)
    usual = [[[] if r == c else [396.0] * 6 for c in size] for r in size]
    passes = [{"began": at + 0.1, "ended": at + 0.2, "values": copy.deepcopy(usual)} for at in range(12)]
    for one in passes[::3]:
        one["values"][0][1][3] = 200.0
    said = {"asked": 72, "fewest": 72, "bytes": 1 << 26, "transfers": 1, "passes": passes}
    result |= {"short_samples": said, "timing": "gate"}
    _, judged = judged_run(record)
    first, *rest = Analysis(None, judged).findings
    assert first.verdict is Verdict.FAIL and "gpu0->gpu1 is intermittent: " in first.text
    assert [one.verdict for one in rest if one.component == "gpu3"] == [Verdict.NOT_JUDGED]


def test_the_answer_of_a_run_in_which_all_is_well_says_so(judged_run, make_record):
    lines = answer(judged_run(make_record(), reference="hgx"))
    assert "PASS" in lines[0] and lines[1].startswith("Everything was measured and verified, ")


def test_a_run_in_which_all_is_well_states_how_much_data_was_compared(judged_run, make_record):
    record = make_record()
    compared = {"samples": 84, "wrong_samples": 0, "transfers": 252, "compared_transfers": 84, "wrong": []}
    record["results"][0]["coverage"] = {**compared, "compared_share": 0.11}
    lines = answer(judged_run(record, reference="hgx"))
    assert lines[1].startswith("Everything was measured and verified (11 % of one transfer per sample)")
