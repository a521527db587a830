"""Coverage says how long ago each node and each pair of leaf switches was measured, and what changed on which."""

import json
import os

import pytest
import stores
from stores import DAY, FIRST

from linkmatrix.errors import BadInput
from linkmatrix.runs import coverage, index, known_good
from linkmatrix.runs.notes import Note
from linkmatrix.show import coverage as page

NOW = FIRST + 10 * DAY + stores.MEASURED
TESTCASE = "device_to_device_memcpy_write_ce"


@pytest.fixture
def covered(sweeps, make_record):
    """Adds sweeps of nodes on days, and says how they cover the partition on day 11."""

    class Covered:
        def add(self, day, *nodes, off=None, **how):
            sweeps.add(day, [stores.of_node(make_record(off=off), node) for node in nodes], **how)

        def look(self, known=None, leaves=None, written=(), then=lambda found, covered: covered):
            with index.open_index(sweeps.prefix, sweeps.references) as found:
                return then(found, coverage.coverage(found, "alpha:gpu", NOW, known, leaves or {}, 3, written))

    return Covered()


def second_case(content):
    """The record with another test case, which is whole."""
    content["results"].append(content["results"][0] | {"testcase": "device_local_copy"})


@pytest.fixture
def interruption(make_record):
    """Makes the record one of a job that was ended before its second test case was measured whole."""

    def change(content):
        half = make_record(off={(row, 3): "not-run" for row in range(3)})["results"][0]
        content["results"].append(half | {"testcase": "device_local_copy"})
        content["result"] = "INCOMPLETE"

    return change


def ages(found):
    return {node.name: None if node.tested is None else coverage.age(NOW, node.tested) for node in found.nodes}


def test_the_figure_is_of_the_oldest_node_in_whole_days(covered):
    covered.add(2, "n1", "n2")
    covered.add(7, "n1")
    found = covered.look()
    assert ages(found) == {"n1": 4, "n2": 9} and found.suite == (TESTCASE,) and found.days == 9
    assert found.sentence(30) == "every node measured in the last 9 days"
    known = covered.look(known={"n1.cluster.example": "", "n2": "drained: fan", "n3": ""})
    assert known.sentence(30) == "2 of 3 nodes within 9 days, 1 never" and known.days is None
    assert [(node.name, node.away) for node in known.nodes][:2] == [("n1.cluster.example", ""), ("n2", "drained: fan")]


def test_what_a_preempted_job_measured_counts_and_the_rest_stays_due(covered, interruption):
    covered.add(1, "n1", "n2", "n3", change=second_case)
    covered.add(5, "n1", change=interruption, result="fail")
    found = covered.look()
    assert found.suite == ("device_local_copy", TESTCASE) and ages(found)["n1"] == 10
    assert next(node for node in found.nodes if node.name == "n1").interruption
    covered.add(6, "n2", change=interruption, result="fail")
    covered.add(8, "n2", change=lambda content: content["results"][0].update(testcase="device_local_copy"))
    assert ages(covered.look())["n2"] == 5, "both test cases, of two runs"


def test_a_test_case_that_few_nodes_ever_had_is_not_due_on_all(covered):
    covered.add(1, "n1", "n2", "n3")
    covered.add(2, "n1", change=second_case)
    assert covered.look().suite == (TESTCASE,) and ages(covered.look())["n2"] == 10


def test_how_long_a_run_takes_is_that_of_runs_that_measured_all(covered):
    for day, seconds in enumerate([30.0, 31.0, 32.0], 1):
        covered.add(day, "n1", change=lambda content, s=seconds: content.update(seconds=s))
    covered.add(5, "n1", off={(0, 3): "timeout"}, result="fail", change=lambda content: content.update(seconds=900.0))
    found = covered.look()
    assert (found.node_duration.seconds, found.node_duration.runs) == (32.0, 3) and found.pair_duration is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content["software"].update(driver="590.1"), "driver 580.159.04 -> 590.1"),
        (lambda content: content["nodes"][0].update(boot="ffff"), "node restarted"),
        (
            lambda content: content["devices"][2]["part"].update(serial="999"),
            "device at slot 2 serial 1652-n1 -> serial 999",
        ),
        (lambda content: content["software"].update(compiler="g++ 14"), ""),
    ],
)
def test_a_node_that_changed_is_named_until_it_was_measured_whole(covered, change, said):
    covered.add(1, "n1", "n2")
    covered.add(3, "n1", off={(0, 3): "timeout"}, result="fail", change=change)
    changed = {node.name: node.changed for node in covered.look().nodes}
    assert changed["n2"] == "" and changed["n1"] == (
        f"changed since it was measured completely: {said}" if said else ""
    )
    covered.add(4, "n1", change=change)
    assert covered.look().nodes[0].changed == ""


