"""What is said to be done follows from what was found, and is the same in the terminal and on the page."""

import html
import io
import re
from pathlib import Path

import pytest

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import next_steps, sentences
from linkmatrix.locate.next_steps import SLOW, TOPICS
from linkmatrix.record import reading
from linkmatrix.runs import judging, modes
from linkmatrix.runs.judging import Judged
from linkmatrix.runs.testcases import Test
from linkmatrix.show import analysis, findings, page, terminal, words
from linkmatrix.show.analysis import Analysis

DATA = Path(__file__).resolve().parents[1] / "data"
REPLACED = "before you replace a component"


def told(found):
    _, judged = found
    verdict = judging.overall(judged)
    return Analysis(None, judged, verdict).steps


def slow_row(make_record, row=3, count=4, value=340.0):
    return make_record(count=count, off={(row, column): value for column in range(count) if column != row})


def test_a_part_at_fault_is_named_in_what_to_do_and_no_part_is_replaced_before_it_was_measured_again(
    judged_run, make_record
):
    first, *rest = told(judged_run(slow_row(make_record), reference="hgx"))
    assert first.startswith("Measure gpu3 again, alone") and REPLACED in first
    assert not [line for line in rest if "wap" in line], "one measurement is no reason to touch a part"


@pytest.mark.parametrize("phase", ["compile", "setup", "run"])
def test_what_was_never_measured_makes_no_part_suspect(judged_run, phase):
    lines = told(judged_run(None, result="fail", reason="g++: not found", phase=phase))
    assert lines and not [line for line in lines if REPLACED in line or "swap" in line]
    assert re.search("no component is flagged|flags no component", " ".join(lines))


def test_a_failed_build_is_sent_to_its_reason(judged_run):
    """A build without a compiler has no output."""
    (line,) = told(judged_run(None, result="fail", reason="g++: not found", phase="compile"))
    assert "build" in line and "reason" in line and "output" not in line


@pytest.mark.parametrize("phase", ["startup", "compile", "run_wait"])
def test_an_interrupted_run_is_repeated_and_no_build_is_to_be_fixed(judged_run, phase):
    (line,) = told(judged_run(None, result="abort", reason="aborted due to ForceExitError", phase=phase))
    assert "ended early" in line and "build" not in line and "program" not in line


def test_an_unnamed_process_is_named_in_no_step(judged_run, make_record):
    record = make_record(off={(1, column): 239.0 for column in (0, 2, 3)})
    found = {"node": "node001", "kind": "context", "where": "gpu1", "share": None, "pids": []}
    known = {"seconds": 4.0, "shared": True, "uses": [], "nodes": [], "untold": [], "processes": []}
    record["results"][0]["others"] = {**known, "disturbances": [found]}
    run, judged = judged_run(record, reference="hgx")
    lines = [*told((run, judged)), *Analysis(None, judged).next_step]
    assert judging.overall(judged) is Verdict.DISTURBED
    assert sum("the other process" in line for line in lines) == 2 and "unnamed" not in " ".join(lines)


def test_wrong_data_comes_before_what_is_slow(judged_run, make_record):
    record = slow_row(make_record)
    for name in ("values", "low", "high"):
        record["results"][0][name][0][1] = 396.0
    record["results"][0]["status"][0][1] = "corrupt"
    record["results"][0]["verified"], record["result"] = False, "FAIL"
    run, judged = judged_run(record, reference="hgx")
    assert Analysis(None, judged).findings[0].topic == "wrong data"
    assert told((run, judged))[0].startswith("Take the nodes of gpu0->gpu1 out of service")


def test_a_device_that_computes_wrong_bits_is_taken_out_of_service_before_anything_else(judged_run):
    found = judged_run({**reading.load(DATA / "h200x2_soak_flip.record.json"), "notes": []})
    first, *rest = Analysis(None, found[1]).findings
    assert (first.topic, first.component) == ("computes wrong", "gpu1") and "program" in [one.topic for one in rest]
    assert told(found)[0].startswith("Take gpu1 out of service now")


@pytest.mark.parametrize("reference", ["hgx", None])
def test_what_no_path_can_carry_is_said_beside_a_part_that_is_slow(judged_run, make_record, reference):
    off = {(3, column): 340.0 for column in range(3)} | {(2, 1): 500.0}
    found = judged_run(make_record(off=off), reference=reference)
    first, second = Analysis(None, found[1]).findings
    assert (first.topic, first.component, first.verdict) == ("impossible", "gpu2->gpu1", Verdict.FAIL)
    assert (second.component, second.verdict) == ("gpu3", Verdict.FAIL if reference else Verdict.NOT_JUDGED)
    assert told(found)[0].startswith("gpu2->gpu1 is faster than its path can carry")


