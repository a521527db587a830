"""The keys of references: the check that measured a result, and the variant of the measurement.

The name of a table of references is the name of the machine, followed by '@' and a word for each difference from the
usual measurement. Example: "hgx-h200@all@device" is for all nodes and GPU memory. The checks pass these names to
ReFrame.

A word can be a size, as in "hgx-h200@1MiB". A row of a sweep can also contain a size, as in "NET@4096". References with
a size apply only to results of this size. A table without a size applies to results of any size, because the default
size depends on test case and back end.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..record.names import (
    DEFAULT_LIBRARY,
    collective_extent,
    collective_library,
    is_collective,
    is_simulation,
    option_text,
)
from ..record.units import SUFFIXES

SWEEP = "@sweep"
#: (pattern of a check's name in ReFrame, word of the variant), in the order in which checks add the words.
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
#: {whether the buffers are in GPU memory: the check with concurrent pairs of ranks}.
PAIRS = {False: "crossnode_pairs", True: "crossnode_device_pairs"}
#: Checks without references of their own. They use the references of the check that measures the same.
BORROWING_CHECKS = ("node_sweep",)
#: {(engine, whether on several nodes): the check of collectives}.
COLLECTIVES = {
    ("nccl", False): "device_collectives",
    ("nccl", True): "node_device_collectives",
    ("mpi", False): "rank_collectives",
    ("mpi", True): "node_collectives",
}
#: {(whether on several ranks, whether on several nodes): the check of simulations}.
SIMULATIONS = {(False, False): "device_scaling", (True, False): "rank_scaling", (True, True): "node_scaling"}
COLLECTIVE = "collective_perf"  # collectives on an unknown number of nodes, and NCCL's sends between nodes
SENDS = "device_sends"  # NCCL's sends inside a node


def table_size(table: str) -> int | None:
    """The size in the name of a table, in bytes: 1048576 for "hgx-h200@1MiB"; None for a name without a size."""
    for word in table.split("@")[1:]:
        match = re.fullmatch(r"(\d+)([A-Za-z]*)", word)
        if match and match[2] in SUFFIXES:
            return int(match[1]) * SUFFIXES[match[2]]
    return None


def requesting_check(record: Mapping[str, Any]) -> str:
    """The name of the check that requested a record.

    The name is "" if no check requested the record, or if the check uses the references of other checks.
    """
    asked = str(record.get("asked_by") or "").partition(" ")[0]
    return "" if asked in BORROWING_CHECKS else asked


def measuring_check(record: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """The name of the check whose references apply to a result.

    This is the check that requested the result. If no check requested the result, the check that measures the same.
    """
    asked = requesting_check(record)
    if asked:
        return asked
    if is_simulation(result):
        return SIMULATIONS[record["backend"] == "mpi", (collective_extent(record).nodes or 1) > 1]
    if is_collective(result):
        nodes = collective_extent(record).nodes
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


def measured_variant(record: Mapping[str, Any]) -> str:
    """The words for the differences from the usual measurement, such as "@all@device"; "" without a difference.

    The words follow from the name of the check that requested the record. They are part of the names of references.
    """
    asked_by = record.get("asked_by") or ""
    return "".join(word for pattern, word in VARIANTS if re.search(pattern, asked_by))


def device_route(record: Mapping[str, Any], result: Mapping[str, Any], variant: str = "") -> str:
    """The route of MPI messages between GPUs, such as "mpi, without gdrcopy"; "" for results without such messages.

    variant: the variant words of the test; if "", the variant words of the record.
    """
    if result["memory"] != "device" or result["engine"] != "mpi":
        return ""
    words = (variant or measured_variant(record)).split("@")
    left_out = [word.replace("_", " ") for word in words if word.startswith("without_")]
    return ", ".join([str(result["transport"]), *left_out])


def distinguishing_words(record: Mapping[str, Any], result: Mapping[str, Any], variant: str = "") -> str:
    """The words that distinguish a result from other results of the same test case and size.

    * between endpoints: options and route, such as ", 4 pairs, device memory, staged"
    * collectives: numbers of nodes and ranks, and the library unless the library is NCCL
    * simulations on the cores of a host: numbers of nodes and ranks, and "cores of a host"

    For results of other programs, the words also contain the name of the program. variant: see `device_route`.
    """
    program = (record.get("imported") or {}).get("program")
    by = f", by {program}" if program else ""
    if is_collective(result):
        on_host = is_simulation(result) and result["memory"] == "host"
        library = "cores of a host" if on_host else collective_library(result)
        return f", {collective_extent(record)}" + (f", {library}" if library not in ("", DEFAULT_LIBRARY) else "") + by
    way = device_route(record, result, variant)
    return option_text(result) + (f", device memory, {way}" if way else "") + by


def is_known(testcase: str) -> bool:
    """Whether the name of a test case contains no word "unknown" for its engine, buffer or collective."""
    return "_unknown_" not in testcase


def without_variant(table: str) -> str:
    """The name of a table without the words in VARIANTS. Example: "hgx@1MiB" for "hgx@all@1MiB"."""
    machine, *words = table.split("@")
    return "@".join([machine, *(word for word in words if f"@{word}" not in WORDS)])


def with_variant(table: str, variant: str) -> str:
    """The name of a table with the variant words added. A name that already contains '@' stays unchanged."""
    return table if "@" in table else table + variant
