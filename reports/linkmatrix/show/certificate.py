"""A certificate: the verdict on a run of a bundle, as a page to sign.

The references of the bundle are the agreed terms. The terms apply from the commit of the references on.

The verdict of a run is INCOMPLETE if one of these is true:

* The run began before the commit.
* The run was judged by other references.
* The run has a simulated fault.
* Another program measured the run.
* The run measured less than its manifest.

If another attempt did not pass, PASS becomes WARN.
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
    """A certificate. page: HTML. reasons: why the certificate has a worse verdict than the tests."""

    page: str
    analysis: Analysis
    reasons: Sequence[Reason]


def certified(bundle: Bundle, table: str | None = None) -> Certificate:
    """Makes the certificate of a bundle.

    table: a table of the bundle's references; default: the table of the partition. Raises BadInput.
    """
    references = References.load(bundle.references)
    judged_runs = [judging.judge_all(run, references, table) for run in bundle.runs]
    at = next(number for number, run in enumerate(bundle.runs) if run is bundle.run)
    judged = decide_attempts(judged_runs[at])[0]
    missing = (*refusals(bundle, judged, references, table), *unmeasured_sentences(bundle))
    reasons = [Reason(Verdict.INCOMPLETE, why) for why in missing]
    attempts = list(attempt_rows(bundle, judged_runs))
    failed = sum(subject != SUBJECT and BY_WORD[word] > Verdict.WARN for _, subject, word, _ in attempts)
    if failed:
        reasons.append(Reason(Verdict.WARN, f"{units.counted(failed, 'other attempt')} did not pass"))
    verdict = max([judging.overall(judged), *(one.verdict for one in reasons)])
    analysis = Analysis(bundle.run, judged, verdict)
    records = analysis.records
    software = (f"{name} {version}" for record in records for name, version in record["software"].items())
    programs = (f"{record['program']} {record['version']}" for record in records)
    commit = bundle.references_commit
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
            ("References", distinct((each.reference for each in judged), ", ") or "none"),
            ("Committed", " ".join(commit.get(name, "") for name in ("time", "commit")).strip() or "no"),
            ("Suite", ", ".join(f"{name} {version}" for name, version in bundle.versions.items())),
            ("Software", distinct([*programs, *software], ", ") or "unknown"),
            (
                "Ignored processes",
                distinct((one for record in records for one in ignored(record)), ", ") or "none",
            ),
        ],
        nodes=node_rows(judged),
        attempts=attempts,
        waivers=list(waiver_sentences(judged, references, started(bundle.run)[:10])),
        not_covered=list(uncovered_sentences(bundle, judged)),
        name=bundle.path.name,
        sha256=bundle.sha256,
    )
    return Certificate(html_page, analysis, reasons)


def refusals(bundle: Bundle, judged: Sequence[Judged], references: References, table: str | None) -> Iterator[str]:
    """Yields sentences with the reasons why a run cannot be certified."""
    began = started(bundle.run)
    commit = bundle.references_commit
    committed = commit.get("time", "")
    if not committed:
        yield f"the references are not under version control: {commit.get('problem', 'no commit contains them')}"
    elif began < committed:
        yield f"the run began at {began or 'an unknown time'}, before the references were committed at {committed}"
    for one in judged:
        record, kept = one.test.record, one.test.stored
        if record is None:
            continue
        if kept and not table and kept.found.table:
            now = verdict_file.reference_entries(record, references, kept.found.table)
            if now != verdict_file.reference_entries(record, kept.references, kept.found.table):
                yield f"{one.test.name} was judged with references that differ from the committed references"
        if record["backend"] == "imported":
            yield f"{one.test.name} was measured by another program"
        if fault := simulated_fault(record):
            yield f"{one.test.name} has a simulated fault: {fault}"


def manifests_of(bundle: Bundle) -> tuple[str, dict[str, manifest.Manifest]]:
    """(mode of the run, {partition: its manifest}); ("", {}) for a run without a mode."""
    mode = bundle.run.mode
    return mode, dict(manifest.load(bundle.folder, mode)) if mode else {}


def unmeasured_sentences(bundle: Bundle) -> Iterator[str]:
    """Yields sentences about test cases and cells of the manifest that the run did not measure."""
    (mode, known), (measured, skipped) = manifests_of(bundle), completeness.measured_cases(bundle.run.tests)
    for one in manifest.required_manifests(known, set(measured) | set(skipped), None):
        yield from manifest.shortfall(mode, one, measured.get(one.partition, {}))


def started(run: Run) -> str:
    """The start of a run, from ReFrame's report. Without a report: from the first record."""
    return run.started or min((test.record["started"] for test in run.tests if test.record), default="")


