"""Values over time: a change of level is found and annotated, an outlier or noise is none."""

import io
import json
import random
from pathlib import Path

import collectives
import numpy as np
import pandas
import pytest
import stores

from linkmatrix import cli
from linkmatrix.record import reading
from linkmatrix.runs import series, table
from linkmatrix.runs.testcases import Test
from linkmatrix.show import nodes, over_time, plot

pytestmark = pytest.mark.usefixtures("wide_terminal")

DATA = Path(__file__).parents[1] / "data"
WAYS = ("out-of-place", "in-place")
TESTCASE = "device_to_device_memcpy_write_ce"


def noisy(levels, sigma=0.002, seed=1):
    chance = random.Random(seed)
    return [level * (1 + chance.gauss(0, sigma)) for level in levels]


def test_a_step_is_found_where_it_is():
    (change,) = series.change_points(noisy([400.0] * 12 + [388.0] * 5))
    assert change.at == 12
    assert change.before == pytest.approx(400, rel=0.003) and change.after == pytest.approx(388, rel=0.003)


def test_two_steps_are_two():
    found = series.change_points(noisy([400.0] * 10 + [380.0] * 10 + [400.0] * 10))
    assert [change.at for change in found] == [10, 20]


def test_one_outlier_is_no_change_of_level():
    for place in range(30):
        values = noisy([400.0] * 30, seed=place)
        values[place] *= 0.7
        assert series.change_points(values) == []


def test_noise_is_no_change_of_level():
    alarms = sum(bool(series.change_points(noisy([400.0] * 40, 0.005, seed))) for seed in range(200))
    assert alarms <= 10


def test_equal_values_and_few_values_have_no_change():
    assert series.change_points([5.0] * 50) == []
    assert series.change_points([5.0, 5.0, 5.0, 9.0, 9.0]) == []
    assert series.change_points([]) == []


def test_of_a_long_series_the_end_is_looked_at():
    values = noisy([400.0] * 380 + [360.0] * 20)
    (change,) = series.change_points(values)
    assert change.at == 380
    assert np.isfinite(change.before)


def test_each_node_of_a_sweep_is_a_series(sweeps, make_record, monkeypatch, capsys, linkmatrix):
    """One good and one slow node, measured in turn, are no changes of level."""
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(sweeps.prefix))
    for number in range(1, 9):
        sweeps.add(number, [make_record(host=node, value=value) for node, value in (("n1", 396.0), ("n2", 350.0))])
    said = linkmatrix.out("history")
    assert "NV18, n1" in said and "NV18, n2" in said and said.count("8 runs") == 2
    assert "->" not in said.partition(" is flagged")[0]
    cli.main(["history", "--testcase", TESTCASE, "--node", "node001"])
    assert "8 runs" in capsys.readouterr().out


def test_the_index_and_the_records_of_runs_have_the_same_series(sweeps, make_record, monkeypatch, capsys):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(sweeps.prefix))
    for number in range(1, 13):
        slow = {"n1": 396.0, "n2": 396.0 if number < 7 else 350.0}
        sweeps.add(number, [make_record(host=node, value=value) for node, value in slow.items()])
    printed = []
    for paths in ([], [str(path) for path in sorted((sweeps.prefix / "reports").glob("run-report-*.json"))]):
        assert cli.main(["history", *paths]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] and printed[0].splitlines()[0].endswith("NV18, n2")
    assert "! 396.00 -> 350.00 GB/s (-11.6 %)" in printed[0]


