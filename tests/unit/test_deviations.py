"""By how much cells are off, and what a second look at them said: locate/deviations.py, a rule at a time."""

import math

import numpy as np
import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate import deviations
from linkmatrix.locate.deviations import (
    Deviations,
    as_upper_tolerance,
    class_deviations,
    classes_of,
    reference_deviations,
    remeasured_deviations,
    with_joint_limits,
)
from linkmatrix.locate.layout import layout_of
from linkmatrix.record.matrix import from_result
from linkmatrix.references.noise import LEAST_GROUP_DEVIATION, sigma_limit
from linkmatrix.references.tables import Reference, References
from tests.tools.rank_records import of_ranks


@pytest.mark.parametrize("fraction", [0.0, 0.02, 0.5, 0.99])
def test_a_fraction_up_is_as_far_as_one_down_in_logarithms(fraction):
    assert math.log1p(as_upper_tolerance(fraction)) == pytest.approx(-math.log1p(-fraction))


def again(row, column, before, after):
    return {"row": row, "column": column, "before": before, "after": after}


def looks(make_record, unit, *remeasured):
    """{look: deviations} of 4 GPUs of 396 that are said to be 10 % slow each."""
    result = make_record()["results"][0] | {"remeasured": list(remeasured), "unit": unit}
    matrix = from_result(result)
    deviation = np.full((4, 4), math.log(0.9))
    value = matrix.whole.measured[0, 1]
    return {look: remeasured_deviations(deviation, result, matrix, look) for look in ("before", "after")}, value


@pytest.mark.parametrize(("unit", "sign"), [("GB/s", 1), ("us", -1)])
def test_a_second_look_is_as_far_off_as_it_differs_from_what_counts(make_record, unit, sign):
    _, value = looks(make_record, unit)
    found, _ = looks(make_record, unit, again("gpu0", "gpu1", value / 2, value * 2))
    for look, times in (("before", 0.5), ("after", 2.0)):
        assert found[look][0, 1] == pytest.approx(math.log(0.9) + sign * math.log(times))
        assert np.isnan(found[look]).sum() == 15, "the others were not looked at again"


NODES = tuple(f"n{at}" for at in range(8))


def together(make_record, limit=0.03, drift=0.0, noise=0.0005, inside=1, nodes=NODES, ranks=1, **changes):
    """(what cells inside nodes, and between them, may be off together; by how much each may be alone).

    inside: times the noise of those between nodes
    """
    record = of_ranks(make_record, nodes, ranks, False, lambda *_: 24.0)
    (result,) = record["results"]
    result |= changes
    layout, names = layout_of(record, result, from_result(result))
    chance = np.random.default_rng(5)
    sigma = np.where(np.array([name == "NODE" for name in names.classes])[layout.classes], inside * noise, noise)
    deviation = np.where(layout.classes >= 0, chance.normal(-drift, sigma), np.nan)
    alone = np.where(layout.classes >= 0, as_upper_tolerance(limit), np.nan)
    found = with_joint_limits(record, result, Deviations(layout.classes, deviation, alone, sigma=alone), names.classes)
    applies = layout.classes >= 0
    assert found.sigma[applies] == pytest.approx(found.joint_limit[applies] / sigma_limit(applies.sum()))
    return [np.unique(found.joint_limit[layout.classes == group]) for group in range(len(names.classes))], alone[0, 1]


def test_a_part_is_held_against_the_noise_of_its_like_where_that_is_less_than_a_tolerance(make_record):
    (net,), alone = together(make_record)
    assert net == pytest.approx(as_upper_tolerance(LEAST_GROUP_DEVIATION), abs=1e-3) and net < alone
    (noisy,), _ = together(make_record, noise=0.02)
    assert noisy == [alone], "of noise that is as much as its tolerance, that is all that is allowed"


def test_what_a_whole_class_is_slow_by_is_no_fault_of_a_part(make_record):
    (fine,), (slow,), (fast,) = (together(make_record, drift=drift)[0] for drift in (0.0, 0.005, -0.005))
    assert slow == pytest.approx(fine + 0.005, abs=5e-4) and fast == pytest.approx(fine, abs=5e-4)


