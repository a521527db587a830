"""Simulated faults and ignored processes are printed with each run, list and table, and a table keeps its rows."""

import csv
import io
import json
import xml.etree.ElementTree as Tree

import pytest
import stores

from linkmatrix import cli
from linkmatrix.record import reading

FAULT, SIMULATED, IGNORED = "slow=gpu3", "SIMULATED: ", "Ignored processes: pid 12 (dcgm of root)"
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
    named = ["--format", form, "--nodes", "suspect"]
    first, second, *rest = linkmatrix.out("export", path, measured, *named).splitlines()
    assert first.startswith(f"# {SIMULATED}") and FAULT in first and second == f"# {IGNORED}"
    assert "# no node is flagged" in rest
    assert linkmatrix.err("export", path, *named, code=3).startswith(SIMULATED)
