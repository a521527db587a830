"""A collective of many sizes is one table and one curve, and each way of it has its own series and references."""

import json
import re
from pathlib import Path

import collectives
import pytest
from collectives import DOCUMENT, LAYOUT, own

from linkmatrix import cli
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.show import page
from linkmatrix.show.collectives import curves_of

NAME = "all_reduce_perf"
DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The records of the layout: 8 sizes on one node, 5 on two."""
    return collectives.imported(tmp_path_factory.mktemp("layout"), LAYOUT)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Six records of one node, a night each, of a machine that varies by 0.2 %."""
    found = []
    for number, factor in enumerate((1.0, 1.002, 0.999, 1.001, 0.998, 1.0)):
        place, when = tmp_path_factory.mktemp("night"), f"2026-11-{10 + number}T01:50:22Z"
        found.append(collectives.imported(place, collectives.faster(DOCUMENT, factor), "--measured", when) / "03")
    return found


@pytest.fixture
def linkmatrix(capsys):
    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def adopted(nights, tmp_path, linkmatrix):
    """(what adopt printed, the folder of references that it wrote)."""
    file = tmp_path / "references" / "p2p.yaml"
    code, out = linkmatrix("adopt", *nights, "--table", "a100", "--file", file, "--write")
    assert code == 0, out
    return out, file.parent


def test_show_has_a_line_a_size_with_time_and_both_bandwidths_of_both_ways(folder, linkmatrix):
    code, out = linkmatrix("show", folder)
    assert code == 0
    lines = out.splitlines()
    assert lines.count("bus bandwidth (GB/s) of 8 ranks on one node, one line per size") == 1
    assert "bus bandwidth (GB/s) of 16 ranks on 2 nodes, one line per size" in lines
    head = next(at for at, line in enumerate(lines) if "out-of-place" in line)
    assert lines[head + 1].split() == ["time", "algbw", "busbw"] * 2
    assert lines[head + 2].split() == ["(µs)", "(GB/s)", "(GB/s)"] * 2
    sizes = [line.split() for line in lines[head + 3 : head + 11]]
    assert sizes[-2] == ["128", "MiB", "1040.7", "128.97", "225.70○", "1047.4", "128.14", "224.25○"]
    assert [" ".join(words[:2]) for words in sizes] == (
        ["512 bytes", "4 KiB", "32 KiB", "256 KiB", "2 MiB", "16 MiB", "128 MiB", "1 GiB"]
    )
    assert "row = source" not in out and "unknown: min" not in out
    said = " ".join(out.split())
    assert "512 bytes: note: sizes whose bandwidth is printed as 0.00 are ignored" in said
    assert f"{NAME}, n01 512 bytes to 1 GiB: out-of-place 0.0300 to 231.78, in-place 0.0300 to 232.62 GB/s" in said


def test_a_way_that_has_no_figure_is_incomplete_and_said_with_its_size(tmp_path, linkmatrix):
    record = reading.load(collectives.imported(tmp_path, DOCUMENT) / "03" / "record.json")
    result = record["results"][1]
    result.update(values=[[197.64, None]], status=[["ok", "error"]], low=[[197.64, None]], high=[[197.64, None]])
    result.update(samples=[[1, 0]], complete=False, verified=False)
    record["result"] = "ERROR"
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    code, out = linkmatrix("show", path)
    assert code == 3 and "error?" in out
    assert "256 MiB: INCOMPLETE: all->in-place was not measured: error" in " ".join(out.split())
    code, out = linkmatrix("diagnose", path)
    assert "all->in-place was not measured: error" in out


def test_a_collective_is_a_curve_of_two_series_and_no_heat_map(folder, tmp_path, linkmatrix):
    (curve,) = curves_of(reading.load(folder / "01" / "record.json"))
    assert {name: len(points) for name, points in curve.points().items()} == {"out-of-place": 8, "in-place": 8}
    code, _ = linkmatrix("report", folder, "--out", tmp_path)
    assert code == 0
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["sizes-2.png", "sizes.png"]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("<img ") == 2 and "Heat map" not in text
    table = text[text.index('id="c0"') : text.index('id="c1"')]
    assert table.count('<th scope="row">') == 8 and "of 8 ranks on one node" in table
    assert re.search(r'<th scope="row">128 MiB</th><td>1040.7</td><td>128.97</td><td class="not-judged"', table)
    overview = text[: text.index('id="provenance"')]
    assert overview.count('<a href="#c0">') == 2 and overview.count('<a href="#c1">') == 2
    assert "bus bandwidth, 512 bytes to 1 GiB" in overview


def test_of_many_nodes_no_more_tables_are_on_the_page_than_a_person_reads(tmp_path, linkmatrix, monkeypatch):
    monkeypatch.setattr(page, "MAX_MATRICES", 2)
    one = LAYOUT[: LAYOUT.index("$ mpirun")]
    for node in ("n01", "n02", "n03"):
        collectives.imported(tmp_path / node, one.replace(" n01 ", f" {node} "))
    assert linkmatrix("report", tmp_path, "--out", tmp_path / "page")[0] == 0
    text = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    assert re.findall(r'id="(c\d+)"', text) == ["c0", "c1"]
    assert all(f'<th scope="row">{node}</th>' in text for node in ("n01", "n02", "n03"))


