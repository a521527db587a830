"""What there is to show: the test cases of a ReFrame run, or single records.

ReFrame's JSON report (data version 4.2, of 4.10) says which test cases ran, what came of them and where their files
are. A test case without a readable record stays in the list with the reason: what is missing must be seen.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import record as records
from .errors import BadInput

SCHEMA = "linkmatrix.record/"
COMPACT = ".npz"
MOST_BYTES = 512 * 1024 * 1024  # a report or record above this is not one of ours


@dataclass(frozen=True)
class Test:
    """One test case of a run.

    result: ReFrame's word ("pass", "fail", "fail_deps", "skip", "abort", "xfail", "xpass"), "" without ReFrame.
    reason: why ReFrame failed it, and why there is no record, each a sentence. phase: in which it failed.
    reference: the table of references that its partition names, "" for none. node: the one that it was for, where it
    was for a certain one. hashcode: ReFrame's, of the test case on any partition. measures: whether it leaves a record.
    """

    name: str
    result: str = ""
    reason: str = ""
    reference: str = ""
    testcase: str = ""
    partition: str = ""
    phase: str = ""
    node: str = ""
    hashcode: str = ""
    measures: bool = True
    path: Path | None = None
    record: dict[str, Any] | None = None


@dataclass(frozen=True)
class Run:
    """What was found at `path`; `rerun` is the command line that measures it again, "" where that is not known."""

    path: Path
    tests: tuple[Test, ...] = ()
    rerun: str = ""
    notes: tuple[str, ...] = field(default=())
    session: str = ""


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
    for folder in [here, *here.parents, Path(__file__).resolve().parents[2]]:
        if (folder / "config" / "settings.py").is_file():
            return folder
    return here


def newest_report(folder: Path) -> Path:
    """The newest run-report-*.json in `folder`. Raises BadInput where there is none."""
    reports = sorted(folder.glob("run-report-*.json"), key=age)
    if not reports:
        raise BadInput(
            f"there is no run-report-*.json in {folder}: measure first (make run), or name a record or report"
        )
    return reports[-1]


def reports(prefix: Path) -> list[Path]:
    """All ReFrame reports of a prefix, the newest last."""
    return sorted((prefix / "reports").glob("run-report-*.json"), key=age)


def age(path: Path) -> tuple[int, list[int]]:
    """Sorts reports by time; by session number where a file system's clock cannot tell."""
    return path.stat().st_mtime_ns, [int(number) for number in re.findall(r"\d+", path.name)]


def in_folder(folder: Path) -> Run:
    """The newest report in `folder` or its reports/; else all records below it. Raises BadInput where it has none."""
    for place in (folder, folder / "reports"):
        if next(place.glob("run-report-*.json"), None):
            return find(newest_report(place))
    places = {path.parent for name in ("record.json", f"record{COMPACT}") for path in folder.rglob(name)}
    found = sorted(place / "record.json" for place in places)
    if not found:
        raise BadInput(f"{folder} holds no run-report-*.json and no record.json: name the folder of a run")
    return of_records(found)


def read_json(path: Path) -> Any:
    """The JSON at `path`. Raises BadInput: one sentence that names the file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInput(f"{path} is larger than {MOST_BYTES} bytes: that is no record or report")
        return json.loads(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None
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
                path=path,
                record=content,
            )
        )
    rerun = " ".join(tests[0].record["command"]) if len(tests) == 1 else ""
    return Run(path=paths[0] if len(paths) == 1 else Path(os.path.commonpath(paths)), tests=tuple(tests), rerun=rerun)


def load(path: Path) -> dict[str, Any]:
    """The checked record at `path`: in its compact form where that is there and not older. Raises BadInput."""
    beside = path.with_suffix(COMPACT)
    fits = beside.is_file() and (not path.is_file() or beside.stat().st_mtime_ns >= path.stat().st_mtime_ns)
    if fits:
        try:
            from . import compact
        except ModuleNotFoundError:  # numpy, which a cluster may lack
            if not path.is_file() or path == beside:
                raise
        else:
            return compact.load(beside)
    return records.load(path)


def of_report(path: Path, report: dict[str, Any]) -> Run:
    """The test cases of a ReFrame report. Fixtures are left out, unless one failed. Raises BadInput."""
    try:
        session = report["session_info"]
        cases = [case for run in report["runs"] for case in run["testcases"]]
        tests = tuple(of_case(case, path) for case in cases if not (case.get("fixture") and case["result"] == "pass"))
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path} is not a report of ReFrame 4.10: {type(error).__name__} {error}") from None
    notes = [] if tests else ["ReFrame ran no test case: 'reframe -C config/settings.py -c checks -R -l' lists them"]
    return Run(
        path=path,
        tests=tests,
        rerun=str(session.get("cmdline", "")),
        notes=tuple(notes),
        session=str(session.get("uuid") or ""),
    )


def of_case(case: dict[str, Any], report: Path) -> Test:
    """One test case of a report, with its record where it has one."""
    reasons = [sentence(case.get("fail_reason"))] if case.get("fail_reason") else []
    place, content = record_place(case, report), None
    measures = "record.json" in case.get("keep_files", ["record.json"])
    # a fixture and a test case that never ran have none
    if measures and not case.get("fixture") and case["result"] not in ("skip", "fail_deps"):
        try:
            if place is None:
                raise BadInput("there is no record.json of this test case: it did not get as far as measuring")
            content = load(place)
        except BadInput as error:
            reasons.append(str(error))
    return Test(
        name=str(case.get("display_name") or case["name"]),
        result=str(case["result"]),
        reason="; ".join(reasons),
        reference=str(case.get("reference_name") or ""),
        testcase=str(case.get("testcase") or ""),
        phase=str(case.get("fail_phase") or ""),
        node=pinned_node(case),
        hashcode=str(case.get("hashcode") or ""),
        measures=measures,
        partition=f"{case.get('system', '?')}:{case.get('partition', '?')}",
        path=place,
        record=content,
    )


def pinned_node(case: dict[str, Any]) -> str:
    """The node that `--distribute` or `-S on=NODE` chose; "" for none."""
    distributed = re.search(r"%\.nid=([^\s+]+)(?: |$)", str(case.get("display_name", "")))
    return distributed[1] if distributed else str(case.get("on") or "")


def sentence(reason: Any) -> str:
    """ReFrame's reason on one line; a failed reference check has one line for each variable."""
    lines = [line.strip() for line in str(reason).splitlines() if line.strip()]
    return re.sub(r":; ", ": ", "; ".join(lines))


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
