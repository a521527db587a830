"""The findings of a record that are not about values of cells: error counters, lost endpoints, samples, and others.

A lost device is FAIL. A lost process is INCOMPLETE. A device whose memory another process holds is DISTURBED.

A driver also counts an Xid if another user's program crashes on a device. Example: seven programs crashed on one of two
H100, the driver counted Xid 31 seven times, and no cell was slower. An Xid is no error of the device if all of these
are true:

* NVIDIA's catalogue (https://docs.nvidia.com/deploy/xid-errors) lists no remedy, or only to restart the program.
* Another process had a context on the device and ended before the last poll.
* The run did not lose the device, and no cell of the device ended with an error.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..record import grids, units
from ..record.checking import LEAST_SAMPLES, has_matchings
from ..record.names import EVENT_PREFIX, HANDOVER, CounterRise, Result, counter_rises, option_values
from ..record.units import counted, first
from ..references.keys import table_size
from .disturbances import MEMORY, disturbances, others_entries, process_name
from .verdicts import Verdict

MAX_SAMPLED = 64  # rows or columns: the programs keep no samples of larger matrices, see src/core/result.hpp
LOST_VERDICTS = {"device": Verdict.FAIL, MEMORY: Verdict.DISTURBED, "process": Verdict.INCOMPLETE}
PROGRAM_XIDS = {"xid_13", "xid_31", "xid_43", "xid_45"}  # graphics exception, page fault, stopped channel, cleanup


class Fact(NamedTuple):
    """A finding of a record that is not about the value of a cell.

    verdict: the best verdict that the fact allows.
    result: index of the test case; None: all test cases.
    topic: "counters", "throttled", "samples", "time limit", "references", "computes wrong" or "". The next step depends
    on the topic.
    component: name of the component; "" if unknown.
    cells: (number of affected cells, number of all cells), for a fact about samples. The sentence begins with both
    numbers.
    """

    verdict: Verdict
    sentence: str
    result: int | None = None
    topic: str = ""
    component: str = ""
    cells: tuple[int, int] = (0, 0)


def facts(record: Mapping[str, Any], tolerated_counters: Collection[str] = (), table: str = "") -> Iterator[Fact]:
    """Yields the facts of a checked record that prevent a PASS.

    tolerated_counters: names of error counters that may rise.
    table: name of the reference table, "" for none.
    """
    for one in error_counters(record):
        verdict = Verdict.WARN if one.name in tolerated_counters else Verdict.FAIL
        yield Fact(verdict, one.sentence, topic="counters")
    yield from (Fact(Verdict.WARN, sentence) for sentence in crashed_programs(record))
    yield from (Fact(*one) for one in lost_endpoint_facts(record))
    yield from (Fact(Verdict.INCOMPLETE, sentence) for sentence in duplicate_devices(record))
    if "soak" in record:
        from .soak_cells import soak_facts, unmeasured_in_soak

        yield from (Fact(*one) for one in soak_facts(record))
        yield from (Fact(Verdict.INCOMPLETE, *one) for one in unmeasured_in_soak(record))
    for place, result in enumerate(record["results"]):
        for reason in result.get("throttled") or []:
            yield Fact(Verdict.WARN, f"a device was throttled during the measurement: {reason}", place, "throttled")
        yield from (Fact(*one, place) for one in handover_sentences(result))
        if table_size(table) not in (None, result["size_bytes"]):
            yield Fact(Verdict.INCOMPLETE, other_size(table, result), place)
        if has_matchings(result):
            from . import sampled_matrix

            yield from (
                Fact(Verdict.INCOMPLETE, sentence, place) for sentence in sampled_matrix.unjudged_sentences(result)
            )
            yield from (Fact(Verdict.WARN, sentence, place) for sentence in sampled_matrix.slow_group_sentences(result))
        yield from (Fact(Verdict.INCOMPLETE, sentence, place) for sentence in too_few_short_samples(record, result))
        if "cells" in result:
            continue
        if record["backend"] != "imported":  # imported records have no samples
            yield from sample_facts(record, result, place)
        yield from (Fact(Verdict.INCOMPLETE, sentence, place) for sentence in missing_bisection_cells(result))


def other_size(table: str, result: Result) -> str:
    """The sentence about a reference table whose size differs from the measured size."""
    size = result["size_bytes"]
    measured = "the size of the measurement is unknown" if size is None else f"the measurement used {units.size(size)}"
    wanted = units.size(table_size(table))
    return f"the table '{table}' is for {wanted}, but {measured}: name another table, or measure with {wanted}"


def duplicate_devices(record: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence per device that has two labels. A cell between these labels measures no link."""
    known: dict[str, str] = {}
    for device in record["devices"]:
        first = known.setdefault(device["uuid"] or device["label"], device["label"])
        if first != device["label"]:
            both = f"{first} and {device['label']} are the same device, {device['uuid']}"
            yield f"{both}: the cells between them measure no link"


