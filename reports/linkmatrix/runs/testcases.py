"""One test case of a run, with its record where it has one, and that is its own: `bound.py` says when it is."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..record import reading
from . import bound

COMPACT = ".npz"
DRY_RUN = "nothing was measured: it was a dry run"
UNCHECKED = "ReFrame was told not to check it: leave out --skip-sanity-check and --skip-performance-check"
#: all that ReFrame says, by phase, of a test that measured well and lacks references: its own words, and node_sweep's
NO_REFERENCE = {
    "performance": r"(performance error: )?no reference value found for performance variable '[^']*' on \S+ '[^']*'",
    "sanity": r"(sanity error: )?\d+ cells have no reference(: the partition names no table| in the table \S+)",
}


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
    folders: where a record of it is to be, in ReFrame's words; none where it leaves none.
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
    folders: tuple[str, ...] = ()

    @property
    def as_expected(self) -> bool:
        """Did ReFrame find all as it should be before it looked for references? Not known without ReFrame."""
        return self.result == "pass" or self.unreferenced


def why_not_run(case: Mapping[str, Any], unmeasured: str) -> str:
    """Of a test that was not begun, as its check says it; "" of others, or where it did not."""
    if case["result"] != "skip":
        return unmeasured if unmeasured == DRY_RUN else ""
    return unmeasured or (f"skipped: {case['skipped']}" if case.get("skipped") else "")


def of_case(case: dict[str, Any], report: Path, session: Mapping[str, Any] | None = None) -> Test:
    """One test case of a report, with its record where it has one, and that is its own."""
    if not isinstance(case["result"], str) or not case["result"]:  # "" is a record's, without ReFrame
        raise TypeError(f"the result of a test case is {case['result']!r}")
    unmeasured = DRY_RUN if is_dry_run(session or {}) else str(case.get("unmeasured") or "")
    said = case.get("fail_reason") or why_not_run(case, unmeasured)
    reasons = [sentence(said)] if said else []
    place, content = record_place(case, report), None
    doubts: list[str] = []
    measures = bound.measures(case)
    # a fixture and a test case that never ran have none
    leaves_one = measures and not case.get("fixture") and case["result"] not in ("skip", "fail_deps")
    if leaves_one:
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
        unmeasured=unmeasured,
        unreferenced=unreferenced(case),
        partition=f"{case.get('system', '?')}:{case.get('partition', '?')}",
        path=place,
        record=content,
        environ=str(case.get("environ") or ""),
        attempt=int(case.get("run_index") or 0),
        doubts=(*(doubts if content else ()), *([UNCHECKED] if unchecked(session or {}) else ())),
        fixture=bool(case.get("fixture")),
        folders=folders_of(case) if leaves_one else (),
    )


def is_dry_run(session: Mapping[str, Any]) -> bool:
    """Did ReFrame only show what it would do? Its report then says of each test case that it passed."""
    return re.search(r"(^|\s)'?--dry(-run|-ru|-r|-)?'?(\s|$)", str(session.get("cmdline") or "")) is not None


def unchecked(session: Mapping[str, Any]) -> bool:
    """Did ReFrame leave out its checks? Then it says of each test case whose program ended that it passed."""
    return re.search(r"(^|\s)'?--skip-(sa|pe)[a-z-]*'?(\s|$)", str(session.get("cmdline") or "")) is not None


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


def folders_of(case: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the files of a test case are: ReFrame keeps those of what passed, and leaves the stage of what failed.

    What did not pass is not looked for among the kept files: an earlier run's may lie there.
    """
    kept = case.get("outputdir") if case["result"] == "pass" else None
    return tuple(filter(None, (kept, case.get("stagedir"))))


def record_place(case: Mapping[str, Any], report: Path) -> Path | None:
    """Where the record of a test case is, None where there is none."""
    return record_in(folders_of(case), report)


def record_in(folders: Iterable[str], report: Path) -> Path | None:
    """The record in the first folder that has one; each is looked for beside the report too, in case the whole prefix
    was copied from another machine.
    """

    def places(folder: Path) -> Iterator[Path]:
        yield folder
        prefix = report.resolve().parent.parent
        yield from (prefix.joinpath(*folder.parts[start:]) for start in range(1, len(folder.parts)))

    for folder in folders:
        for place in places(Path(folder)):
            if (place / "record.json").is_file() or (place / f"record{COMPACT}").is_file():
                return place / "record.json"
    return None


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
