"""Simulated faults and ignored processes are printed with each output. Which processes a partition ignores."""

import csv
import importlib
import io
import json
import xml.etree.ElementTree as Tree
from types import SimpleNamespace

import pytest
import stores

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.record import reading
from linkmatrix.site import ignored_processes, system_files

FAULT, SIMULATED, IGNORED = "slow=gpu3", "SIMULATED: ", "Ignored processes: pid 12 (dcgm, user root)"
PROCESS = {"where": "gpu1", "pid": 12, "name": "dcgm", "user": "root", "bytes": 1e6, "seconds": None}
#: What plays ReFrame writes this file too, with an empty list of properties as ReFrame 4.10 does.
JUNIT = """for word; do case $word in --report-junit=*) cat > "${word#*=}" <<'END'
<testsuites><testsuite><properties/><testcase name="t0"/><testcase name="t1"/></testsuite></testsuites>
END
esac; done
exec"""


def noticed(content):
    """The record with a simulated fault and an ignored process."""
    content["notes"] = [f"simulated fault: {FAULT}"]
    content["results"][0]["others"] = stores.disturbed("node001") | {"disturbances": [], "ignored": [PROCESS]}
    reading.check(content)
    return content


@pytest.fixture
def ran(machine):
    """The lines of `linkmatrix run` and the properties in its JUnit file."""

    def run(change):
        machine.prepare("pass", "pass")
        path = next(machine.folder.glob("output/0-*/record.json"))
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
        text = machine.reframe.read_text()
        machine.reframe.write_text(text if "junit" in text else text.replace("exec", JUNIT))
        code, out = machine.run("--mode", "quick")
        file = max(machine.folder.glob("reports/junit-*.xml"))
        assert code == 0 and [one.tag for one in Tree.parse(file).find("testsuite")][0] == "properties"
        return out.splitlines(), {one.get("name"): one.get("value") for one in Tree.parse(file).iter("property")}

    return run


def test_a_run_begins_its_summary_with_them_and_its_junit_file_has_them(ran):
    lines, properties = ran(noticed)
    summary = next(at for at, line in enumerate(lines) if line.split()[:2] == ["kind", "cases"])
    assert lines[summary - 2].startswith(SIMULATED) and FAULT in lines[summary - 2]
    assert lines[summary - 1] == IGNORED
    assert not any(line.startswith("Next step: ") for line in lines)
    assert properties.keys() == {"linkmatrix.simulated", "linkmatrix.ignored_processes"}
    assert FAULT in properties["linkmatrix.simulated"] and "dcgm" in properties["linkmatrix.ignored_processes"]


def test_a_run_without_them_has_neither(ran):
    lines, properties = ran(lambda content: content)
    assert not any(line.startswith((SIMULATED, "Ignored")) for line in lines) and properties == {}


def test_a_table_has_them_on_standard_error_and_cells_alone_in_its_rows(write_record, make_record, capsys):
    assert cli.main(["export", str(write_record(noticed(make_record()))), "--format", "csv"]) == 0
    found = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(found.out)))
    assert len(rows) == 12 and all(row["source"].startswith("gpu") for row in rows)
    first, second = found.err.splitlines()
    assert first.startswith(SIMULATED) and FAULT in first and second == IGNORED


@pytest.mark.parametrize("form", ["hostfile", "slurm", "pbs", "sge"])
def test_a_list_of_named_runs_begins_with_them_as_comments(form, write_record, make_record, tmp_path, linkmatrix):
    path = write_record(noticed(make_record(off={(3, c): 350.0 for c in range(3)})))
    measured = write_record(make_record(host="n2"), tmp_path / "n2" / "record.json")
    named = ["--format", form, "--nodes", "flagged"]
    first, second, *rest = linkmatrix.out("export", path, measured, *named).splitlines()
    assert first.startswith(f"# {SIMULATED}") and FAULT in first and second == f"# {IGNORED}"
    assert "# no node is flagged" in rest
    assert linkmatrix.err("export", path, *named, code=3).startswith(SIMULATED)


WRONG = ["dcgm:root", ["dcgm"], ["dcgm:"], [":root"], ["a:b:c d"], [["dcgm", "root"]], {"dcgm": "root"}, ["a,b:c"], 5]


@pytest.mark.parametrize("given", [[], ["nv-hostengine:root", "node_exporter:*"], ["*:*"], ("a:b:c",)])
def test_executable_and_user_are_taken_as_they_are(given):
    assert ignored_processes.from_extras({"ignored_processes": given}) == list(given)


@pytest.mark.parametrize("given", WRONG)
def test_anything_else_is_refused_with_what_to_write(given):
    with pytest.raises(BadInput, match=r"give a list of 'NAME:USER'"):
        ignored_processes.from_extras({"ignored_processes": given})


def test_the_file_of_a_system_is_refused_with_the_partition(tmp_path):
    system = importlib.import_module("copy").deepcopy(SYSTEM)
    system_files.validate(tmp_path / "alpha.py", system, [])
    system["partitions"][0]["extras"] = {"ignored_processes": "dcgm:root"}
    with pytest.raises(BadInput, match="alpha.py: partition 'gpu': .*ignored_processes"):
        system_files.validate(tmp_path / "alpha.py", system, [])


SYSTEM = {
    "name": "alpha",
    "hostnames": ["alpha"],
    "partitions": [{"name": "gpu", "scheduler": "local", "launcher": "local", "environs": ["default"]}],
}


@pytest.mark.parametrize(
    ("program", "ignored", "options"),
    [
        ("p2p_matrix", ["nv-hostengine:root", "*:monitor"], ("--ignore-processes", "'nv-hostengine:root,*:monitor'")),
        ("p2p_matrix", [], ()),
        ("peer", ["nv-hostengine:root"], ()),
    ],
)
def test_a_program_of_ours_is_told_them(program, ignored, options):
    check = importlib.import_module("linkmatrix_checks.p2p").p2p_matrix_run
    assert check.ignore_opts(SimpleNamespace(program=program, ignored=ignored)) == options
