"""Matrices whose cells are in a file beside the record: judged as others are, located, and never passed without it."""

import json
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from apart_records import apart, native_file

from linkmatrix import cli
from linkmatrix.commands import diagnose
from linkmatrix.errors import BadInput
from linkmatrix.judge import closely, evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import matrix as matrices
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import judging, stored, suspects

TESTCASE = "device_to_device_memcpy_write_ce"
NET, NODE = Reference(48.0, -0.05, 0.10, "GB/s"), Reference(396.0, -0.05, 0.10, "GB/s")
TABLE = References({("big", TESTCASE): {"cell[NET]": NET, "cell[NODE]": NODE}})


def nodes_of(make_record, slow=lambda a, b: 0.0, count=64, per_node=1, words=None, sigma=0.004, seed=3):
    """A record of devices on nodes n0, n1 …; slow: by how much a cell is slower; words: {(row, column): status}."""
    chance, off = random.Random(seed), dict(words or {})
    for r in range(count):
        for c in range(count):
            if r != c and (r, c) not in off:
                level = 396.0 if r // per_node == c // per_node else 48.0
                off[r, c] = float(np.float32(level * (1 - slow(r, c)) * (1 + chance.gauss(0, sigma))))
    content = make_record(count=count, off=off)
    result = content["results"][0]
    for device in content["devices"]:
        device["node"] = f"n{device['index'] // per_node}"
    result["limit"] = [[None] * count for _ in range(count)]
    for r in range(count):
        for c in range(count):
            if r != c:
                result["link_class"][r][c] = "NODE" if r // per_node == c // per_node else "NET"
            if result["status"][r][c] == "corrupt":
                for name in ("values", "low", "high"):
                    result[name][r][c] = 48.0
    return content


@pytest.fixture(autouse=True)
def nothing_is_held(monkeypatch):
    """Small matrices go the way of those that are too large to be held."""
    monkeypatch.setattr(matrices, "MOST_HELD", 0)


def judged(path, table=TABLE):
    run = stored.find(path)
    (one,) = judging.judge_all(run, table, "big" if table.names() else None)
    return one, one.matrices[0][1]


def sentences(path, table=TABLE):
    one, matrix = judged(path, table)
    return "\n".join(diagnose.lines(one, one.matrices[0][0], matrix))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("table", [TABLE, References({})])
def test_cells_in_a_file_get_the_verdicts_that_they_get_in_a_record(make_record, tmp_path, monkeypatch, seed, table):
    monkeypatch.setattr(matrices, "CELLS_AT_ONCE", 40 * 7)  # several blocks, the last one smaller
    chance = random.Random(seed)
    places = [(chance.randrange(40), chance.randrange(40)) for _ in range(30)]
    words = {place: chance.choice(["timeout", "corrupt", "error", "no-peer-access"]) for place in places[:9]}
    words = {place: word for place, word in words.items() if place[0] != place[1]} if seed else {}
    content = nodes_of(make_record, lambda r, c: 0.2 * ((r, c) in places), 40, 8, words, sigma=0.01)
    path = apart(content, tmp_path / "big")
    _, found = judged(path, table)
    monkeypatch.setattr(matrices, "MOST_HELD", 1 << 22)
    plain = evaluate.evaluate(content, table, "big" if table.names() else None).matrices[0]
    _, held = judged(path, table)
    assert (held.whole.codes == plain.whole.codes).all() and held.counts == plain.counts
    monkeypatch.setattr(matrices, "MOST_HELD", 0)
    assert found.counts == plain.counts and found.verdict is plain.verdict
    assert (found.unjudged, found.held) == (plain.unjudged, plain.held)
    codes = plain.whole.codes
    for verdict in Verdict:
        assert found.tally.of_rows[:, verdict].tolist() == (codes == verdict).sum(axis=1).tolist()
        assert found.tally.of_columns[:, verdict].tolist() == (codes == verdict).sum(axis=0).tolist()
    (marked, count), (wanted, wanted_count) = found.marked(8), plain.marked(8)
    assert count == wanted_count
    assert [cell.verdict for _, cell in marked] == [cell.verdict for _, cell in wanted]
    assert all(cell.reason == plain.cells[pair].reason for pair, cell in marked)


