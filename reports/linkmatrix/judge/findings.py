"""Findings that need no reference.

A finding changes no verdict and no exit code. The terminal, the page and verdict.json contain these findings.

Two other modules make other findings: `locate` finds cells that are slower than their link class, and `disturbances`
finds other processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..record.names import Result, is_collective
from ..record.units import counted, first
from ..references.noise import FLOORS, DataPath
from .cell_sentences import quantity
from .inventory_diff import connection_differences, device_differences

if TYPE_CHECKING:
    from ..references.typical import TypicalValues
    from .evaluate import Evaluation, MatrixVerdict
    from .node_comparison import Measured

MIN_TYPICAL = 0.90  # of the typical value: published values of one product differ by up to 8 % between hosts
MIN_LIMIT = 0.50  # of the limit: with half of its lanes, or one PCIe generation lower, a link cannot reach more
LARGE = 64 << 20  # bytes; the overhead of transfers of this size or more is below 3 %
LATENCY_SIZE = 2 << 20  # bytes of the buffer for load latencies
STAGED = "_peer_off"  # suffix of test cases whose copies go through host memory
READ = "read from the driver"  # confidence of a finding about the state of a device


class Finding(NamedTuple):
    """A finding about a component.

    component: the name of the component.
    kind: a key of NEXT.
    evidence: a sentence with the measured values.
    confidence: the basis of the evidence, such as "2 cells, one run".
    next_step: a sentence.
    testcase: the test case that shows the finding; "" for a finding about the state of a device.
    weight: the deviation as a fraction.
    """

    component: str
    kind: str
    evidence: str
    confidence: str
    next_step: str
    testcase: str = ""
    weight: float = 0.0


class Share(NamedTuple):
    """The worst and the best cell of a link class, compared with the link's limit and with the typical value.

    of_limit: (worst cell, best cell) as fractions of the limit; None if the limit is unknown.
    of_typical: (worst cell, best cell) as fractions of the typical value; None if the typical value is unknown.
    minimum: whether the typical value is a minimum that an operator accepts.
    value, source: the typical value and its publication, as text.
    """

    of_limit: tuple[float, float] | None
    of_typical: tuple[float, float] | None
    minimum: bool = False
    value: str = ""
    source: str = ""

    def __str__(self) -> str:
        """Text such as "48 to 98 % of typical, 42 to 86 % of the limit"; "" if both shares are unknown."""
        typical = "the minimum that an operator accepts" if self.minimum else "typical"
        known = ((self.of_typical, typical), (self.of_limit, "the limit"))
        return ", ".join(f"{percents(shares)} of {what}" for shares, what in known if shares is not None)


def percents(shares: tuple[float, float]) -> str:
    """The shares of the worst and the best cell as text: "48 to 98 %", or "98 %" if both are equal."""
    low, high = (f"{100 * share:.0f}" for share in shares)
    return f"{low} %" if low == high else f"{low} to {high} %"


#: {kind of a finding: next step}, the most urgent kind first. {who}: the component.
NEXT = {
    "off NVLink": "Check the fabric manager and the links of {who}: nvidia-smi nvlink -s. If the links stay down, check"
    " the board of the device.",
    "no active NVLink": "Check the fabric manager: systemctl status nvidia-fabricmanager. PCIe cards without a bridge"
    " have no active NVLink.",
    "unlike links": "Check the links of {who}: nvidia-smi nvlink -s and -e. Reset the device."
    " If the links still differ, check the board of the device.",
    "link errors": "Read the error counters of {who} again after a run (nvidia-smi nvlink -e). If the counters rise,"
    " check the links of the device.",
    "unlike device": "Measure {who} again, alone. If its links still differ, check both endpoints of each link:"
    " nvidia-smi nvlink -s, lspci -vv (LnkSta).",
    "unlike node": "Measure {who} again, alone. Then compare its configuration with that of another node.",
    "far adapter": "Check the slot of the network adapter next to {who}, and the PCIe switch between them: lspci -tv.",
    "another program": "Read the whole report of the other program, and dmesg of the node of {who}.",
    "slower than staged": "Check ACS and IOMMU: they route peer copies through the root complex (lspci -vvv, ACSCtl).",
    "below half of the limit": "Check width and generation of the {who}: nvidia-smi -q, lspci -vv (LnkSta).",
    "below typical": "Compare the {who} with a faster node: driver, BIOS, PCIe width and generation, clocks, IOMMU.",
}
NEXT_OF_COLLECTIVE = "Compare {who} with a faster node: NCCL version and variables, topology file, algorithm that ran."


def findings(record: Mapping[str, Any], evaluation: Evaluation) -> Iterator[Finding]:
    """Yields the findings of a checked record: about devices, then about each result."""
    for label, sentence in device_differences(record):
        yield make_finding(label, "unlike device", sentence, READ)
    for one in connection_differences(record):
        yield make_finding(one.component, one.kind, one.sentence, READ)
    for other in (record.get("imported") or {}).get("findings", ()):
        text, program = f"{other['component']}: {other['sentence']}", other["program"]
        yield make_finding(other["component"], "another program", text, f"reported by {program}")
    pairs = list(zip(record["results"], evaluation.matrices, strict=True))
    for result, matrix in pairs:
        yield from slow_class_findings(record, result, matrix)
    yield from staged_findings(pairs)


def make_finding(
    component: str, kind: str, evidence: str, confidence: str, testcase: str = "", weight: float = 0.0, step: str = ""
) -> Finding:
    """Makes a finding. step: the next step; by default, the next step of this kind of finding."""
    next_step = (step or NEXT[kind]).replace("{who}", component)
    return Finding(component, kind, evidence, confidence, next_step, testcase, weight)


def class_shares(
    record: Mapping[str, Any], result: Result, matrix: MatrixVerdict, values: TypicalValues | None = None
) -> dict[str, Share]:
    """{link class: its share}, for link classes whose limit or typical value is known.

    values: the typical values; by default, the typical values in config/references.
    """
    if matrix.problem or matrix.whole is None or matrix.matrix.variant or not is_large(result):
        return {}
    from ..references.typical import typical_values

    known, unit = typical_values() if values is None else values, matrix.matrix.unit
    limits, codes = matrix.whole.numbers("limit"), matrix.whole.block.classes
    found_shares = {}
    for name, of in matrix.matrix.classes.items():
        ends = (of.high, of.low) if unit == "us" else (of.low, of.high)
        limit = limits[(codes == matrix.matrix.class_names.index(name)) & np.isfinite(limits)]
        of_limit = (ends[0] / limit.max(), ends[1] / limit.max()) if len(limit) else None
        typical = known.of(record, result, name)
        of_typical = (typical.share(ends[0]), typical.share(ends[1])) if typical else None
        value = quantity(typical.value, unit) if typical else ""
        source = f"{typical.title}, {typical.date}" if typical else ""
        if of_limit or of_typical:
            found_shares[name] = Share(of_limit, of_typical, bool(typical and typical.minimum), value, source)
    return found_shares


def is_large(result: Result) -> bool:
    """Whether a result can be compared with typical values.

    True for large transfers, and for load latencies with the size LATENCY_SIZE.
    """
    size = result["size_bytes"] or 0
    return size == LATENCY_SIZE if result["unit"] == "us" else size >= LARGE


def slow_class_findings(record: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> Iterator[Finding]:
    """Yields findings about link classes whose cells are all slow, so that no cell is slower than its class.

    A class is slow if its best cell is below the typical value. Without a typical value, a class is slow if its best
    cell is below half of the limit. Results with references and disturbed results have no finding of this kind.
    """
    if matrix.compared or (matrix.others is not None and matrix.others.entries):
        return
    for name, share in class_shares(record, result, matrix).items():
        testcase, best = result["testcase"], share.of_typical[1] if share.of_typical else None
        on = f"{name} links" if name not in ("HOST", "LOCAL") else "host links" if name == "HOST" else "device memory"
        on, step = (f"{testcase} {name}", NEXT_OF_COLLECTIVE) if is_collective(result) else (on, "")
        cells = counted(matrix.matrix.classes[name].count, "cell")
        if best is not None and best < (1.0 if share.minimum else MIN_TYPICAL):
            what = "the minimum that an operator accepts" if share.minimum else "the typical value"
            text = f"{name}: the best cell reaches {100 * best:.0f} % of {what} ({share.value}: {share.source})"
            yield make_finding(on, "below typical", text, f"{cells}, one run", testcase, 1 - best, step)
        elif best is None and share.of_limit and share.of_limit[1] < MIN_LIMIT and is_single_pair(result):
            text = f"{name}: the best cell reaches {100 * share.of_limit[1]:.0f} % of the link's limit"
            yield make_finding(
                on, "below half of the limit", text, f"{cells}, one run", testcase, 1 - share.of_limit[1]
            )


def is_single_pair(result: Result) -> bool:
    """Whether each cell of a result is one copy in one direction, by a copy engine.

    In other test cases, several copies can share a link.
    """
    ends = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "device_to_device_memcpy_read_ce")
    return result["testcase"] in (*ends, "device_to_device_memcpy_write_ce") and result["transport"] == "direct"


def staged_findings(pairs: Sequence[tuple[Result, MatrixVerdict]]) -> Iterator[Finding]:
    """Yields findings about pairs whose direct copies are slower than their copies through host memory.

    If the intervals of the two medians overlap, the pair is no finding.
    """
    by_key = {(result["testcase"], result["size_bytes"], matrix.matrix.variant): matrix for result, matrix in pairs}
    floor = FLOORS[DataPath.STAGED].lower
    for (testcase, size, variant), staged in by_key.items():
        direct = by_key.get((testcase.removesuffix(STAGED), size, variant))
        if not testcase.endswith(STAGED) or direct is None or direct.whole is None or staged.whole is None:
            continue
        if direct.matrix.unit == "us" or (direct.matrix.rows, direct.matrix.columns) != (
            staged.matrix.rows,
            staged.matrix.columns,
        ):
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            behind = 1 - direct.whole.observed / staged.whole.observed
            is_clear = direct.whole.numbers("high") < staged.whole.numbers("low")
        slow = np.argwhere((behind > floor) & is_clear).tolist()
        if not slow:
            continue
        names = [f"{direct.matrix.rows[row]}->{direct.matrix.columns[column]}" for row, column in slow]
        (row, column), worst = max(((at, behind[tuple(at)]) for at in slow), key=lambda item: item[1])
        values = (
            quantity(float(of.whole.observed[row, column]), of.matrix.unit) for of in (direct, staged) if of.whole
        )
        text = "direct copies {} are slower than copies through host memory, {}"
        worst_name = f"{direct.matrix.rows[row]}->{direct.matrix.columns[column]}"
        text = text.format(*values) + f" ({worst_name}; {counted(len(slow), 'pair')})"
        component = ", ".join(first(names))
        yield make_finding(
            component, "slower than staged", text, "the intervals do not overlap", direct.matrix.testcase, float(worst)
        )


def slow_node_findings(measured: Iterable[Measured]) -> Iterator[Finding]:
    """Yields findings about nodes of a sweep that are slower than the other nodes."""
    from .node_comparison import node_findings

    for one, evidence, comparison in node_findings(measured):
        yield make_finding(one.node, "unlike node", evidence, comparison, one.key.testcase, one.worse)
