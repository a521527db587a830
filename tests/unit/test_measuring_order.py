"""A drift in the order of measuring is no fault of a device; a fault of a device is no drift."""

import numpy as np
import pytest
from foreign_texts import FOREIGN, records

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate.diagnosis import diagnose
from linkmatrix.references.tables import References

WRITE, BOTH = "device_to_device_memcpy_write_ce", "device_to_device_bidirectional_memcpy_write_ce"


def diagnosed(text):
    """{test case: (what is at fault, sentences on a drift)} of the CUDA sample's tables in a text."""
    found = {}
    for record in records(text):
        matrices = evaluate(record, References({}), None).matrices
        for result, matrix in zip(record["results"], matrices, strict=True):
            one = diagnose(record, result, matrix)
            drifts = [sentence for sentence in one.sentences if "drift" in sentence]
            found[record["imported"]["program"], result["testcase"]] = list(one.components), drifts
    return {testcase: of for (program, testcase), of in found.items() if program == "p2p_bandwidth_latency_test"}


def sample(factor, count=8, head="Unidirectional P2P=Enabled Bandwidth (P2P Writes)", seed=1):
    """A table of the CUDA sample; factor: (place in the order, row, column) → share of the usual bandwidth."""
    chance = np.random.default_rng(seed)
    order = [(row, column) for row in range(count) for column in range(count) if row != column]
    values = {pair: 393.0 * factor(at, *pair) * (1 + chance.normal(0, 0.001)) for at, pair in enumerate(order)}
    lines = [f"{head} Matrix (GB/s)", "   D\\D " + " ".join(f"{n:6}" for n in range(count))]
    for row in range(count):
        cells = [2890.0 if row == column else values[row, column] for column in range(count)]
        lines.append(f"{row:6} " + " ".join(f"{cell:.2f}" for cell in cells))
    return "\n".join(lines) + "\n"


def test_the_first_cells_of_the_acceptance_sheet_are_a_drift_and_no_device_is_at_fault():
    found = diagnosed(FOREIGN["h100_acceptance_sheet.txt"])
    (sentence,) = found[WRITE][1]
    assert "the first 23 of 56 cells are 4.3 % slower" in sentence
    (sentence,) = found[BOTH][1]
    assert "the first 7 of 56 cells are 4.3 % slower" in sentence
    assert [who for who, _ in found.values()] == [[]] * 6


READS = "Unidirectional P2P=Enabled Bandwidth (P2P Reads)"


@pytest.mark.parametrize(
    ("factor", "said", "options"),
    [
        (lambda at, *_: 0.96 if at < 23 else 1, "the first 23 of 56", {}),
        (lambda at, *_: 0.96 if at < 10 else 1, "the first 10 of 56", {}),
        (lambda at, *_: 0.96 if at < 14 else 1, "the first 14 of 56", {}),
        (lambda at, *_: 0.95 if at >= 36 else 1, "the last 20 of 56", {}),
        (lambda at, *_: 0.96 if at < 23 else 1, "the first 23 of 56", {"head": READS}),
        (lambda at, *_: 0.93 if at < 6 else 1, "the first 6 of 20", {"count": 5}),
        (lambda at, *_: 0.96 if at < 70 else 1, "the first 70 of 240", {"count": 16}),
        (lambda at, *_: 1 - 0.06 * at / 56, "values get worse by 5.", {}),
        (lambda at, *_: 0.94 + 0.06 * at / 56, "values get better by 5.", {}),
    ],
)
def test_phases_and_ramps_are_drifts_without_a_device(factor, said, options):
    ((who, drifts),) = diagnosed(sample(factor, **options)).values()
    assert who == [] and len(drifts) == 1 and said in drifts[0]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [4, 8, 16])
def test_a_healthy_machine_has_no_drift(seed, count):
    ((who, drifts),) = diagnosed(sample(lambda *_: 1, count, seed=seed)).values()
    assert (who, drifts) == ([], [])


@pytest.mark.parametrize("count", [8, 16])
@pytest.mark.parametrize("slow", [0, 7])
@pytest.mark.parametrize(
    "cells",
    [lambda row, column, slow: slow == row, lambda row, column, slow: slow in (row, column)],
    ids=["sends", "both directions"],
)
def test_a_slow_device_is_no_drift(cells, slow, count):
    slow = min(slow, 1) * (count - 1)
    ((who, drifts),) = diagnosed(sample(lambda _, *pair: 0.9 if cells(*pair, slow) else 1, count)).values()
    assert drifts == [] and who and all(f"gpu{slow}" in one for one in who)


def test_the_devices_of_a_socket_are_no_drift():
    ((_, drifts),) = diagnosed(sample(lambda _, row, column: 0.9 if row < 4 else 1)).values()
    assert drifts == []


def test_a_slow_device_is_found_beside_a_drift():
    text = sample(lambda at, row, column: (0.96 if at < 23 else 1) * (0.85 if column == 5 else 1))
    ((who, drifts),) = diagnosed(text).values()
    assert len(drifts) == 1 and len(who) == 1 and "gpu5" in who[0]


def test_the_order_of_another_program_is_not_known():
    text = FOREIGN["nvbandwidth_v0.10_b300.txt"]
    (record,) = records(text)
    assert all("drift" not in str(record[name]) for name in ("notes", "error"))
