"""tests/tools/chaos.py sees what must not be: a tool that finds nothing would say the same of a bad program."""

import json
import random
import subprocess

import chaos_rules
import pytest
from chaos_events import undo, unreadable_folder, vanished_file
from chaos_place import REPOSITORY, SHORT, Place, Run, cells

from linkmatrix.references.tables import References

NAME, KEY = "intranode_p2p %testcase=a", ("a", 2)
SETTINGS = REPOSITORY / "config" / "settings.py"
WELL = {NAME: {KEY: 2}}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(Place, "straighten", lambda self: None)  # the network of the machine is not the test's
    return Place(tmp_path, random.Random(1))


@pytest.fixture
def ended(place):
    """A function that stores a report with the result of its one test case, and its record; returns the run."""

    def store(said="PASS", result="pass", values=((None, 1.0), (2.0, None))):
        folder = place.prefix / "output" / "stamp" / "case"
        folder.mkdir(parents=True, exist_ok=True)
        record = {"results": [{"testcase": "a", "rows": ["x", "y"], "values": values}]}
        (folder / "record.json").write_text(json.dumps(record))
        case = {"display_name": NAME, "result": result, "fixture": False, "outputdir": str(folder)}
        (place.prefix / "reports").mkdir(exist_ok=True)
        (place.prefix / "reports" / "run-report-1.json").write_text(json.dumps({"runs": [{"testcases": [case]}]}))
        (place.folder / "run.txt").write_text(said)
        return Run(subprocess.Popen(["true"]), place.folder / "run.txt", frozenset())

    return store


def wrong(place, run, code):
    return list(chaos_rules.of_the_run(place, run, code, WELL))


def test_a_true_pass_and_a_run_that_says_that_it_could_not_are_well(place, ended):
    run = ended()
    assert wrong(place, run, 0) == [] and wrong(place, run, 4) == []


@pytest.mark.parametrize("less", [{"result": "fail"}, {"values": ((None, 1.0), (None, None))}], ids=["test", "cell"])
def test_a_pass_without_a_test_case_or_a_cell_is_a_violation(place, ended, less):
    (sentence,) = wrong(place, ended(**less), 0)
    assert sentence.startswith("a PASS")


def test_a_pass_without_a_report_is_a_violation(place, ended):
    run = ended()
    (place.prefix / "reports" / "run-report-1.json").write_text("{")
    (sentence,) = wrong(place, run, 0)
    assert "without a report" in sentence


@pytest.mark.parametrize("code, said", [(None, "it"), (2, "it"), (-11, "it"), (4, " "), (3, "Traceback (most")])
def test_an_end_that_is_none_of_a_run_is_a_violation(place, ended, code, said):
    assert wrong(place, ended(said), code)


def test_what_was_measured_and_is_gone_is_a_violation(place, ended):
    run = ended()
    before = place.measured(run)
    assert before == {KEY: 2}
    assert list(chaos_rules.of_what_was_measured(place, run, before, "")) == []
    (place.prefix / "output" / "stamp" / "case" / "record.json").write_text("{")
    (sentence,) = chaos_rules.of_what_was_measured(place, run, before, "")
    assert sentence == "a had 2 cells, and 0 are left"


def test_a_record_that_cannot_be_read_has_no_cells(tmp_path):
    for content in ("{", "[]", '{"results": [{"testcase": "a"}]}'):
        (tmp_path / "record.json").write_text(content)
        assert cells(tmp_path / "record.json") == {}


def test_what_happened_to_the_disk_is_undone(place, ended):
    ended()
    place.clock.write_bytes(bytes(8))
    (place.disk / "filler").write_bytes(b"0")
    unreadable_folder(place, ended())
    assert any(not path.stat().st_mode & 0o777 for path in place.prefix.rglob("*"))
    undo(place)
    assert all(path.stat().st_mode & 0o777 for path in place.prefix.rglob("*"))
    assert not (place.disk / "filler").exists()
    count = len([path for path in place.prefix.rglob("*") if path.is_file()])
    vanished_file(place, ended())
    assert len([path for path in place.prefix.rglob("*") if path.is_file()]) == count - 1


@pytest.mark.parametrize("mode", sorted(SHORT))
def test_a_site_has_its_modes_made_short_in_its_own_settings(tmp_path, monkeypatch, mode):
    place = Place(tmp_path, random.Random(1), mode)
    monkeypatch.setattr(Place, "straighten", lambda self: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: None)
    place.prepare()
    added = (place.site / "config" / "settings.py").read_text().removeprefix(SETTINGS.read_text())
    modes = [{"name": "acceptance", "options": ["--tag=acceptance"]}, {"name": "quick", "options": ["--tag=quick"]}]
    exec(added, {"site_configuration": {"modes": modes}})
    options = {one["name"]: one["options"] for one in modes}
    assert options.pop(mode) == [f"--tag={mode}", *(f"-S {one}" for one in SHORT[mode])]
    assert [words for words in options.values() if len(words) > 1] == []


def test_references_of_whatever_was_measured_can_be_read(place, ended):
    (place.site / "config" / "references").mkdir(parents=True)
    (place.site / "config" / "references" / "p2p.yaml").touch()
    (place.site / "config" / "systems").mkdir()
    ended()
    report = place.prefix / "reports" / "run-report-1.json"
    content = json.loads(report.read_text())
    figures = {"node:gpu:slow": [0.006, None, None, None, "GB/s", "pass"], "node:gpu:time": [5197.0] + [None] * 3}
    figures["node:gpu:time"] += ["us", "pass"]
    figures["node:gpu:turns"] = [26_000.0, None, None, None, "us", "pass"]  # of ranks that waited for theirs
    (case,) = content["runs"][0]["testcases"]
    case |= {"name": "rank_p2p %testcase=a", "reference_variant": "@2-ranks", "testcase": "a", "perfvalues": figures}
    report.write_text(json.dumps(content))
    place.write_references()
    table = References.load(place.site / "config" / "references")
    assert table.names() == ["chaos@2-ranks"]
    assert '"reference"] = "chaos"' in (place.site / "config" / "systems" / "generic.py").read_text()
