"""Sweeps of several pairs of ranks: what of them is no pass, and what they are held against and put beside."""

import importlib
import io
import shutil
from pathlib import Path
from types import SimpleNamespace

import published_references
import pytest
from osu_sweeps import OWN, asked, published_sizes, sweep

from linkmatrix import cli
from linkmatrix.adopt.proposal import Sample
from linkmatrix.commands import adopt
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references import keys
from linkmatrix.references.tables import References
from linkmatrix.runs import figures, testcases
from linkmatrix.runs.stored import Run
from linkmatrix.show import by_size, charts, screen, terminal

pytestmark = pytest.mark.usefixtures("wide_terminal")

DATA = Path(__file__).parents[1] / "data"


def test_the_references_of_a_published_system_are_its_figures():
    assert published_references.FILE.read_text(encoding="utf-8") == published_references.render(), (
        "python tests/tools/published_references.py"
    )


@pytest.mark.parametrize(
    ("osu", "name", "variant"),
    [
        ("osu_bw_hh", asked(1), "@1-pairs@sweep"),
        ("osu_mbw_mr_hh_4_pairs", asked(4), "@4-pairs@sweep"),
        ("osu_multi_lat_hh_8_pairs", asked(8, OWN["latency"]), "@8-pairs@sweep"),
        (
            "osu_multi_lat_dd_4_pairs",
            asked(4, OWN["latency"], " %route=usual", "crossnode_device_pairs"),
            "@4-pairs@sweep@device",
        ),
    ],
)
def test_a_run_on_a_published_system_has_a_verdict(make_record, osu, name, variant):
    references = References.load()
    assert keys.measured_variant({"asked_by": name}) == variant
    content = sweep(make_record, osu, asked_by=name)
    assert evaluate(content, references, f"abci-anode{variant}").verdict is Verdict.PASS
    slow = sweep(make_record, osu, asked_by=name, times=1.3 if "lat" in osu else 0.7)
    found = evaluate(slow, references, f"abci-anode{variant}")
    assert {matrix.verdict for matrix in found.matrices} == {Verdict.FAIL}


def test_another_way_between_gpus_is_held_against_nothing_of_the_usual_one(make_record):
    name = asked(4, OWN["latency"], " %route=staged", "crossnode_device_pairs")
    assert keys.measured_variant({"asked_by": name}) == "@4-pairs@sweep@device@staged"
    content = sweep(make_record, "osu_multi_lat_dd_4_pairs", asked_by=name)
    table = f"abci-anode{keys.measured_variant(content)}"
    assert evaluate(content, References.load(), table).verdict is Verdict.NOT_JUDGED


def test_a_few_ranks_are_never_held_against_references_of_all(make_record):
    """Without a check nobody says what was measured but the record."""
    line = "      'cell[NET]': [95.7, -0.2, null, GB/s]\n"
    head = f"crossnode_matrix:\n  $index: [reference_name, testcase]\n  here:\n    {OWN['bw']}:\n"
    references = References.read(head + line, Path("p2p.yaml"))
    few = sweep(make_record, "osu_mbw_mr_hh_4_pairs")
    few["results"] = [result for result in few["results"] if result["size_bytes"] == 1 << 20]
    assert keys.measuring_check(few, few["results"][0]) == "crossnode_pairs"
    assert evaluate(few, references, "here").verdict is Verdict.NOT_JUDGED
    del few["results"][0]["pairs"]
    assert evaluate(few, references, "here").verdict is Verdict.PASS


@pytest.mark.thorough
@pytest.mark.parametrize("osu", ["osu_bw_dd", "osu_mbw_mr_hh_4_pairs", "osu_multi_lat_hh_8_pairs", "osu_latency_hh"])
def test_pairs_stand_beside_as_many_of_a_published_system_size_by_size(make_record, write_record, linkmatrix, osu):
    path = write_record(sweep(make_record, osu, times=2.0))
    out = linkmatrix.out("compare", path, "--against", "abci:anode")
    assert out.count(f"against {osu}, NET against all pairs: median") == 1 and " against osu_" in out
    table = [line for line in out.splitlines() if line.endswith("× 2")]
    assert len(table) == len(published_sizes("abci:anode", osu)) and table[-1].split()[:2] == ["4", "MiB"]


