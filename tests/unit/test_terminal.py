import io
import re
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate.diagnosis import INSIDE
from linkmatrix.references.tables import References
from linkmatrix.runs import judging
from linkmatrix.runs.stored import Run
from linkmatrix.runs.testcases import Test
from linkmatrix.show import screen, terminal
from linkmatrix.show.analysis import Analysis

DATA = Path(__file__).resolve().parents[1] / "data"


def shown(run_and_judged, width=80, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    analysis = Analysis(*run_and_judged)
    terminal.show(analysis, file=stream, width=width)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding), analysis.verdict


def rows(text):
    return [line for line in text.splitlines() if re.match(r"gpu\d+ ", line)]


def test_every_cell_has_the_glyph_of_its_verdict(judged_run, make_record):
    record = make_record(off={(0, 1): 356.4, (1, 0): 385.0, (2, 3): "timeout"})
    record["results"][0]["low"][1][0] = record["results"][0]["high"][1][0] = 385.0
    text, verdict = shown(judged_run(record, reference="hgx"))
    assert verdict is Verdict.FAIL
    assert "356.40✗" in text and "timeout?" in text
    assert text.count("396.00✓") == 9
    assert "gpu0->gpu1 356.40 GB/s is 10.0 % under its reference" in " ".join(text.split())


def test_what_slow_cells_share_is_said_also_without_references(judged_run, make_record):
    slow = make_record(count=8, off={(3, column): 352.4 for column in range(8) if column != 3})
    said = " ".join(shown(judged_run(slow))[0].split())
    assert f"{INSIDE}gpu3 sends 11.0 % slow to every peer, receives fine" in said
    said = " ".join(shown(judged_run(make_record(off={(0, 1): 356.4}), reference="hgx"))[0].split())
    assert "gpu0->gpu1 is 10.0 % slow, the reverse direction is fine" in said and INSIDE not in said
    assert INSIDE not in shown(judged_run(make_record(count=8)))[0]


def identified(record):
    """The record with what identifies each GPU, and its node."""
    record["nodes"] = [dict.fromkeys(("machine", "product", "kernel", "boot"), None) | {"name": "n7", "serial": "S77"}]
    for device in record["devices"]:
        device["part"] = {"uuid": f"GPU-{device['index']}", "serial": f"165{device['index']}"}
        device["place"] = {"node": "n7", "pci": f"0000:1{device['index']}:00.0", "slot": f"module {device['index']}"}
    return record


def test_the_parts_of_a_bad_cell_and_their_places_are_named(judged_run, make_record):
    record = identified(make_record(off={(0, 1): 356.4}))
    said = " ".join(shown(judged_run(record, reference="hgx"))[0].split())
    assert "gpu0: serial 1650, uuid GPU-0; in node n7 (serial S77), module 0, pci 0000:10:00.0" in said
    assert "gpu1: serial 1651" in said and "gpu2: serial" not in said and "gpu3: serial" not in said
    assert "serial" not in shown(judged_run(identified(make_record()), reference="hgx"))[0]


def test_an_endpoint_without_a_part_has_no_line(judged_run, make_record):
    record = identified(make_record(off={(0, 1): 356.4}))
    record["devices"][0]["part"] = {}
    del record["nodes"][0]
    said = " ".join(shown(judged_run(record, reference="hgx"))[0].split())
    assert "gpu0: " not in said and "gpu1: serial 1651, uuid GPU-1; in node n7, module 1" in said


@pytest.mark.parametrize(("count", "width", "value", "mark"), [(8, 80, 2104.32, "✗"), (16, 160, 396.0, "○")])
def test_8_devices_fit_in_80_columns_and_16_in_160(judged_run, make_record, count, width, value, mark):
    text, _ = shown(judged_run(make_record(count=count, value=value)), width=width)
    assert len(rows(text)) == count
    assert max(map(len, text.splitlines())) <= width
    assert text.count(f"{value:.2f}{mark}") == count * (count - 1)


