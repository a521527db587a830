"""Records of several nodes: a job gets other ones each time, and what is low in row and column is a node."""

import copy
import random
from itertools import permutations
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.record.names import lasting_names
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import stored, testcases
from linkmatrix.runs.suspects import suspects
from tests.tools.rank_records import of_ranks

RANKS, NODES = "rank_to_rank_bandwidth_mpi", "node_to_node_bandwidth_mpi"


@pytest.fixture
def between(make_record):
    """A function that makes a record of the test case on `nodes`, with `ranks` ranks on each.

    slow: by how much the value of a pair of nodes is lower, as a fraction.
    """

    def make(testcase=NODES, nodes=("n17", "n18", "n19", "n20"), ranks=1, slow=lambda source, destination: 0.0, seed=1):
        chance = random.Random(seed)

        def value(source, destination):
            whole = 96.0 if source == destination else 24.0
            return whole * (1 - slow(source, destination)) * (1 + chance.gauss(0, 0.001))

        return of_ranks(make_record, nodes, ranks, testcase == NODES, value)

    return make


def references(testcase, value=24.0, lower=-0.05, inside=96.0):
    levels = {"NET": value, "NODE": inside}
    table = {f"cell[{name}]": Reference(level, lower, 0.1, "GB/s") for name, level in levels.items()}
    return References({("cluster", testcase): table})


def said(content, table):
    """The sentences on a record, and the kinds of its findings."""
    reading.check(content)
    evaluation = evaluate(content, table, "cluster")
    found = diagnosis.diagnose(content, content["results"][0], evaluation.matrices[0])
    return " ".join(found.sentences), [one.kind for one in found.findings]


def of(node, depth=0.4):
    """Slow in both directions with every other node."""
    return lambda source, destination: depth * (node in (source, destination) and source != destination)


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_node_whose_row_and_column_are_low_is_named(between, ranks):
    text, kinds = said(between(NODES, ranks=ranks, slow=of("n19")), references(NODES))
    assert kinds == ["node"]
    assert "all cells of node n19 over the network are 40." in text or "node n19 over the network are 39." in text
    assert "(6 of 6 cells): check the node" in text
    assert "n17" not in text and "n18" not in text and "n20" not in text
    assert "device" not in text and "seat" not in text


def test_one_side_of_a_node_and_the_path_between_two_are_told_from_the_node(between):
    text, kinds = said(between(slow=lambda source, _: 0.3 * (source == "n18")), references(NODES))
    assert kinds == ["node_egress"] and "node n18 sends" in text
    text, kinds = said(between(slow=lambda _, destination: 0.3 * (destination == "n18")), references(NODES))
    assert kinds == ["node_ingress"] and "node n18 receives" in text
    text, kinds = said(between(slow=lambda *pair: 0.3 * (set(pair) == {"n17", "n20"})), references(NODES))
    assert kinds == ["node_pair"] and "all cells between nodes n17 and n20 are" in text
    text, kinds = said(between(slow=lambda *pair: 0.3 * (pair == ("n20", "n17"))), references(NODES))
    assert kinds == ["cell"] and "n20->n17 is 30.0 % slow" in text


def test_a_node_is_named_in_sums_of_both_directions(between):
    content = between(slow=of("n20"))
    content["results"][0]["metric"] = "bidirectional"
    text, kinds = said(content, references(NODES))
    assert kinds == ["node"] and "node n20" in text


def test_a_node_is_named_in_a_matrix_of_its_ranks(between):
    text, kinds = said(between(RANKS, ranks=2, slow=of("n19")), references(RANKS))
    assert kinds == ["node"] and "all cells of node n19 over the network" in text


def test_with_one_rank_on_each_node_the_rank_and_its_node_are_both_named(between):
    text, kinds = said(between(RANKS, slow=of("n19")), references(RANKS))
    assert kinds == ["device"]
    assert "n19:rank2 sends and receives" in text and "n19 (the node: its NICs, PCIe and uplink)" in text
    assert "measure inside the node" in text


def test_a_healthy_cluster_is_not_at_fault(between):
    assert said(between(), references(NODES)) == ("", [])


def with_references(folder):
    """The options of a command for references of 24 GB/s between nodes, written into a folder."""
    head = f"crossnode_matrix:\n  $index: [reference_name, testcase]\n  cluster:\n    {NODES}:\n"
    (folder / "p2p.yaml").write_text(f"{head}      'cell[NET]': [24.0, -0.05, 0.1, GB/s]\n")
    return ["--references", str(folder / "p2p.yaml"), "--reference", "cluster"]


def test_the_command_names_the_node_and_fails(between, write_record, tmp_path, linkmatrix):
    judged = with_references(tmp_path)
    out = linkmatrix.out("diagnose", write_record(between(slow=of("n19"))), *judged, code=1)
    assert "all cells of node n19 over the network" in out
    assert "row n19: FAIL in every cell" in out and "column n19: FAIL in every cell" in out


