"""A bundle: a tar archive with a run and everything that decided its verdict. Any machine can judge the run again.

    reports/1.json              ReFrame's reports in order of time: the bundled run, and its other attempts
    records/1-0-3/              record.json, verdict.json and files of cells (report 1, attempt 0, test case 3)
    config/                     references/*.yaml and manifests/*.json
    bundle.json                 versions, the commit of the references, the number of the run, runs without a report
    SHA256SUMS                  of all other files, for `sha256sum -c`

An attempt is a run that measured one of the tests of the bundled run, after the references were committed. A bundle of
records without a report contains one run and no other attempt.

The archive has the same bytes on every machine. `load` packs the members again and compares the bytes before any file
is written.
"""

import io
import json
import platform
import re
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import BadInput
from ..files import read_json, read_whole, write_whole
from ..judge.test_verdict import judge_test
from ..judge.verdicts import WORDS, Reason
from ..references.tables import reference_files
from . import folders, missing_runs, stored, testcases, verdict_file
from .stored import Run
from .testcases import Test

SCHEMA = "linkmatrix.bundle/1"
SUMS, ABOUT = "SHA256SUMS", "bundle.json"
NAMES = re.compile(rf"{ABOUT}|(reports|records|config)(/\w[\w.@+:-]{{0,60}}){{1,2}}", re.ASCII)
PACKAGES = ("reframe-hpc", "numpy", "PyYAML")
MOST_BYTES = 2 * 1024 * 1024 * 1024
REMEDY = "copy the bundle again from its origin"
UNPACKED: list[tempfile.TemporaryDirectory[str]] = []  # removed at the end of this process


@dataclass(frozen=True)
class Bundle:
    """The content of a bundle.

    * sha256: SHA-256 of the archive
    * runs: all attempts, the oldest first
    * run: the run for which the bundle was made
    * folder: the folder that contains config/
    * versions: {package: version}
    * references_commit: "commit" and "time" of the references; "problem" if the references are not committed
    * unreported: sentences about attempts without a report
    """

    path: Path
    sha256: str
    runs: tuple[Run, ...]
    run: Run
    folder: Path
    versions: Mapping[str, str]
    references_commit: Mapping[str, str]
    unreported: tuple[str, ...]

    @property
    def references(self) -> Path:
        """The folder with the references of the bundle."""
        return self.folder / "config" / "references"


def pack_run(run: Run, references: Path, repository: Path) -> bytes:
    """Returns the archive of a run and its other attempts. Raises BadInput.

    * references: a folder or a file
    * repository: the folder that contains config/
    """
    commit = reference_commit(references)
    manifests = sorted((repository / "config" / "manifests").glob("[!.]*.json"))
    if manifests and (problem := reference_commit(manifests[0].parent).get("problem")):
        commit["manifests"] = problem
    tables = reference_files(references) if references.is_dir() else [references]
    members = {f"config/references/{file.name}": file.read_bytes() for file in tables}
    members |= {f"config/manifests/{file.name}": file.read_bytes() for file in manifests}
    number, without_report = 0, []
    if run.started or folders.REPORT.fullmatch(run.path.name):
        path = run.path.absolute()
        reports, without_report = find_attempts(path, commit.get("time", "9999"))
        number = reports.index(path) + 1
        for at, report in enumerate(reports, 1):
            members |= report_members(report, at)
    else:
        for at, test in enumerate(run.tests):
            members |= record_members(test, f"records/0-0-{at}")
    installed = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    versions = {"linkmatrix": __version__, "python": platform.python_version()}
    versions |= {name: installed[name] for name in PACKAGES if name in installed}
    about = {"schema": SCHEMA, "versions": versions, "frozen": commit, "run": number, "unreported": without_report}
    return pack({**members, ABOUT: json.dumps(about, indent=1, sort_keys=True).encode()})


def reference_commit(references: Path) -> dict[str, str]:
    """Returns {"commit", "time"} of the commit that last changed the references.

    Returns {"problem": reason} if no commit contains the present references.
    """
    folder, name = (references, ".") if references.is_dir() else (references.parent, references.name)

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words, "--", name]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    try:
        changed, last = git("status", "--porcelain", "--ignored"), git("log", "-1", "--format=%H %ct")
    except (OSError, subprocess.SubprocessError):
        changed = last = ""
    if changed or not last:
        reason = f"{references.name} has changes that are not committed" if changed else "no commit contains them"
        return {"problem": reason}
    commit, seconds = last.split()
    return {"commit": commit, "time": utc(float(seconds))}


