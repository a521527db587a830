"""References out of stored runs: which runs, what they have in common, and what their noise allows.

Cells are grouped as arrays, runs × rows × columns, and not as rows of runs/table.py: there one run of 1,024 endpoints
takes two seconds and 172 MB before anything is grouped, thirty of them a minute and 5 GB; as arrays they take 250 MB.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BadInput
from ..judge.evaluate import judge_matrix
from ..locate import diagnosis
from ..locate.deviations import ROUNDED
from ..locate.hypotheses import LEAST
from ..record.collective import extent_of, is_collective
from ..record.matrix import Block, Matrix, from_result, lasting_names, variant_of
from ..references import noise
from ..references.tables import References, Table
from ..references.tolerances import FLOORS, STEADY, Carrier, Floor, carrier_of, floor_of
from .figures import measured, of_cells_of, of_summaries, rows_looked_at
from .proposal import (
    FINGERPRINT,
    MOST_NOISE,
    MOST_OF_LINKS,
    Proposal,
    Sample,
    limited,
    made,
    made_of_runs,
    outlier_sentences,
    provenance,
    refuse_impossible,
    refuse_noise,
    refuse_outliers,
    refuse_sick,
)

Floors = Mapping[str, Floor]  # of each link class
FEWEST = 6  # runs: minimum and maximum of fewer do not cover their median with 95 %
#: Floors of cells of which several together are named from LEAST on: a reference that is not their own is nearer.
OF_STEADY = {FLOORS[one] for one in STEADY}
OF_LINKS = (Carrier.LINK, Carrier.HOST, Carrier.FABRIC)  # carriers whose bandwidth is similar in each run
MOST_PAIRS = 16  # endpoints of a matrix whose pairs have references of their own, as in checks/variables.py


def grouped(samples: Iterable[Sample]) -> dict[tuple[Any, ...], list[Sample]]:
    """Results that measured the same: check, back end, what of the machine, test case, size, variant and endpoints, on
    whichever nodes a job got; a collective on as many nodes and ranks.
    """
    groups: dict[tuple[Any, ...], list[Sample]] = {}
    for sample in samples:
        result = sample.result
        key = (
            sample.check,
            sample.record["backend"],
            sample.variant,
            result["testcase"],
            result["size_bytes"],
            variant_of(result),
            *(tuple(lasting_names(result["testcase"], result[axis])) for axis in ("rows", "columns")),
            extent_of(sample.record) if is_collective(result) else spread_of(result["rows"]),
        )
        groups.setdefault(key, []).append(sample)
    return groups


def spread_of(labels: Sequence[str]) -> tuple[int, ...]:
    """Which of a job's nodes each rank is on: (0, 0, 1, 1) of "n17:rank0", "n17:rank1", "n40:rank2", "n40:rank3"."""
    nodes = [label.partition(":")[0] for label in labels if ":" in label]
    number = {node: place for place, node in enumerate(dict.fromkeys(nodes))}
    return tuple(number[node] for node in nodes)


def propose(
    samples: Sequence[Sample], with_outliers: bool, floor: Floor | None = None, as_is: bool = False
) -> Proposal:
    """References of one test case out of its runs.

    Raises BadInput: too few runs, outliers, runs that differ; and unless as_is, a part that is slow among its like.

    Of matrices that are not held, some rows say how much cells vary, and the records what each class comes to.
    """
    matrices = [from_result(sample.result) for sample in samples]
    first = matrices[0]
    name, unit = first.testcase, first.unit
    if len(samples) < FEWEST:
        raise BadInput(f"{name}: too few runs: {len(samples)}, at least {FEWEST} are needed to know their noise")
    same_machine(name, samples)
    chosen = rows_looked_at(first)
    block = Block(first) if first.held else first.part(chosen, range(len(first.columns))).whole
    classes = np.array(first.class_names)[block.classes]
    values = np.empty((len(samples), *classes.shape))
    of_runs = []
    for run, matrix in enumerate(matrices):
        values[run], in_run = measured(matrix, chosen)
        of_runs.append(in_run)
    found = noise.spread(values, classes)
    applies = np.isfinite(found.centre)
    cells = int(applies.sum()) if first.held else sum(summary.count for summary in first.classes.values())
    if not cells:
        raise BadInput(f"{name}: there is no cell that all of its {len(samples)} runs have measured")
    backend = samples[0].record["backend"]
    floors = {group: floor or floor_of(samples[0].result, group, backend) for group in first.class_names}
    least = np.array([min(floors[group]) for group in first.class_names])[block.classes]
    told = outlier_sentences(samples, found, noise.outliers(found, cells, least), chosen)
    refuse_outliers(name, told if first.held else (), with_outliers)
    table: Table = {}
    for group in found.of_class if first.held else first.classes:
        sigma = found.of_class.get(group)
        if sigma is None or not all(group in in_run for in_run in of_runs):
            raise BadInput(f"{name}: {group} is not in all of its {len(samples)} runs, or not in the rows looked at")
        by_link = unit != "us" and carrier_of(samples[0].result, group, backend) in OF_LINKS
        refuse_noise(name, group, sigma, cells, len(samples), MOST_OF_LINKS if by_link else MOST_NOISE)
        inside = applies & (classes == group)
        for word, each in (of_cells_of if first.held else of_summaries)(group, inside, values, matrices).items():
            table[f"{word}[{group}]"] = made_of_runs(each, sigma, cells, floors[group], unit)
    of_cells = cell_references if first.held else class_references
    table |= of_cells(first, found, classes, cells, len(samples), floors, table)
    if first.apart is not None:  # the check of such a matrix publishes these
        table |= axis_references(matrices, cells, floors)
    told += [] if first.held else beyond(samples, matrices, table)
    refuse_outliers(name, told, with_outliers)
    refuse_impossible(first, found, block.numbers("limit"), chosen)
    sick = slow_parts(samples, first, found)
    refuse_sick(name, sick, as_is)
    said = provenance(samples, found.of_class, cells)
    said += () if first.held else (f"sigma from {len(chosen)} of {len(first.rows)} rows of each run",)
    return Proposal(name, unit, table, cells, len(samples), found.of_class, said, tuple(told), sick)


