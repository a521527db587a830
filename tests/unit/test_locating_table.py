"""The benchmark of locating: what it was not asked to try, or cannot, meets no target."""

import pytest

from tests.benchmarks import locating
from tests.tools.fabric import Machine


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("0 0", "0 TRIALS and 0 HEALTHY runs meet no target: give more of one of them"),
        ("abc", "argument TRIALS: 'abc' is no number of runs: give a whole one, 0 or more"),
        ("1.5", "argument TRIALS: '1.5' is no number of runs: give a whole one, 0 or more"),
        ("0 -3", "argument HEALTHY: '-3' is no number of runs: give a whole one, 0 or more"),
        ("1 2 3", "unrecognized arguments: 3"),
    ],
)
def test_a_number_of_runs_that_is_none_is_refused(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        locating.asked(words.split())
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f": error: {said}")


def test_without_words_it_is_what_the_help_says():
    assert locating.asked([]) == (200, 3000)
    assert locating.asked(["0"]) == (0, 3000)


def test_of_few_healthy_runs_large_machines_have_one_and_what_was_left_out_is_said(monkeypatch, capsys):
    monkeypatch.setattr(locating, "HEALTHY", {"1x4": (Machine(1, 4), 1, 0.1)})
    assert locating.main(0, 9) == 0
    out = capsys.readouterr().out
    assert "4 endpoints: 0 of 1\n" in out
    assert "all targets of those that were tried, without faults are met" in out


def test_a_kind_of_fault_that_no_machine_has_is_a_target_that_is_missed(monkeypatch, capsys):
    monkeypatch.setattr(locating, "MACHINES", {"1x4": (Machine(1, 4), 1)})
    assert locating.main(2, 0) == 1
    out = capsys.readouterr().out
    assert "  socket: no machine has it\n" in out
    assert "device: no machine has it" not in out and "healthy runs in which" not in out


def test_runs_are_the_same_in_whatever_order_they_are_made():
    tasks = [*locating.healthy_tasks("1x8", 15), locating.Task("1x8 NVLink", "device", 0.03, 5)]
    assert [task.trials for task in tasks] == [10, 5, 5]
    locating.bench.cache_clear()
    forwards = [task.run() for task in tasks]
    locating.bench.cache_clear()
    assert [task.run() for task in reversed(tasks)][::-1] == forwards
