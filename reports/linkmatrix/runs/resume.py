"""`linkmatrix run --resume`: finds the test cases that passed in the interrupted run and need no second measurement.

* ReFrame gets the same selection of test cases, and excludes the passed test cases by their hash. Test cases without a
  result are therefore measured.
* A pass does not count if the pass is too old, was disturbed, or has a simulated fault.
* A pass counts only for the components and the driver in its record. To identify the components again, one passed test
  case per slot is measured again: the test case with the fewest cells.
* If the new records lack a component or the driver of a pass, the pass is void, and the run is INCOMPLETE.
* ReFrame's option --restore-session cannot be used. This option causes a warning about the search path of the checks,
  and --warn-as-error makes the warning an error.
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

MOST_REPORTS = 20  # the newest reports, among which the report of a killed run is searched
MISSING = "not found"  # text for a missing component

Judge = Callable[[Path], "list[Judged]"]


Machine = Mapping[str, Mapping[str, str]]  # {node: {"driver": version, slot: identity of its component}}


class Passed(NamedTuple):
    """A passed test case.

    * case: the key of the test case in a manifest
    * when: start of the run in which the test case passed, in seconds since 1970
    """

    partition: str
    case: str
    cells: int
    when: float
    machine: Machine


@dataclass(frozen=True)
class EarlierPasses:
    """The passed test cases of the earlier runs that a run resumes.

    * passed: {hash of a test case: its passes}. A test case has one pass per partition; () if the test case did not
      pass on all partitions.
    * report: the report of the last run; None without a report
    * whole: whether the runs measured all tests of the mode, without a selection
    """

    passed: Mapping[str, tuple[Passed, ...]] = field(default_factory=dict)
    report: Path | None = None
    whole: bool = True

    def options(self, suite: str, left_out: Iterable[str] = ()) -> list[str]:
        """The options of ReFrame that skip the passed test cases. The test cases in `remeasured` are not skipped.

        * suite: the suite of the mode's sessions, which skip the same test cases; "" for a mode without sessions
        * left_out: hashes of other test cases to skip
        """
        skipped = sorted({*(self.passed.keys() - self.remeasured), *left_out})
        less = suite_options(",".join([suite, *(f"-/{code}" for code in skipped)])) if suite and skipped else []
        return [*(f"--exclude=/{code}" for code in skipped), *less]

    @property
    def remeasured(self) -> set[str]:
        """The hashes of the passed test cases to measure again: one test case per slot.

        The chosen test case has the fewest cells of all passed test cases that identify the component in the slot.
        """
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
    """Stores the passed tests of a run in the file `last`, with the path of the report, for a later --resume."""
    content = {"mode": mode, "report": str(report) if report else None, "stamp": stamp, "whole": before.whole}
    content["passed"] = {code: [list(one) for one in found] for code, found in sorted(before.passed.items())}
    write_whole(last, json.dumps(content).encode())


def load_passes(last: Path, prefix: Path, judge: Judge, hours: float) -> EarlierPasses:
    """The passed tests of the last run: from the file of `store_passes`, and from the report if the run was killed.

    hours: the maximum age of a pass.
    """
    oldest, newest = time.time() - hours * 3600, time.time() + SKEW
    try:
        content = json.loads(read_whole(last, MOST_BYTES))
        passed = {
            str(code): tuple(
                Passed(str(p), str(case), int(cells), float(when), {str(node): {**of} for node, of in machine.items()})
                for p, case, cells, when, machine in found
            )
            for code, found in content["passed"].items()
        }
        stamp = str(content["stamp"])
        began, whole = stamp_time(stamp), bool(content["whole"])
        report = Path(content["report"]) if content["report"] else find_killed_report(prefix, stamp)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        passed, report, began, whole = {}, None, 0.0, True
    has_report = report is not None and report.is_file()
    if has_report and oldest <= began <= newest:
        assert report is not None
        passed = {**passed, **passed_tests(judge(report), began)}
    ahead = {code for code, found in passed.items() if any(not one.when <= newest for one in found)}
    if ahead or not began <= newest:
        say("note: tests with a start time in the future are measured again: their age is unknown")
    passed = {code: found for code, found in passed.items() if code not in ahead}
    fresh = {code: found for code, found in passed.items() if found and min(one.when for one in found) >= oldest}
    old = sum(bool(found) for found in passed.values()) - len(fresh) + (has_report and began < oldest)
    if old:
        say(f"note: tests that passed more than {hours:g} hours ago are measured again (--resume-hours)")
    if not has_report or report is None:
        kept = f", except {units.counted(len(fresh), 'test case')} that passed earlier" if fresh else ""
        say(f"note: the previous run left no report, so all is measured again{kept}")
        return EarlierPasses(fresh, None, whole)
    found = EarlierPasses(fresh, report if fresh else None, whole)
    again = f", except {len(found.remeasured)} to see whether components changed" if found.remeasured else ""
    say(f"note: {units.counted(len(fresh), 'test case')} passed before ({report.name}): not measured again{again}")
    return found


def passed_tests(judged: list[Judged], when: float) -> dict[str, tuple[Passed, ...]]:
    """Returns {hash of a test case: its passes} of a run.

    * A test case has one pass per partition; () if the test case did not pass on all partitions.
    * when: start of the run, in seconds since 1970
    """
    found: dict[str, list[Judged]] = {}
    for one in judged:
        found.setdefault(one.test.hashcode, []).append(one)
    return {
        code: tuple(
            Passed(
                one.test.partition,
                manifest.key(one.test.name, one.test.environ),
                manifest.cells(one.test.record),
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


def has_passed(judged: Judged) -> bool:
    """Whether a test case is an undisturbed PASS or WARN without a simulated fault."""
    record = judged.test.record
    if judged.verdict > Verdict.WARN or record is None:
        return judged.verdict <= Verdict.WARN
    return not simulated_fault(record) and not any(disturbed_nodes(record, result) for result, _ in judged.matrices)


def valid_passes(before: EarlierPasses, judged: Iterable[Judged]) -> tuple[EarlierPasses, list[str]]:
    """Returns (the earlier passes that still count, one sentence per node with void passes).

    A pass is void if a component or the driver of its node changed, or if no new record identifies the component.

    judged: the test cases of the resumed run, which has ended.
    """
    now: dict[str, dict[str, str]] = {}
    for one in judged:
        for node, slots in components.node_components(one.test.record).items():
            now.setdefault(node, {}).update(slots)
    changes: dict[str, set[str]] = {}
    void = Counter[str]()
    passed = dict(before.passed)
    for code, found in before.passed.items():
        for node, slots in (item for one in found for item in one.machine.items()):
            new = now.get(node, {})
            differences = {f"{at} {old} -> {new.get(at, MISSING)}" for at, old in slots.items() if new.get(at) != old}
            if differences:
                changes.setdefault(node, set()).update(differences if new else ())
                void[node] += 1
                passed.pop(code, None)
    sentences = []
    for node, which in sorted(changes.items()):
        listed = ", ".join(units.first(sorted(which)))
        why = f"{node} changed ({listed})" if which else f"no new record identifies the components of {node}"
        earlier = f"{units.counted(void[node], 'test case')} passed earlier and must be measured again"
        sentences.append(f"{why}: {earlier}: run without --resume")
    return replace(before, passed=passed), sentences


def stamp_time(stamp: str) -> float:
    """Converts the stamp of a run, "20261120T100000Z-1234", to seconds since 1970. Raises ValueError."""
    text = re.sub(r"-\d+$", "", stamp)
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()


def find_killed_report(prefix: Path, stamp: str) -> Path | None:
    """The report of a killed run; None if there is none. ReFrame still writes a report after its parent was killed."""
    for path in folders.reports(prefix)[::-1][:MOST_REPORTS]:
        if belongs_to_run(path, stamp):
            say(f"note: the previous run was killed, but ReFrame wrote its report: {path.name}")
            return path
    return None


def belongs_to_run(report: Path, stamp: str) -> bool:
    """Whether a report belongs to the run with this stamp. The stamp is the start of the run as text.

    The report belongs to the run if its command line names the JUnit file of the run.
    """
    try:
        return f"junit-{stamp}.xml" in str(read_json(report)["session_info"]["cmdline"])
    except (BadInput, KeyError, TypeError):
        return False


def reason_ignored(report: Path, stamp: str) -> tuple[str, bool]:
    """Returns (why a report is ignored, whether the report is readable).

    The report was written during the run with the stamp `stamp`. A full disk may cut off a report. The remaining part
    may still contain the command line of the run. The report then belongs to the run.
    """
    try:
        ours = f"junit-{stamp}.xml".encode() in read_whole(report, MOST_BYTES)
    except BadInput as error:
        return f"{error}: it is unknown whether the report belongs to this run", False
    try:
        read_json(report, folders.CUT)
    except BadInput as error:
        whose = "this run's report" if ours else "a report that may be this run's"
        return f"{whose} is incomplete or damaged: {error}", False
    return f"{report.name} belongs to another session, and was ignored", True
