"""A soak: wrong results, cells that fail later, and values that become worse are told with their time."""

from pathlib import Path

import pytest

from linkmatrix.judge.run_findings import facts
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading


@pytest.fixture
def soaked(make_record):
    """A record of a soak of ten minutes between two GPUs, whose way gpu0->gpu1 has these bins."""

    def make(bins=(50.0,) * 60, wrong=0, failures=0, events=(), passes=100, products=1000):
        content = make_record(count=2)
        grid = [[None, 50.0], [50.0, None]]
        content["soak"] = {
            "asked": 600.0,
            "seconds": 600.5,
            "passes": passes,
            "failures": failures,
            "bin_seconds": 10.0,
            "heated": [
                {"label": "gpu0", "products": 1000, "wrong": 0},
                {"label": "gpu1", "products": products, "wrong": wrong},
            ],
            "matrices": [
                {
                    "testcase": "device_to_device_memcpy_write_ce",
                    "unit": "GB/s",
                    "size_bytes": 1 << 29,
                    "rows": ["gpu0", "gpu1"],
                    "columns": ["gpu0", "gpu1"],
                    "count": [[0, 100], [100, 0]],
                    **{name: grid for name in ("mean", "deviation", "least", "most", "first_at", "worst_at")},
                    "bins": [[[], list(bins)], [[50.0] * 60, []]],
                }
            ],
            "events": [{"at": at, "what": what} for at, what in events],
            "events_left_out": 0,
        }
        reading.check(content)
        return content

    return make


def told(content):
    return [
        (one.verdict, one.sentence)
        for one in facts(content, False)
        if "soak" in one.sentence or "heated" in one.sentence
    ]


def test_a_soak_in_which_nothing_happened_says_nothing(soaked):
    assert told(soaked()) == []


def test_a_device_that_computes_wrong_bits_fails_with_the_time(soaked):
    found = told(soaked(wrong=2, failures=1, events=[(130.0, "gpu1 computed wrong bits in 2 of 64 products")]))
    assert found[0][0] is Verdict.FAIL
    assert "gpu1 computed wrong bits in 2 of 1000 products while it was heated, the first after 2.2 min" in found[0][1]


def test_a_cell_that_fails_later_fails_the_soak(soaked):
    ((verdict, sentence),) = told(soaked(failures=1, events=[(30.0, "some_case: gpu0->gpu1 is corrupt")]))
    assert verdict is Verdict.FAIL
    assert sentence == "1 failure in 100 passes of the soak: some_case: gpu0->gpu1 is corrupt after 30 s"


def test_a_value_that_falls_and_stays_so_is_located_in_time(soaked):
    ((verdict, sentence),) = told(soaked(bins=[50.0, 50.1] * 20 + [45.0, 45.1] * 10))
    assert verdict is Verdict.WARN
    assert "gpu0->gpu1 became 10.0 % worse after 6.7 min of the soak, and stayed worse" in sentence


def test_a_fall_that_one_good_moment_interrupts_is_told_with_how_long_it_lasts(soaked):
    bins = [50.0, 50.1] * 20 + [45.0, 45.1] * 10
    bins[50] = 49.9
    ((verdict, sentence),) = told(soaked(bins=bins))
    assert verdict is Verdict.WARN
    assert "gpu0->gpu1 became 9.5 % worse after 6.7 min of the soak, and was worse in 19 of 20 bins since" in sentence


@pytest.mark.parametrize(
    "bins", [[50.0, 45.0] * 30, [50.0] * 59 + [40.0], [45.0] * 20 + [50.0] * 40, [50.0, None] * 30]
)
def test_noise_one_dip_at_the_end_and_what_becomes_better_are_no_step(soaked, bins):
    assert told(soaked(bins=bins)) == []


def test_throttling_and_counters_are_told_with_their_time(soaked):
    ((verdict, sentence),) = told(
        soaked(events=[(12.0, "held back: gpu0: power cap"), (300.0, "gpu1: nvlink_replay rose by 5")])
    )
    assert verdict is Verdict.WARN
    assert (
        sentence == "during the soak held back: gpu0: power cap after 12 s; gpu1: nvlink_replay rose by 5 after 5.0 min"
    )


def test_a_soak_that_heated_nothing_or_measured_a_cell_never_again_is_incomplete():
    record = reading.load(Path(__file__).parents[1] / "data" / "h200x2_soak.record.json")
    assert told(record) == []
    record["soak"]["matrices"][0]["count"][0][1] = 0
    [(verdict, sentence)] = told(record)
    assert verdict is Verdict.INCOMPLETE
    assert sentence == "1 of 2 cells of device_to_device_memcpy_write_ce were not measured again in the soak"
    record["soak"].update(matrices=[], heated=[])
    assert [verdict for verdict, _ in told(record)] == [Verdict.INCOMPLETE] * 3
