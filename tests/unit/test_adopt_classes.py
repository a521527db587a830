"""Adopting writes one reference for pairs that are alike, and the class of each pair."""

import random
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkmatrix.adopt.cells import fit_to_table
from linkmatrix.adopt.proposal import Proposal
from linkmatrix.adopt.writing import table_changes, updated_text, write
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.pair_classes import PairClasses
from linkmatrix.references.tables import Reference, References
from tests.tools.rank_records import of_ranks

TESTCASE, RANKS = "device_to_device_memcpy_write_ce", "rank_to_rank_bandwidth_mpi"
H2D, D2H = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"
LEVELS = {"PIX": 50.0, "SYS": 20.0, "NET": 24.0, "NV18": 396.0}


def levels(content, number, class_of, off=None):
    """Makes the classes and values of a record, with noise; off: {(row, column): factor}."""
    chance, result = random.Random(number), content["results"][0]
    result["sampled"] = None
    for r, c in permutations(range(len(result["rows"])), 2):
        group = result["link_class"][r][c] = class_of(r, c)
        value = LEVELS[group] * (off or {}).get((r, c), 1.0) * (1 + chance.gauss(0, 0.0003))
        for grid in ("values", "low", "high"):
            result[grid][r][c] = value
    return content


def switches(r, c):
    """Two GPUs on each switch."""
    return "PIX" if r // 2 == c // 2 else "SYS"


def machine(number=0, class_of=switches, off=None):
    return lambda content, run: levels(content, 100 * number + run, class_of, off)


def adopted(run, folder, *options):
    code, out, errors = run(folder, "--table", "hgx", "--write", *options)
    assert code == 0, out + errors
    return References.load(run.file)


def verdicts(known, content):
    (matrix,) = evaluate(content, known, "hgx").matrices
    return {pair for pair, cell in matrix.cells.items() if cell.verdict is Verdict.FAIL}, matrix.verdict


def test_classes_are_written_for_a_machine_of_several(run, store, make_record):
    known = adopted(run, store(size=8, change=machine()))
    text = run.file.read_text()
    assert set(known.table("hgx", TESTCASE)) == {"cell[PIX]", "cell[SYS]"}
    assert "      PIX: gpu[0-1]->gpu[0-1], gpu[2-3]->gpu[2-3], gpu[4-5]->gpu[4-5], gpu[6-7]->gpu[6-7]\n" in text
    assert len(known.cells("hgx", TESTCASE)) == 56
    assert verdicts(known, levels(make_record(count=8), 1, switches))[1] is Verdict.PASS
    fell = levels(make_record(count=8), 1, lambda r, c: "SYS" if (r, c) == (2, 3) else switches(r, c))
    assert verdicts(known, fell) == ({("gpu2", "gpu3")}, Verdict.FAIL)


def test_a_table_with_rows_of_pairs_keeps_them(run, store):
    """As tables of earlier versions: what agrees with them changes nothing, and what does not changes the pair."""
    pairs = list(permutations([f"gpu{number}" for number in range(4)], 2))
    rows = "".join(f"      '{a}->{b}': [{396 + 0.01 * n:g}, -0.02, 0.05, GB/s]\n" for n, (a, b) in enumerate(pairs))
    earlier = {f"{word}[NV18]" for word in ("min", "median", "max")}  # of earlier versions, compared with nothing
    rows += "".join(f"      '{name}': [396, -0.02, 0.05, GB/s]\n" for name in sorted(earlier))
    run.file.parent.mkdir()
    head = "intranode_p2p:\n  $index: [reference_name, testcase]\n  hgx:\n"
    run.file.write_text(f"{head}    {TESTCASE}:\n{rows}")
    before = run.file.read_text()
    adopted(run, store())
    assert run.file.read_text() == before
    code, out, _ = run(store(6, "slow", level=380.0), "--table", "hgx", "--write")
    assert code == 3 and "12 references would be lowered" in out
    known = adopted(run, store(6, "fast", level=410.0))
    assert set(known.table("hgx", TESTCASE)) == {*map("->".join, pairs), *earlier}
    assert not known.pair_classes("hgx", TESTCASE)


