"""References of matrices whose cells are in files beside their records: by link class, row and column.

The records say minimum, median and maximum of each class over all cells. How much cells vary, from run to run and
among themselves, is read from some of the rows. No pair has a reference of its own: `cell[NET]` and `cell[NODE]` hold
for all of them, so their limits cover the differences within a class too.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from . import counting, noise
from .adopt import (
    Floor,
    Proposal,
    Sample,
    made,
    made_of_runs,
    outlier_sentences,
    provenance,
    refuse_noise,
    refuse_outliers,
)
from .cell_file import REMEDY, CellFile
from .errors import BadInput
from .parts import CLASSES, Expected, Source, matrix_of, nodes_of
from .references import Table

ROWS = 32  # that are read of each run
SUMMARIES = {"min": "low", "median": "median", "max": "high"}


def propose(samples: Sequence[Sample], with_outliers: bool, floor: Floor) -> Proposal:
    """References of one test case out of its runs, enough and alike. Raises BadInput: outliers, or a file is lost."""
    first = samples[0].result
    name, unit, size = first["testcase"], first["unit"], len(first["rows"])
    chosen = np.unique(np.linspace(0, size - 1, min(size, ROWS)).astype(int))
    node = nodes_of(samples[0].record, first["rows"])
    classes = np.array(CLASSES)[(node[chosen][:, None] == node[None, :]).astype(int)]
    found = noise.spread(np.array([rows_of(sample, chosen) for sample in samples]), classes)
    summaries = [matrix_of(sample.result).classes for sample in samples]
    cells = sum(summary.count for summary in summaries[0].values())
    table: Table = {}
    for group in summaries[0]:
        if not all(group in of_run for of_run in summaries) or group not in found.of_class:
            raise BadInput(f"{name}: {group} is not in all of its {len(samples)} runs, or not in the rows looked at")
        sigma = found.of_class[group]
        refuse_noise(name, group, sigma, cells, len(samples))
        for word, attribute in SUMMARIES.items():
            each = [getattr(of_run[group], attribute) for of_run in summaries]
            table[f"{word}[{group}]"] = made_of_runs(each, sigma, cells, floor, unit)
        middle = table[f"median[{group}]"].value
        off = np.abs(found.centre[classes == group] / middle - 1)
        among = 1.4826 * float(np.median(off[np.isfinite(off)]))
        table[f"cell[{group}]"] = made(middle, float(np.hypot(sigma, among)), cells, len(samples), floor, unit)
    for axis in ("row", "column"):
        medians = [sample.result["cells"][f"{axis}_medians"] for sample in samples]
        for word, extreme in (("min", min), ("max", max)):
            table[f"{word}[{axis}s]"] = made_of_runs([extreme(one) for one in medians], 0.0, cells, floor, unit)
    off = noise.outliers(found, cells, min(floor))
    told = [*outlier_sentences(samples, found, off, chosen.tolist()), *beyond(samples, table)]
    refuse_outliers(name, told, with_outliers)
    said = (*provenance(samples, found.of_class, cells), f"sigma from {len(chosen)} of {size} rows of each run")
    return Proposal(name, unit, table, cells, len(samples), found.of_class, said, tuple(told))


def rows_of(sample: Sample, chosen: np.ndarray) -> np.ndarray:
    """The values of some rows of a run, NaN where a cell does not apply. Raises BadInput for a file that is not its."""
    result = sample.result
    file = CellFile.beside(result, Path(sample.source).parent)
    source = Source(result, file, nodes_of(sample.record, result["rows"]), Expected({}, {}, None))
    cells = np.array([row for _, row in file.rows(chosen)])
    counting.check_block(source, chosen, cells)
    values = np.where(cells["samples"] > 0, cells["value"].astype(float), np.nan)
    said = np.array(result["cells"]["row_medians"])[chosen]
    there = np.array([np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else 0.0 for row in values])
    if not np.allclose(there, said, rtol=counting.ROUNDING):
        raise BadInput(f"{file.path} holds other cells than its record says: {REMEDY}")
    return values


def beyond(samples: Sequence[Sample], table: Table) -> Iterator[str]:
    """Cells that the references of their class would fail in the runs that they are made of, a sentence for each."""
    for sample in samples:
        for group, of_run in matrix_of(sample.result).classes.items():
            reference = table[f"cell[{group}]"]
            for word, value in (("least", of_run.low), ("largest", of_run.high)):
                if not reference.low_limit <= value <= reference.high_limit:
                    percent = f"{100 * (value / reference.value - 1):+.1f} %"
                    yield f"the {word} cell of {group} in {sample.source}, {percent} from the median of its class"