@pytest.mark.parametrize("nodes", [1, 2])
def test_our_own_program_is_shown_as_an_import_is(tmp_path, linkmatrix, nodes):
    place = collectives.imported(tmp_path, DOCUMENT) / ("03" if nodes == 1 else "07")
    path = tmp_path / "own.json"
    path.write_text(json.dumps(own(reading.load(place / "record.json"), nodes)))
    theirs = linkmatrix("show", place)[1]
    code, out = linkmatrix("show", path)
    assert code == 3
    tables = [re.findall(r"^ *\d+ \w+ .*[○]$", text, re.M) for text in (theirs, out)]
    assert tables[0] == tables[1] and len(tables[0]) == (5 if nodes == 1 else 4)
    assert linkmatrix("report", path, "--out", tmp_path / "page")[0] == 3
    assert linkmatrix("diagnose", path)[0] == 3


def test_a_record_of_real_devices_says_its_samples_once_and_by_what_each_size_ran(linkmatrix):
    code, out = linkmatrix("show", DATA / "h200x2_all_reduce.record.json")
    text = " ".join(out.split())
    assert code == 0
    assert "bus bandwidth (GB/s) of 2 ranks on one node, one line per size" in text
    assert re.search(r" 7 to 28 samples per cell, data verified", text)
    assert "16 KiB: note: NCCL ran RING, LL, channels 0..1" in text


def test_the_page_says_of_which_size_each_finding_is(tmp_path, linkmatrix):
    linkmatrix("report", DATA / "h200x2_all_reduce.record.json", "--out", tmp_path)
    text = (tmp_path / "report.html").read_text()
    lines = re.findall(r"<li>([\d. KMGiB\u00a0,]+): note: \d of 2 cells are noisier", text)
    sizes = [size for line in lines for size in line.split(", ")]
    assert len(sizes) == len(set(sizes)) == 7


def test_each_way_and_number_of_nodes_is_a_series_of_its_own(nights, folder, linkmatrix):
    code, out = linkmatrix("history", "--all", *nights, folder)
    assert code == 0
    heads = [line for line in out.splitlines() if line.startswith(f"{NAME} (128 MiB)")]
    of = [f"{NAME} (128 MiB), {way}, 8 ranks on one node, by nccl_tests" for way in ("out-of-place", "in-place")]
    assert heads == of
    assert f"{NAME}_ring (128 MiB), out-of-place, 16 ranks on 2 nodes, by nccl_tests" in out
    code, out = linkmatrix("history", "--all", *nights, "--class", "in-place")
    assert "out-of-place" not in out and out.count("in-place, 8 ranks on one node") == 5
    assert linkmatrix("history", "--fleet", *nights)[0] == 0


def test_exports_say_the_way_and_what_it_ran_on(folder, linkmatrix):
    _, out = linkmatrix("export", "--format", "prometheus", folder)
    series = 'variant="8 ranks on one node, by nccl_tests",link_class="in-place",stat="median"} 224250000000'
    assert f'size_bytes="134217728",{series}' in out
    assert 'variant="16 ranks on 2 nodes, by nccl_tests"' in out
    _, out = linkmatrix("export", "--format", "csv", folder)
    assert ",134217728,,GB/s,all,out-of-place,out-of-place,ok,225.7," in out


def test_references_of_a_collective_are_by_size_and_way(adopted, nights, linkmatrix):
    out, references = adopted
    assert "out-of-place@134217728" in out and "in-place@2147483648" in out
    for command in ("show", "diagnose"):
        assert linkmatrix(command, nights[0], "--references", references, "--reference", "a100")[0] == 0


def test_a_size_that_is_slow_fails_with_its_size_and_names_no_device(adopted, tmp_path, linkmatrix):
    lines = DOCUMENT.splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.split()[:1] == ["268435456"])
    lines[at] = collectives.faster(lines[at], 0.9)
    place = collectives.imported(tmp_path, "".join(lines)) / "03"
    _, references = adopted
    code, out = linkmatrix("show", place, "--references", references, "--reference", "a100")
    said = " ".join(out.split())
    assert code == 1 and "177.88✗" in out and "175.93✓" in out
    assert "256 MiB: FAIL: all->out-of-place 177.88 GB/s is 10.0 % under its reference 197.64 GB/s" in said
    code, out = linkmatrix("diagnose", place, "--references", references, "--reference", "a100")
    assert code == 1 and "sends" not in out and "suspect" not in out
    code, out = linkmatrix("history", place, "--references", references, "--reference", "a100")
    assert "is flagged since" not in out


def test_runs_on_one_node_and_on_two_make_no_references_together(tmp_path, linkmatrix):
    found = []
    for number in range(6):
        when = f"2026-11-{10 + number}T01:50:22Z"
        records = collectives.imported(tmp_path / str(number), DOCUMENT, "--measured", when)
        found += [records / "04", records / "07"]
    command = ("adopt", *found, "--table", "a100", "--file", tmp_path / "p2p.yaml", "--write")
    assert linkmatrix(*command)[0] == 0
    found = References.load(tmp_path / "p2p.yaml")
    checks = ("device_collectives", "node_device_collectives")
    one, two = (found.for_check(check).table("a100", f"{NAME}_tree") for check in checks)
    both = one.keys() & two.keys()
    assert both and all(one[name] != two[name] for name in both)