def test_a_reference_of_a_cell_is_held_against_that_cell(make_record, tmp_path):
    path = apart(nodes_of(make_record), tmp_path)
    own = {"gpu3->gpu9": Reference(96.0, -0.05, 0.05, "GB/s"), "gpu3->gpu99": NET}
    _, found = judged(path, References({("big", TESTCASE): {"cell[NET]": NET, **own}}))
    assert found.counts[Verdict.FAIL] == 1 and found.counts[Verdict.NO_VERDICT] == 1
    assert [pair for pair, _ in found.marked(5)[0]] == [("gpu3", "gpu9"), ("gpu3", "gpu99")]


@pytest.mark.parametrize(
    ("slow", "said"),
    [
        (lambda r, c: 0.48 * (r == 17), ["all cells of row gpu17 are 48.", "gpu17 sends 4", "suspect its egress"]),
        (lambda r, c: 0.48 * (c == 17), ["all cells of column gpu17 are 48.", "gpu17 receives 4"]),
        (lambda r, c: 0.3 * (17 in (r, c)), ["all cells of row gpu17 are 30.", "gpu17 sends and receives"]),
        (lambda r, c: 0.3 * ({r, c} == {5, 40}), ["gpu5->gpu40 and gpu40->gpu5 are off"]),
        (lambda r, c: 0.3 * ((r, c) == (600, 40)), ["gpu600->gpu40 is off"]),
        (lambda r, c: 0.5 * (r == 9 or {r, c} == {20, 30}), ["row gpu9 are 50.", "gpu9 sends", "gpu20->gpu30 and"]),
    ],
)
@pytest.mark.parametrize("table", [TABLE, References({})])
def test_what_is_at_fault_is_said(make_record, tmp_path, monkeypatch, slow, said, table):
    monkeypatch.setattr(closely, "LOOKED_AT", 48)
    monkeypatch.setattr(closely, "SUSPECTS", 8)
    count = 640 if slow(600, 40) and not slow(601, 40) else 96
    text = sentences(apart(nodes_of(make_record, slow, count), tmp_path), table)
    assert all(part in text for part in said), text
    assert ("Looked at closely: 48 of" in text) and text.startswith("NO VERDICT" if not table.names() else "FAIL")


