"""Answers of PBS, Torque and Grid Engine as a system file. tests/data/README.md names the recorded answers."""

import pytest
from scheduler_answers import asked, written

from linkmatrix.site import cluster, partitions


def test_pbs_counts_hosts_not_virtual_nodes_and_finds_the_nodes_of_each_queue():
    found, each = asked("pbs", "pbs")
    assert found.scheduler == "pbs"
    assert {name: (dict(one.nodes), one.down) for name, one in each.items()} == {
        "cpu": ({cluster.NodeType(64, 0): 2}, 1),
        "gpu": ({cluster.NodeType(96, 8): 1}, 0),
    }
    text = partitions.system_file(found, "my-cluster")
    for note in [
        "left out: route only routes",
        "left out: nowhere has no nodes",
        "the queue is not started: no job starts",
    ]:
        assert note in text
    assert "only for some users: acl_groups = project1,project2" in text
    _, entries = written(found)
    assert list(entries) == ["cpu"]  # a queue that is stopped is a comment
    assert entries["cpu"]["access"] == ["-q cpu", "-l place=scatter:excl", "-r n", "-V"]
    assert {"name": "node", "options": ["host={host}"]} in entries["cpu"]["resources"]
    assert '"options": ["ngpus={num_gpus_per_node}"]' in text


SAME = (
    "Queue: {}\n    queue_type = Execution\n    resources_max.walltime = {}\n    enabled = True\n    started = True\n\n"
)


def test_queues_of_pbs_that_share_nodes_are_written_once():
    queues = SAME.format("short", "00:20:00") + SAME.format("long", "24:00:00") + SAME.format("longer", "48:00:00")
    found, each = asked("pbs", "openpbs", queues=queues)
    assert list(each) == ["longer"]
    assert each["longer"].notes == ("other queues with the same nodes: short, long",)


ROUTE = "Queue: {}\n    queue_type = Route\n    route_destinations = {}\n    enabled = True\n    started = True\n\n"
FROM_ROUTE = SAME.format("long", "24:00:00").replace("    enabled", "    from_route_only = True\n    enabled")


@pytest.mark.parametrize(
    ("routes", "access", "closed"),
    [
        (ROUTE.format("enter", "long"), "-q enter", False),
        (ROUTE.format("all", "other,long@server") + ROUTE.format("enter", "long"), "-q enter", False),
        (ROUTE.format("all", "other,long@server"), "-q all", False),
        (ROUTE.format("enter", "long").replace("started = True", "started = False"), "-q long", True),
        (ROUTE.format("enter", "other"), "-q long", True),
        ("", "-q long", True),
    ],
)
def test_jobs_reach_a_queue_of_pbs_through_its_routing_queue(routes, access, closed):
    """The server refuses a job that is sent to such a queue itself."""
    _, each = asked("pbs", "openpbs", queues=routes + FROM_ROUTE)
    assert (each["long"].access[0], each["long"].closed) == (access, closed)
    assert "from_route_only" in " ".join(each["long"].notes)


@pytest.mark.parametrize(
    ("limits", "closed", "note"),
    [
        ("resources_min.nodect = 2", False, "use another partition for jobs of one node"),
        ("resources_min.nodect = 3", True, "(resources_min.nodect), but the maximum is 2"),
        ("resources_min.nodect = 1", False, ""),
    ],
)
def test_a_queue_of_pbs_without_jobs_of_one_node_says_so(limits, closed, note):
    queues = SAME.format("long", "24:00:00").replace("    enabled", f"    {limits}\n    enabled")
    _, each = asked("pbs", "openpbs", queues=queues)
    assert each["long"].closed == closed and note in " ".join(each["long"].notes)
    assert bool(each["long"].notes) == bool(note)


def test_a_queue_of_pbs_gives_a_job_no_more_nodes_than_its_most():
    queues = SAME.format("long", "24:00:00").replace("    enabled", "    resources_max.nodect = 1\n    enabled")
    _, each = asked("pbs", "openpbs", queues=queues)
    assert each["long"].largest_job == 1


@pytest.mark.parametrize("hidden", ["", OSError("pbsnodes: Unauthorized Request")])
def test_queues_of_pbs_are_written_where_the_site_hides_its_nodes(hidden):
    def answer(command):
        if command[0] == "qstat":
            return SAME.format("short", "00:20:00") + SAME.format("long", "24:00:00")
        if isinstance(hidden, OSError):
            raise hidden
        return hidden

    found = partitions.pbs(answer)
    assert [one.name for one in found.partitions] == ["short", "long"]
    assert "pbsnodes shows you no nodes" in found.notes[0]
    _, entries = written(found)
    assert entries["long"]["features"] == ["mpi"]


def test_openpbs_of_two_nodes():
    found, each = asked("pbs", "openpbs")
    assert {name: (dict(one.nodes), one.down) for name, one in each.items()} == {
        "workq": ({cluster.NodeType(4, 2): 2}, 1),
        "gpuq": ({cluster.NodeType(4, 2): 1}, 0),
    }
    assert "the queue is not started: no job starts" in each["gpuq"].notes
    assert each["workq"].notes == ()
    assert found.notes == ("left out: route only routes jobs to other queues",)


def test_torque_is_told_from_pbs():
    found, each = asked("pbs", "torque")
    assert (found.scheduler, found.gpu_option) == ("torque", "gpus={num_gpus_per_node}")
    assert each["batch"].nodes == {cluster.NodeType(16, 2): 1}
    assert each["batch"].access == ("-q batch", "-r n", "-V")


def test_grid_engine_gets_its_slots_by_a_parallel_environment():
    found, each = asked("sge", "sge")
    assert found.scheduler == "sge"
    assert each["all.q"].nodes == {cluster.NodeType(2, 0): 1}
    _, entries = written(found)
    layout = ["-pe mpi {num_tasks}", "-q all.q", "-S /bin/bash", "-V", "-r n"]
    assert entries["all-q"]["resources"] == [
        {"name": "layout", "options": layout},
        {"name": "node", "options": ["-l hostname={host}"]},
    ]
    assert "allocation_rule of the parallel environment mpi is $pe_slots" in partitions.system_file(found, "x")


@pytest.mark.parametrize(("state", "down"), [("", 0), ("a", 1), ("d", 1), ("C", 1), ("S", 1), ("?", 1)])
def test_a_queue_of_grid_engine_is_down_in_each_state(state, down):
    """No job starts in a queue that its calendar suspends, or that another queue suspends."""
    hosts = f"n1 lx-amd64 8 1 8 8 0.01 15G 1G 0 0\n   all.q  BIP  0/0/8  {state}\n"
    assert asked("sge", "sge", hosts=hosts)[1]["all.q"].down == down


def test_grid_engine_with_gpus():
    found, each = asked("sge", "sge-gpus")
    assert (each["gpu.q"].gpus, each["gpu.q"].down) == (4, 1)
    assert found.gpu_option == "-l gpu={num_gpus_per_node}"
    assert "no parallel environment" in " ".join(each["gpu.q"].notes)
    assert "its time limit is 0:20:0" in " ".join(each["gpu.q"].notes)