@pytest.mark.parametrize(
    "changes",
    [{"unit": "us"}, {"limit": 0.04}, {"nodes": NODES[:3]}],
    ids=["latencies", "a tolerance above its floor", "too few cells"],
)
def test_a_tolerance_stays_where_it_is_not_the_floor_or_the_noise_is_not_known(make_record, changes):
    (net,), alone = together(make_record, **changes)
    assert net == [alone]


def test_cells_over_processors_vary_by_themselves_and_keep_their_tolerances(make_record):
    (inside, net), alone = together(make_record, nodes=NODES[:4], ranks=4)
    assert inside == [alone] and net < alone


@pytest.mark.parametrize(
    ("unit", "reference", "limit"),
    [
        ("GB/s", Reference(400.0, -0.02, 0.5, "GB/s"), as_upper_tolerance(0.02)),
        ("GB/s", Reference(400.0, None, 0.5, "GB/s"), as_upper_tolerance(0.99)),
        ("us", Reference(400.0, -0.5, 0.25, "us"), 0.25),
    ],
)
def test_a_cell_may_be_off_by_the_tolerance_of_its_reference_towards_what_is_worse(make_record, unit, reference, limit):
    record = make_record(off={(0, 1): 200.0, (0, 2): "timeout"})
    (result,) = record["results"]
    result |= {"unit": unit, "metric": "latency" if unit == "us" else "bandwidth"}
    table = References({("hgx", result["testcase"]): {"cell[NV18]": reference}})
    matrix = evaluate(record, table, "hgx").matrices[0]
    seen = reference_deviations(matrix, classes_of(matrix.matrix)[0])
    assert seen.limit[0, 1] == pytest.approx(limit) and np.isnan(seen.limit[1, 1])
    assert seen.deviation[0, 1] == pytest.approx(math.log(2 if unit == "us" else 0.5))
    assert np.isnan(seen.deviation[0, 2]) and seen.deviation[1, 0] == pytest.approx(
        math.log(400 / 396 if unit == "us" else 396 / 400)
    )


@pytest.mark.parametrize(
    ("ranks", "backend", "changes", "floor"),
    [
        (1, "cuda", {"memory": "device"}, 0.05),
        (1, "mpi", {}, 0.50),
        (3, "cuda", {"memory": "device", "engine": "ce"}, 0.02),
        (3, "host", {"memory": "device", "engine": "ce"}, 0.50),
        (3, "cuda", {"unit": "us"}, 0.20),
    ],
    ids=["fabric", "network", "links", "processors", "latencies"],
)
def test_without_references_few_cells_may_be_off_by_what_carries_them(make_record, ranks, backend, changes, floor):
    nodes = NODES[:3] if ranks == 1 else NODES[:1]
    record = of_ranks(make_record, nodes, ranks, False, lambda *_: 24.0)
    record["backend"] = backend
    (result,) = record["results"]
    result |= changes
    matrix = from_result(result)
    seen = class_deviations(record, result, matrix.whole.measured, *classes_of(matrix))
    assert seen.limit[0, 1] == pytest.approx(floor) and seen.deviation[0, 1] == 0.0


def test_median_polish_separates_level_rows_and_columns():
    rows, columns = np.array([0.0, -0.5, 0.0]), np.array([0.1, 0.0, -0.2, 0.0])
    level, of_rows, of_columns = deviations.polish(0.3 + rows[:, None] + columns[None, :])
    assert level == pytest.approx(0.3)
    assert of_rows == pytest.approx(rows) and of_columns == pytest.approx(columns)


def test_a_matrix_of_two_rows_has_effects_and_a_single_row_has_none():
    two = np.log([[0.5, 0.5, 0.5], [1.0, 1.0, 1.0]])
    (sentence,) = deviations.effects(two, ["a", "b"], ["x", "y", "z"], "GB/s")
    assert "row effects" in sentence and "a -" in sentence
    assert list(deviations.effects(two[:1], ["a"], ["x", "y", "z"], "GB/s")) == []
