"""Decides which nodes are known good, and why the other nodes are not.

A node without a measurement is never known good.

An outcome is the verdict of a test of a single node, in one scope. Only the newest outcome of each scope counts. A node
is known good if all of these are true:

- The newest outcome of every scope is not FAIL.
- The newest outcome of every scope is not INCOMPLETE, or is at least `days` old.
- At least one outcome is PASS or WARN, is less than `days` old, and has the present driver and components of the node.
- No run flags a component of the node.
- No cell of the node was DISTURBED three times without a clean run in between.

When a newer outcome replaces an earlier outcome in the same scope:

- NOT JUDGED and DISTURBED replace no earlier outcome. Every other outcome replaces the earlier outcome.
- If a FAIL was measured with the present components and driver, only an outcome with the present components and driver
  replaces the FAIL.

A clean run of a DISTURBED cell is an undisturbed run in which the whole test case of the cell is PASS or WARN.
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
    """The outcome of one test case in one test, over all sizes.

    * complete: whether every cell was measured without a disturbance
    * disturbed: whether another process disturbed the test case
    * scopes: (link class, path) of each scope
    """

    verdict: Verdict
    complete: bool
    disturbed: bool
    scopes: tuple[tuple[str, str], ...]


class Outcome(NamedTuple):
    """The verdict of a single-node test in one scope.

    * started: seconds since 1970
    * measured: True if the scope is of a test case; False if the scope is the whole test
    * components: (slot, identity) of each device of the node, and ("driver", version)
    """

    node: str
    scope: Scope
    started: int
    verdict: Verdict
    measured: bool = True
    components: frozenset[tuple[str, str]] = frozenset()


def judged_cases(judged: Judged) -> dict[str, Case]:
    """Returns {test case: its outcome over all sizes} of a judged test."""
    found: dict[str, Case] = {}
    record = judged.test.record
    for result, matrix in judged.matrices:
        assert record is not None
        name, verdict = result["testcase"], judged.matrix_verdict(matrix)
        complete = bool(result["complete"]) and verdict is not Verdict.DISTURBED
        measured = scopes.result_scopes(record, result, judged.test.variant, matrix.matrix.classes)
        before = found.get(name, Case(Verdict.PASS, True, False, ()))
        found[name] = Case(
            max(before.verdict, verdict),
            before.complete and complete,
            before.disturbed or bool(scopes.disturbed_nodes(record, result)),
            tuple(sorted({*before.scopes, *((scope.link_class, scope.path) for scope in measured)})),
        )
    return found


def parse_cases(content: Mapping[str, Any]) -> dict[str, Case]:
    """Converts JSON of the index to the result of `judged_cases`."""
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
    """Yields the outcomes of a test of a single node.

    If the verdict of the test is worse than the verdicts of its test cases, the whole test also has an outcome. If
    another process disturbed a test case, its outcome is DISTURBED instead of PASS, WARN or NOT JUDGED. The same rule
    applies to the outcome of the whole test.

    components: {slot: identity} and {"driver": version} of the node at that time; None if unknown.
    """
    known = frozenset((components or {}).items())
    for name, case in cases.items():
        outcome = without_disturbed(case.verdict, case.disturbed)
        for link_class, path in case.scopes or [("", "")]:
            yield Outcome(node, Scope(name, link_class, path), started, outcome, True, known)
    is_worse = verdict > max((case.verdict for case in cases.values()), default=-1)
    if is_worse or verdict in scopes.CLEAN:
        outcome = without_disturbed(Verdict(verdict), any(case.disturbed for case in cases.values()))
        yield Outcome(node, Scope(test), started, outcome, False, known)


def without_disturbed(verdict: Verdict, disturbed: bool) -> Verdict:
    """Replaces PASS, WARN and NOT JUDGED by DISTURBED if another process disturbed the measurement."""
    return Verdict.DISTURBED if disturbed and verdict <= Verdict.NOT_JUDGED else verdict


LEAST_STREAK = 3  # times that a cell must be DISTURBED without a clean run in between
MOST_CELLS = 64  # stored DISTURBED cells per test case


class Cell(NamedTuple):
    """A DISTURBED cell.

    * source, destination: components
    * pair: labels, such as "gpu0->gpu1"
    * processes: names of the processes that disturbed the cell
    """

    testcase: str
    source: str
    destination: str
    pair: str
    processes: tuple[str, ...]


class Measured(NamedTuple):
    """The result of a test on one of its nodes.

    * started: seconds since 1970
    * run: the hash of the program run
    * testcases: names of all test cases
    * clean: names of the test cases that are complete, undisturbed, and PASS or WARN
    * disturbed: the DISTURBED cells
    """

    node: str
    started: int
    run: int
    testcases: frozenset[str]
    clean: frozenset[str]
    disturbed: tuple[Cell, ...]


def parse_measured(row: Mapping[str, Any]) -> Measured:
    """Converts a row of `indexing.test_rows` to `Measured`."""
    cells = tuple(Cell(*cell[:4], tuple(cell[4])) for cell in row["disturbed"])
    cases = parse_cases(row["cases"]).items()
    clean = frozenset(name for name, one in cases if one.complete and not one.disturbed and one.verdict in CLEAN)
    return Measured(row["node"], row["started"], row["run"], frozenset(row["cases"]), clean, cells)


def disturbed_cells(judged: Judged) -> dict[str, list[Cell]]:
    """Returns {node: DISTURBED cells with an endpoint on the node} of a judged test."""
    found: dict[str, list[Cell]] = {}
    record = judged.test.record
    for result, matrix in judged.matrices:
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
    """Returns {node: why the node cannot be judged}, with the first sentence of `streaks` for each node.

    Nodes without a sentence are left out. Two names that differ only in the domain are the same node.
    """
    node_tests: dict[str, list[Measured]] = {}
    for test in tests:
        node_tests.setdefault(short(test.node), []).append(test)
    found = {node: sentence for node, every in node_tests.items() if (sentence := next(streaks(every), ""))}
    return dict(sorted(found.items()))


def streaks(tests: Iterable[Measured]) -> Iterator[str]:
    """Yields a sentence per cell that was DISTURBED at least LEAST_STREAK times without a clean run in between.

    tests: the tests of one node.
    """
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
            of = f"{cell.testcase} {cell.pair} was DISTURBED in {count} runs, and no run in between was clean"
            yield f"cannot be judged while {names} {'runs' if len(cell.processes) == 1 else 'run'}: {of}"


DAY = 86400
#: {newest verdict: reason} of a node without an outcome that counts.
NO_OUTCOME = {Verdict.NOT_JUDGED: "was not judged", Verdict.DISTURBED: "was disturbed"}
REPLACED = "was not judged with its present components and driver"
AHEAD = "has a start time in the future: its age is unknown"


class NodeClasses(NamedTuple):
    """The known good nodes, the flagged nodes (`flagged`) and the other nodes (`unknown`).

    flagged, unknown: {node: reason}.
    """

    good: list[str]
    flagged: dict[str, str]
    unknown: dict[str, str]


def classify_nodes(
    outcomes: Iterable[Outcome], suspects: Iterable[Suspect], disturbed: Mapping[str, str], now: float, days: int
) -> NodeClasses:
    """Classifies all nodes with outcomes, and the flagged nodes.

    * disturbed: {node: reason why the node cannot be judged}
    * now: seconds since 1970. Outcomes with a later start do not count.
    * days: the maximum age of an outcome
    """
    node_outcomes: dict[str, list[Outcome]] = {}
    for one in outcomes:
        node_outcomes.setdefault(short(one.node), []).append(one)
    flagged = {short(one.node): one.reason for one in reversed(list(suspects))}
    good, unknown = [], {}
    for node, found in node_outcomes.items():
        if node in flagged:
            continue
        reason = disturbed.get(node) or reason_not_good(found, now, days)
        if reason:
            unknown[node] = reason
        else:
            good.append(node)
    return NodeClasses(sorted(good), dict(sorted(flagged.items())), dict(sorted(unknown.items())))


def reason_not_good(outcomes: Iterable[Outcome], now: float, days: int) -> str:
    """Why a node is not known good; "" for a known good node. outcomes: the outcomes of this node."""
    every = list(outcomes)
    found = [one for one in every if one.started <= now + SKEW]
    if not found:
        return AHEAD

    def age(outcome: Outcome) -> int:
        return max(0, int(now - outcome.started)) // DAY

    def ago(outcome: Outcome) -> str:
        return f"{units.counted(age(outcome), 'day')} ago"

    components = present_components(found)
    with_present = newest(one for one in found if one.components <= components)
    bad = [one for one in [*newest(found), *with_present] if one.verdict not in CLEAN]
    bad = [one for one in bad if one.verdict is Verdict.FAIL or age(one) < days]
    if bad:
        worst = max(bad, key=lambda one: (one.verdict, one.started, one.scope))
        return f"was {WORDS[worst.verdict]} {ago(worst)} ({worst.scope})"
    passed = [one for one in with_present if one.measured and one.verdict in CLEAN]
    if not passed:
        last = max(found, key=lambda one: (one.started, one.verdict))
        replaced = any(one.measured and one.verdict in CLEAN for one in newest(found))
        return REPLACED if replaced else f"{NO_OUTCOME.get(last.verdict, 'was not measured')} {ago(last)}"
    last = max(passed, key=lambda one: one.started)
    if age(last) >= days:
        return f"was measured {ago(last)}, but only runs of the last {units.counted(days, 'day')} count"
    return ""


def newest(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The newest outcome of each scope. If several outcomes have the same start, the worst outcome counts."""
    found: dict[Scope, Outcome] = {}
    for one in outcomes:
        if one.verdict not in NO_OUTCOME:
            found[one.scope] = max(one, found.get(one.scope, one), key=lambda each: (each.started, each.verdict))
    return list(found.values())


def present_components(outcomes: Iterable[Outcome]) -> frozenset[tuple[str, str]]:
    """The components in a node's outcomes: (slot, identity) of each slot, and ("driver", version).

    A test may measure some devices only. Each slot is therefore read from the newest outcome that contains the slot.
    """
    found: dict[str, str] = {}
    for one in sorted(outcomes, key=lambda one: one.started):
        found.update(one.components)
    return frozenset(found.items())
