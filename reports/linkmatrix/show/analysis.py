"""The analysis of a run: verdict, findings, components, other processes and next steps. Every output shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..judge import intermittent
from ..judge.verdicts import BASELINE, NEXT_STEPS, Verdict
from ..locate.next_steps import BEFORE_ASSESSMENT, SLOW, STAGE_STEPS, TOPICS, WRONG_BITS, Origin, Stage
from ..record.units import counted, listed
from ..runs import judging
from ..runs.modes import program_command
from ..suite import REFUSED_OPTIONS
from . import words
from .findings import RunFinding, disturbing_processes, run_findings
from .reruns import MEASURE, rerun_commands

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..locate.diagnosis import Diagnosis
    from ..record.names import Result
    from ..runs.judging import Judged
    from ..runs.stored import Run
    from .nodes import Entry

MAX_WITH_EVIDENCE = 2  # findings that are shown with evidence
MAX_TOPICS = 3  # topics whose steps are shown, the most urgent first
MAX_COMMANDS = 2  # commands that measure again
GET_REFERENCES = NEXT_STEPS[Verdict.NOT_JUDGED]
#: The step for imports: runs of this machine are no references for another machine.
COMPARE_IMPORT = (
    "Compare the import with a run or another import of the same machine: linkmatrix compare IMPORT --against OTHER"
)
#: {result of an import: step}, for imports whose program failed.
IMPORT_STEPS = {
    "FAIL": "Look for memory and link errors of these GPUs (dmesg, nvidia-smi -q -d ECC). Then run the program again,"
    " on one pair at a time.",
    "ERROR": "Read the end of the imported output for the reason, and run the program again.",
}
CHOOSE = (
    "Choose existing tests: reframe -C config/settings.py -c checks -R -l lists them, and linkmatrix measure chooses"
    " what fits this machine."
)
FIRST = "Measure the slow component again, alone, before you adopt references."
SIMULATED = "No component is faulty: the fault was simulated. Measure without --simulate-fault."
#: {verdict: its meaning for a run}, if nothing more specific is known. The output lists the reasons of FAIL.
VERDICT_MEANINGS = {
    Verdict.WARN: "All cells are within their tolerances. Read the lines marked WARN.",
    Verdict.NOT_JUDGED: "The measured data is verified. There is no valid reference to compare with.",
    Verdict.DISTURBED: "Another process used the node, and cells are slow or intermittent. No component is flagged.",
    Verdict.INCOMPLETE: "The listed items are missing, so the run cannot be PASS.",
}


class Analysis:
    """A run with its verdict and findings.

    run: the stored run; None if only the tests are known.
    judged: the tests of the run.
    verdict: the verdict of the run. The default is the worst verdict of its tests. If a test is missing, for example,
    the command passes a worse verdict.
    """

    def __init__(self, run: Run | None, judged: list[Judged], verdict: Verdict | None = None) -> None:
        self.run, self.judged = run, judged
        self.verdict = judging.overall(judged) if verdict is None else verdict
        self._diagnoses: dict[MatrixVerdict, Diagnosis] = {}

    def diagnosis(self, judged: Judged, result: Result, matrix: MatrixVerdict, include_good: bool = False) -> Diagnosis:
        """The diagnosis of a matrix. Empty for PASS and WARN, unless `include_good` is true."""
        from ..locate import diagnosis

        if judged.matrix_verdict(matrix) <= Verdict.WARN and not include_good:
            return diagnosis.Diagnosis((), (), (), False)
        if matrix not in self._diagnoses:
            test = judged.test
            origin = Origin(test.name, test.hashcode, test.partition, test.scheduler if test.hashcode else "")
            self._diagnoses[matrix] = diagnosis.diagnose(test.record or {}, result, matrix, origin=origin)
        return self._diagnoses[matrix]

    @cached_property
    def findings(self) -> list[RunFinding]:
        """All findings, the most urgent first."""
        return run_findings(self.judged, self.diagnosis, self.verdict)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The records of all tests that have a record."""
        return words.records_of(self.judged)

    @cached_property
    def machines(self) -> list[list[Judged]]:
        """The tests with a record, grouped by back end, host and devices."""
        found: dict[tuple[Any, ...], list[Judged]] = {}
        for one in self.judged:
            if (record := one.test.record) is not None:
                labels = tuple(device["label"] for device in record["devices"])
                found.setdefault((record["backend"], record["host"]["name"], labels), []).append(one)
        return list(found.values())

    @cached_property
    def locations(self) -> words.Locations:
        """Names the tests of this run by partition and node; see `words.Locations`."""
        return words.Locations.of(self.judged)

    @property
    def matrices(self) -> list[tuple[Judged, Result, MatrixVerdict]]:
        """(test, result, verdicts) of each measured matrix, in the order of the run."""
        return [(one, result, matrix) for one in self.judged for result, matrix in one.matrices]

    @cached_property
    def node_entries(self) -> list[Entry]:
        """The test cases of each node, the worst first; [] for a run on one node."""
        from .nodes import entries

        return entries(self.judged)

    @property
    def notices(self) -> list[str]:
        """Lines that every output shows; see `words.notices`."""
        return words.notices(self.judged)

    @property
    def simulated(self) -> bool:
        """Whether a fault was simulated."""
        return bool(words.simulated_line(self.records))

    @cached_property
    def wants_references(self) -> bool:
        """Whether only references are missing; see `words.only_references_missing`."""
        return words.only_references_missing(self.judged)

    @cached_property
    def skipped(self) -> list[Judged]:
        """The skipped tests of a run whose other tests are PASS or WARN; see `words.skipped_tests`."""
        return words.skipped_tests(self.judged) if self.verdict is Verdict.NOT_JUDGED else []

    @property
    def begins_with_assessment(self) -> bool:
        """Whether outputs print the sentences of `assessment` before the findings.

        True if only references are missing, and no finding must be fixed before references are adopted.
        """
        return self.wants_references and not any(one.topic in BEFORE_ASSESSMENT for one in self.findings)

    @property
    def are_imports(self) -> bool:
        """Whether `linkmatrix import` wrote all records."""
        return bool(self.judged) and all(
            test.record is not None and test.record["backend"] == "imported" and not test.partition
            for test in (one.test for one in self.judged)
        )

    @property
    def nothing_measured(self) -> bool:
        """Whether no cell of an INCOMPLETE run has a value."""
        return self.verdict is Verdict.INCOMPLETE and not any(words.has_values(of) for _, of, _ in self.matrices)

    @property
    def steps(self) -> list[str]:
        """The next steps, in order; [] for PASS."""
        if self.verdict is Verdict.PASS:
            return []
        found = [one for one in self.findings if not one.simulated]
        if self.simulated and not found:
            return [SIMULATED]
        needs_references = self.wants_references and not self.simulated
        lines = [FIRST] if needs_references and any(one.topic in SLOW for one in found) else []
        hidden = {"program"} if self.is_failed_by_data(found) else set()
        hidden |= {"skipped"} if needs_references or any(one.topic == "build" for one in found) else set()
        topics = list(dict.fromkeys(one.topic for one in found if TOPICS[one.topic] and one.topic not in hidden))
        if not topics and not needs_references and not self.judged:
            return [CHOOSE]
        if not topics and self.nothing_measured:  # the reason is unknown
            return list(TOPICS["not run"])
        for topic in topics[:MAX_TOPICS]:
            of_topic = [one for one in found if one.topic == topic]
            for stage in sorted({one.stage for one in of_topic}, reverse=True):
                named = dict.fromkeys(one.component for one in of_topic if one.stage == stage and one.component)
                components = listed(list(named)) or "it"
                texts = STAGE_STEPS.get((topic, stage), TOPICS[topic])
                if topic == "program" and self.are_imports:
                    texts = (IMPORT_STEPS["FAIL" if "FAIL" in {one["result"] for one in self.records} else "ERROR"],)
                texts = [text.replace("{who}", components) for text in texts]
                is_first = stage is Stage.AGAIN and lines and lines[0] == FIRST and topic in SLOW
                lines += texts[1:] if is_first else texts  # FIRST replaces the first step
        lines += (
            [COMPARE_IMPORT if self.are_imports else self.with_all_testcases(GET_REFERENCES)]
            if needs_references
            else []
        )
        return list(dict.fromkeys([*([SIMULATED] if self.simulated else []), *lines]))

    def with_all_testcases(self, step: str) -> str:
        """The step `step`. If some cells have references, its command adopts references for all test cases."""
        is_partial = self.verdict is Verdict.NOT_JUDGED and any(matrix.compared for _, _, matrix in self.matrices)
        return step.replace(BASELINE, words.ALL_REFERENCES) if is_partial else step

    def is_failed_by_data(self, findings: Iterable[RunFinding]) -> bool:
        """Whether wrong data is the cause of the failure: no program ended for another reason."""
        results = [one.test.record["result"] if one.test.record is not None else "" for one in self.judged]
        return set(results) <= {"PASS", "FAIL"} and any(one.topic in WRONG_BITS for one in findings)

    @property
    def next_step(self) -> list[str]:
        """The line "Next step: …" of every output; [] for PASS and for a simulated fault."""
        step = "" if self.simulated else words.next_step(self.verdict, disturbing_processes(self.judged))
        step = self.with_all_testcases(step)
        if self.skipped:
            step = TOPICS["skipped"][0]
        if self.verdict is Verdict.NOT_JUDGED and self.are_imports:
            step = "" if all(one.reports_state_only for one in self.judged) else COMPARE_IMPORT
            step = next(
                (text.replace("{who}", one.component) for one in self.findings for text in TOPICS[one.topic]), step
            )
        if self.verdict is Verdict.FAIL and self.are_imports and self.steps:
            step = self.steps[0]
        if self.verdict is Verdict.NOT_JUDGED and any(one.topic in SLOW and not one.simulated for one in self.findings):
            step = FIRST
        if self.verdict is Verdict.INCOMPLETE and any(
            REFUSED_OPTIONS in line for one in self.judged for line in one.reasons
        ):
            step = TOPICS["options"][0]
        return [f"Next step: {step}"] if step else []

    @property
    def all_steps(self) -> list[str]:
        """The steps of the findings, then the step of the verdict if this step adds information."""
        of_verdict = [line.removeprefix("Next step: ") for line in self.next_step]
        is_general = self.verdict in (Verdict.INCOMPLETE, Verdict.NOT_JUDGED)
        return self.steps if self.steps and is_general else list(dict.fromkeys([*self.steps, *of_verdict]))

    @property
    def only_step(self) -> list[str]:
        """The line "Next step: …" of an output that has room for a single step."""
        is_known = self.verdict is Verdict.INCOMPLETE and self.steps
        return [f"Next step: {self.steps[0]}"] if is_known else self.next_step

    @property
    def assessment(self) -> list[str]:
        """Sentences about the meaning of the verdict, unmeasured test cases, and the power to detect faults."""
        rest = words.left_out_testcases(self.judged)
        coverage = {result["testcase"]: words.coverage(result) for _, result, _ in self.matrices}
        sampled = [f"{testcase} {share}" for testcase, share in coverage.items() if share]
        measured = [
            (one.test.record, result)
            for one, result, _ in self.matrices
            if one.test.record is not None and one.test.record["backend"] != "imported"
        ]
        return [
            *filter(None, [self.meaning]),
            *([f"Not measured, because of --budget: {', '.join(rest)}."] if rest else []),
            *([f"Of {'; '.join(sampled)}."] if sampled else []),
            *(intermittent.detection_power(measured) if self.verdict <= Verdict.NOT_JUDGED else []),
        ]

    @property
    def meaning(self) -> str:
        """A sentence about the meaning of the verdict for this run; "" for FAIL, whose reasons are printed."""
        is_partial = words.left_out_testcases(self.judged) or any(words.has_nothing_to_do(one) for one in self.judged)
        good = "All measured data was verified" if is_partial else "Everything was measured and verified"
        if compared := words.compared_share(result for _, result, _ in self.matrices):
            good += f" ({compared})"
        matrices = [matrix for _, _, matrix in self.matrices]
        if self.judged and all(one.reports_state_only for one in self.judged):
            return "Nothing was measured. Connections and states were compared with each other."
        if self.nothing_measured:
            return "Nothing was measured, so there is nothing to judge."
        if self.verdict <= Verdict.WARN and not matrices:
            rest = ": read the lines marked WARN." if self.verdict else ", and the checks passed."
            return f"No measurement was requested{rest}"
        if self.verdict is Verdict.PASS:
            is_compared = any(matrix.compared for matrix in matrices)
            cells = "all cells are within their tolerances" if is_compared else "no cell needs a reference"
            return f"{good}, and {cells}."
        if self.skipped:
            count = counted(len(self.skipped), "test")
            within = "all cells are within their tolerances"
            return f"{good}, and {within}. The run is not a PASS, because {count} did not run."
        if self.wants_references:
            return f"{good}. {missing_references(matrices)}"
        unverified = dict.fromkeys(
            result["testcase"]
            for _, result, _ in self.matrices
            if result["verified"] is None and result["size_bytes"] != 0
        )
        if self.verdict is Verdict.NOT_JUDGED and unverified:
            no_reference = f" {missing_references(matrices)}" if any(matrix.unjudged for matrix in matrices) else ""
            return f"The data of {listed([*unverified])} was not verified.{no_reference}"
        return VERDICT_MEANINGS.get(self.verdict, "")

    @property
    def commands(self) -> list[str]:
        """The next experiments for the first findings. If the run is not PASS, commands that repeat tests follow."""
        found = list(dict.fromkeys(one.command for one in self.findings if one.command))[:MAX_WITH_EVIDENCE]
        repeats = self.verdict is not Verdict.PASS and not self.are_imports
        return list(dict.fromkeys([*found, *(self.repeat()[:MAX_COMMANDS] if repeats else [])]))

    def repeat(self) -> list[str]:
        """The commands that repeat the tests that are DISTURBED or worse, the worst first; one command per partition.

        If no test can be repeated alone, the commands repeat the whole run. If no matrix has a cell, the only command
        is MEASURE.
        """
        if all(one.matrices and not any(any(of.counts.values()) for _, of in one.matrices) for one in self.judged):
            return [MEASURE]
        tests = sorted((one for one in self.judged if one.test.hashcode), key=lambda one: -one.verdict)
        failed = [one for one in tests if one.verdict >= Verdict.DISTURBED]
        if self.run is None or not self.run.rerun:  # several runs have no common command
            return rerun_commands(failed or tests) or self.repeat_all()
        some = rerun_commands(failed) if len(failed) < len(self.judged) else []
        return some or self.repeat_all()

    def repeat_all(self) -> list[str]:
        """The commands that repeat the whole run: the command of ReFrame, or the commands in the records."""
        if self.run is not None and self.run.rerun:
            return [self.run.rerun]
        return list(dict.fromkeys(map(program_command, self.records))) or [MEASURE]


def missing_references(matrices: Sequence[MatrixVerdict]) -> str:
    """A sentence about cells without a reference, and about cells that are better than their reference allows."""
    compared = sum(matrix.compared for matrix in matrices)
    count = sum(sum(matrix.counts.values()) for matrix in matrices)
    if not compared:
        return "There are no references to compare with."
    if compared < count:
        return f"References exist for only {compared} of {count} cells."
    outside = sum(matrix.counts[Verdict.NOT_JUDGED] for matrix in matrices)
    return f"{outside} of {count} cells are better than the upper tolerance of their references."
