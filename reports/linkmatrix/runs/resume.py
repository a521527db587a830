"""`linkmatrix run --resume`: finds the test cases that passed before, which are not measured again.

ReFrame gets the same selection of test cases, and excludes the passed test cases by their hash. A test case that is in
no report is therefore measured. ReFrame's --restore-session cannot be used: it warns of the search path of the checks,
and the warning would be an error. A test case that passed too long ago is measured again, because a machine changes.

A pass counts only for the components and the driver in its record. The cheapest test case of each of these components
is therefore measured again. A pass is void if no new record contains all of its components and its driver, and the run
is then INCOMPLETE. Test cases with a disturbance or a simulated fault never count as passed.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BadInput, say
from ..files import MOST_BYTES, read_json, read_whole, write_whole
from ..judge.verdicts import Verdict
from ..record import units
from ..record.names import simulated_fault
from . import components, folders, manifest
from .folders import SKEW
from .modes import suite_options
from .scopes import disturbed_nodes

if TYPE_CHECKING:
    from .judging import Judged

MOST_REPORTS = 20  # that are looked through for the one of a killed run
MISSING = "not found"  # a component

Judge = Callable[[Path], "list[Judged]"]


Machine = Mapping[str, Mapping[str, str]]  # of each node: its driver and the identity of the part in each slot


class Passed(NamedTuple):
    """A test case that passed.

    case: its name in a manifest. cells: number of measured cells. when: start of its run, in seconds since 1970.
    """

    partition: str
    case: str
    cells: int
    when: float
    machine: Machine


@dataclass(frozen=True)
class EarlierPasses:
    """passed: {hash: what passed in the runs before}; report: of the last of them, None where it left none.

    whole: whether all of them together were to measure all that the mode has.
    """

    passed: Mapping[str, tuple[Passed, ...]] = field(default_factory=dict)
    report: Path | None = None
    whole: bool = True

    def options(self, suite: str, left_out: Iterable[str] = ()) -> list[str]:
        """The options of ReFrame that skip the passed test cases, except those that are measured again.

        suite: of the mode's sessions, which then leave these test cases out; "": the mode has no sessions. left_out:
        hashes of further test cases that are skipped.
        """
        skipped = sorted({*(self.passed.keys() - self.remeasured), *left_out})
        less = suite_options(",".join([suite, *(f"-/{code}" for code in skipped)])) if suite and skipped else []
        return [*(f"--exclude=/{code}" for code in skipped), *less]

    @property
    def remeasured(self) -> set[str]:
        """The hashes of what is measured again: of each slot of each node, the test case with the fewest cells."""
        cheapest: dict[tuple[str, str], tuple[int, str]] = {}
        for code, found in self.passed.items():
            for one in found:
                for slot in ((node, slot) for node, slots in one.machine.items() for slot in slots):
                    cheapest[slot] = min((one.cells, code), cheapest.get(slot, (one.cells, code)))
        return {code for _, code in cheapest.values()}

    def cases(self) -> list[Passed]:
        """All passed test cases."""
        return [one for found in self.passed.values() for one in found]


def store_passes(last: Path, mode: str, stamp: str, before: EarlierPasses, report: Path | None) -> None:
    """Stores the passed tests of a run and its report for a later --resume."""
    said = {"mode": mode, "report": str(report) if report else None, "stamp": stamp, "whole": before.whole}
    said["passed"] = {code: [list(one) for one in found] for code, found in sorted(before.passed.items())}
    write_whole(last, json.dumps(said).encode())


def load_passes(last: Path, prefix: Path, judge: Judge, hours: float) -> EarlierPasses:
    """The passed tests of the last run, from the file of `store_passes` and from the report of a killed run.

    hours: a test that passed longer ago does not count.
    """
    oldest, newest = time.time() - hours * 3600, time.time() + SKEW
    try:
        said = json.loads(read_whole(last, MOST_BYTES))
        passed = {
            str(code): tuple(
                Passed(str(p), str(case), int(cells), float(when), {str(node): {**of} for node, of in machine.items()})
                for p, case, cells, when, machine in found
            )
            for code, found in said["passed"].items()
        }
        began, whole = stamp_time(str(said["stamp"])), bool(said["whole"])
        report = Path(said["report"]) if said["report"] else find_killed_report(prefix, str(said["stamp"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        passed, report, began, whole = {}, None, 0.0, True
    there = report is not None and report.is_file()
    if there and oldest <= began <= newest:
        assert report is not None
        passed = {**passed, **passed_tests(judge(report), began)}
    ahead = {code for code, found in passed.items() if any(not one.when <= newest for one in found)}
    if ahead or not began <= newest:
        say("note: tests with a start time in the future are measured again: their age is unknown")
    passed = {code: found for code, found in passed.items() if code not in ahead}
    fresh = {code: found for code, found in passed.items() if found and min(one.when for one in found) >= oldest}
    old = sum(bool(found) for found in passed.values()) - len(fresh) + (there and began < oldest)
    if old:
        say(f"note: tests that passed more than {hours:g} hours ago are measured again (--resume-hours)")
    if not there or report is None:
        what = f"all but {units.counted(len(fresh), 'test case')} that passed earlier" if fresh else "all"
        say(f"note: the previous run left no report, so {what} is measured again")
        return EarlierPasses(fresh, None, whole)
    found = EarlierPasses(fresh, report if fresh else None, whole)
    again = f", except {len(found.remeasured)} to see whether components changed" if found.remeasured else ""
    say(f"note: {units.counted(len(fresh), 'test case')} passed before ({report.name}): not measured again{again}")
    return found


def passed_tests(judged: list[Judged], when: float) -> dict[str, tuple[Passed, ...]]:
    """{hash: what passed of a run}, () for what did not; a test case has one hash on all partitions."""
    found: dict[str, list[Judged]] = {}
    for one in judged:
        found.setdefault(one.test.hashcode, []).append(one)
    return {
        code: tuple(
            Passed(
                one.test.partition,
                manifest.key(one.test.name, one.test.environ),
                cells_of(one),
                when,
                components.node_components(one.test.record),
            )
            for one in cases
        )
        if all(has_passed(one) for one in cases)
        else ()
        for code, cases in found.items()
        if code
    }


def has_passed(one: Judged) -> bool:
    """Whether a test case passed without a simulated fault and without disturbance."""
    record = one.test.record
    if one.verdict > Verdict.WARN or record is None:
        return one.verdict <= Verdict.WARN
    return not simulated_fault(record) and not any(disturbed_nodes(record, result) for result, _ in one.matrices)


def valid_passes(before: EarlierPasses, judged: Iterable[Judged]) -> tuple[EarlierPasses, list[str]]:
    """(earlier passes that still count, why other passes are void) after a resumed run; judged: its test cases."""
    now: dict[str, dict[str, str]] = {}
    for one in judged:
        for node, of_node in components.node_components(one.test.record).items():
            now.setdefault(node, {}).update(of_node)
    changes: dict[str, set[str]] = {}
    void = Counter[str]()
    passed = dict(before.passed)
    for code, found in before.passed.items():
        for node, of_node in ((node, of) for one in found for node, of in one.machine.items()):
            there = now.get(node, {})
            other = {f"{at} {old} -> {there.get(at, MISSING)}" for at, old in of_node.items() if there.get(at) != old}
            if other:
                changes.setdefault(node, set()).update(other if there else ())
                void[node] += 1
                passed.pop(code, None)
    sentences = []
    for node, which in sorted(changes.items()):
        listed = ", ".join(units.first(sorted(which)))
        why = f"{node} changed ({listed})" if which else f"no new record identifies the components of {node}"
        earlier = f"{units.counted(void[node], 'test case')} passed earlier and must be measured again"
        sentences.append(f"{why}: {earlier}: run without --resume")
    return replace(before, passed=passed), sentences


def cells_of(one: Judged) -> int:
    """How many cells a test case measured."""
    return manifest.cells(one.test.record)


def stamp_time(stamp: str) -> float:
    """When the run with a stamp began, in seconds since 1970. Raises ValueError."""
    text = re.sub(r"-\d+$", "", stamp)
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()


def find_killed_report(prefix: Path, stamp: str) -> Path | None:
    """The report of a run that was killed: its ReFrame is told to end then, and writes what passed until then.

    The command line in the report has the run's own stamp, in the name of the JUnit file.
    """
    for path in folders.reports(prefix)[::-1][:MOST_REPORTS]:
        if belongs_to_run(path, stamp):
            say(f"note: the previous run was killed, and its ReFrame left {path.name}")
            return path
    return None


def belongs_to_run(report: Path, stamp: str) -> bool:
    """Whether a report belongs to the run with this stamp: its command line names the JUnit file of the stamp."""
    try:
        return f"junit-{stamp}.xml" in str(read_json(report)["session_info"]["cmdline"])
    except (BadInput, KeyError, TypeError):
        return False


def reason_ignored(report: Path, stamp: str) -> tuple[str, bool]:
    """(why a report that was written during the run with this stamp does not count, whether the report is readable).

    A report that a full disk cut off belongs to this run if its beginning, with the command line, is complete.
    """
    try:
        ours = f"junit-{stamp}.xml".encode() in read_whole(report, MOST_BYTES)
    except BadInput as error:
        return f"{error}: it is unknown whether the report belongs to this run", False
    try:
        read_json(report, folders.CUT)
    except BadInput as error:
        whose = "this run's report" if ours else "a report that may be this run's"
        return f"{whose} is cut off or damaged: {error}", False
    return f"{report.name} belongs to another session, and was ignored", True