def test_names_that_last_have_no_node_in_them():
    assert lasting_names(RANKS, ["n17:rank0", "n40:rank1"]) == ["rank0", "rank1"]
    assert lasting_names(RANKS, ["n17:gpu0", "n17:gpu1", "n40:gpu0"]) == ["rank0", "rank1", "rank2"]
    assert lasting_names(RANKS, ["n17:gpu1", "n17:gpu0"]) == ["gpu1", "gpu0"]
    assert lasting_names(NODES, ["n17", "n40"]) == ["node0", "node1"]
    assert lasting_names("device_to_device_memcpy_write_ce", ["gpu0", "gpu4"]) == ["gpu0", "gpu4"]


@pytest.mark.parametrize(("testcase", "name"), [(RANKS, "rank"), (NODES, "node")])
def test_references_of_one_job_hold_for_the_nodes_of_another(between, testcase, name):
    table = {f"{name}{a}->{name}{b}": Reference(24.0, -0.05, 0.1, "GB/s") for a, b in permutations(range(4), 2)}
    held = References({("cluster", testcase): table})
    for nodes in (("n17", "n18", "n19", "n20"), ("n3", "n70", "n71", "n9")):
        evaluation = evaluate(between(testcase, nodes), held, "cluster")
        assert evaluation.verdict is Verdict.PASS
        assert evaluation.matrices[0].compared == 12
    slow = evaluate(between(testcase, slow=lambda *pair: 0.2 * (pair == ("n18", "n20"))), held, "cluster")
    (bad,) = (pair for pair, cell in slow.matrices[0].cells.items() if cell.verdict is Verdict.FAIL)
    assert bad == (("n18", "n20") if testcase == NODES else ("n18:rank1", "n20:rank3"))


def test_a_node_fewer_than_the_references_have_is_no_pass(between):
    table = {f"node{a}->node{b}": Reference(24.0, -0.05, 0.1, "GB/s") for a, b in permutations(range(4), 2)}
    content = between(nodes=("n17", "n18", "n19"))
    evaluation = evaluate(content, References({("cluster", NODES): table}), "cluster")
    assert evaluation.verdict is Verdict.INCOMPLETE
    missing = {pair for pair, cell in evaluation.matrices[0].cells.items() if cell.verdict is Verdict.INCOMPLETE}
    assert missing == {pair for pair in permutations(["n17", "n18", "n19", "node3"], 2) if "node3" in pair}


