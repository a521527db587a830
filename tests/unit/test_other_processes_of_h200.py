"""Twenty kinds of other process, each recorded beside `quick` on two H200: none is blamed on the hardware.

The references are those that `linkmatrix adopt` made of six undisturbed runs on the same machine.
"""

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from linkmatrix.judge.disturbances import disturbances
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references.tables import References

ARCHIVE = Path(__file__).parents[1] / "data" / "h200x2_other_processes.tar.xz"
TABLE = "h200x2"
INSIDE = ("bursts", "context", "changing-context", "all-cores", "one-core", "spin-short")  # no cell was outside


@pytest.fixture(scope="module")
def recorded():
    """({"spin/node": record}, references)."""
    with tarfile.open(ARCHIVE) as archive:
        files = {one.name: archive.extractfile(one).read() for one in archive}
    references = References.read(files.pop("references.yaml").decode(), Path("references.yaml"))
    records = {name.removesuffix(".record.json"): json.loads(text) for name, text in files.items()}
    for record in records.values():
        reading.check(record)
    return records, references


def test_no_process_is_blamed_on_the_hardware_and_each_is_named(recorded):
    records, references = recorded
    verdicts = {}
    for name, record in records.items():
        found = judge_test(record, CheckFacts(), references, TABLE)
        assert found.verdict is not Verdict.FAIL, name
        for result, matrix in zip(record["results"], found.evaluation.matrices, strict=True):
            assert matrix.counts[Verdict.FAIL] == 0, name
            assert diagnosis.diagnose(record, result, matrix).findings == () or matrix.verdict < Verdict.DISTURBED
            if matrix.counts[Verdict.DISTURBED]:
                told = [text for of_node in disturbances(record, result).nodes.values() for text in of_node]
                assert any("other_process of root" in text for text in told), name
        kind = name.partition("/")[0]
        verdicts[kind] = max(found.verdict, verdicts.get(kind, Verdict.PASS))
    assert Counter(verdicts.values())[Verdict.DISTURBED] == len(verdicts) - len(INSIDE) == 14
    assert {kind for kind, verdict in verdicts.items() if verdict <= Verdict.WARN} == set(INSIDE)


def test_each_run_has_a_disturbance_with_the_pid_of_the_process(recorded):
    records, _ = recorded
    for kind in {name.partition("/")[0] for name in records}:
        of_kind = [record for name, record in records.items() if name.startswith(f"{kind}/")]
        others = [one.get("others") or {} for record in of_kind for one in (record, *record["results"])]
        listed = {one["pid"] for of in others for one in of.get("processes", ()) if one["name"] == "other_process"}
        disturbing = {pid for of in others for one in of.get("disturbances", ()) for pid in one["pids"]}
        assert listed and listed & disturbing, kind
