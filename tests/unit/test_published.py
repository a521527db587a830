"""Published systems: each number stands in the line of the document that is named, and a run can be put beside them."""

import json
import re
from pathlib import Path

import pandas
import pytest

from linkmatrix.commands import compare
from linkmatrix.errors import BadInput
from linkmatrix.references import published
from linkmatrix.references.tables import References
from linkmatrix.runs import figures

pytestmark = pytest.mark.usefixtures("wide_terminal")

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("name", published.NAMES)
def test_every_number_is_printed_in_its_document(name):
    system = published.load(name)
    document = (published.FOLDER / published.SYSTEMS[name].document).read_text(encoding="utf-8")
    printed = {float(word) for word in re.findall(r"\d+\.?\d*", document)}
    scaled = {round(number * scale, 9) for number in printed for scale in (1, 0.001, 0.5, 0.125)}
    numbers = {round(number, 9) for table in system.tables for number in table.cells.values()}
    assert numbers and numbers <= scaled


def test_published_figures_are_no_references():
    assert not set(References.load().names()) & set(published.NAMES)


def test_each_document_has_what_it_published():
    found = {name: {table.testcase for table in published.load(name).tables} for name in published.NAMES}
    assert len(found["h800"]) == 30
    assert {"osu_latency_dd", "osu_bw_hh", "osu_multi_lat_dd_4_pairs"} <= found["abci:vnode"] & found["abci:anode"]
    assert "osu_mbw_mr_dd_8_pairs" in found["abci:anode"] - found["abci:vnode"]
    assert {"all_reduce_perf", "all_reduce_perf_tree", "all_reduce_perf_ring", "ib_write_bw"} <= found["a100-roce"]
    assert sum("peer_off" in name for name in found["a800"]) == 3
    assert published.load("a800").series[0].devices[6] == 0.779486
    assert any(table.part == "utilisation" for table in published.load("ppu").tables)


def test_a_run_stands_beside_a_published_system(linkmatrix):
    out = linkmatrix.out("compare", "--all", DATA / "h200x4_full.record.json", "--against", "h800")
    assert "device_to_device_memcpy_write_ce (512 MiB against 64 MiB)" in out
    assert re.search(r"NV18 against all pairs: median 395\.34 against 176\.08 GB/s, × 2\.25; 12 pairs", out)
    # one direction beside one direction, not the sum
    assert re.search(r"bidirectional_memcpy_read_ce one direction.*\n.*median 389\.4\d against 170\.54", out)


def test_a_run_beside_itself_is_the_same(linkmatrix):
    out = linkmatrix.out(
        "compare", "--all", DATA / "h200x4_full.record.json", "--against", DATA / "h200x4_full.record.json"
    )
    assert set(re.findall(r"× ([\d.]+)", out)) == {"1"}


@pytest.mark.thorough
def test_each_number_of_blocks_stands_beside_its_like(linkmatrix, tmp_path):
    path = DATA / "h200x2_blocks.record.json"
    code, out, _ = linkmatrix("compare", "--all", path, "--against", path)
    assert code == 0 and set(re.findall(r"× ([\d.]+)", out)) == {"1"}
    assert "device_to_device_memcpy_write_sm, 32 blocks (512 MiB)" in out
    some = json.loads(path.read_text())
    some["results"] = [one for one in some["results"] if one["blocks"] != 32]
    (tmp_path / "record.json").write_text(json.dumps(some))
    code, out, _ = linkmatrix("compare", path, "--against", tmp_path / "record.json")
    assert re.search(
        r"^device_to_device_memcpy_write_sm, 32 blocks: 1 blocks, .* in the other run: not comparable$", out, re.M
    )
    code, out, _ = linkmatrix("compare", "--all", path, "--against", "h800")
    assert code == 0 and "device_to_device_memcpy_write_sm, 32 blocks (512 MiB against 64 MiB)" in out


