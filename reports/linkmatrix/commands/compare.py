"""`linkmatrix compare`: compares a run with another run or a published system, and prints the slowest first.

The comparison gives no verdict. These values are compared:

* Test cases with the same name. If a test case has several sizes, equal sizes are compared. Sizes that only one of the
  runs measured are listed.
* Collectives with the same number of nodes and the same library: NCCL between devices, or MPI between host memory. An
  in-place collective is compared only with an in-place collective.
* All link classes of the run with all link classes of the other run, because two machines may name the same link
  differently. Copies inside a device, and copies to host memory, are compared with the same class only.
* Single pairs, if both runs have the same labels and contain their cells.

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

NOTHING = EXIT_CODES[Verdict.INCOMPLETE]  # no test case was measured in both
PEERS = "peers"  # the value of --against for other programs in the same run
SAME_CLASS_ONLY = ("LOCAL", "HOST", "ALL", "NET", "CORE")  # link classes that are never compared with another class
MOST_SIZES = 12  # listed sizes
MOST_NAMES = 12  # listed test cases
MOST_NOTICES = 6  # lines about simulated faults and other processes
TABLE_SIZES = 3  # number of sizes from which a table is printed
STANDS_OUT = 0.05  # a median stands out if it is worse by more than this fraction
IN_WORDS = 10.0  # ratios from this one, and below its inverse, are printed in words
TINY = 1e-300  # replaces zero in a ratio
COLLECTIVE_QUANTITY = {"GFLOP/s": "compute rate"}  # by unit; the default is bus bandwidth


class Row(NamedTuple):
    """The median of a link class of this run, and the median of a link class of the other run or published system.

    where: the devices and nodes of a collective; "" for other test cases.
    pairs: (lowest ratio, highest ratio, number) of the pairs that both runs contain; None without common pairs.
    """

    name: str
    where: str
    sizes: str
    classes: str
    median: float
    other_median: float
    unit: str
    pairs: tuple[float, float, int] | None


@dataclass
class Compared:
    """The comparison of two runs. left_out: sentences about test cases that cannot be compared."""

    rows: list[Row] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `compare`."""
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
        help=f"a run; or one of {', '.join(published.NAMES)}; or {PEERS} for the other programs in the same run",
    )
    arguments.add_testcases(command)
    arguments.add_all(command)
    command.set_defaults(command=run_compare)


def run_compare(options: argparse.Namespace) -> int:
    """Prints the comparison. Returns 0, or NOTHING if no test case was measured in both runs. Raises BadInput."""
    run = stored.find(options.path)
    if options.against == PEERS:
        return compare_with_peers(run, set(options.testcase or ()), options.all or bool(options.testcase))
    second = find_other_run(options.against)
    ours = list(run_figures(run))
    theirs = list(published_figures(published.load(options.against)) if second is None else run_figures(second))
    found = compare(ours, theirs, set(options.testcase or ()), options.against)
    series, no_series = [], []
    if options.against in published.NAMES:
        series, no_series = figures.compare_efficiencies(
            run, published.load(options.against), set(options.testcase or ())
        )
    left_out = [*found.left_out, *no_series]
    screen = Screen()
    both = [("this run", run)] + ([(options.against, second)] if second is not None else [])
    screen.lines(*notice_lines(both))
    print_comparison(screen, found.rows, options.against, options.all or bool(options.testcase))
    screen.lines(*series, *left_out)
    if found.rows or series:
        return 0
    if not ours:
        screen.lines(f"{run.path} has no values to compare: nothing was measured")
    elif not left_out:
        names = sorted({"/".join(filter(None, one.name)) for one in theirs})
        has = ", ".join(units.first(names, MOST_NAMES)) or "no figures"
        screen.lines(f"No test case was measured in both. {options.against} has: {has}")
    return NOTHING


