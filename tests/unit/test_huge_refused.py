"""Matrices whose cells are in a file: without it, or with another one, there is no verdict."""

import json
import os

import numpy as np
import pytest
from apart_records import apart, judged, native_file, nodes_of

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading

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
        (break_missing, "cells.npy, which has the cells, cannot be read: No such file"),
        (break_pipe, "cells.npy, the file of the cells, is not a regular file"),
        (break_short, "it was cut short"),
        (break_head, "does not contain the cells of the record"),
        (break_shape, "it is (32, 128), and there are 64 endpoints"),
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
        (lambda one: one["cells"]["classes"][0].update(measured=7), "of 7 cells, and 4032 were measured"),
        (lambda one: one["cells"]["classes"][0].update(median=1e6), "is not between its min and max"),
        (lambda one: one["cells"]["classes"][0].update(link_class="PIX"), "'PIX' is not one of"),
        (lambda one: one["cells"]["classes"].append(one["cells"]["classes"][0]), "occurs twice"),
        (lambda one: one.update(complete=False), "'complete' is False"),
        (lambda one: one.update(columns=one["columns"][::-1]), "need equal rows and columns"),
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
