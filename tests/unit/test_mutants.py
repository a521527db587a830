"""`make mutants` chooses the tests that can detect a mutant."""

import mutants
import pytest


@pytest.mark.parametrize("subpackage", mutants.SUBPACKAGES)
def test_the_tests_of_each_module_are_among_those_of_its_subpackage(subpackage):
    chosen = mutants.tests_of(subpackage)
    named = {f"test_{path.rpartition('/')[2]}" for path in mutants.modules_of(subpackage)}
    assert {f"tests/unit/{name}" for name in named if (mutants.UNIT_TESTS / name).exists()} <= {*chosen}
    assert len(chosen) >= 20


def test_a_test_that_imports_a_module_of_a_subpackage_is_chosen():
    assert {f"tests/unit/test_{name}.py" for name in ("intermittent", "six_verdicts")} <= {*mutants.tests_of("judge")}


@pytest.mark.parametrize("part", mutants.SLOW)
def test_each_slow_test_exists(part):
    assert (
        any(part in file.name or part in file.read_text() for file in mutants.UNIT_TESTS.glob("test_[!m]*.py"))
        or (mutants.UNIT_TESTS / part).exists()
    )


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