def print_comparison(screen: Screen, rows: list[Row], other_name: str, everything: bool, indent: str = "") -> None:
    """Prints the compared medians, the slowest test case first."""
    healthy = f"nothing stands out: no median is more than {100 * STANDS_OUT:.0f} % worse than that of {other_name}"
    arguments.print_worst(screen, list(blocks(rows, other_name)), healthy, everything, indent=indent)


def compare_with_peers(run: stored.Run, wanted: set[str], everything: bool) -> int:
    """Compares linkmatrix with each foreign program of the run. Raises BadInput if the run has no foreign program."""
    ours = list(run_figures(replace(run, tests=tuple(test for test in run.tests if not peer_program(test)))))
    programs = list(dict.fromkeys(filter(None, map(peer_program, run.tests))))
    if not programs:
        raise BadInput(
            f"{run.path} contains no results of other programs: measure with -t {PEERS}, where they are installed"
        )
    any_rows, screen = False, Screen()
    for program in programs:
        theirs = run_figures(replace(run, tests=tuple(test for test in run.tests if peer_program(test) == program)))
        found = compare(ours, list(theirs), wanted, program)
        any_rows = any_rows or bool(found.rows)
        screen.lines(
            f"linkmatrix against {program}:" if found.rows else f"{program}: none of its test cases was measured here"
        )
        print_comparison(screen, found.rows, program, everything, indent="  ")
        screen.lines(*(f"  {line}" for line in found.left_out))
    return 0 if any_rows else NOTHING


def peer_program(test: Test) -> str:
    """The name of the foreign program that measured a test; "" if a program of linkmatrix measured the test."""
    record = test.record or {}
    return str((record.get("imported") or {}).get("program", "")) if record.get("expected") else ""


def notice_lines(runs: list[tuple[str, stored.Run]]) -> list[str]:
    """The lines about simulated faults, ignored processes and disturbances. runs: [(name, run)]."""
    records = [(name, test.record) for name, run in runs for test in run.tests if test.record is not None]
    found = [words.simulated_line(record for _, record in records)]
    found.append(words.ignored_line(record for _, record in records))
    found += [
        f"{name}: {line}" for name, record in records for result in record["results"] for line in disturbed_by(result)
    ]
    return units.first(list(dict.fromkeys(filter(None, found))), MOST_NOTICES)


def find_other_run(name: str) -> stored.Run | None:
    """The run at the path `name`; None if `name` is a published system. Raises BadInput."""
    if name in published.NAMES:
        return None
    if not name or not Path(name).exists():
        known = ", ".join((*published.NAMES, PEERS))
        raise BadInput(f"--against '{name}' is neither a record, report or folder nor a published system ({known})")
    return stored.find(Path(name))


def compare(ours: list[Figures], theirs: list[Figures], wanted: set[str], other_name: str = "the other") -> Compared:
    """Compares the figures of two runs. wanted: the test cases to compare; an empty set for all."""
    found = Compared()
    series: dict[tuple[str, ...], list[Figures]] = {}  # figures that differ only in the size
    for one in ours:
        if one.medians and (not wanted or one.testcase in wanted):
            series.setdefault((*one.name, one.unit, one.where, one.variant, one.alias, one.route), []).append(one)
    for several in series.values():
        first = several[0]
        if not is_known(first.testcase):
            found.left_out.append(f"{title(first)}: the text does not name the measured quantity: not comparable")
            continue
        named = [two for two in theirs if two.is_same_testcase(first) and two.unit == first.unit and two.medians]
        same = [two for two in named if first.has_same_extent(two)]
        if any(two.variant == first.variant for two in same):
            same = [two for two in same if two.variant == first.variant]
        elif first.alias and all(two.comparison_name == first.alias for two in same):
            pass  # both have the same number of pairs; the selection of the pairs may differ
        elif any(two.variant for two in same) or (same and first.variant and first.extent is not None):
            variants = ", ".join(dict.fromkeys(two.variant.removeprefix(", ") or "no other setting" for two in same))
            found.left_out.append(f"{title(first)}: {variants} in the other run: not comparable")
            continue
        same = [two for two in same if two.alias == first.alias] or same  # prefer the same memory
        same = [two for two in same if two.route == first.route] or [two for two in same if not two.alias]
        if first.extent is not None:  # prefer the same number of ranks per node
            same = [two for two in same if two.extent == first.extent] or same
        if named and not same:
            other_library = all(two.library != first.library for two in named)
            here, *there = (one.library if other_library else one.where for one in (first, *named))
            found.left_out.append(not_comparable(first, here, " and ".join(dict.fromkeys(there))))
        elif same:
            add_rows(several, same, found, other_name)
    found.left_out = list(dict.fromkeys(found.left_out))
    return found


