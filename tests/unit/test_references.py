"""References: a table with a hole, a typo or a number that can never fail is refused, with its file and key."""

from itertools import permutations, product
from pathlib import Path

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.references import keys, tables
from linkmatrix.references import reading as reference_files
from linkmatrix.references.tables import FOLDER, References

DATA = Path(__file__).parents[1] / "data"
HEAD = "intranode_p2p:\n  $index: [reference_name, testcase]\n"


def refusal(tmp_path, text):
    """What is said of a file with this text: one line that names the file."""
    file = tmp_path / "p2p.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        References.load(tmp_path)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("name", "count", "testcases"), [("hgx-h200", 8, 55), ("hgx-h200-half", 4, 63)])
def test_the_references_that_are_shipped_cover_every_pair_and_class(name, count, testcases):
    references = References.load()
    assert Path(FOLDER).name == "references"
    assert {"hgx-h200", "hgx-h200-half", "abci-anode", "abci-vnode"} <= set(references.names())
    assert len(references.testcases(name)) == testcases
    pairs = set(permutations([f"gpu{index}" for index in range(count)], 2))
    for testcase in references.testcases(name):
        if testcase.startswith("device_to_device"):
            assert set(references.cells(name, testcase)) == pairs, testcase


def test_a_recorded_run_of_the_same_gpus_is_within_them():
    found = evaluate(reading.load(DATA / "h200x4_full.record.json"), References.load(), "hgx-h200-half")
    assert found.verdict in (Verdict.PASS, Verdict.WARN), [
        cell.reason for matrix in found.matrices for cell in matrix.cells.values() if cell.verdict > Verdict.WARN
    ]
    assert len(found.matrices) == 60


def test_the_table_in_the_documentation_is_of_all_pairs_of_eight_gpus(tmp_path):
    text = (FOLDER.parents[1] / "docs" / "references.md").read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "mine.yaml").write_text(example)
    known = References.load(tmp_path).for_check("intranode_p2p")
    gpus, numas = [f"gpu{number}" for number in range(8)], ["numa0", "numa1"]
    found = known.cells("mynode", "device_to_device_memcpy_write_ce", gpus, gpus)
    assert set(found) == set(permutations(gpus, 2)) and found["gpu2", "gpu5"].value == 380
    assert {one.value for pair, one in found.items() if pair != ("gpu2", "gpu5")} == {395}
    assert set(known.cells("mynode", "host_to_device_memcpy_ce", numas, gpus)) == set(product(numas, gpus))
    assert len(example.splitlines()) <= 15


VALUE, TOLERANCE, NO_REFERENCE = "not a positive number", "neither a fraction from", "is not a reference"
MAXIMUM, UPPER, LOWER = "more than the maximum 1000000000", "needs an upper tolerance", "needs a lower tolerance"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[.nan, -0.1, 0.1, GB/s]", VALUE),
        ("[0, -0.1, 0.1, GB/s]", VALUE),
        ("[-5, -0.1, 0.1, GB/s]", VALUE),
        ("['400', -0.1, 0.1, GB/s]", VALUE),
        ("[true, -0.1, 0.1, GB/s]", VALUE),
        ("[.inf, -0.1, 0.1, GB/s]", MAXIMUM),
        ("[1000000001, -0.1, 0.1, us]", MAXIMUM),
        ("[2.5e+9, -0.1, 0.1, GB/s]", MAXIMUM),
        (f"[{'9' * 400}, -0.1, 0.1, GB/s]", MAXIMUM),
        ("[400, 0.1, 0.1, GB/s]", TOLERANCE),
        ("[400, -1.5, 0.1, GB/s]", TOLERANCE),
        ("[400, -0.1, -0.1, GB/s]", TOLERANCE),
        ("[400, .nan, 0.1, GB/s]", TOLERANCE),
        (f"[400, -0.1, {'9' * 400}, GB/s]", TOLERANCE),
        ("[395, -0.91, 0.05, GB/s]", TOLERANCE),
        ("[395, -0.1, 9.1, GB/s]", TOLERANCE),
        ("[2.3, -0.25, 9.1, us]", TOLERANCE),
        ("[2.3, -0.91, 0.2, us]", TOLERANCE),
        ("[400, null, null, GB/s]", LOWER),
        ("[395, null, 0.05, GB/s]", LOWER),
        ("[2.3, -0.25, null, us]", UPPER),
        ("[400, -0.1, 0.1, MB/s]", "the unit 'MB/s' is unknown: use GB/s or us"),
        ("[400, -0.1, 0.1]", NO_REFERENCE),
        ("[400, -0.1, 0.1, GB/s, more]", NO_REFERENCE),
        ("400", NO_REFERENCE),
        ("null", NO_REFERENCE),
        ("{value: 400}", NO_REFERENCE),
    ],
)
def test_what_is_no_reference_is_refused_with_its_key(tmp_path, value, said):
    found = refusal(tmp_path, f"{HEAD}  hgx:\n    case:\n      gpu0->gpu1: {value}\n")
    assert "intranode_p2p.hgx.case.gpu0->gpu1" in found and said in found


