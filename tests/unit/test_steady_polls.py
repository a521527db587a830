"""A clock that is moved while a session runs does not stop it."""

import time
from types import SimpleNamespace

import pytest
from reframe.frontend.executors import policies


@pytest.fixture
def clock(monkeypatch, config_module):
    """Time that passes by sleeping alone; ahead: what the clock of the day has more. slept: how long each time."""
    found = SimpleNamespace(now=1000.0, ahead=1e9, slept=[])

    def sleep(seconds):
        found.slept.append(seconds)
        found.now += seconds

    monkeypatch.setattr(time, "monotonic", lambda: found.now)
    monkeypatch.setattr(time, "time", lambda: found.now + found.ahead)
    monkeypatch.setattr(time, "sleep", sleep)
    for name in ("snooze", "reset_poll_rate"):
        monkeypatch.setattr(policies._PollController, name, getattr(policies._PollController, name))
    config_module("steady_polls").mend()
    return found


def controller():
    """ReFrame's own, of ten questions a second at most and one at least, without its runtime."""
    found = object.__new__(policies._PollController)
    found._poll_rate_max = found._desired_poll_rate = 10
    found._poll_rate_min, found._poll_rate_decay, found._poll_randomize_range_ms = 1, 0.1, None
    found._poll_count_total = found._poll_count_interval = 0
    found._t_start = found._t_last_reset = None
    return found


def asked(clock, moved, reset):
    """The seconds before each of 100 questions, of which the clock is moved after the first 50."""
    polls = controller()
    clock.slept.clear()
    for _ in range(50):
        polls.snooze()
    clock.ahead += moved
    if reset:
        polls.reset_poll_rate()
    for _ in range(50):
        polls.snooze()
    return list(clock.slept)


@pytest.mark.parametrize("moved", [-3600, -2, 3600])
@pytest.mark.parametrize("reset", [False, True], ids=["", "after a reset"])
def test_questions_are_asked_as_if_the_clock_had_not_been_moved(clock, moved, reset):
    assert asked(clock, moved, reset) == pytest.approx(asked(clock, 0, reset), abs=1e-3)