def node_rows(judged: Iterable[Judged]) -> list[tuple[str, ...]]:
    """The rows of the nodes, the worst first: name, verdict, number of tests, product and serial, driver, devices."""
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
        texts = (
            distinct(products),
            distinct(one.driver for one in devices),
            distinct(map(described, devices)),
        )
        found.append((name, WORDS[verdicts[name]], str(len(each)), *texts))
    return found


def described(sighting: components.Sighting) -> str:
    """A device as text: "gpu0 serial 1650 in slot 3". "" if serial number and slot are unknown."""
    number = f" serial {sighting.serial}" if sighting.serial else f" {sighting.uuid}" if sighting.uuid else ""
    place = f" in slot {sighting.slot}" if sighting.slot else f" at {sighting.pci}" if sighting.pci else ""
    return f"{sighting.label}{number}{place}" if number or place else ""


def distinct(texts: Iterable[str], separator: str = "; ") -> str:
    """Joins texts. Duplicates and empty texts are left out."""
    return separator.join(dict.fromkeys(filter(None, texts)))


def attempt_rows(bundle: Bundle, judged_runs: Sequence[list[Judged]]) -> Iterator[tuple[str, str, str, str]]:
    """Yields (start, subject, verdict, reasons) of each run, each repeated test, and each lost report.

    subject: SUBJECT for the run of the certificate, "run" for other runs, the name of a repeated test, or "no report".
    """
    for run, judged in zip(bundle.runs, judged_runs, strict=True):
        counted = decide_attempts(judged)[0]
        verdict = judging.overall(counted)
        why = next((attempt_reasons(one) for one in counted if one.verdict is verdict), "")
        yield started(run), SUBJECT if run is bundle.run else "run", WORDS[verdict], why
        for one in (one for group in group_attempts(judged) for one in group[:-1]):
            subject = f"{one.test.name}, attempt {one.test.attempt + 1}"
            yield started(run), subject, WORDS[one.verdict], attempt_reasons(one)
    yield from (("", "no report", WORDS[Verdict.INCOMPLETE], sentence) for sentence in bundle.unreported)


def waiver_sentences(judged: Iterable[Judged], references: References, day: str) -> Iterator[str]:
    """Yields sentences about waivers in the references of the tests. day: the day on which the run began."""
    for one in judged:
        known = one.test.stored.references if one.test.stored else references
        for result in one.test.record["results"] if one.test.record and one.reference else ():
            rows = known.for_result(one.test.record, result).table(one.reference, result["testcase"])
            for row, reference in rows.items():
                if reference.waiver:
                    state = " (expired)" if reference.waived_until < day else ""
                    yield f"{result['testcase']} {row}: {reference.waiver}{state}"


def uncovered_sentences(bundle: Bundle, judged: Iterable[Judged]) -> Iterator[str]:
    """Yields sentences about what the certificate does not cover.

    Examples: unmeasured or unjudged test cases, test cases in no manifest, and unknown further attempts.
    """
    yield from bundle.run.notes
    (mode, known), (measured, _) = manifests_of(bundle), completeness.measured_cases(bundle.run.tests)
    for partition in sorted(set(measured) - set(known)):
        yield f"no manifest lists the test cases of {mode or 'this selection'} of {partition or 'these records'}"
    yield from completeness.left_out_lines(known, measured)
    if problem := bundle.references_commit.get("manifests"):
        yield f"the manifests are not under version control: {problem}"
    if not bundle.run.started:
        yield "other attempts are unknown, because the record has no report"
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
        yield f"no reference for {units.counted(len(without), 'result')}: {names}"
