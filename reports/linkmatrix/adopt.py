"""References out of stored runs: which runs, what they have in common, and what their noise allows."""

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from . import grids, noise
from .errors import BadInput
from .matrix import lasting_names, variant_of
from .references import Reference, Table
from .runs import Test

FEWEST = 6  # runs: minimum and maximum of fewer do not cover their median with 95 %
MOST_NOISE = 0.75  # as a fraction, of a limit that noise asks for: beyond, a reference is none
MOST_PAIRS = 16  # endpoints of a matrix whose pairs have references of their own, as in checks/variables.py
SUMMARIES = {"min": np.min, "median": np.median, "max": np.max}
FINGERPRINT = ("driver", "CUDA", "MPI", "cuda", "mpi")


class Floor(NamedTuple):
    """The least tolerance of a test case, below and above, as fractions: what noise-free runs still allow."""

    lower: float
    upper: float


#: What a test case's name, or its unit, allows at least; the first that fits. Bandwidth: one NVLink of 18 is 5.6 %.
#: Copies that go through processors of a shared machine vary with what else runs there.
FLOORS = [
    (r"^rank_", Floor(0.50, 1.00)),
    (r"_peer_off$", Floor(0.20, 0.25)),
    (r" us$", Floor(0.25, 0.20)),
    (r"", Floor(0.02, 0.05)),
]


class Sample(NamedTuple):
    """One result of one run: where it is from, and the run's record."""

    source: str
    record: Mapping[str, Any]
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Proposal:
    """References of one test case, with what a reader needs to believe them.

    table: performance variables as checks/variables.py names them. spreads: {link class: σ as a fraction}.
    """

    testcase: str
    unit: str
    table: Table
    cells: int
    runs: int
    spreads: Mapping[str, float]
    provenance: tuple[str, ...]
    noisy: tuple[str, ...] = field(default=())


def floor_of(testcase: str, unit: str) -> Floor:
    """The least tolerance of a test case."""
    return next(floor for pattern, floor in FLOORS if re.search(pattern, f"{testcase} {unit}"))


def usable(tests: Iterable[Test], with_failed: bool) -> tuple[list[Sample], list[str]]:
    """The results to adopt from, and why others are not: a sentence each.

    What failed sanity, is incomplete or not verified is left out; a run that only missed its reference is not, for
    references may be what is wrong.
    """
    samples, refused = [], []
    for test in tests:
        source = str(test.path or test.name)
        if test.record is None:
            if test.result not in ("skip", ""):
                refused.append(f"{source}: {test.reason or 'it has no record'}")
            continue
        why = "" if with_failed else failed(test)
        if why:
            refused.append(f"{source}: {why}")
            continue
        for result in test.record["results"]:
            missing = not result["complete"] or result["verified"] is not True
            if missing and not with_failed:
                refused.append(f"{source}: {result['testcase']} is incomplete, or its data was not verified")
            else:
                samples.append(Sample(source, test.record, result))
    return samples, refused


def failed(test: Test) -> str:
    """Why a run is not healthy; "" if it is."""
    if test.result not in ("", "pass") and test.phase != "performance":
        return f"ReFrame ended it with '{test.result}'" + (f" ({test.reason[:120]})" if test.reason else "")
    assert test.record is not None
    if test.record["result"] != "PASS":
        return f"the program ended with {test.record['result']}"
    throttled = [reason for result in test.record["results"] for reason in result.get("throttled", [])]
    return f"devices were held back: {throttled[0]}" if throttled else ""


def grouped(samples: Iterable[Sample]) -> dict[tuple[Any, ...], list[Sample]]:
    """Results that measured the same: test case, size, variant and endpoints, on whichever nodes a job got."""
    groups: dict[tuple[Any, ...], list[Sample]] = {}
    for sample in samples:
        result = sample.result
        key = (
            result["testcase"],
            result["size_bytes"],
            variant_of(result),
            *(tuple(lasting_names(result["testcase"], result[axis])) for axis in ("rows", "columns")),
            spread_of(result["rows"]),
        )
        groups.setdefault(key, []).append(sample)
    return groups


