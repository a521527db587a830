"""`linkmatrix compare`: compares a run with another run or with a published system, the slowest first. Judges nothing.

Test cases match by name. They also match by size if one of the two has several sizes; a size that only one of them has
is listed. Collectives also match by their number of nodes and by their library (NCCL between devices, MPI between host
memory), and out-of-place only with out-of-place. Two machines name their link classes differently, so each class of the
run is compared with each class of the other. Copies inside a device, and copies to host memory, are compared with the
same kind of copy only. Pairs are compared one by one if both have the same names, and their cells are not in a file.

`--against peers` compares the run with other programs in the same run.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput, clean
from ..files import path_of
from ..judge.disturbances import disturbance_sentences as disturbed_by
from ..judge.verdicts import EXIT_CODES, Verdict
from ..record import units
from ..record.units import figure
from ..references import published
from ..references.keys import is_known
from ..runs import figures, stored
from ..runs.figures import NO_CLASS, PAIR, Figures, published_figures, run_figures
from ..runs.testcases import Test
from ..show import words
from ..show.screen import Screen
from . import arguments
from .arguments import Block

NOTHING = EXIT_CODES[Verdict.INCOMPLETE]  # the two have no test case in common
PEERS = "peers"  # other programs, whose records are of the same run
OWN = ("LOCAL", "HOST", "ALL", "NET", "CORE")  # classes that only their like are compared with
MOST_SIZES = 12  # that are named
MOST_NAMES = 12  # of test cases
MOST_REMARKS = 6  # lines on other processes
LEAST_SIZES = 3  # that are a table
LEAST = 0.05  # fraction by which a median is worse that stands out
FAR = 10.0  # ratios that are printed in words
TINY = 1e-300  # in place of zero
OF_ALL = {"GFLOP/s": "compute rate"}  # what all together have that is no bus bandwidth, by its unit


class Row(NamedTuple):
    """Medians of a link class here and there. pairs: lowest and highest ratio of common pairs, and their number.

    where: the extent of a collective, "" for other test cases.
    """

    name: str
    where: str
    sizes: str
    classes: str
    here: float
    there: float
    unit: str
    pairs: tuple[float, float, int] | None


@dataclass
class Compared:
    """Test cases of two runs.

    rows: the common test cases. left_out: sentences on test cases of only one run, or with incomparable values.
    """

    rows: list[Row] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `compare`."""
    command.add_argument(
        "path",
        nargs="?",
        type=path_of,
        metavar="RUN",
        help="a record.json, a ReFrame report or a folder (default: the run that ended last)",
    )
    command.add_argument(
        "--against",
        required=True,
        metavar="OTHER",
        help=f"a run, one of {', '.join(published.NAMES)}, or {PEERS}: other programs in the same run",
    )
    arguments.add_testcases(command)
    arguments.add_all(command)
    command.set_defaults(command=run_compare)


def run_compare(options: argparse.Namespace) -> int:
    """Prints the comparison, the slowest test case first. Raises BadInput."""
    run = stored.find(options.path)
    if options.against == PEERS:
        return beside_peers(run, set(options.testcase or ()), options.all or bool(options.testcase))
    second = other_run(options.against)
    here = list(run_figures(run))
    there = list(published_figures(published.load(options.against)) if second is None else run_figures(second))
    found = compare(here, there, set(options.testcase or ()), options.against)
    series, no_series = [], []
    if options.against in published.NAMES:
        series, no_series = figures.compare_efficiencies(
            run, published.load(options.against), set(options.testcase or ())
        )
    left_out = [*found.left_out, *no_series]
    screen = Screen()
    both = [("this run", run)] + ([(options.against, second)] if second is not None else [])
    screen.lines(*remarks(both))
    print_rows(screen, found.rows, options.against, options.all or bool(options.testcase))
    screen.lines(*series, *left_out)
    if found.rows or series:
        return 0
    if not here:
        screen.lines(f"{run.path} has no values to compare: nothing was measured")
    elif not left_out:
        names = sorted({"/".join(filter(None, one.name)) for one in there})
        has = ", ".join(units.first(names, MOST_NAMES)) or "no figures"
        screen.lines(f"No test case was measured in both. {options.against} has: {has}")
    return NOTHING


def print_rows(screen: Screen, rows: list[Row], other_name: str, everything: bool, indent: str = "") -> None:
    """Prints the comparison, the slowest first."""
    healthy = f"nothing stands out: no median is more than {100 * LEAST:.0f} % worse than that of {other_name}"
    arguments.print_worst(screen, list(blocks(rows, other_name)), healthy, everything, indent=indent)


