"""Checks whether a run measured all test cases of its manifest, and all requested nodes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..judge.verdicts import Verdict
from ..record import units
from ..record.names import short
from . import manifest, resume, stored
from .modes import ACCEPTANCE
from .testcases import Test

INCOMPLETE_PREFIX = "less than "


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended.

    * system: value of the run's option --system; None without this option
    * before: the passes of the earlier runs that the run resumes
    """

    mode: str
    system: str | None
    report: Path
    before: resume.EarlierPasses
    repository: Path

    @cached_property
    def tests(self) -> tuple[Test, ...]:
        """All test cases of the report."""
        return stored.load_all(self.report).tests

    @cached_property
    def measured(self) -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
        """The result of `measured_cases` for this run, with the passes of the earlier runs that this run resumes."""
        measured, skipped = measured_cases(self.tests)
        for one in self.before.cases():
            measured.setdefault(one.partition, {}).setdefault(one.case, one.cells)
        return measured, skipped

    def expected(self, known_manifest: manifest.Manifest) -> manifest.Manifest:
        """The manifest `known_manifest`, without the cells of nodes that are out of service."""
        cases = dict(known_manifest.cases)
        for test in self.tests:
            name = manifest.key(test.name, test.environ)
            if name not in cases or test.partition != known_manifest.partition:
                continue
            if test.out_of_service:
                del cases[name]
            elif test.nodes_left_out and not test.nodes_missing:
                cases[name] = min(cases[name], manifest.cells(test.record))
        return replace(known_manifest, cases=cases)


def measured_cases(tests: Iterable[Test]) -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
    """Returns ({partition: {test case: number of cells}}, {partition: skipped test cases}) of the tests of a report."""
    measured: dict[str, dict[str, int]] = {}
    skipped: dict[str, list[str]] = {}
    for test in tests:
        name = manifest.key(test.name, test.environ)
        if test.result == "skip" and test.unmeasured:
            continue  # for a temporary reason, such as a drained node, which a manifest does not excuse
        if test.result == "skip":
            skipped.setdefault(test.partition, []).append(name)
        elif not test.fixture:
            measured.setdefault(test.partition, {})[name] = manifest.cells(test.record)
    return measured, skipped


def manifest_lines(ran: EndedRun, verdict: Verdict) -> list[str]:
    """Lines about the differences between a run and its manifests. verdict: the verdict of the run.

    * A line that begins with INCOMPLETE_PREFIX makes the run INCOMPLETE.
    * A complete run with the verdict PASS or WARN writes a manifest for each partition without a manifest.
    * An acceptance run that selects tests is INCOMPLETE on a partition without a manifest.
    """
    known = manifest.load(ran.repository, ran.mode)
    measured, skipped = ran.measured
    lines = [
        f"{INCOMPLETE_PREFIX}the manifest: {sentence}"
        for one in manifest.required_manifests(known, set(measured) | set(skipped), ran.system)
        for sentence in manifest.shortfall(ran.mode, ran.expected(one), measured.get(one.partition, {}))
    ]
    without = sorted(set(measured) - set(known))
    for partition in set(measured) & set(known):
        new = [name for name in measured[partition] if name not in known[partition].cases]
        if new:
            lines.append(f"{units.listed(new)}: not in {known[partition].file}; to add these: --manifest REASON")
    partial = bool(lines) or not ran.before.whole
    if without and partial and ran.mode == ACCEPTANCE:
        count = sum(len(measured[partition]) for partition in without)
        lines.append(
            f"{INCOMPLETE_PREFIX}the whole mode: this run measured only {units.counted(count, 'test case')}; no"
            f" manifest lists the test cases of {ran.mode} on {', '.join(without)}: run the mode once without options"
            " that select tests"
        )
    elif without and not partial and verdict <= Verdict.WARN:
        lines += write_manifests(ran, "the first run that passed")
    return lines + left_out_lines(known, measured)


def left_out_lines(known: Mapping[str, manifest.Manifest], measured: Mapping[str, manifest.Cases]) -> list[str]:
    """One line per manifest, with the unmeasured test cases that the manifest leaves out."""
    lines = []
    for partition in sorted(set(known) & set(measured)):
        names = [name for name in known[partition].left_out if name not in measured[partition]]
        if names:
            lines.append(
                f"left out by {known[partition].file}: {units.listed(names)}; to measure them: --with-left-out"
            )
    return lines


def missing_node_lines(report: Path, nodes: list[str]) -> list[str]:
    """Returns one line with the requested nodes that have no test, in a list; [] if every node has a test.

    The line begins with INCOMPLETE_PREFIX.
    """
    tested = {short(test.node) for test in stored.load_all(report).tests}
    without = [node for node in nodes if short(node) not in tested]
    return [f"{INCOMPLETE_PREFIX}requested: no test ran on {units.listed(without)}"] if without else []


def write_manifests(ran: EndedRun, reason: str, left_out: Mapping[str, str] | None = None) -> list[str]:
    """Writes one manifest per partition of a run. Returns one line per manifest. left_out: see `manifest.freeze`."""
    measured, skipped = ran.measured
    lines = []
    for partition in sorted(set(measured) | set(skipped)):
        cases = {name: cells for name, cells in measured.get(partition, {}).items() if name not in (left_out or {})}
        allowed = {name: reason for name in skipped.get(partition, [])}
        why = " ".join(reason.split())
        one = manifest.freeze(ran.repository, ran.mode, partition, cases, allowed, why, left_out)
        also = f", and may skip {units.counted(len(allowed), 'other test case')}" if allowed else ""
        count = units.counted(len(cases), "test case")
        lines.append(f"{ran.mode} of {partition} measures {count} from now on{also}: {one.file}")
    return lines
