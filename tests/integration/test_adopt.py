"""References of this machine: six runs of three checks adopted at once, and an acceptance that lacks none of them."""

import json

import pytest
import yaml
from reframe_runs import report_of

from linkmatrix import cli
from linkmatrix.references.tables import References
from linkmatrix.runs import verdict_file

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

QUICK = "--samples,3,--target-ci,50"
ONE_OF_EACH = (
    "rank_p2p.*rank_to_rank_bandwidth_mpi",
    "intranode_p2p.*device_to_device_memcpy_write_ce$",
    "rank_collectives.*=all_reduce_perf$",
)
WHAT = ("-r", "-n", "|".join(ONE_OF_EACH))
WORDS = (
    "rank_p2p.rank_to_rank_bandwidth_mpi",
    "intranode_p2p.device_to_device_memcpy_write_ce",
    "rank_collectives.all_reduce_perf",
)
SUITE = ("-S", f"node_session.suite={','.join(WORDS)}")
SIZES = {"rank_p2p": "size=1MiB", "intranode_p2p": "size=1MiB", "rank_collectives": "sizes=1MiB,4MiB"}
WIDE = ("--floor", "99.99,900", "--with-outliers", "--as-is", "a machine that others use too")  # no test asserts a time
STEADY, STEADY_COLLECTIVE = 30.0, 3.0  # GB/s that all adopted runs have


def make_steady(prefix):
    """What a busy machine varies from run to run is not the subject: all runs measured the same."""
    for file in sorted(path.with_name("record.json") for path in (prefix / "output").rglob("verdict.json")):
        record = json.loads(file.read_text())
        for result in record["results"]:
            steady = STEADY_COLLECTIVE if record["program"] == "collective_perf" else STEADY
            for key in ("values", "low", "high"):
                result[key] = [[value and steady for value in row] for row in result[key]]
        content = json.dumps(record).encode()
        file.write_bytes(content)
        bind(file.with_name("verdict.json"), content)


def bind(stored, record):
    """The verdict as the check would have written it for these bytes of a record."""
    verdict = json.loads(stored.read_text()) | {"record_sha256": verdict_file.sha256(record)}
    digest = verdict_file.write(stored.parent, verdict)
    (report,) = (stored.parents[6] / "reports").glob("run-report-*.json")
    text = json.loads(report.read_text())
    for case in (case for run in text["runs"] for case in run["testcases"]):
        if case.get("verdict_file") == str(stored):
            case["verdict_sha256"] = digest
    report.write_text(json.dumps(text))


def loose(file):
    """The text of a file of references that any speed passes: no test asserts a time."""
    content = yaml.safe_load(file.read_text())
    for tables in content.values():
        for name, table in tables.items():
            for rows in table.values() if not name.startswith("$") else ():
                for row in (row for key, row in rows.items() if isinstance(row, list) and len(row) == 4):
                    row[:3] = row[0] / 1000, -0.9, None
    return yaml.safe_dump(content)


def test_six_runs_are_adopted_and_an_acceptance_against_them_is_green(reframe, tmp_path, capsys, unavailable):
    options, names = [*WHAT], []
    for check, size in SIZES.items():
        for more in (size, f"extra_opts={QUICK}"):
            options += ["-S", f"{check}.{more}"]
        names += ["-S", f"{check}.reference_name=here"]
    six = reframe(*options, "--repeat=6", folder="six")
    if not any(case["name"].startswith("rank_p2p") for case in six.checks()):
        unavailable("no MPI here, so ReFrame has no rank check to run")
    assert six.code == 0, six.output
    make_steady(six.prefix)
    file = tmp_path / "adopted" / "p2p.yaml"
    code = cli.main(["adopt", str(report_of(six)), "--table", "here", "--file", str(file), "--write", *WIDE])
    assert code == 0, capsys.readouterr().out
    references = References.load(file)
    assert references.names() == ["here", "here@1MiB"] and len(references.testcases("here@1MiB")) == 2
    collective = references.for_check("rank_collectives").table("here", "all_reduce_perf")
    assert set(collective) == {f"{way}@{size}" for way in ("out-of-place", "in-place") for size in (1 << 20, 1 << 22)}
    assert {one.value for one in collective.values()} == {STEADY_COLLECTIVE}
    again = reframe(*options, *names, "--mode=acceptance", *SUITE, references=loose(file), folder="again")
    assert again.code == 0, again.output
    assert [case["result"] for case in again.checks()] == ["pass"] * 3
    capsys.readouterr()
    code = cli.main(["show", str(again.prefix), "--references", str(file.parent)])
    assert code == 0, capsys.readouterr().out