@pytest.mark.thorough
def test_host_memory_and_ways_between_gpus_of_one_run_stand_beside_their_like(
    make_record, write_record, linkmatrix, tmp_path
):
    """All of a run have one test case; what each is held against differs by its memory, and says its way."""
    usual, without = (
        asked(4, more=f" %route={route}", check="crossnode_device_pairs") for route in ("usual", "without_gdrcopy")
    )
    ran = [("osu_mbw_mr_dd_4_pairs", usual), ("osu_mbw_mr_hh_4_pairs", asked(4)), ("osu_mbw_mr_dd_4_pairs", without)]
    for number, (osu, name) in enumerate(ran, 2):
        path = tmp_path / "run" / str(number) / "record.json"
        write_record(sweep(make_record, osu, times=float(number), asked_by=name), path)
    out = linkmatrix.out("compare", tmp_path / "run", "--against", "abci:anode")
    heads = [line.partition(" against ")[0] for line in out.splitlines() if " against osu_" in line]
    name = "node_to_node_bandwidth_mpi, 4 pairs"
    assert heads == [name, name, f"{name}, without gdrcopy"]
    for times, osu in ((2, "dd"), (3, "hh"), (4, "dd")):
        assert f"osu_mbw_mr_{osu}_4_pairs" in out and out.count(f"× {times}\n") == 23
    assert linkmatrix.out("compare", tmp_path / "run", "--against", tmp_path / "run").count("× 1\n") == 3 * 23
    staged = sweep(make_record, "osu_mbw_mr_dd_4_pairs")
    staged["results"] = [result | {"transport": "staged"} for result in staged["results"]]
    path = write_record(staged, tmp_path / "staged.record.json")
    assert cli.main(["compare", str(path), "--against", str(tmp_path / "run")]) == 3


def test_pairs_memory_and_ways_are_series_of_their_own_over_time_and_in_what_is_exported(
    make_record, write_record, capsys, linkmatrix, tmp_path
):
    staged = sweep(make_record, "osu_mbw_mr_dd_4_pairs")
    staged["results"] = [result | {"transport": "staged"} for result in staged["results"]]
    for number, content in enumerate(
        [*(sweep(make_record, osu) for osu in ("osu_bw_hh", "osu_mbw_mr_hh_4_pairs", "osu_mbw_mr_dd_4_pairs")), staged]
    ):
        content |= {"results": content["results"][:1], "started": f"2026-11-21T01:50:2{number}Z"}
        write_record(content, tmp_path / str(number) / "record.json")
    apart = ["1 pair", "4 pairs", "4 pairs, device memory, mpi", "4 pairs, device memory, staged"]
    heads = [line for line in linkmatrix.out("history", tmp_path).splitlines() if line.startswith("node_")]
    assert sorted(heads) == [f"node_to_node_bandwidth_mpi (1 byte), NET, {one}" for one in apart]
    assert cli.main(["export", "--format", "prometheus", str(tmp_path)]) in (0, 3)
    out = capsys.readouterr().out
    for one in apart:
        assert out.count(f'variant="{one}",link_class="NET",stat="median"') == 1


def test_other_numbers_of_pairs_are_not_comparable(make_record, write_record, linkmatrix, tmp_path):
    four = write_record(sweep(make_record, "osu_mbw_mr_hh_4_pairs"), tmp_path / "four.record.json")
    all_ = write_record(sweep(make_record, "osu_mbw_mr_hh_8_pairs"), tmp_path / "all.record.json")
    for here, there in ((four, all_), (all_, four)):
        assert "No test case was measured in both" in linkmatrix.out("compare", here, "--against", there, code=3)
    one = write_record(sweep(make_record, "osu_bw_hh"), tmp_path / "one.record.json")
    lone = write_record(sweep(make_record, "osu_bw_hh", ranks=1), tmp_path / "lone.record.json")
    for here, there in ((one, lone), (lone, one)):
        assert "× 1" in linkmatrix.out("compare", here, "--against", there)