def sample_facts(record: Mapping[str, Any], result: Result, place: int) -> Iterator[Fact]:
    """Yields a fact if cells have too few samples for an interval of the median.

    The fact contains the remedy. If the command requested too few samples, the remedy is --samples. If the time limit
    ended the measurement, the remedy is --max-time.
    place: index of the test case.
    """
    least, single, too_few, measured = sample_counts(result)
    requested = [option.value for option in option_values(record["command"], "--samples")]
    requests_few = any(value.isdecimal() and int(value) < LEAST_SAMPLES for value in requested)
    more = f"measure with --samples {LEAST_SAMPLES} or more" if requests_few else "measure with a longer --max-time"
    topic = "samples" if requests_few else "time limit"
    kinds = (
        (single, Verdict.INCOMPLETE, f"have a single sample: their noise is unknown; {more}"),
        (too_few, Verdict.WARN, f"have too few samples for an interval (fewest: {least}); {more}"),
    )
    for count, verdict, what in kinds:
        if count:
            sentence = f"{count} of {counted(measured, 'cell')} {what}"
            yield Fact(verdict, sentence, place, topic, cells=(count, measured))
            return


def too_few_short_samples(record: Mapping[str, Any], result: Result) -> Iterator[str]:
    """Yields a sentence if cells have fewer short samples than the command requested.

    Visibility tests, soaks and matrices of more than MAX_SAMPLED endpoints take no short samples.
    """
    taken = result.get("short_samples")
    takes_none = result["quantity"] == HANDOVER or "soak" in record
    words = [word for part in record["command"] for word in part.split()]
    asks = any(option.value != "0" for option in option_values(words, "--short-samples"))
    if taken is None and asks and not takes_none:
        yield "the record lacks the requested short samples: an intermittent link may be missed"
    if taken and taken["fewest"] < taken["asked"] and max(len(result["rows"]), len(result["columns"])) <= MAX_SAMPLED:
        yield (
            f"a cell has {taken['fewest']} of the {taken['asked']} requested short samples: an intermittent link"
            " may be missed; measure without other work, or with a longer --max-time"
        )


def sample_counts(result: Result) -> tuple[int, int, int, int]:
    """(fewest samples per cell, cells with one sample, cells with too few samples, cells with samples)."""
    samples = grids.numbers(result["samples"])
    samples = samples[samples > 0]
    least = int(samples.min(initial=LEAST_SAMPLES))
    return least, int((samples == 1).sum()), int((samples < LEAST_SAMPLES).sum()), len(samples)


