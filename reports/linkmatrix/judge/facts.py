"""What a record says of its own run beside the cells, and what that means for a verdict."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..record import grids, units
from ..record.checking import LEAST_SAMPLES, is_of_matchings
from ..record.matrix import HANDOVER
from ..record.program_options import given
from ..record.reading import Result
from ..references.keys import size_of
from . import crashes, few, handover, lost, soak, uplinks
from .verdicts import Verdict

MOST_SAMPLED = 64  # rows or columns of which the programs keep samples, as in src/core/result.hpp


class Fact(NamedTuple):
    """The verdict that a fact allows at best, and a sentence; result: the place of its test case, None: of all.

    topic: what it is about, where more can be said of what to do: "counters", "throttled", "samples" or "computes
    wrong". who: the part that it is about, where one is named. cells: of samples, how many cells it is about and of how
    many, with which its sentence begins.
    """

    verdict: Verdict
    sentence: str
    result: int | None = None
    topic: str = ""
    who: str = ""
    cells: tuple[int, int] = (0, 0)


def facts(record: Mapping[str, Any], tolerated_counters: Collection[str] = (), table: str = "") -> Iterator[Fact]:
    """The findings of a checked record, besides its cells, that allow no PASS.

    tolerated_counters: names of error counters that may rise. table: name of the reference table, "" for none.
    """
    for one in crashes.errors(record):
        verdict = Verdict.WARN if one.name in tolerated_counters else Verdict.FAIL
        yield Fact(verdict, one.sentence, topic="counters")
    yield from (Fact(Verdict.WARN, sentence) for sentence in crashes.died(record))
    yield from (Fact(*one) for one in lost.sentences(record))
    yield from (Fact(Verdict.INCOMPLETE, sentence) for sentence in devices_twice(record))
    if "soak" in record:
        yield from (Fact(*one) for one in soak.sentences(record))
        yield from (Fact(Verdict.INCOMPLETE, *one) for one in soak.left_out(record))
    for place, result in enumerate(record["results"]):
        for reason in result.get("throttled") or []:
            yield Fact(Verdict.WARN, f"a device was held back while it was measured: {reason}", place, "throttled")
        yield from (Fact(*one, place) for one in handover.sentences(result))
        if size_of(table) not in (None, result["size_bytes"]):
            yield Fact(Verdict.INCOMPLETE, other_size(table, result), place)
        if is_of_matchings(result):
            yield from (Fact(Verdict.INCOMPLETE, sentence, place) for sentence in few.unjudged(result))
            yield from (Fact(Verdict.WARN, sentence, place) for sentence in uplinks.faults(result))
        yield from (Fact(Verdict.INCOMPLETE, sentence, place) for sentence in too_few_short_samples(record, result))
        if "cells" in result:
            continue
        if record["backend"] != "imported":  # another program prints one number, of samples that it keeps to itself
            yield from of_samples(result, place)
        yield from (Fact(Verdict.INCOMPLETE, sentence, place) for sentence in left_out(result))


def other_size(table: str, result: Result) -> str:
    """That references are of another size than what was measured."""
    size = result["size_bytes"]
    measured = "nobody knows with which it was measured" if size is None else f"it was measured with {units.size(size)}"
    return f"its references '{table}' are of {units.size(size_of(table))}, and {measured}: name others, or measure so"


def devices_twice(record: Mapping[str, Any]) -> Iterator[str]:
    """One device under two labels: a matrix between them says nothing of a link."""
    known: dict[str, str] = {}
    for device in record["devices"]:
        first = known.setdefault(device["uuid"] or device["label"], device["label"])
        if first != device["label"]:
            yield f"{first} and {device['label']} are one device, {device['uuid']}: what is between them is no link"


def of_samples(result: Result, place: int) -> Iterator[Fact]:
    """Whether there are enough samples for an interval of the median."""
    least, single, few, measured = counted(result)
    more = f"measure with --samples {LEAST_SAMPLES} or more"
    kinds = (
        (single, Verdict.INCOMPLETE, f"have a single sample: their noise is unknown; {more}"),
        (few, Verdict.WARN, f"have too few samples for an interval, as few as {least}; {more}"),
    )
    for count, verdict, what in kinds:
        if count:
            sentence = f"{count} of {units.counted(measured, 'cell')} {what}"
            yield Fact(verdict, sentence, place, "samples", cells=(count, measured))
            return


def too_few_short_samples(record: Mapping[str, Any], result: Result) -> Iterator[str]:
    """Whether cells lack short samples that were asked for.

    A visibility test, a soak and a matrix that is too large for them have none.
    """
    said = result.get("short_samples")
    takes_none = result["quantity"] == HANDOVER or "soak" in record
    words = [word for part in record["command"] for word in part.split()]
    asks = any(option.value != "0" for option in given(words, "--short-samples"))
    if said is None and asks and not takes_none:
        yield "it has none of the short samples that its command asks for: an intermittent link may be unseen"
    if said and said["fewest"] < said["asked"] and max(len(result["rows"]), len(result["columns"])) <= MOST_SAMPLED:
        yield (
            f"a cell has {said['fewest']} of the {said['asked']} short samples that were asked for: an intermittent"
            " link may be unseen; measure without other work, or with a longer --max-time"
        )


def counted(result: Result) -> tuple[int, int, int, int]:
    """(fewest samples of a cell, cells with one sample, cells with too few, cells with any)."""
    samples = grids.numbers(result["samples"])
    samples = samples[samples > 0]
    least = int(samples.min(initial=LEAST_SAMPLES))
    return least, int((samples == 1).sum()), int((samples < LEAST_SAMPLES).sum()), len(samples)


def left_out(result: Result) -> Iterator[str]:
    """Whether fewer cells apply than the schedule has: between two halves, each with each, one way at least."""
    if result["schedule"]["mode"] != "bisection":
        return  # of others the record's check knows which cells do not apply
    rows, columns = len(result["rows"]), len(result["columns"])
    applies = rows * columns - int(grids.where(result["status"], "not-applicable").sum())
    wanted = (rows // 2) * (rows - rows // 2)
    if applies < wanted:
        yield f"only {applies} of {rows * columns} cells apply, and two halves have {wanted} between them at least"