def test_both_ways_of_one_pair_are_those_of_osu_and_of_several_nobodys(make_record):
    content = sweep(make_record, "osu_bw_hh")
    content["results"][0]["testcase"] = "node_to_node_bidirectional_mpi"
    assert figures.osu_name(content, content["results"][0]) == "osu_bibw_hh"
    del content["results"][0]["pairs"]
    assert figures.osu_name(content, content["results"][0]) == "osu_mbw_mr_both_ways_hh_8_pairs"


def test_a_recorded_sweep_stands_beside_the_published_system_that_the_system_file_promises(linkmatrix):
    out = linkmatrix.out("compare", DATA / "slurm2_sweep.record.json", "--against", "abci:anode")
    assert "rank_to_rank_bandwidth_mpi against osu_bw_hh, NET against all pairs: median, GB/s" in out
    assert [line.split()[:2] for line in out.splitlines() if "KiB" in line][:3] == [
        ["1", "KiB"],
        ["4", "KiB"],
        ["16", "KiB"],
    ]


@pytest.fixture
def judged(make_record, monkeypatch):
    """A run of several sweeps, judged without references."""
    from linkmatrix.runs import judging

    tests = []
    for name, osu in (
        (asked(1), "osu_bw_hh"),
        (asked(4), "osu_mbw_mr_dd_4_pairs"),
        (asked(4), "osu_multi_lat_hh_4_pairs"),
    ):
        tests.append(testcases.Test(name, "pass", record=sweep(make_record, osu, asked_by=name)))
    return judging.judge_all(Run(Path("run"), tests), References({}), None)


def printed(table, width):
    stream = io.StringIO()
    terminal.show_table(screen.Screen(stream, width), table)
    return stream.getvalue().splitlines()


def test_all_sweeps_of_a_run_are_one_table_a_quantity(judged):
    bandwidth, latency = by_size.tables(judged)
    assert list(bandwidth.columns) == [("1 pair", "host", "", ""), ("4 pairs", "device", "mpi", "")]
    assert bandwidth.title == "bandwidth (GB/s)" and latency.title == "half of a round trip (µs)"
    assert (bandwidth.sizes[0], latency.sizes[0], len(latency.sizes)) == (1, 0, 24)
    _, *lines = printed(bandwidth, 80)
    assert [line.split() for line in lines[:3]] == [["size", "1", "pair", "4", "pairs"], ["host", "device"], ["mpi"]]
    assert lines[-2].split() == ["4", "MiB", "47.96○", "39.06○"] and len({len(line) for line in lines[3:-1]}) == 1
    narrow = printed(bandwidth, 20)
    assert [line.split() for line in narrow].count(["size", "4", "pairs"]) == 1 and max(map(len, narrow)) <= 20


def test_a_size_without_a_value_says_why_in_the_table(judged):
    (result, matrix), *_ = judged[0].matrices
    for name, cell in (("status", "timeout"), ("values", None)):
        result[name] = [[result[name][0][0], cell], [cell, result[name][1][1]]]
    again = importlib.import_module("linkmatrix.runs.judging").judge(judged[0].test, References({}), None)
    (table,) = by_size.tables([again])
    (column,) = table.columns.values()
    assert column[1].text == "timeout" and column[1].number is None and column[2].number
    (series,) = charts.column_points(table).values()
    assert 1 not in dict(series)


