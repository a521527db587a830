"""Proposed references: their calculation, the comments on their origin, and the reasons to refuse them."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..judge.rules import IMPLAUSIBLE
from ..record.matrix import Matrix
from ..references import noise
from ..references.keys import measuring_check
from ..references.noise import Floor
from ..references.pair_classes import Group
from ..references.reading import TOLERANCE_RANGE, Reference, Table

MOST_NOISE = 0.75  # the largest tolerance that noise may require, as a fraction
#: The largest tolerance for bandwidths of GPU links, whose noise is tenths of a percent (config/references/p2p.yaml).
#: Runs with more noise have two levels, and a GPU that is 30 % slow would pass. The number is chosen, not measured.
MOST_LINK_NOISE = 0.35

Pairs = Mapping[str, tuple[str, Reference]]  # {pair: (link class, reference of the pair)}
FINGERPRINT = ("driver", "CUDA", "MPI", "cuda", "mpi")  # software that must not differ between the runs


class Sample(NamedTuple):
    """One result of one run.

    * source: the path of the test's record, or the name of the test if its record has no path
    * record: the record of the run
    * result: an entry of the record's `results`
    * table: the name of the table of references that the partition names
    * variant: the variant words of the test, such as "@all@device"; see `references.keys`
    """

    source: str
    record: Mapping[str, Any]
    result: Mapping[str, Any]
    table: str = ""
    variant: str = ""

    @property
    def check(self) -> str:
        """The name of the check for which references are proposed."""
        return measuring_check(self.record, self.result)


class Summary(NamedTuple):
    """Three references of a link class, each from all runs: for its median, its lowest cell and its highest cell."""

    median: Reference
    low: Reference
    high: Reference


@dataclass(frozen=True)
class Proposal:
    """The proposed references of one test case, and the evidence for them.

    * table: {row of the file: reference}
    * cells: number of compared cells
    * runs: number of runs
    * spreads: {link class: σ as a fraction}
    * provenance: comment lines about the origin of the references
    * noisy: one sentence per outlier
    * slow: one sentence per trend, per step, and per component that is slow in the medians of all runs
    * pairs: {pair: (link class, reference of the pair)} of a small matrix
    * groups: {link class: groups of its pairs} of a matrix of many endpoints
    * moved: {link class that the runs found: pairs that were adopted in another class}
    * summaries: {link class: references of its median, lowest and highest cell}
    """

    testcase: str
    unit: str
    table: Table
    cells: int
    runs: int
    spreads: Mapping[str, float]
    provenance: tuple[str, ...]
    noisy: tuple[str, ...] = field(default=())
    slow: tuple[str, ...] = field(default=())
    pairs: Pairs = field(default_factory=dict)
    groups: Mapping[str, Sequence[Group]] = field(default_factory=dict)
    moved: Mapping[str, Sequence[Group]] = field(default_factory=dict)
    summaries: Mapping[str, Summary] = field(default_factory=dict)


def refuse(name: str, sentences: Sequence[str], remedy: str) -> None:
    """Raises BadInput if there are sentences with reasons to refuse the references of the test case `name`.

    The message contains the first sentence, the number of further sentences, and the remedy.
    """
    if sentences:
        more = f", and {len(sentences) - 1} more" if len(sentences) > 1 else ""
        raise BadInput(f"{name}: {sentences[0]}{more}. {remedy}")


def refuse_impossible(matrix: Matrix, spread: noise.Spread, limit: np.ndarray, chosen: Sequence[int]) -> None:
    """Raises BadInput if a bandwidth is above the limit of its path.

    * spread: the medians of the chosen rows of the matrix
    * limit: the limits of the paths in these rows
    * chosen: the indices of these rows in the matrix
    """
    with np.errstate(invalid="ignore"):
        beyond_limit = (spread.centre > limit * IMPLAUSIBLE) & (matrix.unit == "GB/s")
    for r, c in np.argwhere(beyond_limit)[:1]:
        pair = f"{matrix.rows[chosen[r]]}->{matrix.columns[c]}"
        found_rate, most = f"{spread.centre[r, c]:.2f} GB/s", f"{limit[r, c]:.0f} GB/s"
        raise BadInput(
            f"{matrix.testcase}: {pair} has {found_rate}, but its path carries {most}: the measurement is wrong"
        )


def refuse_noise(name: str, group: str, sigma: float, cells: int, count: int, most: float = MOST_NOISE) -> None:
    """Raises BadInput if the noise of a link class requires a tolerance above `most`. Faulty links would then pass.

    sigma, most: as fractions.
    """
    limit = noise.tolerance(sigma, cells, count)
    if limit > most:
        raise BadInput(
            f"{name}: {group} differs by {100 * sigma:.0f} % from run to run: a reference would need a tolerance of"
            f" {100 * limit:.0f} %. Measure while nothing else runs"
        )


def reference_of_runs(values: Sequence[float], sigma: float, cells: int, floor: Floor, unit: str) -> Reference:
    """The reference from one value per run. The larger σ counts: `sigma` of the class, or the σ of the values."""
    centre = float(statistics.median(values))
    own_sigma = 1.4826 * float(np.median(np.abs(np.array(values) / centre - 1)))
    return make_reference(centre, max(sigma, own_sigma), cells, len(values), floor, unit)


def make_reference(centre: float, sigma: float, cells: int, count: int, floor: Floor, unit: str) -> Reference:
    """A reference with the value `centre`. Each tolerance is the larger of its floor and k·σ.

    cells, count: the numbers of compared cells and of runs, on which k depends.
    """
    noise_limit = noise.tolerance(sigma, cells, count)
    return limited(centre, *(max(least, noise_limit) for least in floor), unit)


def limited(centre: float, lower: float, upper: float, unit: str) -> Reference:
    """A reference with rounded tolerances. TOLERANCE_RANGE limits the tolerances."""
    least, most = TOLERANCE_RANGE
    return Reference(float(f"{centre:.5g}"), max(-round_up(lower), least), min(round_up(upper), most), unit)


def round_up(fraction: float) -> float:
    """A tolerance, rounded up to tenths of a percent. More digits would suggest false precision."""
    return float(f"{np.ceil(fraction * 1000 - 1e-9) / 1000:.4g}")


def outlier_sentences(
    samples: Sequence[Sample], spread: noise.Spread, off: np.ndarray, chosen: Sequence[int] | None = None
) -> list[str]:
    """One sentence per outlier, such as "gpu2->gpu5 in RUN, 12.1 % below its median of all runs", the worst first.

    * off: True for outliers; runs × rows × columns
    * chosen: the indices of the rows of `spread` in the matrix; None for all rows
    """
    sentences = []
    for run, row, column in sorted(np.argwhere(off).tolist(), key=lambda cell: -abs(spread.residuals[tuple(cell)])):
        result, deviation = samples[run].result, spread.residuals[run, row, column]
        side = "below" if deviation < 0 else "above"
        source = result["rows"][row if chosen is None else chosen[row]]
        pair = f"{source}->{result['columns'][column]}"
        sentences.append(
            f"{pair} in {samples[run].source}, {100 * abs(deviation):.1f} % {side} the median of this pair in all runs"
        )
    return sentences


def provenance(samples: Sequence[Sample], spreads: Mapping[str, float], cells: int) -> tuple[str, ...]:
    """The comment lines about the dates, hosts, software and size of the runs, and the calculation of the limits."""
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
        f"sigma {noises}; limits: larger of floor and {noise.sigma_limit_of_runs(cells, len(samples)):.1f} sigma"
        f" ({cells} cells)",
    )
