"""`linkmatrix next` says what to measure next in commands that are taken as they stand, and runs them when told."""

import json
import os
import re
import shlex
import shutil

import pytest
import stores

from linkmatrix import cli
from linkmatrix.commands import next as next_command
from linkmatrix.errors import BadInput
from linkmatrix.runs import coverage, modes
from linkmatrix.runs.patrol import Duration, Node, plan
from linkmatrix.site import configured

PARTITION = {
    "name": "gpu",
    "scheduler": "slurm",
    "access": ["--partition=gpu"],
    "resources": [{"name": "node", "options": ["--nodelist={host}"]}],
    "extras": {"preemptible": ["--qos=scavenger"]},
}
REFRAME = """#!/bin/sh
case "$*" in *--describe*) exit 0 ;; esac
echo "$LINKMATRIX_NODES $*" >>"$PLAYED/reframe.txt"
case "$*" in
*--show-config*nope*) echo "no partition" >&2; exit 1 ;;
*--show-config*) cat "$PLAYED/partition.json" ;;
*) exit 1 ;;
esac
"""
ANSWERS = {
    "sinfo": "gpu*|n1|idle|none\ngpu*|n2|idle|none\ngpu*|n3|idle|none\ngpu*|n4|drained|fan\n",
    "scontrol": "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
    "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[0-1]\n",
}


@pytest.fixture
def played(tmp_path, monkeypatch, site_of_sweeps, make_record):
    """Stored sweeps of n1 and n2 and a pair of them; ReFrame and Slurm are scripts. Runs `linkmatrix next`."""

    class Played:
        folder = tmp_path
        store = site_of_sweeps
        record = staticmethod(make_record)

        def answers(self, partition=PARTITION, **programs):
            (tmp_path / "partition.json").write_text(json.dumps([partition]))
            for name, text in programs.items():
                (tmp_path / f"{name}.txt").write_text(text)
                self.script(name, f'#!/bin/sh\ncat "$PLAYED/{name}.txt"\n')

        def script(self, name, text):
            (tmp_path / "bin" / name).write_text(text)
            (tmp_path / "bin" / name).chmod(0o755)

        def add(self, day, *nodes, **how):
            records = [stores.of_node(make_record(), node) for node in nodes]
            return site_of_sweeps.add(day, records, change=lambda content: content.update(seconds=120.0), **how)

        def pair(self, day):
            def across(content):
                for at, device in enumerate(content["devices"]):
                    device["node"] = device["place"]["node"] = f"n{at % 2 + 1}"

            name = "crossnode_matrix %testcase=node_to_node_bandwidth_mpi %extent=two"
            return site_of_sweeps.add(day, [stores.of_node(make_record(), "n1")], change=across, name=name)

        def run(self, *words):
            return cli.main(["next", *words])

        def asked(self):
            return (tmp_path / "reframe.txt").read_text().splitlines()

    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PLAYED", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    found = Played()
    found.answers(**ANSWERS)
    found.script("reframe", REFRAME)
    found.add(1, "n1", "n2")
    found.add(3, "n2")
    return found


def commands(out):
    return [shlex.split(line[2:]) for line in out.splitlines() if line.startswith("$ ")]


def test_a_run_without_a_report_and_a_node_that_cannot_be_judged_are_noted(played, capsys):
    def disturb(content):
        content["results"][0]["others"] = stores.disturbed("n1")

    for day in (4, 5, 6):
        record = stores.of_node(played.record(off={(3, 0): 350.0}), "n1")
        played.store.add(day, [record], change=disturb)
    stores.began(played.store.prefix)
    assert played.run() == 0
    out = capsys.readouterr().out
    assert "note: n1 cannot be judged while hog runs" in out
    assert "note: INCOMPLETE 2026-11-21 01:50: run --mode=quick of alpha ended without a report" in out


