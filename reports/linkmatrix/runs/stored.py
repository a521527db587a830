"""Reads stored runs: the tests of a ReFrame report, or single records.

ReFrame's JSON report (data version 4.2, of ReFrame 4.10) contains the test cases, their results and the paths of their
files. A test case without a readable record stays in the run, and the run contains the reason.
"""

import contextlib
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..files import read_json
from ..record import reading
from ..record.names import option_text
from ..record.units import counted
from ..references import keys
from . import modes
from .folders import CUT, END, HEAD_BYTES, REPORT, START, files_below, newest_report, prefix, reports_in, repository
from .testcases import Test, read_test

if TYPE_CHECKING:
    from .verdict_file import StoredVerdict

SCHEMA, VERDICT = "linkmatrix.record/", "verdict.json"


@dataclass(frozen=True)
class Run:
    """A stored run.

    * path: a report, a record, or the folder that contains several runs
    * rerun: the command that repeats the run; "" if unknown
    * notes: sentences for the user
    * again: sentences about tests that were left out as duplicates
    * session: UUID of the ReFrame session
    * started, ended: times by ReFrame's clock; "" without a report
    * mode: mode of `linkmatrix run` or of ReFrame; "" without a mode
    """

    path: Path
    tests: tuple[Test, ...] = ()
    rerun: str = ""
    notes: tuple[str, ...] = field(default=())
    again: tuple[str, ...] = ()
    session: str = ""
    started: str = ""
    ended: str = ""
    mode: str = ""


def find(path: Path | None) -> Run:
    """The run at `path`: a record, a ReFrame report, or a folder with either. Raises BadInput if there is none.

    path: None for the run that ended last.
    """
    path = newest_report(prefix() / "reports") if path is None else path
    if path.is_dir():
        return in_folder(path)
    content = read_json(path, CUT if REPORT.fullmatch(path.name) else "")
    if isinstance(content, dict) and str(content.get("schema", "")).startswith(SCHEMA):
        del content  # `from_records` reads the record again, and a large record would be in memory twice
        return from_records([path])
    if isinstance(content, dict) and isinstance(content.get("runs"), list):
        return from_report(path, content)
    raise BadInput(
        f"{path} is neither a record of linkmatrix nor a ReFrame report: name a record.json or run-report-*.json"
    )


def find_each(paths: Iterable[Path], for_verdicts: bool = True) -> list[Run]:
    """The runs at all paths, without duplicates. Raises BadInput. Without a path: the run that ended last.

    for_verdicts: if true, all tests of a report are kept, because each test has its own verdict. If false, only one of
    several tests that share a measurement is kept.
    """
    return without_duplicates([find(path) for path in paths] or [find(None)], for_verdicts)


def find_all(paths: Iterable[Path]) -> Run:
    """The runs of `find_each`, combined into one run."""
    found = find_each(paths)
    if len(found) == 1:
        return found[0]
    return Run(
        path=Path(os.path.commonpath([run.path.absolute() for run in found])),
        tests=tuple(test for run in found for test in run.tests),
        notes=tuple(f"{run.path.name}: {note}" for run in found for note in run.notes),
    )


def in_folder(folder: Path) -> Run:
    """The run that ended last, of the reports in `folder` and in its subfolder reports/.

    Without a report, all records below `folder` are one run. Raises BadInput if there is no record.
    """
    for place in (folder, folder / "reports"):
        if reports_in(place):
            return find(newest_report(place))
    found = sorted(path for path in files_below(folder) if path.name == "record.json")
    found = found or sorted(filter(is_record, files_below(folder)))
    if not found:
        raise BadInput(f"{folder} contains no run-report-*.json and no record.json: name the folder of a run")
    return without_duplicates([from_records(found)])[0]