def test_what_does_not_fit_is_split_and_no_cell_is_lost(judged_run, make_record):
    text, _ = shown(judged_run(make_record(count=16)), width=60)
    assert max(len(line) for line in rows(text)) <= 60
    assert text.count("396.00○") == 16 * 15


def test_of_a_large_matrix_the_first_part_is_shown_and_it_is_said(judged_run, make_record):
    text, _ = shown(judged_run(make_record(count=20)), width=160)
    assert len(rows(text)) == 16
    assert "first 16 of 20" in text


def test_without_references_the_next_step_is_how_to_get_them(judged_run, make_record):
    text, verdict = shown(judged_run(make_record()))
    said = " ".join(text.split())
    assert verdict is Verdict.NOT_JUDGED
    assert "Everything was measured and verified" in said
    assert "linkmatrix baseline" in said


def test_a_command_in_a_sentence_stays_on_one_line():
    for width in range(20, 80):
        out = io.StringIO()
        screen.Screen(out, width).print("Wait for its end, 10 minutes at most: linkmatrix measure --wait-idle 600")
        assert "linkmatrix measure --wait-idle 600\n" in out.getvalue() and "\xa0" not in out.getvalue()


def test_what_is_missing_is_never_called_everything(judged_run, make_record):
    text, verdict = shown(judged_run(make_record(off={(0, 1): "error"}, result="ERROR", error="gpu0 is gone")))
    assert verdict is Verdict.INCOMPLETE
    assert "Everything" not in text
    assert "gpu0 is gone" in text


def test_no_test_case_is_incomplete(judged_run):
    text, verdict = shown(judged_run())
    assert verdict is Verdict.INCOMPLETE
    assert "Nothing was measured" in text


@pytest.mark.parametrize("result", ["fail", "xpass"])
def test_what_reframe_failed_never_passes(judged_run, make_record, result):
    text, verdict = shown(judged_run(make_record(), reference="hgx", result=result, reason="sanity error: gpu9"))
    assert verdict is Verdict.INCOMPLETE  # only the judge says FAIL
    assert "sanity error: gpu9" in text and " ✓ PASS   device" not in text


@pytest.mark.parametrize("result", ["skip", "fail_deps", "abort", "xfail", "a new word"])
def test_what_reframe_did_not_run_to_its_end_has_incomplete(judged_run, make_record, result):
    assert shown(judged_run(make_record(), reference="hgx", result=result))[1] is Verdict.INCOMPLETE


def test_all_within_the_references_passes(judged_run, make_record):
    text, verdict = shown(judged_run(make_record(), reference="hgx", result="pass"))
    assert verdict is Verdict.PASS
    assert "within their tolerances" in " ".join(text.split())


def test_a_record_of_another_test_case_is_incomplete(judged_run, make_record):
    assert shown(judged_run(make_record(), reference="hgx", testcase="other"))[1] is Verdict.INCOMPLETE


def test_a_terminal_that_is_not_utf_8_gets_ascii(judged_run, make_record):
    text, _ = shown(judged_run(make_record(off={(0, 1): 300.0}), reference="hgx"), encoding="ascii")
    assert "300.00x" in text and "396.00+" in text and "4 x NVIDIA H200" in text


def test_control_characters_do_not_reach_the_terminal(judged_run, make_record):
    record = make_record(host="node\x1b[31m\x07\u202e001")
    record["results"][0]["notes"] = ["bell\x07 and \x9b2J"]
    record["devices"][0]["name"] = "NVIDIA\x1b]0;title\x07"
    text, _ = shown(judged_run(record))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_markup_in_names_stays_text(judged_run, make_record):
    assert "[red]node[/red] :smile:" in shown(judged_run(make_record(host="[red]node[/red] :smile:")))[0]


def coloured(judged_run, make_record, monkeypatch, **environment):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return shown(judged_run(make_record(off={(0, 1): 300.0}), reference="hgx"))[0]