@pytest.mark.parametrize(
    "words",
    ["", "ticket 4711, ", "until 2026-12-31, ", "ticket until 2026-13-31, ", "[a], ", "a until 2026-12-31, b, "],
)
def test_a_waiver_without_a_last_day_is_refused(tmp_path, words):
    said = refusal(tmp_path, f"{HEAD}  hgx:\n    case:\n      a->b: [$xfail, {words}[395, -0.1, 0.1, GB/s]]\n")
    assert "intranode_p2p.hgx.case.a->b" in said and "not a waiver" in said


def test_the_side_without_faults_needs_no_limit(tmp_path):
    """Slow is below for a bandwidth and above for a latency; no limit on the other side is none that hides a fault."""
    file = tmp_path / "p2p.yaml"
    good = {"a->b": "[395, -0.9, null, GB/s]", "b->a": "[395, -0.02, 9, GB/s]", "a->c": "[2.3, null, 9, us]"}
    good["c->a"] = "[1000000000, null, 9, us]"
    lines = "".join(f"      {name}: {value}\n" for name, value in good.items())
    file.write_text(f"{HEAD}  hgx:\n    case:\n{lines}")
    assert set(References.load(file).table("hgx", "case")) == set(good)


@pytest.mark.parametrize("number", ["0777", "3:20:10", "3:20.5", "1_000", "0x18B", "0b1", "1_0.5"])
def test_a_number_that_yaml_reads_as_another_is_refused_as_it_is_written(tmp_path, number):
    said = refusal(tmp_path, f"{HEAD}  hgx:\n    case:\n      a->b: [{number}, -0.1, 0.1, GB/s]\n")
    assert f"'{number}'" in said and "line 5" in said


@pytest.mark.parametrize("key", ["no", "on", "off", "0777", "3:20", "2026-11-21", "null", "~", "1.0", "<<"])
def test_a_key_that_yaml_reads_as_something_else_is_refused(tmp_path, key):
    refusal(tmp_path, f"{HEAD}  {key}:\n    case:\n      a->b: [400, -0.1, 0.1, GB/s]\n")
    (tmp_path / "p2p.yaml").write_text(f"{HEAD}  '{key}':\n    case:\n      a->b: [400, -0.1, 0.1, GB/s]\n")
    assert References.load(tmp_path).names() == [key]


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, "{a: " * 1000], ids=["lists", "dashes", "mappings"])
def test_what_is_nested_deeper_than_references_is_refused(tmp_path, text):
    """libyaml's builder overran the stack: the process was gone by SIGSEGV, without a word."""
    said = refusal(tmp_path, text)
    assert "nesting is deeper than" in said or "maximum nesting depth" in said  # of libyaml itself, since 0.2.6


@pytest.mark.parametrize(
    "value",
    ["!!float [1]", "!!int {a: 1}", "!!bool maybe", "!!timestamp x", "!!float '400'", "!!python/name:os.x ''", "!a 1"],
)
def test_a_tag_is_refused_whatever_it_makes_of_its_text(tmp_path, value):
    """PyYAML let Python's KeyError, TypeError or AttributeError through."""
    said = refusal(tmp_path, f"{HEAD}  hgx:\n    case:\n      a->b: [{value}, -0.1, 0.1, GB/s]\n")
    assert "the tag" in said and "remove the tag" in said and "line 5" in said


def test_a_key_that_comes_twice_is_refused(tmp_path):
    line = "      gpu0->gpu1: [400, -0.1, 0.1, GB/s]\n"
    assert "the key 'gpu0->gpu1' is repeated" in refusal(tmp_path, f"{HEAD}  hgx:\n    case:\n{line}{line}")
    assert "YAML does not read the key" in refusal(tmp_path, f"{HEAD}  hgx:\n    case:\n      ? [a, b]\n      : 1\n")