def is_record(path: Path) -> bool:
    """Whether a *.json file begins with the schema of a record. Raises OSError if the file is unreadable."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        return re.search(rb'"schema":\s*"' + SCHEMA.encode(), file.read(HEAD_BYTES)) is not None


def without_duplicates(runs: Sequence[Run], for_verdicts: bool = True) -> list[Run]:
    """The runs without duplicates. for_verdicts: see `find_each`.

    * A test that the user names twice, or that was copied, counts once. A test of a report is left out only if its
      duplicate has the same or a better result in ReFrame.
    * A process of a session writes one record, and each of its tests writes a part of this record. If the parts are
      complete, the parts count, because each part names its check. Otherwise, the record of the process counts.
    """
    known: dict[Hashable, list[tuple[int, Test]]] = {}
    left_out: dict[int, str] = {}  # by the identity of a test
    found = [(number, test, test_keys(run, test)) for number, run in enumerate(runs) for test in run.tests]
    for number, test, parts in sorted(found, key=lambda one: (not one[1].result, is_process_record(one[1]))):
        own_run = number if for_verdicts and test.result else None
        duplicates = [find_duplicate(test, own_run, known.get(key, ())) for key in parts]
        others = [other for other in duplicates if other is not None]
        is_covered = others and test.result in ("", "pass", *(other.result for other in others))
        is_partial = None in duplicates
        if is_covered and is_partial and is_process_record(test) and not any(other.result for other in others):
            left_out |= {id(other): test_source(test) for other in others}
        elif is_covered and (not is_partial or is_process_record(test)):
            left_out[id(test)] = test_source(others[0])
            continue
        for key in parts:
            known.setdefault(key, []).insert(0, (number, test))
    again = [
        tuple(
            f"{test_source(test)}: its {name} is the same result as in {left_out[id(test)]}, so the result counts once"
            for test in run.tests
            if id(test) in left_out
            for name in dict.fromkeys(result["testcase"] for result in (test.record or {"results": []})["results"])
        )
        for run in runs
    ]
    return [
        replace(run, tests=tuple(test for test in run.tests if id(test) not in left_out), again=sentences)
        for run, sentences in zip(runs, again, strict=True)
    ]


def find_duplicate(test: Test, own_run: int | None, known: Iterable[tuple[int, Test]]) -> Test | None:
    """The first duplicate of `test` among the tests `known`; None if there is none.

    Two tests of different checks are no duplicates. A test of an unknown check may be a duplicate of any test.

    * known: (number of the run, test) of tests with the same measurement
    * own_run: the number of the run whose tests are no duplicates; None to compare with the tests of all runs
    """

    def asked(test: Test) -> tuple[str, str] | None:
        if test.record is None or is_process_record(test) or not test.record["asked_by"]:
            return None
        return keys.requesting_check(test.record), keys.measured_variant(test.record)

    return next(
        (
            other
            for run, other in known
            if run != own_run and (asked(test) == asked(other) or None in (asked(test), asked(other)))
        ),
        None,
    )


def test_keys(run: Run, test: Test) -> list[Hashable]:
    """The keys of a test's measurements. Every copy of its record has the same keys.

    Without a record: a key of the test.
    """
    if test.record is None:
        return [(run.session or str(run.path.absolute()), test.name, test.partition, test.environ, test.attempt)]
    return measurements(test.record)


def measurements(record: Mapping[str, Any]) -> list[Hashable]:
    """The keys of a record's measurements. Every copy and every part of the record has the same keys."""
    run = program_run(record)
    found = [(run, one["testcase"], one["size_bytes"], option_text(one)) for one in record["results"]]
    return list(dict.fromkeys(found)) or [(run, record["asked_by"])]


def test_source(test: Test) -> str:
    """The path of a test's record; the name of the test if there is no record."""
    return str(test.path or test.name)


def is_process_record(test: Test) -> bool:
    """Whether the record of a test is in a folder `processN`: the record of a process that measured several tests."""
    return test.path is not None and re.fullmatch(r"process\d+", test.path.parent.name) is not None


