"""All ranks but one, without each in turn: who holds the others back is said where it is clear, and nowhere else."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.locate import collective_cause

DATA = Path(__file__).parent.parent / "data"
RECORD = json.loads((DATA / "h200x2_all_reduce.record.json").read_text())


def result(values, half=0.002):
    """A result of all-reduce without each rank, and the interval of each as a fraction of it."""
    found = copy.deepcopy(next(one for one in RECORD["results"] if one["size_bytes"] == 1 << 30))
    columns = [f"without-gpu{number}" for number in range(len(values))]
    known = [value is not None for value in values]
    found |= {"testcase": "all_reduce_perf_without", "columns": columns, "parts": {}, "notes": [], "sampled": None}
    found |= {"values": [values], "status": [["ok" if there else "timeout" for there in known]]}
    found["low"] = [[value and value * (1 - half) for value in values]]
    found["high"] = [[value and value * (1 + half) for value in values]]
    found |= {"link_class": [columns], "samples": [[7] * len(values)], "converged": [[True] * len(values)]}
    found |= {"limit": [[450.0] * len(values)], "round": None, "began": None, "ended": None}
    return found


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([355, 355, 355, 355], []),
        ([280, 280, 280, 354], ["gpu3"]),
        ([280, 354, 281, 353], ["gpu1", "gpu3"]),
        ([280, 354, 353], ["gpu1", "gpu2"]),
        ([354, 280, 281], ["gpu0"]),
        ([354, 280], []),  # of two, which is as it should be?
        ([280, 300, 320, 340], []),  # no step
        ([350, 350, 350, 354], []),  # 1 %: no fault
        ([280, 280, 354, 354, 354], []),  # three at once are no rank and no link
        ([280, 280, None, 354], []),  # the one that is missing may be as fast
    ],
)
def test_the_rank_or_the_link_that_holds_the_others_back_is_named(values, named):
    cured, gap = collective_cause.slow_ranks(result(values))
    assert sorted(one.name.removeprefix("without-") for one in cured) == named
    assert (gap > 0.02) == bool(named)


def test_a_step_inside_the_noise_is_none():
    assert collective_cause.slow_ranks(result([330, 330, 330, 350], half=0.03)) == ([], 0.0)


@pytest.mark.parametrize("values", [[0.049, 0.048, 0.875], [280, 354, 281, 353]])
def test_a_cell_that_is_too_noisy_accuses_nobody(values):
    """As 3 ranks of a busy host had it: two columns in a bad minute, the third not; all intervals were apart."""
    found = result(values)
    assert collective_cause.slow_ranks(found)[0]
    found["converged"][0][0] = False
    assert collective_cause.slow_ranks(found) == ([], 0.0)


@given(st.lists(st.floats(0.955, 1.045), min_size=3, max_size=16))
def test_ranks_of_a_host_that_differ_as_its_noise_does_are_not_named(values):
    assert collective_cause.slow_ranks(result(values) | {"memory": "host"}) == ([], 0.0)


@pytest.mark.parametrize("values", [[1.0, 1.005, 1.029], [1.0, 1.026, 1.028]])
def test_gpus_that_differ_as_a_column_does_from_run_to_run_are_not_named(values):
    assert collective_cause.slow_ranks(result(values, half=0.0005)) == ([], 0.0)


def topology(classes):
    return {"labels": [f"gpu{number}" for number in range(len(classes))], "link_class": classes}


ALIKE = topology([["X", "NV18", "NV18"], ["NV18", "X", "NV18"], ["NV18", "NV18", "X"]])
ONE_APART = topology([["X", "NV18", "SYS"], ["NV18", "X", "SYS"], ["SYS", "SYS", "X"]])


def test_a_rank_with_other_links_than_the_rest_is_not_accused():
    slow = result([280.0, 280.0, 354.0])
    (said,) = collective_cause.rank_sentences(slow, ALIKE)
    assert "check gpu2 and its links, if all links are alike" in said
    (said,) = collective_cause.rank_sentences(slow, ONE_APART)  # without gpu2, all goes over NVLink
    assert "check" not in said and "this may be no fault, because the links of the ranks differ" in said


@given(st.lists(st.floats(1.0, 1.01), min_size=3, max_size=16))
def test_of_ranks_that_are_alike_none_is_named(values):
    assert collective_cause.slow_ranks(result(values)) == ([], 0.0)


@given(st.integers(3, 64), st.floats(0.05, 0.9), st.data())
def test_a_slow_rank_is_named_among_any_number(ranks, loss, data):
    slow = data.draw(st.integers(0, ranks - 1))
    noise = data.draw(st.lists(st.floats(0.999, 1.001), min_size=ranks, max_size=ranks))
    values = [value * (1.0 if rank == slow else 1 - loss) for rank, value in enumerate(noise)]
    cured, gap = collective_cause.slow_ranks(result(values))
    assert [one.name.removeprefix("without-") for one in cured] == [f"gpu{slow}"]
    assert gap == pytest.approx(1 / (1 - loss) - 1, rel=0.1)


def of_three_gpus():
    """The recorded run of two GPUs with a third one that is linked as they are."""
    record = copy.deepcopy(RECORD)
    record["devices"].append(copy.deepcopy(record["devices"][1]) | {"label": "gpu2", "uuid": "GPU-2", "part": {}})
    topology = record["topology"]
    topology["labels"].append("gpu2")
    for matrix in [one for name, one in topology.items() if name != "labels" and one]:
        matrix[0].append(matrix[0][1])
        matrix[1].append(matrix[1][0])
        matrix.append([matrix[1][0], matrix[0][1], matrix[0][0]])
    return record


def test_diagnose_says_it_without_any_reference(tmp_path, linkmatrix):
    record = of_three_gpus() | {"results": [result([280.0, 280.0, 354.0])], "expected": ["all_reduce_perf_without"]}
    path = tmp_path / "run.record.json"
    path.write_text(json.dumps(record))
    said = " ".join(linkmatrix.out("diagnose", path).split())
    assert (
        "excluding gpu2 makes the other ranks 26.4 % faster than excluding any other rank: check gpu2 and its links"
        in said
    )
