"""Many ranks that each lose as little as ranks do when they are alone: no collective is excused by that."""

from types import SimpleNamespace

import pytest

from linkmatrix.judge.busy import ALL
from linkmatrix.judge.busy_together import BusyTogether

ALONE = 0.016  # share of the time that a rank has lost where nobody else was, as judge/others.py says (PROMISED)
NOTHING = SimpleNamespace(unread={}, active=frozenset(), held={})


@pytest.mark.parametrize("noisy", [8, 1024])
def test_ranks_that_lose_what_was_seen_alone_explain_no_collective_of_any_speed(noisy):
    labels = [f"n{number}:rank{number}" for number in range(1024)]
    had = dict.fromkeys(labels[:noisy], ALONE)
    busy = BusyTogether(
        {"uses": []}, {}, {"cpu": had}, ("rows",), False, True, False, NOTHING, lost=had, parts={"all": labels}
    )
    assert busy.of_all(labels) != ALL, f"{noisy} of 1,024 ranks lost 1.6 % each: a collective at a thousandth is busy"
