"""Slurm's answers as a system file. tests/data/README.md names the recorded answers."""

import re

import pytest
from scheduler_answers import asked, written

from linkmatrix.site import cluster, partitions, slurm

SLURM = "AccountingStorageType = accounting_storage/slurmdbd\nMpiDefault = pmix\nSelectType = select/cons_tres\n"


def test_slurm_of_three_nodes():
    found, each = asked("slurm", "slurm")
    assert (found.scheduler, found.launcher) == ("slurm", "srun")
    assert {name: (sum(one.nodes.values()), one.gpus, one.down) for name, one in each.items()} == {
        "cpu": (3, 2, 1),
        "gpu": (3, 2, 1),
    }
    system, entries = written(found)
    assert system["name"] == "my-cluster"
    assert entries["gpu"]["access"] == ["--partition=gpu", "--no-requeue"]
    assert entries["gpu"]["resources"] == [
        {"name": "_rfm_gpu", "options": ["--gpus-per-node={num_gpus_per_node}"]},
        {"name": "node", "options": ["--nodelist={host}"]},
    ]
    assert entries["gpu"]["env_vars"] == [["SLURM_KILL_BAD_EXIT", "1"], ["SLURM_WAIT", "50"]]
    assert entries["gpu"]["features"] == ["gpu", "cuda", "mpi", "crossnode"]
    assert "nodes" not in entries["gpu"]["extras"], "one of the three is drained today"
    assert entries["gpu"]["devices"] == [{"type": "gpu", "num_devices": 2}]
    assert entries["gpu"]["descr"] == "3 nodes of 4 cores, 2 GPUs (gpu:2)"


def test_slurm_whose_nodes_differ_promises_no_gpus_and_says_why():
    found, each = asked("slurm", "slurm-mixed", config=SLURM)
    assert each["hgx"].gpus == 8
    assert each["mixed.short"].gpus == 0
    text = partitions.system_file(found, "my-cluster")
    for note in [
        "left out: empty has no nodes",
        "its nodes have different numbers of GPUs, so no GPU is configured",
        "1 node of 64 cores, 4 GPUs (gpu:a100:4, a100)",
        "only for project (AllowAccounts)",
        "its state is DOWN: no job starts",
        "its time limit is 00:20:00, less than the 30 minutes that the checks would request",
    ]:
        assert re.search(rf"#  *{re.escape(note)}", text)
    _, entries = written(found)
    assert entries["mixed-short"]["access"] == ["--partition=mixed.short", "--no-requeue"]
    assert entries["mixed-short"]["time_limit"] == "20m"
    assert "time_limit" not in entries["cpu"]
    assert entries["mixed-short"]["features"] == ["mpi", "crossnode"]


def test_a_partition_that_is_down_is_a_comment_that_can_be_one_no_longer():
    found, _ = asked("slurm", "slurm-mixed", config=SLURM)
    _, entries = written(found)
    assert "closed" not in entries and entries
    text = partitions.system_file(found, "my-cluster")
    scope = {}
    exec(re.sub("^        # (?=[{} ])", "        ", text, flags=re.MULTILINE).replace("       # ", "#"), scope)
    names = [partition["name"] for partition in scope["system"]["partitions"]]
    assert names == ["cpu", "gpu", "hgx", "mixed-short", "closed"]


ODD = "PartitionName=80gb Nodes=n[1-2] State=UP MaxTime=01:00:00"
PARTITION = "PartitionName={} Nodes=lmx[1-3] State={} MaxTime={} AllowAccounts={} AllowQos={} QoS={} MaxNodes={}"


def awkward(mine="", **said):
    """The partition of a cluster where accounting has something to say; mine: instead of what it says of accounts."""
    words = {"state": "UP", "time": "01:00:00", "accounts": "ALL", "qos": "ALL", "own": "N/A", "most": "UNLIMITED"}
    text = PARTITION.format("cpu", *{**words, **said}.values())
    instead = {"partitions": text, "config": SLURM, "nodes": "cpu|3|idle|4|(null)|(null)\n", "accounts": mine}
    found, each = asked("slurm", "slurm-accounts", **instead)
    return each["cpu"], partitions.system_file(found, "x")


def test_partitions_have_names_that_reframe_takes_and_no_two_the_same():
    """Else the file is refused, and with it every run of every system; or one of two partitions cannot be reached."""
    names = ["80gb", "gpu.short", "gpu-short", "gpu_short", "gpu+short", "--", "_x", "é", "1.5", "1-5"]
    assert list(partitions.reframe_names(names).values()) == [
        *("p-80gb", "gpu-short", "gpu-short-2", "gpu_short", "gpu-short-3", "p-", "_x", "p--2", "p-1-5", "p-1-5-2")
    ]
    found, _ = asked("slurm", "slurm-mixed", config=SLURM, partitions=ODD, nodes="80gb|2|idle|4|gpu:2|(null)\n")
    _, entries = written(found)
    assert entries["p-80gb"]["access"] == ["--partition=80gb", "--no-requeue"]


