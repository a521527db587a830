"""Network adapters are blamed, cleared and followed like devices, where a record identifies them."""

import copy
import json
import random
from itertools import permutations, product
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import components, stored, testcases
from linkmatrix.runs.suspects import suspects

pytestmark = pytest.mark.usefixtures("wide_terminal")

TESTCASE = "rank_to_rank_bandwidth_mpi"
NODES, EACH = ("n17", "n18", "n19"), 2
LEVELS = {"NET": 24.0, "NODE": 96.0}
TABLE = {f"cell[{name}]": Reference(level, -0.05, 0.1, "GB/s") for name, level in LEVELS.items()}
REFERENCES = References({("cluster", TESTCASE): TABLE})


@pytest.fixture
def fleet(make_record):
    """Runs between three nodes of two GPUs, each with an adapter of its own, a day each; `where` says what is where."""

    class Fleet:
        def __init__(self):
            self.where = {(node, at): f"b8ce:f603:00{node[1:]}:000{at}" for node in NODES for at in range(EACH)}
            self.runs, self.chance = [], random.Random(5)

        def run(self, bad=None, place=None, change=lambda content: None, result="", ends=NODES):
            """bad: the GUID of an adapter that is slow; place: (node, which of its adapters) that is."""
            self.runs.append(stored.Run(Path("r"), (self.test(bad, place, change, result, ends),)))
            return self

        def test(self, bad, place, change, result, ends):
            labels = [f"{node}:gpu{at}" for node, at in product(ends, range(EACH))]
            at = [(node, number) for node, number in product(ends, range(EACH))]
            content = copy.deepcopy(make_record(count=len(labels)))
            (matrix,) = content["results"]
            content["backend"] = matrix["engine"] = matrix["transport"] = "mpi"
            content["started"] = f"2026-11-{1 + len(self.runs):02}T01:50:22Z"
            matrix.update(testcase=TESTCASE, rows=labels, columns=labels)
            slow = [place == one or (bad is not None and self.where[one] == bad) for one in at]
            for r, c in permutations(range(len(labels)), 2):
                net = at[r][0] != at[c][0]
                value = LEVELS["NET" if net else "NODE"] * (0.7 if net and (slow[r] or slow[c]) else 1.0)
                matrix["link_class"][r][c] = "NET" if net else "NODE"
                noisy = value * (1 + self.chance.gauss(0, 0.001))
                for grid in ("values", "low", "high"):
                    matrix[grid][r][c] = noisy
            content["devices"] = [
                {"index": number, "label": label, "name": "GPU", "uuid": f"GPU-{label}", "pci": f"0000:1{which}:00.0"}
                | {"node": node, "numa": 0, "nics": [f"mlx5_{which}"], "part": {"uuid": f"GPU-{label}"}}
                | {"place": {"node": node, "slot": str(which)}}
                for number, (label, (node, which)) in enumerate(zip(labels, at, strict=True))
            ]
            content["adapters"] = [
                {"name": f"mlx5_{which}", "state": "ACTIVE", "rate": "400 Gb/sec", "link_layer": "InfiniBand"}
                | {"numa": 0, "part": {"guid": guid}}
                | {"place": {"node": node, "pci": f"0000:1{which}:00.1", "port": "1"}}
                for (node, which), guid in self.where.items()
                if node in ends
            ]
            content["topology"] = {**make_record(count=len(labels))["topology"], "labels": labels}
            change(content)
            reading.check(content)
            return testcases.Test(TESTCASE, result=result, record=content)

        def swap(self, one, other):
            self.where[one], self.where[other] = self.where[other], self.where[one]
            return self

        def suspects(self):
            return suspects(self.runs, REFERENCES, "cluster", 3)

    return Fleet()


def test_the_adapter_that_explains_slow_cells_is_blamed_and_no_device(fleet):
    (one,) = fleet.run(bad="b8ce:f603:0018:0001").suspects()
    assert (one.node, one.label, one.kind) == ("n18", "mlx5_1", components.ADAPTER)
    assert (one.part, one.place) == ("adapter GUID b8ce:f603:0018:0001", "n18/0000:11:00.1")
    assert "mlx5_1 of n18 is flagged since 2026-11-01" in one.sentence(3)


def test_runs_over_it_clear_it_and_what_its_node_measures_alone_does_not(fleet):
    bad = fleet.where["n18", 1]
    fleet.run(bad=bad).run(ends=("n18",)).run(ends=("n18",)).run(ends=("n18",))
    assert [(one.label, one.clean) for one in fleet.suspects()] == [("mlx5_1", 0)]
    fleet.run().run()
    assert [(one.label, one.clean) for one in fleet.suspects()] == [("mlx5_1", 2)]
    assert fleet.run().suspects() == []


