"""`linkmatrix compare`: a run beside another one, or beside a published system. It judges nothing.

Test cases meet by their name, and by their size where both have several. Link classes of two machines have different
names, so each class of the run stands beside each of the other; copies inside a device and host memory only beside
their like. Pairs are compared one by one where both have the same names, and not where their cells are in a file.
Cells come as the table of runs/table.py, those of published systems in the same columns.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BadInput
from ..record import units
from ..record.matrix import UNKNOWN, Matrix, Pair, from_result
from ..record.units import figure
from ..references import published
from ..runs import stored
from ..show import words

if TYPE_CHECKING:
    import pandas

NOTHING = 3  # in common: as NO VERDICT
OWN = ("LOCAL", "HOST", "ALL", "NET")  # classes that only their like are compared with
DIRECTION = "_one_direction"
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
}
OF_ONE_PAIR = {"osu_mbw_mr": "osu_bw", "osu_multi_lat": "osu_latency"}  # what these are with a rank on each node
NO_CLASS = "all pairs"  # of a text that does not tell link classes
CELL = ["source", "destination", "link_class", "value"]
PAIR = CELL[:2]


@dataclass(frozen=True, eq=False)
class Figures:
    """A matrix of a run or of a published system: a test case, or a part of one, in one size (None: not known).

    cells: a row with the columns CELL for each that was measured, in `unit`. summary: {link class: median} of a matrix
    whose cells are in a file; `cells` is empty then. alias: the test case of OSU that measures the same.
    """

    testcase: str
    part: str
    unit: str
    size_bytes: int | None
    cells: "pandas.DataFrame"
    summary: Mapping[str, float] = field(default_factory=dict)
    alias: str = ""

    def same_as(self, other: "Figures") -> bool:
        """Do both measure the same, under whichever names?"""
        return self.name == other.name or (not self.part and not other.part and self.by_osu == other.by_osu)

    @property
    def by_osu(self) -> str:
        """Its name among OSU's, or its own."""
        return self.alias or self.testcase

    @property
    def name(self) -> tuple[str, str]:
        """What it is known by; one direction of a bidirectional test case is a part of linkmatrix's own."""
        if self.testcase.endswith(DIRECTION) and not self.part:
            return self.testcase.removesuffix(DIRECTION), "one_direction"
        return self.testcase, self.part

    @property
    def medians(self) -> Mapping[str, float]:
        """The median of each link class, in the order of the cells; pairs without one are a class of their own."""
        return self.summary or self.cells.groupby("link_class", sort=False)["value"].median().to_dict()


class Row(NamedTuple):
    """A line of the comparison: medians of a class here and there; pairs: worst and best ratio of those in common."""

    name: str
    sizes: str
    classes: str
    here: float
    there: float
    unit: str
    pairs: tuple[float, float, int] | None


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `compare`."""
    command.add_argument("path", nargs="?", type=Path, metavar="RUN", help="as for show; default: the newest report")
    command.add_argument(
        "--against", required=True, metavar="OTHER", help=f"a run, or one of {', '.join(published.NAMES)}"
    )
    command.add_argument("--testcase", action="append", metavar="NAME", help="only this one; may come several times")
    command.set_defaults(command=run_compare)


def run_compare(options: argparse.Namespace) -> int:
    """Prints a line for each test case and pair of link classes. Raises BadInput."""
    here = list(of_run(stored.find(options.path)))
    there = list(other(options.against))
    rows = list(compare(here, there, set(options.testcase or ())))
    if not rows:
        names = ", ".join(sorted({"/".join(filter(None, one.name)) for one in there})[:12])
        print(f"The two have no test case in common. {options.against} has: {names}")
        return NOTHING
    for line in lines(rows):
        print(line)
    return 0


def other(name: str) -> Iterator[Figures]:
    """The figures of a published system, or of what lies at a path."""
    if name in published.NAMES:
        return of_published(published.load(name))
    if not Path(name).exists():
        known = ", ".join(published.NAMES)
        raise BadInput(f"--against '{name}' is neither a record, report or folder nor a published system ({known})")
    return of_run(stored.find(Path(name)))


def of_run(run: stored.Run) -> Iterator[Figures]:
    """All matrices of a run's records."""
    found = ((test.record, result) for test in run.tests if test.record for result in test.record["results"])
    for record, result in found:
        alias = osu_name(record, result)
        for part in (None, *result["parts"]):
            matrix = from_result(result, part)
            medians = {name: of.median for name, of in matrix.classes.items()} if matrix.apart else {}
            yield Figures(matrix.testcase, part or "", matrix.unit, matrix.size_bytes, cells_of(matrix), medians, alias)


def cells_of(matrix: Matrix) -> "pandas.DataFrame":
    """What was measured, as `Figures` has it; nothing where the cells are in a file."""
    import pandas

    from ..runs import table

    if matrix.apart:
        return pandas.DataFrame(columns=CELL)
    found = table.of_matrix({}, matrix)
    found = found.loc[(found["status"] == "ok") & found["value"].notna(), CELL]
    nobody_said = found["link_class"] == UNKNOWN
    named = [class_of(pair, {}) for pair in found.loc[nobody_said, PAIR].itertuples(index=False, name=None)]
    found.loc[nobody_said, "link_class"] = [name or NO_CLASS for name in named]
    return found


