"""The next experiment is a command that can be typed as it is: `linkmatrix run`, or `p2p_matrix` with its options."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from linkmatrix import cli, invocation
from linkmatrix.locate import confidence
from linkmatrix.locate.deviations import Deviations
from linkmatrix.locate.experiments import EXPERIMENTS, Case, measure_inside_nodes, measure_third_node, next_experiment
from linkmatrix.locate.hypotheses import Finding
from linkmatrix.locate.layout import layout_of
from linkmatrix.locate.next_steps import Origin
from linkmatrix.record.matrix import from_result
from tests.tools import confusion
from tests.tools.fabric import Fabric, Machine, Run

SOURCE = Path(__file__).resolve().parents[2] / "src"
OPTIONS = set(re.findall(r'\{"(--[a-z-]+)"', "".join(path.read_text() for path in SOURCE.glob("p*/option*.cpp"))))
CHECKS = Path(__file__).resolve().parents[2] / "checks"


@pytest.fixture(scope="module")
def between():
    return confusion.Bench(Fabric(Machine(4, 8), np.random.default_rng(3)))


def typed(command):
    """The words of a command, after its parser has taken them."""
    program, *words = shlex.split(command)
    if program == "mpirun":
        assert words[0] == "--host" and re.fullmatch(r"[\w.-]+:\d+(,[\w.-]+:\d+)*", words[1])
        program, *words = words[2:]
    if program == "linkmatrix":
        assert words[0] == "run"
        options = cli.parser("run").parse_args(words)
        for name in re.findall(r"-n (\w+)", " ".join(options.more)):
            assert any(f"class {name}(" in path.read_text() for path in CHECKS.glob("*.py"))
    else:
        assert program == "p2p_matrix" and {word for word in words if word.startswith("--")} <= OPTIONS
    return [program, *words]


def test_the_table_of_options_was_read():
    assert {"--devices", "--samples", "--concurrency", "--memory", "--backend"} <= OPTIONS


@pytest.mark.parametrize("kinds", [sorted(wanted) for wanted, *_ in EXPERIMENTS], ids="+".join)
def test_each_ambiguity_has_a_command_that_parses(between, kinds):
    subjects = {"node_pair": (0, 1), "link": (0, 1)}
    first, *others = ((kind, subjects.get(kind, 0)) for kind in kinds)
    one = Finding(*first, -0.1, 6, 6, 9.0, equivalent=tuple(others))
    layout, names = between.layout, between.names
    if "nics" in kinds:
        bench = confusion.Bench(Fabric(Machine(2, 4, nics="numa"), np.random.default_rng(3)))
        layout, names = bench.layout, bench.names
    found = next_experiment(one, names, layout, between.record, between.result)
    assert typed(found.command) and found.conclusion


@pytest.mark.parametrize("kind", ["egress", "device", "link", "cell", "nic", "node", "node_pair", "socket", "inside"])
def test_a_finding_that_is_sure_is_measured_again_alone_beside_healthy_ones(between, kind):
    subject = (3, 12) if kind in ("link", "cell") else (0, 2) if kind == "node_pair" else 1
    one = Finding(kind, subject, -0.1, 6, 6, 9.0)
    found = next_experiment(one, between.names, between.layout, between.record, between.result)
    words = typed(found.command)
    assert words[0] == "p2p_matrix" and "serial" in words
    hosts = shlex.split(found.command)[2].split(",")
    assert all(host.endswith(":8") for host in hosts) and len(hosts) >= 2


OF_ALL = "crossnode_matrix %testcase=rank_to_rank_bandwidth_mpi %extent=all"


def through_reframe(command):
    """(environment variables, options of ReFrame) of a command, whose words `linkmatrix measure` takes."""
    words = shlex.split(command)
    at = words.index("linkmatrix")
    assert words[at + 1] == "measure"
    options = cli.parser("measure").parse_args(words[at + 1 :])
    assert options.samples == 21
    return words[:at], options.more


@pytest.mark.parametrize("scheduler", ["slurm", "squeue", "pbs", "sge"])
def test_what_a_scheduler_runs_is_measured_again_through_it(between, scheduler):
    """No mpirun or srun of the login node, where neither the partition's account nor its modules are known."""
    one = Finding("egress", 9, -0.1, 6, 6, 9.0)
    origin = Origin(OF_ALL, "abc", "s:p", scheduler)
    found = next_experiment(one, between.names, between.layout, between.record, between.result, origin)
    variables, more = through_reframe(found.command)
    assert variables == [] and more[:3] == ["--system=s:p", "-n", "/abc"]
    nodes = [word.removeprefix("-Jnodelist=").split(",") for word in more if word.startswith("-Jnodelist=")]
    assert ("n001" in nodes[0] and more[-1] == f"crossnode_matrix.nodes={len(nodes[0])}") if nodes else more[3:] == []
    assert bool(nodes) is (scheduler in ("slurm", "squeue"))


