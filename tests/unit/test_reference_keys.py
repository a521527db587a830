"""References are found by check, table and test case, and the name of a table says what was measured."""

import json
from itertools import permutations
from pathlib import Path

import pytest
import yaml

from linkmatrix import cli
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references import keys
from linkmatrix.references.tables import References
from linkmatrix.runs import stored

RANKS, NODES = "rank_to_rank_bandwidth_mpi", "node_to_node_bandwidth_mpi"
HEAD = "  $index: [reference_name, testcase]\n"


def of_ranks(make_record, asked_by, testcase=RANKS, value=24.0, count=4, size=1 << 20, memory="host"):
    """A record of ranks on nodes of their own, asked for by a check."""
    content = make_record(count=count, value=value)
    (result,) = content["results"]
    names = [f"n{17 + index}" for index in range(count)]
    labels = [f"{node}:rank{index}" for index, node in enumerate(names)]
    rows = names if testcase.startswith("node") else labels
    classes = [["X" if r == c else "NET" for c in range(count)] for r in range(count)]
    result.update(testcase=testcase, rows=rows, columns=rows, memory=memory, size_bytes=size, link_class=classes)
    content["backend"] = result["engine"] = result["transport"] = "mpi"
    content["topology"] = {**content["topology"], "labels": labels}
    for device, label, node in zip(content["devices"], labels, names, strict=True):
        device.update(label=label, node=node, place={"node": node})
    content["asked_by"] = asked_by
    return content


@pytest.fixture
def adopt(tmp_path, make_record, write_record, capsys):
    """Writes six runs of each (asked_by, test case, value, …), adopts them all at once: (exit code, output, file)."""
    file = tmp_path / "references" / "p2p.yaml"

    def run(*kinds, table="cluster"):
        for place, kind in enumerate(kinds):
            for number in range(6):
                content = of_ranks(make_record, **kind)
                content["started"] = f"2026-11-{10 + number}T01:50:22Z"
                write_record(content, tmp_path / "runs" / f"{place}-{number}" / "record.json")
        code = cli.main(["adopt", str(tmp_path / "runs"), "--table", table, "--file", str(file), "--write"])
        return code, capsys.readouterr().out, file

    return run


TWO, ALL = "crossnode_matrix %testcase=x %extent=two", "crossnode_matrix %testcase=x %extent=all"


def test_the_same_test_case_of_two_checks_and_extents_is_adopted_where_reframe_looks(adopt, make_record):
    code, out, file = adopt(
        {"asked_by": f"rank_p2p %testcase={RANKS}", "value": 96.0},
        {"asked_by": TWO, "value": 24.0, "count": 2},
        {"asked_by": ALL, "value": 20.0},
        {"asked_by": "crossnode_device_matrix %testcase=x %extent=all", "value": 45.0, "memory": "device"},
        {"asked_by": ALL, "testcase": NODES, "value": 21.0},
    )
    assert code == 0, out
    found = yaml.safe_load(file.read_text())
    assert {check: sorted(tables) for check, tables in found.items()} == {
        "rank_p2p": ["cluster"],
        "crossnode_matrix": ["cluster", "cluster@all"],
        "crossnode_device_matrix": ["cluster@all@device"],
    }
    assert {row[0] for name, row in found["crossnode_matrix"]["cluster@all"][NODES].items() if name != "$classes"} == {
        21.0
    }
    assert found["crossnode_matrix"]["cluster@all"][RANKS]["cell[NET]"][0] == 20.0
    references = References.load(file)
    for asked_by, table, value in ((ALL, "cluster@all", 20.0), (f"rank_p2p %testcase={RANKS}", "cluster", 96.0)):
        good = evaluate(of_ranks(make_record, asked_by, value=value), references, table)
        assert good.verdict is Verdict.PASS, asked_by
        bad = evaluate(of_ranks(make_record, asked_by, value=0.9 * value), references, table)
        assert bad.verdict is Verdict.FAIL, asked_by
    better = evaluate(of_ranks(make_record, ALL, value=25.0), references, "cluster@all")  # 24.0 is that of two nodes
    assert better.verdict is Verdict.NOT_JUDGED and better.matrices[0].compared == 12


def test_a_check_is_not_held_against_the_references_of_another(adopt, make_record):
    _, _, file = adopt({"asked_by": f"rank_p2p %testcase={RANKS}"})
    other = evaluate(of_ranks(make_record, TWO), References.load(file), "cluster")
    assert other.verdict is Verdict.NOT_JUDGED and other.matrices[0].unjudged == 12


