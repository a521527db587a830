"""Reads a test case of ReFrame's report, with its stored verdict and its record.

The report contains the SHA-256 of a test's verdict.json. verdict.json contains the SHA-256 of the record. Files of
another test are therefore detected.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import BadInput
from ..record import reading
from ..suite import EXTENSION
from . import modes

if TYPE_CHECKING:
    from ..judge.test_verdict import CheckFacts
    from .verdict_file import StoredVerdict

DRY_RUN = "nothing was measured: it was a dry run"
UNCHECKED = "ReFrame did not check the test: leave out --skip-sanity-check and --skip-performance-check"
DIGEST = "verdict_sha256"  # key of a test case in ReFrame's report; reports of old versions lack it
REPEATS = ("--reruns", "--duration")  # options with which ReFrame also repeats tests that passed
NOT_BEGUN = ("skip", "fail_deps")  # results of test cases that ReFrame did not run
JUDGED = ("sanity", "performance", "cleanup")  # phases that a test reaches after its job


@dataclass(frozen=True)
class Test:
    """One test case of a run.

    * result: the result in ReFrame's report: "pass", "fail", "fail_deps", "skip", "abort", "xfail" or "xpass"; ""
      without a report
    * reason: sentences on why ReFrame failed the test, and on why there is no record
    * phase: the phase in which ReFrame failed the test
    * reference: the table of references that the partition names; "" if the partition names no table
    * variant: the words of the table name that distinguish the variants of a test, such as "@all@device"
    * node: the node of the test; "" for any node
    * job_nodes: the nodes of the job, from ReFrame's report
    * hashcode: ReFrame's hash of the test, equal on all partitions
    * measures: whether the test writes a record
    * environ: the environment with which the programs were built
    * fixture: whether the test only builds programs
    * attempt: 0 for the first execution; higher if ReFrame repeated the test
    * rerun: whether ReFrame also repeats tests that passed
    * doubts: sentences on why ReFrame's "pass" proves nothing
    * unmeasured: the reason why the job ended without measuring the test case; "" if the test case was measured
    * began: whether the job began
    * folders: the folders that may contain the record, from the report; () if the test writes no record
    * stored: the stored verdict; None if the test ended before its check stored a verdict
    * too_small: whether the partition has fewer devices, ranks or nodes than the test needs
    * out_of_service: whether an administrator has taken the node out of service. The run is then complete without the
      node.
    * nodes_left_out: the nodes of the partition that accept no jobs, with reasons
    * nodes_missing: whether a node of `nodes_left_out` is down, although no administrator has taken the node out of
      service
    * current: whether the report contains the SHA-256 of a stored verdict
    * scheduler: the scheduler of the partition; "local" without a scheduler, "" if unknown
    """

    __test__: ClassVar = False  # pytest would collect it for its name

    name: str
    result: str = ""
    reason: str = ""
    reference: str = ""
    variant: str = ""
    testcase: str = ""
    partition: str = ""
    phase: str = ""
    node: str = ""
    job_nodes: tuple[str, ...] = ()
    hashcode: str = ""
    measures: bool = True
    unmeasured: str = ""
    path: Path | None = None
    record: dict[str, Any] | None = None
    environ: str = ""
    attempt: int = 0
    rerun: bool = False
    doubts: tuple[str, ...] = ()
    fixture: bool = False
    folders: tuple[str, ...] = ()
    began: bool = True
    stored: "StoredVerdict | None" = None
    current: bool = False
    too_small: bool = False
    out_of_service: bool = False
    nodes_left_out: str = ""
    nodes_missing: bool = False
    scheduler: str = ""

    @property
    def check(self) -> "CheckFacts":
        """The facts that the check found, and that the record does not contain.

        Without a stored verdict, only one fact is known: a check that passed tolerated all counters that rose.
        """
        if self.stored is not None:
            return self.stored.check
        from ..judge.test_verdict import CheckFacts

        tolerated = counter_names(self.record) if self.result == "pass" else ()
        return CheckFacts(self.testcase, (), tolerated, self.measures)

    @property
    def swept(self) -> str:
        """The node of a test that is part of a sweep; "" for another test."""
        return self.node if self.name.startswith(modes.NODE_SWEEP) else ""

    @property
    def lacks_record(self) -> bool:
        """Whether the record that belongs to the stored verdict is missing."""
        return self.stored is not None and self.stored.record_sha256 is not None and self.record is None

    @property
    def is_verdict_lost(self) -> bool:
        """Whether the check stored a verdict, but its file is missing or was changed."""
        return self.current and self.stored is None and bool(self.folders)


def counter_names(record: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The names of all error counters in a record, without repetition."""
    health = (record or {}).get("health", [])
    return tuple(dict.fromkeys(counter["name"] for one in health for counter in one["counters"]))


