"""Each of the six verdicts has one word, one glyph, one style, one meaning and one next step in every output."""

import html
import io
import re
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.judge import verdicts
from linkmatrix.judge.verdicts import EXIT_CODES, MEANINGS, NEXT_STEPS, WORDS, Reason, Verdict
from linkmatrix.locate.next_steps import SLOW
from linkmatrix.record import reading
from linkmatrix.runs import judging
from linkmatrix.show import analysis, page, prometheus, screen, terminal, words
from linkmatrix.show.analysis import Analysis

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"
FAULT = "flip:gpu1"
HOG = "pid 6129 (hog, user root)"


@pytest.mark.parametrize(
    "looks", [words.GLYPHS, words.ASCII_GLYPHS, MEANINGS, NEXT_STEPS, words.CLASSES, screen.VERDICT_STYLES]
)
def test_no_two_verdicts_look_alike(looks):
    assert list(looks) == list(Verdict) and len(set(looks.values())) == len(Verdict)


def test_a_terminal_without_unicode_has_a_glyph_for_each():
    assert all(glyph.isascii() for glyph in words.ASCII_GLYPHS.values())
    assert not set(words.ASCII_GLYPHS.values()) & set("0123456789.-")  # part of no number


def test_the_worst_verdict_counts_and_no_cell_is_incomplete():
    assert verdicts.worst([Verdict.PASS, Verdict.DISTURBED, Verdict.WARN]) is Verdict.DISTURBED
    assert verdicts.worst([]) is Verdict.INCOMPLETE


@pytest.mark.parametrize(
    ("found", "verdict"),
    [(None, Verdict.INCOMPLETE), ("", Verdict.INCOMPLETE), ("unknown", Verdict.INCOMPLETE), ("NV17", Verdict.FAIL)],
)
def test_an_unknown_fact_is_incomplete_and_a_different_one_fails(found, verdict):
    assert verdicts.mismatch(found, "NV17, expected NV18") == [Reason(verdict, "NV17, expected NV18")]
    assert verdicts.disturbed("a", "b") == [Reason(Verdict.DISTURBED, "a"), Reason(Verdict.DISTURBED, "b")]


def test_sentences_of_a_message_are_limited_and_cannot_steer_a_terminal():
    assert verdicts.joined(["a\x1b[2J", "b"]) == "a [2J; b"
    assert verdicts.joined("abcdefgh") == "; ".join("abcdefgh")
    assert verdicts.joined("abcdefghij").startswith("a; b; ") and "i" not in verdicts.joined("abcdefghij")


def test_only_a_pass_needs_no_step():
    assert [verdict for verdict in Verdict if not words.next_step(verdict)] == [Verdict.PASS]
    assert "{" not in "".join(map(words.next_step, Verdict))


def table_of_docs():
    """{word: (meaning, next step, exit code)} in docs/verdicts.md."""
    lines = (REPOSITORY / "docs" / "verdicts.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| \S [A-Z]", line)]
    return {row[0]: row[1:] for row in cells}


def test_the_page_on_verdicts_has_the_same_meanings_steps_and_exit_codes():
    table = table_of_docs()
    assert list(table) == [f"{words.GLYPHS[verdict]} {WORDS[verdict]}" for verdict in Verdict]
    for verdict in Verdict:
        meaning, step, code = table[f"{words.GLYPHS[verdict]} {WORDS[verdict]}"]
        assert meaning == MEANINGS[verdict]
        assert step.replace("`", "") == (words.next_step(verdict) or "–")
        assert code.startswith(str(EXIT_CODES[verdict]))


def test_prometheus_tells_the_number_of_each_verdict():
    for name in ("verdict", "run_verdict"):
        assert prometheus.METRICS[name].endswith(": 0 PASS, 1 WARN, 2 NOT JUDGED, 3 DISTURBED, 4 INCOMPLETE, 5 FAIL.")


def outputs(run, judged):
    """What the terminal and the page show of a run."""
    stream = io.StringIO()
    terminal.show(Analysis(run, judged), file=stream, width=2000)
    text = html.unescape(re.sub("<[^>]*>", "", page.render(Analysis(run, judged), lambda *_: b"")))
    return stream.getvalue(), text


@pytest.mark.parametrize(
    ("off", "reference", "verdict"),
    [
        ({}, "hgx", Verdict.PASS),
        ({}, None, Verdict.NOT_JUDGED),
        ({(0, 1): "timeout"}, "hgx", Verdict.INCOMPLETE),
        ({(0, 1): 200.0}, "hgx", Verdict.FAIL),
    ],
)
def test_terminal_and_page_tell_the_same_next_step(judged_run, make_record, off, reference, verdict):
    run, judged = judged_run(make_record(off=off), reference=reference)
    assert judging.overall(judged) is verdict
    for text in outputs(run, judged):
        assert ("Next step" in text) is bool(words.next_step(verdict))
        assert all(step in text for step in Analysis(run, judged).all_steps)
        if verdict is not Verdict.INCOMPLETE:  # whose findings say how to fix the run
            assert words.next_step(verdict) in text


