"""The figures of runs and of published systems in a common form, for comparison.

Only the bus bandwidth of a collective is compared. The time and the algorithm bandwidth follow from the same
measurement.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..record.link_classes import UNKNOWN
from ..record.matrix import Matrix, from_result
from ..record.names import (
    DEFAULT_LIBRARY,
    Extent,
    Pair,
    Result,
    body_count,
    collective_extent,
    collective_library,
    column_devices,
    is_collective,
    is_simulation,
)
from ..record.units import counted
from ..references.keys import device_route
from ..references.published import Published, Series
from .stored import Run

if TYPE_CHECKING:
    import pandas

DIRECTION = "_one_direction"
BIDIRECTIONAL = "osu_mbw_mr_both_ways"  # OSU has no such benchmark
#: Test case between ranks → the OSU benchmark that measures the same, before its buffers and its pairs of ranks.
AS_OSU = {
    "rank_to_rank_bandwidth_mpi": "osu_bw",
    "rank_to_rank_bidirectional_mpi": "osu_bibw",
    "rank_to_rank_latency_mpi": "osu_latency",
    "rank_to_rank_put_bandwidth_mpi": "osu_put_bw",
    "rank_to_rank_put_bidirectional_mpi": "osu_put_bibw",
    "rank_to_rank_put_latency_mpi": "osu_put_latency",
    "node_to_node_bandwidth_mpi": "osu_mbw_mr",
    "node_to_node_latency_mpi": "osu_multi_lat",
    "node_to_node_bidirectional_mpi": BIDIRECTIONAL,
}
#: {benchmark with several pairs of ranks: the benchmark with one pair}
ONE_PAIR_NAMES = {"osu_mbw_mr": "osu_bw", "osu_multi_lat": "osu_latency", BIDIRECTIONAL: "osu_bibw"}
NO_CLASS = "all pairs"  # link class of a published text without link classes
CELL = ["source", "destination", "link_class", "value"]
PAIR = CELL[:2]


@dataclass(frozen=True, eq=False)
class Figures:
    """A matrix of a run or of a published system: one size of a test case, or of a part of a test case.

    * size_bytes: None if unknown
    * cells: one row per measured cell, with the columns CELL. The values are in `unit`.
    * summary: {link class: median} if the cells are in a separate file. `cells` is then empty.
    * alias: the OSU benchmark that measures the same quantity; "" if there is none
    * extent: number of nodes and ranks of a collective; None for other test cases
    * library: library and memory type of a collective; "" for other test cases
    * on_cores: whether the endpoints are CPU cores
    * variant: options other than the size, such as ", 32 blocks"
    * route: an unusual route of MPI messages between GPUs, such as "staged" or "without gdrcopy"
    """

    testcase: str
    part: str
    unit: str
    size_bytes: int | None
    cells: "pandas.DataFrame"
    summary: Mapping[str, float] = field(default_factory=dict)
    alias: str = ""
    extent: Extent | None = None
    library: str = ""
    on_cores: bool = False
    variant: str = ""
    route: str = ""

    def is_same_testcase(self, other: "Figures") -> bool:
        """Whether both figures are of the same test case, with the same number of pairs of ranks.

        The names may differ.
        """
        if self.alias and other.alias and self.variant != other.variant:
            return self.alias == other.alias and self.part == other.part
        return self.name == other.name or (self.part == other.part and self.comparison_name == other.comparison_name)

    @property
    def comparison_name(self) -> str:
        """The name of the OSU benchmark. Without such a benchmark: the name of the test case."""
        return self.alias or self.testcase

    @property
    def name(self) -> tuple[str, str]:
        """Returns (test case, part). The name is the same for runs and for published systems.

        One direction of a bidirectional test case is a part in a run, but a separate test case in published tables.
        """
        if self.testcase.endswith(DIRECTION) and not self.part:
            return self.testcase.removesuffix(DIRECTION), "one_direction"
        return self.testcase, self.part

    @property
    def where(self) -> str:
        """The nodes, ranks and library of a collective. For other figures: "devices" or "cores of a host"."""
        if self.extent is not None:
            return f"{self.extent}, {self.library}" if self.library not in ("", DEFAULT_LIBRARY) else str(self.extent)
        return "cores of a host" if self.on_cores else "devices"

    def has_same_extent(self, other: "Figures") -> bool:
        """Whether the endpoints of both figures are comparable.

        Two collectives are comparable if they have the same library and number of nodes. Other figures are comparable
        if both are of devices, or both of CPU cores.
        """
        if self.extent is None or other.extent is None:
            return self.extent is other.extent and self.on_cores == other.on_cores
        same_nodes = self.extent.nodes is not None and self.extent.nodes == other.extent.nodes
        return same_nodes and self.library == other.library

    @property
    def medians(self) -> Mapping[str, float]:
        """Returns {link class: median}, in the order of the cells."""
        return self.summary or self.cells.groupby("link_class", sort=False)["value"].median().to_dict()


def run_figures(run: Run) -> Iterator[Figures]:
    """The figures of all matrices of a run."""
    found = ((test, test.record, result) for test in run.tests if test.record for result in test.record["results"])
    for test, record, result in found:
        alias = osu_name(record, result)
        extent, on_cores = collective_extent(record) if is_collective(result) else None, record["backend"] == "host"
        for part in (None, *(result.get("parts", ()) if extent is None else ())):
            matrix = from_result(result, part)
            medians = {name: of.median for name, of in matrix.classes.items()} if matrix.external else {}
            key = (matrix.testcase, part or "", matrix.unit, matrix.size_bytes)
            route = device_route(record, result, test.variant).removeprefix("mpi").removeprefix(", ")
            library = collective_library(result) if extent is not None else ""
            yield Figures(
                *key, measured_cells(matrix), medians, alias, extent, library, on_cores, matrix.variant, route
            )


def measured_cells(matrix: Matrix) -> "pandas.DataFrame":
    """The measured cells of a matrix as a table for `Figures.cells`; empty if the cells are in a separate file."""
    import pandas

    from . import table

    if matrix.external:
        return pandas.DataFrame(columns=CELL)
    found = table.matrix_table({}, matrix)
    found = found.loc[(found["status"] == "ok") & found["value"].notna(), CELL]
    is_unknown = found["link_class"] == UNKNOWN
    named = [published_class(pair, {}) for pair in found.loc[is_unknown, PAIR].itertuples(index=False, name=None)]
    found.loc[is_unknown, "link_class"] = [name or NO_CLASS for name in named]
    return found


def osu_name(record: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """The OSU benchmark that measures the same quantity as a result; "" if there is none.

    The name contains the types of the buffers and the number of concurrent pairs: "osu_mbw_mr_dd_4_pairs".
    """
    osu = AS_OSU.get(result["testcase"], "")
    if not osu:
        return ""
    buffers = "dd" if result["memory"] == "device" else "hh"
    nodes = {device["node"] for device in record["devices"]}
    # --pairs-per-node, or otherwise all pairs between two nodes
    pairs = result.get("pairs") or len(record["devices"]) // max(len(nodes), 1)
    if osu not in ONE_PAIR_NAMES:
        return f"{osu}_{buffers}"
    return f"{osu}_{buffers}_{pairs}_pairs" if pairs > 1 else f"{ONE_PAIR_NAMES[osu]}_{buffers}"


def published_figures(system: Published) -> Iterator[Figures]:
    """The figures of all tables of a published system."""
    import pandas

    for one in system.tables:
        if one.extent is not None and one.part:
            continue
        own = [
            pair[1] if one.extent is not None else published_class(pair, system.classes) or NO_CLASS
            for pair in one.cells
        ]
        rows = [(*pair, name, value) for (pair, value), name in zip(one.cells.items(), own, strict=True)]
        cells = pandas.DataFrame(rows, columns=CELL)
        library = DEFAULT_LIBRARY if one.extent is not None else ""
        yield Figures(one.testcase, one.part, one.unit, one.size_bytes, cells, extent=one.extent, library=library)


def published_class(pair: Pair, classes: Mapping[Pair, str]) -> str:
    """The link class of a pair in a published table; "" if unknown.

    classes: {pair: link class} of the published system.
    """
    if pair[0] in ("local", pair[1]):
        return "LOCAL"
    if "host" in pair:
        return "HOST"
    return "ALL" if "all" in pair and pair[0] != pair[1] else classes.get(pair, "")


def compare_efficiencies(run: Run, published: Published, wanted: set[str]) -> tuple[list[str], list[str]]:
    """Returns (lines with the compared efficiencies of simulations, sentences about series that are not comparable).

    A published series is the mean over all numbers of bodies above a minimum. The value of the run is calculated in the
    same way. wanted: the test cases to compare; empty for all.
    """
    lines: list[str] = []
    left_out: list[str] = []
    results = [result for test in run.tests if test.record for result in test.record["results"]]
    for series in published.series:
        own = [one for one in results if is_simulation(one) and one["testcase"] == series.testcase]
        if not own or (wanted and series.testcase not in wanted):
            continue
        above = series.bodies_above
        large = [one for one in own if (body_count(one) or 0) > above]
        if not large:
            most = max(body_count(one) or 0 for one in own)
            sizes = f"at most {most} bodies in this run, more than {above} in the published values"
            left_out.append(f"{series.testcase} efficiency: {sizes}: not comparable")
            continue
        lines += list(efficiency_lines(series, mean_efficiencies(large), [body_count(one) or 0 for one in large]))
    return lines, left_out


def mean_efficiencies(results: Iterable[Result]) -> dict[int, float]:
    """Returns {number of devices: efficiency in percent, as the mean over the measured numbers of bodies}."""
    found: dict[int, list[float]] = {}
    for result in results:
        part = result["parts"].get("efficiency")
        for at, column in enumerate(result["columns"]):
            value = part["values"][0][at] if part else None
            if value is not None and result["status"][0][at] == "ok":
                found.setdefault(column_devices(column), []).append(value)
    return {devices: statistics.fmean(values) for devices, values in sorted(found.items())}


def efficiency_lines(series: Series, here: Mapping[int, float], bodies: list[int]) -> Iterator[str]:
    """Yields lines that compare a published series with the run.

    * here: {number of devices: efficiency in percent} of the run
    * bodies: the numbers of bodies of the run
    """
    numbers = ", ".join(map(str, sorted(bodies)))
    there = {devices: 100 * value for devices, value in series.devices.items()}
    above = f"more than {series.bodies_above} there"
    yield f"{series.testcase} efficiency, mean over {numbers} bodies here, {above}"
    for devices in sorted(here.keys() & there.keys()):
        ratio = here[devices] / there[devices]
        yield f"  {counted(devices, 'device')}: {here[devices]:.1f} against {there[devices]:.1f} %, × {ratio:.3g}"
    for side, only in (("here", here.keys() - there.keys()), ("there", there.keys() - here.keys())):
        if only:
            values = here if side == "here" else there
            texts = (f"{counted(devices, 'device')} {values[devices]:.1f} %" for devices in sorted(only))
            yield f"  only {side}: {', '.join(texts)}"