@pytest.mark.thorough
def test_the_page_has_one_chart_of_all_sweeps_with_published_ones(make_record, write_record, tmp_path, linkmatrix):
    path = write_record(sweep(make_record, "osu_mbw_mr_hh_4_pairs"))
    out = tmp_path / "page"
    options = ["report", str(path), "--out", str(out), "--against", "abci:anode", "--against", "abci:vnode"]
    assert cli.main(options) == 0
    assert (out / "messages.png").read_bytes().startswith(b"\x89PNG")
    drawn = (out / "messages.svg").read_text(encoding="utf-8")
    assert drawn.count("legend") >= 1 and "bandwidth by bytes" not in drawn
    assert "bandwidth (GB/s) by message size in bytes" in (out / "report.html").read_text(encoding="utf-8")
    assert "no published system 'nowhere'" in linkmatrix.err(*options[:4], "--against", "nowhere")
    errors = linkmatrix.err(*options[:3], tmp_path / "none", "--against", "h800")
    assert "--against h800: the run and this system have no sweep of message sizes in common" in errors
    assert not (tmp_path / "none").exists()


def test_published_tables_are_of_the_quantity_that_they_stand_beside():
    found = by_size.published_tables(["abci:anode", "abci:vnode", "abci:anode"])
    assert set(found) == {"bandwidth (GB/s)", "half of a round trip (µs)"}
    assert len(found["bandwidth (GB/s)"].columns) == 10
    column = found["bandwidth (GB/s)"].columns["4 pairs", "device", "abci:vnode", ""]
    assert column[1].number == 0.01005 and column[4194304].number == 20.48211 and len(column) == 23
    assert by_size.published_tables(["h800"]) == {}
    series = charts.column_points(found["half of a round trip (µs)"])["1 pair", "host", "abci:anode", ""]
    assert series[0] == (1, 1.48) and len(series) == 23  # an empty message has no place on the axis


