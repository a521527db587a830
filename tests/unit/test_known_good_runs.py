"""Known good by stored runs: the pass of another component or driver does not count, nor one beside a process."""

import pytest

from tests.tools import stores

# without and with the stored verdict of the check
pytestmark = pytest.mark.parametrize("good", [False, True], indirect=True)

SLOW = {(3, c): 350.0 for c in range(3)}


def disturbed(content):
    content["results"][0]["others"] = stores.disturbed("n1")


def test_an_undisturbed_pass_makes_a_node_good(good):
    good.add(5)
    assert good() == ["n1"]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["devices"][3]["part"].update(serial="9999"),
        lambda content: content["software"].update(driver="590.1"),
    ],
    ids=["another GPU", "another driver"],
)
def test_a_node_is_not_known_good_by_the_pass_of_another_gpu_or_driver(good, change):
    """The only run with the new GPU or driver was disturbed by another process."""
    good.add(5)
    good.add(1, SLOW, lambda content: (change(content), disturbed(content)), "fail")
    assert good() == []


def test_a_disturbed_pass_does_not_end_a_streak(good):
    """docs/verdicts.md: the node stays off the lists until an undisturbed run passes."""
    good.add(9)
    for days in (5, 4, 3):
        good.add(days, SLOW, disturbed, "fail")
    assert good() == [], "three in a row"
    good.add(1, None, disturbed)
    assert good() == [], good.output


def test_an_incomplete_disturbed_run_does_not_end_a_streak(good):
    good.add(40)
    good.add(9)
    for days in (5, 4, 3):
        good.add(days, SLOW, disturbed, "fail")

    def killed(content):
        disturbed(content)

    good.add(1, {(0, 1): "timeout", **{cell: "not-run" for cell in SLOW}}, killed, "fail")
    assert good() == [], good.output


def test_an_incomplete_test_case_counts_though_another_process_had_a_context(good):
    good.add(9)
    good.add(1, {(0, 1): "timeout"}, disturbed, "fail")
    assert good() == [], "none of the last days is INCOMPLETE, says known_good.py: " + good.output


def test_a_pass_of_some_of_the_devices_does_not_void_the_pass_of_all(good):
    def fewer(content):
        del content["devices"][3]["part"]["serial"]
        content["devices"][3]["uuid"] = ""
        disturbed(content)

    good.add(5)
    good.add(1, None, fewer)
    assert good() == ["n1"]
