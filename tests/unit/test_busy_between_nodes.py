"""Bytes of others over the adapters of nodes are no fault of them, and segments that were lost are said."""

import math

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.facts import facts
from linkmatrix.judge.others import disturbances
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References
from tests.tools.rank_records import of_ranks

RANKS, NODES = "rank_to_rank_bandwidth_mpi", "node_to_node_bandwidth_mpi"
PLACES = ("n1", "n2", "n3", "n4")
SECONDS = 10.0
OWN = 20e9  # bytes of each node, each way


@pytest.fixture
def between(make_record):
    """A function that makes the record of a run between four nodes of 24 GB/s, with what their adapters counted.

    slow: {(node, node): GB/s}. foreign: {(node, "net_out" or "net_in"): bytes that others moved}. counted: of a node's
    adapter for a byte of ours.
    """

    def make(slow, foreign, testcase=RANKS, ranks=1, counted=1.01, size=1 << 20, more=()):
        def value(source, destination):
            return 96.0 if source == destination else slow.get((source, destination), 24.0)

        content = of_ranks(make_record, PLACES, ranks, testcase == NODES, value)
        (result,) = content["results"]
        result["size_bytes"] = size
        result["limit"] = [[None for _ in row] for row in result["limit"]]
        uses = [
            {"label": node, "of": of, "own": OWN, "by": "eth0", "counted": counted * OWN + foreign.get((node, of), 0.0)}
            for node in PLACES
            for of in ("net_out", "net_in")
        ]
        uses += [{"label": node, "of": of, "counted": count, "own": None} for node, of, count in more]
        seen = {"seconds": SECONDS, "shared": None, "uses": uses, "nodes": [], "processes": [], "untold": []}
        result["others"] = seen
        reading.check(content)
        return content

    return make


def judged(record):
    """(the only matrix's verdicts, what is found in it)."""
    testcase = record["results"][0]["testcase"]
    levels = {"cell[NET]": Reference(24.0, -0.05, 0.1, "GB/s"), "cell[NODE]": Reference(96.0, -0.05, 0.1, "GB/s")}
    (matrix,) = evaluate(record, References({("cluster", testcase): levels}), "cluster").matrices
    return matrix, diagnosis.diagnose(record, record["results"][0], matrix)


SLOW = {("n2", other): 12.0 for other in PLACES if other != "n2"}
INTO = {(other, "n2"): 12.0 for other in PLACES if other != "n2"}
HALF = {("n2", "net_out"): 0.5 * 24e9 * SECONDS}


@pytest.mark.parametrize(("testcase", "ranks"), [(RANKS, 1), (RANKS, 2), (NODES, 2)])
def test_a_node_whose_adapter_carried_what_is_missing_is_busy_and_no_suspect(between, testcase, ranks):
    matrix, found = judged(between(SLOW, HALF, testcase, ranks))
    assert matrix.verdict is Verdict.INCOMPLETE and not found.findings
    said = "busy: 117 GB left n2 by eth0 that linkmatrix did not send"
    bad = [cell for (row, _), cell in matrix.cells.items() if row.startswith("n2") and cell.verdict > Verdict.WARN]
    assert bad and all(said in cell.reason for cell in bad)
    assert any(said in sentence for sentence in found.sentences)


def test_what_is_slower_than_the_bytes_of_others_explain_is_a_fault(between):
    matrix, found = judged(between({pair: 6.0 for pair in SLOW}, HALF))
    assert matrix.verdict is Verdict.FAIL
    assert [one.kind for one in found.findings] != []


def test_bytes_of_others_at_another_node_explain_nothing(between):
    matrix, _ = judged(between(SLOW, {("n4", "net_out"): 0.5 * 24e9 * SECONDS}))
    assert matrix.cells["n2:rank1", "n1:rank0"].verdict is Verdict.FAIL
    assert matrix.cells["n2:rank1", "n3:rank2"].verdict is Verdict.FAIL


def test_what_comes_into_a_node_waits_for_acknowledgements_beside_what_others_send_there(between):
    matrix, found = judged(between(INTO, HALF))
    assert matrix.verdict is Verdict.INCOMPLETE and not found.findings
    assert "left n2 by eth0" in matrix.cells["n1:rank0", "n2:rank1"].reason


@pytest.mark.parametrize("counted", [0.5, 1.0, 1.01, 1.1])
def test_the_heads_of_its_own_packets_are_not_of_others(between, counted):
    matrix, found = judged(between(SLOW, {}, counted=counted))
    assert matrix.verdict is Verdict.FAIL and found.findings


def test_small_messages_have_larger_heads(between):
    matrix, _ = judged(between(SLOW, {}, counted=3.0, size=128))
    assert matrix.verdict is Verdict.FAIL


