"""What there is to show: the test cases of a ReFrame run, or single records.

ReFrame's JSON report (data version 4.2, of 4.10) says which test cases ran, what came of them and where their files
are. A test case without a readable record stays in the list with the reason: what is missing must be seen.
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
from ..record.names import variant_of
from ..record.units import counted
from ..references import keys
from . import modes
from .folders import CUT, END, HEAD_BYTES, REPORT, START, below, newest_report, prefix, reports_in, repository
from .testcases import Test, of_case

if TYPE_CHECKING:
    from .verdict_file import StoredVerdict

SCHEMA, VERDICT = "linkmatrix.record/", "verdict.json"


@dataclass(frozen=True)
class Run:
    """What was found at `path`; `rerun` is the command line that measures it again, "" where that is not known.

    started, ended: when ReFrame began and ended it, by its own clock, "" without a report. again: sentences on tests
    that were left out, for what they measured is there already. mode: of `linkmatrix run` or ReFrame, "" for none.
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

    Raises BadInput where there is none.
    """
    path = newest_report(prefix() / "reports") if path is None else path
    if path.is_dir():
        return in_folder(path)
    content = read_json(path, CUT if REPORT.fullmatch(path.name) else "")
    if isinstance(content, dict) and str(content.get("schema", "")).startswith(SCHEMA):
        del content  # a large one is not to be held twice
        return of_records([path])
    if isinstance(content, dict) and isinstance(content.get("runs"), list):
        return of_report(path, content)
    raise BadInput(
        f"{path} is neither a record of linkmatrix nor a ReFrame report: name a record.json or run-report-*.json"
    )


def find_each(paths: Iterable[Path], for_verdicts: bool = True) -> list[Run]:
    """The runs at all paths, each measurement once; none is the run that ended last. Raises BadInput.

    for_verdicts: two tests of a report are two, though both read what was measured once: each has its verdict.
    """
    return each_once([find(path) for path in paths] or [find(None)], for_verdicts)


def find_all(paths: Iterable[Path]) -> Run:
    """As `find_each`, all as one run."""
    found = find_each(paths)
    if len(found) == 1:
        return found[0]
    return Run(
        path=Path(os.path.commonpath([run.path.absolute() for run in found])),
        tests=tuple(test for run in found for test in run.tests),
        notes=tuple(f"{run.path.name}: {note}" for run in found for note in run.notes),
    )


def in_folder(folder: Path) -> Run:
    """The report in `folder` or its reports/ whose run ended last; else all records below it. Raises BadInput."""
    for place in (folder, folder / "reports"):
        if reports_in(place):
            return find(newest_report(place))
    found = sorted(path for path in below(folder) if path.name == "record.json")
    found = found or sorted(filter(is_record, below(folder)))
    if not found:
        raise BadInput(f"{folder} holds no run-report-*.json and no record.json: name the folder of a run")
    return each_once([of_records(found)])[0]


def is_record(path: Path) -> bool:
    """Does a file of another name than record.json begin as a record does? One that cannot be read may be one."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        return re.search(rb'"schema":\s*"' + SCHEMA.encode(), file.read(HEAD_BYTES)) is not None