def test_the_commands_hold_the_nodes_that_fit_into_the_budget_and_are_parsed(played, capsys):
    assert played.run("--budget", "4.1-node-minutes") == 0
    out = capsys.readouterr().out
    assert "alpha:gpu: 2 of 4 nodes within" in out and "2 never, 0 % of pairs" in out
    assert "(4 nodes, 1 pair of leaf switches)" in out
    assert "1 accept no job now: n4 (drained: fan)" in out
    assert "planned: 0.0667 of 0.0683333 node-hours" in out and "2 nodes, 120 s each: 90 % of 3 stored runs" in out
    (command,) = commands(out)
    assert command[:4] == ["linkmatrix", "run", "--system=alpha:gpu", "--mode=sweep"]
    options = cli.parser("run").parse_args(command[1:])
    assert (options.mode, options.system, options.nodes) == ("sweep", "alpha:gpu", "n3,n1")
    assert options.more == ["-S", "node_sweep.time_limit=6m", "-Jnice=2147483645", "-J--qos=scavenger"]


def test_a_pair_of_leaf_switches_is_a_job_of_two_nodes_where_it_is_known_how_long_one_takes(played, capsys):
    assert played.run("--budget", "1-node-hour") == 0
    out = capsys.readouterr().out
    assert len(commands(out)) == 1 and "the duration of two nodes is unknown: measure two nodes first" in out
    played.pair(4)
    assert played.run("--budget", "1-node-hour") == 0
    out = capsys.readouterr().out
    assert "0 % of pairs of leaf switches in the last 30 days" in out and "leaf0 and leaf1 never met" in out
    (_, command) = commands(out)
    more = cli.parser("run").parse_args(command[1:]).more
    assert "-Jnodelist=n1,n3" in more and "--mode=pair" in command
    pattern = modes.MODES["pair"][0].removeprefix("--name=")
    assert re.search(pattern, "crossnode_matrix %testcase=node_to_node_bandwidth_mpi %extent=two")
    assert not re.search(pattern, "crossnode_device_matrix %testcase=node_to_node_bandwidth_mpi %extent=two")


def test_submit_runs_what_was_printed_and_ends_as_the_worst_of_it(played, capfd):
    assert played.run("--budget", "4.1-node-minutes", "--submit") == 4
    command = commands(capfd.readouterr().out)[0]
    (asked,) = (line for line in played.asked() if "--show-config" not in line)
    assert asked.startswith("n3,n1 ") and "--tag=node-sweep" in asked and "--system=alpha:gpu" in asked
    assert asked.endswith(shlex.join(command[command.index("--") + 1 :]))


def test_without_a_budget_it_only_says_how_the_partition_is_covered(played, capsys, tmp_path):
    page = tmp_path / "coverage.html"
    assert played.run("--html", str(page)) == 0
    out = capsys.readouterr().out
    assert commands(out) == [] and "planned" not in out and str(page) in out
    assert "Coverage of alpha:gpu" in page.read_text() and "drained: fan" in page.read_text()


def test_the_nodes_and_leaf_switches_that_are_named_count(played, capsys, tmp_path):
    groups = tmp_path / "groups"
    groups.write_text("rack1: n1\nrack2: n2  # the other\n")
    assert played.run("--nodes", "n[1-2]", "--groups", str(groups)) == 0
    assert (
        "every node measured in the last" in (out := capsys.readouterr().out)
        and "(2 nodes, 1 pair of leaf switches)" in out
    )


@pytest.mark.parametrize(
    ("scheduler", "options"),
    [("pbs", ["-Jp=-1024"]), ("sge", ["-Jp=-1023"]), ("local", [])],
)
def test_each_scheduler_has_its_lowest_priority(scheduler, options):
    assert configured.low_priority_options({"scheduler": scheduler}) == options


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--budget", "20"], "--budget '20' is not a budget: write 20-node-hours"),
        (["--budget", "0-node-hours"], "is not a budget"),
        (["--budget", "-5-node-hours"], "argument --budget"),
        (["--submit"], "--submit needs a budget: add --budget"),
        (["--within", "0"], "--within 0: use 1 to 3650 days"),
        (["--system", "alpha:nope"], "no run of this partition is stored: use alpha:gpu"),
        (["--nodes", "n[3-1]"], "is not a range of numbers"),
        (["--groups", "/no/such"], "/no/such cannot be read"),
        (["--clean-runs", "0"], "--clean-runs: '0' is not 1 or more"),
    ],
)
def test_bad_input_is_one_sentence(played, capsys, words, said):
    try:
        code = played.run(*words)
    except SystemExit as ended:
        code = ended.code
    err = capsys.readouterr().err
    assert code == 2 and said in err and "Traceback" not in err


