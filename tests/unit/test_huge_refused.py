"""Matrices whose cells are in a file: references from six runs, and what is refused without the right file."""

import json
import os
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from apart_records import TESTCASE, apart, judged, native_file, nodes_of, sentences

from linkmatrix import cli
from linkmatrix.adopt.proposal import Sample
from linkmatrix.adopt.propose import propose
from linkmatrix.errors import BadInput
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.runs.stored import find

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("nothing_is_held")]


def break_missing(path):
    path.unlink()


def break_pipe(path):
    path.unlink()
    os.mkfifo(path)


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
        (break_missing, "cells.npy, the file of the cells, cannot be read: No such file"),
        (break_pipe, "cells.npy, the file of the cells, is not a regular file"),
        (break_short, "it was cut short"),
        (break_head, "does not contain the cells of the record"),
        (break_shape, "its shape is (32, 128), but the record has 64 endpoints"),
        (break_other_run, "NET is 1 to"),
        (break_statuses, "'ok', not 4032"),
        (break_nan, "gpu3->gpu4 is 'ok' and its value is None"),
        (break_unknown, "a status 200"),
        (break_diagonal, "which only the diagonal may have"),
    ],
)
def test_without_its_file_there_is_incomplete(make_record, tmp_path, capsys, broken, why):
    path = apart(nodes_of(make_record), tmp_path)
    broken(tmp_path / "cells.npy")
    one, found = judged(path)
    assert found.verdict is Verdict.INCOMPLETE and why in found.problem, found.problem
    for command in ("show", "diagnose", "report"):
        assert cli.main([command, str(path)]) == 3
    said = capsys.readouterr()
    assert why[:20] in " ".join(said.out.split()) and said.err == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: one["cells"].update(file="../cells.npy"), "does not match"),
        (lambda one: one["cells"].update(file="/tmp/cells.npy"), "does not match"),
        (lambda one: one["cells"]["counts"].__setitem__(1, 5), "not 64 × 64"),
        (lambda one: one["cells"]["counts"].pop(), "statuses and counts differ in length"),
        (lambda one: one["cells"]["statuses"].__setitem__(0, "ok"), "a status occurs twice"),
        (lambda one: one["cells"]["row_medians"].pop(), "row_medians are 63, not 64"),
        (lambda one: one["cells"]["column_medians"].append(1), "column_medians are 65, not 64"),
        (lambda one: one["cells"]["classes"][0].update(measured=7), "have 7 cells, but 4032 were measured"),
        (lambda one: one["cells"]["classes"][0].update(median=1e6), "is not between its min and max"),
        (lambda one: one["cells"]["classes"][0].update(link_class="PIX"), "'PIX' is not one of"),
        (lambda one: one["cells"]["classes"].append(one["cells"]["classes"][0]), "occurs twice"),
        (lambda one: one.update(complete=False), "'complete' is False"),
        (lambda one: one.update(columns=one["columns"][::-1]), "need identical lists of rows and columns"),
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
    assert found.verdict is Verdict.FAIL and "wrong data arrived" in found.worst_cells(1)[0][0][1].reason
    content = json.loads(path.read_text())
    content["results"][0]["verified"] = True
    with pytest.raises(BadInput, match="a cell is corrupt"):
        reading.check(content)


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


def test_references_of_link_classes_are_adopted_and_hold(make_record, tmp_path, capsys):
    paths, file = six_runs(make_record, tmp_path), tmp_path / "p2p.yaml"
    assert adopted(paths, file, "--write") == 0, capsys.readouterr().out
    table = References.load(file).table("big", TESTCASE)
    assert set(table) == {"cell[NET]", "cell[NODE]"}
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
        (lambda run, r, c: 0.2 * (run == 2 and r == 0), ": gpu0->gpu"),  # a row that is looked at
        (lambda run, r, c: 0.2 * (run == 2 and (r, c) == (33, 5)), "the lowest cell of NET in"),
        (lambda run, r, c: 0.2 * ((r, c) == (33, 5)), ": the lowest cell of NET in"),
    ],
)
def test_runs_with_outliers_are_refused(make_record, tmp_path, capsys, slow, said):
    paths, file = six_runs(make_record, tmp_path, slow), tmp_path / "p2p.yaml"
    assert adopted(paths, file, "--write") == 3
    assert said in capsys.readouterr().out and not file.exists()
    assert adopted(paths, file, "--write", "--with-outliers", "--as-is", "known to be so") == 0


def test_no_more_than_four_numbers_per_cell_and_run_are_in_memory(make_record, tmp_path, monkeypatch):
    monkeypatch.undo()  # the cells fit into memory
    base, runs, endpoints = apart(nodes_of(make_record, count=192, per_node=8), tmp_path / "run0"), 24, 192
    for run in range(1, runs):
        shutil.copytree(base.parent, tmp_path / f"run{run}")
        content = json.loads(base.read_text()) | {"started": f"2026-11-21T{run:02}:00:00Z"}
        (tmp_path / f"run{run}" / "record.json").write_text(json.dumps(content))
    every = [Sample(str(run), one.record, one.record["results"][0]) for run, one in enumerate(find(tmp_path).tests)]
    tracemalloc.start()
    propose(every, False, None, False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 8 * runs * endpoints**2


def test_without_their_cells_too_few_or_incomplete_runs_are_refused(make_record, tmp_path, capsys):
    paths, file = six_runs(make_record, tmp_path), tmp_path / "p2p.yaml"
    assert adopted(paths[:5], file, "--write") == 3 and "too few runs: 5" in capsys.readouterr().out
    broken = apart(nodes_of(make_record, count=64, per_node=8, words={(1, 2): "timeout"}), tmp_path / "run0")
    assert adopted(paths, file, "--write") == 3 and "ended with ERROR" in capsys.readouterr().out
    broken.unlink()
    paths = six_runs(make_record, tmp_path)
    (tmp_path / "run3" / "cells.npy").unlink()
    assert adopted(paths, file, "--write") == 3 and "cannot be read: No such file" in capsys.readouterr().out
    other = apart(nodes_of(make_record, lambda r, c: 0.1, 64, 8), tmp_path / "other")
    shutil.copy(other.with_name("cells.npy"), tmp_path / "run3")
    assert adopted(paths, file, "--write") == 3 and "does not match the cells of its record" in capsys.readouterr().out
    assert not file.exists()