@pytest.mark.parametrize(
    "text",
    [
        "intranode_p2p: [1, 2]",
        "- a\n- b",
        "intranode_p2p:\n  $index: [testcase]\n  hgx: {}\n",
        "a: {",
        "a: !!python/name:os.system",
    ]
    + ["a: 2026-99-99", "a: " + "9" * 5000, "a: " + "[" * 3000 + "]" * 3000],
    ids=["list", "no mapping", "another index", "cut", "python", "no day", "long number", "deep"],
)
def test_another_layout_is_refused(tmp_path, text):
    refusal(tmp_path, text + "\n")


def test_a_table_in_two_files_is_refused(tmp_path):
    text = f"{HEAD}  hgx:\n    case:\n      gpu0->gpu1: [400, -0.1, 0.1, GB/s]\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(text.replace("400", "401"), encoding="utf-8")
    with pytest.raises(BadInput, match="already"):
        References.load(tmp_path)


def test_two_checks_may_share_a_table(tmp_path):
    text = f"{HEAD}  hgx:\n    case: &shared\n      gpu0->gpu1: [400, -0.1, 0.1, GB/s]\n"
    (tmp_path / "a.yaml").write_text(f"{text}other:\n  $index: [reference_name, testcase]\n  hgx: {{case: *shared}}\n")
    assert References.load(tmp_path).cells("hgx", "case")["gpu0", "gpu1"].value == 400


def test_a_package_without_a_repository_says_how_references_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "FOLDER", tmp_path / "none")
    with pytest.raises(BadInput) as caught:
        References.load(None)
    said = "config/references is missing here and in the folders above: name one with --references DIR"
    assert str(caught.value) == said


def test_a_refusal_names_what_is_no_mapping_and_is_no_page_long(tmp_path):
    assert refusal(tmp_path, "- a\n").endswith("p2p.yaml: the file must be a mapping, and is a list")
    key = "k" * 500
    said = refusal(tmp_path, f"{key}: 1\n{key}: 2\n").partition("is not valid YAML: ")[2]
    assert len(said) == 200 and said.startswith("the key 'kkk")


WAIVED = ["$xfail", "ticket 4711 until 2026-12-31", [396.0, -0.02, 0.02, "GB/s"]]


def test_a_waiver_has_its_text_and_its_reference():
    one = reference_files.reference(WAIVED, "here")
    assert (one.value, one.waiver) == (396.0, "ticket 4711 until 2026-12-31")


@pytest.mark.parametrize(("unit", "kind"), [("us", "a latency needs an upper"), ("GB/s", "a bandwidth needs a lower")])
def test_a_reference_that_no_fault_exceeds_is_refused(unit, kind):
    with pytest.raises(BadInput, match=kind):
        reference_files.reference([1.0, None, None, unit], "here")


def test_a_record_of_no_check_is_the_usual_measurement():
    assert keys.measured_variant({}) == keys.measured_variant({"asked_by": None}) == ""


def test_only_an_option_that_the_references_do_not_describe_is_refused():
    assert tables.refused_option(["--samples=9"], "intranode_p2p", "size") == ""
    refused = tables.refused_option(["--size=1MiB"], "intranode_p2p", "size")
    assert "--size is refused" in refused and "-S intranode_p2p.size=SIZE" in refused


def test_the_program_gets_its_references_as_lines(tmp_path, monkeypatch):
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(tmp_path))
    lines = ["    cell[NV18]: [396.0, -0.02, 0.02, GB/s]", "    gpu0->gpu1: [395.5, -0.02, 0.02, GB/s]"]
    text = "\n".join(
        ["intranode_p2p:", "  hgx:", "   a_testcase:", *lines, "    min[NV18]: [390.0, -0.02, 0.02, GB/s]"]
    )
    (tmp_path / "p2p.yaml").write_text(text + "\n")
    found = tables.program_references("intranode_p2p", "hgx", "a_testcase")
    assert set(found) == {
        "a_testcase\tcell[NV18]\t396.0\tGB/s",
        "a_testcase\tgpu0->gpu1\t395.5\tGB/s",
    }
    assert tables.program_references("intranode_p2p", "another", "a_testcase") == ()