@pytest.mark.parametrize("what", ["counted", "own"])
def test_where_bytes_are_not_known_nothing_is_excused(between, what):
    record = between(SLOW, HALF)
    for use in record["results"][0]["others"]["uses"]:
        use[what] = None
    assert judged(record)[0].verdict is Verdict.FAIL


HOG = {"where": "n2", "pid": 2983, "name": "hog", "user": "bob", "bytes": None, "seconds": 5.0}


def beside(record, uses, processes, shared=None):
    """The record, with what its ranks saw on their nodes. uses: (rank, of what, counted, own)."""
    others = record["results"][0]["others"]
    nothing = dict.fromkeys(("load", "stalled", "stolen", "busy", "own_busy"))
    others["uses"] += [{"label": label, "of": of, "counted": counted, "own": own} for label, of, counted, own in uses]
    others["nodes"] = [{"node": node, **nothing} for node in PLACES]
    others["processes"], others["shared"] = [*processes], shared
    return reading.check(record) or record


@pytest.mark.parametrize(("testcase", "ranks"), [(RANKS, 1), (RANKS, 2), (NODES, 2)])
def test_a_rank_whose_processor_others_had_is_busy_and_its_node_no_suspect(between, testcase, ranks):
    record = between(SLOW, {}, testcase, ranks)
    cores = [(device["label"], "cpu", 10.0, 10.0 - 5.0 * (device["node"] == "n2")) for device in record["devices"]]
    daemon = {**HOG, "where": "n1", "pid": 3000, "name": "daemon"}
    matrix, found = judged(beside(record, cores, [daemon, HOG]))
    assert matrix.verdict is Verdict.INCOMPLETE and not found.findings
    bad = [cell for (row, _), cell in matrix.cells.items() if row.startswith("n2") and cell.verdict > Verdict.WARN]
    assert bad
    for cell in bad:
        assert "busy: others had 50 % of the time that n2" in cell.reason and "pid 2983 hog of bob" in cell.reason
        assert "daemon" not in cell.reason


@pytest.mark.parametrize(
    ("had", "gb_per_s", "verdict"),
    [(0.5, 2.0, Verdict.INCOMPLETE), (0.05, 22.6, Verdict.INCOMPLETE), (0.05, 12.0, Verdict.FAIL)],
)
def test_messages_wait_for_two_processors_and_what_they_lose_to_few_turns_of_others_is_bounded(
    between, had, gb_per_s, verdict
):
    cores = [(f"{node}:rank{k}", "cpu", 10.0, 10.0 * (1 - had * (node == "n2"))) for k, node in enumerate(PLACES)]
    matrix, found = judged(beside(between({pair: gb_per_s for pair in SLOW}, {}), cores, [HOG]))
    assert matrix.verdict is verdict
    assert bool(found.findings) == (verdict is Verdict.FAIL)


@pytest.mark.parametrize("seconds", [None, 0.1])
def test_a_rank_that_waited_where_nobody_else_ran_waited_for_ranks(between, seconds):
    cores = [(f"{node}:rank{k}", "cpu", 10.0, 5.0) for k, node in enumerate(PLACES)]
    elsewhere = {**HOG, "where": "n1"}
    matrix, found = judged(beside(between(SLOW, {}), cores, [{**HOG, "seconds": seconds}, elsewhere]))
    assert matrix.verdict is Verdict.FAIL and found.findings
    assert matrix.cells["n2:rank1", "n3:rank2"].verdict is Verdict.FAIL


def test_a_rank_that_seldom_wanted_its_processor_lost_nothing_to_a_daemon(between):
    cores = [(f"{node}:rank{k}", "cpu", 0.5, 0.43) for k, node in enumerate(PLACES)]
    record = beside(between({pair: 0.02 for pair in SLOW}, {}), cores, [{**HOG, "seconds": 0.12}])
    matrix, found = judged(record)
    assert matrix.verdict is Verdict.FAIL and found.findings
    assert [*disturbances(record)] == []


def test_one_rank_of_a_node_that_napped_beside_a_daemon_excuses_no_other(between):
    record = between({pair: 0.02 for pair in SLOW}, {}, NODES, 2)
    cores = [
        (one["label"], "cpu", 60.0 if k % 2 else 0.5, 60.0 if k % 2 else 0.43)
        for k, one in enumerate(record["devices"])
    ]
    assert judged(beside(record, cores, [{**HOG, "seconds": 0.12}]))[0].verdict is Verdict.FAIL


