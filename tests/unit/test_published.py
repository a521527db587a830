"""Published systems: each number stands in the line of the document that is named, and a run can be put beside them."""

import re
from pathlib import Path

import pytest

from linkmatrix import cli, compare, published
from linkmatrix.errors import BadInput
from linkmatrix.references import References

DATA = Path(__file__).parents[1] / "data"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", published.SYSTEMS)
def test_a_file_is_what_its_document_says_today(name):
    assert published.file_of(name).read_text(encoding="utf-8") == published.render(name), (
        "python -m linkmatrix.published"
    )


@pytest.mark.parametrize("name", published.SYSTEMS)
def test_every_number_is_traceable_to_its_line(name):
    content = published.load(name)
    lines = (ROOT / content["document"]["file"]).read_text(encoding="utf-8").splitlines()
    assert content["tables"]
    for table in content["tables"]:
        first, last = table["lines"]
        longest = len(table["rows"]) + 25  # an utilisation, or host times, stand under their matrix
        printed = {float(word) for line in lines[first - 1 : last + longest] for word in re.findall(r"\d+\.?\d*", line)}
        scaled = {round(number * scale, 9) for number in printed for scale in (1, 0.001, 0.5, 0.125)}
        values = list(table.get("sizes", {}).values()) or table["values"]
        numbers = [round(number, 9) for row in values for number in row if number is not None]
        assert numbers and set(numbers) <= scaled, table["testcase"]


def test_published_figures_are_no_references():
    assert not set(References.load().names()) & set(published.SYSTEMS)


def test_each_document_has_what_it_published():
    found = {name: {table["testcase"] for table in published.load(name)["tables"]} for name in published.SYSTEMS}
    assert len(found["h800"]) == 30
    assert {"osu_latency_dd", "osu_bw_hh", "osu_multi_lat_dd_4_pairs"} <= found["abci:vnode"] & found["abci:anode"]
    assert "osu_mbw_mr_dd_8_pairs" in found["abci:anode"] - found["abci:vnode"]
    assert {"all_reduce_perf", "all_reduce_perf_tree", "all_reduce_perf_ring", "ib_write_bw"} <= found["a100-roce"]
    assert sum("peer_off" in name for name in found["a800"]) == 3
    assert published.load("a800")["series"][0]["devices"][6] == 0.779486
    assert any(table.get("part") == "utilisation" for table in published.load("ppu")["tables"])


@pytest.fixture
def linkmatrix(capsys):
    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def test_a_run_stands_beside_a_published_system(linkmatrix):
    code, out, _ = linkmatrix("compare", DATA / "h200x4_full.record.json", "--against", "h800")
    assert code == 0
    assert "device_to_device_memcpy_write_ce (512 MiB against 64 MiB)" in out
    assert re.search(r"NV18 against all pairs: median 395\.34 against 176\.08 GB/s, × 2\.25; 12 pairs", out)
    # one direction beside one direction, not the sum
    assert re.search(r"bidirectional_memcpy_read_ce one direction.*\n.*median 389\.4\d against 170\.54", out)


def test_a_run_beside_itself_is_the_same(linkmatrix):
    code, out, _ = linkmatrix(
        "compare", DATA / "h200x4_full.record.json", "--against", DATA / "h200x4_full.record.json"
    )
    assert code == 0
    assert set(re.findall(r"× ([\d.]+)", out)) == {"1"}


def test_one_size_of_a_sweep_is_not_taken_for_another():
    sweep = [compare.Figures("case", "", "GB/s", size, {("a", "b"): 1.0}) for size in (1, 2)]
    other = [compare.Figures("case", "", "GB/s", 3, {("a", "b"): 1.0})]
    assert list(compare.compare(other, sweep, set())) == []
    assert len(list(compare.compare(sweep, sweep, set()))) == 2


def test_nothing_in_common_is_said_and_is_exit_code_3(linkmatrix):
    record = DATA / "h200x4_write_ce.record.json"
    code, out, _ = linkmatrix("compare", record, "--against", "abci:anode")
    assert code == 3 and "osu_latency_dd" in out


def test_an_unknown_system_is_bad_input(linkmatrix, tmp_path):
    code, _, errors = linkmatrix("compare", DATA / "h200x4_write_ce.record.json", "--against", "h8000")
    assert code == 2 and "h800" in errors
    (tmp_path / "h800.yaml").write_text("system: a\n")
    with pytest.raises(BadInput, match="write it again"):
        published.load("h800", tmp_path)
    with pytest.raises(BadInput, match="no published system"):
        published.load("ppu", tmp_path)
