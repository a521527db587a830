"""Which partitions a node of a sweep is sent to, and that one whose nodes nobody can say is not left out."""

import importlib
from types import SimpleNamespace

import pytest

checks = importlib.import_module("linkmatrix_checks.nodes")

LOGIN = checks.socket.gethostname().partition(".")[0]


def partition(name, scheduler="slurm", features=()):
    """A partition as ReFrame describes it."""
    return SimpleNamespace(
        features=features,
        fullname=f"here:{name}",
        scheduler=SimpleNamespace(registered_name=scheduler),
        access=[f"--partition={name}"],
        resources={},
    )


@pytest.fixture
def cluster(monkeypatch):
    """A function that makes a system of {partition: what sinfo says of its nodes, or an OSError, or "local"}."""

    def make(asked, **said):
        def answer(scheduler, options):
            found = said[next(one.partition("=")[2] for one in options if one.startswith("--partition="))]
            if isinstance(found, OSError):
                raise found
            return found

        every = [
            partition(name, "local" if one == "local" else "slurm", ["gpu"] if name == "gpu" else ["mpi"])
            for name, one in said.items()
        ]
        system = SimpleNamespace(system=SimpleNamespace(partitions=every))
        monkeypatch.setattr(checks.runtime, "runtime", lambda: system)
        monkeypatch.setattr(checks.nodes, "availability", answer)
        monkeypatch.setattr(checks, "answers", {})
        monkeypatch.setenv("LINKMATRIX_NODES", asked)
        return {one.fullname: one for one in every}

    return make


DOWN = OSError("sinfo: no answer")


def sent():
    """{value of the parameter: the partitions that it goes to}."""
    return {node: checks.sweeping_partitions(node) for node in checks.requested_nodes()}


@pytest.mark.parametrize("unknown", [DOWN, {}], ids=["fails", "names none"])
def test_a_partition_of_which_nothing_is_known_has_a_test_that_says_so(cluster, unknown):
    every = cluster("all", gpu=unknown, debug={"g1": ""})
    assert sent() == {"g1": ["here:debug"], "all": ["here:gpu"]}
    assert "the nodes of here:gpu are unknown" in checks.unknown_node_reason("all", every["here:gpu"])
    assert checks.unknown_node_reason("g1", every["here:debug"]) == ""


def test_a_partition_without_nodes_of_the_reservation_is_left_out(cluster, monkeypatch):
    monkeypatch.setattr("sys.argv", ["reframe", "-r", "-J", "reservation=r"])
    cluster("all", gpu={}, debug={"g1": ""})
    assert sent() == {"g1": ["here:debug"]}
    cluster("all", gpu={}, debug={})
    assert sent() == {"all": ["here:gpu", "here:debug"]}, "no node is reserved: a test that fails says so"
    cluster("all", gpu=DOWN, debug={"g1": ""})
    assert sent() == {"g1": ["here:debug"], "all": ["here:gpu"]}


def test_the_login_host_is_not_sent_to_a_partition_of_which_nothing_is_known(cluster):
    cluster("all", login="local", gpu=DOWN)
    assert sent() == {LOGIN: ["here:login"], "all": ["here:gpu"]}


def test_where_all_is_known_there_is_no_such_test(cluster):
    cluster("all", gpu={"g1": "", "g2": "drained"}, debug={"g1": ""})
    assert sent() == {"g1": ["here:gpu"], "g2": ["here:gpu"]}


def test_a_node_of_several_partitions_is_swept_once_by_the_one_with_gpus(cluster):
    cluster("all", cpu={"g1": "", "c1": ""}, debug={"c1": ""}, gpu={"g1": ""})
    assert sent() == {"g1": ["here:gpu"], "c1": ["here:cpu"]}


def test_a_partition_that_takes_jobs_of_a_shared_node_comes_first(cluster):
    cluster("g1", gpu={"g1": "d: disabled"}, debug={"g1": ""})
    assert sent() == {"g1": ["here:debug"]}


def test_where_nothing_is_known_each_partition_says_so(cluster):
    cluster("all", gpu=DOWN, debug=DOWN)
    assert sent() == {"all": ["here:gpu", "here:debug"]}


def test_a_node_that_is_named_may_be_of_a_partition_of_which_nothing_is_known(cluster):
    cluster("g1,g7", gpu=DOWN, debug={"g1": ""}, empty={})
    assert sent() == {"g1": ["here:debug", "here:gpu"], "g7": ["here:gpu"]}


def test_a_node_whose_scheduler_answers_no_more_is_still_measured(cluster):
    cluster("all", gpu={"g1": ""}, debug={"d1": ""})
    assert checks.requested_nodes() == ["d1", "g1"]
    cluster("all", gpu=DOWN, debug={"d1": ""})
    assert checks.sweeping_partitions("g1") == ["here:gpu"]