def test_a_node_of_which_nothing_is_told_is_not_excused_by_processes_of_another(between):
    cores = [(f"{node}:rank{k}", "cpu", 10.0, 5.0) for k, node in enumerate(PLACES)]
    record = beside(between(SLOW, {}), cores, [{**HOG, "where": "n1"}])
    others = record["results"][0]["others"]
    others["nodes"] = [one for one in others["nodes"] if one["node"] != "n2"]
    matrix, _ = judged(record)
    assert matrix.cells["n2:rank1", "n3:rank2"].verdict is Verdict.FAIL


def test_a_context_on_a_device_of_one_node_excuses_no_link_inside_another(between):
    record = between({}, {}, RANKS, 2)
    for grid in ("values", "low", "high"):
        record["results"][0][grid][6][7] = 12.0
    uses = [(one["label"], of, None, None) for one in record["devices"] for of in ("pcie_out", "pcie_in")]
    on_device = {**HOG, "where": "n1:rank0", "bytes": 1 << 30, "seconds": None}
    matrix, _ = judged(beside(record, uses, [on_device], shared=True))
    assert matrix.cells["n4:rank6", "n4:rank7"].verdict is Verdict.FAIL


def test_a_device_of_a_rank_on_which_others_work_excuses_its_node_in_a_matrix_of_nodes(between):
    record = between(SLOW, {}, NODES, 2)
    uses = [(one["label"], of, None, None) for one in record["devices"] for of in ("pcie_out", "pcie_in")]
    on_device = {**HOG, "where": "n2:rank2", "bytes": 1 << 30, "seconds": None}
    matrix, found = judged(beside(record, uses, [on_device], shared=True))
    assert matrix.verdict is Verdict.INCOMPLETE and not found.findings


def test_time_that_the_host_of_a_virtual_machine_took_is_not_its_ranks(between):
    record = beside(between(SLOW, {}), [("n2:rank1", "cpu", 10.0, 5.0)], [])
    assert judged(record)[0].verdict is Verdict.FAIL
    record["results"][0]["others"]["nodes"][1]["stolen"] = 5.0
    assert judged(record)[0].verdict is Verdict.INCOMPLETE


def test_a_device_of_a_rank_on_which_others_work_is_no_fault_of_its_node(between):
    uses = [
        (f"{node}:rank{k}", of, counted, None)
        for k, node in enumerate(PLACES)
        for of, counted in (("sm", 4.0), ("pcie_out", None), ("pcie_in", None))
    ]
    on_device = {**HOG, "where": "n2:rank1", "bytes": 1 << 30, "seconds": None}
    matrix, found = judged(beside(between(SLOW, {}), uses, [on_device], shared=True))
    assert matrix.verdict is Verdict.INCOMPLETE and not found.findings
    assert "others were on n2:rank1 (pid 2983 hog of bob)" in matrix.cells["n2:rank1", "n1:rank0"].reason
    elsewhere = {**on_device, "where": "n4:rank3"}
    matrix, _ = judged(beside(between(SLOW, {}), uses, [elsewhere], shared=True))
    assert matrix.cells["n2:rank1", "n1:rank0"].verdict is Verdict.FAIL


def test_a_process_on_a_node_is_no_user_of_its_adapters_and_storage_breaks_no_promise(between):
    record = beside(between({}, HALF), [("n2:rank1", "cpu", 10.0, 10.0)], [HOG])
    assert [*disturbances(record)] == []
    record = beside(between({}, {}), [("n2:rank1", "cpu", 10.0, 5.0)], [HOG])
    assert [*disturbances(record)] == [
        "the node was not ours: others had 50 % of the time that n2:rank1 wanted its cores (pid 2983 hog of bob)"
        f" during {RANKS}"
    ]


def on_cores(record, cores, busy, processes=(HOG,), late=5.0):
    """The record, whose ranks may use these cores, of which others had those of n2 so long."""
    uses = [(one["label"], "cpu", 10.0, 10.0 - late * (one["node"] == "n2")) for one in record["devices"]]
    beside(record, uses, processes)
    for use in record["results"][0]["others"]["uses"]:
        if use["of"] == "cpu":
            use.update(cores=cores, others=busy if use["label"].startswith("n2") else 0.0)
    return reading.check(record) or record


@pytest.mark.parametrize(("testcase", "ranks"), [(RANKS, 1), (NODES, 2)])
def test_processes_that_nobody_saw_are_others_too(between, testcase, ranks):
    """They ended before they were looked at, or the kernel hides them."""
    record = on_cores(between(SLOW, {}, testcase, ranks), "0-1", 5.2, processes=())
    matrix, found = judged(record)
    assert matrix.verdict is Verdict.INCOMPLETE and not found.findings
    bad = [
        cell.reason for (row, _), cell in matrix.cells.items() if row.startswith("n2") and cell.verdict > Verdict.WARN
    ]
    assert bad
    for reason in bad:
        assert "busy: others had 50 % of the time that n2" in reason
        assert "(processes that cannot be listed had 5.20 s of its processors)" in reason
    [said, *_] = disturbances(record)
    assert "n2:rank" in said and "processes that cannot be listed had 5.20 s" in said