def test_a_default_partition_whose_nodes_are_not_told_is_written():
    text = ODD.replace(" Nodes=n[1-2]", " Default=YES")
    found, each = asked("slurm", "slurm", config=SLURM, partitions=text, nodes="80gb|2|idle|4|gpu:2|(null)\n")
    assert each["80gb"].count == 2


def test_the_account_is_written_where_only_one_is_allowed():
    assert "--account=owners" in awkward(accounts="owners,strangers")[0].access
    one, text = awkward(accounts="owners,project")
    assert not [option for option in one.access if "account" in option]
    assert "only for owners, project (AllowAccounts): add --account=NAME to the options in access" in text


@pytest.mark.parametrize(
    ("mine", "accounts"),
    [
        ("project|||\n", ["--account=project"]),
        ("project|||gpu\nproject|||\n", ["--account=project"]),
        ("project|||\nowners|||\n", []),
    ],
)
def test_the_account_is_written_where_the_user_has_only_one(mine, accounts):
    assert [option for option in awkward(mine)[0].access if "account" in option] == accounts


def test_a_partition_for_accounts_that_none_of_mine_is_is_closed():
    one, text = awkward(accounts="strangers")
    assert one.closed
    assert "only for strangers (AllowAccounts), not for your accounts: none of your jobs can start" in text


@pytest.mark.parametrize(
    ("words", "closed", "note"),
    [
        ("RootOnly=YES ReqResv=NO", True, "only for root (RootOnly): none of your jobs can start"),
        (
            "ReqResv=YES",
            True,
            "only for jobs of a reservation (ReqResv): add --reservation=NAME to the options in access",
        ),
        ("DenyAccounts=project,owners", True, "not for project,owners (DenyAccounts), which are all of your accounts"),
        ("DenyAccounts=project", False, "--account=owners"),
        ("DenyAccounts=strangers RootOnly=NO", False, ""),
    ],
)
def test_a_partition_that_lets_no_job_of_mine_in_is_closed(monkeypatch, words, closed, note):
    monkeypatch.setattr(slurm.os, "getuid", lambda: 1000)
    one, text = awkward(accounts=f"ALL {words}")
    assert one.closed == closed and note in text
    assert [option for option in one.access if "account" in option] == ([note] if note.startswith("--") else [])


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ({}, None),
        ({"time": "00:25:00"}, "25m"),
        ({"time": "UNLIMITED", "own": "brief"}, "20m"),
        ({"time": "00:10:00", "own": "brief"}, "10m"),
        ({"qos": "brief"}, "20m"),
        ({"accounts": "project"}, "15m"),
        ({"time": "00:01:30"}, "90s"),
    ],
)
def test_jobs_ask_for_no_more_than_partition_qos_and_account_give(said, limit):
    one, text = awkward(**said)
    assert one.time_limit == (limit or "")
    assert (f'"time_limit": "{limit}"' in text) == (limit is not None)
    assert ("--qos=brief" in one.access) == (said.get("qos") == "brief")


@pytest.mark.parametrize(
    ("mine", "allowed", "limit", "note"),
    [
        ("owners||brief|\n", "ALL", "20m", "the time limit of brief, the QOS of your jobs, is 00:20:00, less"),
        ("owners||brief|\n", "normal,brief", "20m", "the time limit of brief, the QOS of your jobs, is 00:20:00, less"),
        ("owners||normal|\n", "normal,brief", "", ""),
        ("owners||normal|\n", "Normal,Brief", "", ""),
        (
            "owners||brief|\n",
            "normal,long",
            "",
            "only for normal,long (AllowQos): add --qos=NAME to the options in access",
        ),
        (
            "owners|||\n",
            "normal,brief",
            "",
            "only for normal,brief (AllowQos): add --qos=NAME to the options in access",
        ),
        ("owners||brief|\n", "normal", "", ""),
        ("owners||brief|\nproject||brief|\n", "ALL", "20m", "the QOS of your jobs, is 00:20:00, less"),
        ("owners||brief|\nproject||normal|\n", "ALL", "", ""),
    ],
)
def test_jobs_that_ask_for_no_qos_have_that_of_their_account(mine, allowed, limit, note):
    """Slurm ends or refuses what lasts longer than it: 30 minutes were asked for where 20 are the most."""
    one, text = awkward(mine, qos=allowed)
    assert one.time_limit == limit
    assert note in text and ("QOS of your jobs" in text) == ("QOS of your jobs" in note)
    assert ("add --qos=" in text) == ("add --qos=" in note)