def not_comparable(figures: Figures, here: str, there: str) -> str:
    """The sentence about a test case whose property is `here` in this run, and `there` in the other run."""
    return f"{title(figures)}: {here} in this run, {there} in the other run: not comparable"


def add_rows(ours: list[Figures], theirs: list[Figures], compared: Compared, other_name: str) -> None:
    """Compares one test case in all of its sizes.

    Adds the rows, and the sizes that only one of the runs measured, to `compared`.
    """
    sizes, other_sizes = ({one.size_bytes for one in side} for side in (ours, theirs))
    # single matrices are compared whatever their sizes are; collectives depend too much on the size
    any_size = len(sizes) == len(other_sizes) == 1 and ours[0].extent is None
    for one in ours:
        two = next((two for two in theirs if any_size or two.size_bytes == one.size_bytes), None)
        if two is not None:
            rows = list(class_rows(one, two))
            compared.rows += rows
            if not rows:
                here, there = (", ".join(side.medians) for side in (one, two))
                compared.left_out.append(not_comparable(one, here, there))
    if any_size or ours[0].part:  # a part has the sizes of its test case
        return
    for side, only in (("this run", sizes - other_sizes), (other_name, other_sizes - sizes)):
        if only:
            named = units.first([units.size(size) for size in sorted(only, key=lambda size: size or 0)], MOST_SIZES)
            where = f" of {ours[0].where}" if ours[0].extent is not None else ""
            compared.left_out.append(f"{title(ours[0])}{where}: only in {side}: {', '.join(named)}")


def title(figures: Figures) -> str:
    """The name of a test case with its part, its variant, and the route of data in device memory."""
    way = f", {figures.route}" if figures.route else ""
    return " ".join(filter(None, (figures.name[0], figures.name[1].replace("_", " ")))) + figures.variant + way


def class_rows(figures: Figures, two: Figures) -> Iterator[Row]:
    """A row for each pair of comparable link classes. one: figures of this run. two: figures of the other run."""
    sizes = units.size(figures.size_bytes)
    if figures.size_bytes != two.size_bytes:
        sizes += f" against {units.size(two.size_bytes)}"
    memory = ", device memory" if "_dd" in figures.alias else ""
    name = title(figures) + (f" against {two.testcase}" if figures.name != two.name else memory)
    where = ""
    if figures.extent is not None:
        where = figures.where + (f" against {two.where}" if figures.extent != two.extent else "")
    common = figures.cells.merge(two.cells, on=PAIR, suffixes=("", "_there"))
    common = common[common["value_there"] != 0]
    common = common.assign(ratio=common["value"] / common["value_there"]).groupby(["link_class", "link_class_there"])
    of_classes = common["ratio"].agg(["min", "max", "count"])
    for here, median in figures.medians.items():
        for there, other_median in two.medians.items():
            # OSU's output does not show the nodes of ranks, so ranks without a class match every class
            unknown_nodes = figures.comparison_name.startswith("osu_") and NO_CLASS in (here, there)
            same_class_only = figures.extent is not None or here in SAME_CLASS_ONLY or there in SAME_CLASS_ONLY
            if same_class_only and here != there and not unknown_nodes:
                continue
            found = of_classes.loc[here, there] if (here, there) in of_classes.index else None
            pairs = (found["min"], found["max"], int(found["count"])) if found is not None else None
            classes = here if here == there else f"{here} against {there}"
            yield Row(name, where, sizes, classes, median, other_median, figures.unit, pairs)


