"""The verdict of a run that has ended, with its reasons, as `linkmatrix run` prints it."""

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
from ..show.analysis import Analysis, rerun_commands
from ..show.screen import Screen
from ..site import nodes as site_nodes

MOST_RERUNS = 3  # commands that measure a test case again
MOST_REASONS, MOST_CHARACTERS = 5, 400


def prepare(repository: Path) -> None:
    """Loads what the verdict on a run needs: schemas, references and the index of runs.

    This takes half a second. ReFrame needs longer until the first program measures.
    """
    with suppress(BadInput, ImportError, OSError):  # the verdict reports each of them
        reading.accepts()
        verdict_file.validator()
        references(repository)
        from ..runs import index  # noqa: F401  # its database may be missing


def analysed(ran: completeness.EndedRun, options: argparse.Namespace, code: int) -> tuple[Analysis, list[str]]:
    """(analysis of a run's report, lines that explain it), compared with the manifest of the mode.

    code: the exit code of ReFrame. With --manifest, the manifest is written first. Raises BadInput.
    """
    if options.manifest:
        say(*completeness.write_manifests(ran, options.manifest, {} if options.with_left_out else None))
    analysis, lines = analysed_report(ran.report, code, ran.repository)
    if options.mode != PAIR and options.nodes in ("", site_nodes.ALL):
        lines += completeness.manifest_lines(ran, analysis.verdict)
    elif options.nodes:
        lines += completeness.missing_node_lines(ran.report, options.nodes.split(","))
    if any(line.startswith(completeness.LESS) for line in lines):
        analysis.verdict = max(analysis.verdict, Verdict.INCOMPLETE)
    return analysis, lines


def analysed_report(report: Path, code: int, repository: Path) -> tuple[Analysis, list[str]]:
    """As `analysed`, without the comparison with the mode. Raises BadInput."""
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
        again = sorted({one.test.name for one in judged if one.test.attempt})
        count = "1 retry" if retries == 1 else f"{retries} retries"
        lines.append(f"{count}, of {', '.join(again)[:400]}: a failed attempt counts")
        lines += [f"  passed when it was repeated: {clean(one)}" for one in passed_later]
    if code != 0 and all(one.test.result in ("", "pass") for one in judged) and analysis.verdict < Verdict.INCOMPLETE:
        analysis.verdict = Verdict.INCOMPLETE
        lines.append(f"ReFrame ended with {code} though no test case failed: see {supervise.log()}")
    unsaid = analysis.wants_references or all(words.has_nothing_to_do(one) for one in judged)
    if unsaid and analysis.verdict in (Verdict.NOT_JUDGED, Verdict.INCOMPLETE):
        found = units.first([one.text for one in analysis.findings], words.MAX_FINDINGS)
        return analysis, [*lines, *found, " ".join(analysis.assessment), *analysis.steps]
    return analysis, [*lines, *units.first(rerun_lines(judged), MOST_RERUNS)]


def rerun_lines(judged: list[Judged]) -> list[str]:
    """The command that measures each test case again that is DISTURBED, INCOMPLETE or FAIL."""
    failed = (one for one in judged if one.verdict >= Verdict.DISTURBED and one.test.hashcode)
    commands = ((one.test.name, command) for one in failed for command in rerun_commands([one]))
    return list(dict.fromkeys(f"  again: {command}  # {clean(name)}" for name, command in commands))


def reason_lines(analysis: Analysis) -> list[str]:
    """The reasons of tests that were not measured, then those of DISTURBED, INCOMPLETE and FAIL that no cell shows.

    A line per reason. Nodes of a sweep have lines of their own.
    """
    unmeasured: dict[tuple[str, str], list[str]] = {}
    others: dict[tuple[str, str], list[str]] = {}
    for one in (one for one in analysis.judged if not one.test.node):
        name = analysis.places.added(one.test.name, one)
        if one.test.unmeasured and one.test.result != "skip":
            reason = (one.test.reason or one.test.unmeasured).removeprefix("sanity error: ")
            unmeasured.setdefault(("not measured", reason), []).append(name)
        elif one.verdict >= Verdict.DISTURBED and one.reasons and not one.test.unmeasured:
            others.setdefault((words.WORDS[one.verdict], one.reasons[0]), []).append(name)
    return [*grouped_lines(unmeasured), *grouped_lines(others)]


def grouped_lines(names: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """A line per group of tests, at most MOST_REASONS. names: {(first word, reason): names of tests}."""
    lines = []
    for (word, reason), (first, *more) in names.items():
        count = f" and {len(more)} more" if more else ""
        lines.append(f"  {word}: {clean(first)}{count}: {clean(reason)[:MOST_CHARACTERS]}")
    return units.first(lines, MOST_REASONS)


def warning_lines(analysis: Analysis) -> list[str]:
    """The worst cell of each test case that is WARN, with its reason."""
    lines = []
    for one in analysis.judged:
        for result, matrix in one.matrices if one.verdict is Verdict.WARN else ():
            cells, name = matrix.worst_cells(1)[0], analysis.places.added(result["testcase"], one)
            lines += [f"  WARN: {clean(name)}: {clean(cell.reason)[:MOST_CHARACTERS]}" for _, cell in cells]
    return units.first(lines, MOST_REASONS)


def judged_cases(report: Path, repository: Path) -> list[Judged]:
    """The test cases of a report, with their verdicts. Raises BadInput."""
    return judged_tests(stored.find(report), repository)


def judged_tests(run: stored.Run, repository: Path) -> list[Judged]:
    """The judged tests of a run, compared with the references of the repository. Raises BadInput."""
    return judging.judge_all(run, references(repository), None)


def references(repository: Path) -> References:
    """The references of the repository, or else those of the package. Raises BadInput."""
    folder = repository / "config" / "references"
    return References.load(folder if folder.is_dir() else None)
