"""`make mutants` runs tests that are there: of a name that is gone, each mutant would survive."""

from pathlib import Path

import mutants
import pytest

TESTS = Path(__file__).parent


@pytest.mark.parametrize("room", mutants.ROOMS)
def test_the_tests_of_a_room_are_there(room):
    assert [name for name in mutants.ROOMS[room] if not (TESTS / f"{name}.py").exists()] == []


def test_a_room_of_verdicts_has_every_test_on_disturbances():
    assert {"test_disturbances", "test_disturbed_recordings", "test_test_verdict"} <= set(mutants.ROOMS["judge"])