def test_a_class_written_by_hand_gets_its_pairs_and_keeps_its_remarks(run, store):
    run.file.parent.mkdir()
    head = "intranode_p2p:\n  $index: [reference_name, testcase]\n  hgx:\n    # of the vendor\n"
    rows = "      cell[NV18]: [396, -0.02, 0.05, GB/s]\n"
    run.file.write_text(f"{head}    {TESTCASE}:\n{rows}")
    known = adopted(run, store())
    lines = run.file.read_text().splitlines()
    assert known.pair_classes("hgx", TESTCASE).texts() == {"NV18": "gpu[0-3]->gpu[0-3]"}
    at = lines.index("    $classes:")
    assert lines[at : at + 4] == [
        lines[at],
        "      NV18: gpu[0-3]->gpu[0-3]",
        "    # of the vendor",
        f"    {TESTCASE}:",
    ]
    again = run.file.read_text()
    adopted(run, store(6, "again"))
    assert run.file.read_text() == again


def test_a_pair_that_fell_to_another_class_is_lowered_only_with_a_reason(run, store, make_record):
    adopted(run, store(size=8, change=machine()))
    before = run.file.read_text()

    def fell(r, c):
        return "SYS" if (r, c) == (2, 3) else switches(r, c)

    folder = store(6, "fell", size=8, change=machine(1, fell))
    code, out, _ = run(folder, "--table", "hgx", "--write", "--as-is", "the slot")
    assert code == 3 and "1 reference would be lowered" in out and run.file.read_text() == before
    known = adopted(run, folder, "--as-is", "the slot", "--allow-lower", "--reason", "the slot")
    assert known.table("hgx", TESTCASE)["gpu2->gpu3"].value == pytest.approx(20, rel=0.01)
    assert known.pair_classes("hgx", TESTCASE).pair_class("gpu2->gpu3") == "SYS"
    assert verdicts(known, levels(make_record(count=8), 1, fell))[1] is Verdict.PASS
    repaired = adopted(run, store(6, "repaired", size=8, change=machine(2)))
    assert repaired.pair_classes("hgx", TESTCASE).pair_class("gpu2->gpu3") == "PIX"
    assert verdicts(repaired, levels(make_record(count=8), 1, switches))[1] is Verdict.PASS
    assert verdicts(repaired, levels(make_record(count=8), 1, fell))[1] is Verdict.FAIL


def test_a_pair_that_stays_while_its_class_is_raised_keeps_its_reference(run, store, make_record):
    adopted(run, store())
    off = {(r, c): 1.05 for r, c in permutations(range(4), 2) if (r, c) != (0, 1)}
    known = adopted(run, store(6, "raised", change=machine(1, lambda r, c: "NV18", off)), "--as-is", "a new driver")
    table = known.table("hgx", TESTCASE)
    assert table["cell[NV18]"].value == pytest.approx(416, rel=0.005)
    assert table["gpu0->gpu1"].value == pytest.approx(396, rel=0.005)


def test_more_endpoints_are_added_to_the_classes(run, store):
    adopted(run, store())
    known = adopted(run, store(6, "eight", size=8))
    assert (
        known.pair_classes("hgx", TESTCASE).groups["NV18"][0]
        == PairClasses.read({"NV18": "gpu[0-3]->gpu[0-3]"}).groups["NV18"][0]
    )
    assert set(known.cells("hgx", TESTCASE)) == set(permutations([f"gpu{number}" for number in range(8)], 2))


