"""What a harmless process of others must not excuse, and what is of nobody: each was judged otherwise."""

from pathlib import Path

import pytest
from recorded_references import references_of

from linkmatrix.judge import crashes
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.others import disturbances
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References
from tests.tools.rank_records import of_ranks

DATA = Path(__file__).parents[1] / "data"
TOLERANCE = {"GB/s": (-0.02, None), "us": (None, 0.10)}
AGENT = {"where": "gpu0", "pid": 2983, "name": "agent", "user": "root", "bytes": 30 << 20, "seconds": None}
WRITES = "device_to_device_memcpy_write_ce"


def load(name):
    return reading.load(DATA / f"{name}.record.json")


def beside_an_agent(record):
    """Somebody has a context on gpu0 from first look to last and never did anything; counters are waited for."""
    for one in (record["others"], *(result["others"] for result in record["results"])):
        one.update(shared=True, processes=[AGENT], seconds=one["seconds"] and one["seconds"] + 1.0)
    return record


@pytest.mark.parametrize("name", ["h200x2_idle", "h100x2/idle"])
@pytest.mark.parametrize(
    ("testcase", "times", "why"),
    [
        ("host_to_device_memcpy_ce", 0.1, "a process that copied to a device all the time cost the other one 9.6 %"),
        (WRITES, 0.952, "bytes of this link were counted; one that copied from host memory cost it 0.4 %"),
        ("device_to_device_latency_sm", 5.0, "the worst process, which never paused, made it 2.5 times as long"),
    ],
)
def test_an_agent_that_only_holds_a_context_excuses_no_fault_of_its_neighbour(name, testcase, times, why):
    references, record = references_of(load(name), "idle", TOLERANCE), beside_an_agent(load(name))
    [at] = [k for k, one in enumerate(record["results"]) if one["testcase"] == testcase]
    for grid in ("values", "low", "high"):
        record["results"][at][grid][0][1] *= times
    reading.check(record)
    pair = record["results"][at]["rows"][0], "gpu1"
    assert evaluate(record, references, "idle").matrices[at].cells[pair].verdict is Verdict.FAIL, why


def test_nobody_has_died_who_is_there_at_every_look():
    record = load("h100x2/busy_crash")
    for one in crashes.looks(record):
        one.update(shared=True, processes=[{**AGENT, "where": "gpu1"}])
    assert crashes.died(record) == []
    assert crashes.device_errors(record) != [], "nobody is known to have died on it"


NODES = ("n1", "n2", "n3", "n4")
LINE, SECONDS = 24e9, 10.0
RANKS = "rank_to_rank_bandwidth_mpi"


def between_nodes(make_record, slow, own, counted, by, more=(), ranks=1):
    """A record of four nodes of 24 GB/s: what n2 sends is `slow`; own and counted: bytes that left n2."""
    record = of_ranks(make_record, NODES, ranks, False, lambda a, b: 24.0 * (slow if a == "n2" != b else 1.0))
    (result,) = record["results"]
    result["size_bytes"], result["limit"] = 1 << 20, [[None for _ in row] for row in result["limit"]]
    uses = [{"label": node, "of": "net_out", "counted": own, "own": own, "by": by} for node in NODES]
    uses[1]["counted"] = counted
    uses += [{"label": "n2", "of": of, "counted": count, "own": None} for of, count in more]
    seen = {"seconds": SECONDS, "shared": None, "uses": uses, "nodes": [], "processes": [], "untold": []}
    result["others"] = seen
    reading.check(record)
    table = References({("cluster", RANKS): {"cell[NET]": Reference(24.0, -0.05, 0.1, "GB/s")}})
    return record, evaluate(record, table, "cluster").matrices[0]


def test_segments_that_were_sent_again_are_not_of_others(make_record):
    """A way that loses half of what is sent: its adapter counts each segment twice."""
    own = 0.5 * LINE * SECONDS
    again = [("tcp_sent", 1e8), ("tcp_again", 1e8)]
    _, matrix = between_nodes(make_record, 0.5, own, 2 * own, "eth0", again)
    assert matrix.cells["n2:rank1", "n1:rank0"].verdict is Verdict.FAIL


@pytest.mark.parametrize("name", ["h200x2_idle", "h100x2/idle"])
@pytest.mark.parametrize(
    ("testcase", "times"), [("device_local_copy", 0.2), ("device_to_device_latency_sm", 5.0)], ids=["inside", "latency"]
)
def test_an_agent_that_uses_two_percent_of_a_device_excuses_no_more_than_one_that_never_pauses(name, testcase, times):
    """Beside the worst of those that never paused copies inside lost 50 %, and latencies were 2.5 times as long."""
    references, record = references_of(load(name), "idle", TOLERANCE), beside_an_agent(load(name))
    for result in record["results"]:
        result["others"]["seconds"] += 10.0  # looked at for long enough
        for use in result["others"]["uses"]:
            if (use["label"], use["of"]) == ("gpu0", "sm"):
                use["counted"] = 0.02 * result["others"]["seconds"]
    [at] = [k for k, one in enumerate(record["results"]) if one["testcase"] == testcase]
    result = record["results"][at]
    r, c = (0, 0) if testcase == "device_local_copy" else (1, 0)
    for grid in ("values", "low", "high"):
        result[grid][r][c] *= times
    reading.check(record)
    cell = evaluate(record, references, "idle").matrices[at].cells[result["rows"][r], result["columns"][c]]
    assert cell.verdict is Verdict.FAIL, cell.reason


def test_a_node_that_is_called_as_a_device_is_has_no_processes_on_that_device():
    """As 'gpu1' of a cluster of gpu1, gpu2, …: its daemons are listed with the name of their node."""

    def renamed(one):
        if isinstance(one, dict):
            return {key: renamed(value) for key, value in one.items()}
        return [renamed(value) for value in one] if isinstance(one, list) else "gpu1" if one == "vm" else one

    record = renamed(load("h200x2_idle"))
    daemon = {"where": "gpu1", "on": "node", "pid": 1, "name": "systemd", "user": "root", "bytes": None, "seconds": 0.2}
    for one in (record["others"], *(result["others"] for result in record["results"])):
        one["processes"] = [daemon]
    reading.check(record)
    assert [*disturbances(record)] == []
