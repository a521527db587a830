"""Judges a completed run for `linkmatrix run`, and creates the printed lines about its verdict."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import BadInput, clean, say
from ..judge.verdicts import Verdict
from ..record import reading, units
from ..references.tables import References
from ..runs import completeness, judging, stored, supervise, verdict_file
from ..runs.judging import Judged, decide_attempts
from ..runs.modes import PAIR
from ..show import summary, words
from ..show.analysis import Analysis
from ..show.reruns import rerun_commands
from ..show.screen import Screen
from ..site import nodes as site_nodes

MOST_RERUNS = 3  # printed commands that measure a test case again
MOST_REASONS, MOST_CHARACTERS = 5, 400  # printed reasons, and characters of a reason


def prepare(repository: Path) -> None:
    """Loads schemas, references and the index of runs in advance, while the caller waits for ReFrame's start."""
    with suppress(BadInput, ImportError, OSError):  # the verdict reports the same errors later
        reading.accepts()
        verdict_file.validator()
        load_references(repository)
        from ..runs import index  # noqa: F401  # its database may be missing


def analyse(ran: completeness.EndedRun, options: argparse.Namespace, code: int) -> tuple[Analysis, list[str]]:
    """Judges a run, and compares its test cases with the manifest of the mode. Raises BadInput.

    Returns (analysis, lines to print). With --manifest, the function first writes a new manifest.
    code: the exit code of ReFrame.
    """
    if options.manifest:
        say(*completeness.write_manifests(ran, options.manifest, {} if options.with_left_out else None))
    analysis, lines = analyse_report(ran.report, code, ran.repository)
    if options.mode != PAIR and options.nodes in ("", site_nodes.ALL):
        lines += completeness.manifest_lines(ran, analysis.verdict)
    elif options.nodes:
        lines += completeness.missing_node_lines(ran.report, options.nodes.split(","))
    if any(line.startswith(completeness.INCOMPLETE_PREFIX) for line in lines):
        analysis.verdict = max(analysis.verdict, Verdict.INCOMPLETE)
    return analysis, lines


def analyse_report(report: Path, code: int, repository: Path) -> tuple[Analysis, list[str]]:
    """Judges a run without a comparison with the manifest. Returns (analysis, lines to print). Raises BadInput.

    code: the exit code of ReFrame.
    """
    run = stored.find(report)
    judged = judged_tests(run, repository)
    final, passed_later = decide_attempts(judged)
    analysis, screen = Analysis(run, final), Screen()
    lines = [*analysis.notices, *summary.kind_lines(summary.kinds(final), screen)]
    lines += [words.verdict_tally(final), *summary.node_lines(final)] if judged else ["No test case ran: not a PASS."]
    lines += warning_lines(analysis) if analysis.verdict is Verdict.WARN else []
    lines += [*reason_lines(analysis), *(f"note: {clean(note)}" for note in run.notes)]
    retries = max((one.test.attempt for one in judged), default=0)
    if retries and not any(one.test.rerun for one in judged):
        repeated = sorted({one.test.name for one in judged if one.test.attempt})
        count = "1 retry" if retries == 1 else f"{retries} retries"
        lines.append(f"{count} of {', '.join(repeated)[:400]}: a test that needed a retry is WARN at best")
        lines += [f"  passed in a retry: {clean(name)}" for name in passed_later]
    if code != 0 and all(one.test.result in ("", "pass") for one in judged) and analysis.verdict < Verdict.INCOMPLETE:
        analysis.verdict = Verdict.INCOMPLETE
        lines.append(f"ReFrame ended with {code} though no test case failed: see {supervise.log()}")
    no_rerun = analysis.wants_references or all(words.has_nothing_to_do(one) for one in judged)
    if analysis.verdict is Verdict.NOT_JUDGED or (no_rerun and analysis.verdict is Verdict.INCOMPLETE):
        found = units.first([one.text for one in analysis.findings], words.MAX_FINDINGS)
        return analysis, [*lines, *found, " ".join(analysis.assessment), *analysis.steps]
    return analysis, [*lines, *units.first(rerun_lines(judged), MOST_RERUNS)]


def rerun_lines(judged: list[Judged]) -> list[str]:
    """A line per test case that is DISTURBED, INCOMPLETE or FAIL, with the command that repeats the measurement."""
    failed = (one for one in judged if one.verdict >= Verdict.DISTURBED and one.test.hashcode)
    commands = ((one.test.name, command) for one in failed for command in rerun_commands([one]))
    return list(dict.fromkeys(f"  again: {command}  # {clean(name)}" for name, command in commands))


def reason_lines(analysis: Analysis) -> list[str]:
    """A line per reason why tests measured nothing, then a line per reason of DISTURBED, INCOMPLETE or FAIL tests.

    Tests of a sweep are left out, because `summary.node_lines` describes each node.
    """
    unmeasured: dict[tuple[str, str], list[str]] = {}
    others: dict[tuple[str, str], list[str]] = {}
    for one in (one for one in analysis.judged if not one.test.node):
        name = analysis.locations.added(one.test.name, one)
        if one.test.unmeasured and one.test.result != "skip":
            reason = (one.test.reason or one.test.unmeasured).removeprefix("sanity error: ")
            unmeasured.setdefault(("not measured", reason), []).append(name)
        elif one.verdict >= Verdict.DISTURBED and one.reasons and not one.test.unmeasured:
            others.setdefault((words.WORDS[one.verdict], one.reasons[0]), []).append(name)
    return [*grouped_lines(unmeasured), *grouped_lines(others)]


def grouped_lines(names: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """At most MOST_REASONS lines, such as "FAIL: TEST and 2 more: REASON".

    names: {(first word, reason): names of the tests with this reason}.
    """
    lines = []
    for (word, reason), (first, *more) in names.items():
        count = f" and {len(more)} more" if more else ""
        lines.append(f"  {word}: {clean(first)}{count}: {clean(reason)[:MOST_CHARACTERS]}")
    return units.first(lines, MOST_REASONS)


def warning_lines(analysis: Analysis) -> list[str]:
    """A line per WARN test case, with the reason of its worst cell."""
    lines = []
    for one in analysis.judged:
        for result, matrix in one.matrices if one.verdict is Verdict.WARN else ():
            cells, name = matrix.worst_cells(1)[0], analysis.locations.added(result["testcase"], one)
            lines += [f"  WARN: {clean(name)}: {clean(cell.reason)[:MOST_CHARACTERS]}" for _, cell in cells]
    return units.first(lines, MOST_REASONS)


def judged_tests(run: stored.Run, repository: Path) -> list[Judged]:
    """Judges the tests of a run with the references of the repository. Raises BadInput."""
    return judging.judge_all(run, load_references(repository), None)


def load_references(repository: Path) -> References:
    """Loads the references of the repository. If the repository has none, loads the references of the package.

    Raises BadInput.
    """
    folder = repository / "config" / "references"
    return References.load(folder if folder.is_dir() else None)