def test_no_color_leaves_the_same_words_without_colours(judged_run, make_record, monkeypatch):
    forced = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    colours = re.compile(r"\x1b\[[0-9;]*(?:38|48)[0-9;]*m|\x1b\[(?:3|4|9|10)\d")
    assert colours.search(coloured(judged_run, make_record, monkeypatch, **forced))
    plain = coloured(judged_run, make_record, monkeypatch, NO_COLOR="1", **forced)
    assert not colours.search(plain)
    assert "300.00✗" in plain


def test_a_pipe_gets_no_escapes(judged_run, make_record, monkeypatch):
    assert "\x1b" not in coloured(judged_run, make_record, monkeypatch)


def test_cells_that_were_measured_again_are_listed_and_those_not_reproduced_come_first(judged_run, make_record):
    record = make_record(off={(2, 3): 350.0})
    record["results"][0]["remeasured"] = [
        {"row": "gpu2", "column": "gpu3", "before": 349.0, "after": 350.0, "outcome": "reproduced"},
        {"row": "gpu0", "column": "gpu1", "before": 340.0, "after": 396.0, "outcome": "not-reproduced"},
    ]
    said = " ".join(shown(judged_run(record, reference="hgx"), width=200)[0].split())
    assert "gpu0->gpu1 was 340.00 GB/s, and 396.00 GB/s when measured again alone: not reproduced gpu2->gpu3" in said
    assert "350.00 GB/s when measured again alone: reproduced" in said


def test_a_cell_that_was_slow_twice_is_not_said_to_be_slow_once(judged_run, make_record):
    """The median of the measurements alone is good, and the second worst of all, by which the cell fails, is not."""
    record = make_record(off={(2, 3): 350.0})
    cell = {"row": "gpu2", "column": "gpu3", "before": 340.0, "after": 396.0, "outcome": "intermittent"}
    record["results"][0]["remeasured"] = [cell]
    said = " ".join(shown(judged_run(record, reference="hgx"), width=200)[0].split())
    assert "FAIL: gpu2->gpu3 350.00 GB/s" in said and "not reproduced" not in said
    assert "396.00 GB/s when measured again alone: slow in 2 of 4 measurements" in said


@pytest.mark.parametrize(
    ("after", "change", "said"),
    [
        (396.5, 0, "3 control cells: gpu2->gpu0 +0.1 %, gpu0->gpu3 +0.1 %, gpu0->gpu1 +0.1 %: unchanged"),
        (340.0, 0.141, "gpu0->gpu1 -14.1 %: all slower, so the result is inconclusive: measure again"),
        (430.0, -0.086, "gpu0->gpu1 +8.6 %: all faster alone"),
    ],
)
def test_control_cells_tell_a_slow_cell_from_a_slow_machine(judged_run, make_record, after, change, said):
    record = make_record(off={(2, 3): 350.0})
    result = record["results"][0]
    result["remeasured"] = [{"row": "gpu2", "column": "gpu3", "before": 349.0, "after": 350.0, "outcome": "reproduced"}]
    pairs = [("gpu2", "gpu0"), ("gpu0", "gpu3"), ("gpu0", "gpu1")]
    result["controls"] = [{"row": a, "column": b, "before": 396.0, "after": after} for a, b in pairs]
    result["control_change"] = change
    shown_text = " ".join(shown(judged_run(record, reference="hgx"), width=200)[0].split())
    assert "reproduced 3 control cells: " in shown_text and said in shown_text


def test_control_cells_that_vary_by_themselves_say_nothing_of_the_machine(judged_run, make_record):
    record = make_record(off={(2, 3): 350.0})
    result = record["results"][0]
    result["remeasured"] = [{"row": "gpu2", "column": "gpu3", "before": 349.0, "after": 350.0, "outcome": "reproduced"}]
    result["controls"] = [{"row": "gpu0", "column": "gpu1", "before": 396.0, "after": 360.0}]
    assert "1 control cell: gpu0->gpu1 -9.1 %: unchanged" in " ".join(shown(judged_run(record))[0].split())