def test_a_record_that_no_check_asked_for_has_the_references_of_what_it_measured(tmp_path, make_record):
    lines = {"rank_p2p": 96, "crossnode_matrix": 24, "crossnode_device_matrix": 45, "process_p2p": 300}
    pairs = [f"rank{a}->rank{b}" for a, b in permutations(range(4), 2)]
    (tmp_path / "p2p.yaml").write_text(
        "".join(
            f"{check}:\n{HEAD}  cluster:\n    {RANKS}:\n"
            + "".join(f"      {pair}: [{value}, -0.02, 0.05, GB/s]\n" for pair in pairs)
            for check, value in lines.items()
        )
    )
    references = References.load(tmp_path)

    def judged(value, node=None, memory="host"):
        content = of_ranks(make_record, None, value=value, memory=memory)
        for device in content["devices"]:
            device["node"] = node or device["node"]
        return evaluate(content, references, "cluster").verdict

    assert judged(96.0, node="n17") is judged(24.0) is judged(45.0, memory="device") is Verdict.PASS
    assert judged(300.0, node="n17", memory="device") is Verdict.PASS
    assert judged(24.0, node="n17") is judged(24.0, memory="device") is Verdict.FAIL
    assert judged(96.0) is judged(96.0, memory="device") is Verdict.NOT_JUDGED  # better than its reference


def test_a_sweep_is_adopted_and_each_size_is_held_against_its_own_reference(adopt, tmp_path, make_record, write_record):
    sizes = {0: None, 1: 0.0005, 4096: 2.0}

    def sweep(change=lambda size: 1.0):
        content = of_ranks(make_record, f"crossnode_sweep %testcase={RANKS}", count=2)
        results = []
        for size, value in sizes.items():
            number = (value or 0.001) * change(size)
            one = of_ranks(make_record, None, count=2, value=number, size=size)["results"][0]
            one["verified"] = None if size == 0 else True
            results.append(one)
        content["results"] = results
        return content

    for number in range(6):
        content = sweep() | {"started": f"2026-11-{10 + number}T01:50:22Z"}
        write_record(content, tmp_path / "runs" / str(number) / "record.json")
    code, out, file = adopt()
    assert code == 0, out
    table = yaml.safe_load(file.read_text())["crossnode_sweep"]["cluster@sweep"][RANKS]
    assert {name: line[0] for name, line in table.items()} == {"NET@0": 0.001, "NET@1": 0.0005, "NET@4096": 2.0}
    references = References.load(file)
    good = evaluate(sweep(), references, "cluster@sweep")
    assert good.verdict is Verdict.PASS, [one.cells for one in good.matrices]
    slow = evaluate(sweep(lambda size: 0.95 if size == 4096 else 1.0), references, "cluster@sweep")
    assert [one.verdict for one in slow.matrices] == [Verdict.PASS, Verdict.PASS, Verdict.FAIL]


def test_what_two_checks_share_in_the_file_changes_for_the_one_that_was_measured(tmp_path, adopt):
    file = tmp_path / "references" / "p2p.yaml"
    file.parent.mkdir()
    line = "      'cell[NET]': [20.0, -0.02, 0.05, GB/s]\n"
    file.write_text(
        f"rank_p2p:\n{HEAD}  cluster:\n    {RANKS}: &shared\n{line}"
        f"crossnode_matrix:\n{HEAD}  cluster:\n    {RANKS}: *shared\n"
    )
    code, out, _ = adopt({"asked_by": TWO, "value": 24.0, "count": 2})
    assert code == 0, out
    found = yaml.safe_load(file.read_text())
    assert found["rank_p2p"]["cluster"][RANKS] == {"cell[NET]": [20.0, -0.02, 0.05, "GB/s"]}
    assert found["crossnode_matrix"]["cluster"][RANKS]["cell[NET]"][0] == 24.0


def test_a_table_that_is_named_keeps_what_was_measured(tmp_path, make_record, write_record, capsys):
    """--reference says which machine; a matrix of all nodes is still none of two."""
    record = write_record(of_ranks(make_record, ALL, value=20.0))
    file = tmp_path / "references" / "p2p.yaml"
    file.parent.mkdir()
    lines = "".join(f"      rank{a}->rank{b}: [20, -0.02, 0.05, GB/s]\n" for a, b in permutations(range(4), 2))
    text = f"crossnode_matrix:\n{HEAD}  cluster:\n    {RANKS}:\n{lines}"
    show = ["show", str(record), "--reference", "cluster", "--references", str(file.parent)]
    file.write_text(text)
    assert cli.main(show) == 0 and "NOT JUDGED" in capsys.readouterr().out
    file.write_text(f"{text}  cluster@all:\n    {RANKS}:\n{lines}")
    assert cli.main(show) == 0 and "PASS" in capsys.readouterr().out