def between(make_record, nodes, number=0, inside=switches):
    content = of_ranks(make_record, [f"n{number}{node}" for node in range(nodes)], 4, False, lambda a, b: 24.0)
    return levels(content, number, lambda r, c: inside(r % 4, c % 4) if r // 4 == c // 4 else "NET")


def test_between_many_nodes_the_classes_inside_of_one_are_enough(run, make_record, write_record, tmp_path):
    for number in range(6):
        content = between(make_record, 8, number) | {"started": f"2026-11-1{number}T01:50:22Z"}
        write_record(content, tmp_path / "runs" / f"{number}" / "record.json")
    known = adopted(run, tmp_path / "runs").for_check("crossnode_matrix")
    assert known.pair_classes("hgx", RANKS).texts() == {
        "PIX": "node*:rank[0-1]->rank[0-1], node*:rank[2-3]->rank[2-3]",
        "SYS": "node*:rank[0-1]->rank[2-3], node*:rank[2-3]->rank[0-1]",
    }
    assert {"cell[PIX]", "cell[SYS]", "cell[NET]"} <= set(known.table("hgx", RANKS))
    for nodes in (5, 12):
        assert verdicts(known, between(make_record, nodes, 9))[1] is Verdict.PASS
    fell = between(make_record, 8, 9, lambda r, c: "SYS" if (r, c) == (2, 3) else switches(r, c))
    assert verdicts(known, fell)[0] == {(f"n9{n}:rank{4 * n + 2}", f"n9{n}:rank{4 * n + 3}") for n in range(8)}


values = st.floats(10, 400).map(lambda number: float(f"{number:.5g}"))
cells = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 5))
    .filter(lambda pair: pair[0] != pair[1])
    .map("gpu{0[0]}->gpu{0[1]}".format),
    st.tuples(
        st.sampled_from(["NV18", "PIX"]), st.builds(Reference, values, st.just(-0.02), st.just(0.05), st.just("GB/s"))
    ),
    min_size=1,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells, st.dictionaries(st.sampled_from(["NV18", "PIX"]), values), st.data())
def test_what_is_adopted_is_what_each_cell_has_when_the_file_is_read(tmp_path, pairs, of_class, data):
    classes = {f"cell[{name}]": Reference(value, -0.03, 0.06, "GB/s") for name, value in of_class.items()}
    own = {name for name, (group, _) in pairs.items() if group not in of_class or data.draw(st.booleans())}
    table = classes | {name: pairs[name][1] for name in own}
    proposal = Proposal(
        "case", "GB/s", table, len(pairs), 6, dict.fromkeys(("NV18", "PIX"), 0.001), ("now",), pairs=pairs
    )
    proposal = fit_to_table(proposal, {}, PairClasses({}))
    key = ("intranode_p2p", "hgx", "case")
    changes = {key: (proposal, table_changes({}, proposal, PairClasses({}).with_groups(proposal.groups)))}
    file = tmp_path / "p2p.yaml"
    text = updated_text("", changes, None)
    write(file, text, changes)
    assert text == file.read_text()
    found = References.load(file).cells("hgx", "case")
    wanted = {
        tuple(name.split("->")): pairs[name][1] if name in own else classes[f"cell[{pairs[name][0]}]"] for name in pairs
    }
    assert {pair: found[pair] for pair in wanted} == wanted
    assert set(found) == set(wanted)


def with_host(content, testcase, gpus=4):
    """Makes the record one of copies between GPUs and the memory of their only NUMA node."""
    result, devices = content["results"][0], [f"gpu{number}" for number in range(gpus)]
    rows, columns = (["numa0"], devices) if testcase == H2D else (devices, ["numa0"])
    for name, grid in result.items():
        if isinstance(grid, list) and grid and isinstance(grid[0], list):
            result[name] = [[grid[0][1] for _ in columns] for _ in rows]
    result |= {"testcase": testcase, "rows": rows, "columns": columns, "sampled": None}
    result["link_class"] = [["HOST" for _ in columns] for _ in rows]
    return {**content, "expected": [testcase]}


def test_adopting_one_direction_leaves_the_references_of_the_other(run, store, make_record):
    """The class HOST of a table is of both. It was of the adopted direction alone, and the other had no references."""
    rows = "      cell[HOST]: [396, -0.02, 0.05, GB/s]\n"
    run.file.parent.mkdir()
    run.file.write_text(f"intranode_p2p:\n  hgx:\n    {H2D}:\n{rows}    {D2H}:\n{rows}")

    def judged(testcase, gpus=4):
        return verdicts(References.load(run.file), with_host(make_record(count=gpus, value=396.0), testcase, gpus))[1]

    adopted(run, store(change=lambda content, number: content.update(with_host(content, H2D))))
    assert (judged(H2D), judged(D2H), judged(H2D, gpus=5)) == (Verdict.PASS, Verdict.PASS, Verdict.INCOMPLETE)
    adopted(run, store(folder="back", change=lambda content, number: content.update(with_host(content, D2H))))
    assert (judged(H2D), judged(D2H), judged(D2H, gpus=5)) == (Verdict.PASS, Verdict.PASS, Verdict.INCOMPLETE)
