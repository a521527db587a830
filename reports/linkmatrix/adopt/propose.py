"""Groups and checks stored runs, and calculates the proposed references.

The cells are in arrays of runs × rows × columns. With arrays, 30 runs of 1,024 endpoints need 670 MB. With one table
row per cell (runs/table.py), the same runs would need a minute and 5 GB.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BadInput
from ..judge.evaluate import judge_result
from ..locate import diagnosis
from ..record.external_cells import REMEDY, ROUNDING
from ..record.matrix import Block, ClassSummary, Matrix, from_result
from ..record.names import collective_extent, is_collective, lasting_names, option_text
from ..references import noise
from ..references.noise import DataPath, Floor, data_path, reference_floor
from ..references.pair_classes import Group, places_by_node
from ..references.tables import References, Table
from . import drift
from .cells import cell_references, class_references, large_matrix_classes
from .proposal import (
    FINGERPRINT,
    MOST_LINK_NOISE,
    MOST_NOISE,
    Pairs,
    Proposal,
    Sample,
    Summary,
    limited,
    outlier_sentences,
    provenance,
    reference_of_runs,
    refuse,
    refuse_impossible,
    refuse_noise,
)

ROWS = 32  # rows read per run of a matrix too large for memory
FEWEST = 6  # runs: the range of fewer runs contains the median with less than 95 % probability
DRIFT_REMEDY = "Choose six or more runs without a trend or step (--since DATE or --runs K), or set --as-is REASON"
OUTLIER_REMEDY = "Adopt from runs without outliers, or set --with-outliers"
SLOW_REMEDY = "Repair the slow component, then measure again, or set --as-is REASON"
LINK_PATHS = (DataPath.LINK, DataPath.HOST, DataPath.FABRIC)  # paths whose bandwidth is similar in each run


def group_samples(samples: Iterable[Sample]) -> dict[tuple[Any, ...], list[Sample]]:
    """Returns {key: results of the same measurement}.

    The key contains the check, back end, variant, test case, size, options and endpoints. For a collective, the key
    also contains the numbers of nodes and ranks. The key contains no names of nodes, because jobs run on different
    nodes.
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
            option_text(result),
            *(tuple(lasting_names(result["testcase"], result[axis])) for axis in ("rows", "columns")),
            collective_extent(sample.record) if is_collective(result) else node_numbers(result["rows"]),
        )
        groups.setdefault(key, []).append(sample)
    return groups


def node_numbers(labels: Sequence[str]) -> tuple[int, ...]:
    """The node number of each rank, such as (0, 0, 1, 1) for "n17:rank0", "n17:rank1", "n40:rank2", "n40:rank3"."""
    nodes = [label.partition(":")[0] for label in labels if ":" in label]
    number = {node: place for place, node in enumerate(dict.fromkeys(nodes))}
    return tuple(number[node] for node in nodes)


def refuse_runs(name: str, samples: Sequence[Sample]) -> None:
    """Raises BadInput if there are fewer than FEWEST runs, or if the machines of the runs differ."""
    if len(samples) < FEWEST:
        raise BadInput(f"{name}: too few runs: {len(samples)}, at least {FEWEST} are needed to measure the noise")
    refuse_different_machines(name, samples)


def propose_testcase(
    sizes: Mapping[int, Sequence[Sample]], sweep: bool, with_outliers: bool, floor: Floor | None, as_is: bool
) -> Proposal:
    """Proposes the references of one test case.

    * sizes: {size: results of the runs, in order of time}
    * sweep: whether the rows of the file contain a size, as in "NET@4096"
    * as_is: whether to accept trends, steps and slow components
    * with_outliers, floor: see `propose`

    Raises BadInput like `propose`. A trend or a step also raises BadInput unless `as_is` is set.
    """
    name = next(iter(sizes.values()))[0].result["testcase"]
    drifts = drift.sentences(sizes, floor)
    if not as_is:
        refuse(name, drifts, DRIFT_REMEDY)
    proposals = {size: propose(samples, with_outliers, floor, as_is) for size, samples in sizes.items()}
    proposal = sweep_proposal(proposals) if sweep else next(iter(proposals.values()))
    return replace(proposal, slow=(*drifts, *proposal.slow))