@pytest.mark.thorough
def test_a_table_has_published_columns_behind_its_own(make_record, write_record, linkmatrix, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    content = sweep(make_record, "osu_multi_lat_hh_4_pairs", times=2.0)
    content["results"] = content["results"][2:5]
    path = write_record(content)
    out = linkmatrix.out("show", path, "--against", "abci:anode", "--against", "abci:vnode")
    (line,) = (line for line in out.splitlines() if line.startswith("4 bytes "))
    anode, vnode = "3.280 1.470 3.230 1.490 3.260 1.500", "2.360 0.860 2.470 0.890"
    assert line.split()[2:] == ["2.980○", *anode.split(), *vnode.split()]
    assert "0 bytes" not in out and "8 KiB" not in out
    errors = linkmatrix.err("show", path, "--against", "ppu")
    assert "--against ppu: the run and this system have no sweep of message sizes in common" in errors


def test_references_are_adopted_into_the_file_that_reframe_reads(tmp_path):
    line = "      'NET@1': [0.005, -0.2, null, GB/s]\n"
    for name, of in (("p2p", "other"), ("abci", "abci-anode@sweep")):
        head = f"crossnode_sweep:\n  $index: [reference_name, testcase]\n  {of}:\n    case:\n"
        (tmp_path / f"{name}.yaml").write_text(head + line)
    assert adopt.file_with_table("abci-anode", tmp_path) == tmp_path / "abci.yaml"
    for table in ("other", "new", None):
        assert adopt.file_with_table(table, tmp_path) == tmp_path / "p2p.yaml"


def test_references_that_another_file_has_are_not_adopted_beside_them(
    make_record, write_record, tmp_path, monkeypatch, capsys
):
    """A run knows the table of its partition, which nobody named."""
    content = sweep(make_record, "osu_bw_hh", asked_by=asked(1))
    samples = [Sample("a run", content, result, "abci-anode@1-pairs@sweep", "") for result in content["results"]]
    monkeypatch.setattr(adopt, "select_usable", lambda *_: (samples * 6, []))
    monkeypatch.setattr(adopt, "selected_tests", lambda _: ([], []))
    references = tmp_path / "config" / "references"
    references.mkdir(parents=True)
    shutil.copy(published_references.FILE, references)
    monkeypatch.setattr(adopt.folders, "repository", lambda: tmp_path)
    assert cli.main(["adopt", "--write", "--allow-lower", "--reason", "a test"]) == 3
    other = references / "abci.yaml"
    assert f"refused: {other} has the references of abci-anode: add --file {other}" in capsys.readouterr().out
    assert not (references / "p2p.yaml").exists()


@pytest.mark.parametrize("route", ["usual", "staged"])
def test_a_sweep_between_gpus_is_adopted_size_by_size_for_its_pairs_and_its_way(
    make_record, write_record, capsys, tmp_path, route
):
    name = asked(4, more=f" %route={route}", check="crossnode_device_pairs")
    for number in range(6):
        content = sweep(make_record, "osu_mbw_mr_dd_4_pairs", asked_by=name)
        content["started"] = f"2026-11-{10 + number}T01:50:22Z"
        write_record(content, tmp_path / "runs" / str(number) / "record.json")
    file = tmp_path / "references" / "p2p.yaml"
    code = cli.main(["adopt", str(tmp_path / "runs"), "--table", "here", "--file", str(file), "--write"])
    assert code == 0, capsys.readouterr().out
    table = "here@4-pairs@sweep@device" + ("" if route == "usual" else f"@{route}")
    found = References.load(file)
    assert found.names() == [table]
    assert evaluate(content, found, table).verdict is Verdict.PASS
    slow = sweep(make_record, "osu_mbw_mr_dd_4_pairs", asked_by=name, times=0.5)
    assert {one.verdict for one in evaluate(slow, found, table).matrices} == {Verdict.FAIL}


pairs = importlib.import_module("linkmatrix_checks.pairs")
expect = importlib.import_module("linkmatrix_checks.expect")
session = importlib.import_module("linkmatrix_checks.session")


def test_fewer_pairs_than_were_asked_for_are_told(make_record):
    content = sweep(make_record, "osu_mbw_mr_hh_4_pairs")
    assert expect.pairs_faults(content, 4, 8) == []
    (fault,) = (one.sentence for one in expect.pairs_faults(content, 8, 8))
    assert fault == "node_to_node_bandwidth_mpi: 8 pairs of ranks should measure concurrently, but 4 did"
    assert expect.pairs_faults(sweep(make_record, "osu_mbw_mr_hh_8_pairs"), 8, 8) == []


def test_gdrcopy_that_is_promised_and_not_loaded_is_told(make_record):
    content = sweep(make_record, "osu_mbw_mr_dd_4_pairs")
    (fault,) = (one.sentence for one in expect.version_faults(content, ["GDRCopy"]))
    assert fault.startswith("the partition specifies GDRCopy, but the MPI of node001 has not loaded GDRCopy")
    content["software"]["GDRCopy"] = "2.4"
    assert expect.version_faults(content, ["GDRCopy"]) == []


def test_every_way_but_the_usual_is_measured_where_it_is_another_one():
    assert pairs.ROUTES[pairs.USUAL] == pairs.Route()
    assert all(route.options for name, route in pairs.ROUTES.items() if name != pairs.USUAL)
    assert {route.extra for route in pairs.ROUTES.values()} == {"", "gdrcopy", "gpudirect"}


@pytest.mark.parametrize(
    ("launcher", "options", "fits"),
    [
        ("srun", [], True),
        ("mpirun", [], False),
        ("mpirun", ["--map-by", "ppr:{num_tasks_per_node}:node"], True),
        ("mpirun", ["--map-by", "numa"], False),
    ],
)
def test_tests_of_fewer_ranks_share_the_job_where_the_launcher_is_told_how_many_go_on_a_node(launcher, options, fits):
    of = SimpleNamespace(
        current_partition=SimpleNamespace(extras={"rank_options": options}),
        job=SimpleNamespace(launcher=SimpleNamespace(registered_name=launcher)),
    )
    first, other = (SimpleNamespace(node="", ranks_per_node=ranks_per_node) for ranks_per_node in (8, 1))
    assert session.nodes_session.can_measure(of, other, first) is fits
    assert session.nodes_session.can_measure(of, first, first)
