"""`linkmatrix run --resume`: which test cases passed before, and are not measured again.

ReFrame gets the same selection less these, by their hash, so what no report knows is measured. Its own
--restore-session cannot be used: it warns of the search path of the checks, which must be no error, and imports each
file of the package `checks` alone, which fails.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from . import explain, runs
from .errors import BadInput
from .evaluate import Verdict
from .explain import Judged

MOST_REPORTS = 20  # that are looked through for the one of a killed run

Judge = Callable[[Path], list[Judged]]


@dataclass(frozen=True)
class Before:
    """passed: hashes of what passed in the runs before; report: of the last of them, None where it left none."""

    passed: frozenset[str] = frozenset()
    report: Path | None = None

    def options(self) -> list[str]:
        """What makes ReFrame leave them out."""
        return [f"--exclude=/{code}" for code in sorted(self.passed)]


def note(last: Path, mode: str, stamp: str, passed: Iterable[str], report: Path | None) -> None:
    """Writes down what a later --resume needs."""
    said = {"mode": mode, "report": str(report) if report else None, "stamp": stamp, "passed": sorted(passed)}
    last.write_text(json.dumps(said), encoding="utf-8")


def before(last: Path, prefix: Path, judge: Judge) -> Before:
    """What the note of the last run says, with the report that it left, or its ReFrame when it was killed."""
    try:
        said = json.loads(last.read_text(encoding="utf-8"))
        passed = {str(code) for code in said.get("passed", [])}
        report = Path(said["report"]) if said["report"] else left_behind(prefix, str(said["stamp"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        passed, report = set(), None
    if report is None or not report.is_file():
        what = f"all but {explain.counted(len(passed), 'test case')} that passed earlier" if passed else "all"
        print(f"note: the run before left no report, so {what} is measured again")
        return Before(frozenset(passed))
    verdicts: dict[str, list[Verdict]] = {}
    for one in judge(report):
        verdicts.setdefault(one.test.hashcode, []).append(one.verdict)
    # a test case has one hash on all partitions
    good = {code for code, found in verdicts.items() if code and max(found) <= Verdict.WARN}
    found = Before(frozenset((passed - verdicts.keys()) | good), report)
    print(f"note: {explain.counted(len(found.passed), 'test case')} passed before ({report.name}): not measured again")
    return found


def left_behind(prefix: Path, stamp: str) -> Path | None:
    """The report of a run that was killed: its ReFrame is told to end then, and writes what passed until then.

    The command line in the report has the run's own stamp, in the name of the JUnit file.
    """
    for path in runs.reports(prefix)[::-1][:MOST_REPORTS]:
        try:
            command = str(runs.read_json(path)["session_info"]["cmdline"])
        except (BadInput, KeyError, TypeError):
            continue
        if f"junit-{stamp}.xml" in command:
            print(f"note: the run before was killed, and its ReFrame left {path.name}")
            return path
    return None
