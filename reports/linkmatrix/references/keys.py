"""What references are found by: the check that measured, and what of a machine it was.

A table of references is called as the machine, and after each '@' as what of it was measured, where that is more than
its usual: "hgx-h200@all@device" are all nodes, and the memory of GPUs. checks/ name tables so, for ReFrame.

A size is such a word too: nothing that was measured with another one is held against "hgx-h200@1MiB", nor against
"NET@4096" of a sweep. A table that says none is for the program's own sizes, which differ from test case to test case
and from back end to back end: it is compared with whatever a record holds, for nobody can say more.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..record.collective import USUAL, extent_of, is_collective, is_simulation, library_of
from ..record.collective import variant_of as asked_for
from ..record.units import SUFFIXES

SWEEP = "@sweep"
#: What a check measures beyond its machine, by a word of its name in ReFrame; in the order of the checks.
VARIANTS = [
    (r"%extent=all\b", "@all"),
    (r"^crossnode_device_matrix\b", "@device"),
    *((rf"%pairs={pairs}\b", f"@{pairs}-pairs") for pairs in (1, 4, 8)),
    (r"^(crossnode_(sweep|pairs|device_pairs)|peer_osu(_crossnode|_pairs)?)\b", SWEEP),
    (r"^crossnode_matchings\b", "@matchings"),
    (r"^crossnode_device_pairs\b", "@device"),
    *((rf"%route={route}\b", f"@{route}") for route in ("staged", "without_gdrcopy", "without_gpudirect")),
]
WORDS = {word for _, word in VARIANTS}
#: The checks of some of the nodes' ranks at once, by whether between the memory of devices.
PAIRS = {False: "crossnode_pairs", True: "crossnode_device_pairs"}
#: Checks that have no references of their own: they measure what others have them for.
FOR_OTHERS = ("node_sweep",)
#: The checks of collectives, by engine and whether there are several nodes.
COLLECTIVES = {
    ("nccl", False): "device_collectives",
    ("nccl", True): "node_device_collectives",
    ("mpi", False): "rank_collectives",
    ("mpi", True): "node_collectives",
}
#: Those of simulations, by whether ranks take part and whether there are several nodes.
SIMULATIONS = {(False, False): "device_scaling", (True, False): "rank_scaling", (True, True): "node_scaling"}
COLLECTIVE = "collective_perf"  # of collectives on nobody knows how many nodes, and of NCCL's pairs of several
SENDS = "device_sends"  # of NCCL's pairs on one node


def size_of(table: str) -> int | None:
    """The bytes that a table of references says it is for, 1048576 of "hgx-h200@1MiB"; None where it says no size."""
    for word in table.split("@")[1:]:
        match = re.fullmatch(r"(\d+)([A-Za-z]*)", word)
        if match and match[2] in SUFFIXES:
            return int(match[1]) * SUFFIXES[match[2]]
    return None


def asking_check(record: Mapping[str, Any]) -> str:
    """The check that asked for a record and has references of its own, "" for none."""
    asked = str(record.get("asked_by") or "").partition(" ")[0]
    return "" if asked in FOR_OTHERS else asked


def check_of(record: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """The check that asked for a result of the record; where none did, the one that measures the same."""
    asked = asking_check(record)
    if asked:
        return asked
    if is_simulation(result):
        return SIMULATIONS[record["backend"] == "mpi", (extent_of(record).nodes or 1) > 1]
    if is_collective(result):
        nodes = extent_of(record).nodes
        return COLLECTIVE if nodes is None else COLLECTIVES[result["engine"], nodes > 1]
    nodes, on_device = {device["node"] for device in record["devices"]}, result["memory"] == "device"
    if result["engine"] == "nccl":
        return SENDS if len(nodes) == 1 else COLLECTIVE
    if result["engine"] != "mpi" and record["backend"] != "mpi":
        return "intranode_p2p"
    if result.get("pairs"):
        return PAIRS[on_device]
    if len(nodes) > 1:
        return "crossnode_device_matrix" if on_device else "crossnode_matrix"
    return "process_p2p" if on_device else "rank_p2p"


def variant_of(record: Mapping[str, Any]) -> str:
    """What of the machine was measured, "@all@device", as far as the check's name says it; "" for the usual."""
    asked_by = record.get("asked_by") or ""
    return "".join(word for pattern, word in VARIANTS if re.search(pattern, asked_by))


def way_between_devices(record: Mapping[str, Any], result: Mapping[str, Any], variant: str = "") -> str:
    """By which way messages between devices went, "mpi, without gdrcopy"; "" of other matrices.

    variant: of the test, where it is known.
    """
    if result["memory"] != "device" or result["engine"] != "mpi":
        return ""
    words = (variant or variant_of(record)).split("@")
    left_out = [word.replace("_", " ") for word in words if word.startswith("without_")]
    return ", ".join([str(result["transport"]), *left_out])


def told_apart(record: Mapping[str, Any], result: Mapping[str, Any], variant: str = "") -> str:
    """What tells results of one test case and size apart, ", 4 pairs, device memory, staged"; of collectives where they
    ran and by which library, unless by NCCL; of simulations whether on cores of a host; of other programs which one it
    was. variant: of the test, where it is known.
    """
    program = (record.get("imported") or {}).get("program")
    by = f", by {program}" if program else ""
    if is_collective(result):
        library = "cores of a host" if is_simulation(result) and result["memory"] == "host" else library_of(result)
        return f", {extent_of(record)}" + (f", {library}" if library not in ("", USUAL) else "") + by
    way = way_between_devices(record, result, variant)
    return asked_for(result) + (f", device memory, {way}" if way else "") + by


def is_known(testcase: str) -> bool:
    """Whether the name of a test case contains all that decides what was measured: engine, buffers, collective."""
    return "_unknown_" not in testcase


def without_variant(table: str) -> str:
    """The name of a table without the words of VARIANTS: the machine and a size, or what is misspelt."""
    machine, *words = table.split("@")
    return "@".join([machine, *(word for word in words if f"@{word}" not in WORDS)])


def with_variant(table: str, variant: str) -> str:
    """The table of a machine for what was measured; a name that says it already stays."""
    return table if "@" in table else table + variant