def osu_name(record: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """The benchmark of OSU that measures what a result does, with buffers and pairs of ranks; "" for none."""
    osu = AS_OSU.get(result["testcase"], "")
    if not osu:
        return ""
    buffers = "dd" if result["memory"] == "device" else "hh"
    nodes = {device["node"] for device in record["devices"]}
    pairs = len(record["devices"]) // max(len(nodes), 1)  # of ranks, that two nodes have between them
    if osu not in OF_ONE_PAIR:
        return f"{osu}_{buffers}"
    return f"{osu}_{buffers}_{pairs}_pairs" if pairs > 1 else f"{OF_ONE_PAIR[osu]}_{buffers}"


def of_published(content: Mapping[str, Any]) -> Iterator[Figures]:
    """All tables of a published system."""
    import pandas

    classes: dict[Pair, str] = {}
    for topology in content.get("topologies") or []:
        labels = topology["labels"]
        for row, line in zip(labels, topology.get("link_class") or [], strict=False):
            classes |= {(row, column): word for column, word in zip(labels, line, strict=True) if word}
    for one in content["tables"]:
        pairs = [(row, column) for row in one["rows"] for column in one["columns"]]
        own = [class_of(pair, classes) or NO_CLASS for pair in pairs]
        by_size = one.get("sizes") or {one["size_bytes"]: [value for row in one["values"] for value in row]}
        for size, values in by_size.items():
            rows = [(*pair, name, value) for pair, name, value in zip(pairs, own, values, strict=True)]
            cells = pandas.DataFrame(rows, columns=CELL).dropna(subset="value")
            yield Figures(one["testcase"], one.get("part", ""), one["unit"], size, cells)


def class_of(pair: Pair, classes: Mapping[Pair, str]) -> str:
    """The link class of a published pair; "" unknown."""
    if pair[0] in ("local", pair[1]):
        return "LOCAL"
    if "host" in pair:
        return "HOST"
    return "ALL" if "all" in pair and pair[0] != pair[1] else classes.get(pair, "")


def compare(here: list[Figures], there: list[Figures], wanted: set[str]) -> Iterator[Row]:
    """The lines of all that both have."""
    for one in here:
        if wanted and one.testcase not in wanted:
            continue
        same = [two for two in there if two.same_as(one) and two.unit == one.unit and two.medians]
        sized = [two for two in same if two.size_bytes == one.size_bytes]
        # of a sweep only the same size is comparable; a single matrix stands for its test case
        of_sizes = {two.size_bytes for two in same}
        chosen = sized[:1] or (same[:1] if len(of_sizes) == 1 else [])
        for two in chosen:
            yield from beside(one, two)


def beside(one: Figures, two: Figures) -> Iterator[Row]:
    """A line for each class of the one and each of the other."""
    sizes = units.size(one.size_bytes)
    if one.size_bytes != two.size_bytes:
        sizes += f" against {units.size(two.size_bytes)}"
    name = " ".join(filter(None, (one.name[0], one.name[1].replace("_", " "))))
    name += f" against {two.testcase}" if one.name != two.name else ""
    common = one.cells.merge(two.cells, on=PAIR, suffixes=("", "_there"))
    common = common[common["value_there"] != 0]
    common = common.assign(ratio=common["value"] / common["value_there"]).groupby(["link_class", "link_class_there"])
    of_classes = common["ratio"].agg(["min", "max", "count"])
    for here, median in one.medians.items():
        for there, other_median in two.medians.items():
            # of ranks, who does not say where they were may have had them anywhere
            anywhere = one.by_osu.startswith("osu_") and NO_CLASS in (here, there)
            if (here in OWN or there in OWN) and here != there and not anywhere:
                continue
            found = of_classes.loc[here, there] if (here, there) in of_classes.index else None
            pairs = (found["min"], found["max"], int(found["count"])) if found is not None else None
            classes = here if here == there else f"{here} against {there}"
            yield Row(name, sizes, classes, median, other_median, one.unit, pairs)


def lines(rows: list[Row]) -> Iterator[str]:
    """The comparison as text."""
    last = ""
    for row in rows:
        title = f"{row.name} ({row.sizes})"
        if title != last:
            yield title
            last = title
        decimals, unit = words.DECIMALS[row.unit], words.UNITS[row.unit]
        ratio = f"× {row.here / row.there:.3g}" if row.there else "against zero"
        here, there = figure(row.here, decimals), figure(row.there, decimals)
        text = f"  {row.classes}: median {here} against {there} {unit}, {ratio}"
        if row.pairs and row.pairs[2] > 1:
            text += f"; {row.pairs[2]} pairs × {row.pairs[0]:.3g} to {row.pairs[1]:.3g}"
        yield text
