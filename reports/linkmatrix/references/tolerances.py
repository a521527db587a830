"""The least tolerances: what runs without noise still allow, by what carries the data. The noise itself is measured.

No test case's name says it: the same one may go over NVLink, over a network or through the processors' shared memory.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple


class Floor(NamedTuple):
    """The least tolerance, below and above, as fractions: what noise-free runs still allow."""

    lower: float
    upper: float


class Carrier(Enum):
    """What carries the data of a cell."""

    LINK = "engines of GPUs over their own links"
    HOST = "engines of GPUs, to and from host memory"
    STAGED = "engines of GPUs by way of host memory"
    PROCESSOR = "threads or ranks of a machine over its memory"
    NETWORK = "between nodes, from the host memory of ranks"
    FABRIC = "between nodes, from the memory of GPUs"


#: Bandwidth, of a reference. One NVLink of 18 is 5.6 %; what goes through processors varies with what else runs there.
#: Host memory: a PCIe link that lost lanes or a generation is 50 % slower. Undisturbed cells of 2 × H200 in a virtual
#: machine were up to 4.3 % slower in 5 of 18 runs, for a second or less each; the host showed no cause. Two ranks there
#: had 11.9 to 16.0 GB/s in 44 undisturbed runs, by the run: their median is 13.2 GB/s.
FLOORS = {
    Carrier.LINK: Floor(0.02, 0.05),
    Carrier.HOST: Floor(0.08, 0.10),
    Carrier.STAGED: Floor(0.05, 0.10),
    Carrier.PROCESSOR: Floor(0.20, 0.30),
    Carrier.NETWORK: Floor(0.03, 0.10),
    Carrier.FABRIC: Floor(0.03, 0.10),
}
#: Carriers whose cells vary from look to look by what they are themselves, not by what else runs on their processors.
STEADY = (Carrier.LINK, Carrier.HOST, Carrier.NETWORK, Carrier.FABRIC)
#: Bandwidth, without references: the noise of one run is known from its own cells only. From ROUGH of `noise` on, those
#: must say that it is less.
ALONE = {
    Carrier.LINK: 0.02,
    Carrier.HOST: 0.08,
    Carrier.STAGED: 0.20,
    Carrier.PROCESSOR: 0.50,
    Carrier.NETWORK: 0.50,
    Carrier.FABRIC: 0.05,
}
LATENCY = Floor(0.25, 0.20)


def carrier_of(result: Mapping[str, Any], link_class: str, backend: str = "") -> Carrier:
    """What carries the cells of a link class of a result. backend: the record's, where it is known."""
    of_ranks = result["memory"] == "host" and result["engine"] == "mpi"
    if link_class == "NET":
        return Carrier.NETWORK if of_ranks else Carrier.FABRIC
    if backend == "host" or of_ranks:
        return Carrier.PROCESSOR
    if result["transport"] == "staged":
        return Carrier.STAGED
    return Carrier.HOST if result["memory"] == "host" else Carrier.LINK


def floor_of(result: Mapping[str, Any], link_class: str, backend: str = "") -> Floor:
    """The least tolerance of a reference."""
    return LATENCY if result["unit"] == "us" else FLOORS[carrier_of(result, link_class, backend)]


def floor_of_ranks(unit: str, link_class: str) -> float:
    """As `floor_of`, of a matrix so large that it can only be one of ranks."""
    carrier = Carrier.NETWORK if link_class == "NET" else Carrier.PROCESSOR
    return min(LATENCY if unit == "us" else FLOORS[carrier])


def floor_alone(result: Mapping[str, Any], link_class: str, backend: str = "") -> float:
    """By how much a cell may at least be worse than its link class, where it has no reference."""
    return min(LATENCY) if result["unit"] == "us" else ALONE[carrier_of(result, link_class, backend)]