@pytest.mark.parametrize(("part", "places"), [("", (("n1", "slot 3"),)), ("1653-N1", ())])
def test_a_repair_that_was_noted_is_a_change_until_the_node_was_measured(covered, part, places):
    covered.add(3, "n1", "n2")
    note = Note("2025-11-25T10:00:00Z", "repair", "cable", part, places, "2025-11-25T10:00:00Z", "eva")
    assert [bool(node.changed) for node in covered.look(written=[note]).nodes] == [True, False]
    covered.add(7, "n1")
    assert not covered.look(written=[note]).nodes[0].changed


def test_a_suspect_node_says_why(covered):
    covered.add(1, "n1", "n2", off={(3, c): 350.0 for c in range(3)})
    covered.add(2, "n2")
    found = covered.look()
    assert all("is flagged since 2025-11-21" in node.flagged for node in found.nodes)


def test_pairs_of_leaf_switches_count_where_nodes_of_both_met(covered):
    def across(content):
        for at, device in enumerate(content["devices"]):
            device["node"] = device["place"]["node"] = f"n{at}"

    covered.add(1, "n0", "n1", "n2", "n3")
    covered.add(4, "n0", change=across)
    leaves = {"n0": "leaf0", "n1": "leaf0", "n2.cluster": "leaf1", "n3": "leaf1"}
    found = covered.look(leaves=leaves)
    assert found.pairs == {("leaf0", "leaf1"): FIRST + 3 * DAY + stores.MEASURED}
    assert (
        found.sentence(7)
        == "every node measured in the last 10 days, 100 % of pairs of leaf switches in the last 7 days"
    )
    assert "0 % of pairs of leaf switches in the last 6 days" in found.sentence(6)
    assert (
        covered.look(leaves={**leaves, "n3": "leaf2"})
        .sentence(30)
        .endswith("100 % of pairs of leaf switches in the last 30 days")
    )


def test_the_page_has_whole_days_and_its_text_is_text(covered):
    covered.add(2, "n1", "n2")
    covered.add(7, "n1")
    known = {"n1": "", "n2": "<img src=x onerror=alert(1)>", "n3": ""}

    def shown(found, now):
        days = coverage.ages_by_day(found, now, 10)
        return days, page.render(now, days, 30)

    days, text = covered.look(known=known, then=shown)
    assert days[0] == ("2025-11-22", 0, 1) and days[4] == ("2025-11-26", 4, 1) and days[-1] == ("2025-12-01", 9, 1)
    assert "2 of 3 nodes within 9 days, 1 never" in text and "<td>never</td>" in text and "<td>9 days</td>" in text
    assert "&lt;img src=x" in text and "<img src=x" not in text and "<script" not in text


def test_a_partition_without_runs_is_bad_input(covered):
    covered.add(1, "n1", partition="alpha:other")
    with pytest.raises(BadInput, match="there is no stored run of alpha:gpu"):
        covered.look()


def test_a_run_whose_every_clock_was_ahead_is_not_the_newest_for_ever(covered):
    """Nobody would have measured its nodes again before that time has come."""
    covered.add(2, "n1")
    covered.add(4000, "n1", "n2")
    found = covered.look()
    assert ages(found) == {"n1": 9, "n2": None}


@pytest.mark.parametrize("ended", [True, False])
def test_a_clock_that_was_ahead_once_makes_no_node_one_that_was_measured_lately(covered, sweeps, ended):
    def ahead(content):
        content["started"] = "2999-01-01T00:00:00Z"

    covered.add(1, "n1")
    covered.add(2, "n1", change=ahead)
    covered.add(9, "n2")
    report = sweeps.prefix / "reports" / "run-report-2.json"
    if ended:  # else a report does not say when its session ended, and was written then at the latest
        said = json.loads(report.read_text())
        said["session_info"]["time_end_unix"] = FIRST + DAY + 9000
        report.write_text(json.dumps(said))
    else:
        os.utime(report, (FIRST + DAY + 9000,) * 2)
    found = covered.look()
    assert ages(found) == {"n1": 10 if ended else 9, "n2": 2}
    runs = covered.look(then=lambda found, _: found.single_node_outcomes(None))
    standing = known_good.classify_nodes(runs, [], {}, NOW, 5)
    assert standing.good == ["n2"] and list(standing.unknown) == ["n1"]
    assert all(" -" not in why for why in standing.unknown.values())