def test_what_of_a_machine_was_measured_is_in_the_report(tmp_path, make_record, write_record):
    folder = tmp_path / "output"
    write_record(of_ranks(make_record, ALL), folder / "record.json")
    case = {
        "name": "crossnode_matrix",
        "result": "pass",
        "outputdir": str(folder),
        "reference_name": "cluster@all@crossed",
    }
    for more, wanted in (({"reference_variant": "@all@crossed"}, "@all@crossed"), ({}, "@all@crossed")):
        report = {"session_info": {}, "runs": [{"testcases": [case | more]}]}
        (tmp_path / "run-report-1.json").write_text(json.dumps(report))
        (test,) = stored.find(tmp_path / "run-report-1.json").tests
        assert (test.reference, test.variant) == ("cluster@all@crossed", wanted)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("hgx@512MiB", True),
        ("hgx@all@512MiB", True),
        ("hgx@512MIB", False),
        ("hgx@1MiB", False),
        ("hgx", False),
        ("hgy@512MiB", False),
    ],
)
def test_a_misspelt_table_is_unknown(name, known):
    text = f"intranode_p2p:\n{HEAD}  hgx@512MiB:\n    write:\n      gpu0->gpu1: [396, -0.02, 0.05, GB/s]\n"
    references = References.read(text, Path("p2p.yaml"))
    assert references.has_table(name) is known and references.covers(name, "other") is not known


@pytest.mark.parametrize(
    ("table", "size"),
    [
        ("hgx@1MiB", 1 << 20),
        ("hgx@all@4KiB", 4096),
        ("hgx@512", 512),
        ("hgx@2M", None),
        ("hgx@all", None),
        ("1MiB", None),
        ("hgx@x1MiB", None),
        ("hgx", None),
    ],
)
def test_a_table_says_its_size_behind_an_at_sign(table, size):
    assert keys.table_size(table) == size


@pytest.mark.parametrize(
    ("engine", "backend", "check"),
    [
        ("ce", "cuda", "intranode_p2p"),
        ("mpi", "cuda", "rank_p2p"),
        ("ce", "mpi", "rank_p2p"),
        ("mpi", "mpi", "rank_p2p"),
        ("nccl", "cuda", "device_sends"),
        ("nccl", "mpi", "device_sends"),
    ],
)
def test_ranks_are_known_by_their_engine_or_their_program(make_record, engine, backend, check):
    content = make_record()
    content["backend"] = backend
    result = content["results"][0] | {"engine": engine, "memory": "host"}
    assert keys.measuring_check(content, result) == check
    assert keys.measuring_check(content | {"asked_by": "node_sweep %x=1"}, result) == check  # measures for others
    assert keys.measuring_check(content | {"asked_by": "another %x=1"}, result) == "another"


@pytest.mark.parametrize(
    ("engine", "nodes", "check"),
    [
        ("nccl", 1, "device_collectives"),
        ("nccl", 2, "node_device_collectives"),
        ("mpi", 1, "rank_collectives"),
        ("mpi", 2, "node_collectives"),
        ("nccl", None, "collective_perf"),
    ],
)
def test_collectives_have_the_references_of_the_check_that_measures_the_same(make_record, engine, nodes, check):
    content = make_record()
    for number, device in enumerate(content["devices"]):
        device["node"] = f"n{number % (nodes or 1)}"
    if nodes is None:
        content["devices"] = []
    result = content["results"][0] | {"engine": engine, "rows": ["all"], "columns": ["out-of-place", "in-place"]}
    assert keys.measuring_check(content, result) == check
    assert keys.measuring_check(content | {"asked_by": "another %x=1"}, result) == "another"


def test_what_nobody_asked_for_is_the_usual():
    assert keys.measured_variant({}) == keys.measured_variant({"asked_by": None}) == ""
    assert keys.requesting_check({"asked_by": "node_sweep"}) == keys.requesting_check({}) == ""


@pytest.mark.parametrize(
    ("changes", "variant", "words"),
    [
        ({"engine": "mpi", "memory": "device", "transport": "mpi"}, "@device", ", device memory, mpi"),
        (
            {"engine": "mpi", "memory": "device", "transport": "staged"},
            "@device@without_gdrcopy",
            ", device memory, staged, without gdrcopy",
        ),
        ({"engine": "mpi", "memory": "host", "pairs": 4}, "", ", 4 pairs"),
        ({"engine": "nccl", "rows": ["all"]}, "", ", 4 ranks on one node"),
        (
            {"engine": "mpi", "rows": ["all"], "memory": "host"},
            "",
            ", 4 ranks on one node, MPI between host memory",
        ),
        (
            {"engine": "host", "rows": ["all"], "memory": "host", "metric": "compute"},
            "",
            ", 4 ranks on one node, cores of a host",
        ),
    ],
)
def test_words_distinguish_results_of_one_test_case(make_record, changes, variant, words):
    record = make_record()
    result = {**record["results"][0], "notes": [], **changes}
    assert keys.distinguishing_words(record, result, variant) == words
    imported = {**record, "imported": {"program": "osu_bw", "nodes": 1, "ranks": 4}}
    assert keys.distinguishing_words(imported, result, variant) == f"{words}, by osu_bw"
