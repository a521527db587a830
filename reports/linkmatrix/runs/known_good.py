"""Decides which nodes are known good, and why the others are not. An unmeasured node is never known good.

An outcome is the verdict of a run that measured the node alone, in one scope. The newest outcome of each scope counts.
A node is known good if

- no newest outcome is FAIL, and none of the last days is INCOMPLETE,
- at least one outcome of the last days is PASS or WARN, about the driver and the components in the newest records,
- no run flags a component of the node, and
- no cell of the node was DISTURBED three times without a clean run in between.

NOT JUDGED and DISTURBED do not replace an earlier outcome. A FAIL counts until its scope has a newer outcome. A FAIL of
the present components and driver counts until these components have a newer outcome with this driver. A streak of
DISTURBED ends with an undisturbed run in which the complete test case of the cell is PASS or WARN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..judge.verdicts import WORDS, Verdict
from ..record import units
from ..record.names import short
from . import scopes
from .components import endpoint_sightings
from .folders import SKEW
from .scopes import CLEAN, Scope, disturbed_nodes

if TYPE_CHECKING:
    from .judging import Judged
    from .suspicion import Suspect


class Case(NamedTuple):
    """A test case of a test. complete: every cell was measured undisturbed. scopes: (link class, path) of each."""

    verdict: Verdict
    complete: bool
    disturbed: bool
    scopes: tuple[tuple[str, str], ...]


class Outcome(NamedTuple):
    """The verdict of a test in a scope, on the only node that the test measured.

    started: seconds since 1970. measured: False if the scope is about the test itself and not about a test case.
    components: (slot, identity) of each device of the node, and ("driver", its version).
    """

    node: str
    scope: Scope
    started: int
    verdict: Verdict
    measured: bool = True
    components: frozenset[tuple[str, str]] = frozenset()


def judged_cases(one: Judged) -> dict[str, Case]:
    """{test case: its outcomes}. The verdict is the worst of all sizes."""
    found: dict[str, Case] = {}
    record = one.test.record
    for result, matrix in one.matrices:
        assert record is not None
        name, verdict = result["testcase"], one.matrix_verdict(matrix)
        complete = bool(result["complete"]) and verdict is not Verdict.DISTURBED
        measured = scopes.result_scopes(record, result, one.test.variant, matrix.matrix.classes)
        before = found.get(name, Case(Verdict.PASS, True, False, ()))
        found[name] = Case(
            max(before.verdict, verdict),
            before.complete and complete,
            before.disturbed or bool(scopes.disturbed_nodes(record, result)),
            tuple(sorted({*before.scopes, *((scope.link_class, scope.path) for scope in measured)})),
        )
    return found


def parse_cases(content: Mapping[str, Any]) -> dict[str, Case]:
    """The same as `judged_cases`, from the index."""
    return {
        name: Case(Verdict(verdict), bool(complete), bool(disturbed), tuple((link, path) for link, path in scopes))
        for name, (verdict, complete, disturbed, scopes) in content.items()
    }


def test_outcomes(
    node: str,
    test: str,
    started: int,
    verdict: int,
    cases: Mapping[str, Case],
    components: Mapping[str, str] | None = None,
) -> Iterator[Outcome]:
    """The outcomes of a test about a node.

    components: {slot: identity} and {"driver": its version} of the node then, None if unknown.

    If the verdict of the test is worse than that of each test case, the test's name is a scope with this verdict. A
    disturbed test case, and a test that contains one, is DISTURBED instead of PASS, WARN or NOT JUDGED.
    """
    there = frozenset((components or {}).items())
    for name, case in cases.items():
        outcome = without_disturbed(case.verdict, case.disturbed)
        for link_class, path in case.scopes or [("", "")]:
            yield Outcome(node, Scope(name, link_class, path), started, outcome, True, there)
    beyond = verdict > max((case.verdict for case in cases.values()), default=-1)
    if beyond or verdict in scopes.CLEAN:
        outcome = without_disturbed(Verdict(verdict), any(case.disturbed for case in cases.values()))
        yield Outcome(node, Scope(test), started, outcome, False, there)


def without_disturbed(verdict: Verdict, disturbed: bool) -> Verdict:
    """The verdict; DISTURBED in place of PASS, WARN or NOT JUDGED if another process disturbed the measurement."""
    return Verdict.DISTURBED if disturbed and verdict <= Verdict.NOT_JUDGED else verdict


LEAST_STREAK = 3  # DISTURBED without a clean run in between
MOST_CELLS = 64  # per test case


class Cell(NamedTuple):
    """A DISTURBED cell. source, destination: the components. pair: their labels in that run. processes: names."""

    testcase: str
    source: str
    destination: str
    pair: str
    processes: tuple[str, ...]


class Measured(NamedTuple):
    """A test on a node.

    run: the run of the program. testcases: names of all test cases. clean: names of those that were completely
    measured, undisturbed, and PASS or WARN. disturbed: the DISTURBED cells.
    """

    node: str
    started: int
    run: int
    testcases: frozenset[str]
    clean: frozenset[str]
    disturbed: tuple[Cell, ...]


def parse_measured(row: Mapping[str, Any]) -> Measured:
    """A row of `indexing.test_rows`."""
    cells = tuple(Cell(*cell[:4], tuple(cell[4])) for cell in row["disturbed"])
    of_case = parse_cases(row["cases"]).items()
    clean = frozenset(name for name, one in of_case if one.complete and not one.disturbed and one.verdict in CLEAN)
    return Measured(row["node"], row["started"], row["run"], frozenset(row["cases"]), clean, cells)


def disturbed_cells(one: Judged) -> dict[str, list[Cell]]:
    """{node: the DISTURBED cells with an endpoint on the node}, of the nodes that another process disturbed."""
    found: dict[str, list[Cell]] = {}
    record = one.test.record
    for result, matrix in one.matrices:
        assert record is not None
        nodes = disturbed_nodes(record, result)
        if matrix.whole is None or not nodes:
            continue
        known = {label: device for label, (device, _) in endpoint_sightings(record).items()}
        rows, columns = matrix.matrix.rows, matrix.matrix.columns
        places = np.argwhere(matrix.whole.codes == Verdict.DISTURBED)[:MOST_CELLS].tolist()
        for pair in ((rows[r], columns[c]) for r, c in places):
            ends = [known.get(label, (record["host"]["name"], label)) for label in pair]
            for node in {node for node, _ in ends} & nodes.keys():
                parts = (name for _, name in ends)
                cell = Cell(result["testcase"], *parts, f"{pair[0]}->{pair[1]}", tuple(nodes[node]))
                found.setdefault(node, []).append(cell)
    return found


def streak_sentences(tests: Iterable[Measured]) -> dict[str, str]:
    """{node: why it cannot be judged} of the nodes with a cell that was DISTURBED the last ENOUGH times.

    The names of nodes are compared without their domains.
    """
    of_node: dict[str, list[Measured]] = {}
    for test in tests:
        of_node.setdefault(short(test.node), []).append(test)
    found = {node: sentence for node, of in of_node.items() if (sentence := next(streaks(of), ""))}
    return dict(sorted(found.items()))


def streaks(tests: Iterable[Measured]) -> Iterator[str]:
    """One sentence per cell of a node that was DISTURBED LEAST_STREAK times or more without a clean run in between."""
    counts: dict[tuple[str, str, str], int] = {}
    newest: dict[tuple[str, str, str], Cell] = {}
    known: set[tuple[int, frozenset[str]]] = set()
    for test in sorted(tests, key=lambda test: test.started):
        if (test.run, test.testcases) in known:  # a copy, or another test of the same run
            continue
        known.add((test.run, test.testcases))
        now = {cell[:3]: cell for cell in test.disturbed}
        counts = {key: count for key, count in counts.items() if key[0] not in test.clean}
        for key, cell in now.items():
            counts[key], newest[key] = counts.get(key, 0) + 1, cell
    for key, count in sorted(counts.items(), key=lambda item: -item[1]):
        if count >= LEAST_STREAK:
            cell = newest[key]
            names = " and ".join(units.first(list(cell.processes)))
            of = f"{cell.testcase} {cell.pair} was DISTURBED {count} times without a clean run in between"
            yield f"cannot be judged while {names} {'runs' if len(cell.processes) == 1 else 'run'}: {of}"


DAY = 86400
#: Why a node without an outcome is not known good, by its newest verdict.
NO_OUTCOME = {Verdict.NOT_JUDGED: "was not judged", Verdict.DISTURBED: "was disturbed"}
REPLACED = "was not judged with its present components and driver"
AHEAD = "has a start time in the future: its age is unknown"


class NodeClasses(NamedTuple):
    """Known good nodes, flagged nodes and other nodes. suspect, unknown: {node: why}."""

    good: list[str]
    suspect: dict[str, str]
    unknown: dict[str, str]


def classify_nodes(
    outcomes: Iterable[Outcome], suspects: Iterable[Suspect], disturbed: Mapping[str, str], now: float, days: int
) -> NodeClasses:
    """The standing of the nodes with outcomes and of the flagged nodes.

    disturbed: {node: why it cannot be judged}. days: the maximum age of an outcome. An outcome with a start in the
    future does not count, because later outcomes would seem to be earlier.
    """
    of_node: dict[str, list[Outcome]] = {}
    for one in outcomes:
        of_node.setdefault(short(one.node), []).append(one)
    suspect = {short(one.node): one.reason for one in reversed(list(suspects))}
    good, unknown = [], {}
    for node, found in of_node.items():
        if node in suspect:
            continue
        why = disturbed.get(node) or reason_not_good(found, now, days)
        if why:
            unknown[node] = why
        else:
            good.append(node)
    return NodeClasses(sorted(good), dict(sorted(suspect.items())), dict(sorted(unknown.items())))


def reason_not_good(outcomes: Iterable[Outcome], now: float, days: int) -> str:
    """Why a node is not known good; "" if it is."""
    every = list(outcomes)
    found = [one for one in every if one.started <= now + SKEW]
    if not found:
        return AHEAD

    def age(one: Outcome) -> int:
        return max(0, int(now - one.started)) // DAY

    def ago(one: Outcome) -> str:
        return f"{units.counted(age(one), 'day')} ago"

    there = present_components(found)
    of_present = newest(one for one in found if one.components <= there)
    bad = [one for one in [*newest(found), *of_present] if one.verdict not in CLEAN]
    bad = [one for one in bad if one.verdict is Verdict.FAIL or age(one) < days]
    if bad:
        worst = max(bad, key=lambda one: (one.verdict, one.started, one.scope))
        return f"was {WORDS[worst.verdict]} {ago(worst)} ({worst.scope})"
    passed = [one for one in of_present if one.measured and one.verdict in CLEAN]
    if not passed:
        last = max(found, key=lambda one: (one.started, one.verdict))
        replaced = any(one.measured and one.verdict in CLEAN for one in newest(found))
        return REPLACED if replaced else f"{NO_OUTCOME.get(last.verdict, 'was not measured')} {ago(last)}"
    last = max(passed, key=lambda one: one.started)
    if age(last) >= days:
        return f"was measured {ago(last)}, and only the last {units.counted(days, 'day')} count"
    return ""


def newest(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The newest outcome of each scope; of several at the same time the worst."""
    found: dict[Scope, Outcome] = {}
    for one in outcomes:
        if one.verdict not in NO_OUTCOME:
            found[one.scope] = max(one, found.get(one.scope, one), key=lambda of: (of.started, of.verdict))
    return list(found.values())


def present_components(outcomes: Iterable[Outcome]) -> frozenset[tuple[str, str]]:
    """The newest identity of each slot, and the newest driver. One test may measure some of the devices only."""
    found: dict[str, str] = {}
    for one in sorted(outcomes, key=lambda one: one.started):
        found.update(one.components)
    return frozenset(found.items())
