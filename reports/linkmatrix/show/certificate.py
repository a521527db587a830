"""A certificate: the verdict on a run of a bundle, and its page with all facts that a person needs to sign it.

The references of the bundle are the agreed terms, from the moment of their commit. A run is INCOMPLETE if it began
before the commit, was judged by other references, has a simulated fault, was measured by another program, or measured
less than its manifest. Other attempts do not change the verdict, except that PASS becomes WARN if one did not pass.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..judge.disturbances import ignored
from ..judge.verdicts import BY_WORD, WORDS, Reason, Verdict, worst
from ..record import units
from ..record.names import short, simulated_fault
from ..references.tables import References
from ..runs import completeness, components, judging, manifest, verdict_file
from ..runs.bundle import Bundle
from ..runs.judging import Judged, attempt_reasons, decide_attempts, group_attempts
from ..runs.stored import Run
from . import html, words
from .analysis import Analysis

SUBJECT = "this run"


class Certificate(NamedTuple):
    """A certificate. page: HTML. reasons: why the verdict is not that of the tests."""

    page: str
    analysis: Analysis
    reasons: Sequence[Reason]


def certified(bundle: Bundle, table: str | None = None) -> Certificate:
    """The certificate of a bundle. table: of its references, None for that of the partition. Raises BadInput."""
    references = References.load(bundle.references)
    every = [judging.judge_all(run, references, table) for run in bundle.runs]
    at = next(number for number, run in enumerate(bundle.runs) if run is bundle.run)
    judged = decide_attempts(every[at])[0]
    missing = (*refused(bundle, judged, references, table), *less_than_manifest(bundle))
    reasons = [Reason(Verdict.INCOMPLETE, why) for why in missing]
    attempts = list(attempts_in(bundle, every))
    failed = sum(subject != SUBJECT and BY_WORD[word] > Verdict.WARN for _, subject, word, _ in attempts)
    if failed:
        reasons.append(Reason(Verdict.WARN, f"{units.counted(failed, 'other attempt')} did not pass"))
    verdict = max([judging.overall(judged), *(one.verdict for one in reasons)])
    analysis = Analysis(bundle.run, judged, verdict)
    records = analysis.records
    software = (f"{name} {version}" for record in records for name, version in record["software"].items())
    programs = (f"{record['program']} {record['version']}" for record in records)
    html_page = html.rendered(
        "certificate.html",
        "certificate.css",
        title=words.title(judged),
        simulated=words.simulated_line(records),
        word=WORDS[verdict],
        glyph=words.GLYPHS[verdict],
        tally=words.verdict_tally(judged),
        steps=analysis.only_step,
        reasons=[(WORDS[reason.verdict], reason.sentence) for reason in reasons],
        facts=[
            ("Measured", started(bundle.run).replace("T", " ").replace("Z", " UTC") or "unknown"),
            ("References", joined((each.reference for each in judged), ", ") or "none"),
            ("Committed", " ".join(bundle.frozen.get(name, "") for name in ("time", "commit")).strip() or "no"),
            ("Suite", ", ".join(f"{name} {version}" for name, version in bundle.versions.items())),
            ("Software", joined([*programs, *software], ", ") or "unknown"),
            ("Ignored processes", joined((one for record in records for one in ignored(record)), ", ") or "none"),
        ],
        nodes=of_nodes(judged),
        attempts=attempts,
        waivers=list(waivers_in(judged, references, started(bundle.run)[:10])),
        not_covered=list(not_covered(bundle, judged)),
        name=bundle.path.name,
        sha256=bundle.sha256,
    )
    return Certificate(html_page, analysis, reasons)


def refused(bundle: Bundle, judged: Sequence[Judged], references: References, table: str | None) -> Iterator[str]:
    """Why the run cannot be certified, each a sentence."""
    began = started(bundle.run)
    frozen = bundle.frozen.get("time", "")
    if not frozen:
        yield f"the references are not under version control: {bundle.frozen.get('problem', 'no commit contains them')}"
    elif began < frozen:
        yield f"the run began at {began or 'an unknown time'}, before the references were committed at {frozen}"
    for one in judged:
        record, kept = one.test.record, one.test.stored
        if record is None:
            continue
        if kept and not table and kept.found.table:
            now = verdict_file.reference_entries(record, references, kept.found.table)
            if now != verdict_file.reference_entries(record, kept.references, kept.found.table):
                yield f"{one.test.name} was judged by other references than those of the commit"
        if record["backend"] == "imported":
            yield f"{one.test.name} was measured by another program"
        if fault := simulated_fault(record):
            yield f"{one.test.name} has a simulated fault: {fault}"


def manifests_of(bundle: Bundle) -> tuple[str, dict[str, manifest.Manifest]]:
    """(mode of the run, {partition: its manifest}); "" and no manifest for a selection without a mode."""
    mode = bundle.run.mode
    return mode, dict(manifest.load(bundle.folder, mode)) if mode else {}


def less_than_manifest(bundle: Bundle) -> Iterator[str]:
    """Sentences about the test cases and cells of the mode's manifest that the run did not measure."""
    (mode, known), (measured, skipped) = manifests_of(bundle), completeness.measured_cases(bundle.run.tests)
    for one in manifest.required_manifests(known, set(measured) | set(skipped), None):
        yield from manifest.shortfall(mode, one, measured.get(one.partition, {}))