def each_once(runs: Sequence[Run], for_verdicts: bool = True) -> list[Run]:
    """The runs without what is there twice: named or copied twice, or a session's process beside its tests.

    Of a session's process either its own record counts or those that its tests took out of it: these say which check
    asked, but where the session died, they may not be all of what it measured. A test of a report is left out for one
    that ended no better.
    """
    known: dict[Hashable, list[tuple[int, Test]]] = {}
    left_out: dict[int, str] = {}  # by the identity of a test
    found = [(number, test, keys_of(run, test)) for number, run in enumerate(runs) for test in run.tests]
    for number, test, parts in sorted(found, key=lambda one: (not one[1].result, of_process(one[1]))):
        apart = number if for_verdicts and test.result else None
        there = [first_like(test, apart, known.get(key, ())) for key in parts]
        others = [other for other in there if other is not None]
        taken = others and test.result in ("", "pass", *(other.result for other in others))
        if taken and None in there and of_process(test) and not any(other.result for other in others):
            left_out |= {id(other): source_of(test) for other in others}
        elif taken and (None not in there or of_process(test)):
            left_out[id(test)] = source_of(others[0])
            continue
        for key in parts:
            known.setdefault(key, []).insert(0, (number, test))
    again = [
        tuple(
            f"{source_of(test)}: its {name} is that of {left_out[id(test)]}, and counts once"
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


def first_like(test: Test, apart: int | None, known: Iterable[tuple[int, Test]]) -> Test | None:
    """The first of those, each with the number of its run, that was measured for the same check, where both know
    theirs; apart: a run whose tests are others.
    """

    def asked(one: Test) -> tuple[str, str] | None:
        if one.record is None or of_process(one) or not one.record["asked_by"]:
            return None
        return keys.asking_check(one.record), keys.variant_of(one.record)

    return next(
        (
            other
            for of_run, other in known
            if of_run != apart and (asked(test) == asked(other) or None in (asked(test), asked(other)))
        ),
        None,
    )


def keys_of(run: Run, test: Test) -> list[Hashable]:
    """What of a test is one measurement, wherever its record lies; of one without a record the test itself."""
    if test.record is None:
        return [(run.session or str(run.path.absolute()), test.name, test.partition, test.environ, test.attempt)]
    return measurements(test.record)


def measurements(record: Mapping[str, Any]) -> list[Hashable]:
    """What a run of the program measured: a key each, the same in every copy and every part of its record."""
    of_run = program_run(record)
    found = [(of_run, one["testcase"], one["size_bytes"], variant_of(one)) for one in record["results"]]
    return list(dict.fromkeys(found)) or [(of_run, record["asked_by"])]


def source_of(test: Test) -> str:
    """Where a test is from, for people."""
    return str(test.path or test.name)


def of_process(test: Test) -> bool:
    """Is it what a session's process wrote, as reframe_ext/sessions/processes.py names its folder?"""
    return test.path is not None and re.fullmatch(r"process\d+", test.path.parent.name) is not None


def program_run(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """What two records share if one run of the program wrote them."""
    imported = record.get("imported") or {}  # of files of one name, in one second
    of_file = imported.get("sha256"), str(imported.get("lines")), imported.get("column")
    return record["started"], record["seconds"], record["host"]["name"], tuple(record["command"]), of_file


def name_of(path: Path, cases: list[str]) -> str:
    """What a test is called of which only the record is known."""
    if len(cases) == 1:
        return cases[0]
    return f"{path.name} with {len(cases)} test cases" if cases else f"{path.name} without a test case"


def of_records(paths: Iterable[Path]) -> Run:
    """Records without a report, each with the verdict about it beside it. Raises BadInput where one cannot be used."""
    paths = list(paths)
    tests = []
    for path in paths:
        content = reading.load(path)
        cases = [result["testcase"] for result in content["results"]]
        tests.append(
            Test(
                name=name_of(path, cases),
                variant=keys.variant_of(content),
                path=path,
                record=content,
                stored=verdict_beside(path),
            )
        )
    rerun = modes.of_program(tests[0].record) if len(tests) == 1 else ""
    return Run(path=paths[0] if len(paths) == 1 else Path(os.path.commonpath(paths)), tests=tuple(tests), rerun=rerun)


def verdict_beside(path: Path) -> "StoredVerdict | None":
    """The verdict on the record at `path` in the same folder; None without one. Raises BadInput."""
    if not path.with_name(VERDICT).is_file():
        return None
    from . import verdict_file  # slow to import

    return verdict_file.beside_record(path)


def of_report(path: Path, report: dict[str, Any], site: Path | None = None) -> Run:
    """The test cases of a ReFrame report, but those that the manifest says may be skipped. Raises BadInput.

    site: the folder with config/manifests, None for that of the working directory.
    """
    from . import manifest  # a record needs none

    run = every_case(path, report)
    known = manifest.load(site or repository(), run.mode) if run.mode else {}

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
    return every_case(path, read_json(path, CUT))


@contextlib.contextmanager
def of_reframe(path: Path) -> Iterator[None]:
    """Raises BadInput where the report at `path` turns out to be none of ReFrame."""
    try:
        yield
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError) as error:
        raise BadInput(f"{path} is not a report of ReFrame 4.10: {type(error).__name__} {error}") from None


def case_by_case(path: Path, report: dict[str, Any]) -> Iterator[Test]:
    """As the tests of `every_case`, one after the other: the records of a sweep of thousands of nodes are large."""
    with of_reframe(path):
        session = {**report["session_info"]}
        cases = [{"run_index": at, **case} for at, run in enumerate(report["runs"]) for case in run["testcases"]]
        wanted = [case for case in cases if not (case.get("fixture") and case["result"] == "pass")]
        failed = {case.get("unique_name"): str(case["name"]) for case in cases if case["result"] == "fail"}
    for case in wanted:
        with of_reframe(path):
            test = of_case(case, path, session)
            why = held_up(case, failed)
        yield replace(test, reason=why) if why and not test.reason else test


def held_up(case: Mapping[str, Any], failed: Mapping[Any, str]) -> str:
    """Why ReFrame did not run a test case that needs others, {unique name: name} that failed; "" for none of them."""
    if case["result"] not in ("skip", "fail_deps"):
        return ""
    needed = [failed[one[0]] for one in case.get("dependencies_actual") or [] if one[0] in failed]
    return f"not run, because {needed[-1].split()[0]} failed" if needed else ""


def session_time(path: Path, report: dict[str, Any], key: str) -> str:
    """When the session of the report at `path` began or ended, by ReFrame's clock; "" where it does not say."""
    with of_reframe(path):
        seconds = report["session_info"].get(key)
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}" if seconds else ""


def every_case(path: Path, report: dict[str, Any]) -> Run:
    """All test cases of a ReFrame report. Fixtures are left out, unless one failed. Raises BadInput."""
    tests = tuple(case_by_case(path, report))
    session, (started, ended) = report["session_info"], (session_time(path, report, key) for key in (START, END))
    notes = [] if tests else ["ReFrame ran no test case: 'reframe -C config/settings.py -c checks -R -l' lists them"]
    return Run(
        path=path,
        tests=tests,
        rerun=modes.command_of(session, dict.fromkeys(test.swept for test in tests if test.swept)),
        notes=tuple(notes),
        session=str(session.get("uuid") or ""),
        started=started,
        ended=ended,
        mode=modes.mode_of(session),
    )
