"""Writes config/references/abci.yaml out of config/references/published: `python tests/tools/published_references.py`.

The partitions of a published machine are held against what was published of it, until a site has adopted its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import yaml

from linkmatrix.references import published
from linkmatrix.references.published import Printed
from linkmatrix.references.tables import FOLDER

FILE = FOLDER / "abci.yaml"
#: Published system → its table of references, and the pairs of ranks that all GPUs of two nodes are.
SYSTEMS = {"abci:anode": ("abci-anode", 8), "abci:vnode": ("abci-vnode", 4)}
#: One published run says nothing of its noise, and its MPI is of 2021: what is worse by a fifth is worth a look.
LIMITS = {"GB/s": ("-0.2", "null"), "us": ("null", "0.25")}
HEAD = """\
# ABCI compute nodes (A) and (V), as their user benchmarks of 2021 publish them. Written by
# `python tests/tools/published_references.py` out of published/001_abci.txt.
#
# A single run of each, with Open MPI 4.0.5 and UCX 1.7 or 1.9: its noise is not known, and other versions have other
# latencies. So a bandwidth may be a fifth less and a latency a quarter more, and better is no fault. Replace them by
# six runs of your own, whose noise says what is allowed: `linkmatrix adopt --table abci-anode --write`.
"""
TESTS = {
    "latency": ("latency", 1),
    "multi_lat": ("latency", None),
    "bw": ("bandwidth", 1),
    "mbw_mr": ("bandwidth", None),
}
NAME = re.compile(r"osu_(?P<test>latency|multi_lat|bw|mbw_mr)_(?P<buffers>hh|dd)(?:_(?P<pairs>\d+)_pairs)?")
Entries = dict[
    tuple[str, str, str], dict[str, tuple[float, str]]
]  # (check, table, test case) → {variable: value, unit}


def entries_of(name: str) -> Entries:
    """All references of a published system."""
    table, most = SYSTEMS[name]
    found: Entries = {}
    for one in published.load(name).tables:
        if NAME.fullmatch(one.testcase):
            for key, row in of_sweep(one, table, most):
                found.setdefault(key, {}).update(row)
        elif not one.part:  # a copy inside a device is another test case's
            pairs = {
                f"{row}->{column}": (value, one.unit) for (row, column), value in one.cells.items() if row != column
            }
            found["intranode_p2p", table, one.testcase] = pairs
    return found


def of_sweep(one: Printed, table: str, most: int) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    """One size, for the check of as many pairs of ranks.

    Of one pair also for that of one rank a node, and of all pairs for the matrix of two nodes, which has one size.
    """
    match = NAME.fullmatch(one.testcase)
    assert match and one.size_bytes is not None
    (what, known), on_device = TESTS[match["test"]], match["buffers"] == "dd"
    pairs = known or int(match["pairs"])
    (number,) = one.cells.values()
    value = number, one.unit
    by_size = {f"NET@{one.size_bytes}": value}
    device = "@device" if on_device else ""
    check = "crossnode_device_pairs" if on_device else "crossnode_pairs"
    yield (check, f"{table}@{pairs}-pairs@sweep{device}", f"node_to_node_{what}_mpi"), by_size
    if pairs == 1 and not on_device:
        yield ("crossnode_sweep", f"{table}@sweep", f"rank_to_rank_{what}_mpi"), by_size
    if pairs == most and one.size_bytes == (16 if what == "latency" else 1 << 20):
        check = "crossnode_device_matrix" if on_device else "crossnode_matrix"
        yield (check, f"{table}{device}", f"node_to_node_{what}_mpi"), {"cell[NET]": value}


def render() -> str:
    """The file of references."""
    entries: Entries = {}
    for name in SYSTEMS:
        entries |= entries_of(name)
    lines, last = [HEAD.rstrip()], ("", "")
    for check, table, testcase in sorted(entries):
        if check != last[0]:
            lines.append(f"{check}:")
        if (check, table) != last:
            lines.append(f"  {table}:")
        last = (check, table)
        lines.append(f"    {testcase}:")
        for variable, (value, unit) in entries[check, table, testcase].items():
            low, high = LIMITS[unit]
            lines.append(f"      '{variable}': [{value}, {low}, {high}, {unit}]")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes the file again."""
    text = render()
    assert yaml.safe_load(text)
    FILE.write_text(text, encoding="utf-8")
    print(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