def propose(samples: Sequence[Sample], with_outliers: bool, floor: Floor | None, as_is: bool) -> Proposal:
    """Proposes the references of one size of one test case.

    * samples: results of the runs, in order of time
    * floor: the smallest tolerances; None for the floors of the data paths

    Outliers raise BadInput unless `with_outliers` is set. Slow components raise BadInput unless `as_is` is set.

    If the matrix is too large for memory, the noise is calculated from some rows. The medians of its link classes come
    from the records.
    """
    first = from_result(samples[0].result)
    name, unit = first.testcase, first.unit
    chosen = sampled_rows(first)
    block = Block(first) if first.fits_memory else first.part(chosen, range(len(first.columns))).whole
    classes = np.array(first.class_names)[block.classes]
    values = np.empty((len(samples), *classes.shape))
    of_runs = []
    for run, sample in enumerate(samples):
        matrix = from_result(sample.result)  # only one matrix is in memory
        values[run] = measured_values(matrix, chosen)
        of_runs.append(matrix.classes)
    found = noise.spread(values, classes)
    applies = np.isfinite(found.centre)
    cells = int(applies.sum()) if first.fits_memory else sum(summary.count for summary in first.classes.values())
    if not cells:
        raise BadInput(f"{name}: no cell was measured in all {len(samples)} runs")
    backend = samples[0].record["backend"]
    floors = {group: floor or reference_floor(samples[0].result, group, backend) for group in first.class_names}
    least = np.array([min(floors[group]) for group in first.class_names])[block.classes]
    noisy = outlier_sentences(samples, found, noise.outliers(found, cells, least), chosen)
    if first.fits_memory and not with_outliers:
        refuse(name, noisy, OUTLIER_REMEDY)
    summaries: dict[str, Summary] = {}
    for group in found.class_sigma if first.fits_memory else first.classes:
        sigma = found.class_sigma.get(group)
        if sigma is None or not all(group in one for one in of_runs):
            raise BadInput(
                f"{name}: link class {group} is missing in a run, or in the rows that were read for the noise"
            )
        by_link = unit != "us" and data_path(samples[0].result, group, backend) in LINK_PATHS
        refuse_noise(name, group, sigma, cells, len(samples), MOST_LINK_NOISE if by_link else MOST_NOISE)
        each = zip(*((one[group].median, one[group].low, one[group].high) for one in of_runs), strict=True)
        summaries[group] = Summary(*(reference_of_runs(one, sigma, cells, floors[group], unit) for one in each))
    made_of = (first, found, classes, cells, len(samples), floors)
    pairs: Pairs = {}
    groups: dict[str, list[Group]] = {}
    if first.fits_memory:
        table, pairs = cell_references(*made_of)
        several = len(set(places_by_node(first.rows)[0])) > 1
        groups = large_matrix_classes(first, classes, applies) if several or not pairs else {}
    else:
        table = class_references(*made_of, {group: one.median.value for group, one in summaries.items()})
    noisy += [] if first.fits_memory else self_failing_cells(samples, of_runs, table)
    if not with_outliers:
        refuse(name, noisy, OUTLIER_REMEDY)
    refuse_impossible(first, found, block.numbers("limit"), chosen)
    slow = slow_components(samples, first, found)
    if not as_is:
        refuse(name, slow, SLOW_REMEDY)
    lines = provenance(samples, found.class_sigma, cells)
    lines += () if first.fits_memory else (f"sigma from {len(chosen)} of {len(first.rows)} rows of each run",)
    return Proposal(
        testcase=name,
        unit=unit,
        table=table,
        cells=cells,
        runs=len(samples),
        spreads=found.class_sigma,
        provenance=lines,
        noisy=tuple(noisy),
        slow=slow,
        pairs=pairs,
        groups=groups,
        summaries=summaries,
    )


def sampled_rows(matrix: Matrix) -> list[int]:
    """The indices of the rows to read. If the matrix is too large for memory, these are ROWS evenly spaced rows."""
    size = len(matrix.rows)
    count = size if matrix.fits_memory else min(size, ROWS)
    return np.unique(np.linspace(0, size - 1, count).astype(int)).tolist()


