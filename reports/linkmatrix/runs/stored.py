"""What there is to show: the test cases of a ReFrame run, or single records.

ReFrame's JSON report (data version 4.2, of 4.10) says which test cases ran, what came of them and where their files
are. A test case without a readable record stays in the list with the reason: what is missing must be seen. So does one
whose record is not its own: `bound.py` says when it is.
"""

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import read_json
from ..record.units import counted
from ..references import keys
from . import manifest, modes
from .folders import below, newest_report, prefix, reports_in, repository
from .testcases import COMPACT, Test, load, of_case

SCHEMA = "linkmatrix.record/"


@dataclass(frozen=True)
class Run:
    """What was found at `path`; `rerun` is the command line that measures it again, "" where that is not known.

    started: when ReFrame began it, by its own clock, "" without a report.
    """

    path: Path
    tests: tuple[Test, ...] = ()
    rerun: str = ""
    notes: tuple[str, ...] = field(default=())
    session: str = ""
    started: str = ""


def find(path: Path | None) -> Run:
    """The run at `path`: a record, a ReFrame report, or a folder with either; None is the newest run.

    Raises BadInput where there is none.
    """
    path = newest_report(prefix() / "reports") if path is None else path
    if path.is_dir():
        return in_folder(path)
    if path.suffix == COMPACT:
        return of_records([path])
    content = read_json(path)
    if isinstance(content, dict) and str(content.get("schema", "")).startswith(SCHEMA):
        del content  # a large one is not to be held twice
        return of_records([path])
    if isinstance(content, dict) and isinstance(content.get("runs"), list):
        return of_report(path, content)
    raise BadInput(
        f"{path} is neither a record of linkmatrix nor a ReFrame report: name a record.json or run-report-*.json"
    )


def find_all(paths: list[Path]) -> Run:
    """The runs at all paths as one; none is the newest run. Raises BadInput."""
    found = [find(path) for path in paths] or [find(None)]
    if len(found) == 1:
        return found[0]
    return Run(
        path=Path(os.path.commonpath([run.path.absolute() for run in found])),
        tests=tuple(test for run in found for test in run.tests),
        notes=tuple(f"{run.path.name}: {note}" for run in found for note in run.notes),
    )


def in_folder(folder: Path) -> Run:
    """The newest report in `folder` or its reports/; else all records below it. Raises BadInput where it has none."""
    for place in (folder, folder / "reports"):
        if reports_in(place):
            return find(newest_report(place))
    places = {path.parent for path in below(folder) if path.name in ("record.json", f"record{COMPACT}")}
    found = sorted(place / "record.json" for place in places)
    if not found:
        raise BadInput(f"{folder} holds no run-report-*.json and no record.json: name the folder of a run")
    run = of_records(found)
    return replace(run, tests=tuple(counted_once(run.tests)))


def counted_once(tests: Iterable[Test]) -> list[Test]:
    """The records of a folder, of each process of a session either its own or those that its tests took out of it.

    Those of the tests say which check asked; but where a session died, they may not be all of what it measured.
    """
    tests = list(tests)
    parts: dict[Any, list[Test]] = {}
    for test in tests:
        if not of_process(test):
            parts.setdefault(program_run(test.record), []).append(test)
    twice: set[Path | None] = set()
    for whole in filter(of_process, tests):
        others = parts.get(program_run(whole.record), [])
        covered = {name for part in others for name in testcases_of(part)} >= testcases_of(whole)
        twice |= {test.path for test in ([whole] if covered else others)}
    return [test for test in tests if test.path not in twice]


def of_process(test: Test) -> bool:
    """Is it what a session's process wrote, as checks/processes.py names its folder?"""
    return test.path is not None and re.fullmatch(r"process\d+", test.path.parent.name) is not None


def program_run(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """What two records share if one run of the program wrote them."""
    imported = record.get("imported") or {}  # of files of one name, in one second
    of_file = imported.get("sha256"), str(imported.get("lines"))
    return record["started"], record["seconds"], record["host"]["name"], tuple(record["command"]), of_file


def testcases_of(test: Test) -> set[str]:
    """The names of those that were measured."""
    return {result["testcase"] for result in test.record["results"]}


def of_records(paths: Iterable[Path]) -> Run:
    """Records without a report. Raises BadInput where one cannot be used."""
    paths = list(paths)
    tests = []
    for path in paths:
        content = load(path)
        cases = [result["testcase"] for result in content["results"]]
        tests.append(
            Test(
                name=cases[0] if len(cases) == 1 else f"{path.name} with {len(cases)} test cases",
                variant=keys.variant_of(content),
                path=path,
                record=content,
            )
        )
    rerun = shlex.join(tests[0].record["command"]) if len(tests) == 1 else ""
    return Run(path=paths[0] if len(paths) == 1 else Path(os.path.commonpath(paths)), tests=tuple(tests), rerun=rerun)


def of_report(path: Path, report: dict[str, Any]) -> Run:
    """The test cases of a ReFrame report, but those that the manifest says may be skipped. Raises BadInput."""
    run = every_case(path, report)
    mode = modes.mode_of(run.rerun)
    known = manifest.load(repository(), mode) if mode else {}

    def excuse(test: Test) -> str | None:
        one = known.get(test.partition)
        if one is None or test.result != "skip" or test.unmeasured:  # what is so today, no manifest can know
            return None
        return one.skipped.get(manifest.key(test.name, test.environ))

    reasons = Counter(reason for reason in map(excuse, run.tests) if reason is not None)
    notes = [f"{counted(count, 'test case')} skipped, as the manifest says: {why}" for why, count in reasons.items()]
    return replace(run, tests=tuple(test for test in run.tests if excuse(test) is None), notes=(*run.notes, *notes))


def all_of(path: Path) -> Run:
    """The test cases of the report at `path`, those that may be skipped too. Raises BadInput."""
    return every_case(path, read_json(path))


def every_case(path: Path, report: dict[str, Any]) -> Run:
    """All test cases of a ReFrame report. Fixtures are left out, unless one failed. Raises BadInput."""
    try:
        session = {**report["session_info"]}
        cases = [case for run in report["runs"] for case in run["testcases"]]
        tests = tuple(
            of_case(case, path, session) for case in cases if not (case.get("fixture") and case["result"] == "pass")
        )
        began = session.get("time_start_unix")
        started = f"{datetime.fromtimestamp(began, timezone.utc):%Y-%m-%dT%H:%M:%SZ}" if began else ""
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError) as error:
        raise BadInput(f"{path} is not a report of ReFrame 4.10: {type(error).__name__} {error}") from None
    notes = [] if tests else ["ReFrame ran no test case: 'reframe -C config/settings.py -c checks -R -l' lists them"]
    return Run(
        path=path,
        tests=tests,
        rerun=str(session.get("cmdline", "")),
        notes=tuple(notes),
        session=str(session.get("uuid") or ""),
        started=started,
    )
