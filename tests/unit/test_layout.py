"""Where the endpoints of a matrix are, what their references say of its noise, and what is said beside findings."""

import math

import numpy as np
import pytest
from apart_records import apart

from linkmatrix.judge import cell_counts
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate import deviations, diagnosis
from linkmatrix.locate.deviations import effects as of_rows_and_columns
from linkmatrix.locate.layout import Names, layout_of, leaf
from linkmatrix.record import matrix as matrices
from linkmatrix.record import reading
from linkmatrix.record.matrix import from_result
from linkmatrix.references import noise
from linkmatrix.references.tables import Reference, References

TESTCASE = "device_to_device_memcpy_write_ce"


@pytest.fixture
def two_nodes(make_record):
    """Four devices on two nodes, the second of which has no NIC."""
    content = make_record()
    nics = [["mlx5_0", "mlx5_9"], [], ["mlx5_0"], ["mlx5_1"]]
    for device, node, nic in zip(content["devices"], ("n17", "n17", "n18", "n18"), nics, strict=True):
        device.update(node=node, nics=nic)
    for r, c in ((0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (3, 0), (2, 1), (3, 1)):
        content["results"][0]["link_class"][r][c] = "NET"
    return content


def laid_out(content):
    result = content["results"][0]
    return layout_of(content, result, from_result(result))


def test_endpoints_are_where_the_record_says(two_nodes):
    layout, names = laid_out(two_nodes)
    assert layout.row_node.tolist() == layout.column_node.tolist() == [0, 0, 1, 1]
    # one that is alone is the device's own; of two nobody knows which one carried its data
    assert layout.row_nic.tolist() == layout.column_nic.tolist() == [-1, -1, 0, 1]
    assert [places.tolist() for places in layout.places("nics")] == [[0, -1, -1, -1]] * 2
    assert layout.row_rail.tolist() == layout.column_rail.tolist() == [0, 1, 0, 1]
    assert layout.classes.tolist() == [[-1, 0, 1, 1], [0, -1, 1, 1], [1, 1, -1, 0], [1, 1, 0, -1]]
    assert (layout.square, layout.bidirectional, layout.of_nodes) == (True, False, False)
    labels = [f"gpu{index}" for index in range(4)]
    parts = {"nics": ["mlx5_0, mlx5_9 of n17"], "socket": ["NUMA node 0 of n17", "NUMA node 0 of n18"]}
    near = dict(zip(labels, [("mlx5_0", "mlx5_9"), (), ("mlx5_0",), ("mlx5_1",)], strict=True))
    nics = ["mlx5_0 of n18", "mlx5_1 of n18"]
    assert names == Names(labels, labels, ["n17", "n18"], nics, ["NV18", "NET"], parts, near)
    two_nodes["results"][0]["metric"] = "bidirectional"
    assert laid_out(two_nodes)[0].bidirectional


def test_rows_that_are_nodes_are_themselves(two_nodes):
    result = two_nodes["results"][0]
    for name in ("values", "status", "low", "high", "limit", "samples", "converged", "link_class"):
        result[name] = [row[:2] for row in result[name][:2]]
    result["rows"] = result["columns"] = ["n18", "n17"]
    layout, names = laid_out(two_nodes)
    assert layout.of_nodes and layout.row_node.tolist() == layout.column_node.tolist() == [1, 0]
    assert layout.row_nic.tolist() == [-1, -1] and names.nodes == ["n17", "n18"]
    two_nodes["devices"][0]["label"] = "n17"  # a device that is called as its node
    assert not laid_out(two_nodes)[0].of_nodes


def held_against(content, **cells):
    """(deviation, sigma, limit) of a record against references of some cells, by "row_column"."""
    table = {f"gpu{name[1]}->gpu{name[2]}": Reference(*one) for name, one in cells.items()}
    found = evaluate(content, References({("hgx", TESTCASE): table}), "hgx").matrices[0]
    seen = deviations.reference_deviations(found, laid_out(content)[0].classes)
    return seen.deviation, seen.sigma, seen.limit


def test_a_bandwidth_may_be_off_by_what_its_lower_tolerance_leaves(make_record):
    content = make_record(off={(0, 1): 392.0, (0, 2): "timeout"})
    one, open_ended = (400.0, -0.02, 0.05, "GB/s"), (400.0, None, 0.05, "GB/s")
    deviation, sigma, limit = held_against(content, g01=one, g02=one, g03=open_ended)
    assert deviation[0, 1] == pytest.approx(math.log(0.98)) and deviation[0, 3] == pytest.approx(math.log(0.99))
    assert np.isnan(deviation[0, 2]) and np.isnan(deviation[1, 0]) and np.isnan(limit[1, 0])
    # log(1 + limit) is -log(0.98)
    assert limit[0, 1] == limit[0, 2] == pytest.approx(1 / 0.98 - 1) and limit[0, 3] == pytest.approx(99)
    k = noise.sigma_limit(12)
    assert sigma[0, 1] == pytest.approx(limit[0, 1] / k) and sigma[1, 0] == pytest.approx(1 / k)


def test_a_latency_may_be_off_by_its_upper_tolerance(make_record):
    content = make_record(value=2.0, off={(0, 1): 2.2})
    content["results"][0].update(unit="us", metric="latency")
    wide, open_ended = (2.0, -0.1, 5.0, "us"), (2.0, -0.1, None, "us")
    deviation, _, limit = held_against(content, g01=(2.0, -0.5, 0.2, "us"), g02=wide, g03=open_ended)
    assert deviation[0, 1] == pytest.approx(-math.log(1.1)) and deviation[0, 2] == 0
    assert limit[0, 1] == pytest.approx(0.2) and limit[0, 2] == limit[0, 3] == pytest.approx(0.99)


NAMES = Names([f"r{index}" for index in range(9)], [f"c{index}" for index in range(9)], [], [], [])


def effects(deviation, unit="GB/s"):
    return list(of_rows_and_columns(np.array(deviation), NAMES.rows, NAMES.columns, unit))


def test_rows_and_columns_that_are_off_by_a_hundredth_are_said_the_worst_first_and_four_at_most():
    deviation = np.zeros((9, 9))
    deviation[2, :], deviation[0, :], deviation[:, 7] = math.log(0.95), math.log(0.8), math.log(0.985)
    deviation[4, :] = math.log(0.991)
    assert effects(deviation) == [
        "row effects by median polish (bandwidth): r0 -20.0 %, r2 -5.0 %",
        "column effects by median polish (bandwidth): c7 -1.5 %",
    ]
    assert effects(deviation.T, "us")[0] == "row effects by median polish (speed): r7 -1.5 %"
    many = np.zeros((9, 9))
    many[:4, :] = np.log([[0.9], [0.8], [0.7], [0.6]])
    assert effects(many) == ["row effects by median polish (bandwidth): r3 -40.0 %, r2 -30.0 %, r1 -20.0 %, r0 -10.0 %"]
    many = np.zeros((13, 9))
    many[:6, :] = np.log([[0.9], [0.8], [0.7], [0.6], [0.5], [0.4]])
    (said,) = of_rows_and_columns(many, [f"r{index}" for index in range(13)], NAMES.columns, "GB/s")
    assert said.endswith("r5 -60.0 %, r4 -50.0 %, r3 -40.0 %, r2 -30.0 % and 2 more")


def gone(make_record, words, count=8):
    content = make_record(count=count, off=words)
    result = content["results"][0]
    matrix = from_result(result)
    lacking = matrix.whole.is_status(*diagnosis.WITHOUT_VALUE)
    found = diagnosis.missing_findings(matrix, layout_of(content, result, matrix)[0], lacking)
    return [(one.kind, one.subject, one.cells, one.missing) for one in found]


@pytest.mark.parametrize("word", ["timeout", "error"])
def test_what_cells_without_a_value_have_in_common_is_gone(make_record, word):
    row = {(3, c): word for c in range(8) if c != 3}
    assert gone(make_record, row) == [("egress", 3, 7, True)]
    # what was not tried any more belongs to what was
    assert gone(make_record, {**row, (3, 0): "not-run", (3, 1): "not-run"}) == [("egress", 3, 7, True)]
    assert gone(make_record, dict.fromkeys(row, "not-run")) == []
    assert gone(make_record, dict.fromkeys(row, "no-peer-access")) == []
    assert gone(make_record, {**dict.fromkeys(row, "not-run"), (5, 6): word}) == []
    assert gone(make_record, {(2, 5): word}) == []


def said(content, table=None):
    found = evaluate(content, References({("hgx", TESTCASE): table} if table else {}), "hgx" if table else None)
    return diagnosis.diagnose(content, content["results"][0], found.matrices[0])


def test_devices_that_were_held_back_are_said_beside_what_is_slow_or_was_held_against_references(make_record):
    row = {(3, c): 340.0 for c in range(8) if c != 3}
    slow, healthy = make_record(count=8, off=row), make_record(count=8)
    for content in (slow, healthy):
        content["results"][0]["throttled"] = [f"gpu{index}: power cap" for index in range(4)]
    told = "devices were throttled during the measurement: gpu0: power cap; gpu1: power cap; gpu2: power cap"
    assert any(told in one and "gpu3: power" not in one for one in said(slow).sentences)
    assert said(healthy).sentences == ()
    table = {"cell[NV18]": Reference(396.0, -0.02, 0.05, "GB/s")}
    assert told in said(healthy, table).sentences[0] and not said(healthy, table).without_references


def test_a_diagnosis_of_values_is_that_of_their_matrix(make_record):
    content = make_record(count=8)
    result = content["results"][0]
    matrix = from_result(result)
    values = matrix.whole.measured.copy()
    assert diagnosis.sentences_for_values(content, result, matrix, values) == []
    values[3, :] *= 0.9
    (told,) = diagnosis.sentences_for_values(content, result, matrix, values)
    assert told == "gpu3 sends 10.0 % slow to every peer, receives fine (7 of 7 cells): check its egress"
    result.update(unit="us", metric="latency")
    matrix = from_result(result)
    (told,) = diagnosis.sentences_for_values(content, result, matrix, np.where(values < 390, values / 0.5, values))
    assert told.startswith("gpu3 sends at 80.0 % more latency to every peer")


def test_without_references_the_noise_that_is_usual_follows_from_what_carries_the_data(make_record):
    """Ranks in host memory differ by much: what is 10 % slow there says nothing, between GPUs it does."""
    content = make_record(count=3, off={(0, 1): 340.0, (0, 2): 340.0})
    assert len(said(content).findings) == 1
    content["backend"] = "host"
    assert said(content).findings == ()


def test_of_a_matrix_that_is_not_held_its_worst_endpoints_are_looked_at(make_record, tmp_path, monkeypatch):
    monkeypatch.setattr(matrices, "MOST_LOADED", 0)
    monkeypatch.setattr(cell_counts, "MAX_EXAMINED", 8)
    table = References({("hgx", TESTCASE): {"cell[NODE]": Reference(396.0, -0.02, 0.05, "GB/s")}})
    for slow in (0.5, 1.0):
        content = make_record(count=12, off={(5, c): 396.0 * slow for c in range(12) if c != 5})
        content["results"][0]["link_class"] = [["X" if r == c else "NODE" for c in range(12)] for r in range(12)]
        for references, name in ((table, "hgx"), (References({}), None)):
            path = apart(content, tmp_path)
            read = reading.load(path)
            (found,) = evaluate(read, references, name).matrices
            told = diagnosis.diagnose(read, read["results"][0], found)
            assert told.without_references == (name is None) and told.effects == ()
            if slow == 1.0:
                assert (told.findings, told.sentences) == ((), ())
                continue
            (one,) = told.findings
            assert (one.kind, found.subset.matrix.rows[one.subject]) == ("egress", "gpu5")
            first, second, where = told.sentences
            assert first.startswith("gpu5 sends 50.0 % slow") and "every" not in first and "fine" not in first
            assert second == "all cells of row gpu5 are 50.0 % low"
            looked_at = len(found.subset.matrix.rows)
            assert where == f"Examined: {looked_at} of 12 endpoints, the worst and some healthy endpoints."


def test_a_device_without_a_place_has_no_leaf_switch():
    assert [leaf({}), leaf({"place": {}}), leaf({"place": {"leaf": "l3"}})] == ["", "", "l3"]
