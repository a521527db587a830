"""A bundle: a run with everything that its verdict was made of, in one file that any machine can judge again.

    reports/1.json              ReFrame's reports in order of time: the run, and every other attempt
    records/1-0-3/              record.json, verdict.json and files of cells: report, attempt in the report, test case
    config/references/*.yaml    and config/manifests/*.json
    bundle.json                 versions, the commit of the references, the number of the run, runs without a report
    SHA256SUMS                  of all other files

An attempt is a run that measured a test of the run since the references were committed. A bundle of records that have
no report has one run and no other attempt.
"""

import json
import platform
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import BadInput
from ..files import MOST_BYTES, read_json, read_whole, write_whole
from ..judge.test_verdict import judge_test
from ..judge.verdicts import WORDS, Reason
from ..references.tables import files_of
from . import folders, stored, testcases, unreported, verdict_file
from .bundle_archive import ABOUT, NAMES, REMEDY, load, packed
from .copies import files_in
from .stored import Run
from .testcases import Test

SCHEMA = "linkmatrix.bundle/1"
PACKAGES = ("reframe-hpc", "numpy", "PyYAML")
TIME = "%Y-%m-%dT%H:%M:%SZ"
UNPACKED: list[tempfile.TemporaryDirectory[str]] = []  # whose files are read until this process ends


@dataclass(frozen=True)
class Bundle:
    """A bundle as it was read.

    runs: in order of time. run: the one that the bundle was made of. folder: with config/references. frozen: "commit"
    and "time" of the references, or the "problem" why there is no commit. unreported: attempts without a report.
    """

    path: Path
    sha256: str
    runs: tuple[Run, ...]
    run: Run
    folder: Path
    versions: Mapping[str, str]
    frozen: Mapping[str, str]
    unreported: tuple[str, ...]

    @property
    def references(self) -> Path:
        """The folder of its references."""
        return self.folder / "config" / "references"


def made(run: Run, references: Path, repository: Path) -> bytes:
    """The bundle of a run and its other attempts. references: a folder or a file. Raises BadInput."""
    commit = frozen(references)
    members = {f"config/references/{file.name}": file.read_bytes() for file in reference_files(references)}
    manifests = sorted((repository / "config" / "manifests").glob("[!.]*.json"))
    members |= {f"config/manifests/{file.name}": file.read_bytes() for file in manifests}
    if manifests and (problem := frozen(manifests[0].parent).get("problem")):
        commit["manifests"] = problem
    number, without_report = 0, []
    if run.started or folders.REPORT.fullmatch(run.path.name):
        path = run.path.absolute()
        reports, without_report = attempts(path, commit.get("time", "9999"))
        number = reports.index(path) + 1
        for at, report in enumerate(reports, 1):
            members |= of_report(report, at)
    else:
        for at, test in enumerate(run.tests):
            members |= of_record(test, f"records/0-0-{at}")
    about = {"schema": SCHEMA, "versions": versions(), "frozen": commit, "run": number, "unreported": without_report}
    return packed({**members, ABOUT: json.dumps(about, indent=1, sort_keys=True).encode()})


def reference_files(references: Path) -> list[Path]:
    """The files of references in a folder, or the file."""
    return files_of(references) if references.is_dir() else [references]


def versions() -> dict[str, str]:
    """The versions of what measures and judges."""
    found = {"linkmatrix": __version__, "python": platform.python_version()}
    installed = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    return found | {name: installed[name] for name in PACKAGES if name in installed}


def frozen(references: Path) -> dict[str, str]:
    """{"commit", "time"} of the last change of the references; {"problem": why there is none} without a commit."""
    folder, name = (references, ".") if references.is_dir() else (references.parent, references.name)

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words, "--", name]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    try:
        changed, last = git("status", "--porcelain", "--ignored"), git("log", "-1", "--format=%H %ct")
    except (OSError, subprocess.SubprocessError):
        changed = last = ""
    if changed or not last:
        return {"problem": f"{references.name} has changes that are not committed" if changed else "no commit has them"}
    commit, seconds = last.split()
    return {"commit": commit, "time": f"{datetime.fromtimestamp(int(seconds), timezone.utc):{TIME}}"}


def attempts(report: Path, since: str) -> tuple[list[Path], list[str]]:
    """(a report, and those in its folder that measured one of its tests since a time; runs without a report)."""
    wanted, found, without = tests_in(report), [report], []
    for other in folders.reports_in(report.parent):
        began = began_at(other)
        if other == report or (began and began < since) or folders.DRY_RUN.search(folders.head(other)):
            continue
        try:
            found += [other] if wanted & tests_in(other) else []
        except BadInput as error:
            without.append(str(error))
    ended = unreported.ended_without_report(report.parent.parent)
    return sorted(found, key=folders.age), [*without, *(one.sentence() for one in ended if one.started >= since)]


def began_at(report: Path) -> str:
    """When ReFrame began a run; "" if the report does not contain a time, such as a report that was cut off."""
    try:
        seconds = folders.session_time(report)
        return f"{datetime.fromtimestamp(seconds, timezone.utc):{TIME}}" if seconds > 0 else ""
    except (OverflowError, ValueError, OSError):
        return ""


