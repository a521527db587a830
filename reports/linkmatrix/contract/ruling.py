"""The verdict under a contract, from reports and records alone, on each part, test case, node and cell that was sold.

Only PASS and WARN meet a contract. A cell outside a limit is FAIL. INCOMPLETE: something is missing, belongs to another
part, was measured before the contract was frozen, or by another program. DISTURBED: another process used a node and a
cell is outside. NOT JUDGED: a limit does not describe its cell. A test case that failed and was repeated stays FAIL. If
the contract allows retries, the test case is WARN. An earlier run that did not pass is WARN too. The ruling contains
both.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .. import __version__
from ..errors import clean
from ..judge.disturbances import ignored
from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import EXIT_CODES, Reason, Verdict, worst
from ..record.simulated import simulated_fault
from ..record.units import counted
from ..references.tables import References
from ..runs import judging
from ..runs.bound import one_host, short
from ..runs.judging import Judged
from ..runs.stored import measurements
from .cases import WORDS, OfCase, least_seen, missing_of, nodes_of, note_worst, of_case_json, of_nodes, other_size
from .inventory import Inventory
from .limits import ALL, Case
from .power import noise_of
from .sessions import Session
from .terms import Expected, Terms, canonical

SCHEMA = "linkmatrix.ruling/2"
MOST_LINES = 20  # of reasons of one kind; the others are counted

MOST_CHARACTERS = 500  # of a sentence


@dataclass
class Ruling:
    """The verdict under a contract, with its reasons.

    parts: (expected part, its slot, "" where it was not found). simulated: faults that were simulated in the last run.
    ignored: processes that the last run ignored.
    """

    terms: Terms
    reasons: list[Reason] = field(default_factory=list)
    cases: list[OfCase] = field(default_factory=list)
    parts: list[tuple[Expected, str]] = field(default_factory=list)
    runs: list[dict[str, str]] = field(default_factory=list)
    retries: list[dict[str, Any]] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    simulated: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """That of the verdict; 3 for NOT JUDGED, which does not meet a contract."""
        verdict = self.verdict
        return EXIT_CODES[Verdict.INCOMPLETE if verdict is Verdict.NOT_JUDGED else verdict]

    @property
    def verdict(self) -> Verdict:
        """The worst of all reasons and test cases; INCOMPLETE without any test case."""
        return worst([worst(one.verdict for one in self.cases), *(reason.verdict for reason in self.reasons)])

    def add(self, verdict: Verdict, sentences: Iterable[str]) -> None:
        """Reasons of one kind; of many the first."""
        said = [clean(sentence) for sentence in sentences]
        more = len(said) - MOST_LINES
        self.reasons += [Reason(verdict, sentence) for sentence in said[:MOST_LINES]]
        self.reasons += [Reason(verdict, f"and {more} more like the last one")] if more > 0 else []

    def without(self, folder: str) -> "Ruling":
        """Itself, with no sentence that names the folder in which records were read: it is another one each time."""

        def short_of(sentence: str) -> str:
            return sentence.replace(folder, "")[:MOST_CHARACTERS]

        self.reasons = [Reason(one.verdict, short_of(one.sentence)) for one in self.reasons]
        self.retries = [{**one, "reason": short_of(one["reason"])} for one in self.retries]
        return self

    @property
    def content(self) -> bytes:
        """`verdict.json`, the same wherever it is made."""
        ordered = sorted(self.reasons, key=lambda reason: -reason.verdict)
        return canonical(
            {
                "schema": SCHEMA,
                "linkmatrix": __version__,
                "contract": self.terms.digest,
                "title": self.terms.title,
                "verdict": WORDS[self.verdict],
                "reasons": [{"verdict": WORDS[one.verdict], "sentence": one.sentence} for one in ordered],
                "testcases": [of_case_json(one) for one in self.cases],
                "parts": [{**vars(part), "found": found} for part, found in self.parts],
                "runs": self.runs,
                "retries": self.retries,
                "beyond": self.beyond,
                "simulated": self.simulated,
                "ignored_processes": self.ignored,
            }
        )


def rule(terms: Terms, sessions: list[Session]) -> Ruling:
    """The verdict on the last of the runs under a contract, with what those before it left."""
    ruling = Ruling(terms)
    references = terms.references()
    judged = [judged_tests(terms, one, references) for one in sessions]
    ruling.add(Verdict.INCOMPLETE, twice(judged))
    last, failed = len(sessions) - 1, 0
    for number, (session, of_run) in enumerate(zip(sessions, judged, strict=True)):
        one = ruling if number == last else Ruling(terms)
        said = {"began": session.begun.began, "report": session.begun.report or "none"}
        if session.run is None:
            one.add(Verdict.INCOMPLETE, [f"run {number + 1} of {session.begun.began} has no report: it did not end"])
        judge_run(one, session, of_run)
        ruling.runs.append({**said, "verdict": WORDS[one.verdict]})
        if number != last and one.verdict > Verdict.WARN:
            failed += one.verdict is Verdict.FAIL
            gone = session.run is None and session.begun.report is not None
            allowed = not gone and (failed <= terms.retries or one.verdict is not Verdict.FAIL)
            why = f": {one.reasons[0].sentence}" if one.reasons else ""
            what = f"run {number + 1} of {session.begun.began} was {WORDS[one.verdict]}{why}"
            wrong = any(wrong_data(terms, test) for test in of_run)
            ruling.reasons.append(of_earlier(terms, one.verdict, what, allowed, wrong))
    if not sessions:
        ruling.add(Verdict.INCOMPLETE, ["nothing was measured under this contract"])
    return ruling


def judged_tests(terms: Terms, session: Session, references: References) -> list[Judged]:
    """The tests of a run, judged by the limits of the contract instead of the references of the site."""
    tests = session.run.tests if session.run else ()
    return [judging.judge(test, references, terms.table) for test in tests if not test.fixture]


def twice(judged: list[list[Judged]]) -> Iterator[str]:
    """One measurement that stands for two: a record that was copied over another one."""
    known: dict[Any, str] = {}
    for number, of_run in enumerate(judged, 1):
        for one in of_run:
            where = f"run {number}, attempt {one.test.attempt + 1}"
            for key in measurements(one.test.record) if one.test.record else ():
                first = known.setdefault(key, where)
                if first != where:
                    yield f"{one.test.name}: its record of {where} is that of {first}: one measurement counts once"


def judge_run(ruling: Ruling, session: Session, judged: list[Judged]) -> None:
    """Fills a ruling with what a run says."""
    terms = ruling.terms
    final = list(after_retries(ruling, judged))
    ours = [one for one in final if covers(terms, one)]
    names = {result["testcase"] for one in final for result, _ in one.matrices}
    ruling.beyond = sorted(names - terms.testcases)
    ruling.add(Verdict.WARN, wrong_beyond(terms, judged))
    ruling.add(Verdict.INCOMPLETE, too_early(terms, session, ours))
    ruling.add(Verdict.INCOMPLETE, not_ours(ours))
    unknown = [one for one in final if one.test.record is None and not one.test.testcase and one.test.measures]
    ruling.add(Verdict.INCOMPLETE, [f"{one.test.name}: {reason_of(one)}" for one in unknown])
    records = [one.test.record for one in ours if one.test.record]
    ruling.simulated = list(dict.fromkeys(filter(None, map(simulated_fault, records))))
    ruling.ignored = list(dict.fromkeys(clean(process) for record in records for process in ignored(record)))
    inventory = Inventory(terms, records)
    ruling.parts = inventory.found
    ruling.add(Verdict.INCOMPLETE, inventory.missing)
    ruling.cases = [of_case(ruling, case, ours) for case in terms.cases]


def after_retries(ruling: Ruling, judged: list[Judged]) -> Iterator[Judged]:
    """Of each test the last attempt; those before that did not pass are shown, and are held against it."""
    attempts: dict[tuple[str, str, str], list[Judged]] = {}
    for one in judged:
        attempts.setdefault((one.test.name, one.test.partition, one.test.environ), []).append(one)
    for tries in attempts.values():
        ordered = sorted(tries, key=lambda one: one.test.attempt)
        for one in ordered[:-1]:
            why = reason_of(one)
            said = {"test": clean(one.test.name), "attempt": one.test.attempt + 1, "verdict": WORDS[one.verdict]}
            ruling.retries.append({**said, "reason": why})
            if one.verdict > Verdict.WARN:
                allowed = len(ordered) - 1 <= ruling.terms.retries
                what = f"{one.test.name} was {WORDS[one.verdict]} before it was repeated: {why}"
                wrong = wrong_data(ruling.terms, one)
                ruling.reasons.append(of_earlier(ruling.terms, one.verdict, what, allowed, wrong))
        yield ordered[-1]


def of_earlier(terms: Terms, verdict: Verdict, what: str, allowed: bool, wrong: bool) -> Reason:
    """What an earlier attempt or run that was not PASS is to the last one: a WARN where the contract allows for it.

    wrong: with wrong data, which no repetition takes back.
    """
    if wrong:
        return Reason(Verdict.FAIL, clean(f"{what} (no repetition takes back wrong data)"))
    return Reason(Verdict.WARN, clean(what)) if allowed else Reason(verdict, clean(f"{what} ({allowed_of(terms)})"))


def wrong_data(terms: Terms, one: Judged) -> bool:
    """Did other data arrive than was sent in a test of the contract?"""
    return one.wrong_data and covers(terms, one)


def wrong_beyond(terms: Terms, judged: list[Judged]) -> Iterator[str]:
    """Wrong data on nodes that were sold, in tests that are no part of the contract."""
    for one in (one for one in judged if one.wrong_data and not covers(terms, one)):
        where = sorted(node for node in nodes_of(one) if any(one_host(node, sold) for sold in terms.nodes))
        if where:
            yield f"{one.test.name}, no part of the contract, had wrong data on {where[0]}: {reason_of(one)}"


def allowed_of(terms: Terms) -> str:
    """How many retries a contract has."""
    return f"the contract allows for {counted(terms.retries, 'retry').replace('retrys', 'retries')}"


def reason_of(one: Judged) -> str:
    """Why a test is not PASS, as far as it says it."""
    marked = [cell.reason for _, matrix in one.matrices for _, cell in matrix.marked(1)[0]]
    return clean("; ".join([*one.reasons, *(fact.sentence for fact in one.facts), *marked]))


def covers(terms: Terms, one: Judged) -> bool:
    """Is a test about a test case of the contract?"""
    names = {one.test.testcase, *(result["testcase"] for result, _ in one.matrices)}
    return not terms.testcases.isdisjoint(names)


def too_early(terms: Terms, session: Session, ours: list[Judged]) -> Iterator[str]:
    """What was measured before the limits were frozen, by the clock of the machine or of ReFrame."""
    for when, what in ((session.begun.began, "the run"), (session.run.started if session.run else "", "its session")):
        if when and when < terms.frozen:
            yield f"{what} began at {when}, before the contract was frozen at {terms.frozen}"
    for one in ours:
        if one.test.record and one.test.record["started"] < terms.frozen:
            began = one.test.record["started"]
            yield f"{one.test.name}: its record began at {began}, before the contract was frozen at {terms.frozen}"


def not_ours(ours: list[Judged]) -> Iterator[str]:
    """Records of other programs, and of simulated faults."""
    for one in ours:
        record = one.test.record
        if record is None:
            continue
        if record["backend"] == "imported":
            yield f"{one.test.name}: its record was imported, another program measured it"
        if fault := simulated_fault(record):
            yield f"{one.test.name}: its fault was simulated: {fault}"


def of_case(ruling: Ruling, case: Case, ours: list[Judged]) -> OfCase:
    """What came of a test case on all of its nodes."""
    found, verdicts, missing = OfCase(case), [], []
    here: dict[frozenset[str], list[tuple[Judged, MatrixVerdict]]] = {}
    for one in ours:
        on = frozenset(map(short, nodes_of(one)))
        of_it = [(one, matrix) for result, matrix in one.matrices if result["testcase"] == case.testcase]
        here.setdefault(on, []).extend(of_it)
    groups = [ruling.terms.nodes] if case.nodes == ALL else [[node] for node in ruling.terms.nodes]
    for nodes in groups:
        on = frozenset(map(short, nodes))
        every = [(one, matrix) for one, matrix in here.get(on, ()) if of_nodes(one, nodes)]
        # wrong data counts whatever its size
        of_size = [(one, matrix) for one, matrix in every if matrix.matrix.size_bytes == case.size or one.wrong_data]
        if every and not of_size:
            missing.append(other_size(case, [matrix for _, matrix in every]))
            verdicts.append(Verdict.INCOMPLETE)
        if not every:
            missing.append(f"{case.testcase} has no record of {', '.join(nodes[:5])}{' …' if len(nodes) > 5 else ''}")
            verdicts.append(Verdict.INCOMPLETE)
        for one, matrix in of_size:
            verdicts.append(one.verdict)
            judged = sum(matrix.counts[verdict] for verdict in (Verdict.PASS, Verdict.WARN, Verdict.FAIL))
            found.records, found.cells = found.records + 1, found.cells + judged
            for lack in missing_of(case, matrix, judged):
                missing.append(f"{case.testcase} of {', '.join(nodes[:5])}: {lack}")
                verdicts.append(Verdict.INCOMPLETE)
            if one.verdict > Verdict.PASS:
                why = reason_of(one)
                ruling.add(one.verdict, [f"{case.testcase} of {', '.join(nodes[:5])}: {why}"] if why else [])
            note_worst(found, matrix, nodes)
            for name, noise in noise_of(matrix).items():
                found.noise[name] = least_seen(found.noise.get(name), noise)
    unread = [one for one in ours if one.test.testcase == case.testcase and one.test.record is None]
    verdicts += [max(one.verdict, Verdict.INCOMPLETE) for one in unread]
    ruling.add(Verdict.INCOMPLETE, [f"{one.test.name}: {reason_of(one)}" for one in unread])
    ruling.add(Verdict.INCOMPLETE, missing)
    found.verdict = worst(verdicts)
    return found
