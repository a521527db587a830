"""The tests of a ReFrame run, or of single records.

ReFrame's JSON report (data version 4.2, of 4.10) has the test cases, their results and the paths of their files. A test
case without a readable record stays in the list with the reason, so that missing results are visible.
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
    """The run at `path`. rerun: the command that repeats it, "" if unknown.

    started, ended: by ReFrame's clock, "" without a report. again: sentences on tests that were left out, because their
    measurement is there already. mode: of `linkmatrix run` or ReFrame, "" for none.
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
    """The run at `path`: a record, a ReFrame report, or a folder with either; None is the run that ended last.

    Raises BadInput if there is none.
    """
    path = newest_report(prefix() / "reports") if path is None else path
    if path.is_dir():
        return in_folder(path)
    content = read_json(path, CUT if REPORT.fullmatch(path.name) else "")
    if isinstance(content, dict) and str(content.get("schema", "")).startswith(SCHEMA):
        del content  # a large one is not to be held twice
        return from_records([path])
    if isinstance(content, dict) and isinstance(content.get("runs"), list):
        return from_report(path, content)
    raise BadInput(
        f"{path} is neither a record of linkmatrix nor a ReFrame report: name a record.json or run-report-*.json"
    )


def find_each(paths: Iterable[Path], for_verdicts: bool = True) -> list[Run]:
    """The runs at all paths, each measurement once; without a path the run that ended last. Raises BadInput.

    for_verdicts: keep two tests of a report that read the same measurement, because each has its verdict.
    """
    return without_duplicates([find(path) for path in paths] or [find(None)], for_verdicts)


def find_all(paths: Iterable[Path]) -> Run:
    """The runs of `find_each` as one run."""
    found = find_each(paths)
    if len(found) == 1:
        return found[0]
    return Run(
        path=Path(os.path.commonpath([run.path.absolute() for run in found])),
        tests=tuple(test for run in found for test in run.tests),
        notes=tuple(f"{run.path.name}: {note}" for run in found for note in run.notes),
    )


def in_folder(folder: Path) -> Run:
    """The run that ended last, by the reports in `folder` or in its subfolder reports/.

    Without reports, a run of all records below `folder`. Raises BadInput.
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
    """Whether a file begins like a record, whatever its name. Raises OSError if it cannot be read."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        return re.search(rb'"schema":\s*"' + SCHEMA.encode(), file.read(HEAD_BYTES)) is not None


def without_duplicates(runs: Sequence[Run], for_verdicts: bool = True) -> list[Run]:
    """The runs without duplicates: a test that was named or copied twice, and a session's process whose tests have the
    same measurements.

    Of a session's process, either its own record counts, or the records that its tests extracted. The extracted records
    name the check, but are incomplete if the session died. A test of a report is left out only for a test with the same
    or a better result.
    """
    known: dict[Hashable, list[tuple[int, Test]]] = {}
    left_out: dict[int, str] = {}  # by the identity of a test
    found = [(number, test, test_keys(run, test)) for number, run in enumerate(runs) for test in run.tests]
    for number, test, parts in sorted(found, key=lambda one: (not one[1].result, is_process_record(one[1]))):
        apart = number if for_verdicts and test.result else None
        there = [find_duplicate(test, apart, known.get(key, ())) for key in parts]
        others = [other for other in there if other is not None]
        taken = others and test.result in ("", "pass", *(other.result for other in others))
        if taken and None in there and is_process_record(test) and not any(other.result for other in others):
            left_out |= {id(other): test_source(test) for other in others}
        elif taken and (None not in there or is_process_record(test)):
            left_out[id(test)] = test_source(others[0])
            continue
        for key in parts:
            known.setdefault(key, []).insert(0, (number, test))
    again = [
        tuple(
            f"{test_source(test)}: its {name} is the same result as in {left_out[id(test)]}, and counts once"
            for test in run.tests
            if id(test) in left_out
            for name in dict.fromkeys(result["testcase"] for result in (test.record or {"results": []})["results"])
        )
        for run in runs
    ]
    return [
        replace(run, tests=tuple(test for test in run.tests if id(test) not in left_out), again=said)
        for run, said in zip(runs, again, strict=True)
    ]


def find_duplicate(test: Test, apart: int | None, known: Iterable[tuple[int, Test]]) -> Test | None:
    """The first of the `known` tests that was measured for the same check, if both checks are known.

    known: tests with the number of their run. apart: the run whose tests do not count as duplicates, None for none.
    """

    def asked(one: Test) -> tuple[str, str] | None:
        if one.record is None or is_process_record(one) or not one.record["asked_by"]:
            return None
        return keys.asking_check(one.record), keys.measured_variant(one.record)

    return next(
        (
            other
            for of_run, other in known
            if of_run != apart and (asked(test) == asked(other) or None in (asked(test), asked(other)))
        ),
        None,
    )