def measured_values(matrix: Matrix, chosen: Sequence[int]) -> np.ndarray:
    """The values of the chosen rows, rows × columns; NaN for cells without a value.

    Raises BadInput if the file of the cells differs from the record.
    """
    if matrix.external is None:
        return Block(matrix).measured
    in_file, rows = matrix.external.file_summary(), []
    for part in [slice(0, len(chosen))] if matrix.fits_memory else [slice(row, row + 1) for row in chosen]:
        block = Block(matrix, part)
        in_file.add(block)
        rows.append(block.measured)
    values = np.concatenate(rows)
    if matrix.fits_memory:
        in_file.check()
        return values
    stored = np.array(matrix.external.medians[0])[chosen]
    found = np.array([np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else 0.0 for row in values])
    if not np.allclose(found, stored, rtol=ROUNDING):
        raise BadInput(f"{in_file.path} does not match the cells of its record: {REMEDY}")
    return values


def slow_components(samples: Sequence[Sample], matrix: Matrix, spread: noise.Spread) -> tuple[str, ...]:
    """One sentence per component that is slower than similar components in the medians of all runs.

    If the matrix is too large for memory, the sentences are about the newest run only.
    """
    if matrix.fits_memory:
        return tuple(diagnosis.sentences_for_values(samples[0].record, samples[0].result, matrix, spread.centre))
    record, result = samples[-1].record, samples[-1].result
    node = {device["label"]: device["node"] for device in record["devices"]}
    seen = diagnosis.diagnose(record, result, judge_result(result, References({}), None, node))
    return seen.sentences if seen.findings else ()


def self_failing_cells(
    samples: Sequence[Sample], of_runs: Sequence[Mapping[str, ClassSummary]], table: Table
) -> Iterator[str]:
    """Yields one sentence per cell of a run that would fail the references proposed from the same runs.

    Only the lowest and the highest cell of each link class are checked in each run.
    """
    for sample, classes in zip(samples, of_runs, strict=True):
        for group, of_run in classes.items():
            reference = table[f"cell[{group}]"]
            for word, value in (("lowest", of_run.low), ("highest", of_run.high)):
                if not reference.low_limit <= value <= reference.high_limit:
                    percent = f"{100 * (value / reference.value - 1):+.1f} %"
                    yield f"the {word} cell of {group} in {sample.source}, {percent} from the median of its class"


def sweep_proposal(proposals: Mapping[int, Proposal]) -> Proposal:
    """Combines the proposals of a sweep of sizes. proposals: {size: proposal}.

    A reference such as "NET@4096" applies to each cell of the link class NET with 4096 bytes. Its limits therefore
    include the lowest and the highest cell.
    """
    first = next(iter(proposals.values()))
    table: Table = {}
    for size, proposal in sorted(proposals.items()):
        for group, summary in proposal.summaries.items():
            middle = summary.median
            lower = min(one.low_limit for one in summary) / middle.value - 1
            upper = max(one.high_limit for one in summary) / middle.value - 1
            table[f"{group}@{size}"] = limited(middle.value, -lower, upper, middle.unit)
    spreads = {group: max(one.spreads.get(group, 0.0) for one in proposals.values()) for group in first.spreads}
    noisy = tuple(sentence for one in proposals.values() for sentence in one.noisy)
    slow = tuple(dict.fromkeys(sentence for one in proposals.values() for sentence in one.slow))
    return replace(first, table=table, spreads=spreads, noisy=noisy, slow=slow, pairs={}, groups={})


def refuse_different_machines(name: str, samples: Sequence[Sample]) -> None:
    """Raises BadInput if driver, CUDA, MPI or devices differ between the runs. Such differences are not noise."""
    for key in FINGERPRINT:
        versions = sorted({sample.record["software"].get(key, "") for sample in samples})
        if len(versions) > 1:
            found = f"the runs have different {key}: {', '.join(versions)}"
            raise BadInput(f"{name}: {found}: choose runs of one version with --since or --runs")
    # models may differ within a run: cores have numbers, and a node may have two models
    models = {tuple(sorted(device["name"] for device in sample.record["devices"])) for sample in samples}
    if len(models) > 1:
        models_found = " and ".join(sorted(", ".join(dict.fromkeys(one)) for one in models)[:2])
        raise BadInput(
            f"{name}: the runs have different devices, {models_found}: choose runs of one model with --since or --runs"
        )