def spread_of(labels: Sequence[str]) -> tuple[int, ...]:
    """Which of a job's nodes each rank is on: (0, 0, 1, 1) of "n17:rank0", "n17:rank1", "n40:rank2", "n40:rank3"."""
    nodes = [label.partition(":")[0] for label in labels if ":" in label]
    number = {node: place for place, node in enumerate(dict.fromkeys(nodes))}
    return tuple(number[node] for node in nodes)


def propose(samples: Sequence[Sample], with_outliers: bool, floor: Floor | None = None) -> Proposal:
    """References of one test case out of its runs. Raises BadInput: too few runs, outliers, runs that differ."""
    first = samples[0].result
    name, unit = first["testcase"], first["unit"]
    if len(samples) < FEWEST:
        raise BadInput(f"{name}: too few runs: {len(samples)}, at least {FEWEST} are needed to know their noise")
    same_machine(name, samples)
    floor = floor or floor_of(name, unit)
    if "cells" in first:
        from . import adopt_large

        return adopt_large.propose(samples, with_outliers, floor)
    classes = grids.texts(first["link_class"])
    classes = np.where(classes == "", "unknown", classes)
    values = np.empty((len(samples), *classes.shape))
    for run, sample in enumerate(samples):
        ok = grids.where(sample.result["status"], "ok")
        values[run] = np.where(ok, grids.numbers(sample.result["values"]), np.nan)
    found = noise.spread(values, classes)
    applies = np.isfinite(found.centre)
    cells = int(applies.sum())
    if not cells:
        raise BadInput(f"{name}: there is no cell that all of its {len(samples)} runs have measured")
    off = noise.outliers(found, cells, min(floor))
    told = outlier_sentences(samples, found, off)
    refuse_outliers(name, told, with_outliers)
    table: Table = {}
    for group, sigma in found.of_class.items():
        refuse_noise(name, group, sigma, cells, len(samples))
        inside = applies & (classes == group)
        of_class = [values[run][inside] for run in range(len(samples))]
        for word, summary in SUMMARIES.items():
            table[f"{word}[{group}]"] = made_of_runs([summary(one) for one in of_class], sigma, cells, floor, unit)
    table |= cell_references(first, found, classes, applies, cells, len(samples), floor)
    said = provenance(samples, found.of_class, cells)
    return Proposal(name, unit, table, cells, len(samples), found.of_class, said, tuple(told))


def refuse_outliers(name: str, told: Sequence[str], with_outliers: bool) -> None:
    """Raises BadInput where there are some, and nobody said that they may be."""
    if told and not with_outliers:
        raise BadInput(
            f"{name}: {len(told)} outliers, such as {told[0]}: adopt from healthy runs, or say --with-outliers"
        )


def refuse_noise(name: str, group: str, sigma: float, cells: int, count: int) -> None:
    """Raises BadInput for a link class whose noise asks for limits that let anything pass."""
    limit = noise.tolerance(sigma, cells, count)
    if limit > MOST_NOISE:
        raise BadInput(
            f"{name}: {group} differs so much from run to run ({100 * sigma:.0f} %) that a reference would let"
            f" {100 * limit:.0f} % pass: measure where nothing else runs"
        )


def made_of_runs(each: Sequence[float], sigma: float, cells: int, floor: Floor, unit: str) -> Reference:
    """A reference of one figure of each run, which varies as its class does, or more."""
    centre = float(statistics.median(each))
    own = 1.4826 * float(np.median(np.abs(np.array(each) / centre - 1)))
    return made(centre, max(sigma, own), cells, len(each), floor, unit)


def made(centre: float, sigma: float, cells: int, count: int, floor: Floor, unit: str) -> Reference:
    """A reference: the larger of floor and k(m)·σ on each side; 1 is the most that a value can be below."""
    noise_limit = noise.tolerance(sigma, cells, count)
    lower, upper = (rounded(max(least, noise_limit)) for least in floor)
    return Reference(float(f"{centre:.5g}"), -min(lower, 1.0), upper, unit)


