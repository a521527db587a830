"""Matrices of many endpoints get the verdicts, summaries and references that small ones get, in either form."""

import copy
import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import one_by_one
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.judge import evaluate
from linkmatrix.judge.verdicts import Verdict, worst
from linkmatrix.record import compact, grids, matrix, reading
from linkmatrix.references import noise
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import stored

pytestmark = pytest.mark.usefixtures("wide_terminal")

DATA = Path(__file__).parents[1] / "data"
RECORDS = sorted(path.name for path in DATA.glob("*.record.json"))
TESTCASE = "device_to_device_memcpy_write_ce"


SHIPPED = References.load()


def plain(content):
    """A record with lists of lists again."""
    if isinstance(content, grids.Grid):
        return [content[row] for row in range(len(content))]
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    return [plain(value) for value in content] if isinstance(content, list) else content


def same_verdicts(result, references, name):
    """What is judged in one go is what the rules say of each cell alone, one after the other."""
    found = evaluate.judge_matrix(result, references, name)
    cells = one_by_one.cells_of(result, references, name)
    assert dict(found.cells) == cells
    assert found.counts == {verdict: sum(cell.verdict is verdict for cell in cells.values()) for verdict in Verdict}
    assert found.verdict is worst(cell.verdict for cell in cells.values())
    assert found.unjudged == sum(cell.unjudged for cell in cells.values())
    assert found.held == sum(cell.reference is not None for cell in cells.values())
    assert {name: tuple(vars(one).values()) for name, one in found.matrix.classes.items()} == one_by_one.classes(result)
    bad = [cell.verdict for cell in cells.values() if cell.verdict is not Verdict.PASS and not cell.unjudged]
    marked, count = found.marked(5)
    assert count == len(bad) and [cell.verdict for _, cell in marked] == sorted(bad, reverse=True)[:5]
    assert all(cells[pair] == cell for pair, cell in marked)
    for (row, column), cell in cells.items():
        if row in result["rows"] and column in result["columns"]:
            r, c = result["rows"].index(row), result["columns"].index(column)
            assert found.whole.codes[r, c] == cell.verdict
            expected = cell.reference if cell.reference and cell.reference.unit == result["unit"] else None
            limits = (expected.value, expected.low_limit, expected.high_limit) if expected else (np.nan,) * 3
            told = (found.whole.value[r, c], found.whole.low[r, c], found.whole.high[r, c])
            assert np.array_equal(told, limits, equal_nan=True)
            if cell.deviation is not None:
                worse = cell.deviation if result["unit"] == "us" else -cell.deviation
                assert found.worse((row, column)) == worse


@pytest.mark.parametrize("name", RECORDS)
def test_real_matrices_are_judged_alike(name):
    content = reading.load(DATA / name)
    for result in content["results"]:
        for table in ("hgx-h200-half", None):
            same_verdicts(result, SHIPPED, table)


CELL = st.one_of(
    st.sampled_from(["ok"] * 6 + ["corrupt", "timeout", "not-run", "no-peer-access"]), st.floats(300.0, 480.0)
)


def test_a_compact_matrix_is_judged_as_the_json_is(tmp_path):
    path = tmp_path / "record.npz"
    path.write_bytes(compact.pack(reading.load(DATA / "h200x4_write_ce.record.json")))
    (result,) = compact.load(path)["results"]
    same_verdicts(result, SHIPPED, "hgx-h200-half")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(CELL, min_size=12, max_size=12),
    st.dictionaries(
        st.sampled_from(["gpu0->gpu1", "gpu2->gpu3", "gpu3->gpu0", "gpu0->gpu9", "cell[NV18]", "cell[unknown]"]),
        st.builds(
            Reference,
            st.floats(350.0, 450.0),
            st.sampled_from([-0.02, -0.2, None]),
            st.sampled_from([0.0, 0.1]),
            st.sampled_from(["GB/s", "GB/s", "us"]),
        ),
    ),
    st.sampled_from([True, False, None]),
    st.floats(0.0, 0.1),
    st.sampled_from(["GB/s", "us"]),
)
def test_any_matrix_is_judged_alike(make_record, cells, table, verified, width, unit):
    pairs = [(r, c) for r in range(4) for c in range(4) if r != c]
    off = {pair: cell for pair, cell in zip(pairs, cells, strict=True) if cell != "ok"}
    result = make_record(off=off)["results"][0]
    result.update(unit=unit, verified=verified and result["verified"])
    result["link_class"][1][2] = ""
    for r, c in pairs:
        if result["values"][r][c] is not None:
            result["low"][r][c] *= 1 - width
            result["high"][r][c] *= 1 + width
    same_verdicts(result, References({("hgx", TESTCASE): table}), "hgx")


