"""Trends and steps: the exact chances of their tests, and the test cases that are refused because of them."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.adopt import drift
from linkmatrix.references.tables import References
from tests.tools import collectives

TESTCASE, SECOND = "device_to_device_memcpy_write_ce", "device_to_device_memcpy_read_ce"
FALLING = [0.98**number for number in range(6)]
STEP = [1.0] * 3 + [0.95] * 3


def scaled(factors, testcase=None):
    """A change of stored records: the cells of run `number` times its factor, of all test cases or of one."""

    def change(content, number):
        for result in content["results"]:
            if testcase in (None, result["testcase"]):
                result["sampled"] = None
                for name in ("values", "low", "high"):
                    result[name] = [[value and value * factors[number] for value in row] for row in result[name]]

    return change


@pytest.mark.parametrize("factors, word", [(FALLING, "falls"), (FALLING[::-1], "rises")])
def test_runs_that_fall_or_rise_by_two_percent_each_are_refused_with_the_figures(run, store, factors, word):
    code, out, _ = run(store(change=scaled(factors)), "--table", "hgx", "--write")
    assert code == 3 and not run.file.exists()
    (line,) = [line for line in out.splitlines() if line.startswith("refused: ")]
    ends = ("396", "358") if word == "falls" else ("358", "396")
    assert line.startswith(f"refused: {TESTCASE}: NV18 {word} from {ends[0]} to {ends[1]} GB/s over 6 runs")
    assert ("-2.0 % per run" if word == "falls" else "+2.0 % per run") in line
    assert "2026-11-10 01:50" in line and "2026-11-15 01:50" in line and "--as-is REASON" in line


@pytest.mark.parametrize("after", [2, 3, 4])
def test_a_step_is_refused_with_the_runs_between_which_it_is(run, store, after):
    factors = [1.0] * after + [0.95] * (6 - after)
    code, out, _ = run(store(change=scaled(factors)), "--table", "hgx", "--write", "--with-outliers")
    assert code == 3 and not run.file.exists()
    (line,) = [line for line in out.splitlines() if line.startswith("refused: ")]
    assert f"{TESTCASE}: NV18 has a step of -5.0 % between run {after} (2026-11-{9 + after} 01:50) and run" in line
    assert "from 396 to 376 GB/s" in line


def on_hosts(factors, hosts):
    """A change of stored records: the cells of run `number` times its factor, measured on its host."""

    def change(content, number):
        scaled(factors)(content, number)
        content["host"]["name"] = hosts[number]

    return change


TWO_HOSTS = ["node001"] * 3 + ["node002"] * 3


def test_hosts_that_differ_by_more_than_the_floor_are_refused_with_their_values(run, store):
    code, out, _ = run(store(change=on_hosts(STEP, TWO_HOSTS)), "--table", "hgx")
    assert code == 3 and "NV18 differs between hosts by -5.0 %" in out and " has a step" not in out
    assert "396 GB/s on node001" in out and "376 GB/s on node002" in out


def test_a_change_of_the_host_is_no_step(run, store):
    factors = [1.0, 1.001, 0.999, 0.985, 0.986, 0.984]
    assert run(store(change=on_hosts(factors, TWO_HOSTS)), "--table", "hgx")[0] == 0
    code, out, _ = run(store(6, "one", change=scaled(factors)), "--table", "hgx")
    assert code == 3 and "NV18 has a step of -1.6 %" in out


def test_a_step_on_one_of_two_hosts_is_refused_with_the_host(run, store):
    factors = [1.0, 1.02] * 3 + [0.95, 1.02] * 3
    code, out, _ = run(
        store(12, change=on_hosts(factors, ["node001", "node002"] * 6)), "--table", "hgx", "--with-outliers"
    )
    (line,) = [line for line in out.splitlines() if line.startswith("refused: ")]
    assert code == 3 and "NV18 on node001 has a step of -5.0 % between run 3 (2026-11-14 01:50) and run 4" in line


def test_a_step_is_named_before_the_outliers_that_it_makes(run, store):
    code, out, _ = run(store(12, change=scaled([1.0] * 10 + [0.95] * 2)), "--table", "hgx")
    assert code == 3 and "between run 10 (2026-11-19 01:50) and run 11" in out and "outlier" not in out


def test_runs_of_one_level_are_written_with_since(run, store):
    folder = store(9, change=scaled([1.0] * 3 + [0.95] * 6))
    assert run(folder, "--table", "hgx")[0] == 3
    code, out, _ = run(folder, "--table", "hgx", "--since", "2026-11-13", "--write")
    assert code == 0 and References.load(run.file).table("hgx", TESTCASE)["cell[NV18]"].value == pytest.approx(
        376.2, rel=0.001
    ), out


def test_a_trend_is_written_as_it_is_with_a_reason_that_stays(run, store):
    code, out, _ = run(store(change=scaled(FALLING)), "--table", "hgx", "--write", "--as-is", "the switches heat up")
    assert code == 0 and "as it is: NV18 falls from 396 to 358 GB/s" in out
    assert "the switches heat up | NV18 falls from 396 to 358 GB/s" in run.file.read_text()


def two_testcases(factors):
    """Records of two test cases, of which the second changes from run to run."""

    def change(content, number):
        first = content["results"][0]
        content["results"].append({**first, "testcase": SECOND})
        scaled(factors, SECOND)(content, number)

    return change


@pytest.mark.parametrize("factors", [FALLING, STEP])
def test_what_qualifies_is_written_and_the_rest_is_one_line_each(run, store, factors):
    code, out, _ = run(store(change=two_testcases(factors)), "--table", "hgx", "--write")
    assert code == 3
    assert References.load(run.file).testcases("hgx") == [TESTCASE]
    refused = [line for line in out.splitlines() if line.startswith("refused: ")]
    assert len(refused) == 1 and refused[0].startswith(f"refused: {SECOND}: NV18 ")
    assert out.splitlines()[-1].startswith("REFUSED: all but 1 test case, for 1 reason")


def test_a_test_case_that_would_be_lowered_keeps_no_other_from_the_file(run, store):
    assert run(store(folder="first"), "--table", "hgx", "--write")[0] == 0
    before = References.load(run.file).table("hgx", TESTCASE)

    def lower(content, number):
        content["results"].append({**content["results"][0], "testcase": SECOND})
        scaled([0.9] * 6, TESTCASE)(content, number)

    code, out, _ = run(store(folder="second", change=lower), "--table", "hgx", "--write")
    found = References.load(run.file)
    assert code == 3 and f"{TESTCASE}: 1 reference would be lowered" in out and "lowered: " in out
    assert found.table("hgx", TESTCASE) == before and found.testcases("hgx") == sorted([TESTCASE, SECOND])


@pytest.mark.parametrize("number", range(6))
def test_one_outlier_is_neither_trend_nor_step(run, store, number):
    factors = [1.0 if one != number else 0.9 for one in range(6)]
    code, out, _ = run(store(change=scaled(factors)), "--table", "hgx", "--write", "--with-outliers")
    assert code == 0, out


def test_healthy_noise_is_neither_trend_nor_step(run, store):
    for name, sigma in (("quiet", 0.0005), ("usual", 0.003), ("noisy", 0.01)):
        code, out, _ = run(store(6, name, size=8, sigma=sigma), "--table", "hgx")
        assert code == 0, out


def test_a_trend_below_half_of_the_floor_is_written(run, store):
    factors = [1 - 0.0015 * number for number in range(6)]  # 0.75 % of 1 %
    assert run(store(sigma=0.0, change=scaled(factors)), "--table", "hgx")[0] == 0
    assert run(store(sigma=0.0, change=scaled(factors)), "--table", "hgx", "--floor", "1,1")[0] == 3


def test_the_sizes_of_a_collective_are_one_series(tmp_path, run, tmp_path_factory):
    folders = [
        collectives.imported(
            tmp_path_factory.mktemp("night"),
            collectives.faster(collectives.DOCUMENT, factor),
            "--measured",
            f"2026-11-{10 + number}T01:50:22Z",
        )
        / "03"
        for number, factor in enumerate(FALLING)
    ]
    code, out, _ = run(*folders, "--table", "a100", "--write")
    assert code == 3 and not run.file.exists()
    refused = [line for line in out.splitlines() if line.startswith("refused: ")]
    assert len(refused) == 1 and "-2.0 % per run" in refused[0] and "of the median of each size" in refused[0]


NOISE = [0.0, 0.0012, -0.0008, 0.0005, -0.0011, 0.0007, 0.0002, -0.0004, 0.0009, -0.0006, 0.0003, -0.0002]


def test_six_runs_in_each_order_have_the_exact_chance_of_a_trend():
    orders = 100.0 + np.array(list(permutations(range(6))))
    assert drift.drift_evidence(orders, 0.0).has_trend.sum() == 2 == round(720 * drift.TREND_LEVEL)
    assert drift.least_score(5) > 10  # the five runs of any order have no significant trend


@pytest.mark.parametrize("runs", [7, 8])
def test_seven_and_eight_runs_attain_at_most_the_level_of_six(runs):
    orders = np.array(list(permutations(range(runs))))
    first, second = np.triu_indices(runs, 1)
    score = np.abs(np.sign(orders[:, second] - orders[:, first]).sum(axis=1))
    least = drift.least_score(runs)
    assert (score >= least).mean() <= drift.TREND_LEVEL < (score >= least - 2).mean()


def test_the_tail_of_student_s_distribution_is_that_of_its_tables():
    for t, freedom, chance in ((12.706, 1, 0.05), (4.604, 4, 0.01), (8.610, 4, 0.001), (2.086, 20, 0.05)):
        assert drift.student_tail(np.array([t]), freedom)[0] == pytest.approx(chance, rel=0.002)
    assert drift.student_tail(np.array([0.0, np.inf]), 5).tolist() == [1, 0]


@pytest.mark.parametrize("runs", [6, 8, 12])
def test_false_refusals_of_normal_noise_are_at_most_one_percent(runs):
    """20,000 series each, with noise far above the least size: four standard errors of 1 % are 0.3 %."""
    found = drift.drift_evidence(1 + 0.03 * np.random.default_rng(7).standard_normal((20_000, runs)), 0.01)
    assert (found.has_trend | found.has_step).mean() < 0.013


@given(
    st.integers(6, 12).flatmap(lambda count: st.tuples(st.just(count), st.integers(0, count - 1))),
    st.floats(-0.9, 5.0),
    st.permutations(range(12)),
)
def test_no_single_outlier_of_any_size_is_a_step(place, size, order):
    count, at = place
    levels = 100 * (1 + np.array(NOISE)[order][:count])
    levels[at] *= 1 + size
    found = drift.find_drift(levels, 0.01)
    assert found is None or found.kind == drift.TREND


@given(st.lists(st.floats(50, 150), min_size=6, max_size=20), st.floats(0.001, 1000))
def test_a_finding_does_not_depend_on_the_unit_and_turns_with_time(levels, factor):
    one = drift.find_drift(np.array(levels), 0.01)
    other = drift.find_drift(np.array(levels) * factor, 0.01)
    back = drift.find_drift(np.array(levels[::-1]), 0.01)
    assert (one is None) == (other is None) == (back is None)
    if one and other and back:
        assert one.kind == other.kind == back.kind and one.change == pytest.approx(other.change)
        assert (one.change > 0) == (back.change < 0)
