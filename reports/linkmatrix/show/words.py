"""The words that all outputs share: verdicts with meaning and next step, what was measured, how, and the result."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..judge import few, findings
from ..judge.evaluate import MatrixVerdict
from ..judge.facts import Fact
from ..judge.verdicts import WORDS, Verdict
from ..locate.sentences import listed
from ..record.matrix import ClassSummary, from_result, has_status, variant_of
from ..record.reading import Result
from ..record.units import counted, figure, size
from ..runs.judging import Judged

ORDER = sorted(Verdict)  # from good to bad
GLYPHS = dict(zip(ORDER, "✓!○~?✗", strict=True))
ASCII_GLYPHS = dict(zip(ORDER, "+!*~?x", strict=True))  # none of them looks like a part of a number
STRIKING = (Verdict.DISTURBED, Verdict.FAIL)  # verdicts of cells whose style is stronger than the shade of a deviation
MEANINGS = {
    Verdict.PASS: "measured, data verified, inside the reference",
    Verdict.WARN: "inside the reference, but the interval crosses the limit, samples are slow, or its class is faster",
    Verdict.NOT_JUDGED: "measured and verified, but no reference describes the measurement",
    Verdict.DISTURBED: "another process used the node, and a cell is outside",
    Verdict.INCOMPLETE: "the run began, and a cell, table, reference, test or rank is missing",
    Verdict.FAIL: (
        "outside the reference, wrong data, intermittent, more than the path can carry, path changed, or endpoint lost"
    ),
}
ANOTHER = "the other process"  # where no process is named
WAIT = "linkmatrix measure --wait-idle 600"
#: The one step that follows a verdict, in every output; docs/verdicts.md has the same table. {who}: a process.
NEXT_STEPS = {
    Verdict.PASS: "",
    Verdict.WARN: "Watch it: linkmatrix history shows whether it gets worse.",
    Verdict.NOT_JUDGED: "Adopt references of this machine from six runs: linkmatrix baseline",
    Verdict.DISTURBED: f"Measure again without {{who}}, or wait for its end: {WAIT}",
    Verdict.INCOMPLETE: "Fix the run, then measure again.",
    Verdict.FAIL: "Locate the faulty component, then repair it: linkmatrix diagnose.",
}
DECIMALS = {"GB/s": 2, "us": 3, "%": 2, "msg/s": 0, "GFLOP/s": 1, "bodies": 0, "rounds": 0, "words": 0, "flags": 0}
UNITS = {unit: unit for unit in DECIMALS} | {"us": "µs", "msg/s": "messages/s"}
MOST_LABEL = 12
MOST_AXES = 4  # rows and columns that are named as the worst
WITH_DATA = ("ok", "partial")  # status of the cells whose data arrived, and may be compared
SOFTWARE = ("CUDA", "MPI", "cuda", "driver", "mpi")  # what a heading has room for


def next_step(verdict: Verdict, processes: Sequence[str] = ()) -> str:
    """The step that follows a verdict, "" after PASS; processes: those that disturbed the run, by name."""
    return NEXT_STEPS[verdict].replace("{who}", listed(processes) or ANOTHER)


def heading(one: Judged) -> str:
    """What was measured, where, with what and when; "" without a record."""
    return provenance(one.test.record) if one.test.record is not None else ""


def provenance(record: dict[str, Any]) -> str:
    """What was measured, where, with what and when, on one line."""
    software = [f"{name} {version}" for name, version in sorted(record["software"].items()) if name in SOFTWARE]
    when = record["started"].replace("T", " ").replace("Z", " UTC")
    return ", ".join([f"{measured(record)}, on {record['host']['name']}", *software, when])


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


def title(result: Result) -> str:
    """What a matrix shows, on one line."""
    unit, count = UNITS[result["unit"]], size(result["size_bytes"])
    return f"{result['quantity']} ({unit}), {count}{variant_of(result)}, row = source, column = destination"


def how(result: Result) -> str:
    """Schedule, interference, samples and verification, on one line."""
    schedule = result["schedule"]
    interference = schedule["interference"]
    return ", ".join(
        [
            f"{counted(schedule['rounds'], 'round')} of {counted(schedule['pairs_at_once'], 'pair')}"
            if schedule["rounds"]
            else "schedule not known",
            "interference not calibrated" if interference is None else f"interference {100 * interference:.2f} %",
            sampled(result),
            verification(result),
            f"{result['seconds']:.1f} s",
            *([few.coverage(result)] if few.coverage(result) else []),
        ]
    )


def sampled(*results: Result) -> str:
    """ "7 samples per cell" of one or several results; the file of the samples of a matrix that is not held."""
    matrices = [from_result(result) for result in results]
    apart = [matrix.apart.name for matrix in matrices if matrix.apart is not None]
    if apart:
        return f"samples in {', '.join(apart)}"
    samples = np.concatenate([matrix.whole.numbers("samples").ravel() for matrix in matrices])
    samples = samples[np.isfinite(samples)]
    low, high = (int(samples.min()), int(samples.max())) if len(samples) else (0, 0)
    return f"{counted(low, 'sample') if low == high else f'{low} to {high} samples'} per cell"


def verification(*results: Result) -> str:
    """Whether the data of one or several results was compared and right, and how much of it was compared."""
    states = list(dict.fromkeys(map(data_state, results)))
    compared = f" ({compared_share(results)})" if "data verified" in states and compared_share(results) else ""
    return " or ".join(states) + compared


def compared_share(results: Iterable[Result]) -> str:
    """ "11 % or more of one transfer per sample": the data that was compared; "" if no record contains its share."""
    shares = {result["coverage"]["compared_share"] for result in results if "coverage" in result}
    if not shares:
        return ""
    percent, more = 100 * min(shares), " or more" if len(shares) > 1 else ""
    part = f"{percent:.{0 if percent >= 9.95 else 1}f} %{more} of " if percent < 99.95 else ""
    return f"{part}one transfer per sample"


def data_state(result: Result) -> str:
    """Whether the data of a result was compared, and right."""
    if has_status(result, "corrupt"):
        cells = result.get("coverage", {}).get("wrong", [])
        wrong, compared = (sum(cell[key] for cell in cells) for key in ("wrong_samples", "samples"))
        return "WRONG DATA ARRIVED" + (f" in {wrong} of {compared} samples" if cells else "")
    if result["size_bytes"] == 0:
        return "no data to verify"
    if result["verified"] is not None and not has_values(result):
        return "no data verified"  # whatever the record says: no cell has a value
    return {True: "data verified", False: "data not all verified", None: "data not verified"}[result["verified"]]


def unverified(judged: Iterable[Judged]) -> list[str]:
    """The test cases that moved data which their program compared with nothing."""
    results = (result for one in judged for result, _ in one.matrices)
    return list(dict.fromkeys(one["testcase"] for one in results if one["verified"] is None and one["size_bytes"] != 0))


def has_values(result: Result) -> bool:
    """Was anything of a matrix measured?"""
    return any(has_status(result, word) for word in WITH_DATA)


def class_lines(one: Judged, result: Result, matrix: MatrixVerdict) -> list[str]:
    """Minimum, median and maximum of each link class of a matrix, and what they are of typical and of the limit."""
    unit, known = matrix.matrix.unit, findings.shares(one.test.record or {}, result, matrix)
    return [
        ", ".join([summary_line(name, summary, unit), *([str(known[name])] if name in known else [])])
        for name, summary in matrix.matrix.classes.items()
    ]


def typical_lines(judged: Iterable[Judged]) -> dict[str, list[str]]:
    """{source: ["NV18 396.72 GB/s"]} of the typical values that a run was compared with."""
    found: dict[str, list[str]] = {}
    for one in judged:
        for result, matrix in one.matrices:
            for name, share in findings.shares(one.test.record or {}, result, matrix).items():
                if share.source:
                    found.setdefault(share.source, []).append(f"{name} {share.value}")
    return found


def inside_lines(result: Result, matrix: MatrixVerdict) -> list[str]:
    """What is moved between devices, class by class, of what a copy inside one moves, where both were measured.

    Other programs count such a copy's bytes twice, for it reads and writes the same memory: they print half the share.
    """
    classes = matrix.matrix.classes
    inside = classes.get("LOCAL")
    between_gpus = result["memory"] == "device" and result["engine"] in ("ce", "sm")
    if inside is None or not between_gpus or result["unit"] != "GB/s" or not result.get("local_copy"):
        return []
    return [
        f"{name}: {100 * summary.median / inside.median:.1f} % of the copy inside a device,"
        f" {50 * summary.median / inside.median:.1f} % of the bytes that it reads and writes"
        for name, summary in classes.items()
        if name != "LOCAL"
    ]


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
        percent = {at: round(sign * float(off[at]), 1) for at in order}
        told = [f"{names[at]} {percent[at]:+.1f} %" for at in order if percent[at] and off[at] > 0]
        told = told or [f"{names[order[0]]} with less than 0.1 %"]
        lines.append(f"worst {word} (median of their cells, against what is expected): {', '.join(told)}")
    return lines


def marked_cells(matrix: MatrixVerdict, most: int = 5) -> list[str]:
    """A line for each cell that is not PASS, the worst first; not for those that lack nothing but a reference."""
    marked, count = matrix.marked(most)
    lines = [f"{WORDS[cell.verdict]}: {cell.reason}" for _, cell in marked]
    return lines + ([f"and {count - most} more"] if count > most else [])


def fact_lines(one: Judged, result: Result | None = None) -> list[str]:
    """What the record says against a PASS: of all its test cases, or of `result`."""
    return [f"{WORDS[fact.verdict]}: {fact.sentence}" for fact in facts_of(one, result)]


def facts_of(one: Judged, result: Result | None = None) -> list[Fact]:
    """The same, as they are."""
    place = next((at for at, (other, _) in enumerate(one.matrices) if other is result), None)
    return [fact for fact in one.facts if fact.result == place]


def told_together(judged: Sequence[Judged]) -> list[list[Judged]]:
    """Tests that left no record for the same reason in one group, where the first of them stands; each other alone."""
    groups: dict[object, list[Judged]] = {}
    for at, one in enumerate(judged):
        silent = one.test.record is None and one.reasons and not one.test.node
        groups.setdefault((one.verdict, one.reasons) if silent else at, []).append(one)
    return list(groups.values())


def case_verdicts(judged: Iterable[Judged]) -> list[Verdict]:
    """The verdict of each test case, of several sizes the worst, and of each test that has no matrix."""
    found: list[Verdict] = []
    for one in judged:
        of_case: dict[str, list[Verdict]] = {}
        for result, matrix in one.matrices:
            of_case.setdefault(result["testcase"], []).append(one.of_matrix(matrix))
        found += [max(verdicts) for verdicts in of_case.values()] or [one.verdict]
    return found


def tally(judged: list[Judged]) -> str:
    """ "3 test cases: 1 FAIL, 2 PASS", and how many test cases a budget left out, which have no verdict."""
    found, rest = case_verdicts(judged), left_out(judged)
    each = ", ".join(f"{found.count(verdict)} {WORDS[verdict]}" for verdict in reversed(ORDER) if verdict in found)
    beyond = [one.beyond_cells for one in judged if one.matrices and one.beyond_cells is not None]
    also = f"; {counted(len(beyond), 'test')} {WORDS[max(beyond)]} for a reason outside the cells" if beyond else ""
    also += f"; {len(rest)} more left out, for a budget" if rest else ""
    return counted(len(found), "test case") + (f": {each}" if each else "") + also


def left_out(judged: Iterable[Judged]) -> list[str]:
    """The requested test cases for which a budget (--budget) had no room."""
    records = (one.test.record for one in judged if one.test.record is not None)
    return list(dict.fromkeys(name for record in records for name in record.get("left_out", [])))


def has_nothing_to_do(one: Judged) -> bool:
    """Whether a test was skipped because of its partition, such as a pair of one GPU, and not because of a failure."""
    return one.test.result == "skip" and bool(one.test.reason) and not one.test.unmeasured


def has_no_pair(one: Judged) -> bool:
    """Whether a test needs pairs and its machine has one endpoint."""
    return bool(one.matrices) and not any(any(matrix.counts.values()) for _, matrix in one.matrices)


def incomplete_cells(matrix: MatrixVerdict) -> int:
    """The number of INCOMPLETE cells that lack more than a reference."""
    return matrix.counts[Verdict.INCOMPLETE] - (matrix.unjudged if matrix.expected.name else 0)


def only_references_missing(judged: list[Judged]) -> bool:
    """Whether everything was measured and verified, and only references that describe it are missing."""
    tried = [one for one in judged if not has_nothing_to_do(one)]
    matrices = [(result, matrix) for one in tried for result, matrix in one.matrices]
    return any(matrix.unjudged or matrix.counts[Verdict.NOT_JUDGED] for _, matrix in matrices) and all(
        not one.reasons
        and all(fact.verdict <= Verdict.NOT_JUDGED for fact in one.facts)
        and all(lacks_only_references(result, matrix) for result, matrix in one.matrices)
        for one in tried
    )


def lacks_only_references(result: Result, matrix: MatrixVerdict) -> bool:
    """Whether a matrix is verified and each of its cells has a value, and none is FAIL or DISTURBED."""
    counts = matrix.counts
    return (
        bool(result["verified"] or result["size_bytes"] == 0)
        and any(counts.values())
        and not counts[Verdict.FAIL] + counts[Verdict.DISTURBED] + incomplete_cells(matrix)
    )
