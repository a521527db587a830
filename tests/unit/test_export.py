"""Other tools get every cell with its verdict, whole and as it is, and a cluster is told nothing but words."""

import csv
import io
import math
import re
import shlex
from pathlib import Path

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from linkmatrix import cli, files
from linkmatrix.commands import export
from linkmatrix.show import node_lists, prometheus
from linkmatrix.show.analysis import Analysis

REAL = Path(__file__).parents[1] / "data" / "h200x4_full.record.json"
KINDS = {"string": str, "Int64": int, "float64": float}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
LINE = re.compile(rf"(?:# HELP {NAME} .*|# TYPE {NAME} gauge|{NAME}(?:\{{{LABEL}(?:,{LABEL})*\}})? -?\d[\d.e+-]*)")


@pytest.fixture
def exported(write_record, reference_folder, capsys):
    """(exit code, output) of `export` of records."""

    def run(*arguments, reference="hgx"):
        references = ["--references", str(reference_folder), *(["--reference", reference] if reference else [])]
        code = cli.main(["export", *map(str, arguments), *references])
        return code, capsys.readouterr().out

    return run


def test_a_csv_has_every_cell_as_it_is(exported, write_record, make_record):
    off = {(0, 1): 395.123456789, (1, 0): "timeout", (2, 3): 350.0}
    content = make_record(off=off, result="TIMEOUT")
    code, out = exported(write_record(content), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0 and len(rows) == 12 and list(rows[0]) == list(export.COLUMNS)
    result = content["results"][0]
    for row in rows:
        r, c = result["rows"].index(row["source"]), result["columns"].index(row["destination"])
        for name in ("value", "low", "high", "limit"):
            number = result["values" if name == "value" else name][r][c]
            assert row[name] == ("" if number is None else repr(float(number)))
        assert row["status"] == result["status"][r][c] and row["reference"] == "396.0"
    by_pair = {(row["source"], row["destination"]): row for row in rows}
    assert by_pair["gpu1", "gpu0"]["verdict"] == "INCOMPLETE" and "timeout" in by_pair["gpu1", "gpu0"]["reason"]
    assert by_pair["gpu2", "gpu3"]["verdict"] == "FAIL"


def test_a_real_run_comes_back_from_csv_and_from_parquet(tmp_path, capsys):
    for name in ("csv", "parquet"):
        arguments = ["--format", name, "--out", str(tmp_path / f"run.{name}"), "--reference", "hgx-h200-half"]
        assert cli.main(["export", str(REAL), *arguments]) == 0
    table = polars.read_parquet(tmp_path / "run.parquet")
    rows = list(csv.DictReader((tmp_path / "run.csv").open(newline="")))
    assert table.height == len(rows) > 500 and table.columns == list(export.COLUMNS)
    for cells, row in zip(table.iter_rows(named=True), rows, strict=True):
        for name, kind in zip(export.COLUMNS, map(KINDS.get, export.COLUMNS.values()), strict=True):
            assert cells[name] == (kind(row[name]) if row[name] else None) or (cells[name] or "") == row[name]


def test_a_test_without_a_record_is_a_row_that_says_why(make_record):
    from linkmatrix.judge.verdicts import Verdict
    from linkmatrix.runs.judging import Judged
    from linkmatrix.runs.testcases import Test

    lost = Judged(Test(name="intranode_p2p", result="fail", testcase="x"), Verdict.FAIL, reasons=("no\nrecord",))
    (row,) = export.cell_table([lost]).to_dict("records")
    assert (row["testcase"], row["verdict"], row["reason"]) == ("x", "FAIL", "no record")


@given(st.text(min_size=1))
def test_no_text_is_a_formula(text):
    assert not export.FORMULA.match(export.plain_text(text))


def test_prometheus_can_read_it(exported, write_record, make_record):
    path = write_record(make_record(off={(2, 3): 350.0}))
    code, out = exported(path, "--format", "prometheus")
    assert code == 0 and out.endswith("\n")
    assert [line for line in out.splitlines() if not LINE.fullmatch(line)] == []
    samples = {}
    for family in text_string_to_metric_families(out):
        assert family.type == "gauge" and family.documentation
        assert all(sample.name == family.name and sample.timestamp is None for sample in family.samples)
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in samples and math.isfinite(sample.value)
            samples[key] = sample.value
    values = {name: value for (name, labels), value in samples.items() if dict(labels).get("stat") in (None, "min")}
    assert values["linkmatrix_bandwidth_bytes_per_second"] == pytest.approx(350e9)
    assert values["linkmatrix_run_verdict"] == values["linkmatrix_verdict"] == 5
    assert values["linkmatrix_last_run_timestamp_seconds"] == 1795225822
    assert values["linkmatrix_suspects"] == 2
    cells = {dict(labels)["verdict"]: value for (name, labels), value in samples.items() if name == "linkmatrix_cells"}
    assert cells == {"pass": 11, "warn": 0, "not_judged": 0, "disturbed": 0, "incomplete": 0, "fail": 1}


def test_metrics_of_one_name_stand_together_and_are_described_once():
    out = prometheus.text(Analysis(None, []), [])
    assert out.count("# TYPE linkmatrix_run_verdict ") == 1 and "linkmatrix_run_verdict 4" in out
    assert [line for line in out.splitlines() if not LINE.fullmatch(line)] == []


@given(st.dictionaries(st.sampled_from(["host", "stat"]), st.text(alphabet=st.characters(codec="utf-8"), min_size=1)))
def test_any_label_is_escaped_as_the_format_wants(labels):
    line = f"linkmatrix_cells{prometheus.labelled(labels)} 1\n"
    ((sample,),) = [family.samples for family in text_string_to_metric_families(line)]
    assert sample.labels == labels and line.count("\n") == 1


def test_a_textfile_is_replaced_whole_and_has_the_name_that_is_read(exported, write_record, tmp_path, monkeypatch):
    out = tmp_path / "collector" / "linkmatrix.prom"
    assert exported(write_record(), "--format", "prometheus", "--out", out)[0] == 0
    before = out.read_bytes()
    assert before.startswith(b"# HELP ") and [path.name for path in out.parent.iterdir()] == ["linkmatrix.prom"]

    def full(_):
        raise OSError(28, "No space left on device", str(out))

    monkeypatch.setattr(files.os, "fsync", full)
    assert exported(write_record(value=390.0), "--format", "prometheus", "--out", out)[0] == 4
    assert out.read_bytes() == before and len(list(out.parent.iterdir())) == 1
    assert exported(write_record(), "--format", "prometheus", "--out", tmp_path / "a.txt")[0] == 2


def slow(make_record, host):
    content = make_record(off={(3, c): 350.0 for c in range(3)}, host=host)
    for device in content["devices"]:
        device["node"] = host
    return content


def test_the_one_line_for_slurm_is_an_option_and_the_rest_are_comments(exported, write_record, make_record, tmp_path):
    paths = [write_record(slow(make_record, host), tmp_path / host / "record.json") for host in ("n17.site", "n03")]
    code, out = exported(*paths, "--format", "slurm-exclude")
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    assert code == 0 and lines == ["--exclude=n03,n17"]
    drains = [line for line in out.splitlines() if "State=DRAIN" in line]
    words = shlex.split(drains[1].removeprefix("#"))
    assert words[:4] == ["scontrol", "update", "NodeName=n17", "State=DRAIN"] and len(words) == 5
    assert words[4].startswith("Reason=linkmatrix: device_to_device_memcpy_write_ce: gpu3 sends")


def test_without_a_suspect_there_is_no_option(exported, write_record):
    code, out = exported(write_record(), "--format", "slurm-exclude")
    assert code == 0 and all(line.startswith("#") for line in out.splitlines())


@given(st.text())
def test_no_reason_leaves_its_quotes(text):
    assert shlex.split(shlex.quote("linkmatrix: " + node_lists.printable(text))) == [
        "linkmatrix: " + node_lists.printable(text)
    ]


def test_bad_input_is_one_sentence(exported, write_record, capsys):
    with pytest.raises(SystemExit, match="2"):
        exported(write_record(), "--format", "csv", "--clean-runs", "0")
    with pytest.raises(SystemExit) as ended:
        cli.main(["export", "--format", "xlsx"])
    assert ended.value.code == 2


def test_parquet_is_not_written_to_a_terminal(write_record, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert cli.main(["export", str(write_record()), "--format", "parquet"]) == 2
    found = capsys.readouterr()
    assert found.out == "" and "with --out" in found.err
    assert cli.main(["export", str(write_record()), "--format", "csv"]) == 0