def utc(seconds: float) -> str:
    """Converts seconds since 1970 to the time format of records. Returns "" for 0 and for impossible times."""
    try:
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}" if seconds > 0 else ""
    except (OverflowError, ValueError, OSError):
        return ""


def find_attempts(report: Path, since: str) -> tuple[list[Path], list[str]]:
    """Returns (the reports of all attempts, sentences about runs without a report).

    The report `report` is an attempt. Another report in the same folder is an attempt if two conditions are true:

    * The other report contains a test of `report`.
    * The run of the other report began at the time `since` or later.
    """
    wanted, found, without = tests_in(report), [report], []
    for other in folders.reports_in(report.parent):
        began = utc(folders.session_time(other))
        if other == report or (began and began < since) or folders.DRY_RUN.search(folders.head(other)):
            continue
        try:
            found += [other] if wanted & tests_in(other) else []
        except BadInput as error:
            without.append(str(error))
    ended = missing_runs.ended_without_report(report.parent.parent)
    return sorted(found, key=folders.start_key), [*without, *(one.sentence() for one in ended if one.started >= since)]


def tests_in(report: Path) -> set[tuple[str, str, str]]:
    """Returns the set of (system, partition, test) in a report. Raises BadInput."""
    return {
        (str(case.get("system")), str(case.get("partition")), testcases.display_name(case))
        for _, case in report_cases(read_json(report, folders.CUT), report)
        if not case.get("fixture")
    }