def started(run: Run) -> str:
    """When a run began, by ReFrame, or by its first record."""
    return run.started or min((test.record["started"] for test in run.tests if test.record), default="")


def of_nodes(judged: Iterable[Judged]) -> list[tuple[str, ...]]:
    """(name, verdict, number of tests, product and serial number, driver, devices) of each node, the worst first."""
    tests: dict[str, list[Judged]] = {}
    for one in judged:
        devices = one.test.record["devices"] if one.test.record else []
        names = {short(device["node"]) for device in devices} or {short(name) for name in one.test.job_nodes}
        if not names and one.test.record:
            names = {short(one.test.record["host"]["name"])}
        for name in names:
            tests.setdefault(name, []).append(one)
    found = []
    verdicts = {name: worst(one.verdict for one in each) for name, each in tests.items()}
    for name, each in sorted(tests.items(), key=lambda one: (-verdicts[one[0]], one[0])):
        records = [one.test.record for one in each if one.test.record]
        nodes = [node for record in records for node in record["nodes"] if short(node["name"]) == name]
        products = [f"{node.get('product') or ''} {node.get('serial') or ''}".strip() for node in nodes]
        devices = [
            one for record in records for one in components.device_sightings(record).values() if short(one.node) == name
        ]
        texts = joined(products), joined(one.driver for one in devices), joined(map(described, devices))
        found.append((name, WORDS[verdicts[name]], str(len(each)), *texts))
    return found


def described(one: components.Sighting) -> str:
    """ "gpu0 serial 1650 in slot 3", "" of a device that has neither."""
    number = f" serial {one.serial}" if one.serial else f" {one.uuid}" if one.uuid else ""
    place = f" in slot {one.slot}" if one.slot else f" at {one.pci}" if one.pci else ""
    return f"{one.label}{number}{place}" if number or place else ""


def joined(texts: Iterable[str], separator: str = "; ") -> str:
    """The texts that differ, without empty ones."""
    return separator.join(dict.fromkeys(filter(None, texts)))


def attempts_in(bundle: Bundle, every: Sequence[list[Judged]]) -> Iterator[tuple[str, str, str, str]]:
    """(began, subject, verdict, reasons) of each attempt, by time: runs, tests that ReFrame repeated, lost reports.

    The subject is SUBJECT, "run", "no report", or the repeated test.
    """
    for run, judged in zip(bundle.runs, every, strict=True):
        counted = decide_attempts(judged)[0]
        verdict = judging.overall(counted)
        why = next((attempt_reasons(one) for one in counted if one.verdict is verdict), "")
        yield started(run), SUBJECT if run is bundle.run else "run", WORDS[verdict], why
        for one in (one for group in group_attempts(judged) for one in group[:-1]):
            subject = f"{one.test.name}, attempt {one.test.attempt + 1}"
            yield started(run), subject, WORDS[one.verdict], attempt_reasons(one)
    yield from (("", "no report", WORDS[Verdict.INCOMPLETE], sentence) for sentence in bundle.unreported)


def waivers_in(judged: Iterable[Judged], references: References, day: str) -> Iterator[str]:
    """The references of the tests that are expected to be missed. day: on which the run began."""
    for one in judged:
        known = one.test.stored.references if one.test.stored else references
        for result in one.test.record["results"] if one.test.record and one.reference else ():
            rows = known.for_result(one.test.record, result).table(one.reference, result["testcase"])
            for row, reference in rows.items():
                if reference.waiver:
                    state = " (expired)" if reference.waived_until < day else ""
                    yield f"{result['testcase']} {row}: {reference.waiver}{state}"


def not_covered(bundle: Bundle, judged: Iterable[Judged]) -> Iterator[str]:
    """What the run did not measure or did not judge, each a sentence."""
    yield from bundle.run.notes
    (mode, known), (measured, _) = manifests_of(bundle), completeness.measured_cases(bundle.run.tests)
    for partition in sorted(set(measured) - set(known)):
        yield f"no manifest lists the test cases of {mode or 'this selection'} of {partition or 'these records'}"
    yield from completeness.left_out_lines(known, measured)
    if problem := bundle.frozen.get("manifests"):
        yield f"the manifests are not under version control: {problem}"
    if not bundle.run.started:
        yield "other attempts, because the record has no report"
    without: list[str] = []
    for one in judged:
        if one.test.result == "skip":
            yield f"{one.test.name}: {one.test.reason or 'skipped'}"
        for name in (one.test.record or {}).get("left_out", ()):
            yield f"{name}: not measured, because of --budget"
        for result, matrix in one.matrices:
            name = result["testcase"]
            without += [name] if one.matrix_verdict(matrix) is Verdict.NOT_JUDGED else []
            yield from (f"{name}: {share}" for share in filter(None, [words.coverage(result)]))
            if result["verified"] is None and result["size_bytes"]:
                yield f"{name}: its data was not verified"
    if without:
        names = ", ".join(units.first(list(dict.fromkeys(without))))
        yield f"no reference describes {units.counted(len(without), 'result')}: {names}"