def test_one_size_of_a_sweep_is_not_taken_for_another():
    cells = pandas.DataFrame([("a", "b", figures.NO_CLASS, 1.0)], columns=figures.CELL)
    sweep = [figures.Figures("case", "", "GB/s", size, cells) for size in (1, 2)]
    other = [figures.Figures("case", "", "GB/s", 3, cells)]
    for here, there in ((other, sweep), (sweep, other)):
        found = compare.compare(here, there, set())
        assert found.rows == [] and len(found.left_out) == 2
        assert found.left_out[0].startswith("case: only in this run: ")
    found = compare.compare(sweep, sweep, set())
    assert len(found.rows) == 2 and found.left_out == []


def ranks(make_record, testcase, size, memory="host", per_node=1):
    """A record of ranks on nodes of `per_node`, of one test case between them."""
    content = make_record(count=4, value=2.5)
    for device in content["devices"]:
        device["node"] = f"n{device['index'] // per_node}"
    content["backend"] = "mpi"
    result = content["results"][0]
    result.update(testcase=testcase, size_bytes=size, memory=memory, engine="mpi", transport="mpi")
    result["link_class"] = [["X" if r == c else "NET" for c in range(4)] for r in range(4)]
    if "latency" in testcase:
        result.update(unit="us", metric="latency", quantity="latency")
    return content


@pytest.mark.parametrize(
    ("own", "memory", "per_node", "published_as"),
    [
        ("rank_to_rank_bandwidth_mpi", "host", 1, "osu_bw_hh"),
        ("rank_to_rank_bandwidth_mpi", "device", 2, "osu_bw_dd"),
        ("rank_to_rank_latency_mpi", "device", 1, "osu_latency_dd"),
        ("node_to_node_bandwidth_mpi", "host", 4, "osu_mbw_mr_hh_4_pairs"),
        ("node_to_node_bandwidth_mpi", "host", 1, "osu_bw_hh"),
        ("node_to_node_latency_mpi", "device", 4, "osu_multi_lat_dd_4_pairs"),
    ],
)
def test_ranks_stand_beside_the_benchmark_of_osu_that_measures_the_same(
    linkmatrix, make_record, write_record, own, memory, per_node, published_as
):
    path = write_record(ranks(make_record, own, 1024, memory, per_node))
    code, out, _ = linkmatrix("compare", path, "--against", "abci:anode")
    assert code == 0 and f"{own} against {published_as} (1 KiB)" in out
    assert out.count(" against osu_") == 1 and "NET against all pairs: median" in out


@pytest.mark.parametrize(
    ("own", "size", "memory", "per_node"),
    [
        ("rank_to_rank_bandwidth_mpi", 1000, "host", 1),
        ("node_to_node_bandwidth_mpi", 1024, "host", 2),
        ("rank_to_rank_put_bandwidth_mpi", 1024, "host", 1),
        ("rank_to_rank_bidirectional_mpi", 1024, "host", 1),
    ],
)
def test_ranks_stand_beside_no_other_size_number_of_pairs_or_benchmark(
    linkmatrix, make_record, write_record, own, size, memory, per_node
):
    path = write_record(ranks(make_record, own, size, memory, per_node))
    assert linkmatrix("compare", path, "--against", "abci:anode")[0] == 3


def test_nothing_in_common_is_said_and_is_exit_code_3(linkmatrix):
    record = DATA / "h200x4_write_ce.record.json"
    code, out, _ = linkmatrix("compare", record, "--against", "abci:anode")
    assert code == 3 and "osu_latency_dd" in out


def test_an_unknown_system_and_a_missing_document_are_bad_input(linkmatrix, tmp_path, monkeypatch):
    code, _, errors = linkmatrix("compare", DATA / "h200x4_write_ce.record.json", "--against", "h8000")
    assert code == 2 and "h800" in errors
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    code, _, errors = linkmatrix("compare", DATA / "h200x4_write_ce.record.json", "--against", "h800")
    assert code == 2 and "003_h800.txt" in errors
    with pytest.raises(BadInput, match=r"no published system 'abci-anode' .*abci:anode"):
        published.load("abci-anode")