@pytest.mark.parametrize("reference", ["hgx", None])
def test_a_way_back_that_is_faster_than_its_path_is_not_said_to_be_fine(judged_run, make_record, reference):
    found = Analysis(None, judged_run(make_record(off={(1, 2): 200.0, (2, 1): 500.0}), reference=reference)[1]).findings
    assert [one.component for one in found] == ["gpu2->gpu1", "gpu1->gpu2"] and "is fine" not in found[1].text


def test_a_pass_that_no_reference_is_needed_for_is_not_said_to_be_as_they_say(judged_run, make_record):
    _, judged = judged_run(reading.load(DATA / "h200x2_visibility.record.json"))
    assert judging.overall(judged) is Verdict.PASS
    assert Analysis(None, judged, Verdict.PASS).assessment[0].endswith("no cell needs a reference.")
    _, judged = judged_run(make_record(), reference="hgx")
    assert Analysis(None, judged, Verdict.PASS).assessment[0].endswith("all cells are within their tolerances.")


@pytest.mark.parametrize("reference", ["hgx", None])
def test_data_that_a_program_compared_with_nothing_is_not_called_verified(judged_run, make_record, reference):
    record = make_record()
    record["results"][0].update(verified=None, timing=None)
    _, judged = judged_run(record, reference=reference)
    assert judging.overall(judged) is Verdict.NOT_JUDGED
    meaning = Analysis(None, judged, Verdict.NOT_JUDGED).meaning
    assert "was not verified" in meaning and "is verified" not in meaning
    assert ("no references" in meaning) == (reference is None)


def test_where_no_cell_has_a_value_one_does_not_stand_for_all(judged_run, make_record):
    off = {(row, column): "error" for row in range(4) for column in range(4) if row != column}
    (found,) = [one for one in Analysis(None, judged_run(make_record(off=off))[1]).findings if one.topic == "missing"]
    assert found.text == "gpu0->gpu1 was not measured: error; 11 other cells are INCOMPLETE too"


def test_a_matrix_without_pairs_is_not_said_to_be_measured(judged_run, make_record):
    run, judged = judged_run(make_record(count=1))
    assert "Everything" not in " ".join(Analysis(None, judged).assessment)
    assert [one.text for one in Analysis(None, judged).findings] == ["no pair of endpoints: nothing was measured"]
    assert analysis.GET_REFERENCES not in told((run, judged))


def test_a_run_in_which_all_is_well_asks_for_nothing(judged_run, make_record):
    assert told(judged_run(make_record(), reference="hgx")) == []


def test_without_references_what_was_found_is_measured_again_before_they_are_adopted(judged_run, make_record):
    lines = told(judged_run(slow_row(make_record, count=8)))
    assert lines[0] == analysis.FIRST and lines[-1] == analysis.GET_REFERENCES
    assert told(judged_run(make_record(count=8))) == [analysis.GET_REFERENCES]


def test_every_kind_of_finding_has_a_topic_and_every_topic_is_one_that_is_known():
    kinds = {kind.removesuffix("_egress").removesuffix("_ingress") for kind in sentences.WORDS}
    assert kinds == set(next_steps.KIND_TOPICS)
    named = {topic for both in next_steps.KIND_TOPICS.values() for topic in both} | set(findings.PHASE_TOPICS.values())
    assert named | set(SLOW) <= set(TOPICS)
    assert all(re.findall(r"\{\w+\}", line) in ([], ["{who}"]) for lines in TOPICS.values() for line in lines)


def not_sure(make_record, testcase, cells):
    """A record with cells of too few samples."""
    record = make_record()
    record["results"][0]["testcase"] = testcase
    for column in range(1, 1 + cells):
        record["results"][0]["samples"][0][column] = 3
    return record


def test_what_is_said_of_samples_is_one_finding_however_many_cells_it_is_of(judged_run, make_record):
    """A busy machine had a line for each number of cells, above what the verdict lacks."""
    runs = [judged_run(not_sure(make_record, f"device_local_copy{cells}", cells)) for cells in (1, 2, 3)]
    run, judged = runs[0][0], [one for _, found in runs for one in found]
    (found,) = Analysis(None, judged).findings
    assert found.text.startswith("device_local_copy1: 1 of 12 cells have too few samples")
    assert "(also in 2 other test cases)" in found.text
    (alone,) = Analysis(None, runs[1][1]).findings
    assert alone.text.startswith("2 of 12 cells have too few samples")
    stream = io.StringIO()
    terminal.show(Analysis(run, judged), file=stream, width=300)
    head, _, rest = stream.getvalue().rpartition("1 of 12 cells have too few samples")
    assert "There are no references" in head and rest