def why_not_run(case: Mapping[str, Any], unmeasured: str) -> str:
    """The reason why a test did not begin; "" if the test began, or if the reason is unknown."""
    if case["result"] != "skip":
        return unmeasured if unmeasured == DRY_RUN else ""
    return unmeasured or (f"skipped: {case['skipped']}" if case.get("skipped") else "")


def read_test(case: dict[str, Any], report: Path, session: Mapping[str, Any] | None = None) -> Test:
    """Reads a test case of a report, with its stored verdict and its record. Raises TypeError for an invalid result."""
    if not isinstance(case["result"], str) or not case["result"]:  # "" is reserved for records without ReFrame
        raise TypeError(f"the result of a test case is {case['result']!r}")
    unproven = unproven_reason(session or {})
    dry = unproven == DRY_RUN
    unmeasured = DRY_RUN if dry else str(case.get("unmeasured") or "")
    reason = case.get("fail_reason") or why_not_run(case, unmeasured)
    files = TestFiles() if dry else test_files(case, report)
    reference = str(case.get("reference_name") or "")
    return Test(
        name=display_name(case),
        result=str(case["result"]),
        reason="; ".join([*([one_line_reason(reason)] if reason else []), *files.reasons]),
        reference=reference,
        variant=str(case.get("reference_variant") or reference[len(reference.partition("@")[0]) :]),
        testcase=str(case.get("testcase") or ""),
        phase=str(case.get("fail_phase") or ""),
        node=pinned_node(case),
        job_nodes=tuple(map(str, case.get("job_nodelist") or ())),
        hashcode=str(case.get("hashcode") or ""),
        measures=files.stored.check.measures if files.stored else writes_record(case),
        unmeasured=unmeasured,
        partition=f"{case.get('system', '?')}:{case.get('partition', '?')}",
        path=files.path,
        record=files.record,
        environ=str(case.get("environ") or ""),
        attempt=int(case.get("run_index") or 0),
        rerun=any(word.startswith(REPEATS) for word in command_words(session or {})),
        doubts=(unproven,) if unproven else (),
        fixture=bool(case.get("fixture")),
        folders=files.folders,
        began=not dry and began(case, unmeasured),
        stored=files.stored,
        current=DIGEST in case,
        too_small=bool(case.get("too_small")) and case["result"] == "skip",
        out_of_service=bool(case.get("out_of_service")) and case["result"] == "skip",
        nodes_left_out=str(case.get("nodes_left_out") or ""),
        nodes_missing=bool(case.get("nodes_missing")),
        scheduler=str(case.get("scheduler") or "").removeprefix(EXTENSION),
    )


def began(case: Mapping[str, Any], unmeasured: str) -> bool:
    """Whether the job of a test case began. False for a fixture without a job."""
    if "job_began" in case:
        return bool(case["job_began"])
    if case.get("fixture"):
        return case.get("jobid") is not None and case["result"] not in NOT_BEGUN
    return case["result"] not in NOT_BEGUN and not unmeasured.startswith("not run: ")


@dataclass(frozen=True)
class TestFiles:
    """The stored verdict and the record of a test.

    reasons: sentences about missing files, and about files of other tests.
    """

    path: Path | None = None
    record: dict[str, Any] | None = None
    stored: "StoredVerdict | None" = None
    reasons: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def test_files(case: Mapping[str, Any], report: Path) -> TestFiles:
    """Finds the verdict and the record of a test. In reports of old versions, tests have a record only."""
    return verdict_files(case, report) if DIGEST in case else record_files(case, report)


def verdict_files(case: Mapping[str, Any], report: Path) -> TestFiles:
    """Finds the stored verdict of a check and its record. A copy of the verdict next to its record is preferred."""
    from . import verdict_file  # slow to import, and not needed for single records

    digest, file = str(case[DIGEST] or ""), Path(str(case.get("verdict_file") or ""))
    if not digest:
        return TestFiles()
    folders = (str(file.parent),)
    without_record, troubles = None, []
    for place in find_files(folders, report, (verdict_file.FILE,)):
        found = None
        try:
            found = verdict_file.read(place, digest)
            refuse_other(found, case, place)
            if found.record_sha256 is None:
                return TestFiles(stored=found, folders=folders)
            path = place.with_name("record.json")
            return TestFiles(path, load_verified(path, found.record_sha256), found, folders=folders)
        except BadInput as error:
            troubles.append(str(error))
            if found is not None and found.record_sha256 is not None and found.test == display_name(case):
                without_record = without_record or TestFiles(stored=found, reasons=(str(error),), folders=folders)
    missing = f"{file} is missing: measure again"
    return without_record or TestFiles(reasons=tuple(troubles[:1]) or (missing,), folders=folders)


