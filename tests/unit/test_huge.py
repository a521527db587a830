"""Matrices whose cells are in a file beside the record: judged as others are, located, and never passed without it."""

import json
import random
import re

import pytest
from apart_records import NET, TABLE, TESTCASE, apart, judged, nodes_of, sentences

from linkmatrix import cli
from linkmatrix.judge import cell_counts, evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import matrix as matrices
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import stored, suspects

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("nothing_is_held")]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("table", [TABLE, References({})])
def test_cells_in_a_file_get_the_verdicts_that_they_get_in_a_record(make_record, tmp_path, monkeypatch, seed, table):
    monkeypatch.setattr(matrices, "CELLS_PER_BLOCK", 40 * 7)  # several blocks, the last one smaller
    chance = random.Random(seed)
    places = [(chance.randrange(40), chance.randrange(40)) for _ in range(30)]
    words = {place: chance.choice(["timeout", "corrupt", "error", "no-peer-access"]) for place in places[:9]}
    words = {place: word for place, word in words.items() if place[0] != place[1]} if seed else {}
    content = nodes_of(make_record, lambda r, c: 0.2 * ((r, c) in places), 40, 8, words, sigma=0.01)
    path = apart(content, tmp_path / "big")
    _, found = judged(path, table)
    monkeypatch.setattr(matrices, "MOST_LOADED", 1 << 22)
    plain = evaluate.evaluate(content, table, "big" if table.names() else None).matrices[0]
    _, held = judged(path, table)
    assert (held.whole.codes == plain.whole.codes).all() and held.counts == plain.counts
    monkeypatch.setattr(matrices, "MOST_LOADED", 0)
    assert found.counts == plain.counts and found.verdict is plain.verdict
    assert (found.unjudged, found.compared) == (plain.unjudged, plain.compared)
    codes = plain.whole.codes
    for verdict in Verdict:
        assert found.cell_counts.row_counts[:, verdict].tolist() == (codes == verdict).sum(axis=1).tolist()
        assert found.cell_counts.column_counts[:, verdict].tolist() == (codes == verdict).sum(axis=0).tolist()
    (marked, count), (wanted, wanted_count) = found.worst_cells(8), plain.worst_cells(8)
    assert count == wanted_count
    assert [cell.verdict for _, cell in marked] == [cell.verdict for _, cell in wanted]
    assert all(cell.reason == plain.cells[pair].reason for pair, cell in marked)


def test_a_reference_of_a_cell_is_held_against_that_cell(make_record, tmp_path):
    path = apart(nodes_of(make_record), tmp_path)
    own = {"gpu3->gpu9": Reference(96.0, -0.05, 0.05, "GB/s"), "gpu3->gpu99": NET}
    _, found = judged(path, References({("big", TESTCASE): {"cell[NET]": NET, **own}}))
    assert found.counts[Verdict.FAIL] == 1 and found.counts[Verdict.INCOMPLETE] == 1
    assert [pair for pair, _ in found.worst_cells(5)[0]] == [("gpu3", "gpu9"), ("gpu3", "gpu99")]


@pytest.mark.parametrize(
    ("slow", "said"),
    [
        (lambda r, c: 0.48 * (r == 17), ["all cells of row gpu17 are 48.", "gpu17 sends 4", "check its egress"]),
        (lambda r, c: 0.48 * (c == 17), ["all cells of column gpu17 are 48.", "gpu17 receives 4"]),
        (lambda r, c: 0.3 * (17 in (r, c)), ["all cells of row gpu17 are 30.", "gpu17 sends and receives"]),
        (lambda r, c: 0.3 * ({r, c} == {5, 40}), ["gpu5->gpu40 and gpu40->gpu5 are both 30."]),
        (lambda r, c: 0.3 * ((r, c) == (600, 40)), ["gpu600->gpu40 is 30."]),
        (lambda r, c: 0.5 * (r == 9 or {r, c} == {20, 30}), ["row gpu9 are 50.", "gpu9 sends", "gpu20->gpu30 and"]),
    ],
)
@pytest.mark.parametrize("table", [TABLE, References({})])
def test_what_is_at_fault_is_said(make_record, tmp_path, monkeypatch, slow, said, table):
    monkeypatch.setattr(cell_counts, "MAX_EXAMINED", 48)
    monkeypatch.setattr(cell_counts, "MAX_SUSPECTS", 8)
    count = 640 if slow(600, 40) and not slow(601, 40) else 96
    text = sentences(apart(nodes_of(make_record, slow, count), tmp_path), table)
    assert all(part in text for part in said), text
    assert ("Examined: 48 of" in text) and text.startswith("FAIL" if table.names() else "NOT JUDGED")