def test_what_had_nothing_to_do_leaves_references_the_only_thing_that_is_missing(judged_run, make_record):
    _, measured = judged_run(make_record())
    _, skipped = judged_run(None, result="skip", reason="skipped: one GPU: there is no pair to measure")
    said = Analysis(None, [*measured, *skipped], Verdict.INCOMPLETE).assessment
    assert said[0] == "All measured data was verified. There are no references to compare with."
    assert Analysis(None, [*measured, *skipped], Verdict.INCOMPLETE).steps == [analysis.GET_REFERENCES]
    _, away = judged_run(None, result="skip", reason="not run: drained", unmeasured="not run: drained")
    for others in (away, judged_run(None, result="skip")[1]):
        incomplete = Analysis(None, [*measured, *others], Verdict.INCOMPLETE)
        assert incomplete.meaning == analysis.VERDICT_MEANINGS[Verdict.INCOMPLETE]
    assert analysis.GET_REFERENCES not in Analysis(None, [*skipped], Verdict.INCOMPLETE).steps


def test_a_run_that_only_lacks_skipped_tests_names_them_and_the_manifest(judged_run, make_record):
    """With references, a quick run on one GPU was NOT JUDGED without a reason, and asked for references."""
    _, measured = judged_run(make_record(), reference="hgx")
    reason = "skipped: one GPU: there is no pair to measure"
    _, skipped = judged_run(None, result="skip", reason=reason, too_small=True)
    found = Analysis(None, [*measured, *skipped])
    assert found.verdict is Verdict.NOT_JUDGED and len(found.skipped) == 1
    assert "did not run" in found.meaning and "within their tolerances" in found.meaning
    assert any("one GPU" in one.text for one in found.findings)
    (step,) = found.only_step
    assert "--manifest" in step and "baseline" not in step
    assert Analysis(None, skipped).skipped == []


def test_a_test_without_a_record_makes_no_second_node(judged_run, make_record):
    """Findings and tests of one machine were told apart by its name, as those of several are."""
    run, judged = judged_run(slow_row(make_record), reference="hgx")
    _, silent = judged_run(None, result="fail", reason="no ranks", phase="sanity")
    text = page.render(Analysis(run, [*judged, *silent]), lambda *_: b"")
    assert "node001: " not in " ".join(one.text for one in Analysis(None, [*judged, *silent]).findings)
    assert "node001: intranode" not in text


def test_terminal_and_page_say_the_same(judged_run, make_record):
    found = judged_run(slow_row(make_record), reference="hgx")
    stream = io.StringIO()
    terminal.show(Analysis(*found), file=stream, width=300)
    assert Analysis(*found).verdict is Verdict.FAIL
    text = page.render(Analysis(*found), lambda *_: b"")
    header = html.unescape(re.sub("</?span[^>]*>", "", text[: text.index("</header>")]))  # of words that stay whole
    for line in told(found):
        assert line in stream.getvalue() and line in header
    (one, *_) = Analysis(None, found[1]).findings
    assert one.text in header and one.evidence and all(line in header for line in one.evidence)
    assert one.command.startswith("p2p_matrix") and one.command in header


def test_of_a_session_only_what_failed_is_measured_again(judged_run, make_record):
    run, judged = judged_run(
        make_record(), make_record(off={(0, 1): 300.0}), reference="hgx", hashcode="abc", partition="node:gpu"
    )
    text = page.render(Analysis(run, judged), lambda *_: b"")
    said = re.sub("</?span[^>]*>", "", text)
    assert "linkmatrix measure -- --system=node:gpu -n /abc" in said


def test_the_worst_test_stands_first(judged_run, make_record):
    good, bad = make_record(host="good"), make_record(host="bad", off={(0, 1): 300.0})
    stream = io.StringIO()
    terminal.show(Analysis(*judged_run(good, bad, reference="hgx")), file=stream, width=200)
    text = stream.getvalue()
    assert text.index("on bad") < text.index("on good")


def on_host(make_record, name, **changes):
    record = make_record(host=name, **changes)
    for device in record["devices"]:
        device["node"] = name
    return record


def test_of_several_nodes_each_is_named_with_what_is_at_fault_there(judged_run, make_record):
    row = {(3, column): 340.0 for column in range(3)}
    records = [on_host(make_record, name, off=off) for name, off in (("n1", row), ("n2", {}), ("n3", row))]
    run, judged = judged_run(*records, reference="hgx")
    slow = [one for one in Analysis(None, judged).findings if one.topic == "device"]
    assert [one.component for one in slow] == ["gpu3 of n1", "gpu3 of n3"]
    assert all(f"{name}: gpu3 sends" in one.text for name, one in zip(("n1", "n3"), slow, strict=True))
    assert told((run, judged))[0].startswith("Measure gpu3 of n1, gpu3 of n3 again, alone")
    text = page.render(Analysis(run, judged), lambda *_: b"")
    assert "n1: device_to_device_memcpy_write_ce" in text and 'aria-label="n3: device_to' in text


