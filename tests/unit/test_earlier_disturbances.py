"""What disturbed a record of an earlier version is derived with the limits of today's programs."""

import copy
from pathlib import Path

import pytest

from linkmatrix.record import reading
from linkmatrix.record.earlier_disturbances import SHARE, may_meet, ranges_of, rate_of, with_disturbances

DATA = Path(__file__).parents[1] / "data"
HOG = {"where": "gpu1", "pid": 2983, "name": "hog", "user": "bob", "bytes": 1 << 30, "seconds": None}
NODE = {"node": "node001", "load": 1.0, "stalled": 0.0, "stolen": 0.0, "busy": 1.0, "own_busy": 1.0}


def use(label, of, counted, own, **more):
    return {"label": label, "of": of, "counted": counted, "own": own, **more}


def others(*uses, processes=(), shared=True, seconds=10.0, nodes=(NODE,)):
    known = {"seconds": seconds, "shared": shared, "untold": []}
    return {**known, "uses": list(uses), "nodes": list(nodes), "processes": list(processes)}


@pytest.fixture
def derived(make_record):
    """The disturbances that are derived for a record with these `others`, as (kind, where, share, pids)."""

    def derive(of_result, lost=(), **changes):
        record = make_record()
        record["results"][0] |= {"others": of_result, **changes}
        record["lost"] = list(lost)
        found = with_disturbances(record)["results"][0]["others"]["disturbances"]
        return [(one["kind"], one["where"], one["share"], one["pids"]) for one in found]

    return derive


@pytest.mark.parametrize(
    ("process", "found"),
    [
        (HOG, True),
        ({**HOG, "on": "device", "bytes": None}, True),
        ({**HOG, "on": "node"}, False),
        ({**HOG, "where": "gpu7"}, True),  # a GPU of the node that the run does not use
        ({**HOG, "where": "node001", "bytes": None, "seconds": 1.0}, False),
    ],
)
def test_a_process_on_a_device_is_a_context(derived, process, found):
    seen = derived(others(use("gpu1", "sm", 0, 0), processes=[process]))
    assert seen == ([("context", process["where"], None, [2983])] if found else [])
    assert derived(others(use("gpu1", "sm", 0, 0), processes=[process], shared=False)) == []


@pytest.mark.parametrize(("late", "found"), [(SHARE * 10, False), (SHARE * 10 + 0.01, True)])
def test_a_thread_that_waited_for_more_than_10_percent_of_the_time_is_disturbed(derived, late, found):
    seen = derived(others(use("cpu0", "cpu", 10.0, 10.0 - late)))
    assert [one[:2] for one in seen] == [("cpu", "cpu0")] * found
    assert derived(others(use("cpu0", "cpu", 0.019, 0.0))) == [], "one tick of a clock"
    assert derived(others(use("cpu0", "cpu", None, 1.0), use("cpu1", "cpu", 1.0, None))) == []


def rank(others_had=None, cores="0-3"):
    return use("node001:rank0", "cpu", 10.0, 5.0, cores=cores, others=others_had)


@pytest.mark.parametrize(
    ("use_of_rank", "processes", "stolen", "share"),
    [
        (rank(), (), 0.0, None),  # it waited for its peers
        (rank(3.0), (), 0.0, 0.3),
        (rank(9.0), (), 0.0, 0.5),
        (rank(), ((3.0, "2"),), 0.0, 0.3),
        (rank(), ((3.0, "4-7"),), 0.0, None),
        (rank(), ((3.0, None),), 0.0, 0.3),
        (rank(0.0), (), 2.0, 0.2),
    ],
)
def test_a_rank_is_disturbed_only_as_long_as_others_had_its_cores(derived, use_of_rank, processes, stolen, share):
    there = [
        {**HOG, "where": "node001", "bytes": None, "seconds": seconds} | ({"cores": cores} if cores else {})
        for seconds, cores in processes
    ]
    seen = derived(others(use_of_rank, processes=there, shared=None, nodes=[{**NODE, "stolen": stolen}]))
    assert [one[2] for one in seen] == ([share] if share else [])


