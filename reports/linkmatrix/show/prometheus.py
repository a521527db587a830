"""A run in the text format of Prometheus: values of link classes, verdicts and flags, but no values of cells.

Units are bytes per second and seconds. Samples have no times, because the textfile collector refuses times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ..errors import clean
from ..references.keys import distinguishing_words
from . import words

if TYPE_CHECKING:
    from ..runs.suspects import Suspect
    from .analysis import Analysis

PREFIX = "linkmatrix_"
#: {unit of a record: (metric, factor to the base unit)}
QUANTITIES = {
    "GB/s": ("bandwidth_bytes_per_second", 1e9),
    "us": ("latency_seconds", 1e-6),
    "GFLOP/s": ("compute_operations_per_second", 1e9),
}
NUMBERS = ", ".join(f"{int(verdict)} {words.WORDS[verdict]}" for verdict in words.ORDER)  # "0 PASS, 1 WARN, …"
#: {metric: HELP text}. All metrics are gauges.
METRICS = {
    "bandwidth_bytes_per_second": "Bandwidth of a link class: least, median and greatest of its cells.",
    "latency_seconds": "Latency of a link class: least, median and greatest of its cells.",
    "compute_operations_per_second": "Floating-point operations of all devices of a simulation together.",
    "cells": "Cells of a test case by verdict.",
    "verdict": f"Verdict on a test case: {NUMBERS}.",
    "run_verdict": f"Verdict on everything that was exported: {NUMBERS}.",
    "last_run_timestamp_seconds": "When the newest run of a partition began.",
    "suspects": "Devices and nodes that are flagged.",
    "suspect_clean_runs": "Clean runs of a flagged device since it was last flagged; other devices have no series.",
}


class Sample(NamedTuple):
    """A line of the file. metric: the name without PREFIX."""

    metric: str
    labels: Mapping[str, str]
    value: float


def text(analysis: Analysis, suspects: list[Suspect]) -> str:
    """The content of the file. The first lines are comments with the notices of the run."""
    kept: dict[tuple[str, str], float] = {}
    for sample in samples(analysis, suspects):
        key = (sample.metric, labelled({name: clean(value) for name, value in sample.labels.items()}))
        # if a test case occurs twice, the worse verdict and the newer values are kept
        worse = sample.metric == "verdict" and key in kept
        kept[key] = max(kept[key], sample.value) if worse else sample.value
    lines = [f"# {line}" for line in analysis.notices]
    for metric, purpose in METRICS.items():
        found = {labels: value for (name, labels), value in kept.items() if name == metric}
        if found:
            lines += [f"# HELP {PREFIX}{metric} {purpose}", f"# TYPE {PREFIX}{metric} gauge"]
            lines += [f"{PREFIX}{metric}{labels} {value:.17g}" for labels, value in found.items()]
    return "\n".join(lines) + "\n"


def samples(analysis: Analysis, suspects: list[Suspect]) -> Iterator[Sample]:
    """Yields all lines, the oldest record first."""
    newest: dict[str, float] = {}
    for one in sorted(analysis.judged, key=lambda one: one.test.record["started"] if one.test.record else ""):
        record = one.test.record
        place = {"partition": one.test.partition, "host": record["host"]["name"] if record else one.test.node}
        if record:
            newest[one.test.partition] = datetime.fromisoformat(record["started"].replace("Z", "+00:00")).timestamp()
        if one.verdict_beyond_cells is not None:
            yield Sample(
                "verdict", {**place, "testcase": one.test.testcase or one.test.name}, int(one.verdict_beyond_cells)
            )
        for result, matrix in one.matrices:
            case = {
                **place,
                "testcase": result["testcase"],
                "size_bytes": "" if result["size_bytes"] is None else str(result["size_bytes"]),
            }
            case |= {"variant": distinguishing_words(record or {}, result, one.test.variant).removeprefix(", ")}
            metric, factor = QUANTITIES[result["unit"]]
            for name, summary in matrix.matrix.classes.items():
                for stat, value in (("min", summary.low), ("median", summary.median), ("max", summary.high)):
                    yield Sample(metric, {**case, "link_class": name, "stat": stat}, value * factor)
            for verdict, count in matrix.counts.items():
                word = words.WORDS[verdict].lower().replace(" ", "_")
                yield Sample("cells", {**case, "verdict": word}, count)
            yield Sample("verdict", case, int(one.matrix_verdict(matrix)))
    yield Sample("run_verdict", {}, int(analysis.verdict))
    for partition, when in newest.items():
        yield Sample("last_run_timestamp_seconds", {"partition": partition}, when)
    yield Sample("suspects", {}, len(suspects))
    for one in suspects:
        yield Sample("suspect_clean_runs", {"node": one.node, "device": "" if one.is_node else one.label}, one.clean)


def labelled(labels: Mapping[str, str]) -> str:
    """Labels as text: '{host="n17",stat="min"}'. Empty labels are omitted, because they equal missing labels."""
    escaped = {
        name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for name, value in labels.items()
    }
    said = ",".join(f'{name}="{value}"' for name, value in escaped.items() if value)
    return f"{{{said}}}" if said else ""