@pytest.mark.thorough
@pytest.mark.parametrize("name", RECORDS)
def test_the_compact_form_is_the_record(tmp_path, name):
    content = reading.load(DATA / name)
    path = tmp_path / "record.npz"
    path.write_bytes(compact.pack(content))
    loaded = compact.load(path)
    assert plain(loaded) == content
    for result, other in zip(loaded["results"], content["results"], strict=True):
        assert matrix.from_result(result).cells == matrix.from_result(other).cells


def test_a_damaged_archive_is_one_sentence_wherever_it_is_cut_or_changed(tmp_path, make_record):
    path, good = tmp_path / "record.npz", compact.pack(make_record())
    chance = random.Random(1)
    said = 0
    for place in [*range(0, len(good), 97), *(chance.randrange(len(good)) for _ in range(150))]:
        for content in (good[:place], good[:place] + bytes([good[place] ^ 0x5A]) + good[place + 1 :]):
            path.write_bytes(content)
            try:
                loaded = plain(compact.load(path))
            except BadInput as error:
                said += 1
                assert str(path) in str(error) and "\n" not in str(error)
            else:  # a time or an attribute of a member, which holds nothing
                assert loaded == make_record()
    assert said > 100


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("record.json", b" " * (reading.MOST_BYTES + 1)),
        ("record.json", b"[" * 1_000_000),
        ("record.json", b'{"record": 1e999, "words": {}}'),
        ("record.json", b'{"record": {"notes": ["\\ud800"]}, "words": {}}'),
        ("record.json", b'{"record": {}, "record": {}, "words": {}}'),
        ("0.values.npy", b"\0" * (1 << 26)),
        ("0.values.npy", None),
    ],
    ids=["long", "deep", "infinite", "half a character", "twice", "another", "longer than it says"],
)
def test_an_archive_that_grows_when_it_is_read_is_refused(tmp_path, make_record, member, content):
    good, path = zipfile.ZipFile(io.BytesIO(compact.pack(make_record()))), tmp_path / "record.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in good.namelist():
            longer = good.read(name) + b"\0" * (1 << 26)
            archive.writestr(name, (content or longer) if name == member else good.read(name))
    with pytest.raises(BadInput, match="is no compact record"):
        compact.load(path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content["results"][0]["values"][0].__setitem__(1, None),
        lambda content: content["results"][0]["low"][0].__setitem__(1, 397.0),
        lambda content: content["results"][0]["samples"][0].__setitem__(1, 0),
        lambda content: content["results"][0]["status"][0].__setitem__(1, "fine"),
        lambda content: content["results"][0]["status"][0].__setitem__(0, "ok"),
        lambda content: content["results"][0].__setitem__("complete", False),
        lambda content: content["results"][0].__setitem__("rows", ["gpu0", "gpu1", "gpu2", "gpu2"]),
        lambda content: content["results"][0]["values"].pop(),
        lambda content: content["topology"]["links"].pop(),
        lambda content: content["devices"].pop(),
        lambda content: content.__setitem__("result", "GOOD"),
        lambda content: content["results"][0]["link_class"][0].__setitem__(1, "two words"),
        lambda content: content["topology"]["link_class"][0].__setitem__(1, "a\x9bb"),
        lambda content: content["results"][0]["schedule"].__setitem__("mode", "matchings"),
        lambda content: content.__setitem__("notes", ["\x1b[2J"]),
    ],
)
def test_an_archive_is_checked_as_the_json_is(tmp_path, make_record, spoil):
    content = copy.deepcopy(make_record())
    spoil(content)
    with pytest.raises(BadInput):
        reading.check(content)
    path = tmp_path / "record.npz"
    path.write_bytes(compact.pack(content))
    with pytest.raises(BadInput):
        compact.load(path)