def test_keys(run: Run, test: Test) -> list[Hashable]:
    """The keys of a test's measurements, equal in every copy; without a record a key of the test itself."""
    if test.record is None:
        return [(run.session or str(run.path.absolute()), test.name, test.partition, test.environ, test.attempt)]
    return measurements(test.record)


def measurements(record: Mapping[str, Any]) -> list[Hashable]:
    """The keys of a record's measurements, equal in every copy and every part of the record."""
    of_run = program_run(record)
    found = [(of_run, one["testcase"], one["size_bytes"], option_text(one)) for one in record["results"]]
    return list(dict.fromkeys(found)) or [(of_run, record["asked_by"])]


def test_source(test: Test) -> str:
    """The path of a test's record, else its name."""
    return str(test.path or test.name)


def is_process_record(test: Test) -> bool:
    """Whether the record is in the folder of one process of a session (reframe_ext/sessions/processes.py)."""
    return test.path is not None and re.fullmatch(r"process\d+", test.path.parent.name) is not None


def program_run(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """The key of the program run that wrote a record."""
    imported = record.get("imported") or {}  # of files of one name, in one second
    of_file = imported.get("sha256"), str(imported.get("lines")), imported.get("column")
    return record["started"], record["seconds"], record["host"]["name"], tuple(record["command"]), of_file


def record_name(path: Path, cases: list[str]) -> str:
    """The name of a test of which only the record is known."""
    if len(cases) == 1:
        return cases[0]
    return f"{path.name} with {len(cases)} test cases" if cases else f"{path.name} without a test case"


def from_records(paths: Iterable[Path]) -> Run:
    """Records without a report, each with its stored verdict. Raises BadInput for an unusable record."""
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
    """The verdict on the record at `path` in the same folder; None without one. Raises BadInput."""
    if not path.with_name(VERDICT).is_file():
        return None
    from . import verdict_file  # slow to import

    return verdict_file.beside_record(path)


def from_report(path: Path, report: dict[str, Any], site: Path | None = None) -> Run:
    """The test cases of a ReFrame report, without those that the manifest allows to skip. Raises BadInput.

    site: the folder with config/manifests, None for that of the working directory.
    """
    from . import manifest  # a record needs none

    run = all_cases(path, report)
    known = manifest.load(site or repository(), run.mode) if run.mode else {}

    def excuse(test: Test) -> str | None:
        one = known.get(test.partition)
        if one is None or test.result != "skip" or test.unmeasured:  # what is so today, no manifest can know
            return None
        return one.skipped.get(manifest.key(test.name, test.environ))

    reasons = Counter(reason for reason in map(excuse, run.tests) if reason is not None)
    notes = [
        f"{counted(count, 'test case')} skipped, as recorded in the manifest: {why}" for why, count in reasons.items()
    ]
    return replace(run, tests=tuple(test for test in run.tests if excuse(test) is None), notes=(*run.notes, *notes))


def load_all(path: Path) -> Run:
    """All test cases of the report at `path`, also those that may be skipped. Raises BadInput."""
    return all_cases(path, read_json(path, CUT))


@contextlib.contextmanager
def reframe_errors(path: Path) -> Iterator[None]:
    """Context that raises BadInput if the report at `path` is not one of ReFrame."""
    try:
        yield
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError) as error:
        raise BadInput(f"{path} is not a report of ReFrame 4.10: {type(error).__name__} {error}") from None


def case_by_case(path: Path, report: dict[str, Any]) -> Iterator[Test]:
    """Yield the tests of `all_cases` one by one, because the records of a large sweep do not fit into memory."""
    with reframe_errors(path):
        session = {**report["session_info"]}
        cases = [{"run_index": at, **case} for at, run in enumerate(report["runs"]) for case in run["testcases"]]
        wanted = [case for case in cases if not (case.get("fixture") and case["result"] == "pass")]
        failed = {case.get("unique_name"): str(case["name"]) for case in cases if case["result"] == "fail"}
    for case in wanted:
        with reframe_errors(path):
            test = read_test(case, path, session)
            why = failed_dependency(case, failed)
        yield replace(test, reason=why) if why and not test.reason else test


def failed_dependency(case: Mapping[str, Any], failed: Mapping[Any, str]) -> str:
    """Why ReFrame did not run a test case: a failed dependency; "" without one. failed: {unique name: name}."""
    if case["result"] not in ("skip", "fail_deps"):
        return ""
    needed = [failed[one[0]] for one in case.get("dependencies_actual") or [] if one[0] in failed]
    return f"not run, because {needed[-1].split()[0]} failed" if needed else ""


def session_time(path: Path, report: dict[str, Any], key: str) -> str:
    """The start or the end of a report's session by ReFrame's clock; "" if unknown."""
    with reframe_errors(path):
        seconds = report["session_info"].get(key)
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}" if seconds else ""


def all_cases(path: Path, report: dict[str, Any]) -> Run:
    """All test cases of a ReFrame report, without fixtures that passed. Raises BadInput."""
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
