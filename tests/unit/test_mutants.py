"""`make mutants` chooses the tests that can detect a mutant."""

import json

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


def test_a_function_has_the_tests_about_its_module_first_and_then_the_fastest(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "MOST_TESTS", 2)
    folder = tmp_path / "judge"
    (folder / "mutants").mkdir(parents=True)
    seconds = {"tests/unit/test_rules.py::a": 3.0, "tests/unit/test_cli.py::b": 1.0, "tests/unit/test_cli.py::c": 2.0}
    content = {
        "duration_by_test": seconds,
        "tests_by_mangled_function_name": {"linkmatrix.judge.rules.x_of": [*seconds]},
    }
    (folder / mutants.STATISTICS).write_text(json.dumps(content))
    mutants.limit_tests(folder)
    (chosen,) = json.loads((folder / mutants.STATISTICS).read_text())["tests_by_mangled_function_name"].values()
    assert chosen == ["tests/unit/test_rules.py::a", "tests/unit/test_cli.py::b"]
