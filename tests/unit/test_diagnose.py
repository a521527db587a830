"""What is at fault is named, whatever it is and however many there are; a healthy matrix raises no alarm."""

import copy
import json
import random
import re
from pathlib import Path

import faults
import numpy as np
import pytest

from linkmatrix import cli
from linkmatrix.commands import diagnose
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import deviations, diagnosis
from linkmatrix.record import reading
from linkmatrix.references import noise
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import judging, testcases
from linkmatrix.show.analysis import Analysis

pytestmark = pytest.mark.usefixtures("wide_terminal")

DATA = Path(__file__).parents[1] / "data"
TESTCASE = "device_to_device_memcpy_write_ce"


@pytest.mark.thorough
@pytest.mark.parametrize("devices", [8, 64])
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("depth", [0.10, 0.05])
def test_faults_that_are_put_in_are_located(devices, number, depth):
    layout, chance = faults.layout_of(devices), np.random.default_rng(devices * 10 + number)
    trials = 60 if devices == 8 else 15
    good = 0
    for _ in range(trials):
        wanted = faults.draw(number, layout, chance)
        values = faults.matrix_with(wanted, depth, layout, 0.005, chance)
        good += faults.located(wanted, faults.search(values, layout, 0.005))
    assert good >= trials - 1


@pytest.mark.parametrize("kind", faults.KINDS[2])
def test_every_kind_of_fault_is_located_alone(kind):
    layout, chance = faults.layout_of(64), np.random.default_rng(3)
    wanted = next(drawn for drawn in (faults.draw(1, layout, chance) for _ in range(1000)) if drawn[0].kind == kind)
    found = faults.search(faults.matrix_with(wanted, 0.10, layout, 0.002, chance), layout, 0.002)
    assert [(one.kind, one.subject) for one in found] == [(wanted[0].kind, wanted[0].subject)]
    assert found[0].shift == pytest.approx(-0.10, abs=0.003)


def test_a_thousand_endpoints_are_searched():
    layout, chance = faults.layout_of(1024), np.random.default_rng(5)
    wanted = [faults.Fault("nic", 700), faults.Fault("egress", 17)]
    found = faults.search(faults.matrix_with(wanted, 0.05, layout, 0.005, chance), layout, 0.005)
    assert faults.located(wanted, found)


@pytest.mark.parametrize(("devices", "trials"), [(8, 1000), (64, 100)])
def test_healthy_matrices_raise_no_alarm(devices, trials):
    layout, chance = faults.layout_of(devices), np.random.default_rng(9)
    for _ in range(trials):
        assert faults.search(faults.matrix_with([], 0.0, layout, 0.005, chance), layout, 0.005) == []


def test_a_row_within_its_tolerance_is_no_fault_however_sure_it_is():
    layout, chance = faults.layout_of(64), np.random.default_rng(9)
    values = faults.matrix_with([faults.Fault("egress", 3)], 0.01, layout, 0.0005, chance)
    assert faults.search(values, layout, 0.0005) == []


def test_median_polish_finds_the_row_and_the_column():
    deviation = np.zeros((6, 6))
    deviation[2, :] -= 0.1
    deviation[:, 4] -= 0.05
    np.fill_diagonal(deviation, np.nan)
    level, rows, columns = deviations.polish(deviation)
    assert level == pytest.approx(0, abs=1e-9)
    assert rows[2] == pytest.approx(-0.1) and columns[4] == pytest.approx(-0.05)
    assert np.allclose(np.delete(rows, 2), 0) and np.allclose(np.delete(columns, 4), 0)


