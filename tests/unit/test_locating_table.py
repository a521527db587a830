"""The benchmark of locating: what it was not asked to try, or cannot, meets no target."""

from tests.benchmarks import locating
from tests.tools.fabric import Machine


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