def refuse_other(stored_verdict: "StoredVerdict", case: Mapping[str, Any], place: Path) -> None:
    """Raises BadInput if a stored verdict belongs to another test, or claims that a measured test measures nothing.

    place: the file of the verdict.
    """
    if stored_verdict.test != (name := display_name(case)):
        raise BadInput(f"{place} is the verdict of {stored_verdict.test}: measure again")
    if not stored_verdict.check.measures and (case.get("testcase") or "testcase=" in name):
        raise BadInput(f"{place} is the verdict of a test without a record, but {name} has one: measure again")


def display_name(case: Mapping[str, Any]) -> str:
    """The display name of a test case."""
    return str(case.get("display_name") or case["name"])


def load_verified(path: Path, digest: str) -> dict[str, Any]:
    """Reads the record at `path`. Raises BadInput if the SHA-256 of the file is not `digest`."""
    from . import verdict_file

    found = verdict_file.record_digest(path)
    if found != digest:
        problem = "was changed, or belongs to another run" if found else "is missing"
        raise BadInput(f"{path} {problem}: its verdict belongs to another record; measure again")
    return reading.load(path)


def record_files(case: Mapping[str, Any], report: Path) -> TestFiles:
    """Finds the record of a test case in a report without stored verdicts. Fixtures have no record."""
    if not writes_record(case) or case.get("fixture") or case["result"] in NOT_BEGUN:
        return TestFiles()
    folders = file_folders(case)
    place = find_file(folders, report, ("record.json",))
    try:
        if place is None:
            raise BadInput(why_no_record(case))
        return TestFiles(place, reading.load(place), folders=folders)
    except BadInput as error:
        return TestFiles(place, reasons=(str(error),), folders=folders)


def command_words(session: Mapping[str, Any]) -> set[str]:
    """The words of ReFrame's command line, without quotes. session: `session_info` of the report."""
    return {word.strip("'\"") for word in str(session.get("cmdline") or "").split()}


def unproven_reason(session: Mapping[str, Any]) -> str:
    """A sentence if an option of ReFrame let tests pass without their checks; otherwise ""."""
    given = command_words(session)
    if any(re.fullmatch(r"--dry(-|-r|-ru|-run)?", word) for word in given):
        return DRY_RUN
    return UNCHECKED if any(modes.UNCHECKED.fullmatch(word) for word in given) else ""


def pinned_node(case: dict[str, Any]) -> str:
    """The node of a test from ReFrame's options `--distribute` or `-S on=NODE`; "" without these options."""
    distributed = re.search(r"%\.nid=([^\s+]+)(?: |$)", str(case.get("display_name", "")))
    return distributed[1] if distributed else str(case.get("on") or "")


def one_line_reason(reason: Any) -> str:
    """ReFrame's reason for a failure as one line. ReFrame prints a failed reference check as one line per variable."""
    lines = [line.strip() for line in str(reason).splitlines() if line.strip()]
    # ReFrame puts these marks around the output of a command, even if it is empty
    lines = [line for line in lines if not re.fullmatch(r"--- std(out|err) ---", line)]
    text = re.sub(r":; ", ": ", "; ".join(lines))
    return f"{text} no further reason was printed" if text.endswith(":") else text


def file_folders(case: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders that may contain the files of a test case: the stage folder and, after a pass, the output folder.

    After a failure, the output folder may contain files of an earlier run.
    """
    kept = case.get("outputdir") if case["result"] == "pass" else None
    return tuple(filter(None, (kept, case.get("stagedir"))))


def record_place(case: Mapping[str, Any], report: Path) -> Path | None:
    """The path of the record of a test case, in a report without stored verdicts; None without a record."""
    return None if DIGEST in case else find_file(file_folders(case), report, ("record.json",))


def writes_record(case: Mapping[str, Any]) -> bool:
    """Whether a test case writes a record.

    The function does not rely on `keep_files` alone, because users may change `keep_files`.
    """
    return (
        "record.json" in case.get("keep_files", ["record.json"])
        or "--record" in (case.get("executable_opts") or [])
        or bool(case.get("testcase"))
    )


def why_no_record(case: Mapping[str, Any]) -> str:
    """A sentence that explains why the record of a test case is missing."""
    if case["result"] == "pass" and "record.json" not in case.get("keep_files", ["record.json"]):
        return "its record.json was not kept, so nothing was judged: do not change keep_files"
    return "this test case has no record.json: it did not begin to measure"


def find_file(folders: Iterable[str], report: Path, names: tuple[str, ...]) -> Path | None:
    """The first file that `find_files` finds; None if there is no file."""
    return next(find_files(folders, report, names), None)


def find_files(folders: Iterable[str], report: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """Yields the existing files with one of the names in the folders.

    The prefix may have been copied or moved. The folders are therefore also searched below the prefix of the report.
    """
    prefix = report.resolve().parent.parent
    for folder in map(Path, folders):
        copies = (prefix.joinpath(*folder.parts[start:]) for start in range(1, len(folder.parts)))
        for place in dict.fromkeys((folder, *copies)):
            yield from (place / name for name in names if (place / name).is_file())
