"""By how much cells are off, and what a second look at them said: locate/deviations.py, a rule at a time."""

import math

import numpy as np
import pytest

from linkmatrix.locate.deviations import downwards, looked_at
from linkmatrix.record.matrix import from_result


@pytest.mark.parametrize("fraction", [0.0, 0.02, 0.5, 0.99])
def test_a_fraction_up_is_as_far_as_one_down_in_logarithms(fraction):
    assert math.log1p(downwards(fraction)) == pytest.approx(-math.log1p(-fraction))


def again(row, column, before, after):
    return {"row": row, "column": column, "before": before, "after": after}


def looks(make_record, unit, *remeasured):
    """{look: deviations} of 4 GPUs of 396 that are said to be 10 % slow each."""
    result = make_record()["results"][0] | {"remeasured": list(remeasured), "unit": unit}
    matrix = from_result(result)
    deviation = np.full((4, 4), math.log(0.9))
    value = matrix.whole.measured[0, 1]
    return {look: looked_at(deviation, result, matrix, look) for look in ("before", "after")}, value


@pytest.mark.parametrize(("unit", "sign"), [("GB/s", 1), ("us", -1)])
def test_a_second_look_is_as_far_off_as_it_differs_from_what_counts(make_record, unit, sign):
    _, value = looks(make_record, unit)
    found, _ = looks(make_record, unit, again("gpu0", "gpu1", value / 2, value * 2))
    for look, times in (("before", 0.5), ("after", 2.0)):
        assert found[look][0, 1] == pytest.approx(math.log(0.9) + sign * math.log(times))
        assert np.isnan(found[look]).sum() == 15, "the others were not looked at again"


def test_where_no_cell_was_looked_at_again_nobody_knows(make_record):
    found, _ = looks(make_record, "GB/s")
    assert found == {"before": None, "after": None}


def test_a_look_without_a_value_or_at_no_cell_of_this_matrix_says_nothing(make_record):
    _, value = looks(make_record, "GB/s")
    entries = [again("gpu0", "gpu1", None, value), again("gpu9", "gpu1", value, value), again("gpu1", "gpu9", value, 1)]
    found, _ = looks(
        make_record, "GB/s", *entries, again("gpu1", "gpu1", value, value), again("gpu2", "gpu0", 0, value)
    )
    assert np.isnan(found["before"]).all()
    assert np.argwhere(np.isfinite(found["after"])).tolist() == [[0, 1], [2, 0]], "nor does what has no value"