@pytest.fixture
def adopted(between, write_record, tmp_path, capsys):
    """A function that adopts from a record of four ranks on each list of nodes: exit code, what is said, references."""
    file = tmp_path / "adopted" / "p2p.yaml"

    def adopt(testcase, jobs):
        for number, nodes in enumerate(jobs):
            content = between(testcase, nodes, 4 // len(nodes), seed=number)
            content["started"] = f"2026-11-{10 + number}T01:50:22Z"
            write_record(content, tmp_path / "jobs" / f"{number}" / "record.json")
        code = cli.main(["adopt", str(tmp_path / "jobs"), "--table", "cluster", "--write", "--file", str(file)])
        return code, "".join(capsys.readouterr()), References.load(file) if file.exists() else References({})

    return adopt


@pytest.mark.parametrize("testcase", [RANKS, NODES])
def test_references_are_adopted_from_jobs_that_ran_on_other_nodes_each(adopted, between, testcase):
    jobs = [tuple(f"n{10 * number + place}" for place in range(4)) for number in range(6)]
    code, told, found = adopted(testcase, jobs)
    assert code == 0, told
    assert found.cells("cluster", testcase) == {}, "pairs between nodes are compared by their class"
    assert evaluate(between(testcase), found, "cluster").verdict is Verdict.PASS
    assert evaluate(between(testcase, slow=of("n19", 0.6)), found, "cluster").verdict is Verdict.FAIL


@pytest.mark.parametrize("nodes", [2, 3, 5])
@pytest.mark.parametrize("testcase", [RANKS, NODES])
def test_adopted_references_do_not_depend_on_the_number_of_nodes(adopted, between, testcase, nodes):
    """One node is drained today, and another one was added."""
    code, told, found = adopted(testcase, [("n1", "n2")] * 6)
    assert code == 0, told
    there = tuple(f"n{number}" for number in range(1, nodes + 1))
    evaluation = evaluate(between(testcase, there, 2), found, "cluster")
    assert evaluation.verdict is Verdict.PASS and evaluation.matrices[0].unjudged == 0
    slow = evaluate(between(testcase, there, 2, slow=of("n2", 0.6)), found, "cluster")
    assert slow.verdict is Verdict.FAIL


def test_a_class_between_nodes_in_a_table_of_before_has_no_effect(between, tmp_path):
    rows = f"    {NODES}:\n      'cell[NET]': [24.0, -0.05, 0.1, GB/s]\n"
    head = "crossnode_matrix:\n  $index: [reference_name, testcase]\n  cluster:\n"
    (tmp_path / "p2p.yaml").write_text(f"{head}    $classes:\n      NET: node[0-3]->node[0-3]\n{rows}")
    for nodes in (("n1", "n2", "n3"), ("n1", "n2", "n3", "n4", "n5")):
        assert evaluate(between(NODES, nodes), References.load(tmp_path), "cluster").verdict is Verdict.PASS


def test_jobs_with_other_numbers_of_ranks_on_a_node_are_not_mixed(adopted):
    """Four ranks on two nodes are not four ranks on four: their pairs have other classes."""
    code, told, _ = adopted(RANKS, [("n1", "n2", "n3", "n4")] * 3 + [("n5", "n6")] * 3)
    assert code != 0 and "rank_to_rank_bandwidth_mpi and 1 more: too few runs: 3" in told


def test_a_record_stays_as_it_is_when_it_is_diagnosed(between):
    content = between(slow=of("n19"))
    before = copy.deepcopy(content)
    said(content, references(NODES))
    assert content == before


@pytest.fixture
def suspect_after(between):
    """The suspects after runs that are made by `between` with these keywords, a day each."""

    def look(*kinds, testcase=NODES, status=None, result="pass"):
        found = []
        for number, keywords in enumerate(kinds):
            content = between(testcase, **keywords, seed=number)
            content["started"] = f"2026-11-{1 + number:02}T01:50:22Z"
            for (r, c), word in (status or {}).items():
                content["results"][0]["status"][r][c] = word
            found.append(stored.Run(Path("r"), (testcases.Test(testcase, result=result, record=content),)))
        return suspects(found, references(testcase), "cluster", 3)

    return look


GOOD, SLOW = {}, {"slow": of("n19")}


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_node_that_is_slow_with_every_other_is_suspect_itself_until_three_clean_runs(suspect_after, ranks):
    (one,) = suspect_after(GOOD | {"ranks": ranks}, SLOW | {"ranks": ranks})
    assert (one.node, one.is_node, one.flagged, one.seen) == ("n19", True, 1, 2)
    said = one.sentence(3)
    assert said.startswith("node n19 is flagged since 2026-11-02 01:50 (in 1 of 2 runs; 0 of 3 clean runs of ")
    assert "all cells of node n19 over the network" in said
    assert [one.clean for one in suspect_after(SLOW, GOOD, GOOD)] == [2]
    assert suspect_after(SLOW, GOOD, GOOD, GOOD) == []


@pytest.mark.parametrize("side", [0, 1], ids=["sends", "receives"])
def test_a_node_that_is_slow_in_one_direction_with_every_other_is_suspect(suspect_after, side):
    found = suspect_after({"slow": lambda *pair: 0.3 * (pair[side] == "n18")})
    assert [(one.node, one.is_node) for one in found] == [("n18", True)]


def test_a_single_pair_of_nodes_makes_neither_suspect(suspect_after):
    assert suspect_after({"slow": lambda *pair: 0.3 * (set(pair) == {"n17", "n20"})}) == []
    assert suspect_after({"slow": lambda *pair: 0.3 * (pair == ("n20", "n17"))}) == []


def test_of_two_nodes_alone_neither_is_suspect_for_what_both_share(suspect_after):
    assert suspect_after({"nodes": ("n17", "n19")} | SLOW) == []


def test_nodes_between_which_wrong_data_arrived_are_suspect(suspect_after):
    found = suspect_after(GOOD, status={(0, 1): "corrupt"}, result="fail")
    assert {(one.node, one.is_node) for one in found} == {("n17", True), ("n18", True)}


def test_a_rank_is_cleared_by_jobs_in_which_it_has_another_number(suspect_after):
    """One rank on each node: it is as suspect as its node, and the next jobs get the nodes in another order."""
    others = {"nodes": ("n19", "n4", "n5", "n6")}
    (one,) = suspect_after(SLOW, testcase=RANKS)
    assert (one.node, one.label) == ("n19", "rank0")
    assert [one.clean for one in suspect_after(SLOW, others, others, testcase=RANKS)] == [2]
    assert suspect_after(SLOW, others, others, others, testcase=RANKS) == []


def test_others_are_told_of_a_slow_node_and_not_of_the_ends_of_a_slow_path(between, write_record, tmp_path, capsys):
    judged = with_references(tmp_path)

    def exported(slow, form="slurm-exclude"):
        assert cli.main(["export", "--format", form, str(write_record(between(slow=slow))), *judged]) == 0
        return capsys.readouterr().out

    out = exported(of("n19"))
    assert [line for line in out.splitlines() if not line.startswith("#")] == ["--exclude=n19"]
    assert f"NodeName=n19 State=DRAIN Reason='linkmatrix: {NODES}: all cells of node n19 over the network" in out
    assert "# no node is flagged" in exported(lambda *pair: 0.3 * (set(pair) == {"n17", "n20"}))
    assert 'linkmatrix_suspect_clean_runs{node="n19"} 0\n' in exported(of("n19"), "prometheus")
