"""`make mutants` chooses the tests that can detect a mutant, and the same sample each time."""

import mutants
import pytest
from mutant_runner import PassingTest, limited_tests


@pytest.mark.parametrize("subpackage", mutants.SUBPACKAGES)
def test_files_about_a_subpackage_are_found(subpackage):
    assert len(mutants.tests_about(subpackage)) >= 20


def test_files_that_import_a_module_or_have_its_name_are_about_it():
    assert "test_intermittent.py" in mutants.tests_about("judge/intermittent.py")
    assert "test_collective_cause.py" in mutants.tests_about("locate/collective_cause.py")
    assert "test_lock.py" not in mutants.tests_about("judge/rules.py")


def test_each_file_that_is_left_out_exists():
    assert [name for name in mutants.LEFT_OUT if not (mutants.UNIT_TESTS / name).exists()] == []


@pytest.mark.parametrize("name", ["nosuch", "judge/nosuch.py", "runs"])
def test_an_unknown_name_is_refused(name, capsys):
    assert mutants.main([name]) == 2
    assert f"{name} is not a subpackage or module" in capsys.readouterr().err


def test_a_sample_is_the_same_each_time_and_limits_the_number():
    names = [str(number) for number in range(100)]
    first, second, other = (mutants.sample_of(names, 5, seed) for seed in ("a", "a", "b"))
    assert first == second != other and len(set(first)) == 5
    assert mutants.sample_of(names, None, "a") == mutants.sample_of(names, 200, "a") == names


def test_the_interval_of_a_share():
    assert mutants.interval(90, 100) == pytest.approx((0.826, 0.945), abs=0.001)


def test_a_function_has_the_tests_about_its_module_first_and_then_the_fastest():
    runs = [
        PassingTest(0, "b", 2.0, ["f"]),
        PassingTest(1, "b", 1.0, ["f"]),
        PassingTest(2, "a", 3.0, ["f", "g"]),
        PassingTest(3, "a", 0.1, ["g"]),
    ]
    assert [run.index for run in limited_tests("f", runs, {"a"})] == [2, 1, 0]
    assert limited_tests("h", runs, {"a"}) == []
    assert [run.index for run in limited_tests("f", [PassingTest(7, "a", 60.0, ["f"])], {"a"})] == [7]