@pytest.mark.parametrize(
    ("name", "variables", "pinned"),
    [("node_sweep %node=n9", ["LINKMATRIX_NODES=node001"], []), ("intranode_p2p", [], ["intranode_p2p.on=node001"])],
)
def test_what_one_node_measured_is_measured_again_on_it(make_record, name, variables, pinned):
    content, result, layout, names = in_a_node(make_record)
    origin = Origin(name, "abc", "s:p", "pbs")
    found = next_experiment(Finding("egress", 3, -0.1, 7, 7, 9.0), names, layout, content, result, origin)
    given, more = through_reframe(found.command)
    assert (given, more) == (variables, ["--system=s:p", "-n", "/abc", *(["-S", *pinned] if pinned else [])])


@pytest.mark.parametrize(("memory", "check"), [("host", "crossnode_matrix"), ("device", "crossnode_device_matrix")])
def test_other_nodes_are_measured_by_the_check_of_the_memory(between, memory, check):
    result = {**between.result, "memory": memory}
    origin = Origin(OF_ALL, "abc", "s:p", "slurm")
    case = Case(Finding("node", 1, -0.1, 6, 6, 9.0), between.names, between.layout, between.record, result, origin)
    run = ["linkmatrix", "run", "--mode=nightly", "--system=s:p", "--"]
    name = f"{check}.*{result['testcase']}.*extent=all"
    assert measure_third_node(case) == [*run, "-n", name, "-S", "nodes=3", "-S", "nodes_session.suite="]
    assert measure_inside_nodes(case) == ["linkmatrix", "run", "--mode=sweep", "--system=s:p", "--nodes", "n001"]


def test_a_partition_without_scheduler_has_the_launcher_of_this_machine(between, monkeypatch):
    monkeypatch.setattr(invocation, "has_slurm", lambda: True)
    one = Finding("egress", 1, -0.1, 6, 6, 9.0)
    arguments = one, between.names, between.layout, between.record, between.result
    assert next_experiment(*arguments).command.startswith("srun ")
    assert next_experiment(*arguments, Origin(OF_ALL, "abc", "s:p", "local")).command.startswith("mpirun ")


@pytest.mark.parametrize("kinds", [("node", "node_pair"), ("nic", "device"), ("class", "inside"), ("nic", "node")])
def test_a_run_of_linkmatrix_measures_the_partition_of_the_record(between, kinds):
    one = Finding(kinds[0], 0, -0.1, 6, 6, 9.0, equivalent=((kinds[1], (0, 1) if kinds[1] == "node_pair" else 0),))
    origin = Origin(OF_ALL, "abc", "s:p", "slurm")
    found = next_experiment(one, between.names, between.layout, between.record, between.result, origin)
    assert found.command.startswith("linkmatrix run ") and "--system=s:p" in typed(found.command)


def in_a_node(make_record, backend="cuda", **changes):
    content = make_record(count=8)
    content["backend"] = backend
    content["results"][0].update(changes)
    result = content["results"][0]
    return content, result, *layout_of(content, result, from_result(result))


def test_devices_of_a_node_are_chosen_by_their_numbers(make_record):
    content, result, layout, names = in_a_node(make_record)
    content["devices"][3]["index"] = 7
    found = next_experiment(Finding("egress", 3, -0.1, 7, 7, 9.0), names, layout, content, result)
    assert typed(found.command) == shlex.split(
        f"p2p_matrix --backend cuda --testcase {result['testcase']} --devices 7,0,1 --concurrency serial --samples 21"
    )