def beside_peers(run: stored.Run, wanted: set[str], everything: bool) -> int:
    """Prints a comparison with each other program of the run. Raises BadInput without one."""
    own = list(run_figures(replace(run, tests=tuple(test for test in run.tests if not peer_of(test)))))
    programs = list(dict.fromkeys(filter(None, map(peer_of, run.tests))))
    if not programs:
        raise BadInput(
            f"{run.path} contains no results of other programs: measure with -t {PEERS}, where they are installed"
        )
    met, screen = False, Screen()
    for program in programs:
        theirs = run_figures(replace(run, tests=tuple(test for test in run.tests if peer_of(test) == program)))
        found = compare(own, list(theirs), wanted, program)
        met = met or bool(found.rows)
        screen.lines(
            f"linkmatrix against {program}:" if found.rows else f"{program}: none of its test cases was measured here"
        )
        print_rows(screen, found.rows, program, everything, indent="  ")
        screen.lines(*(f"  {line}" for line in found.left_out))
    return 0 if met else NOTHING


def peer_of(test: Test) -> str:
    """The program that measured a test; "" for linkmatrix."""
    record = test.record or {}
    return str((record.get("imported") or {}).get("program", "")) if record.get("expected") else ""


def remarks(runs: list[tuple[str, stored.Run]]) -> list[str]:
    """Lines on simulated faults, ignored processes and disturbances of the runs."""
    records = [(name, test.record) for name, run in runs for test in run.tests if test.record is not None]
    found = [words.simulated_line(record for _, record in records)]
    found.append(words.ignored_line(record for _, record in records))
    found += [
        f"{name}: {line}" for name, record in records for result in record["results"] for line in disturbed_by(result)
    ]
    return units.first(list(dict.fromkeys(filter(None, found))), MOST_REMARKS)


def other_run(name: str) -> stored.Run | None:
    """The run at a path, None for a published system. Raises BadInput."""
    if name in published.NAMES:
        return None
    if not name or not Path(name).exists():
        known = ", ".join((*published.NAMES, PEERS))
        raise BadInput(f"--against '{name}' is neither a record, report or folder nor a published system ({known})")
    return stored.find(Path(name))


def compare(here: list[Figures], there: list[Figures], wanted: set[str], other_name: str = "the other") -> Compared:
    """The comparison of two sets of figures. wanted: the test cases, none for all."""
    found = Compared()
    series: dict[tuple[str, ...], list[Figures]] = {}  # what differs in its size only
    for one in here:
        if one.medians and (not wanted or one.testcase in wanted):
            series.setdefault((*one.name, one.unit, one.where, one.variant, one.alias, one.route), []).append(one)
    for several in series.values():
        first = several[0]
        if not is_known(first.testcase):
            found.left_out.append(f"{title(first)}: the text does not name the measured quantity: not comparable")
            continue
        named = [two for two in there if two.is_same_testcase(first) and two.unit == first.unit and two.medians]
        same = [two for two in named if first.has_same_extent(two)]
        if any(two.variant == first.variant for two in same):
            same = [two for two in same if two.variant == first.variant]
        elif first.alias and all(two.comparison_name == first.alias for two in same):
            pass  # as many pairs, of all that nodes have or of some
        elif any(two.variant for two in same) or (same and first.variant and first.extent is not None):
            asked = ", ".join(dict.fromkeys(two.variant.removeprefix(", ") or "no other setting" for two in same))
            found.left_out.append(f"{title(first)}: {asked} there: not comparable")
            continue
        same = [two for two in same if two.alias == first.alias] or same  # of the same memory, where there is some
        same = [two for two in same if two.route == first.route] or [two for two in same if not two.alias]
        if first.extent is not None:  # of several numbers of ranks on as many nodes, rather the same
            same = [two for two in same if two.extent == first.extent] or same
        if named and not same:
            other_library = all(two.library != first.library for two in named)
            ours, *theirs = (one.library if other_library else one.where for one in (first, *named))
            elsewhere = " and ".join(dict.fromkeys(theirs))
            found.left_out.append(f"{title(first)}: {ours} here, {elsewhere} there: not comparable")
        elif same:
            meet(several, same, found, other_name)
    found.left_out = list(dict.fromkeys(found.left_out))
    return found


def meet(here: list[Figures], there: list[Figures], found: Compared, other_name: str) -> None:
    """Adds the comparison of a test case in all of its sizes."""
    sizes, others = ({one.size_bytes for one in side} for side in (here, there))
    # a single matrix stands for its test case, whatever its size; of a sweep, and of what is so different in each
    # size as a collective, only the same size is comparable
    lone = len(sizes) == len(others) == 1 and here[0].extent is None
    for one in here:
        two = next((two for two in there if lone or two.size_bytes == one.size_bytes), None)
        if two is not None:
            rows = list(disturbance_sentences(one, two))
            found.rows += rows
            if not rows:
                classes = (", ".join(side.medians) for side in (one, two))
                found.left_out.append("{}: {} here, {} there: not comparable".format(title(one), *classes))
    if lone or here[0].part:  # a part has the sizes of its test case
        return
    for side, only in (("this run", sizes - others), (other_name, others - sizes)):
        if only:
            named = units.first([units.size(size) for size in sorted(only, key=lambda size: size or 0)], MOST_SIZES)
            where = f" of {here[0].where}" if here[0].extent is not None else ""
            found.left_out.append(f"{title(here[0])}{where}: only in {side}: {', '.join(named)}")


