"""The words that the terminal and the page share: what was measured, how, what came of it and what to do next."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .errors import BadInput
from .evaluate import Evaluation, MatrixVerdict, Verdict, evaluate, worst
from .matrix import ClassSummary, from_result, has_status, variant_of
from .references import References
from .runs import Run, Test
from .units import figure

ORDER = sorted(Verdict)  # from good to bad
WORDS = dict(zip(ORDER, ["PASS", "WARN", "NO VERDICT", "FAIL"], strict=True))
GLYPHS = dict(zip(ORDER, "✓!?✗", strict=True))
ASCII_GLYPHS = dict(zip(ORDER, "+!?x", strict=True))
DECIMALS = {"GB/s": 2, "us": 3, "%": 2, "msg/s": 0}
UNITS = {"GB/s": "GB/s", "us": "µs", "%": "%", "msg/s": "messages/s"}
MOST_LABEL = 12
MOST_AXES = 4  # rows and columns that are named as the worst
SOFTWARE = ("CUDA", "MPI", "cuda", "driver", "mpi")  # what a heading has room for

Result = dict[str, Any]  # one entry of a record's `results`


@dataclass(frozen=True)
class Judged:
    """One test of a run with its verdict.

    reasons: why it is not PASS, in sentences, where no cell says it.
    reference: the table of references that it was held against, "" for none.
    """

    test: Test
    verdict: Verdict
    evaluation: Evaluation | None = None
    reasons: tuple[str, ...] = ()
    reference: str = ""

    @property
    def matrices(self) -> list[tuple[Result, MatrixVerdict]]:
        """Each measured test case of the record with its verdicts."""
        if self.evaluation is None or self.test.record is None:
            return []
        return list(zip(self.test.record["results"], self.evaluation.matrices, strict=True))

    def of_matrix(self, matrix: MatrixVerdict) -> Verdict:
        """The verdict on one of the matrices; a single one answers for all that is wrong with its test."""
        return self.verdict if len(self.matrices) == 1 else matrix.verdict


def overall(judged: list[Judged]) -> Verdict:
    """The verdict of a run: that of its worst test."""
    return worst(one.verdict for one in judged)


def heading(one: Judged) -> str:
    """What was measured, where, with what and when; "" without a record."""
    return provenance(one.test.record) if one.test.record is not None else ""


def provenance(record: dict[str, Any]) -> str:
    """What was measured, where, with what and when, on one line."""
    software = [f"{name} {version}" for name, version in sorted(record["software"].items()) if name in SOFTWARE]
    when = record["started"].replace("T", " ").replace("Z", " UTC")
    return ", ".join([f"{measured(record)}, on {record['host']['name']}", *software, when])


def judge(test: Test, references: References, reference_name: str | None) -> Judged:
    """Holds a test's record against the references; the name given is stronger than the one of its partition.

    What ReFrame failed is FAIL whatever the numbers say, and what it did not run, or has no record, is NO VERDICT.
    """
    found = {"": [], "pass": [], "fail": [Verdict.FAIL], "xpass": [Verdict.FAIL]}.get(test.result, [Verdict.NO_VERDICT])
    reasons = [test.reason] if test.reason else []
    if found and not test.reason:
        reasons.append(f"ReFrame ended it with '{test.result}'")
    if test.record is None and not test.measures and test.result == "pass":
        return Judged(test, Verdict.PASS, None, ())  # ReFrame's check is the verdict
    if test.record is None:
        return Judged(test, worst([*found, Verdict.NO_VERDICT]), None, tuple(reasons))
    if not test.record["results"] and test.result == "pass" and "--topology" in test.record["command"]:
        return Judged(test, Verdict.PASS, None, ())  # nothing to measure: ReFrame's check is the verdict
    name = reference_name or test.reference
    evaluation = evaluate(test.record, references, name or None, test.path.parent if test.path else None)
    found.append(evaluation.verdict)
    if not test.record["results"]:
        reasons.append("the record holds no matrix: nothing was measured")
    if test.record["result"] != "PASS":
        said = f": {test.record['error']}" if test.record["error"] else ""
        reasons.append(f"the program ended with {test.record['result']}{said}")
    elif test.testcase and test.testcase not in [result["testcase"] for result in test.record["results"]]:
        found.append(Verdict.NO_VERDICT)
        reasons.append(f"the record holds no {test.testcase}")
    return Judged(test, worst(found), evaluation, tuple(reasons), name)


def judge_all(run: Run, references: References, reference_name: str | None) -> list[Judged]:
    """Every test of the run, in its order. Raises BadInput where `reference_name` is given and no table has it."""
    if reference_name and reference_name not in references.names():
        known = ", ".join(references.names()) or "none"
        raise BadInput(f"--reference '{reference_name}' is in none of the references (known: {known})")
    return [judge(test, references, reference_name) for test in run.tests]


def measured(record: dict[str, Any]) -> str:
    """What was measured, in plain words: "8 × NVIDIA H200", "host memory of this machine, no GPU"."""
    devices = record["devices"]
    if record["backend"] == "mpi":
        nodes = len({device["node"] for device in devices})
        ranks = counted(len(devices), "MPI rank")
        return f"{ranks} on {'one node' if nodes == 1 else counted(nodes, 'node')}"
    if record["backend"] == "host":
        return "host memory of this machine, no GPU"
    if record["backend"] == "imported" and not devices:
        return f"imported from {record['imported']['program']}"
    names = [device["name"] for device in devices]
    each = ", a process each" if record["backend"] == "ipc" else ""
    return ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)) + each or "no device"


def short_label(label: str) -> str:
    """A label that leaves room for numbers: its end, which is what differs between endpoints."""
    return label if len(label) <= MOST_LABEL else "…" + label[1 - MOST_LABEL :]


def counted(number: int | None, noun: str) -> str:
    """ "1 pair", "2 pairs"; None is not known."""
    if number is None:
        return f"{noun}s not counted"
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size(count: int | None) -> str:
    """Bytes in the largest binary unit that is exact: "512 MiB", "16 bytes"."""
    if not count:
        return "size not known" if count is None else "0 bytes"
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count % (1 << power) == 0:
            return f"{count >> power} {unit}"
    return counted(count, "byte")


def title(result: Result) -> str:
    """What a matrix shows, on one line."""
    unit, count = UNITS[result["unit"]], size(result["size_bytes"])
    return f"{result['quantity']} ({unit}), {count}{variant_of(result)}, row = source, column = destination"


def how(result: Result) -> str:
    """Schedule, interference, samples and verification, on one line."""
    schedule = result["schedule"]
    interference = schedule["interference"]
    samples = [count for row in result.get("samples", []) for count in row if count is not None]
    low, high = min(samples, default=0), max(samples, default=0)
    each = counted(low, "sample") if low == high else f"{low} to {high} samples"
    return ", ".join(
        [
            f"{counted(schedule['rounds'], 'round')} of {counted(schedule['pairs_at_once'], 'pair')}"
            if schedule["rounds"]
            else "schedule not known",
            "interference not calibrated" if interference is None else f"interference {100 * interference:.2f} %",
            f"samples in {result['cells']['file']}" if "cells" in result else f"{each} a cell",
            verification(result),
            f"{result['seconds']:.1f} s",
        ]
    )


def verification(result: Result) -> str:
    """Whether the data that arrived was compared, and right."""
    if has_status(result, "corrupt"):
        return "WRONG DATA ARRIVED"
    return {True: "data verified", False: "data not all verified", None: "data not verified"}[result["verified"]]


def class_lines(matrix: MatrixVerdict) -> list[str]:
    """Minimum, median and maximum of each link class of a matrix."""
    unit = matrix.matrix.unit
    return [summary_line(name, summary, unit) for name, summary in matrix.matrix.classes.items()]


def part_lines(result: Result, fit: bool = True) -> list[str]:
    """The same of the further matrices of a test case, for all classes together; `fit`: with those of the fit."""
    lines = []
    for key, part in result.get("parts", {}).items():
        if key.startswith("fit_") and not fit:
            continue
        values = list(from_result(result, key).numbers.values())
        if values:
            summary = ClassSummary(len(values), min(values), statistics.median(values), max(values))
            lines.append(summary_line(part["title"], summary, part["unit"]))
    return lines


def extremes(summary: ClassSummary, unit: str) -> tuple[str, str, str]:
    """Minimum, median and maximum, as they are printed."""
    low, median, high = (figure(value, DECIMALS[unit]) for value in (summary.low, summary.median, summary.high))
    return low, median, high


def summary_line(name: str, summary: ClassSummary, unit: str) -> str:
    """ "NV18: min 395.62  median 395.89  max 396.08 GB/s (12 cells)"."""
    low, median, high = extremes(summary, unit)
    return f"{name}: min {low}  median {median}  max {high} {UNITS[unit]} ({counted(summary.count, 'cell')})"


def axis_lines(matrix: MatrixVerdict, most: int = MOST_AXES) -> list[str]:
    """The worst rows and columns, by how much the median of their cells is worse than expected."""
    lines = []
    labels = (matrix.matrix.rows, matrix.matrix.columns)
    for word, names, off in zip(("rows", "columns"), labels, matrix.axis_medians(), strict=True):
        order = sorted(range(len(names)), key=lambda at, off=off: -off[at])[:most]
        sign = 100 if matrix.matrix.unit == "us" else -100
        told = [f"{names[at]} {sign * off[at]:+.1f} %" for at in order]
        lines.append(f"worst {word} (median of their cells, against what is expected): {', '.join(told)}")
    return lines


def marked_cells(matrix: MatrixVerdict, most: int = 5) -> list[str]:
    """A line for each cell that is not PASS, the worst first; not for those that lack nothing but a reference."""
    marked, count = matrix.marked(most)
    lines = [f"{WORDS[cell.verdict]}: {cell.reason}" for _, cell in marked]
    return lines + ([f"and {count - most} more"] if count > most else [])


def case_verdicts(judged: Iterable[Judged]) -> list[Verdict]:
    """The verdict of each test case: of each matrix, and of each test that has none."""
    return [
        verdict
        for one in judged
        for verdict in ([one.of_matrix(matrix) for _, matrix in one.matrices] or [one.verdict])
    ]


def tally(judged: list[Judged]) -> str:
    """ "3 test cases: 1 FAIL, 2 PASS"."""
    found = case_verdicts(judged)
    each = ", ".join(f"{found.count(verdict)} {WORDS[verdict]}" for verdict in reversed(ORDER) if verdict in found)
    return counted(len(found), "test case") + (f": {each}" if each else "")


def only_references_missing(judged: list[Judged]) -> bool:
    """Was everything measured and verified, so that references are all that a verdict lacks?"""
    return all(
        not one.reasons
        and all(
            result["verified"]
            and matrix.verdict <= Verdict.NO_VERDICT
            and matrix.counts[Verdict.NO_VERDICT] == matrix.unjudged
            for result, matrix in one.matrices
        )
        for one in judged
    )


def next_step(verdict: Verdict, judged: list[Judged]) -> str:
    """What a verdict means here and what to do about it, in a sentence or two."""
    if not judged:
        return "Nothing was measured, so there is nothing to judge."
    if verdict is Verdict.PASS:
        return "Everything was measured and verified, and is as the references say."
    if verdict is Verdict.WARN:
        return "All within the limits, but look at the cells that are marked."
    if verdict is Verdict.FAIL:
        return "Each failure is listed with its reason. Measure it again, alone, before a part is replaced."
    if only_references_missing(judged):
        matrices = [matrix for one in judged for _, matrix in one.matrices]
        held, count = sum(matrix.held for matrix in matrices), sum(sum(matrix.counts.values()) for matrix in matrices)
        some = f"there are references for only {held} of {count} cells"
        return (
            f"Everything was measured and verified; {some if held else 'there are no references to hold it against'}."
            " To get them, measure six times, then linkmatrix adopt --table NAME --write, and name that table in the"
            " partition's extras in config/systems: 'reference': NAME."
        )
    return "Something is missing, as listed: without it there is no verdict."