def test_runs_before_the_system_file_do_not_make_the_partition_ambiguous():
    """After make run and linkmatrix baseline on one machine, `next` refused to choose between two partitions."""
    assert next_command.chosen_partition(None, ["this-machine:default", "vm:cpu"]) == "vm:cpu"
    assert next_command.chosen_partition(None, ["this-machine:default"]) == "this-machine:default"
    assert next_command.chosen_partition("this-machine:default", ["this-machine:default", "vm:cpu"]).startswith("this")
    with pytest.raises(BadInput, match="alpha:gpu, vm:cpu.: choose one with --system alpha:gpu"):
        next_command.chosen_partition(None, ["alpha:gpu", "this-machine:default", "vm:cpu"])


@pytest.mark.parametrize(
    "text", ["no group here", "leaf1:", "leaf1: n[1-\n", "a: n1\nb: n1\n", "", "SwitchName=; Nodes=n1", "-x: n1"]
)
def test_a_file_of_groups_that_is_none_is_refused_with_its_line(text):
    with pytest.raises(BadInput, match="groups"):
        configured.parse_groups(text, "groups")


def test_extras_that_are_no_options_are_refused(played, capsys):
    played.answers(partition=PARTITION | {"extras": {"preemptible": "qos=scavenger"}})
    assert played.run("--budget", "1-node-hour") == 2
    assert "extras['preemptible'] of gpu is 'qos=scavenger'" in capsys.readouterr().err


def test_a_scheduler_that_does_not_answer_is_a_note_and_stored_nodes_count(played, capsys):
    played.script("sinfo", "#!/bin/sh\necho no route >&2\nexit 1\n")
    assert played.run("--budget", "1-node-hour") == 0
    out = capsys.readouterr().out
    assert "every node measured in the last" in out and "only nodes of stored runs count: 'sinfo -a' failed" in out


def test_without_any_stored_run_there_is_no_verdict(played, capsys):
    shutil.rmtree(played.store.prefix)
    assert played.run() == 3 and "There is no stored run. Measure first" in capsys.readouterr().out


def test_a_partition_whose_name_steers_a_terminal_stays_text(played, capsys):
    records = [stores.of_node(played.record(), "n1")]
    played.store.add(9, records, partition="be\x1b[31mta:gpu", change=lambda content: content.update(seconds=120.0))
    assert played.run("--system", "be\x1b[31mta:gpu", "--nodes", "n1", "--budget", "4-node-minutes") == 0
    out = capsys.readouterr().out
    assert "$ linkmatrix run" in out and "\x1b" not in out


def test_a_run_that_measured_nothing_says_not_how_long_one_takes(played, capsys):
    def none(content):
        content.update(seconds=0.01, results=[], result="ERROR", error="no device")

    for day in range(5, 25):
        records = [stores.of_node(played.record(), f"n{at}") for at in (1, 2, 3)]
        played.store.add(day, records, change=none, result="fail")
    assert played.run("--budget", "2-node-minutes") == 0
    out = capsys.readouterr().out
    assert "1 node, 120 s each: 90 % of 3 stored runs" in out and len(commands(out)) == 1


def test_a_suspect_that_only_a_run_with_another_node_clears_is_said_where_none_is_planned():
    from linkmatrix.commands import next as command

    nodes = tuple(
        Node(name, 1.0, over_network="mlx5_0 of n1 is suspect" if name == "n1" else "") for name in ("n1", "n2")
    )
    for together, jobs in ((None, []), (Duration(50.0, 9), [])):
        covered = coverage.Coverage("alpha:gpu", 2.0, nodes, {}, (), Duration(100.0, 9), together)
        said = list(command.plan_lines(covered, jobs, 60.0))
        assert said[-2:] == [
            "not planned; to unflag these nodes, measure them with another node: linkmatrix run --mode=pair",
            "  n1: mlx5_0 of n1 is suspect",
        ]
        assert ("the duration of two nodes is unknown" in said[0]) is (together is None)
    jobs = plan(nodes, {}, None, Duration(50.0, 9), 100.0)
    assert "not planned" not in " ".join(command.plan_lines(covered, jobs, 100.0))
