"""What a run measured itself beside what other programs said in the same run."""

import json
from pathlib import Path

import pytest

from linkmatrix import cli

pytestmark = pytest.mark.usefixtures("wide_terminal")

DATA = Path(__file__).resolve().parents[1] / "data"
PUBLISHED = DATA.parents[1] / "config" / "references" / "published"
WRITE = "device_to_device_memcpy_write_ce"


@pytest.fixture
def run(tmp_path, capsys):
    """A folder with a record of ours, and those imported of these texts; returns how to compare it."""

    def make(*texts):
        folder = tmp_path / "run"
        (folder / "own").mkdir(parents=True)
        (folder / "own" / "record.json").write_text((DATA / "h200x4_write_ce.record.json").read_text())
        for number, text in enumerate(texts):
            assert cli.main(["import", str(DATA / text), "--out", str(folder / str(number))]) == 0
        capsys.readouterr()

        def compare(*options):
            code = cli.main(["compare", str(folder), "--against", "peers", *options])
            return code, capsys.readouterr()

        return compare

    return make


def test_each_program_is_beside_ours_with_the_ratio(run):
    code, said = run(f"{PUBLISHED}/004_a800.txt", "foreign/osu_bw.txt")()
    lines = said.out.splitlines()
    assert code == 0 and lines[0] == "linkmatrix against p2p_bandwidth_latency_test:"
    assert lines[1].startswith("  nothing stands out: no median is more than 5 % worse than that of p2p_")
    assert lines[2].startswith(f"  {WRITE} (") and "  NV18 against NV8: median 395.57 against 186.49" in lines[3]
    assert " GB/s, × 2.12; 12 pairs × 2.12 to 2.12" in lines[3]
    assert "osu: none of its test cases was measured here" in lines


def test_pairs_of_osu_are_beside_as_many_of_ours_with_their_rates_of_messages(tmp_path, capsys, linkmatrix):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "record.json").write_text((DATA / "hosts2_pairs.record.json").read_text())
    for pairs in (2, 4):
        text = (DATA / "foreign" / "osu_mbw_mr.txt").read_text().replace("pairs: 4", f"pairs: {pairs}")
        (tmp_path / "osu.txt").write_text(text + "4                     100.00       25000000.00\n")
        assert cli.main(["import", str(tmp_path / "osu.txt"), "--out", str(tmp_path / f"{pairs}")]) == 0
    capsys.readouterr()
    said = linkmatrix.out("compare", tmp_path, "--against", "peers")
    of_two = "node_to_node_bandwidth_mpi, 2 pairs against osu_mbw_mr_hh_2_pairs (4 bytes)\n"
    assert of_two in said and " against 0.100 GB/s, 620 times slower" in said.partition(of_two)[2].splitlines()[0]
    rates = "node_to_node_bandwidth_mpi message rate, 2 pairs against osu_mbw_mr_hh_2_pairs (4 bytes)\n"
    (line, *_) = said.partition(rates)[2].splitlines()
    assert rates in said and " against 25000000 messages/s, " in line and line.endswith(" times slower")
    assert "osu_mbw_mr_hh_4_pairs" not in said


def test_two_programs_with_the_same_test_case_are_not_mixed(run):
    code, said = run(f"{PUBLISHED}/004_a800.txt", f"{PUBLISHED}/003_h800.txt")("--testcase", WRITE)
    heads = [line for line in said.out.splitlines() if line.startswith("linkmatrix against")]
    assert code == 0
    assert heads == ["linkmatrix against p2p_bandwidth_latency_test:", "linkmatrix against nvbandwidth:"]


def test_a_run_without_another_program_is_told_how_to_get_one(run):
    code, said = run()()
    assert code == 2 and "contains no results of other programs: measure with -t peers" in said.err


def test_nothing_in_common_is_no_success(run):
    code, said = run("foreign/osu_bw.txt")()
    assert code == 3 and said.out == "osu: none of its test cases was measured here\n"


def test_a_program_that_said_nothing_is_a_record_without_results(run, tmp_path):
    compare = run("foreign/osu_bw.txt")
    file = next((tmp_path / "run" / "0").rglob("record.json"))
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "results": [], "result": "ERROR", "error": "cut"}))
    assert compare()[0] == 3


def test_history_has_a_line_for_each_program_that_measured_the_same(run, tmp_path, linkmatrix):
    run(f"{PUBLISHED}/004_a800.txt", f"{PUBLISHED}/003_h800.txt")
    said = linkmatrix.out("history", tmp_path / "run", "--testcase", WRITE)
    for program in ("p2p_bandwidth_latency_test", "nvbandwidth"):
        assert f"by {program}" in said