def references(count, lower=-0.02, unit="GB/s", upper=0.05, per_node=None):
    """A reference of 396 for each pair of `count` devices, of 45 between nodes of `per_node` devices."""
    nodes = [0 if per_node is None else index // per_node for index in range(count)]
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    values = [396.0 if nodes[a] == nodes[b] else 45.0 for a, b in pairs]
    names = [f"gpu{a}->gpu{b}" for a, b in pairs]
    table = {name: Reference(value, lower, upper, unit) for name, value in zip(names, values, strict=True)}
    return References({("hgx", TESTCASE): table})


def said(content, table=None, result=0):
    """The sentences on a record, and its diagnosis."""
    reading.check(content)
    evaluation = evaluate(content, table or References({}), "hgx" if table else None)
    found = diagnosis.diagnose(content, content["results"][result], evaluation.matrices[result])
    return " ".join(found.sentences), found


def noisy(make_record, count=8, slow=lambda r, c: 0.0, nodes=1, sigma=0.001, nics=False):
    """A record of `count` devices on `nodes` nodes; slow: by how much a cell is slower."""
    chance, per_node = random.Random(1), count // nodes
    off = {}
    for r in range(count):
        for c in range(count):
            if r != c:
                level = 396.0 if r // per_node == c // per_node else 45.0
                off[r, c] = level * (1 - slow(r, c)) * (1 + chance.gauss(0, sigma))
    content = make_record(count=count, off=off)
    for device in content["devices"]:
        node, index = divmod(device["index"], per_node)
        device["node"] = f"n{17 + node}"
        device["nics"] = [f"mlx5_{index}"] if nics else []
    for r in range(count):
        for c in range(count):
            if r // per_node != c // per_node:
                content["results"][0]["link_class"][r][c] = "NET"
    return content


def remeasured(content, *again):
    """The record with these remeasurements: (row, column, before, after, outcome)."""
    names = ("row", "column", "before", "after", "outcome")
    content["results"][0]["remeasured"] = [dict(zip(names, one, strict=True)) for one in again]
    return content


def net(r, c):
    """Whether a cell is between nodes of four devices."""
    return r // 4 != c // 4


@pytest.mark.parametrize(
    ("slow", "kind", "subject"),
    [
        (lambda r, c: r == 3, "egress", 3),
        (lambda r, c: c == 3, "ingress", 3),
        (lambda r, c: 3 in (r, c), "device", 3),
        (lambda r, c: {r, c} == {2, 5}, "link", (2, 5)),
        (lambda r, c: (r, c) == (2, 5), "cell", (2, 5)),
        (lambda r, c: True, "class", 0),
    ],
)
def test_a_fault_inside_a_node_is_the_only_finding(make_record, slow, kind, subject):
    """tests/unit/test_wording.py has the sentences."""
    _, found = said(noisy(make_record, slow=lambda r, c: 0.1 * slow(r, c)), references(8))
    assert [(one.kind, one.subject) for one in found.findings] == [(kind, subject)]


@pytest.mark.parametrize(
    ("slow", "kind", "subject"),
    [
        (lambda r, c: net(r, c) and 5 in (r, c), "nic", 5),
        (lambda r, c: net(r, c) and 1 in (r // 4, c // 4), "node", 1),
        (lambda r, c: {r // 4, c // 4} == {0, 2}, "node_pair", (0, 2)),
    ],
)
def test_a_nic_a_node_and_a_pair_of_nodes(make_record, slow, kind, subject):
    content = noisy(make_record, 16, lambda r, c: 0.5 * slow(r, c), 4, nics=True)
    assert [(one.kind, one.subject) for one in said(content, references(16, per_node=4))[1].findings] == [
        (kind, subject)
    ]


def test_with_two_nodes_the_node_and_the_pair_cannot_be_told_apart_and_that_is_said(make_record):
    content = noisy(make_record, 8, lambda r, c: 0.5 * (r // 4 != c // 4), 2, nics=True)
    text, found = said(content, references(8, per_node=4))
    assert len(found.findings) == 1
    kinds = {found.findings[0].kind, *(kind for kind, _ in found.findings[0].equivalent)}
    assert {"node", "node_pair", "class"} <= kinds
    assert "third node" in text


def test_a_cell_that_was_fine_alone_is_not_blamed_and_one_of_a_single_look_is_to_be_measured_again(make_record):
    def found(*again):
        content = noisy(make_record, slow=lambda r, c: 0.1 * ((r, c) == (2, 5)))
        return said(remeasured(content, *again), references(8))

    text, _ = found(("gpu2", "gpu5", 352.0, 356.0, "reproduced"))
    assert "gpu2->gpu5 is 10.0 % slow" in text and "check this direction" in text
    assert found(("gpu2", "gpu5", 352.0, 396.0, "not-reproduced"))[1].findings == ()
    text, diagnosed = found(("gpu1", "gpu2", 380.0, 396.0, "not-reproduced"))
    assert "seen once: measure gpu2->gpu5 again, alone" in text and ": check " not in text
    assert [one.unconfirmed for one in diagnosed.findings] == [True]


def test_a_row_that_is_slow_only_together_is_named_though_each_cell_is_fine_alone(make_record):
    content = noisy(make_record, slow=lambda r, c: 0.1 * (r == 3))
    again = [("gpu3", f"gpu{c}", 356.0, 396.0, "not-reproduced") for c in range(8) if c != 3]
    assert "gpu3 sends 1" in said(remeasured(content, *again), references(8))[0]


def test_diagnose_says_how_sure_it_is_and_what_to_run_next(make_record, write_record, linkmatrix):
    out = linkmatrix.out("diagnose", write_record(noisy(make_record, slow=lambda r, c: 0.11 * (r == 3))))
    lines = [line.strip() for line in out.splitlines()]
    at = next(place for place, line in enumerate(lines) if line.startswith("gpu3 sends"))
    assert lines[at + 1].startswith("evidence for: 7 of 7 cells slow")
    assert "7 cells of the reverse direction fine" in lines[at + 1]
    assert lines[at + 2].startswith(f"next: p2p_matrix --backend cuda --testcase {TESTCASE} --devices 3,0,1 ")


def test_sums_of_both_directions_cannot_name_a_side(make_record):
    content = noisy(make_record, slow=lambda r, c: 0.1 * (3 in (r, c)))
    content["results"][0]["metric"] = "bidirectional"
    text, found = said(content, references(8))
    assert [one.kind for one in found.findings] == ["device"] and "measure one direction" in text


def test_without_references_a_slow_part_is_found_and_not_judged(make_record, write_record, linkmatrix):
    content = noisy(make_record, slow=lambda r, c: 0.1 * (r == 3))
    text, found = said(content)
    assert "gpu3 sends" in text and found.without_references
    assert said(noisy(make_record, slow=lambda r, c: 0.1))[1].findings == ()
    assert "cannot be detected" in linkmatrix.out("diagnose", write_record(content))


def test_a_long_latency_is_as_slow_as_a_low_bandwidth(make_record):
    content = noisy(make_record, slow=lambda r, c: -0.3 * (r == 3))
    content["results"][0].update(unit="us", metric="latency", quantity="copy latency")
    table = references(8, lower=-0.25, upper=0.2, unit="us")
    text, _ = said(content, table)
    assert "gpu3 sends at 30." in text and "more latency to every peer" in text
    content = noisy(make_record, slow=lambda r, c: 0.2 * (r == 3))
    content["results"][0].update(unit="us", metric="latency", quantity="copy latency")
    assert said(content, table)[1].findings == ()


def test_counters_that_rose_are_evidence(make_record):
    content = noisy(make_record, slow=lambda r, c: 0.11 * (r == 3))
    content["health"] = [
        {"label": "gpu3", "counters": [{"name": "nvlink_replay", "before": 0, "after": 12}], "readings": []},
        {"label": "gpu1", "counters": [{"name": "nvlink_replay", "before": 0, "after": 1}], "readings": []},
    ]
    text, _ = said(content, references(8))
    assert "Evidence: gpu3: nvlink_replay rose from 0 to 12" in text and "gpu1:" not in text


@pytest.mark.parametrize("kind", ["egress", "ingress", "link", "device"])
@pytest.mark.parametrize("depth", [0.10, 0.05])
def test_faults_in_a_real_run_are_located_by_the_references_that_are_shipped(kind, depth):
    real = json.loads((DATA / "h200x4_full.record.json").read_text())
    shipped = References.load()
    tried = 0
    for place, result in enumerate(real["results"]):
        if not result["testcase"].endswith(("memcpy_write_ce", "memcpy_read_ce", "memcpy_write_sm", "memcpy_read_sm")):
            continue
        if "bidirectional" in result["testcase"] or not result["testcase"].startswith("device_to_device"):
            continue
        content = copy.deepcopy(real)
        for r in range(4):
            for c in range(4):
                hit = {"egress": r == 2, "ingress": c == 2, "link": {r, c} == {1, 2}, "device": 2 in (r, c)}[kind]
                if hit and r != c:
                    for grid in ("values", "low", "high"):
                        content["results"][place][grid][r][c] *= 1 - depth
        evaluation = evaluate(content, shipped, "hgx-h200-half")
        for at, matrix in enumerate(evaluation.matrices):
            found = diagnosis.diagnose(content, content["results"][at], matrix).findings
            assert [one.kind for one in found] == ([kind] if at == place else []), content["results"][at]["testcase"]
        tried += 1
    assert tried == 4


def test_a_real_run_is_not_at_fault(capsys, linkmatrix):
    code = cli.main(["diagnose", str(DATA / "h200x4_full.record.json"), "--reference", "hgx-h200-half"])
    out = capsys.readouterr().out
    assert code == 0 and "suspect" not in out and out.startswith("WARN  ")
    assert "PASS  " not in out and " more with --all\n" in out
    printed = linkmatrix.out("diagnose", DATA / "h200x4_full.record.json", "--reference", "hgx-h200-half", "--all")
    assert len(re.findall("^PASS  ", printed, re.M)) >= 20


def test_verdicts_of_classes_rows_and_columns_are_said(make_record):
    content = noisy(make_record, slow=lambda r, c: 0.11 * (r == 3))
    one = judging.judge(testcases.Test(name="t", record=content), references(8), "hgx")
    (pair,) = one.matrices
    text = "\n".join(diagnose.diagnosis_lines(Analysis(None, [one]), one, *pair))
    assert one.verdict is Verdict.FAIL
    assert "NV18: FAIL (7 FAIL, 49 PASS)" in text or "NV18: FAIL (7 FAIL, " in text
    assert "row gpu3: FAIL in every cell" in text
    assert "row effects by median polish (bandwidth): gpu3 -11." in text


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (None, "reproduced: 1 of 2 outlying cells, measured again alone, without control cells"),
        (45.1, "measured again alone; 1 control cell: gpu0->gpu1 +0.2 %: unchanged"),
        (40.0, "1 control cell: gpu0->gpu1 -11.1 %: all slower, so the result is inconclusive: measure again"),
    ],
)
def test_a_finding_says_whether_a_second_measurement_confirms_it(make_record, after, said):
    content = noisy(make_record, slow=lambda r, c: 0.1 * ((r, c) == (2, 5)))
    again = [("gpu2", "gpu5", 352.0, 356.0, "reproduced"), ("gpu1", "gpu2", 380.0, 396.0, "not-reproduced")]
    remeasured(content, *again)
    if after:
        content["results"][0]["controls"] = [{"row": "gpu0", "column": "gpu1", "before": 45.0, "after": after}]
        content["results"][0]["control_change"] = 0.111 if after < 45 else 0
    reading.check(content)
    one = judging.judge(testcases.Test(name="t", record=content), references(8), "hgx")
    assert said in "\n".join(diagnose.diagnosis_lines(Analysis(None, [one]), one, *one.matrices[0]))


def test_nothing_is_found_where_nothing_was_measured(make_record):
    content = make_record(off={(r, c): "timeout" for r in range(4) for c in range(4) if r != c}, result="TIMEOUT")
    assert said(content, references(4))[1].findings == ()


@pytest.mark.parametrize("devices", [4, 8])
def test_a_link_of_ranks_at_half_its_rate_is_seen_without_references(monkeypatch, devices):
    layout, chance = faults.layout_of(devices, per_node=1), np.random.default_rng(11)
    values = faults.matrix_with([], 0.0, layout, 0.01, chance)
    values[0, devices - 1] *= 0.5
    found = faults.search_inside(values, layout, faults.RANKS)
    assert ("cell", (0, devices - 1)) in [(one.kind, one.subject) for one in found]
    values[devices - 1, 0] *= 0.5
    link = faults.Fault("link", (0, devices - 1))
    assert faults.located([link], faults.search_inside(values, layout, faults.RANKS))
    if devices == 4:
        monkeypatch.setattr(noise, "LEAST_CELLS", 1000)  # the floor alone hides one direction
        values[3, 0] *= 2
        assert faults.search_inside(values, layout, faults.RANKS) == []


def test_ranks_that_are_healthy_raise_no_alarm():
    chance, alarms = np.random.default_rng(12), 0
    for devices in (4, 8, 16):
        layout = faults.layout_of(devices, per_node=max(1, devices // 8))
        for sigma in (0.01, 0.03, 0.05):
            for _ in range(400):
                alarms += bool(faults.search_inside(faults.matrix_with([], 0.0, layout, sigma, chance), layout, 0.5))
    assert alarms <= 3  # of 3,600


def test_a_check_that_measures_nothing_and_passed_has_no_colon_behind_which_nothing_stands():
    found = [
        judging.Judged(test=testcases.Test(name="rank_binding", result=result, reason=reason, measures=False), **more)
        for result, reason, more in (
            ("pass", "", {"reasons": (), "verdict": Verdict.PASS}),
            ("fail", "", {"reasons": ("ranks share a core",), "verdict": Verdict.FAIL}),
        )
    ]
    assert [diagnose.test_title(one) for one in found] == [
        "PASS  rank_binding",
        "FAIL  rank_binding: ranks share a core",
    ]