@pytest.mark.parametrize(
    ("mine", "denied", "noted"),
    [
        ("owners||brief|\n", "brief", True),
        ("owners||brief|\n", "Long,Brief", True),
        ("owners||normal|\n", "brief", False),
        ("owners|||\n", "brief", True),
    ],
)
def test_a_partition_that_denies_the_qos_of_my_jobs_says_so(mine, denied, noted):
    text = awkward(mine, most=f"UNLIMITED DenyQos={denied}")[1]
    assert (f"not for {denied} (DenyQos): add another --qos=NAME to the options in access" in text) == noted
    allowed = awkward(mine, qos="brief,normal", most=f"UNLIMITED DenyQos={denied}")[1]
    assert "DenyQos" not in allowed, "Slurm reads it only where no QOS are allowed by name"


@pytest.mark.parametrize(
    ("mine", "limit", "closed"),
    [
        ("owners|||\nowners|00:10:00||cpu\n", "10m", False),
        ("owners|00:10:00||cpu\nowners|||\n", "10m", False),
        ("owners|||\nowners|00:10:00||gpu\n", "", False),
        ("owners|00:10:00||gpu\nowners|||fat\n", "", True),
    ],
)
def test_of_several_associations_of_an_account_that_of_the_partition_is_true(mine, limit, closed):
    one, text = awkward(mine, accounts="owners")
    assert (one.time_limit, one.closed) == (limit, closed)
    assert ("your accounts are only for fat, gpu" in text) == closed


@pytest.mark.parametrize("fewest", [0, 1, 2])
def test_a_partition_without_jobs_of_one_node_says_so(fewest):
    text = awkward(most=f"3 MinNodes={fewest}")[1]
    assert ("a job needs 2 nodes or more (MinNodes): use another partition for jobs of one node" in text) == (
        fewest == 2
    )


@pytest.mark.parametrize(("most", "fewest", "can"), [("2", 4, 2), ("UNLIMITED", 4, 3), ("3", 4, 3)])
def test_a_partition_whose_least_job_is_larger_than_its_largest_is_closed(most, fewest, can):
    one, text = awkward(most=f"{most} MinNodes={fewest}")
    assert one.closed and f"a job needs 4 nodes or more (MinNodes), but the maximum is {can}: no job starts" in text
    assert not awkward(most=f"{most} MinNodes={can}")[0].closed


def test_between_nodes_takes_no_more_than_a_job_may_have():
    assert '"nodes": 2' in awkward(most="2")[1]
    assert '"nodes"' not in awkward(most="UNLIMITED")[1]
    assert "crossnode" not in awkward(most="1")[1]


@pytest.mark.parametrize(
    ("old", "new", "scheduler", "option"),
    [
        ("slurmdbd", "none", "squeue", "--gpus-per-node={num_gpus_per_node}"),
        ("accounting_storage/slurmdbd", "(null)", "squeue", "--gpus-per-node={num_gpus_per_node}"),
        ("cons_tres", "linear", "slurm", "--gres=gpu:{num_gpus_per_node}"),
    ],
)
def test_slurm_as_it_is_configured(old, new, scheduler, option):
    found, _ = asked("slurm", "slurm", config=SLURM.replace(old, new))
    assert (found.scheduler, found.gpu_option) == (scheduler, option)


def test_slurm_without_an_mpi_of_its_own_is_noted():
    found, _ = asked("slurm", "slurm", config=SLURM.replace("pmix", "none"))
    assert "SLURM_MPI_TYPE" in " ".join(found.notes)


def test_slurm_that_answers_something_else_is_an_error():
    with pytest.raises(OSError, match="not six fields"):
        asked("slurm", "slurm", nodes="cpu up 1:00:00\n")


@pytest.mark.parametrize(
    ("limit", "minutes"),
    [("1-00:00:00", 1440), ("01:00:00", 60), ("20:00", 20), ("600", 10), ("INFINITY", None), ("UNLIMITED", None)],
)
def test_time_limits_of_all_schedulers(limit, minutes):
    assert cluster.minutes(limit) == minutes


def test_no_name_of_a_partition_becomes_code():
    evil = 'a"""\n\\{{ 1 }}" + exit()  # \x7f'
    partition = cluster.Partition(evil, cluster.Counter({cluster.NodeType(1, 2, evil): 1}), 1, (evil,), notes=(evil,))
    found = cluster.Cluster("Slurm", "slurm", "srun", (partition,), evil, evil, ((evil, evil),), (evil,), evil)
    system, _ = written(found)
    assert system["partitions"][0]["access"] == [evil]
    assert re.fullmatch(system["hostnames"][0], evil)
