"""What there is to show: the test cases of a ReFrame run, or single records.

ReFrame's JSON report (data version 4.2, of 4.10) says which test cases ran, what came of them and where their files
are. A test case without a readable record stays in the list with the reason: what is missing must be seen. So does one
whose record is not its own: `bound.py` says when it is.
"""

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import read_whole, regular
from ..record import reading
from ..record.units import counted
from ..references import keys
from . import bound, manifest, modes

SCHEMA = "linkmatrix.record/"
COMPACT = ".npz"
REPORT = re.compile(r"run-report-.*\.json")
BEGAN = re.compile(rb'"time_start_unix": ([0-9.]+)')
#: all that ReFrame says, by phase, of a test that measured well and lacks references: its own words, and node_sweep's
NO_REFERENCE = {
    "performance": r"(performance error: )?no reference value found for performance variable '[^']*' on \S+ '[^']*'",
    "sanity": r"(sanity error: )?\d+ cells have no reference(: the partition names no table| in the table \S+)",
}
HEAD_BYTES = 1 << 16  # of a report, where ReFrame writes about its session
MOST_BYTES = 512 * 1024 * 1024  # a report or record above this is not one of ours


@dataclass(frozen=True)
class Test:
    """One test case of a run.

    result: ReFrame's word ("pass", "fail", "fail_deps", "skip", "abort", "xfail", "xpass"), "" without ReFrame.
    reason: why ReFrame failed it, and why there is no record, each a sentence. phase: in which it failed.
    reference: the table of references that its partition names, "" for none. node: the one that it was for, where it
    was for a certain one. variant: what of the machine was measured, as the table's name says it. hashcode: ReFrame's,
    of the test case on any partition. measures: whether it leaves a record.
    environ: that it was built with. fixture: whether it only builds.
    attempt: 0, and more where ReFrame ran it again. doubts: why its record may not be
    that of this run, each a sentence.
    unmeasured: why its job did not get as far as measuring it, "" where it did.
    unreferenced: whether a reference that is missing is all that ReFrame failed it for, when all else was as it should.
    """

    name: str
    result: str = ""
    reason: str = ""
    reference: str = ""
    variant: str = ""
    testcase: str = ""
    partition: str = ""
    phase: str = ""
    node: str = ""
    hashcode: str = ""
    measures: bool = True
    unmeasured: str = ""
    unreferenced: bool = False
    path: Path | None = None
    record: dict[str, Any] | None = None
    environ: str = ""
    attempt: int = 0
    doubts: tuple[str, ...] = ()
    fixture: bool = False

    @property
    def as_expected(self) -> bool:
        """Did ReFrame find all as it should be before it looked for references? Not known without ReFrame."""
        return self.result == "pass" or self.unreferenced


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


def prefix() -> Path:
    """The folder of all results: $LINKMATRIX_PREFIX, or .linkmatrix beside the config/settings.py that is nearest."""
    if os.environ.get("LINKMATRIX_PREFIX"):
        return Path(os.environ["LINKMATRIX_PREFIX"])
    return repository() / ".linkmatrix"


def repository() -> Path:
    """The folder whose config/settings.py is nearest: around the working directory, else where this package lies."""
    here = Path.cwd()
    for folder in [here, *here.parents, Path(__file__).resolve().parents[3]]:
        if (folder / "config" / "settings.py").is_file():
            return folder
    return here


def newest_report(folder: Path) -> Path:
    """The newest run-report-*.json in `folder`. Raises BadInput where there is none."""
    found = reports_in(folder)
    if not found:
        raise BadInput(
            f"there is no run-report-*.json in {folder}: measure first (make run), or name a record or report"
        )
    return found[-1]


def reports(prefix: Path) -> list[Path]:
    """All ReFrame reports of a prefix, the newest last. Raises BadInput where they cannot be listed."""
    return reports_in(prefix / "reports")


def reports_in(folder: Path) -> list[Path]:
    """All ReFrame reports of a folder, the newest last. Raises BadInput where they cannot be listed."""
    return sorted((path for path in listed(folder) if REPORT.fullmatch(path.name)), key=age)


def listed(folder: Path) -> list[Path]:
    """What is in a folder; nothing if it is not there. Raises BadInput."""
    try:
        with os.scandir(folder) as found:
            return [Path(one.path) for one in found]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise BadInput(f"{folder} cannot be read: {error.strerror or error}") from None


def below(folder: Path) -> Iterator[Path]:
    """All files of a folder and those in it. Raises BadInput: what cannot be read may be what matters."""

    def refuse(error: OSError) -> None:
        raise BadInput(f"{error.filename} cannot be read: {error.strerror or error}")

    for place, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(place, name) for name in names)


def age(path: Path) -> tuple[float, list[int]]:
    """Sorts reports by when their sessions began, by ReFrame's clock; by session number where that is not known.

    When a file was written or copied says nothing.
    """
    return session_time(path), [int(number) for number in re.findall(r"\d+", path.name)]


def session_time(path: Path) -> float:
    """When the session of a report began, in seconds since 1970; 0 where it does not say."""
    try:
        regular(path)
        with path.open("rb") as file:
            found = BEGAN.search(file.read(HEAD_BYTES))
        if found:
            return float(found[1])
        return float(read_json(path)["session_info"]["time_start_unix"])
    except (OSError, BadInput, KeyError, TypeError, ValueError):
        return 0.0