def title(one: Figures) -> str:
    """The test case with its part, variant and path."""
    way = f", {one.route}" if one.route else ""
    return " ".join(filter(None, (one.name[0], one.name[1].replace("_", " ")))) + one.variant + way


def disturbance_sentences(one: Figures, two: Figures) -> Iterator[Row]:
    """A row for each class here and each comparable class there."""
    sizes = units.size(one.size_bytes)
    if one.size_bytes != two.size_bytes:
        sizes += f" against {units.size(two.size_bytes)}"
    which = f" against {two.testcase}" if one.name != two.name else ", device memory" if "_dd" in one.alias else ""
    name = title(one) + which
    where = ""
    if one.extent is not None:
        where = one.where + (f" against {two.where}" if one.extent != two.extent else "")
    common = one.cells.merge(two.cells, on=PAIR, suffixes=("", "_there"))
    common = common[common["value_there"] != 0]
    common = common.assign(ratio=common["value"] / common["value_there"]).groupby(["link_class", "link_class_there"])
    of_classes = common["ratio"].agg(["min", "max", "count"])
    for here, median in one.medians.items():
        for there, other_median in two.medians.items():
            # of ranks, who does not say where they were may have had them anywhere
            anywhere = one.comparison_name.startswith("osu_") and NO_CLASS in (here, there)
            apart = one.extent is not None or here in OWN or there in OWN
            if apart and here != there and not anywhere:
                continue
            found = of_classes.loc[here, there] if (here, there) in of_classes.index else None
            pairs = (found["min"], found["max"], int(found["count"])) if found is not None else None
            classes = here if here == there else f"{here} against {there}"
            yield Row(name, where, sizes, classes, median, other_median, one.unit, pairs)


def blocks(rows: list[Row], other_name: str) -> Iterator[Block]:
    """A block for each test case and size; for the sizes of a collective, and for those of a sweep and a class."""
    for (name, where, unit), of_title in groupby(rows, lambda row: (row.name, row.where, row.unit)):
        several = list(of_title)
        if where:
            sizes = groupby(several, lambda row: row.sizes)
            lines = [f"{size}: {'; '.join(f'{row.classes} {against(row)}' for row in of)}" for size, of in sizes]
            yield Block(f"{name}, {OF_ALL.get(unit, 'bus bandwidth')} of {where}", worst(several), lines)
        elif len({row.sizes for row in several}) >= LEAST_SIZES:
            for classes in dict.fromkeys(row.classes for row in several):
                of_class = [row for row in several if row.classes == classes]
                title = f"{name}, {classes}: median, {words.UNITS[unit]}"
                yield Block(title, worst(of_class), list(sizes_table(of_class, other_name)))
        else:
            for size, of_size in groupby(several, lambda row: row.sizes):
                of = list(of_size)
                yield Block(f"{name} ({size})", worst(of), list(map(class_line, of)))


def worst(rows: list[Row]) -> float:
    """By which fraction the worst median is worse than that of the other; 0 for up to LEAST."""
    found = max((max(row.here, TINY) / max(row.there, TINY)) ** (1 if row.unit == "us" else -1) for row in rows) - 1
    return found if found > LEAST else 0.0


def class_line(row: Row) -> str:
    """The medians of a class, and the range of the ratios of its pairs."""
    text = f"{row.classes}: median {against(row)}"
    if row.pairs and row.pairs[2] > 1:
        low, high = (factor(one, row.unit) for one in row.pairs[:2])
        text += f"; {row.pairs[2]} pairs {low} to {high.removeprefix('× ')}"
    return text


def sizes_table(rows: list[Row], other_name: str) -> Iterator[str]:
    """A table of the sizes of a class: medians here and there, and their ratio."""
    heads = ("size", "this run", clean(Path(other_name).name), "ratio")
    decimals = words.DECIMALS[rows[0].unit]
    cells = [(row.sizes, figure(row.here, decimals), figure(row.there, decimals), ratio(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for size, *others in (heads, *cells):
        each = zip(others, widths[1:], strict=True)
        yield f"{size:<{widths[0]}}" + "".join(f"  {text:>{width}}" for text, width in each)


def against(row: Row) -> str:
    """ "395.34 against 176.08 GB/s, × 2.25"."""
    decimals, unit = words.DECIMALS[row.unit], words.UNITS[row.unit]
    return f"{figure(row.here, decimals)} against {figure(row.there, decimals)} {unit}, {ratio(row)}"


def ratio(row: Row) -> str:
    """The ratio of the medians, as `factor` has it."""
    return factor(row.here / row.there, row.unit) if row.there else "against zero"


def factor(times: float, unit: str) -> str:
    """ "× 2.25"; from FAR on "16,000 times slower"."""
    if times <= 0 or 1 / FAR < times < FAR:
        return f"× {times:.3g}"
    word = "faster" if (times > 1) == (unit != "us") else "slower"
    return f"{float(f'{max(times, 1 / times):.2g}'):,.0f} times {word}"