def test_a_node_of_several_devices_is_named(make_record, tmp_path, monkeypatch):
    monkeypatch.setattr(cell_counts, "MAX_EXAMINED", 48)
    net = nodes_of(make_record, lambda r, c: 0.3 * ((r // 8 == 3) != (c // 8 == 3)), 96, 8)
    assert "cells of node n3 over the network are 3" in sentences(apart(net, tmp_path / "net"))
    inside = nodes_of(make_record, lambda r, c: 0.3 * (r // 8 == c // 8 == 3), 96, 8)
    assert "cells inside node n3 are 3" in sentences(apart(inside, tmp_path / "inside"))


@pytest.mark.parametrize(("slow", "of_node"), [((16, 17), False), ((16, 17, 18, 19), True)])
def test_the_devices_of_a_node_are_all_counted_though_few_are_looked_at(
    make_record, tmp_path, monkeypatch, slow, of_node
):
    monkeypatch.setattr(cell_counts, "MAX_EXAMINED", 12)
    content = nodes_of(make_record, lambda r, c: 0.48 * (r in slow), per_node=8)
    text = sentences(apart(content, tmp_path))
    assert "all cells of row gpu17 are 48." in text
    assert ("clocks, driver, host and" in text) is of_node


def test_a_healthy_matrix_passes_and_nothing_is_at_fault(make_record, tmp_path):
    text = sentences(apart(nodes_of(make_record), tmp_path))
    assert text.startswith("PASS") and "suspect" not in text and "4,032 PASS" in text
    assert "at fault" not in sentences(tmp_path / "record.json", References({}))


def test_without_references_everything_is_measured_and_nothing_passes(make_record, tmp_path, linkmatrix):
    text = linkmatrix.out("show", apart(nodes_of(make_record), tmp_path))
    assert "NET: 4,032 NOT JUDGED of 4,032 cells" in text
    assert "There are no references" in text and "worst rows" in text and "NET: min" in text


def test_a_page_draws_the_worst_endpoints(make_record, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cell_counts, "MAX_EXAMINED", 32)
    path = apart(nodes_of(make_record, lambda r, c: 0.48 * (r == 17)), tmp_path)
    assert cli.main(["report", str(path), "--out", str(tmp_path / "page")]) == 0  # no table
    page = (tmp_path / "page" / "report.html").read_text()
    assert "drawn: 32 of 64 endpoints, the worst" in page
    assert (
        "all cells of row gpu17 are 48." in page and page.count("data:image/png") == 2
    )  # deviations, and what was measured
    for name in (TESTCASE, f"{TESTCASE}-deviation"):
        assert (tmp_path / "page" / f"{name}.png").stat().st_size > 10_000


def test_commands_that_need_each_cell_say_where_they_are(make_record, tmp_path, linkmatrix):
    path = str(apart(nodes_of(make_record, lambda r, c: 0.48 * (r == 17)), tmp_path))
    assert "its cells are in cells.npy" in linkmatrix.out("export", path, "--format", "csv")
    assert "NET" in linkmatrix.out("history", path)
    run = stored.find(path and tmp_path / "record.json")
    (blamed,) = suspects.suspects([run], TABLE, "big", 3)
    assert "gpu17 sends" in blamed.sentence(3)


def test_link_classes_are_compared(make_record, tmp_path, linkmatrix):
    here = apart(nodes_of(make_record, lambda r, c: 0.2, 64, 8), tmp_path / "here")
    there = apart(nodes_of(make_record, count=64, per_node=8), tmp_path / "there")
    said = linkmatrix.out("compare", here, "--against", there)
    assert re.search(r"NET: median 38\.\d\d against 4[78]\.\d\d GB/s, × 0\.8\n", said), said
    assert re.search(r"NODE: median 31[67]\.\d\d against 39[567]\.\d\d GB/s, × 0\.8\n", said), said
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(nodes_of(make_record, count=64, per_node=8)))
    assert "NET: median 38." in linkmatrix.out("compare", here, "--against", plain)