def test_a_node_of_several_devices_is_named(make_record, tmp_path, monkeypatch):
    monkeypatch.setattr(closely, "LOOKED_AT", 48)
    net = nodes_of(make_record, lambda r, c: 0.3 * ((r // 8 == 3) != (c // 8 == 3)), 96, 8)
    assert "cells of node n3 over the network are 3" in sentences(apart(net, tmp_path / "net"))
    inside = nodes_of(make_record, lambda r, c: 0.3 * (r // 8 == c // 8 == 3), 96, 8)
    assert "cells inside node n3 are 3" in sentences(apart(inside, tmp_path / "inside"))


def test_a_healthy_matrix_passes_and_nothing_is_at_fault(make_record, tmp_path):
    text = sentences(apart(nodes_of(make_record), tmp_path))
    assert text.startswith("PASS") and "nothing is at fault" in text and "4,032 PASS" in text
    assert "at fault" not in sentences(tmp_path / "record.json", References({}))


def break_missing(path):
    path.unlink()


def break_short(path):
    path.write_bytes(path.read_bytes()[:-1])


def break_head(path):
    path.write_bytes(b"PK" + path.read_bytes()[2:])


def break_shape(path):
    path.write_bytes(path.read_bytes().replace(b"(64, 64)", b"(32,128)"))


def break_other_run(path):
    cells = np.load(path).copy()
    cells[["value", "low", "high"]][3, 4] = (1.0, 1.0, 1.0)
    for name in ("value", "low", "high"):
        cells[name][3, 4] = 1.0
    native_file(path, cells)


def break_statuses(path):
    cells = np.load(path).copy()
    cells[3, 4] = (0, 0, 0, 0, 4, 0)
    native_file(path, cells)


def break_nan(path):
    cells = np.load(path).copy()
    cells["value"][3, 4] = np.nan
    native_file(path, cells)


def break_unknown(path):
    cells = np.load(path).copy()
    cells["status"][3, 4] = 200
    native_file(path, cells)


def break_diagonal(path):
    cells = np.load(path).copy()
    cells[[3, 4]] = cells[[4, 3]]
    native_file(path, cells)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (break_missing, "cells.npy, which has the cells, cannot be read: No such file"),
        (break_short, "it was cut short"),
        (break_head, "does not hold the cells of the record"),
        (break_shape, "it is (32, 128), and there are 64 endpoints"),
        (break_other_run, "NET is 1 to"),
        (break_statuses, "'ok', not 4032"),
        (break_nan, "gpu3->gpu4 is 'ok' and its value is None"),
        (break_unknown, "a status 200"),
        (break_diagonal, "which is for the diagonal, and only for it"),
    ],
)
def test_without_its_file_there_is_no_verdict(make_record, tmp_path, capsys, broken, why):
    path = apart(nodes_of(make_record), tmp_path)
    broken(tmp_path / "cells.npy")
    one, found = judged(path)
    assert found.verdict is Verdict.NO_VERDICT and why in found.problem, found.problem
    for command in ("show", "diagnose", "report"):
        assert cli.main([command, str(path)]) == 3
    said = capsys.readouterr()
    assert why[:20] in " ".join(said.out.split()) and said.err == ""


def test_without_references_everything_is_measured_and_nothing_passes(make_record, tmp_path, capsys):
    assert cli.main(["show", str(apart(nodes_of(make_record), tmp_path))]) == 3
    text = capsys.readouterr().out
    assert "there are no references" in text and "worst rows" in text and "NET: min" in text


def test_a_page_draws_the_worst_endpoints(make_record, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(closely, "LOOKED_AT", 32)
    path = apart(nodes_of(make_record, lambda r, c: 0.48 * (r == 17)), tmp_path)
    assert cli.main(["report", str(path), "--out", str(tmp_path / "page")]) == 3
    page = (tmp_path / "page" / "report.html").read_text()
    assert "drawn: 32 of 64 endpoints, the worst" in page
    assert "all cells of row gpu17 are 48." in page and page.count("data:image/png") == 1
    assert (tmp_path / "page" / f"{TESTCASE}.png").stat().st_size > 10_000


def test_commands_that_need_each_cell_say_where_they_are(make_record, tmp_path, capsys):
    path = str(apart(nodes_of(make_record, lambda r, c: 0.48 * (r == 17)), tmp_path))
    assert cli.main(["compact", path]) == 0 and not list(tmp_path.glob("*.npz"))
    assert cli.main(["export", path, "--format", "csv"]) == 0
    assert "its cells are in cells.npy" in capsys.readouterr().out
    assert cli.main(["history", path]) == 0
    assert "NET" in capsys.readouterr().out
    run = stored.find(path and tmp_path / "record.json")
    (blamed,) = suspects.suspects([run], TABLE, "big", 3)
    assert "gpu17 sends" in blamed.sentence(3)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: one["cells"].update(file="../cells.npy"), "does not match"),
        (lambda one: one["cells"].update(file="/tmp/cells.npy"), "does not match"),
        (lambda one: one["cells"]["counts"].__setitem__(1, 5), "not 64 × 64"),
        (lambda one: one["cells"]["counts"].pop(), "a count for each status"),
        (lambda one: one["cells"]["statuses"].__setitem__(0, "ok"), "each status once"),
        (lambda one: one["cells"]["row_medians"].pop(), "row_medians are 63, not 64"),
        (lambda one: one["cells"]["column_medians"].append(1), "column_medians are 65, not 64"),
        (lambda one: one["cells"]["classes"][0].update(measured=7), "of 7 cells, and 4032 were measured"),
        (lambda one: one["cells"]["classes"][0].update(median=1e6), "is not between its min and max"),
        (lambda one: one["cells"]["classes"][0].update(link_class="PIX"), "'PIX' is not one of"),
        (lambda one: one["cells"]["classes"].append(one["cells"]["classes"][0]), "comes twice"),
        (lambda one: one.update(complete=False), "'complete' is False"),
        (lambda one: one.update(columns=one["columns"][::-1]), "rows and columns differ"),
        (lambda one: one.update(values=[[1.0]]), "does not allow"),
        (lambda one: one.pop("cells"), "required property"),
        (lambda one: one["cells"].pop("classes"), "required property"),
    ],
)
def test_a_record_whose_summaries_contradict_each_other_is_refused(make_record, tmp_path, change, why):
    path = apart(nodes_of(make_record), tmp_path)
    content = json.loads(path.read_text())
    change(content["results"][0])
    path.write_text(json.dumps(content))
    with pytest.raises(BadInput, match=why):
        reading.load(path)


def test_a_corrupt_cell_contradicts_verified(make_record, tmp_path):
    path = apart(nodes_of(make_record, words={(1, 2): "corrupt"}), tmp_path)
    _, found = judged(path)
    assert found.verdict is Verdict.FAIL and "what arrived is not what was sent" in found.marked(1)[0][0][1].reason
    content = json.loads(path.read_text())
    content["results"][0]["verified"] = True
    with pytest.raises(BadInput, match="a cell is corrupt"):
        reading.check(content)


def test_link_classes_are_compared(make_record, tmp_path, capsys):
    here = apart(nodes_of(make_record, lambda r, c: 0.2, 64, 8), tmp_path / "here")
    there = apart(nodes_of(make_record, count=64, per_node=8), tmp_path / "there")
    assert cli.main(["compare", str(here), "--against", str(there)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"NET: median 38\.\d\d against 4[78]\.\d\d GB/s, × 0\.8\n", said), said
    assert re.search(r"NODE: median 31[67]\.\d\d against 39[567]\.\d\d GB/s, × 0\.8\n", said), said
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(nodes_of(make_record, count=64, per_node=8)))
    assert cli.main(["compare", str(here), "--against", str(plain)]) == 0
    assert "NET: median 38." in capsys.readouterr().out


def six_runs(make_record, folder, slow=lambda run, r, c: 0.0):
    """Runs of the same 64 devices on 8 nodes, noise of their own in each."""
    paths = []
    for run in range(6):
        content = nodes_of(make_record, lambda r, c, run=run: slow(run, r, c), 64, 8, sigma=0.002, seed=run)
        content["started"] = f"2026-11-2{run}T01:50:22Z"
        paths.append(str(apart(content, folder / f"run{run}")))
    return paths


def adopted(paths, file, *more):
    return cli.main(["adopt", *paths, "--table", "big", "--file", str(file), *more])


def test_references_by_class_row_and_column_are_adopted_and_hold(make_record, tmp_path, capsys):
    paths, file = six_runs(make_record, tmp_path), tmp_path / "p2p.yaml"
    assert adopted(paths, file, "--write") == 0, capsys.readouterr().out
    table = References.load(file).table("big", TESTCASE)
    assert {name.partition("[")[0] for name in table} == {"min", "median", "max", "cell"}
    assert {name.partition("[")[2][:-1] for name in table} == {"NET", "NODE", "rows", "columns"}
    assert table["cell[NET]"].value == pytest.approx(48, rel=0.01)
    assert table["cell[NODE]"].value == pytest.approx(396, rel=0.01)
    assert all(-0.05 < one.lower <= -0.02 for one in table.values())
    assert "rows of each run" in file.read_text()
    assert sentences(Path(paths[0]), References.load(file)).startswith("PASS")
    slow = apart(nodes_of(make_record, lambda r, c: 0.1 * (r == 5), 64, 8), tmp_path / "slow")
    assert "gpu5 sends 10" in sentences(slow, References.load(file))


@pytest.mark.parametrize(
    ("slow", "said"),
    [
        (lambda run, r, c: 0.2 * (run == 2 and r == 0), "outliers, such as gpu0->gpu"),  # a row that is looked at
        (lambda run, r, c: 0.2 * (run == 2 and (r, c) == (33, 5)), "the least cell of NET in"),
        (lambda run, r, c: 0.2 * ((r, c) == (33, 5)), "6 outliers, such as the least cell of NET in"),
    ],
)
def test_runs_with_outliers_are_refused(make_record, tmp_path, capsys, slow, said):
    paths, file = six_runs(make_record, tmp_path, slow), tmp_path / "p2p.yaml"
    assert adopted(paths, file, "--write") == 1
    assert said in capsys.readouterr().out and not file.exists()
    assert adopted(paths, file, "--write", "--with-outliers", "--as-is", "known to be so") == 0


def test_without_their_cells_too_few_or_incomplete_runs_are_refused(make_record, tmp_path, capsys):
    paths, file = six_runs(make_record, tmp_path), tmp_path / "p2p.yaml"
    assert adopted(paths[:5], file, "--write") == 1 and "too few runs: 5" in capsys.readouterr().out
    broken = apart(nodes_of(make_record, count=64, per_node=8, words={(1, 2): "timeout"}), tmp_path / "run0")
    assert adopted(paths, file, "--write") == 1 and "ended with ERROR" in capsys.readouterr().out
    broken.unlink()
    paths = six_runs(make_record, tmp_path)
    (tmp_path / "run3" / "cells.npy").unlink()
    assert adopted(paths, file, "--write") == 1 and "cannot be read: No such file" in capsys.readouterr().out
    other = apart(nodes_of(make_record, lambda r, c: 0.1, 64, 8), tmp_path / "other")
    shutil.copy(other.with_name("cells.npy"), tmp_path / "run3")
    assert adopted(paths, file, "--write") == 1 and "holds other cells than its record" in capsys.readouterr().out
    assert not file.exists()
