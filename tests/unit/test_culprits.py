"""Nodes of several adapters and sockets: the one at fault is named, and none that the record does not tell apart."""

import re
from pathlib import Path

import numpy as np
import pytest

from linkmatrix.locate.hypotheses import Finding
from tests.tools import confusion
from tests.tools import fabric as simulated
from tests.tools.fabric import Fabric, Machine, Run

FOUR_NODES = {
    "a NIC each": Machine(4, 8, leaf=2),
    "a NIC for two, PCIe": Machine(4, 8, nics="shared", inside="pcie"),
    "two NICs for two": Machine(4, 8, nics="pairs"),
    "NICs by NUMA node": Machine(4, 8, nics="numa"),
}


@pytest.fixture(scope="module")
def benches():
    """Machines with references, made once."""
    made = {}

    def get(machine, medians=1, seed=5):
        if (machine, medians) not in made:
            fabric = Fabric(machine, np.random.default_rng(seed), medians=medians)
            made[machine, medians] = confusion.Bench(fabric)
        return made[machine, medians]

    return get


def named(bench, *parts, depth=0.3):
    """What is named where these parts are slow."""
    found = bench.find(bench.fabric.run([(parts, depth)]))
    return [sorted(bench.named(one)) for one in found]


@pytest.mark.parametrize("name", ["a NIC each", "NICs by NUMA node", "two NICs for two"])
def test_a_bad_adapter_is_no_bad_device(benches, name):
    bench = benches(FOUR_NODES[name])
    ((said, *others),) = named(bench, ("adapter", 1, 2))
    expected = ("nic", "mlx5_2 of n001") if name == "a NIC each" else ("network", "n001:gpu2")
    assert said == expected and others == []


def test_of_several_adapters_none_is_named_alone(benches):
    bench = benches(FOUR_NODES["NICs by NUMA node"])
    assert bench.names.nics == []
    assert bench.names.parts["nics"][0] == "mlx5_0, mlx5_1, mlx5_2, mlx5_3 of n000"
    assert bench.names.near["n001:gpu6"] == ("mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7")


@pytest.mark.parametrize("name", FOUR_NODES)
def test_a_slow_socket_is_no_slow_adapter(benches, name):
    bench = benches(FOUR_NODES[name])
    ((*said,),) = named(bench, ("socket", 2, 1))
    assert ("socket", "NUMA node 1 of n002") in said
    # where only NUMA nodes are known, its adapters together are the same cells; a single one never is
    assert not any(kind == "nic" for kind, _ in said)


def test_an_adapter_that_two_devices_share_is_named_and_neither_of_them(benches):
    bench = benches(FOUR_NODES["a NIC for two, PCIe"])
    assert named(bench, ("adapter", 3, 1)) == [[("nic", "mlx5_1 of n003")]]


def test_two_adapters_behind_one_switch_are_told_together(benches):
    bench = benches(FOUR_NODES["two NICs for two"])
    assert named(bench, ("switch", 0, 3)) == [[("nics", "mlx5_6, mlx5_7 of n000")]]


@pytest.mark.parametrize(
    ("part", "said"), [(("leaf", 1), ("leaf", "leaf1")), (("node", 2), ("node", "n002")), (("rail", 5), ("rail", "5"))]
)
def test_what_endpoints_of_several_nodes_share_is_named(benches, part, said):
    assert named(benches(Machine(6, 8, leaf=2)), part) == [[said]]


def test_a_device_behind_its_only_adapter_stays_ambiguous_where_its_node_is_not_measured_inside(benches):
    bench = benches(FOUR_NODES["a NIC each"])
    run = bench.fabric.run([((("out", 10), ("in", 10)), 0.3)])
    run.values[bench.fabric.classes == "NV18"] = np.nan
    (one,) = bench.find(run)
    assert {("device", "n001:gpu2"), ("nic", "mlx5_2 of n001")} <= bench.named(one)


#: kind → how often of 40 it is named right, with what heavy tails, routes, drift and missing cells leave
QUICK = [
    ("device", 0.03),
    ("adapter", 0.03),
    ("socket", 0.03),
    ("node pair", 0.03),
    ("link inside", 0.05),
    ("link between", 0.03),
    ("leaf", 0.03),
]


@pytest.mark.parametrize(("kind", "depth"), QUICK)
@pytest.mark.parametrize("medians", [1, 5])
def test_faults_are_named_in_simulated_clusters_that_are_not_the_search_itself(benches, kind, depth, medians):
    bench = benches(FOUR_NODES["a NIC each"], medians)
    found = bench.row(kind, depth, 40)
    assert found[confusion.RIGHT] >= 38, found


def test_two_faults_at_once_are_both_named(benches):
    bench = benches(FOUR_NODES["a NIC each"])
    assert sum(bench.try_two(0.10) == confusion.RIGHT for _ in range(40)) >= 38