def program_run(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """A key of the program run that wrote a record."""
    imported = record.get("imported") or {}  # two files may be imported in the same second
    source = imported.get("sha256"), str(imported.get("lines")), imported.get("column")
    return record["started"], record["seconds"], record["host"]["name"], tuple(record["command"]), source


def record_name(path: Path, cases: list[str]) -> str:
    """The name of the test of a record without a report.

    * path: the path of the record
    * cases: the test cases in the record
    """
    if len(cases) == 1:
        return cases[0]
    return f"{path.name} with {len(cases)} test cases" if cases else f"{path.name} without a test case"


def from_records(paths: Iterable[Path]) -> Run:
    """A run of records without a report, with their stored verdicts. Raises BadInput for an unusable record."""
    paths = list(paths)
    tests = []
    for path in paths:
        content = reading.load(path)
        cases = [result["testcase"] for result in content["results"]]
        tests.append(
            Test(
                name=record_name(path, cases),
                variant=keys.measured_variant(content),
                path=path,
                record=content,
                stored=stored_verdict(path),
            )
        )
    rerun = modes.program_command(tests[0].record) if len(tests) == 1 else ""
    return Run(path=paths[0] if len(paths) == 1 else Path(os.path.commonpath(paths)), tests=tuple(tests), rerun=rerun)


def stored_verdict(path: Path) -> "StoredVerdict | None":
    """The stored verdict next to the record at `path`; None if there is none. Raises BadInput."""
    if not path.with_name(VERDICT).is_file():
        return None
    from . import verdict_file  # slow to import

    return verdict_file.beside_record(path)


def from_report(path: Path, report: dict[str, Any], site: Path | None = None) -> Run:
    """The run of a ReFrame report. Raises BadInput.

    A skipped test case is left out if the manifest allows the skip.

    site: the folder that contains config/manifests; None for `folders.repository`.
    """
    from . import manifest  # imported here, because records need no manifest

    run = unfiltered_run(path, report)
    known = manifest.load(site or repository(), run.mode) if run.mode else {}

    def excuse(test: Test) -> str | None:
        one = known.get(test.partition)
        if one is None or test.result != "skip" or test.unmeasured:  # a temporary reason is not in the manifest
            return None
        return one.skipped.get(manifest.key(test.name, test.environ))

    reasons = Counter(reason for reason in map(excuse, run.tests) if reason is not None)
    notes = [
        f"{counted(count, 'test case')} skipped, as recorded in the manifest: {why}" for why, count in reasons.items()
    ]
    return replace(run, tests=tuple(test for test in run.tests if excuse(test) is None), notes=(*run.notes, *notes))


def load_all(path: Path) -> Run:
    """The run of the report at `path`, with all of its skipped test cases. Raises BadInput."""
    return unfiltered_run(path, read_json(path, CUT))


@contextlib.contextmanager
def reframe_errors(path: Path) -> Iterator[None]:
    """A context that converts errors of reading the report at `path` to BadInput."""
    try:
        yield
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError) as error:
        raise BadInput(f"{path} is not a report of ReFrame 4.10: {type(error).__name__} {error}") from None


def case_by_case(path: Path, report: dict[str, Any]) -> Iterator[Test]:
    """Yields the tests of `unfiltered_run` one by one, because the records of a large sweep do not fit into memory."""
    with reframe_errors(path):
        session = {**report["session_info"]}
        cases = [{"run_index": at, **case} for at, run in enumerate(report["runs"]) for case in run["testcases"]]
        wanted = [case for case in cases if not (case.get("fixture") and case["result"] == "pass")]
        failed = {case.get("unique_name"): str(case["name"]) for case in cases if case["result"] == "fail"}
    for case in wanted:
        with reframe_errors(path):
            test = read_test(case, path, session)
            reason = failed_dependency(case, failed)
        yield replace(test, reason=reason) if reason and not test.reason else test


def failed_dependency(case: Mapping[str, Any], failed: Mapping[Any, str]) -> str:
    """A sentence if ReFrame did not run a test case because a dependency failed; otherwise "".

    failed: {unique name: display name} of the failed test cases.
    """
    if case["result"] not in ("skip", "fail_deps"):
        return ""
    needed = [failed[one[0]] for one in case.get("dependencies_actual") or [] if one[0] in failed]
    return f"not run, because {needed[-1].split()[0]} failed" if needed else ""


def session_time(path: Path, report: dict[str, Any], key: str) -> str:
    """The start (key START) or end (key END) of a report's session, in the time format of records; "" if unknown."""
    with reframe_errors(path):
        seconds = report["session_info"].get(key)
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}" if seconds else ""


def unfiltered_run(path: Path, report: dict[str, Any]) -> Run:
    """The run of a ReFrame report, with all skipped test cases. Passed fixtures are left out. Raises BadInput."""
    tests = tuple(case_by_case(path, report))
    session, (started, ended) = report["session_info"], (session_time(path, report, key) for key in (START, END))
    notes = [] if tests else ["ReFrame ran no test case: 'reframe -C config/settings.py -c checks -R -l' lists them"]
    return Run(
        path=path,
        tests=tests,
        rerun=modes.session_command(session, dict.fromkeys(test.swept for test in tests if test.swept)),
        notes=tuple(notes),
        session=str(session.get("uuid") or ""),
        started=started,
        ended=ended,
        mode=modes.session_mode(session),
    )