def missing_bisection_cells(result: Result) -> Iterator[str]:
    """Yields a sentence if a bisection lacks cells between its two halves."""
    if result["schedule"]["mode"] != "bisection":
        return  # `checking.left_out` knows the cells of other schedules
    rows, columns = len(result["rows"]), len(result["columns"])
    applies = rows * columns - int(grids.where(result["status"], "not-applicable").sum())
    wanted = (rows // 2) * (rows - rows // 2)
    if applies < wanted:
        scheduled = f"only {applies} of {rows * columns} cells were scheduled"
        yield f"{scheduled}, but two halves need at least {wanted}"


def lost_endpoint_facts(record: Mapping[str, Any]) -> Iterator[tuple[Verdict, str]]:
    """Yields (verdict, sentence) for each lost endpoint."""
    for one in record.get("lost", ()):
        verdict = LOST_VERDICTS.get(one.get("kind"), Verdict.INCOMPLETE)
        more = ": measure again without that process" if verdict is Verdict.DISTURBED else ""
        yield verdict, f"{one['label']} was lost: {one['why']}{more}"


def ending(record: Mapping[str, Any]) -> Verdict:
    """The best verdict that the `Result:` of the program allows.

    The verdict is DISTURBED if the only recorded cause of an ERROR is that other processes occupied memory.
    """
    if record["result"] == "FAIL" and "soak" in record:
        from .soak_cells import computes_wrong, failed_cells_verdict

        soaked = record["soak"]
        is_good = all(one["complete"] and one.get("verified") is not False for one in record["results"])
        if soaked["failures"] > 0 and is_good and not computes_wrong(soaked):
            return failed_cells_verdict(record)  # no other cause of the FAIL
    if record["result"] in ("PASS", "FAIL"):
        return Verdict[record["result"]]
    kinds = {one.get("kind") for one in record.get("lost", ())}
    if "device" in kinds:
        return Verdict.FAIL
    held = kinds == {MEMORY} or (not kinds and memory_is_held(record))
    return Verdict.DISTURBED if held and record["result"] == "ERROR" else Verdict.INCOMPLETE


def memory_is_held(record: Mapping[str, Any]) -> bool:
    """Whether cells were not measured because another process occupied the memory of a device."""
    held = any(one["kind"] == MEMORY for others in others_entries(record) for one in others.get("disturbances") or ())
    return held and (not record["results"] or any(lacks_memory(record, result) for result in record["results"]))


def lacks_memory(record: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a cell of a result was not measured because another process occupied the memory of a device."""
    from ..record.matrix import from_result

    others, matrix = disturbances(record, result), from_result(result)
    try:
        return any(
            bool((block.applies & ~block.is_status("ok") & others.without_memory(matrix, block)).any())
            for block in (matrix.blocks() if others.no_memory else ())
        )
    except BadInput:  # a file of cells that cannot be read is reported where it is judged
        return False


def error_sentences(record: Mapping[str, Any]) -> list[str]:
    """A sentence per error counter that rose. Xids of other users' programs are excluded."""
    return [one.sentence for one in error_counters(record)]


def error_counters(record: Mapping[str, Any]) -> list[CounterRise]:
    """The error counters of devices and adapters that rose. Xids of other users' programs are excluded."""
    theirs = foreign_xids(record)
    return [one for one in counter_rises(record) if one not in theirs.get(one.label, ())]


def crashed_programs(record: Mapping[str, Any]) -> list[str]:
    """A sentence per device on which programs of other users crashed. The sentence contains the Xids."""
    ended = ended_processes(record)
    return [
        f"{label}: programs of other users crashed on it ({', '.join(first(sorted(ended[label])))}): "
        + ", ".join(f"{one.name} {one.after - one.before:.0f} times" for one in counters if one.name != EVENT_PREFIX)
        + "; the device is not at fault"
        for label, counters in foreign_xids(record).items()
    ]


def foreign_xids(record: Mapping[str, Any]) -> dict[str, list[CounterRise]]:
    """{device: its Xid counters} of devices on which programs of other users crashed.

    The counters of a device include the counter of the sum of all Xids.
    """
    xids: dict[str, list[CounterRise]] = {}
    for one in counter_rises(record):
        if one.name.startswith(EVENT_PREFIX):
            xids.setdefault(one.label, []).append(one)
    crashed = ended_processes(record).keys() - failed_endpoints(record) if xids else set()
    return {label: counters for label, counters in xids.items() if label in crashed and only_program_xids(counters)}


def only_program_xids(counters: Sequence[CounterRise]) -> bool:
    """Whether all counted Xids are in PROGRAM_XIDS. These Xids are errors of a program, not of the device."""
    known = {one.name: one.after - one.before for one in counters}
    return known.keys() <= PROGRAM_XIDS | {EVENT_PREFIX} and known.pop(EVENT_PREFIX, 0.0) == sum(known.values())


def failed_endpoints(record: Mapping[str, Any]) -> set[str]:
    """The lost endpoints, and the endpoints of cells that ended with an error."""
    failed = {one["label"] for one in record["lost"]}
    for result in record["results"]:
        if "status" in result and "error" in grids.distinct_values(
            result["status"]
        ):  # the cells of the largest matrices are in a file
            for row, cells in zip(result["rows"], result["status"], strict=True):
                ends = [column for column, status in zip(result["columns"], cells, strict=True) if status == "error"]
                failed.update([row] * bool(ends), ends)
    return failed


def ended_processes(record: Mapping[str, Any]) -> dict[str, set[str]]:
    """{device: names of processes} that had a context on the device and ended before the last poll."""
    found: dict[str, dict[int, str]] = {}
    last: set[tuple[str, int]] = set()
    for others in others_entries(record):
        on_devices = [one for one in others["processes"] if one.get("on") != "node"] if others["shared"] else []
        last = {(process["where"], process["pid"]) for process in on_devices}
        for process in on_devices:
            named = found.setdefault(process["where"], {})
            named[process["pid"]] = max(named.get(process["pid"], ""), process_name(process), key=len)
    gone = {label: {name for pid, name in named.items() if (label, pid) not in last} for label, named in found.items()}
    return {label: names for label, names in gone.items() if names}


WRONG, ROUNDS, UNSEEN = "wrong_words", "rounds", "unseen"  # parts of the result of a visibility test
MAX_CELLS = 4  # in a sentence
REMEDY = (
    "NCCL and similar programs may compute with old data or hang; check IOMMU and ACS (iommu=pt, ACS off) and"
    " the peer access of the virtual machine, or run without peer access: NCCL_P2P_DISABLE=1"
)


def is_visibility_test(result: Result) -> bool:
    """Whether a result comes from a visibility test."""
    return result["quantity"] == HANDOVER


def handover_sentences(result: Result) -> Iterator[tuple[Verdict, str]]:
    """Yields (verdict, sentence) about wrong words, unseen flags and unchecked rounds of a visibility test."""
    if not is_visibility_test(result):
        return
    ok = grids.where(result["status"], "ok")
    rounds, wrong, unseen = (part_counts(result, part, ok.shape) for part in (ROUNDS, WRONG, UNSEEN))
    total = counted(int(ok.sum()), "cell")
    bad = ok & ((wrong > 0) | (unseen > 0))
    if bad.any():
        what = f"{int(bad.sum())} of {total} had wrong words or unseen flags, but the program recorded the cells as ok"
        yield Verdict.FAIL, what
    unchecked = ok & ~((rounds > 0) & np.isfinite(wrong) & np.isfinite(unseen))
    if unchecked.any():
        what = f"{int(unchecked.sum())} of {total} have no checked round"
        yield Verdict.INCOMPLETE, f"{what}: the order of their writes is unknown"


def part_counts(result: Result, part: str, shape: tuple[int, ...]) -> np.ndarray:
    """The counts of each cell of a visibility test; rows × columns, NaN without a count.

    part: the counted item, such as "wrong_words".
    """
    return grids.numbers(result["parts"][part]["values"]) if part in result["parts"] else np.full(shape, np.nan)


def order_sentences(result: Result) -> Iterator[str]:
    """Yields sentences about the paths on which writes arrived out of order in a visibility test."""
    if not is_visibility_test(result) or not {WRONG, ROUNDS, UNSEEN} <= result["parts"].keys():
        return
    wrong, unseen = ({cell: count for cell, count in counts_by_cell(result, part) if count} for part in (WRONG, UNSEEN))
    rounds = dict(counts_by_cell(result, ROUNDS))
    if wrong:
        worst = sorted(wrong, key=lambda cell: -wrong[cell])
        words = [f"{cell} {counted(wrong[cell], 'word')} in {counted(rounds[cell], 'round')}" for cell in worst]
        yield (
            f"writes arrive out of order on {', '.join(first(worst, MAX_CELLS))}: a flag was visible before its data"
            f" ({', '.join(first(words, MAX_CELLS))}); {REMEDY}"
        )
    if unseen:
        yield f"a flag was set, but never became visible: {', '.join(first(list(unseen), MAX_CELLS))}; {REMEDY}"


def counts_by_cell(result: Result, part: str) -> Iterator[tuple[str, int]]:
    """Yields (cell, count), such as ("gpu1->gpu2", 12), for each cell with a count.

    part: the counted item, such as "wrong_words".
    """
    for row, values in zip(result["rows"], result["parts"][part]["values"], strict=True):
        for column, value in zip(result["columns"], values, strict=True):
            if value is not None:
                yield f"{row}->{column}", int(value)