def test_what_a_budget_left_out_is_named_and_no_part_of_a_pass(judged_run, make_record, capsys):
    content = {**make_record(), "left_out": ["device_to_device_latency_sm", "host_to_device_memcpy_ce"]}
    run, judged = judged_run(content, reference="hgx")
    terminal.show(Analysis(run, judged))
    out = " ".join(capsys.readouterr().out.split())
    assert "1 test case: 1 PASS; 2 more not measured, because of --budget" in out
    assert "Not measured, because of --budget: device_to_device_latency_sm, host_to_device_memcpy_ce." in out
    assert "Everything was measured" not in out


@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize("name", ["h200x2_collectives", "cpu2_nbody", "slurm3_nodes"])
def test_what_is_printed_folds_to_the_width_but_for_commands_and_names(name, width, capsys, monkeypatch):
    """A command is copied as it stands, and a terminal folds it by itself."""
    monkeypatch.setenv("COLUMNS", str(width))
    cli.main(["show", str(DATA / f"{name}.record.json")])
    lines = [line for line in capsys.readouterr().out.splitlines() if "again: " not in line]
    assert lines and [line for line in lines if len(line) > width and len(line.split()) > 4] == []


@pytest.mark.parametrize("width", range(30, 90, 7))
def test_a_command_of_several_words_stays_on_one_line(width, monkeypatch):
    """As on a cluster: docs/cluster.md calls linkmatrix with `python3 -m linkmatrix`."""
    monkeypatch.setenv("LINKMATRIX_COMMAND", "python3 -m linkmatrix")
    out = io.StringIO()
    screen.Screen(out, width).print("Measure again, or wait for its end: linkmatrix measure --wait-idle 600")
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert sum("python3 -m linkmatrix measure --wait-idle 600" in line for line in lines) == 1, lines
    assert " ".join(lines).count("python3") == 1


@pytest.mark.parametrize("verified", [True, False])
@pytest.mark.parametrize("count", [1, 4])
def test_a_matrix_without_any_value_is_not_said_to_be_verified(judged_run, make_record, count, verified):
    every = [(row, column) for row in range(count) for column in range(count) if row != column]
    record = make_record(count=count, off=dict.fromkeys(every, "not-run"))
    record["results"][0]["verified"] = verified
    text, _ = shown(judged_run(record), width=200)
    assert "no data verified" in text and "data verified" not in text.replace("no data verified", "")


def test_what_was_measured_in_part_has_data_that_was_verified(judged_run, make_record):
    every = [(row, column) for row in range(2) for column in range(2) if row != column]
    text, _ = shown(judged_run(make_record(count=2, off=dict.fromkeys(every, "partial"))), width=200)
    assert ", data verified," in text


def test_each_line_of_several_partitions_and_nodes_names_its_place(make_record, reference_folder):
    """Also a test that left no record, whose node is not known, and whose reason another partition has too."""
    tests = []
    for partition in ("alpha:cpu", "alpha:gpu"):
        for node in ("n1", "n2"):
            content = make_record(host=node, off={(0, 1): 356.4})
            content["devices"] = [{**device, "node": node} for device in content["devices"]]
            tests.append(Test("sweep", partition=partition, record=content, reference="hgx"))
        tests.append(Test("p2p", result="fail", partition=partition, reason="it failed"))
    run = Run(path=Path("run-report-0.json"), tests=tuple(tests))
    judged = judging.judge_all(run, References.load(reference_folder), None)
    lines = shown((run, judged), width=1000)[0].splitlines()
    for partition in ("alpha:cpu", "alpha:gpu"):
        named = [line for line in lines if partition in line]
        assert len([line for line in named if "p2p" in line and ": it failed" in line]) == 1
        assert len([line for line in named if line.startswith("?") and "p2p" in line]) == 1
        for node in ("n1", "n2"):
            assert [line for line in named if line.startswith(f"{partition}: 4 ×") and node in line]
            assert [line for line in named if line.startswith("✗") and line.split("  ")[-2].endswith(f" {node}")]
    one = shown((run, judged[:1]), width=1000)[0]
    assert "alpha:cpu" not in one