def test_the_name_of_a_page_of_many_nodes_stays_a_name(judged_run, make_record):
    run, judged = judged_run(*(on_host(make_record, f"n{number}") for number in range(12)))
    assert words.title(judged) == "n0, n1, n2, n3 and 8 more: 4 × NVIDIA H200"


def test_a_cell_without_a_value_is_named_beside_a_part_that_is_slow(judged_run, make_record):
    """The first screen had said of it that the program ended with ERROR, and no more."""
    record = make_record(
        count=8, off={(3, column): 340.0 for column in range(8)} | {(0, 1): "timeout", (1, 2): "not-run"}
    )
    found = Analysis(None, judged_run(record, reference="hgx")[1]).findings
    (missing,) = [one for one in found if one.topic == "missing"]
    assert missing.text.startswith("gpu0->gpu1 was not measured: timeout") and missing.verdict is Verdict.INCOMPLETE
    assert [one.component for one in found if one.topic == "device"] == ["gpu3"]


def test_what_a_suspect_has_itself_is_its_verdict_and_not_that_of_another_cell(judged_run, make_record):
    record = make_record(count=8, off={(3, column): 340.0 for column in range(8)} | {(5, 6): "corrupt"})
    found = {one.topic: one.verdict for one in Analysis(None, judged_run(record)[1]).findings}
    assert (found["wrong data"], found["device"]) == (Verdict.FAIL, Verdict.NOT_JUDGED)


def test_what_a_program_printed_is_not_to_be_read_where_wrong_data_says_why_it_failed(judged_run, make_record):
    record = make_record(off={(0, 1): "corrupt"})
    lines = told(judged_run(record))
    assert lines[0].startswith(
        "Take the nodes of gpu0->gpu1 out of service"
    ) and "last output of the program" not in " ".join(lines)
    ended = make_record(off={(0, 1): "corrupt"}, result="ERROR", error="gpu2 is gone")
    assert "last output of the program" in " ".join(told(judged_run(ended)))


def test_what_was_measured_again_and_stayed_does_not_stand_with_what_speaks_against_a_finding(judged_run):
    content = reading.load(DATA / "h200x4_sweep.record.json")
    # a single size, because only the largest size of a sweep is compared with its class
    content["results"] = [one for one in content["results"] if one["size_bytes"] == 16 << 20]
    _, judged = judged_run(content)
    found = [
        one.evidence for one in Analysis(None, judged).findings if any("reproduced" in line for line in one.evidence)
    ]
    sure = next(lines for lines in found if any(line.startswith("evidence against") for line in lines))
    assert sure[0].startswith("evidence for") and "reproduced" in sure[1] and sure[2].startswith("evidence against")


def test_more_samples_are_had_by_what_a_person_can_type():
    (said,) = TOPICS["samples"]
    assert said.endswith("linkmatrix measure --samples 31")


def test_a_command_is_repeated_without_its_drill_and_into_another_record(make_record):
    content = make_record()
    content["command"] = ["p2p_matrix", "--simulate-fault", "corrupt=7:gpu1", "--record", "a.json", "--samples", "7"]
    assert modes.program_command(content) == "p2p_matrix --record a.again.json --samples 7"
    content["command"] = ["p2p_matrix", "--record=a", "--simulate-fault=slow:gpu1"]
    assert modes.program_command(content) == "p2p_matrix --record=a.again"


def test_what_is_slow_comes_before_adoption_in_every_step(judged_run, make_record):
    run, judged = judged_run(make_record(count=4, off={(2, column): 340.0 for column in (0, 1, 3)}), reference=None)
    found = Analysis(None, judged).findings
    assert "device" in {one.topic for one in found}
    (step,) = Analysis(None, judged).next_step
    assert "before you adopt" in step


def test_a_machine_that_was_busy_and_refused_is_to_be_waited_for():
    reason = "p2p_matrix: another process uses the node: pid 7 (stress, user ana)"
    test = Test(name="p2p", result="fail", phase="sanity", reason=reason)
    judged = [Judged(test, Verdict.INCOMPLETE, reasons=(reason,))]
    (step,) = Analysis(None, judged, Verdict.INCOMPLETE).only_step
    assert "linkmatrix measure --wait-idle 600" in step