@pytest.mark.parametrize(("unseen", "excused"), [(None, False), (0.0, False), (0.05, False), (5.2, True)])
def test_cores_that_only_ranks_had_excuse_nothing(between, unseen, excused):
    matrix, _ = judged(on_cores(between(SLOW, {}), "0-1", unseen, processes=()))
    assert (matrix.verdict is Verdict.INCOMPLETE) == excused


@pytest.mark.parametrize(
    ("theirs", "excused"), [("2-127", False), ("1-3,8", True), ("0", True), ("", True), ("0-1x", True)]
)
@pytest.mark.parametrize("told", [None, float("nan"), 0.0, 5.0])
def test_a_job_on_other_cores_of_a_node_excuses_no_slow_rank(between, theirs, excused, told):
    """Nor one that may run on the rank's, where what these worked says that it did not."""
    job = {**HOG, "seconds": 900.0} | ({"cores": theirs} if theirs else {})
    record = on_cores(between(SLOW, {}), "0-1", None, processes=[job])
    for use in record["results"][0]["others"]["uses"]:
        if use["of"] == "cpu" and use["label"].startswith("n2"):
            use["others"] = told
    matrix, found = judged(record)
    excused = excused if told is None or math.isnan(told) else told > 0
    assert (matrix.verdict is Verdict.INCOMPLETE) == excused
    assert bool(found.findings) != excused


def test_who_ran_where_the_rank_could_not_is_not_named(between):
    job = {**HOG, "pid": 4000, "name": "job", "seconds": 900.0, "cores": "2-127"}
    matrix, _ = judged(on_cores(between(SLOW, {}), "0-1", 5.0, processes=[job, {**HOG, "cores": "0-127"}]))
    reason = matrix.cells["n2:rank1", "n1:rank0"].reason
    assert "(pid 2983 hog of bob)" in reason


def test_the_reason_is_the_processor_where_a_few_bytes_of_others_left_the_adapter(between):
    few = {("n2", "net_out"): 0.003 * 24e9 * SECONDS}
    record = on_cores(between(SLOW, few), "0-1", 5.0, processes=[HOG])
    reason = judged(record)[0].cells["n2:rank1", "n1:rank0"].reason
    assert "busy: others had 50 % of the time that n2:rank1 wanted its cores" in reason and "eth0" not in reason
    record = on_cores(between(SLOW, HALF), "0-1", 0.5, processes=[HOG], late=0.5)
    both = "busy: 117 GB left n2 by eth0 that linkmatrix did not send; others had 5 % of the time that n2:rank1 wanted"
    assert both in judged(record)[0].cells["n2:rank1", "n1:rank0"].reason


def test_bytes_of_a_node_are_said_with_who_ran_on_that_node(between):
    record = beside(between(SLOW, HALF), [], [{**HOG, "where": "n1", "name": "elsewhere"}, HOG])
    reason = judged(record)[0].cells["n2:rank1", "n1:rank0"].reason
    assert "left n2 by eth0 that linkmatrix did not send (pid 2983 hog of bob)" in reason


def test_that_nobody_can_tell_who_used_a_device_is_said_with_its_node(between):
    record = beside(between({}, {}), [("n2:rank1", "sm", None, 0.0)], [], shared=True)
    record["results"][0]["others"]["untold"] = [
        "n1: its kernel does not count the pressure on its processors",
        "n2:rank1: the driver does not say which processes use it",
    ]
    assert [*disturbances(record)] == [
        "the node was not ours: whether others used its devices cannot be told;"
        f" n2:rank1: the driver does not say which processes use it during {RANKS}"
    ]


def warned(record):
    return [one.sentence for one in facts(record, True) if one.verdict is Verdict.WARN and "TCP" in one.sentence]


def test_segments_that_were_sent_again_are_said_of_their_node(between):
    lossy = [("n3", "tcp_sent", 33937), ("n3", "tcp_again", 217), ("n1", "tcp_sent", 20162), ("n1", "tcp_again", 2)]
    assert warned(between({}, {}, more=lossy)) == [
        "n3 sent 0.64 % of its TCP segments again (217 of 33,937):"
        " they were lost on the way from it, or in a queue that was full"
    ]


@pytest.mark.parametrize(("sent", "again"), [(100, 9), (1e6, 500), (0, 0), (1e6, None), (None, 500)])
def test_few_segments_that_were_sent_again_are_nothing(between, sent, again):
    assert warned(between({}, {}, more=[("n3", "tcp_sent", sent), ("n3", "tcp_again", again)])) == []
