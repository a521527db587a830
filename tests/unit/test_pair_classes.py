"""A pair is compared with the reference of its adopted link class, whichever class a run finds."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.errors import BadInput
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.expected import is_worse
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.pair_classes import Group, MatrixClasses, Names, PairClasses, cover_pairs, endpoint_type
from linkmatrix.references.tables import Reference, References
from tests.tools.rank_records import of_ranks
from tests.tools.stores import disturbed

TESTCASE, RANKS = "device_to_device_memcpy_write_ce", "rank_to_rank_bandwidth_mpi"
FAST, SLOW = Reference(400.0, -0.02, 0.05, "GB/s"), Reference(20.0, -0.1, 0.1, "GB/s")
OF_CLASS = {"cell[NV18]": FAST, "cell[SYS]": SLOW}


def references(classes, table=OF_CLASS, testcase=TESTCASE):
    return References({("hgx", testcase): table}, {("hgx",): PairClasses.read(classes)})


def fallen(content, *pairs, link_class="SYS", value=20.0):
    """A record in which these pairs, by index, have another class and another value."""
    result = content["results"][0]
    for r, c in pairs:
        result["link_class"][r][c] = link_class
        for grid in ("values", "low", "high"):
            result[grid][r][c] = value
        result["sampled"] = None
    return content


def judged(content, known):
    (matrix,) = evaluate(content, known, "hgx").matrices
    return matrix


def test_a_pair_that_falls_to_another_class_is_compared_with_its_own(make_record):
    known = references({"NV18": "gpu[0-3]->gpu[0-2]", "SYS": "gpu[0-2]->gpu3"})
    good = fallen(make_record(value=400.0), (0, 3), (1, 3), (2, 3))
    assert judged(good, known).verdict is Verdict.PASS
    found = judged(fallen(good, (0, 1)), known).cells
    assert {pair for pair, cell in found.items() if cell.verdict is Verdict.FAIL} == {("gpu0", "gpu1")}
    assert found["gpu0", "gpu1"].reference == FAST and found["gpu0", "gpu3"].reference == SLOW


@pytest.mark.parametrize(
    ("adopted", "found", "verdict"),
    [
        ("PIX", "SYS", Verdict.FAIL),
        ("NV18", "SYS", Verdict.FAIL),
        ("NV18", "NV8", Verdict.FAIL),
        ("NV8", "NV18", Verdict.PASS),
        ("SYS", "PIX", Verdict.PASS),
    ],
)
def test_a_class_that_is_worse_than_the_adopted_one_fails_whatever_the_value(make_record, adopted, found, verdict):
    classes = {adopted: "gpu0->gpu1"} | {"NV18": "gpu[0-3]->gpu[0-3]"}
    known = references(classes, {f"cell[{name}]": FAST for name in ("NV18", adopted, found)})
    content = fallen(make_record(value=400.0), (0, 1), link_class=found, value=400.0)
    for others in (None, disturbed("node001")):
        content["results"][0]["others"] = others
        matrix = judged(content, known)
        cell = matrix.cells["gpu0", "gpu1"]
        assert (matrix.verdict, cell.verdict) == (verdict, verdict)
        assert verdict is Verdict.PASS or f"path changed: {adopted} -> {found}" in cell.reason


@pytest.mark.parametrize(
    ("good", "bad"),
    [*pairwise(["NV18", "NV17", "PIX", "PXB", "PHB", "NODE", "SYS", "NET"]), ("NV4", "SYS")],
)
def test_link_classes_have_one_order(good, bad):
    assert is_worse(bad, good) and not is_worse(good, bad) and not is_worse(good, good)


@pytest.mark.parametrize(("a", "b"), [("NV18", "ICN4"), ("CORE", "SYS"), ("", "SYS"), ("LOCAL", "NV18")])
def test_classes_of_other_kinds_are_not_compared(a, b):
    assert not is_worse(a, b) and not is_worse(b, a)


def test_a_pair_without_an_adopted_class_chooses_no_reference(make_record):
    known = references({"NV18": "gpu[0-3]->gpu[0-3]", "SYS": "gpu4->gpu5"})
    content = fallen(make_record(count=5, value=400.0), *((r, 4) for r in range(4)))
    found = judged(content, known).cells
    unknown = {pair for pair, cell in found.items() if cell.verdict is Verdict.INCOMPLETE}
    assert unknown == {*((f"gpu{r}", "gpu4") for r in range(4)), *(("gpu4", f"gpu{r}") for r in range(4))} | {
        ("gpu4", "gpu5")
    }
    assert all(found[pair].reference is None for pair in unknown - {("gpu4", "gpu5")})


@pytest.mark.parametrize("found", ["", "unknown"])
def test_an_unknown_class_in_place_of_the_adopted_one_is_incomplete(make_record, found):
    content = fallen(make_record(value=400.0), (0, 1), link_class=found, value=400.0)
    matrix = judged(content, references({"NV18": "gpu[0-3]->gpu[0-3]"}))
    cell = matrix.cells["gpu0", "gpu1"]
    assert (
        matrix.verdict is cell.verdict is Verdict.INCOMPLETE
        and "path unknown, but the reference is for NV18" in cell.reason
    )
    slow = judged(fallen(content, (0, 1), link_class=found), references({"NV18": "gpu[0-3]->gpu[0-3]"}))
    assert slow.cells["gpu0", "gpu1"].verdict is Verdict.FAIL, "a slow pair is a fault, whatever its path"


def test_without_adopted_classes_a_class_may_be_unknown(make_record):
    content = fallen(make_record(value=400.0), (0, 1), link_class="", value=400.0)
    table = OF_CLASS | {"cell[unknown]": FAST}
    assert judged(content, References({("hgx", TESTCASE): table})).verdict is Verdict.PASS
    assert judged(content, references({"unknown": "gpu0->gpu1"}, table)).verdict is Verdict.PASS


def test_a_pair_with_its_own_row_is_compared_with_its_adopted_class_too(make_record):
    slow = Reference(392.0, -0.02, 0.05, "GB/s")
    known = references({"NV18": "gpu[0-3]->gpu[0-3]"}, OF_CLASS | {"gpu0->gpu1": slow})
    good = fallen(make_record(value=400.0), (0, 1), link_class="NV18", value=392.0)
    assert judged(good, known).verdict is Verdict.PASS
    cell = judged(fallen(good, (0, 1), value=392.0), known).cells["gpu0", "gpu1"]
    assert cell.verdict is Verdict.FAIL and "path changed: NV18 -> SYS" in cell.reason and cell.reference == slow


def test_a_single_pair_counts_before_groups_of_pairs(make_record):
    known = references({"NV18": "gpu[0-3]->gpu[0-3]", "SYS": "gpu0->gpu1"})
    found = judged(fallen(make_record(value=400.0), (0, 1)), known)
    assert found.verdict is Verdict.PASS and found.cells["gpu0", "gpu1"].reference == SLOW
    classes = known.pair_classes("hgx")
    assert classes.pair_class("gpu0->gpu1") == "SYS" and classes.pairs["SYS"] == [("gpu0", "gpu1")]
    assert ("gpu0", "gpu1") not in classes.pairs["NV18"] and len(classes.pairs["NV18"]) == 11


def test_a_class_without_pairs_is_of_the_cells_that_are_found_in_it(make_record):
    known = references({"NV18": "gpu[0-2]->gpu[0-2]"})
    pairs = [(r, c) for r, c in permutations(range(4), 2) if 3 in (r, c)]
    assert judged(fallen(make_record(value=400.0), *pairs), known).verdict is Verdict.PASS
    assert judged(fallen(make_record(value=400.0), *pairs, (0, 1)), known).verdict is Verdict.FAIL
    without = {"cell[SYS]": SLOW}
    found = judged(
        fallen(make_record(value=400.0), *pairs, (0, 1)), references({"NV18": "gpu[0-2]->gpu[0-2]"}, without)
    )
    cell = found.cells["gpu0", "gpu1"]
    assert cell.reference is None and cell.verdict is Verdict.FAIL, "its class has no reference, and its path changed"
    assert found.cells["gpu0", "gpu3"].verdict is Verdict.PASS


def test_a_pair_of_an_adopted_class_that_is_not_there_is_missing(make_record):
    known = references({"NV18": "gpu[0-4]->gpu[0-4]"})
    found = judged(make_record(value=400.0), known)
    assert found.verdict is Verdict.INCOMPLETE and found.compared == 20
    assert set(found.missing) == {pair for pair in permutations([f"gpu{n}" for n in range(5)], 2) if "gpu4" in pair}


def test_a_matrix_has_the_pairs_of_its_kinds_of_endpoints():
    """HOST is of both directions, and each test case measures one."""
    known = references({"HOST": "numa0->gpu[0-1], gpu[0-1]->numa0"}, {"cell[HOST]": SLOW}, "host_to_device_memcpy_ce")
    found = known.cells("hgx", "host_to_device_memcpy_ce", ["numa0"], ["gpu0"])
    assert set(found) == {("numa0", "gpu0"), ("numa0", "gpu1")}
    assert len(known.cells("hgx", "host_to_device_memcpy_ce")) == 4


def test_the_first_class_that_contains_a_pair_counts():
    classes = PairClasses.read({"PIX": "gpu[0-1]->gpu[0-1], gpu[2-3]->gpu[2-3]", "SYS": "gpu[0-3]->gpu[0-3]"})
    assert (classes.pair_class("gpu0->gpu1"), classes.pair_class("gpu0->gpu2"), classes.pair_class("gpu0->gpu0")) == (
        "PIX",
        "SYS",
        None,
    )
    assert len(classes.pairs["PIX"]) == 4 and len(classes.pairs["SYS"]) == 8
    labels = [f"gpu{number}" for number in range(4)]
    codes, names = MatrixClasses(classes, TESTCASE, labels, labels).codes(labels, labels, np.zeros((4, 4), int), ["X"])
    for (r, row), (c, column) in product(enumerate(labels), repeat=2):
        assert names[codes[r, c]] == (classes.pair_class(f"{row}->{column}") or "X")


@pytest.fixture
def cluster(make_record):
    """A record of four ranks on each of some nodes: PIX in pairs, else SYS, and NET between nodes."""

    def make(nodes=6, slow=()):
        def value(source, destination):
            return 24.0

        content = of_ranks(make_record, tuple(f"n{number}" for number in range(nodes)), 4, False, value)
        result = content["results"][0]
        for r, c in permutations(range(4 * nodes), 2):
            inside = r // 4 == c // 4
            group = "NET" if not inside else "PIX" if r % 4 // 2 == c % 4 // 2 else "SYS"
            result["link_class"][r][c] = group
            for grid in ("values", "low", "high"):
                result[grid][r][c] = {"PIX": 50.0, "SYS": 20.0, "NET": 24.0}[group]
        return fallen(content, *slow)

    return make


NODES = {
    f"cell[{name}]": Reference(value, -0.1, 0.2, "GB/s")
    for name, value in (("PIX", 50.0), ("SYS", 20.0), ("NET", 24.0))
}
INSIDE = {
    "PIX": "node*:rank[0-1]->rank[0-1], node*:rank[2-3]->rank[2-3]",
    "SYS": "node*:rank[0-1]->rank[2-3], node*:rank[2-3]->rank[0-1]",
}


@pytest.mark.parametrize("nodes", [5, 16])
def test_inside_of_nodes_a_few_lines_are_for_any_number_of_nodes(cluster, nodes):
    """Without them, a pair of a switch that fell to the slower path passed: other pairs have that class too."""
    known = references(INSIDE, NODES, RANKS)
    assert judged(cluster(nodes), known).verdict is Verdict.PASS
    slow = cluster(nodes, slow=[(8, 9)])
    assert judged(slow, References({("hgx", RANKS): NODES})).verdict is Verdict.PASS
    found = judged(slow, known)
    assert [pair for pair, cell in found.cells.items() if cell.verdict is Verdict.FAIL] == [("n2:rank8", "n2:rank9")]
    assert not found.missing
    assert "cell[PIX]" in known.expanded("hgx", RANKS), "its pairs are known when the labels are"


@pytest.mark.parametrize(
    "classes",
    [
        "gpu",
        "[a]",
        "{NV18: gpu0}",
        "{NV18: gpu0->}",
        "{NV18: 'gpu[3-1]->gpu0'}",
        "{NV18: 'gpu[a]->gpu0'}",
        "{NV18: [gpu0->gpu1]}",
    ]
    + ["{NV18: 3}", "{NV18: 'gpu0->gpu1->gpu2'}", "{NV18: 'gpu[0-9999999999]->gpu0'}", "{'': 'gpu0->gpu1'}"]
    + [f"{{NV18: '{', '.join(['gpu0->gpu1'] * 1025)}'}}", "{NV18: ''}", "{NV18: 'gpu0->gpu1,gpu0->gpu2'}"],
)
def test_what_is_no_class_of_pairs_is_refused_with_its_key(tmp_path, classes):
    file = tmp_path / "p2p.yaml"
    head = "intranode_p2p:\n  $index: [reference_name, testcase]\n  hgx:\n"
    file.write_text(f"{head}    $classes: {classes}\n    case:\n      cell[NV18]: [400, -0.1, 0.1, GB/s]\n")
    with pytest.raises(BadInput) as caught:
        References.load(file)
    assert str(caught.value).startswith(f"{file}: intranode_p2p.hgx.$classes: ")


def test_a_table_with_other_classes_in_two_files_is_refused(tmp_path):
    head = "intranode_p2p:\n  $index: [reference_name, testcase]\n  hgx:\n    $classes:\n      "
    (tmp_path / "a.yaml").write_text(f"{head}NV18: gpu0->gpu1\n")
    (tmp_path / "b.yaml").write_text(f"{head}SYS: gpu0->gpu1\n")
    with pytest.raises(BadInput, match="already"):
        References.load(tmp_path)


def test_a_range_of_any_length_takes_no_memory():
    names = Names.read("gpu[0-999999999]")
    assert "gpu12345678" in names and "gpu01" not in names and "gpu" not in names and "rank1" not in names
    assert PairClasses.read({"NV18": "gpu[0-999999999]->gpu[0-999999999]"}).pairs == {}


names = st.lists(
    st.one_of(st.integers(0, 20).map("gpu{}".format), st.sampled_from(["numa0", "numa1", "all", "local", "gpu007"])),
    min_size=1,
    max_size=9,
    unique=True,
)


@given(names, names, st.data())
def test_groups_contain_the_pairs_of_a_mask_and_no_others(rows, columns, data):
    inside = np.array([[data.draw(st.booleans()) and row != column for column in columns] for row in rows])
    groups = cover_pairs(rows, columns, inside)
    texts = [str(one) for one in groups]
    assert [Group.read(text) for text in texts] == groups
    classes = PairClasses.read({"NV18": ", ".join(texts)}) if texts else PairClasses({})
    for (r, row), (c, column) in product(enumerate(rows), enumerate(columns)):
        assert (classes.pair_class(f"{row}->{column}") == "NV18") is bool(inside[r, c])


def test_all_pairs_of_eight_are_one_group():
    labels = [f"gpu{number}" for number in range(8)]
    assert [str(one) for one in cover_pairs(labels, labels, ~np.eye(8, dtype=bool))] == ["gpu[0-7]->gpu[0-7]"]
    halves = np.arange(8) // 4
    texts = {str(one) for one in cover_pairs(labels, labels, halves[:, None] != halves)}
    assert texts == {"gpu[0-3]->gpu[4-7]", "gpu[4-7]->gpu[0-3]"}


@pytest.mark.parametrize("text", ["gpu[0-3,6]", "gpu2", "all"])
def test_names_are_written_as_they_are_read(text):
    assert str(Names.read(text)) == text


@pytest.mark.parametrize(("name", "kind"), [("gpu3", "gpu"), ("nodeX12", "nodeX"), ("mlx5_0", "mlx5_")])
def test_the_type_of_an_endpoint_is_its_name_without_the_number(name, kind):
    assert endpoint_type(name) == kind