@pytest.fixture
def history(tmp_path, make_record, write_record, capsys):
    """The output of `history` over records of one value each; host and driver by number."""

    def run(values, *arguments, host=lambda number: "n17", driver=lambda number: "580.1"):
        paths = []
        for number, value in enumerate(values):
            content = make_record(value=value, host=host(number), off={(1, 2): value * 0.9})
            content["started"] = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T01:50:22Z"
            content["software"]["driver"] = driver(number)
            paths.append(write_record(content, tmp_path / f"{number:03}" / "record.json"))
        code = cli.main(["history", *map(str, paths), *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def test_a_change_is_told_with_what_else_changed(history):
    values = [round(value, 3) for value in noisy([396.0] * 10 + [384.0] * 8)]
    code, out, _ = history(values, driver=lambda number: "580.1" if number < 10 else "590.2")
    assert code == 0
    assert "18 runs, 2026-01-01 to 2026-01-18" in out
    assert "! 39" in out and "driver 580.1 -> 590.2" in out and "(-3." in out


def test_a_change_with_others_who_came_or_went_is_told_with_them(tmp_path, linkmatrix):
    """Recorded on the same two GPUs, alone and beside a process that copied between them."""
    paths = []
    for number in range(12):
        name = "busy_peer" if 3 <= number < 9 else "idle"
        content = reading.load(DATA / f"h200x2_{name}.record.json")
        content["started"] = f"2026-11-{number + 1:02}T01:50:22Z"
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(content), encoding="utf-8")
    out = linkmatrix.out("history", *paths, "--testcase", "device_to_device_memcpy_write_ce")
    used = "pid 3849 (hog, user root) had a context on gpu0; pid 3849 (hog, user root) had a context on gpu1"
    assert f"-> 274.18 GB/s (-30.6 %) between 2026-11-03T01:50 and 2026-11-04T01:50: from then on {used}" in out
    assert f"between 2026-11-09T01:50 and 2026-11-10T01:50: until then {used}" in out
    assert "no recorded change explains it" not in out


def test_a_pair_a_row_a_column_and_a_class_are_series(history):
    assert "newest 360.00" in history([400.0] * 3, "--cell", "gpu1->gpu2")[1]
    assert "row gpu1 NV18" in history([400.0] * 3, "--row", "gpu1")[1]
    assert "newest 400.00" in history([400.0] * 3, "--column", "gpu3")[1]
    assert "newest 400.00" in history([400.0] * 3, "--node", "node001", "--class", "NV18")[1]
    assert history([400.0] * 3, "--class", "NV4")[0] == 3
    assert history([400.0] * 3, "--testcase", "none")[0] == 3
    assert history([400.0] * 3, "--cell", "gpu1")[0] == 2
    assert history([400.0] * 3, "--since", "soon")[0] == 2
    assert "1 run," in history([400.0] * 3, "--since", "2026-01-03")[1]


def test_the_worst_host_of_a_fleet_comes_first(history):
    values = [396.0, 395.0, 350.0, 397.0]
    code, out, _ = history(values, "--fleet", host=lambda number: f"n{number}")
    lines = out.splitlines()
    assert code == 0 and "4 hosts" in lines[1]
    assert lines[2].split()[:2] == ["!", "n2"] and "(-11." in lines[2] and "12 of 12 off" in lines[2]
    assert [line.split()[0] for line in lines[3:]] == ["n1", "n0", "n3"]


def test_the_host_that_differs_is_named_first_and_similar_hosts_with_an_outlier_come_first(
    tmp_path, make_record, write_record, linkmatrix
):
    paths = []
    for number in range(8):
        value, driver = (396.0, "580.1") if number < 5 else (370.0, "575.2")
        content = stores.of_node(make_record(value=value * (0.9 if number == 6 else 1)), f"n{number}")
        content["software"]["driver"] = driver
        paths.append(str(write_record(content, tmp_path / f"n{number}" / "record.json")))
    lines = linkmatrix.out("history", "--fleet", *paths).splitlines()
    assert lines[0] == "n5: driver is 575.2, and 580.1 on 5 of 8"
    heads = [at for at, line in enumerate(lines) if "with driver" in line]
    assert lines[heads[0]].endswith("NV18 with driver 575.2") and lines[heads[1]].endswith("NV18 with driver 580.1")
    assert "3 hosts" in lines[heads[0] + 1] and lines[heads[0] + 2].split()[:2] == ["!", "n6"]
    assert "5 hosts" in lines[heads[1] + 1] and "0 with outliers" in lines[heads[1] + 1]


def test_a_record_that_is_named_twice_is_one_run(write_record, linkmatrix):
    path = str(write_record())
    assert "1 run, " in linkmatrix.out("history", path, path)


def test_too_few_runs_are_said(history):
    assert "six are needed" in history([396.0] * 5)[1]


def test_one_pair_of_one_host_is_seen_beside_the_same_pair_elsewhere(tmp_path, make_record, write_record, linkmatrix):
    def of_host(number):
        """Pair 1->2 is 10 % slow everywhere, which is its place; 0->3 of host n5 alone is 6 % slow."""
        off = {(r, c): noisy([396.0], seed=number * 16 + r * 4 + c)[0] for r in range(4) for c in range(4) if r != c}
        off[1, 2] *= 0.9
        off[0, 3] *= 0.94 if number == 5 else 1
        return write_record(make_record(off=off, host=f"n{number}"), tmp_path / f"n{number}" / "record.json")

    lines = linkmatrix.out("history", "--fleet", *(str(of_host(number)) for number in range(8))).splitlines()
    assert "8 hosts, 12 positions" in lines[1] and ": 1 with outliers" in lines[1]
    assert lines[2].split()[:2] == ["!", "n5"] and "1 of 12 off: gpu0->gpu3 -6." in lines[2]
    assert not any(line.split()[0] == "!" for line in lines[3:])


def test_of_two_hosts_nobody_knows_which_one_is_off(history):
    out = history([396.0, 350.0], "--fleet", host=lambda number: f"n{number}")[1]
    assert "too few to tell which one is off" in out and "!" not in out


def newest_of_hosts(values):
    """The value of one position on each of the hosts n0, n1 …"""
    place = {"from_place": "cpu0", "to_place": "cpu1", "started": "2026-11-21", "floor": 0.0}
    return pandas.DataFrame([{"of_host": f"n{at}", "value": value, **place} for at, value in enumerate(values)])


def test_a_fleet_has_a_small_latency_with_as_many_digits_in_each_line_and_nothing_is_off_by_minus_nothing():
    """Of a latency of 0.00728 µs the line of its host said 0.007 µs (-0.0 %)."""
    head, *hosts = nodes.host_lines(newest_of_hosts([0.00728] * 3), "us")
    assert len(hosts) == 3 and all("0.00728 µs" in line for line in (head, *hosts))
    assert all("(+0.0 %)" in line and "-0.0" not in line for line in hosts)


def test_a_long_latency_is_the_outlier_of_a_fleet():
    hosts, _, _ = nodes.compared_hosts(newest_of_hosts([2.0, 2.0, 4.0, 2.0, 2.0]), "us")
    assert list(hosts.index[hosts["outliers"] > 0]) == ["n2"] and hosts.index[0] == "n2"


def test_of_several_nodes_a_position_is_a_place_in_the_node(make_record):
    content = make_record(count=4)
    for device in content["devices"]:
        device["node"] = f"n{device['index'] // 2}"
    cells = table.test_cells([Test(name="x", record=content)])
    wanted = [("gpu0", "gpu1"), ("gpu0", "gpu3"), ("gpu2", "gpu3")]
    chosen = cells[[pair in wanted for pair in zip(cells["source"], cells["destination"], strict=True)]]
    placed = nodes.with_positions(content, chosen)
    found = {(one.of_host, (one.from_place, one.to_place)) for one in placed.itertuples()}
    assert found == {
        ("n0", ("device 0", "device 1")),
        ("n1", ("device 0", "device 1")),
        ("n0", ("device 0", "other nodes")),
        ("n1", ("other nodes", "device 1")),
    }


def test_each_series_is_drawn_with_its_changes_of_level(history, tmp_path):
    values = [396.0, 396.4, 395.8, 396.1, 396.2, 380.1, 380.4, 379.9, 380.2, 380.0]
    code, out, _ = history(values, "--plot", tmp_path / "pictures")
    assert code == 0
    pictures = sorted((tmp_path / "pictures").iterdir())
    assert [path.name for path in pictures] == [f"01-{TESTCASE}-NV18.png", f"01-{TESTCASE}-NV18.svg"]
    assert all(str(path) in out for path in pictures)
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    drawn = pictures[1].read_text()
    assert f"<!-- {TESTCASE} (512 MiB), NV18 -->" in drawn and "<!-- −4.0 % -->" in drawn.replace("-4.0", "−4.0")


def test_what_else_changed_is_marked_whether_the_level_changed_or_not(history, tmp_path):
    values = noisy([396.0] * 12)
    changes = {"driver": lambda number: "580.1" if number < 4 else "590.2"}
    code, out, _ = history(values, "--plot", tmp_path / "pictures", **changes)
    assert code == 0 and "  between 2026-01-04T01:50 and 2026-01-05T01:50: driver 580.1 -> 590.2" in out
    drawn = (tmp_path / "pictures" / f"01-{TESTCASE}-NV18.svg").read_text()
    assert "1: driver 580.1 -&gt; 590.2" in drawn.replace(" -> ", " -&gt; ")
    assert "between" not in history(values)[1]


def test_a_part_with_another_firmware_is_a_change(make_record):
    old, new = make_record(), make_record()
    for device in new["devices"]:
        device["part"]["vbios"] = "96.00.74"
    points = [over_time.Point("2026", 1.0, "n", series.record_facts(one)) for one in (old, old, new)]
    assert over_time.changed(points) == [(2, "vbios of NVIDIA H200 none -> 96.00.74")]


def test_several_hosts_in_turn_are_no_events(make_record):
    facts = series.record_facts(make_record())
    points = [over_time.Point("2026", 1.0, f"n{number % 2}", facts) for number in range(20)]
    assert over_time.changed(points) == []
    assert over_time.changed(points[:2]) == [(1, "host n0 -> n1")]


@pytest.mark.parametrize("ends", [("0001-01-01", "9999-12-31"), ("1970-01-01", "2026-11-21"), ("9999-12-31",) * 2])
def test_a_clock_may_be_off_by_any_number_of_years(ends):
    """It ended by what nobody foresaw."""
    started = [f"{day}T23:59:59Z" for day in ends]
    pictures = plot.draw_series("t", started, [1.0, 2.0], "us", (), [(1, "host n1 -> n2")])
    assert pictures["png"].startswith(b"\x89PNG")


def test_of_many_changes_the_newest_are_told():
    """The picture grew by a line for each, without an end."""
    from PIL import Image

    started = [f"2026-01-01T{at // 60:02}:{at % 60:02}:00Z" for at in range(900)]
    pictures = plot.draw_series("t", started, [1.0] * 900, "us", (), [(at, f"driver is {at}") for at in range(1, 900)])
    text = pictures["svg"].decode()
    assert "driver is 899" in text and "driver is 869" not in text
    assert max(Image.open(io.BytesIO(pictures["png"])).size) < 2000


def test_one_run_is_drawn_too(history, tmp_path):
    history([396.0], "--plot", (tmp_path / "pictures"), "--cell", "gpu0->gpu1")
    assert len(list((tmp_path / "pictures").iterdir())) == 2


def test_a_fleet_has_no_time_to_draw_over(tmp_path, linkmatrix):
    assert "--plot draws values over time" in linkmatrix.err("history", "--fleet", "--plot", tmp_path)


def stored(folder, number, record, **changes):
    """A record of its own in a folder, as that host measured it."""
    file = folder / str(number) / "record.json"
    file.parent.mkdir(parents=True)
    host = {**record["host"], "name": f"n{number}"}
    file.write_text(json.dumps({**record, "host": host, "started": f"2026-11-2{number}T01:00:00Z", **changes}))


def test_a_fleet_keeps_other_libraries_and_programs_apart(tmp_path, capsys, linkmatrix):
    ours = json.loads((collectives.DATA / "h200x2_all_reduce.record.json").read_text())
    by_mpi = [{**one, "engine": "mpi", "memory": "host", "transport": "mpi"} for one in ours["results"]]
    theirs = json.loads(
        (collectives.imported(tmp_path / "text", collectives.DOCUMENT) / "03" / "record.json").read_text()
    )
    stored(tmp_path / "runs", 1, ours)
    stored(tmp_path / "runs", 2, ours, backend="mpi", results=by_mpi)
    stored(tmp_path / "runs", 3, theirs)
    for options in (["--all", "--fleet"], ["--all"]):
        capsys.readouterr()
        out = linkmatrix.out("history", *options, tmp_path / "runs")
        lines = [line for line in out.splitlines() if line.startswith("all_reduce_perf (1 GiB)")]
        ends = [
            "2 ranks on one node",
            "2 ranks on one node, MPI between host memory",
            "8 ranks on one node, by nccl_tests",
        ]
        assert sorted(lines) == sorted(f"all_reduce_perf (1 GiB), {way}, {end}" for way in WAYS for end in ends)