def tests_in(report: Path) -> set[tuple[str, str, str]]:
    """{(system, partition, test)} of a report. Raises BadInput."""
    return {
        (str(case.get("system")), str(case.get("partition")), testcases.name_of(case))
        for _, case in cases_of(read_json(report, folders.CUT), report)
        if not case.get("fixture")
    }


def cases_of(content: Mapping[str, Any], report: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """("attempt-place", test case) of a report. Raises BadInput."""
    with stored.of_reframe(report):
        for attempt, run in enumerate(content["runs"]):
            for place, case in enumerate(run["testcases"]):
                yield f"{attempt}-{place}", {**case}


def of_report(report: Path, number: int) -> dict[str, bytes]:
    """A report, and the files that its test cases left, by their names in the bundle. Raises BadInput."""
    found = {f"reports/{number}.json": read_whole(report, MOST_BYTES)}
    for place, case in cases_of(read_json(report), report):
        folder = f"records/{number}-{place}"
        for file in files_left(case, report):
            name = f"{folder}/{file.name}"
            if NAMES.fullmatch(name) and file.is_file():  # a test whose file is left out is INCOMPLETE
                found[name] = read_whole(file, MOST_BYTES)
    return found


def files_left(case: Mapping[str, Any], report: Path) -> list[Path]:
    """The verdict of a test case, its record and its files of cells."""
    if testcases.DIGEST in case:
        kept = files_in((str(Path(str(case.get("verdict_file") or "")).parent),), report, (verdict_file.FILE,))
        exact = (file for file in kept if verdict_file.sha256(read_whole(file, MOST_BYTES)) == case[testcases.DIGEST])
        place = next((file.parent for file in exact), None)
    else:
        record = testcases.record_place(case, report)
        place = record.parent if record else None
    if place is None:
        return []
    return [place / verdict_file.FILE, place / "record.json", *place.glob("*.npy")]


def of_record(test: Test, folder: str) -> dict[str, bytes]:
    """A record without a report, with the verdict about it. Raises BadInput."""
    assert test.path is not None and test.record is not None  # a run of records has no other test
    cells = [test.path.with_name(one["cells"]["file"]) for one in test.record["results"] if "cells" in one]
    verdict = [test.path.with_name(verdict_file.FILE)] if test.stored else []
    found = {f"{folder}/{file.name}": read_whole(file, MOST_BYTES) for file in [*cells, *verdict]}
    return {**found, f"{folder}/record{test.path.suffix}": read_whole(test.path, MOST_BYTES)}


def read(path: Path) -> Bundle:
    """The bundle at `path`, each verdict of its tests judged again. Raises BadInput for one that was changed."""
    members, digest = load(path)
    UNPACKED.append(tempfile.TemporaryDirectory(prefix="linkmatrix-"))
    root = Path(UNPACKED[-1].name).resolve()
    for name, content in members.items():
        write_whole(root / name, content, lasting=False)
    (root / "config" / "references").mkdir(parents=True, exist_ok=True)
    try:
        about = json.loads(members[ABOUT])
        if about["schema"] != SCHEMA:
            raise ValueError("its schema is another one")
        known = [{str(name): str(text) for name, text in about[word].items()} for word in ("versions", "frozen")]
        without, number = tuple(map(str, about["unreported"])), int(about["run"])
        count = sum(name.startswith("reports/") for name in members)
        runs = [of_member(root, at) for at in range(1, count + 1)] or [stored.find(root / "records")]
        run = runs[max(0, number - 1)]
        judged = {id(one): judged_again(one, path, root) for one in runs}
    except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = str(error).replace(f"{root}/", "")[:200]
        raise BadInput(f"{path} is not a bundle that can be read: {why}: {REMEDY}") from None
    return Bundle(path, digest, tuple(judged.values()), judged[id(run)], root, *known, without)


def of_member(root: Path, number: int) -> Run:
    """The run of a report of a bundle, whose test cases have their files in the folder of the bundle."""
    report = root / f"reports/{number}.json"
    content = read_json(report)
    runs: list[dict[str, Any]] = [{"testcases": []} for _ in content["runs"]]
    for place, case in cases_of(content, report):
        folder = root / f"records/{number}-{place}"
        verdict = {"verdict_file": str(folder / verdict_file.FILE)} if "verdict_file" in case else {}
        case |= {"outputdir": str(folder), "stagedir": str(folder), **verdict}
        runs[int(place.partition("-")[0])]["testcases"].append(case)
    return stored.of_report(report, {**content, "runs": runs}, root)


def judged_again(run: Run, path: Path, root: Path) -> Run:
    """The run of a bundle at `path`. A test whose record gives another verdict than its check stored has the worse."""
    tests = []
    for test in run.tests:
        test = replace(test, reason=test.reason.replace(f"{root}/", ""))
        if test.stored is not None and not test.lacks_record:
            found = test.stored.found
            again = judge_test(test.record, test.check, test.stored.references, found.table)
            if again.verdict is not found.verdict:
                worse = max(again.verdict, found.verdict)
                why = f"its verdict.json contains {WORDS[found.verdict]}, its record gives {WORDS[again.verdict]}"
                found = replace(found, verdict=worse, reasons=(*found.reasons, Reason(worse, why)))
                test = replace(test, stored=replace(test.stored, found=found))
        tests.append(test)
    return replace(run, path=path, tests=tuple(tests))
