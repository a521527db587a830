"""Matrices whose cells are in a file: references out of six runs of them."""

import json
import shutil
import tracemalloc
from pathlib import Path

import pytest
from apart_records import TESTCASE, apart, nodes_of, sentences

from linkmatrix import cli
from linkmatrix.adopt.proposal import Sample
from linkmatrix.adopt.propose import propose
from linkmatrix.references.tables import References
from linkmatrix.runs.stored import find

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("nothing_is_held")]


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