def test_two_faults_are_named_and_not_a_part_that_overlaps_both(benches):
    """All cells of the socket of both have more evidence than either, though a third of them is fine."""
    bench = benches(Machine(2, 4))
    passed = bench.fabric.machine.passed
    slow = passed["out", 0] | passed["in", 0] | passed["out", 1]
    values = bench.expected * np.where(slow, 0.9, 1.0)
    found = bench.find(Run(values, np.full(values.shape, np.nan)))
    assert [(one.kind, one.subject) for one in found] == [("device", 0), ("egress", 1)]


def test_two_faults_that_are_the_cells_of_one_part_are_told_from_a_wrong_answer(benches, monkeypatch):
    bench = benches(Machine(2, 4))
    sides = [fault for kind in ("egress", "ingress") for fault in bench.faults[kind] if fault.parts[0][1] == 3]
    monkeypatch.setattr(bench, "draw", lambda kind: sides.pop())
    assert bench.try_two(0.10) == confusion.ALIKE


def test_more_parts_than_faults_are_a_wrong_answer_though_they_have_the_same_cells(benches, monkeypatch):
    bench = benches(FOUR_NODES["a NIC each"])
    faults = [bench.faults["device"][18], bench.faults["ingress"][31]]
    monkeypatch.setattr(bench, "draw", lambda kind: faults.pop())
    split = [Finding(kind, place, -0.1, 1, 1, 1.0) for kind, place in (("nic", 18), ("links", 18), ("ingress", 31))]
    monkeypatch.setattr(bench, "find", lambda run: split)
    assert bench.try_two(0.10) == confusion.SEVERAL


def test_a_link_that_is_1_4_percent_below_the_middle_of_its_class_is_held_against_a_reference_of_its_own():
    """Beside the drift of a run it would be 2 % off that of the class, both ways, which is a finding."""
    fabric = Fabric(Machine(16, 2), np.random.default_rng(5))
    ways = ([3, 20], [20, 3])
    fabric.level[fabric.classes == "NET"] = 45.0
    fabric.level[ways] = 0.986 * 45.0
    bench = confusion.Bench(fabric)
    assert bench.expected[ways] == pytest.approx(0.986 * 45.0, rel=0.005)
    values = bench.fabric.level * np.where(fabric.classes == "NET", 0.994, 1.0)
    assert bench.find(Run(values, np.full(values.shape, np.nan))) == []


@pytest.mark.parametrize("machine", [Machine(1, 4), Machine(1, 8), Machine(4, 8)])
def test_healthy_clusters_raise_no_alarm(benches, machine):
    assert benches(machine).alarms(150) == 0


def test_what_the_table_is_made_with_is_what_diagnose_does(benches):
    """References, deviations and names of the bench are those of the whole way from a record."""
    from linkmatrix.judge.evaluate import evaluate
    from linkmatrix.locate import deviations
    from linkmatrix.record import reading
    from linkmatrix.record.names import lasting_names
    from linkmatrix.references.tables import Reference, References

    bench = benches(Machine(2, 4))
    values = bench.fabric.run([((("adapter", 1, 2),), 0.2)]).values
    content = confusion.record_of(bench.fabric.machine, values)
    reading.check(content)
    labels = lasting_names(bench.matrix.testcase, bench.matrix.rows)
    upper = 0.1
    table = {
        f"{row}->{column}": Reference(bench.expected[r, c], bench.lower[r, c], upper, "GB/s")
        for r, row in enumerate(labels)
        for c, column in enumerate(labels)
        if r != c
    }
    (matrix,) = evaluate(content, References({("hgx", content["results"][0]["testcase"]): table}), "hgx").matrices
    held = deviations.reference_deviations(matrix, bench.layout.classes)
    seen = deviations.with_joint_limits(content, content["results"][0], held, bench.names.classes)
    deviation, limit = seen.deviation, seen.limit
    there = np.isfinite(values)
    assert np.allclose(deviation[there], np.log(values / bench.expected)[there])
    ours = bench.seen(deviation)
    assert np.allclose(seen.sigma[there], ours.sigma[there]) and np.allclose(limit[there], bench.limit[there])
    assert np.allclose(seen.joint_limit[there], ours.joint_limit[there])


def test_the_simulated_cluster_looks_again_by_the_rules_of_the_program():
    """Figures of the confusion matrix are those of a program that has other rules, where one of them changes alone."""
    source = (Path(__file__).parents[2] / "src" / "measure" / "outliers.cpp").read_text(encoding="utf-8")
    rules = {"least_cap": simulated.LEAST_CAP, "least_cells_of_class": simulated.LEAST_CELLS_OF_CLASS}
    rules["outliers_of_single_cell"] = simulated.OUTLIERS_OF_SINGLE_CELL
    for name, value in {**rules, "bandwidth_outlier": simulated.OUTLIER}.items():
        (found,) = re.findall(rf"constexpr \S+ {name} = ([0-9.]+);", source)
        assert float(found) == value, name
