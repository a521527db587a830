"""Which nodes a sweep has: names in lists, and what schedulers say of theirs."""

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.site import nodes, partitions

SINFO = """cpu*|n1|idle|none
cpu*|n2|drained|bad DIMM | in slot 3
cpu*|n3|down*|Not responding
cpu*|n4|allocated|none
cpu*|n5|reserved|none
gpu|n1|idle|none
gpu|g1|mixed|none
"""
PBSNODES = """n1
     Mom = n1
     state = free
     resources_available.host = n1

n2
     state = offline
     resources_available.host = n2
     comment = fan 3

n3[0]
     state = job-busy
     resources_available.host = n3

n3[1]
     state = down
     resources_available.host = n3

g1
     state = free
     queue = gpuq
     resources_available.host = g1
"""
QSTAT = """Queue: workq
    queue_type = Execution
    enabled = True

Queue: gpuq
    queue_type = Execution
    enabled = True
"""
QHOST = """HOSTNAME                ARCH         NCPU NSOC NCOR NTHR  LOAD  MEMTOT  MEMUSE  SWAPTO  SWAPUS
----------------------------------------------------------------------------------------------
global                  -               -    -    -    -     -       -       -       -       -
n1                      lx-amd64        4    1    4    4  0.10    7.7G    1.0G     0.0     0.0
   all.q                BIP   0/0/4
n2                      lx-amd64        4    1    4    4     -    7.7G       -     0.0       -
   all.q                BIP   0/0/4         au
n3                      lx-amd64        4    1    4    4  0.10    7.7G    1.0G     0.0     0.0
   all.q                BIP   0/0/4         d
   gpu.q                BIP   0/0/4
"""


def answering(**said):
    """What a scheduler answers to each command, and the list of those that were asked."""

    def answer(command):
        asked.append(command)
        return said[command[0]]

    asked = []
    return answer, asked


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[08-10,12], login-1", ["n08", "n09", "n10", "n12", "login-1"]),
        ("r[1-2]n[1,3].hpc", ["r1n1.hpc", "r1n3.hpc", "r2n1.hpc", "r2n3.hpc"]),
        ("a,b,a", ["a", "b"]),
    ],
)
def test_a_list_of_nodes_is_written_as_schedulers_write_it(text, names):
    assert nodes.expand_names(text) == names


NO_LISTS = ["", ",", "n[1-", "n]1[", "n[3-1]", "n[a]", "n[]", "a b", "-n", "n[1-99999999]", "$(x)"]
TOO_MANY = ["n[0-99999][0-99999]", "n[0-99999],m[0-99999]", "n" + "[1-2]" * 5000, "n[" + "1" * 5000 + "]"]


@pytest.mark.parametrize("text", [*NO_LISTS, *TOO_MANY])
def test_what_is_no_list_of_nodes_and_a_list_of_too_many_is_a_sentence(text):
    with pytest.raises(BadInput, match=r"n\[001-016"):
        nodes.expand_names(text)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--partition=gpu", "--no-requeue"], {"n1": "", "g1": ""}),
        (["-p gpu"], {"n1": "", "g1": ""}),
        (
            ["--partition=cpu"],
            {"n1": "", "n2": "drained: bad DIMM | in slot 3", "n3": "down*: Not responding", "n4": ""},
        ),
        ([], {"n1": "", "n2": "drained: bad DIMM | in slot 3", "n3": "down*: Not responding", "n4": ""}),
        (["--partition=none"], {}),
    ],
)
def test_slurm_says_which_nodes_of_a_partition_take_no_job_and_why(options, found):
    answer, asked = answering(sinfo=SINFO)
    said = nodes.availability("slurm", options, answer)
    assert {name: why for name, why in said.items() if name != "n5"} == found
    assert len(asked) == 1
    if "n5" in said:
        assert said["n5"] == "reserved"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("ReservationName=r1 StartTime=x Nodes=n[4-5] NodeCnt=2", {"n4": "", "n5": ""}),
        ("ReservationName=r1 Nodes=n2,g1 NodeCnt=2", {"n2": "drained: bad DIMM | in slot 3"}),
        ("ReservationName=r1 Nodes=(null) NodeCnt=0", {}),
    ],
)
def test_a_job_with_a_reservation_has_the_nodes_of_the_reservation(said, found):
    """Jobs on other nodes wait for ever, and reserved nodes take only jobs of the reservation."""
    answer, asked = answering(sinfo=SINFO, scontrol=said)
    assert nodes.availability("slurm", ["--reservation=r1", "--partition=cpu"], answer) == found
    assert ["scontrol", "show", "reservation", "--oneliner", "r1"] in asked


def test_a_queue_of_pbs_that_routes_has_the_nodes_of_its_destinations():
    queues = QSTAT + "\nQueue: route\n    queue_type = Route\n    route_destinations = gpuq@server\n"
    answer, _ = answering(pbsnodes=PBSNODES.replace("     queue = gpuq\n", ""), qstat=queues)
    assert set(nodes.availability("pbs", ["-q route"], answer)) == {"n1", "n2", "n3", "g1"}
    answer, _ = answering(pbsnodes=PBSNODES.replace("queue = gpuq", "queue = workq"), qstat=queues)
    assert set(nodes.availability("pbs", ["-q route"], answer)) == {"n1", "n2", "n3"}


@pytest.mark.parametrize("state", ["offline", "maintenance", "free,stale", "state-unknown"])
def test_a_node_of_pbs_where_no_job_starts_is_none_that_detect_lets_a_job_have(state):
    """Else the checks between all nodes would wait for it."""
    pbsnodes = PBSNODES.replace("state = free", f"state = {state}", 1)
    answer, _ = answering(pbsnodes=pbsnodes, qstat=QSTAT)
    found = {queue.name: queue for queue in partitions.pbs(answer).partitions}
    without = {queue.name: queue for queue in partitions.pbs(answering(pbsnodes=PBSNODES, qstat=QSTAT)[0]).partitions}
    assert nodes.availability("pbs", ["-q workq"], answer)["n1"] == state
    assert found["workq"].down == without["workq"].down + 1