def test_a_fault_that_moves_with_an_adapter_is_the_adapters(fleet):
    bad = fleet.where["n18", 1]
    fleet.run(bad=bad).run(bad=bad).swap(("n18", 1), ("n19", 0)).run(bad=bad).run(bad=bad)
    (one,) = fleet.suspects()
    assert (one.node, one.label) == ("n19", "mlx5_0")
    went = "from n18/0000:11:00.1 to n19/0000:10:00.1"
    assert one.swap == f"the fault followed the component (adapter GUID {bad} {went})"


def test_a_fault_that_stays_is_its_slots_or_its_cables(fleet):
    place = ("n18", 1)
    fleet.run(place=place).run(place=place).swap(("n18", 1), ("n19", 0)).run(place=place).run(place=place)
    (one,) = fleet.suspects()
    assert (one.node, one.label) == ("n18", "mlx5_1") and one.swap.startswith(
        "the fault stayed with the slot (n18/0000:11"
    )


@pytest.mark.parametrize("result", ["fail", "pass"])
def test_its_own_counters_blame_an_adapter_where_the_test_failed_for_them(fleet, result):
    def counted(content):
        counters = [{"name": "symbol_error", "before": 3, "after": 9}]
        content["health"] = [{"label": "n19:mlx5_0", "counters": counters, "readings": []}]

    fleet.run(change=counted, result=result)
    found = [(one.node, one.label, "symbol_error rose from 3 to 9" in one.reason) for one in fleet.suspects()]
    assert found == ([("n19", "mlx5_0", True)] if result == "fail" else [])


def test_an_adapter_that_nothing_identifies_leaves_the_device_that_it_serves(fleet):
    def nameless(content):
        for one in content["adapters"]:
            one["part"] = {"guid": "0000:0000:0000:0000"}

    (one,) = fleet.run(place=("n18", 1), change=nameless).suspects()
    assert (one.node, one.label) == ("n18", "gpu1")


def test_history_tells_of_an_adapter_wherever_it_was_and_of_its_place(fleet, tmp_path, monkeypatch, capsys):
    bad = fleet.where["n18", 1]
    fleet.run(bad=bad).run(bad=bad).swap(("n18", 1), ("n19", 0)).run(bad=bad).run(bad=bad)
    table = "".join(f"      'cell[{name}]': [{level}, -0.05, 0.1, GB/s]\n" for name, level in LEVELS.items())
    head = f"rank_p2p:\n  $index: [reference_name, testcase]\n  cluster:\n    {TESTCASE}:\n"
    (tmp_path / "p2p.yaml").write_text(head.replace("rank_p2p", "crossnode_matrix") + table)
    paths = [tmp_path / f"{number}.json" for number in range(len(fleet.runs))]
    for path, run in zip(paths, fleet.runs, strict=True):
        path.write_text(json.dumps(run.tests[0].record))
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "results"))

    def history(*words):
        code = cli.main(["history", *map(str, paths), "--references", str(tmp_path), "--reference", "cluster", *words])
        return code, capsys.readouterr().out

    code, out = history("--component", bad)
    assert out.startswith(f"adapter GUID {bad}: 4 runs, flagged in 4\n"), out
    assert "moved between" in out and "from n18/0000:11:00.1 to n19/0000:10:00.1" in out
    assert f"the fault followed the component (adapter GUID {bad} from n18/0000:11:00.1 to n19/0000:10:00.1)" in out
    code, out = history("--slot", "n18/0000:11:00.1")
    assert out.startswith("n18/0000:11:00.1: 4 runs, flagged in 2\n") and "exchanged between" in out, out


def test_a_mac_address_is_called_one(fleet):
    fleet.where["n18", 1] = "3c:ec:ef:00:11:22"
    (one,) = fleet.run(bad="3c:ec:ef:00:11:22").suspects()
    assert one.part == "adapter MAC 3c:ec:ef:00:11:22"


def test_its_counters_blame_an_adapter_where_the_other_node_has_none(fleet):
    def counted(content):
        content["adapters"] = [one for one in content["adapters"] if one["place"]["node"] == "n19"]
        content["nodes"] = [{**content["nodes"][0], "name": node} for node in NODES]
        counters = [{"name": "symbol_error", "before": 3, "after": 9}]
        content["health"] = [{"label": "n19:mlx5_0", "counters": counters, "readings": []}]

    fleet.run(change=counted, result="fail")
    assert [(one.node, one.label) for one in fleet.suspects()] == [("n19", "mlx5_0")]