def slow_parts(samples: Sequence[Sample], matrix: Matrix, found: noise.Spread) -> tuple[str, ...]:
    """What is slow among its like in all runs together, in sentences; in the newest, of a matrix that is not held."""
    if matrix.held:
        return tuple(diagnosis.of_values(samples[0].record, samples[0].result, matrix, found.centre))
    record, result = samples[-1].record, samples[-1].result
    node = {device["label"]: device["node"] for device in record["devices"]}
    seen = diagnosis.diagnose(record, result, judge_matrix(result, References({}), None, node))
    return seen.sentences if seen.findings else ()


def class_references(
    matrix: Matrix, found: noise.Spread, classes: np.ndarray, cells: int, count: int, floors: Floors, table: Table
) -> Table:
    """`cell[CLASS]` for all pairs of it: the limits cover the differences within the class too."""
    made_of = {}
    for group, sigma in found.of_class.items():
        middle = table[f"median[{group}]"].value
        off = np.abs(found.centre[classes == group] / middle - 1)
        among = 1.4826 * float(np.median(off[np.isfinite(off)]))
        made_of[f"cell[{group}]"] = made(
            middle, float(np.hypot(sigma, among)), cells, count, floors[group], matrix.unit
        )
    return made_of


def axis_references(matrices: Sequence[Matrix], cells: int, floors: Floors) -> Table:
    """The least and the largest median of a row, and of a column, as the records say them."""
    table: Table = {}
    widest = Floor(*(max(ends) for ends in zip(*floors.values(), strict=True)))
    for number, axis in enumerate(("rows", "columns")):
        medians = [matrix.apart.medians[number] for matrix in matrices if matrix.apart is not None]
        for word, extreme in (("min", min), ("max", max)):
            each = [extreme(one) for one in medians]
            table[f"{word}[{axis}]"] = made_of_runs(each, 0.0, cells, widest, matrices[0].unit)
    return table


def beyond(samples: Sequence[Sample], matrices: Sequence[Matrix], table: Table) -> Iterator[str]:
    """Cells that the references of their class would fail in the runs that they are made of, a sentence for each."""
    for sample, matrix in zip(samples, matrices, strict=True):
        for group, of_run in matrix.classes.items():
            reference = table[f"cell[{group}]"]
            for word, value in (("least", of_run.low), ("largest", of_run.high)):
                if not reference.low_limit <= value <= reference.high_limit:
                    percent = f"{100 * (value / reference.value - 1):+.1f} %"
                    yield f"the {word} cell of {group} in {sample.source}, {percent} from the median of its class"


def cell_references(
    matrix: Matrix, found: noise.Spread, classes: np.ndarray, cells: int, count: int, floors: Floors, _: Table
) -> Table:
    """A reference for each pair of a small matrix; of a large one `cell[CLASS]`, and pairs that differ from it."""
    rows, columns = (lasting_names(matrix.testcase, axis) for axis in (matrix.rows, matrix.columns))
    unit, applies = matrix.unit, np.isfinite(found.centre)
    table: Table = {}
    shared = np.zeros(applies.shape, dtype=bool)
    if len({*rows, *columns}) > MOST_PAIRS:
        for group, sigma in found.of_class.items():
            of_class = applies & (classes == group)
            middle = float(np.median(found.centre[of_class]))
            reference = made(middle, sigma, cells, count, floors[group], unit)
            table[f"cell[{group}]"] = reference
            # what is better than its class may lose no more than others before it is seen
            near = min(-(reference.lower or 0), reference.upper or 0) / 2
            if floors[group] in OF_STEADY and -(reference.lower or 0) <= floors[group].lower + ROUNDED:
                near = min(near, LEAST / 2)
            within = np.abs(found.centre / middle - 1) <= near
            shared |= of_class & within & (found.sigma <= noise.OWN_SPREAD * sigma)
    for r, c in np.argwhere(applies & ~shared):
        sigma = float(found.sigma[r, c])
        table[f"{rows[r]}->{columns[c]}"] = made(
            float(found.centre[r, c]), sigma, cells, count, floors[str(classes[r, c])], unit
        )
    return table


def of_sizes(proposals: Mapping[int, Proposal]) -> Proposal:
    """The proposals of a sweep, {size: proposal}, as one: "NET@4096" holds for each cell of its class and size, so its
    limits reach as far as those of the cells.
    """
    first = next(iter(proposals.values()))
    table: Table = {}
    for size, proposal in sorted(proposals.items()):
        for group in proposal.spreads:
            middle = proposal.table[f"median[{group}]"]
            ends = (proposal.table[f"{word}[{group}]"] for word in ("min", "max"))
            limits = [middle, *ends]
            lower = min(one.low_limit for one in limits) / middle.value - 1
            upper = max(one.high_limit for one in limits) / middle.value - 1
            table[f"{group}@{size}"] = limited(middle.value, -lower, upper, middle.unit)
    spreads = {group: max(one.spreads.get(group, 0.0) for one in proposals.values()) for group in first.spreads}
    noisy = tuple(sentence for one in proposals.values() for sentence in one.noisy)
    sick = tuple(dict.fromkeys(sentence for one in proposals.values() for sentence in one.sick))
    return replace(first, table=table, spreads=spreads, noisy=noisy, sick=sick)


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
