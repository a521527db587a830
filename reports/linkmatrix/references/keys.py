"""The keys of references: the check that measured a result, and the variant that it measured.

The name of a table of references is the name of the machine, followed by '@' and a word for each difference from the
usual measurement. "hgx-h200@all@device" is for all nodes, and the memory of GPUs. The checks pass such names to
ReFrame.

A word may be a size. "hgx-h200@1MiB", and "NET@4096" of a sweep, are compared with results of this size only. A table
without a size is for the default sizes of the program. Default sizes differ between test cases and back ends, so such a
table is compared with results of any size.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..record.names import DEFAULT_LIBRARY, collective_extent, collective_library, is_collective, is_simulation
from ..record.names import variant_text as asked_for
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
#: {whether between the memory of GPUs: the check with concurrent pairs of ranks}.
PAIRS = {False: "crossnode_pairs", True: "crossnode_device_pairs"}
#: Checks that use the references of other checks, because they measure the same.
FOR_OTHERS = ("node_sweep",)
#: {(engine, whether on several nodes): the check of collectives}.
COLLECTIVES = {
    ("nccl", False): "device_collectives",
    ("nccl", True): "node_device_collectives",
    ("mpi", False): "rank_collectives",
    ("mpi", True): "node_collectives",
}
#: {(whether with ranks, whether on several nodes): the check of simulations}.
SIMULATIONS = {(False, False): "device_scaling", (True, False): "rank_scaling", (True, True): "node_scaling"}
COLLECTIVE = "collective_perf"  # collectives on an unknown number of nodes, and NCCL's pairs of several nodes
SENDS = "device_sends"  # NCCL's pairs on one node


def size_of(table: str) -> int | None:
    """The size in bytes in the name of a table, 1048576 for "hgx-h200@1MiB"; None without a size."""
    for word in table.split("@")[1:]:
        match = re.fullmatch(r"(\d+)([A-Za-z]*)", word)
        if match and match[2] in SUFFIXES:
            return int(match[1]) * SUFFIXES[match[2]]
    return None


def asking_check(record: Mapping[str, Any]) -> str:
    """The name of the check that requested a record; "" for none, and for checks without their own references."""
    asked = str(record.get("asked_by") or "").partition(" ")[0]
    return "" if asked in FOR_OTHERS else asked


def check_of(record: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """The name of the check that requested a result, else of the check that measures the same."""
    asked = asking_check(record)
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


def variant_text(record: Mapping[str, Any]) -> str:
    """The words of the measured variant, "@all@device", from the name of the check; "" for the usual measurement."""
    asked_by = record.get("asked_by") or ""
    return "".join(word for pattern, word in VARIANTS if re.search(pattern, asked_by))


def way_between_devices(record: Mapping[str, Any], result: Mapping[str, Any], variant: str = "") -> str:
    """The route of messages between GPUs, "mpi, without gdrcopy"; "" for other matrices.

    variant: of the test, if known.
    """
    if result["memory"] != "device" or result["engine"] != "mpi":
        return ""
    words = (variant or variant_text(record)).split("@")
    left_out = [word.replace("_", " ") for word in words if word.startswith("without_")]
    return ", ".join([str(result["transport"]), *left_out])


def distinguishing_words(record: Mapping[str, Any], result: Mapping[str, Any], variant: str = "") -> str:
    """The words that distinguish results of one test case and size, such as ", 4 pairs, device memory, staged".

    Collectives have their numbers of nodes and ranks, and their library unless it is NCCL. Simulations on the cores of
    a host have these words. Results of other programs have the program. variant: of the test, if known.
    """
    program = (record.get("imported") or {}).get("program")
    by = f", by {program}" if program else ""
    if is_collective(result):
        on_host = is_simulation(result) and result["memory"] == "host"
        library = "cores of a host" if on_host else collective_library(result)
        return f", {collective_extent(record)}" + (f", {library}" if library not in ("", DEFAULT_LIBRARY) else "") + by
    way = way_between_devices(record, result, variant)
    return asked_for(result) + (f", device memory, {way}" if way else "") + by


def is_known(testcase: str) -> bool:
    """Whether the name of a test case contains its engine, buffers and collective, and none is unknown."""
    return "_unknown_" not in testcase


def without_variant(table: str) -> str:
    """The name of a table without the words of VARIANTS. Its size and misspelt words stay."""
    machine, *words = table.split("@")
    return "@".join([machine, *(word for word in words if f"@{word}" not in WORDS)])


def with_variant(table: str, variant: str) -> str:
    """The name of a table for a variant. A name that contains '@' stays as it is."""
    return table if "@" in table else table + variant