def rounded(fraction: float) -> float:
    """Up to the next tenth of a percent: a tolerance of 2.1347 % pretends to know."""
    return float(f"{np.ceil(fraction * 1000 - 1e-9) / 1000:.4g}")


def cell_references(
    first: Mapping[str, Any],
    found: noise.Spread,
    classes: np.ndarray,
    applies: np.ndarray,
    cells: int,
    count: int,
    floor: Floor,
) -> Table:
    """A reference for each pair of a small matrix; of a large one `cell[CLASS]`, and pairs that differ from it."""
    rows, columns = (lasting_names(first["testcase"], first[axis]) for axis in ("rows", "columns"))
    unit = first["unit"]
    table: Table = {}
    shared = np.zeros(applies.shape, dtype=bool)
    if len({*rows, *columns}) > MOST_PAIRS:
        for group, sigma in found.of_class.items():
            of_class = applies & (classes == group)
            middle = float(np.median(found.centre[of_class]))
            reference = made(middle, sigma, cells, count, floor, unit)
            table[f"cell[{group}]"] = reference
            within = (found.centre >= middle * (1 + reference.lower / 2)) & (
                found.centre <= middle * (1 + reference.upper / 2)
            )
            shared |= of_class & within & (found.sigma <= noise.OWN_SPREAD * sigma)
    for r, c in np.argwhere(applies & ~shared):
        sigma = float(found.sigma[r, c])
        table[f"{rows[r]}->{columns[c]}"] = made(float(found.centre[r, c]), sigma, cells, count, floor, unit)
    return table


def same_machine(name: str, samples: Sequence[Sample]) -> None:
    """Raises BadInput where driver, CUDA or MPI differ: their figures are no noise of each other."""
    for key in FINGERPRINT:
        versions = sorted({sample.record["software"].get(key, "") for sample in samples})
        if len(versions) > 1:
            raise BadInput(
                f"{name}: the runs have different {key}: {', '.join(versions)}: choose those of one with --since,"
                " --session or --runs"
            )
    # within a run they may differ: cores have numbers, and a node may hold two models
    models = {tuple(sorted(device["name"] for device in sample.record["devices"])) for sample in samples}
    if len(models) > 1:
        said = " and ".join(sorted(", ".join(dict.fromkeys(one)) for one in models)[:2])
        raise BadInput(f"{name}: the runs are of different devices: {said}")


def outlier_sentences(
    samples: Sequence[Sample], found: noise.Spread, off: np.ndarray, chosen: Sequence[int] | None = None
) -> list[str]:
    """ "gpu2->gpu5 in RUN, 12.1 % under its median of all runs", the worst first. chosen: rows that `found` is of."""
    places = sorted(np.argwhere(off).tolist(), key=lambda place: -abs(found.residuals[tuple(place)]))
    told = []
    for run, row, column in places:
        result, deviation = samples[run].result, found.residuals[run, row, column]
        side = "under" if deviation < 0 else "over"
        source = result["rows"][row if chosen is None else chosen[row]]
        pair = f"{source}->{result['columns'][column]}"
        told.append(f"{pair} in {samples[run].source}, {100 * abs(deviation):.1f} % {side} its median of all runs")
    return told


def provenance(samples: Sequence[Sample], spreads: Mapping[str, float], cells: int) -> tuple[str, ...]:
    """Lines for the file: when, where, with what, and how the limits came about."""
    dates = sorted(sample.record["started"][:10] for sample in samples)
    days = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    record, result = samples[0].record, samples[0].result
    hosts = sorted({sample.record["host"]["name"] for sample in samples})
    software = "".join(f", {key} {record['software'][key]}" for key in FINGERPRINT if key in record["software"])
    noises = ", ".join(f"{name} {100 * sigma:.3f} %" for name, sigma in spreads.items())
    on = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
    return (
        f"{len(samples)} runs of {days} on {on}, {record['program']} {record['version']},"
        f" {result['size_bytes']} bytes{software}",
        f"sigma {noises}; limits: larger of floor and {noise.sigmas(cells):.1f} sigma ({cells} cells)",
    )