@pytest.mark.parametrize(
    ("member", "spoil"),
    [
        ("topology.link_class", lambda array, words: words.clear()),
        ("topology.links", lambda array, words: array.__setitem__((0, 1), 7)),
        ("0.link_class", lambda array, words: words.clear()),
        ("0.limit", lambda array, words: array.__setitem__((1, 2), 7)),
        ("0.status", lambda array, words: array.__setitem__((0, 1), 255)),
        ("0.parts.a", lambda array, words: array.__setitem__((0, 1), 7)),
        ("0.high", lambda array, words: array.__setitem__((0, 1), np.inf)),
    ],
)
def test_a_code_without_a_word_and_a_number_that_json_has_not_are_refused(tmp_path, make_record, capsys, member, spoil):
    content, path = make_record(), tmp_path / "record.npz"
    if member == "0.high":  # so many different ones that they are numbers
        content = make_record(count=17)
        content["results"][0]["high"] = [[396.0 + 1e-3 * (17 * r + c) for c in range(17)] for r in range(17)]
    elif member == "0.parts.a":
        content["results"][0]["parts"] = {"a": {"unit": "us", "values": content["results"][0]["values"]}}
    good = zipfile.ZipFile(io.BytesIO(compact.pack(content)))
    head = json.loads(good.read("record.json"))
    array = np.load(io.BytesIO(good.read(f"{member}.npy"))).copy()
    spoil(array, head["words"].get(member))
    spoilt = io.BytesIO()
    np.save(spoilt, array)
    with zipfile.ZipFile(path, "w") as archive:
        for name in good.namelist():
            changed = {"record.json": json.dumps(head).encode(), f"{member}.npy": spoilt.getvalue()}
            archive.writestr(name, changed.get(name, good.read(name)))
    with pytest.raises(BadInput, match=f"damaged at {member}.npy"):
        compact.load(path)
    assert cli.main(["show", str(path)]) == 2
    assert "nobody foresaw" not in capsys.readouterr().err


def test_the_archive_is_taken_unless_its_record_is_newer(tmp_path, make_record, write_record, capsys):
    path = write_record(make_record())
    assert cli.main(["compact", str(path)]) == 0 and "No record has 64 endpoints" in capsys.readouterr().out
    assert cli.main(["compact", str(path), "--least", "4"]) == 0 and "4 endpoints" in capsys.readouterr().out
    assert isinstance(stored.find(path).tests[0].record["results"][0]["values"], grids.Grid)
    assert isinstance(stored.find(path.with_suffix(".npz")).tests[0].record["results"][0]["values"], grids.Grid)
    path.write_text(json.dumps(make_record(value=390.0)))
    assert stored.find(path).tests[0].record["results"][0]["values"][0][1] == 390.0
    assert cli.main(["compact", str(path), "--least", "4"]) == 0
    path.unlink()
    (test,) = stored.find(tmp_path).tests
    assert test.record["results"][0]["values"][0][1] == 390.0
    assert cli.main(["show", str(tmp_path)]) == 0 and "390.00" in capsys.readouterr().out


def test_a_matrix_of_many_endpoints_is_shown_and_located(make_record, write_record, capsys, tmp_path):
    size = 160
    off = {(r, c): 396.0 + (r * 7 + c * 13) % 10 / 100 for r in range(size) for c in range(size) if r != c}
    off |= {(17, c): 350.0 for c in range(size) if c != 17}
    path = write_record(make_record(count=size, off=off))
    folder = tmp_path / "references"
    folder.mkdir()
    lines = ["intranode_p2p:", "  $index: [reference_name, testcase]", "  big:", f"    {TESTCASE}:"]
    (folder / "p2p.yaml").write_text("\n".join([*lines, "      'cell[NV18]': [396.0, -0.02, 0.05, GB/s]", ""]))
    options = [str(path), "--references", str(folder), "--reference", "big"]
    assert cli.main(["show", *options]) == 1
    out = capsys.readouterr().out
    assert "FAIL: gpu17->gpu" in out and "and 154 more" in out
    assert cli.main(["diagnose", *options]) == 1
    out = capsys.readouterr().out
    assert "gpu17 sends" in out and "(159 of 159 cells): suspect its egress" in out
    assert f"NV18: FAIL (159 FAIL, {size * (size - 1) - 159} PASS)" in out and "row gpu17: FAIL in every cell" in out


def test_medians_of_runs_are_medians():
    chance = np.random.default_rng(2)
    for count in (6, 7, 30, 31):
        values = chance.random((count, 5, 4))
        assert np.array_equal(noise.median_of_runs(values.copy()), np.median(values, axis=0))


def test_all_verdicts_of_a_class_are_counted():
    assert sorted(Verdict) == [0, 1, 2, 3, 4, 5]  # what an array of verdicts relies on