def blocks(rows: list[Row], other_name: str) -> Iterator[Block]:
    """The blocks to print: one per collective, one per link class of a sweep, and one per size of other test cases."""
    for (name, where, unit), of_title in groupby(rows, lambda row: (row.name, row.where, row.unit)):
        several = list(of_title)
        if where:
            sizes = groupby(several, lambda row: row.sizes)
            lines = [f"{size}: {'; '.join(f'{row.classes} {medians_text(row)}' for row in of)}" for size, of in sizes]
            yield Block(
                f"{name}, {COLLECTIVE_QUANTITY.get(unit, 'bus bandwidth')} of {where}", worst_excess(several), lines
            )
        elif len({row.sizes for row in several}) >= TABLE_SIZES:
            for classes in dict.fromkeys(row.classes for row in several):
                rows_of_class = [row for row in several if row.classes == classes]
                title = f"{name}, {classes}: median, {words.UNITS[unit]}"
                yield Block(title, worst_excess(rows_of_class), list(sizes_table(rows_of_class, other_name)))
        else:
            for size, of_size in groupby(several, lambda row: row.sizes):
                of = list(of_size)
                yield Block(f"{name} ({size})", worst_excess(of), list(map(class_line, of)))


def worst_excess(rows: list[Row]) -> float:
    """The largest fraction by which a median is worse than the median of the other run.

    Returns 0 if no fraction exceeds STANDS_OUT.
    """
    sign = 1 if rows[0].unit == "us" else -1
    found = max((max(row.median, TINY) / max(row.other_median, TINY)) ** sign for row in rows) - 1
    return found if found > STANDS_OUT else 0.0


def class_line(row: Row) -> str:
    """The line about a link class: both medians, and the range of the ratios of single pairs."""
    text = f"{row.classes}: median {medians_text(row)}"
    if row.pairs and row.pairs[2] > 1:
        low, high = (ratio_in_words(one, row.unit) for one in row.pairs[:2])
        text += f"; {row.pairs[2]} pairs {low} to {high.removeprefix('× ')}"
    return text


def sizes_table(rows: list[Row], other_name: str) -> Iterator[str]:
    """The lines of a table. Each line has a size, both medians and their ratio."""
    heads = ("size", "this run", clean(Path(other_name).name), "ratio")
    decimals = words.DECIMALS[rows[0].unit]
    cells = [
        (row.sizes, figure(row.median, decimals), figure(row.other_median, decimals), ratio_text(row)) for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for size, *others in (heads, *cells):
        each = zip(others, widths[1:], strict=True)
        yield f"{size:<{widths[0]}}" + "".join(f"  {text:>{width}}" for text, width in each)


def medians_text(row: Row) -> str:
    """The medians and their ratio, such as "395.34 against 176.08 GB/s, × 2.25"."""
    decimals, unit = words.DECIMALS[row.unit], words.UNITS[row.unit]
    return f"{figure(row.median, decimals)} against {figure(row.other_median, decimals)} {unit}, {ratio_text(row)}"


def ratio_text(row: Row) -> str:
    """The ratio of the medians, in words."""
    return ratio_in_words(row.median / row.other_median, row.unit) if row.other_median else "against zero"


def ratio_in_words(times: float, unit: str) -> str:
    """A ratio as text, such as "× 2.25". A ratio of IN_WORDS or more is in words, such as "16,000 times slower"."""
    if times <= 0 or 1 / IN_WORDS < times < IN_WORDS:
        return f"× {times:.3g}"
    word = "faster" if (times > 1) == (unit != "us") else "slower"
    return f"{float(f'{max(times, 1 / times):.2g}'):,.0f} times {word}"