@pytest.mark.parametrize(("throttled", "found"), [(0.0, True), (2.4, True), (2.5, False)])
def test_the_quota_of_the_run_itself_is_no_disturbance(derived, throttled, found):
    seen = derived(others(rank(9.0), nodes=[{**NODE, "throttled": throttled}]))
    assert bool(seen) is found


@pytest.mark.parametrize(
    ("counted", "rate", "found"),
    [
        (40e9, "400 Gb/sec (4X NDR)", False),
        (60e9, "400 Gb/sec (4X NDR)", True),
        (60e9, None, True),
        (1.04e7, None, False),  # without a rate, less than 1 MB/s disturbs nothing
    ],
)
def test_an_adapter_that_others_used_by_more_than_10_percent(make_record, counted, rate, found):
    record = make_record()
    record["adapters"][0]["rate"] = rate
    node = record["adapters"][0]["place"]["node"]
    seen = others(use(node, "net_out", counted, 1e6, by="mlx5_0"), use(node, "net_in", 1e6, 1e6, by="mlx5_0"))
    record["results"][0]["others"] = seen
    derived = with_disturbances(record)["results"][0]["others"]["disturbances"]
    assert [(one["kind"], one["where"], one["node"]) for one in derived] == [("adapter", "mlx5_0", node)] * found


def test_what_the_messages_of_the_run_add_is_its_own(derived):
    own = others(use("node001", "net_out", 2.0e9, 1e9, by="eth9"))
    assert derived(own) and derived(own, size_bytes=1 << 20)
    assert derived(own, size_bytes=256) == [], "as many bytes of heads as of data"


def test_rates_of_adapters_are_read_by_their_interfaces(make_record):
    record = make_record()
    record["adapters"][0]["interfaces"] = [{"name": "ib0", "state": "up"}]
    node = record["adapters"][0]["place"]["node"]
    assert rate_of(record, node, "ib0") == rate_of(record, node, "mlx5_0") == 50e9
    assert rate_of(record, node, "ib0, eth0") == 0.0 == rate_of(record, "another", "ib0")


@pytest.mark.parametrize(
    ("why", "processes", "kind"),
    [
        ("cudaSetDevice failed: out of memory; process 7154 (hog) holds 79.2 GiB", (), "memory"),
        ("cudaMalloc failed: out of memory", (HOG,), "memory"),
        ("cudaMalloc failed: out of memory", ({**HOG, "where": "gpu0"},), "process"),
        ("it does not answer any more", (), "process"),
        ("its process was killed", (HOG,), "process"),
        ("cudaEventSynchronize failed: an illegal memory access", (HOG,), "device"),
        ("Xid 79", (), "device"),
    ],
)
def test_the_kind_of_a_lost_endpoint_follows_from_its_reason(make_record, why, processes, kind):
    record = make_record()
    record["lost"] = [{"label": "gpu1", "why": why}]
    record["results"][0]["others"] = others(use("gpu1", "sm", 0, 0), processes=processes)
    found = with_disturbances(record)
    assert [one["kind"] for one in found["lost"]] == [kind]
    held = [one for one in found["results"][0]["others"]["disturbances"] if one["kind"] == "memory"]
    assert len(held) == (kind == "memory") and all(one["pids"] for one in held)


def test_a_record_of_today_stays_as_it_is(make_record):
    record = make_record()
    record["lost"] = [{"label": "gpu1", "why": "out of memory", "kind": "device"}]
    record["results"][0]["others"] = {**others(processes=[HOG]), "disturbances": []}
    assert with_disturbances(record) is record


def test_reading_derives_it_for_results_soaks_and_the_run(make_record):
    record = reading.load(DATA / "h100x2/busy_kernel.record.json")
    holders = [record, *record["results"]]
    assert all(one["others"]["disturbances"][0]["where"] == "gpu1" for one in holders)
    again = copy.deepcopy(record)
    assert reading.checked(again) == record, "a record that was read is a record"


@pytest.mark.parametrize(
    ("some", "more", "meet"),
    [("0-3,8", "3", True), ("0-3,8", "4-7", False), ("0-3", "x", True), (None, "1", True), ("5", "1-9", True)],
)
def test_lists_of_cores_meet(some, more, meet):
    assert may_meet(some, more) is may_meet(more, some) is meet
    assert ranges_of("0-3,8") == ((0, 3), (8, 8)) and ranges_of("1,") == ()
