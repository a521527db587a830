"""The least tolerances, by the carrier of the data. Measured noise can only increase a tolerance.

The name of a test case does not determine its carrier: NVLink, a network, or the processors' shared memory.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple


class Floor(NamedTuple):
    """The least tolerances below and above a reference, as fractions."""

    lower: float
    upper: float


class Carrier(Enum):
    """The hardware that transfers the data of a cell."""

    LINK = "engines of GPUs over their own links"
    HOST = "engines of GPUs, to and from host memory"
    STAGED = "engines of GPUs by way of host memory"
    PROCESSOR = "threads or ranks of a machine over its memory"
    NETWORK = "between nodes, from the host memory of ranks"
    FABRIC = "between nodes, from the memory of GPUs"


#: Bandwidth, with a reference. One NVLink of 18 is 5.6 %. Transfers by processors vary with the load.
#: Host memory: a PCIe link that lost lanes or a generation is 50 % slower. Undisturbed cells of 2 × H200 in a virtual
#: machine were up to 4.3 % slower in 5 of 18 runs, for up to a second; the host showed no cause. Two ranks there had
#: 11.9 to 16.0 GB/s in 44 undisturbed runs, with a median of 13.2 GB/s.
FLOORS = {
    Carrier.LINK: Floor(0.02, 0.05),
    Carrier.HOST: Floor(0.08, 0.10),
    Carrier.STAGED: Floor(0.05, 0.10),
    Carrier.PROCESSOR: Floor(0.20, 0.30),
    Carrier.NETWORK: Floor(0.03, 0.10),
    Carrier.FABRIC: Floor(0.03, 0.10),
}
#: Carriers whose cells do not vary with the load of the processors.
STEADY = (Carrier.LINK, Carrier.HOST, Carrier.NETWORK, Carrier.FABRIC)
#: Bandwidth, without a reference: only the cells of the run show its noise. They may lower a floor above `noise.ROUGH`.
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
    """The carrier of the cells of a link class. backend: of the record, if known."""
    of_ranks = result["memory"] == "host" and result["engine"] == "mpi"
    if link_class == "NET":
        return Carrier.NETWORK if of_ranks else Carrier.FABRIC
    if backend == "host" or of_ranks:
        return Carrier.PROCESSOR
    if result["transport"] == "staged":
        return Carrier.STAGED
    return Carrier.HOST if result["memory"] == "host" else Carrier.LINK


def floor_of(result: Mapping[str, Any], link_class: str, backend: str = "") -> Floor:
    """The least tolerances of a reference."""
    return LATENCY if result["unit"] == "us" else FLOORS[carrier_of(result, link_class, backend)]


def floor_of_ranks(unit: str, link_class: str) -> float:
    """The smaller floor of a matrix between ranks. Only such matrices are too large for their record."""
    carrier = Carrier.NETWORK if link_class == "NET" else Carrier.PROCESSOR
    return min(LATENCY if unit == "us" else FLOORS[carrier])


def floor_alone(result: Mapping[str, Any], link_class: str, backend: str = "") -> float:
    """The least deviation from its link class, as a fraction, of a slow cell without a reference."""
    return min(LATENCY) if result["unit"] == "us" else ALONE[carrier_of(result, link_class, backend)]