def report_cases(content: Mapping[str, Any], report: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields ("attempt-position", test case) of each test case in a report, such as ("0-3", …). Raises BadInput."""
    with stored.reframe_errors(report):
        for attempt, run in enumerate(content["runs"]):
            for place, case in enumerate(run["testcases"]):
                yield f"{attempt}-{place}", {**case}


def report_members(report: Path, number: int) -> dict[str, bytes]:
    """Returns {name in the bundle: content} for a report and the files of its test cases. Raises BadInput.

    number: the number of the report in the bundle.
    """
    found = {f"reports/{number}.json": read_whole(report, MOST_BYTES)}
    for place, case in report_cases(read_json(report), report):
        if (folder := case_folder(case, report)) is not None:
            for file in (folder / verdict_file.FILE, folder / "record.json", *folder.glob("*.npy")):
                name = f"records/{number}-{place}/{file.name}"
                if NAMES.fullmatch(name) and file.is_file():  # a test whose file is left out is INCOMPLETE
                    found[name] = read_whole(file, MOST_BYTES)
    return found


def case_folder(case: Mapping[str, Any], report: Path) -> Path | None:
    """The folder with the verdict and the record of a test case; None if the files are missing."""
    if testcases.DIGEST not in case:
        record = testcases.record_place(case, report)
        return record.parent if record else None
    folder = str(Path(str(case.get("verdict_file") or "")).parent)
    kept = testcases.find_files((folder,), report, (verdict_file.FILE,))
    exact = (file for file in kept if verdict_file.sha256(read_whole(file, MOST_BYTES)) == case[testcases.DIGEST])
    return next((file.parent for file in exact), None)


def record_members(test: Test, folder: str) -> dict[str, bytes]:
    """Returns {name in the bundle: content} for a record without a report and for its files. Raises BadInput.

    folder: the folder of the record in the bundle.
    """
    assert test.path is not None and test.record is not None  # a run of records has no other test
    cells = [test.path.with_name(one["cells"]["file"]) for one in test.record["results"] if "cells" in one]
    verdict = [test.path.with_name(verdict_file.FILE)] if test.stored else []
    found = {f"{folder}/{file.name}": read_whole(file, MOST_BYTES) for file in [*cells, *verdict]}
    return {**found, f"{folder}/record{test.path.suffix}": read_whole(test.path, MOST_BYTES)}


def pack(members: Mapping[str, bytes]) -> bytes:
    """Returns a tar archive of the files {name: content} and of their SHA256SUMS. Raises BadInput for an invalid name.

    Two names that differ only in case are invalid, because some file systems ignore case.
    """
    counts = Counter(map(str.lower, members))
    if wrong := [name for name in members if not NAMES.fullmatch(name) or counts[name.lower()] > 1]:
        raise BadInput(f"a bundle cannot contain {', '.join(wrong)[:80]}: rename the file")
    sums = "".join(f"{verdict_file.sha256(content)}  {name}\n" for name, content in sorted(members.items()))
    target = io.BytesIO()
    with tarfile.TarFile(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted({**members, SUMS: sums.encode()}.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    if target.tell() > MOST_BYTES:
        raise BadInput(f"the bundle would be larger than {MOST_BYTES} bytes: export fewer nodes")
    return target.getvalue()


def load(path: Path) -> tuple[dict[str, bytes], str]:
    """Returns ({name: content} without SHA256SUMS, SHA-256 of the archive). Raises BadInput for a changed bundle.

    The bytes of the archive must be the bytes that `pack` makes of the same members. Links, devices, repeated names,
    wrong hashes and additional bytes are therefore refused. The size of a member is checked first, because a sparse
    file may claim any size.
    """
    content = read_whole(path, MOST_BYTES)
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for entry in archive:
                file = archive.extractfile(entry) if entry.type == tarfile.REGTYPE else None
                if file is None or entry.size > len(content):
                    raise ValueError(f"'{entry.name[:80]}' is not a regular file")
                members[entry.name] = file.read()
        if not {SUMS, ABOUT} <= members.keys():
            raise ValueError(f"{SUMS} or {ABOUT} is missing")
        del members[SUMS]
        if pack(members) != content:
            raise ValueError(f"a file was changed, or is not in {SUMS}")
    except (tarfile.TarError, ValueError, OSError, EOFError, RecursionError) as error:
        raise BadInput(f"{path} is not a bundle: {str(error)[:160]}: {REMEDY}") from None
    return members, verdict_file.sha256(content)


def read(path: Path) -> Bundle:
    """Reads the bundle at `path`, and judges its tests again. Raises BadInput for a changed bundle."""
    members, digest = load(path)
    UNPACKED.append(tempfile.TemporaryDirectory(prefix="linkmatrix-"))
    root = Path(UNPACKED[-1].name).resolve()
    for name, content in members.items():
        write_whole(root / name, content, lasting=False)
    (root / "config" / "references").mkdir(parents=True, exist_ok=True)
    try:
        about = json.loads(members[ABOUT])
        if about["schema"] != SCHEMA:
            raise ValueError("its schema is unknown")
        known = [{str(name): str(text) for name, text in about[word].items()} for word in ("versions", "frozen")]
        without, number = tuple(map(str, about["unreported"])), int(about["run"])
        count = sum(name.startswith("reports/") for name in members)
        runs = [read_run(root, at) for at in range(1, count + 1)] or [stored.find(root / "records")]
        judged = tuple(judge_again(one, path, root) for one in runs)
        run = judged[max(0, number - 1)]
    except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = str(error).replace(f"{root}/", "")[:200]
        raise BadInput(f"{path} is not a bundle that can be read: {reason}: {REMEDY}") from None
    return Bundle(path, digest, judged, run, root, *known, without)


def read_run(root: Path, number: int) -> Run:
    """The run of one report of an unpacked bundle.

    root: the folder of the bundle. number: the number of the report, from 1.
    """
    report = root / f"reports/{number}.json"
    content = read_json(report)
    runs: list[dict[str, Any]] = [{"testcases": []} for _ in content["runs"]]
    for place, case in report_cases(content, report):
        folder = root / f"records/{number}-{place}"
        verdict = {"verdict_file": str(folder / verdict_file.FILE)} if "verdict_file" in case else {}
        case |= {"outputdir": str(folder), "stagedir": str(folder), **verdict}
        runs[int(place.partition("-")[0])]["testcases"].append(case)
    return stored.from_report(report, {**content, "runs": runs}, root)


def judge_again(run: Run, path: Path, root: Path) -> Run:
    """Returns the run of a bundle with new verdicts. Each test has the worse of its stored and its new verdict.

    path: the bundle. root: the folder with the unpacked files of the bundle.
    """
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