def test_pbs_says_it_of_hosts_whatever_their_parts():
    answer, _ = answering(pbsnodes=PBSNODES, qstat=QSTAT)
    assert nodes.availability("pbs", ["-q workq", "-r n"], answer) == {"n1": "", "n2": "offline: fan 3", "n3": "down"}
    assert set(nodes.availability("pbspro", ["-q gpuq"], answer)) == {"n1", "n2", "n3", "g1"}


def test_grid_engine_says_it_in_letters():
    answer, _ = answering(qhost=QHOST)
    found = nodes.availability("sge", ["-q all.q", "-S /bin/bash"], answer)
    assert found == {"n1": "", "n2": "au: its daemon does not answer, too much load", "n3": "d: disabled"}
    assert nodes.availability("sge", [], answer)["n3"] == ""


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("-qgpu.q", {"n3"}),
        ("-q gpu.q,all.q", {"n1", "n2", "n3"}),
        ("-q gpu.q,", {"n3"}),
        ("-q all.q@n1,gpu.q", {"n1", "n3"}),
        ("-q all.q@n1.hpc", {"n1"}),
        ("-q *@n[12]", {"n1", "n2"}),
        ("-q gpu*", {"n3"}),
        ("-q all.q@@rack1", {"n1", "n2", "n3"}),
        ("-q no.q", set()),
    ],
)
def test_grid_engine_takes_a_list_of_queues_and_hosts(options, found):
    answer, _ = answering(qhost=QHOST)
    assert set(nodes.availability("sge", [options], answer)) == found


@pytest.mark.parametrize("letter", [*"uadDEsSCAPco", "X"])
def test_in_no_state_of_a_queue_of_grid_engine_starts_a_job(letter):
    answer, _ = answering(qhost=QHOST.replace("0/0/4         au", f"0/0/4         {letter}"))
    why = nodes.availability("sge", [], answer)["n2"]
    assert why.startswith(letter) and (len(why) > 10 or letter == "X")


@pytest.mark.parametrize(
    ("state", "why", "with_reservation"),
    [
        ("idle", "", ""),
        ("mixed", "", ""),
        ("allocated+", "", ""),
        ("completing", "", ""),
        ("planned", "", ""),
        ("mixed-", "", ""),
        ("idle~", "", ""),
        ("idle#", "", ""),
        ("idle$", "idle$: it is in a reservation for maintenance", ""),
        ("maint", "maint", ""),
        ("reserved", "reserved", ""),
        ("drained$", "drained$: it is in a reservation for maintenance", None),
        ("maint*", "maint*: it does not answer", None),
        ("idle*", "idle*: it does not answer", None),
        ("idle!", "idle!: it is about to be powered down", None),
        ("idle%", "idle%: it is being powered down", None),
        ("idle^", "idle^: it is being rebooted", None),
        ("powering_down", "powering_down", None),
        ("blocked", "blocked", None),
        ("perfctrs", "perfctrs", None),
        ("inval", "inval", None),
        ("unknown", "unknown", None),
    ],
)
def test_slurms_states_in_which_a_job_would_wait(state, why, with_reservation):
    answer, _ = answering(sinfo=f"cpu*|n1|{state}|none\n", scontrol="ReservationName=r1 Nodes=n1")
    assert nodes.availability("slurm", [], answer) == {"n1": why}
    expected = why if with_reservation is None else with_reservation
    assert nodes.availability("slurm", ["--reservation=r1"], answer) == {"n1": expected}


def test_what_an_administrator_wrote_steers_no_terminal():
    answer, _ = answering(sinfo="cpu*|n\x1b[2J1|drained|bad \x1b]0;x\x07 DIMM\n")
    assert nodes.availability("slurm", [], answer) == {"n [2J1": "drained: bad  ]0;x  DIMM"}


def test_what_is_not_understood_and_who_is_not_known_are_sentences():
    answer, _ = answering(sinfo="nonsense\n")
    with pytest.raises(OSError, match="cannot read how"):
        nodes.availability("slurm", [], answer)
    with pytest.raises(BadInput, match="name them"):
        nodes.availability("flux", [])


@pytest.mark.parametrize(
    ("scheduler", "why", "taken_out"),
    [
        ("slurm", "drained: bad DIMM", True),
        ("squeue", "draining*: bad DIMM", True),
        ("slurm", "maint", True),
        ("slurm", "idle$: it is in a reservation for maintenance", True),
        ("slurm", "down*: Not responding", False),
        ("slurm", "down: drain it", False),
        # Slurm itself has drained these
        ("slurm", "drained: Prolog error", False),
        ("slurm", "drained*: Kill task failed", False),
        ("squeue", "draining: gres/gpu count reported lower than configured (7 < 8)", False),
        ("slurm", "drained: Low RealMemory (reported:1 < 100.00% of configured:2)", False),
        ("slurm", "drained: see ticket 7: Prolog error", True),
        ("slurm", "", False),
        ("pbs", "offline: fan 3", True),
        ("torque", "down,offline", True),
        ("pbs", "down: offline soon", False),
        ("sge", "d: disabled", True),
        ("sge", "au: its daemon does not answer, too much load", False),
        ("flux", "drained", False),
    ],
)
def test_nodes_that_an_administrator_took_out_are_told_from_those_that_are_down(scheduler, why, taken_out):
    assert nodes.is_out_of_service(scheduler, why) == taken_out