def test_the_process_that_disturbed_a_run_is_named_and_no_part_is(judged_run):
    """Host copies on gpu1: a run without references."""
    run, judged = judged_run(reading.load(DATA / "h100x2" / "busy_host.record.json"))
    assert judging.overall(judged) is Verdict.DISTURBED
    first, *others = Analysis(None, judged).findings
    assert (first.topic, first.component, first.verdict) == ("disturbed", HOG, Verdict.DISTURBED)
    assert not [one for one in others if one.topic in SLOW]
    for text in outputs(run, judged):
        assert "Next steps" in text and f"Measure again without {HOG}" in text
    assert "other process" in page.render(Analysis(run, judged), lambda *_: b"")  # marked in the drawing of the machine


def test_a_process_that_disturbed_nothing_is_named_where_references_are_missing(judged_run):
    record = reading.load(DATA / "h100x2" / "busy_host.record.json")
    record["results"] = [one for one in record["results"] if one["testcase"] == "device_to_device_memcpy_write_ce"]
    record["expected"] = ["device_to_device_memcpy_write_ce"]
    _, judged = judged_run(record)
    assert judging.overall(judged) is Verdict.NOT_JUDGED
    assert [(one.component, one.verdict) for one in Analysis(None, judged).findings] == [(HOG, Verdict.NOT_JUDGED)]


def test_memory_that_another_process_holds_is_no_fault_of_the_program(judged_run):
    _, judged = judged_run(reading.load(DATA / "h100x2" / "busy_memory.record.json"))
    found = Analysis(None, judged).findings
    assert judging.overall(judged) is Verdict.DISTURBED and {one.verdict for one in found} == {Verdict.DISTURBED}
    assert "pid 7154 (hog, user root)" in [one.component for one in found]
    assert not {"program", "gone", "missing"} & {one.topic for one in found}


def test_ignored_processes_are_shown_with_every_verdict(judged_run, make_record):
    for reference in ("hgx", None):
        run, judged = judged_run(with_ignored(make_record()), reference=reference)
        for text in outputs(run, judged):
            assert "Ignored processes: pid 77 (dcgm, user root)" in text
        assert prometheus.text(Analysis(None, judged), []).startswith("# Ignored processes: pid 77 (dcgm, user root)\n")


def with_ignored(record):
    one = {"pid": 77, "name": "dcgm", "user": "root", "where": "gpu0", "bytes": None, "seconds": None, "on": "device"}
    others = {"seconds": 1.0, "shared": True, "uses": [], "nodes": [], "processes": [], "untold": []}
    record["results"][0]["others"] = {**others, "disturbances": [], "ignored": [one]}
    return record


def simulated(record):
    """The record with a simulated fault."""
    return {**record, "notes": [*record["notes"], f"simulated fault: {FAULT}"]}


@pytest.mark.parametrize("command", ["show", "diagnose", "report"])
def test_a_simulated_fault_is_the_first_line(capsys, tmp_path, command):
    arguments = ["--out", str(tmp_path)] if command == "report" else []
    code = cli.main([command, str(DATA / "h200x2_soak_flip.record.json"), *arguments])
    text = capsys.readouterr().out
    assert code == 1 and text.startswith(f"SIMULATED: --simulate-fault {FAULT}")
    assert "out of service" not in text and "swap" not in text
    if command == "report":
        shown = (tmp_path / "report.html").read_text(encoding="utf-8")
        body = re.sub("<[^>]*>", "", shown[shown.index("<body>") :])
        assert body.split()[0] == "SIMULATED:" and "out of service" not in body
        assert "<title>SIMULATED FAIL" in shown


def test_a_comparison_begins_with_a_simulated_fault_and_names_other_processes(linkmatrix):
    simulated_one, busy = DATA / "h200x2_soak_flip.record.json", DATA / "h100x2" / "busy_host.record.json"
    first, second, *_ = linkmatrix.out("compare", busy, "--against", simulated_one).replace("\n  ", " ").splitlines()
    assert first.startswith(f"SIMULATED: --simulate-fault {FAULT}")
    assert second.startswith("this run: ") and HOG in second


def test_a_simulated_fault_is_the_first_line_of_metrics(judged_run, make_record):
    _, judged = judged_run(simulated(make_record()), reference="hgx")
    assert prometheus.text(Analysis(None, judged), []).startswith(f"# SIMULATED: --simulate-fault {FAULT}")


def test_beside_a_simulated_fault_a_real_one_keeps_its_steps(judged_run, make_record):
    row = {(3, column): 340.0 for column in range(3)}
    run, judged = judged_run(make_record(off=row), simulated(make_record(off={(1, 0): "corrupt"})), reference="hgx")
    first, *rest = Analysis(None, judged).steps
    assert first == analysis.SIMULATED
    assert rest[0].startswith("Measure gpu3 again") and not [line for line in rest if "out of service" in line]