def in_folder(folder: Path) -> Run:
    """The newest report in `folder` or its reports/; else all records below it. Raises BadInput where it has none."""
    for place in (folder, folder / "reports"):
        if reports_in(place):
            return find(newest_report(place))
    places = {path.parent for path in below(folder) if path.name in ("record.json", f"record{COMPACT}")}
    found = sorted(place / "record.json" for place in places)
    if not found:
        raise BadInput(f"{folder} holds no run-report-*.json and no record.json: name the folder of a run")
    return of_records(found)


def read_json(path: Path) -> Any:
    """The JSON at `path`. Raises BadInput: one sentence that names the file."""
    content = read_whole(path, MOST_BYTES)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not valid JSON: {error}") from None


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


def load(path: Path) -> dict[str, Any]:
    """The checked record at `path`: in its compact form where that is there and was made of it. Raises BadInput."""
    beside = path.with_suffix(COMPACT)
    fits = beside.is_file() and (not path.is_file() or beside.stat().st_mtime_ns >= path.stat().st_mtime_ns)
    if fits:
        try:
            from ..record import compact
        except ModuleNotFoundError:  # numpy, which a cluster may lack
            if not path.is_file() or path == beside:
                raise
        else:
            if not path.is_file() or path == beside or compact.is_of(beside, path):
                return compact.load(beside)
    return reading.load(path)


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


def of_case(case: dict[str, Any], report: Path, session: Mapping[str, Any] | None = None) -> Test:
    """One test case of a report, with its record where it has one, and that is its own."""
    if not isinstance(case["result"], str):
        raise TypeError(f"the result of a test case is {case['result']}")
    said = case.get("fail_reason") or (case["result"] == "skip" and case.get("unmeasured"))
    reasons = [sentence(said)] if said else []
    place, content = record_place(case, report), None
    doubts: list[str] = []
    measures = bound.measures(case)
    # a fixture and a test case that never ran have none
    if measures and not case.get("fixture") and case["result"] not in ("skip", "fail_deps"):
        try:
            if place is None:
                raise BadInput(bound.why_no_record(case))
            content = load(place)
            doubts = bound.doubts(case, session or {}, content)
            others = bound.others(case, content)
            if others:
                content = None
                raise BadInput("; ".join(others))
        except BadInput as error:
            reasons.append(str(error))
    reference = str(case.get("reference_name") or "")
    return Test(
        name=str(case.get("display_name") or case["name"]),
        result=str(case["result"]),
        reason="; ".join(reasons),
        reference=reference,
        variant=str(case.get("reference_variant") or reference[len(reference.partition("@")[0]) :]),
        testcase=str(case.get("testcase") or ""),
        phase=str(case.get("fail_phase") or ""),
        node=pinned_node(case),
        hashcode=str(case.get("hashcode") or ""),
        measures=measures,
        unmeasured=str(case.get("unmeasured") or ""),
        unreferenced=unreferenced(case),
        partition=f"{case.get('system', '?')}:{case.get('partition', '?')}",
        path=place,
        record=content,
        environ=str(case.get("environ") or ""),
        attempt=int(case.get("run_index") or 0),
        doubts=tuple(doubts) if content else (),
        fixture=bool(case.get("fixture")),
    )


def unreferenced(case: Mapping[str, Any]) -> bool:
    """Did ReFrame fail a test case for nothing but a reference that is not there?"""
    said = NO_REFERENCE.get(str(case.get("fail_phase"))) if case["result"] == "fail" else None
    return said is not None and re.fullmatch(said, sentence(case.get("fail_reason"))) is not None


def pinned_node(case: dict[str, Any]) -> str:
    """The node that `--distribute` or `-S on=NODE` chose; "" for none."""
    distributed = re.search(r"%\.nid=([^\s+]+)(?: |$)", str(case.get("display_name", "")))
    return distributed[1] if distributed else str(case.get("on") or "")


def sentence(reason: Any) -> str:
    """ReFrame's reason on one line; a failed reference check has one line for each variable."""
    lines = [line.strip() for line in str(reason).splitlines() if line.strip()]
    # marks that ReFrame sets around what a command printed, also where it printed nothing
    lines = [line for line in lines if not re.fullmatch(r"--- std(out|err) ---", line)]
    text = re.sub(r":; ", ": ", "; ".join(lines))
    return f"{text} it said nothing more" if text.endswith(":") else text


def record_place(case: dict[str, Any], report: Path) -> Path | None:
    """Where the record of a test case is: ReFrame keeps the files of what passed, and leaves the stage of what failed.

    What did not pass is not looked for among the kept files: an earlier run's may lie there. Both folders are looked
    for beside the report too, in case the whole prefix was copied from another machine.
    """
    kept = case.get("outputdir") if case["result"] == "pass" else None
    for folder in filter(None, (kept, case.get("stagedir"))):
        parts = Path(folder).parts
        moved = (report.resolve().parent.parent.joinpath(*parts[start:]) for start in range(1, len(parts)))
        for place in (Path(folder), *moved):
            if (place / "record.json").is_file() or (place / f"record{COMPACT}").is_file():
                return place / "record.json"
    return None