def test_of_rows_and_columns_that_are_different_endpoints_only_the_slow_one_is_chosen(make_record):
    content, result, *_ = in_a_node(make_record)
    result["rows"] = [f"numa{number}" for number in range(8)]
    layout, names = layout_of(content, result, from_result(result))
    found = next_experiment(Finding("ingress", 3, -0.1, 8, 8, 9.0), names, layout, content, result)
    assert "--devices 3,0,1" in found.command
    found = next_experiment(Finding("egress", 3, -0.1, 8, 8, 9.0), names, layout, content, result)
    assert "--devices 0,1" in found.command or "--devices" not in found.command


@pytest.mark.parametrize(("asked", "said"), [("--size=4MiB", True), ("--sweep", True), ("--samples", False)])
def test_a_size_is_said_where_somebody_asked_for_it(make_record, asked, said):
    content, result, layout, names = in_a_node(make_record)
    content["command"] += [asked]
    words = typed(next_experiment(Finding("egress", 3, -0.1, 7, 7, 9.0), names, layout, content, result).command)
    assert ("--size" in words) == said
    result["metric"] = "latency"
    words = typed(next_experiment(Finding("egress", 3, -0.1, 7, 7, 9.0), names, layout, content, result).command)
    assert "--size" not in words


def test_figures_of_other_programs_have_no_command_of_ours(make_record):
    content, result, layout, names = in_a_node(make_record)
    content["program"] = "nvbandwidth"
    assert next_experiment(Finding("egress", 3, -0.1, 7, 7, 9.0), names, layout, content, result) is None


def sure(one, bench, values):
    with np.errstate(invalid="ignore"):
        deviation = np.log(values / bench.expected)
    return list(
        confidence.lines(one, bench.names, Deviations(bench.layout.classes, deviation, bench.limit), bench.layout)
    )


def test_what_speaks_for_a_culprit_is_counted_and_so_is_what_does_not(between):
    values = between.expected * np.where(between.fabric.machine.passed["adapter", 1, 2], 0.7, 1.0)
    (one,) = between.find(Run(values, np.full(values.shape, np.nan)))
    assert sure(one, between, values) == [
        "evidence for: 48 of 48 cells slow, over 99 σ beyond noise, 14 cells inside the node fine,"
        " 336 cells of its node's other endpoints fine"
    ]
    values[10, 0], values[10, 9] = between.expected[10, 0], 0.5 * between.expected[10, 9]
    alone = np.full(values.shape, np.nan)
    alone[10, 9] = values[10, 9]
    (one, _) = between.find(Run(values, alone))
    told = sure(one, between, values)
    assert told[1] == "evidence against: 1 cell as fast as the other cells, 1 of 14 cells inside the node not fine"
    values[0, 10] = np.nan
    (one, _) = between.find(Run(values, alone))
    assert (
        "47 cells slow" in sure(one, between, values)[0] and "1 cell without a value" in sure(one, between, values)[1]
    )


def test_what_explains_the_cells_nearly_as_well_is_said_with_what_to_look_at(between):
    one = Finding("node", 1, -0.1, 6, 6, 9.0, rivals=(("class", 1), ("node_pair", (0, 1))))
    assert sure(one, between, between.expected)[-1] == (
        "nearly as likely: NET (what they share: driver, BIOS, clocks, throttling);"
        " nodes n000 and n001 (the path between the two nodes)"
    )


def test_another_fault_elsewhere_is_no_rival():
    bench = confusion.Bench(Fabric(Machine(2, 4), np.random.default_rng(3)))
    passed = bench.fabric.machine.passed
    values = bench.expected * np.where(passed["link", 0, 4], 0.96, 1.0) * np.where(passed["link", 1, 2], 0.9, 1.0)
    found = bench.find(Run(values, np.full(values.shape, np.nan)))
    assert sorted(one.kind for one in found) == ["link", "link"] and all(one.rivals == () for one in found)
