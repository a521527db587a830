"""Names and types of records: units, pairs of endpoints, and the names of endpoints that outlast a job."""

import re
from collections.abc import Sequence
from typing import Any

UNITS = ("GB/s", "us", "GFLOP/s")  # 1e9 bytes a second; microseconds; 1e9 operations a second
MESSAGE_RATE = "msg/s"  # of a further matrix
HANDOVER = "handover"  # quantity of a visibility test: what counts is the words, and its time promises nothing
UNKNOWN = "unknown"  # link class
PCI_CLASSES = ("PIX", "PXB", "PHB", "NODE", "SYS")  # link classes of nvidia-smi inside a node, from the nearest on
DIRECT = re.compile(r"(NV|ICN)(\d{1,4})")  # link class of direct links: their kind and their number
FEW_CELLS = 3  # of a class: up to so many are compared with the best of them, because their median may be a faulty cell
Pair = tuple[str, str]  # source, destination
Record = dict[str, Any]
Result = dict[str, Any]  # one entry of a record's `results`


def lasting_names(testcase: str, labels: Sequence[str]) -> list[str]:
    """What references and performance variables call the endpoints `labels`, in their order.

    A job gets other nodes each time, so a rank "n17:gpu3" is "rank19", and of a matrix of nodes "n17" is "node2". Where
    all are of one node, it is what stands behind the node: the GPUs of a node keep their numbers, whichever node it is,
    and one process a GPU measures what a single process does, under the same names.
    """
    if testcase.startswith("node_to_node_"):
        return [f"node{number}" for number in range(len(labels))]
    if len({label.partition(":")[0] for label in labels if ":" in label}) == 1:
        return [label.rpartition(":")[2] for label in labels]
    return [f"rank{number}" if ":" in label else label for number, label in enumerate(labels)]
