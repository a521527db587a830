"""What a site has of 0.1.0, in tests/data/v0.1.0, serves every later version: its store, references, archives, system.

Its single records are read in test_record.py.
"""

import json
import shutil
import statistics
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import compact, reading
from linkmatrix.references.tables import References
from linkmatrix.runs import index, judging, stored
from linkmatrix.site import system_files

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data" / "v0.1.0"
CASES = (
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "device_to_device_latency_sm",
)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A copy of the store, which commands add their index to."""
    prefix = tmp_path / "store"
    shutil.copytree(DATA / "store", prefix)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(prefix))
    return prefix


def test_each_test_case_of_a_report_has_its_record_and_no_doubt(store):
    run = stored.find(store)
    assert sorted(result["testcase"] for test in run.tests for result in test.record["results"]) == sorted(CASES)
    assert all(test.result == "pass" and not test.doubts and not test.reason for test in run.tests)


def test_a_run_is_judged_by_references_that_0_1_0_adopted(store):
    references = References.load(DATA / "references.yaml")
    judged = judging.judge_all(stored.find(store), references, "site")
    by_case = {one.test.record["results"][0]["testcase"]: one for one in judged}
    assert by_case[CASES[0]].verdict is Verdict.WARN  # as 0.1.0 said: two cells are noisy, and within their limits
    assert [by_case[case].verdict for case in CASES[1:]] == [Verdict.NOT_JUDGED] * 2


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["show"], 0),
        (["diagnose"], 0),
        (["history"], 0),
        (["history", "--fleet"], 0),
        (["export", "--format", "csv"], 0),
        (["export", "--format", "prometheus"], 0),
        (["next"], 0),
        (["report", "--out", "{}/page"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_each_command_takes_the_store(store, tmp_path, capsys, command, code):
    assert cli.main([word.format(tmp_path) for word in command]) == code
    said = capsys.readouterr()
    assert said.out and "Traceback" not in said.err


def test_a_store_without_an_index_gets_one(store):
    assert not (store / index.FILE).exists()
    with index.opened(store, DATA / "references.yaml") as found:
        assert {one.node for one in found.tests()} == {"node1"} and not found.notes
    assert (store / index.FILE).exists()


def test_references_keep_their_remarks_when_a_later_version_adopts_into_their_file(tmp_path, capsys):
    file = tmp_path / "p2p.yaml"
    shutil.copy(DATA / "references.yaml", file)
    record = json.loads((DATA / "compact" / "record.json").read_text())
    for number in range(6):
        place = tmp_path / "runs" / str(number)
        place.mkdir(parents=True)
        (place / "record.json").write_text(json.dumps({**record, "started": f"2026-12-0{number + 1}T01:00:00Z"}))
    before = References.load(file).cells("site", CASES[0])
    assert cli.main(["adopt", str(tmp_path / "runs"), "--table", "other", "--file", str(file), "--write"]) == 0
    capsys.readouterr()
    assert References.load(file).cells("site", CASES[0]) == before and "# adopted: 2026-11-23" in file.read_text()
    middle = statistics.median(one.value for one in before.values())
    found = References.load(file).cells("other", CASES[0])
    assert {pair: one.value for pair, one in found.items()} == dict.fromkeys(before, pytest.approx(middle, rel=1e-4))


def test_an_archive_is_the_record_that_it_was_made_of():
    archive, record = (DATA / "compact" / name for name in ("record.npz", "record.json"))
    loaded, content = compact.load(archive), reading.load(record)
    rows = range(len(content["results"][0]["rows"]))
    for name in ("values", "status", "low", "high", "samples", "link_class"):
        assert [list(loaded["results"][0][name][r]) for r in rows] == content["results"][0][name]
    assert loaded["started"] == content["started"] and loaded["schema"] == "linkmatrix.record/2"


def test_a_system_file_has_no_mistake_today(tmp_path):
    system_files.load(DATA / "slurm_site.py", tmp_path)


@pytest.mark.parametrize("command", [["show"], ["report", "--out", "x.html"], ["export", "--format", "csv"]])
@pytest.mark.parametrize("grid", ["converged", "samples"])
def test_a_damaged_record_of_the_first_version_is_bad_input(tmp_path, monkeypatch, capsys, command, grid):
    """One cell of a grid is missing."""
    content = json.loads((DATA / "mpi3_ranks.record.json").read_text())
    del content["results"][2][grid][2][2]
    path = tmp_path / "record.json"
    path.write_text(json.dumps(content))
    monkeypatch.chdir(tmp_path)
    code = cli.main([command[0], str(path), *command[1:]])
    said = capsys.readouterr()
    assert code == 2 and "Error" not in said.err + said.out
