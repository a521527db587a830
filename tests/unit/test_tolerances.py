"""The least tolerances: which carrier a cell has, and what that allows with references and without."""

import pytest

from linkmatrix.references import tolerances
from linkmatrix.references.tolerances import Carrier, Floor

GPUS = {"memory": "device", "engine": "ce", "transport": "direct", "unit": "GB/s"}
RANKS = {"memory": "host", "engine": "mpi", "transport": "mpi", "unit": "GB/s"}


@pytest.mark.parametrize(
    ("result", "link_class", "backend", "carrier"),
    [
        (GPUS, "NV18", "", Carrier.LINK),
        (GPUS, "NET", "", Carrier.FABRIC),
        (GPUS | {"transport": "staged"}, "NV18", "", Carrier.STAGED),
        (GPUS | {"transport": "staged"}, "NV18", "host", Carrier.PROCESSOR),
        (GPUS, "CORE", "host", Carrier.PROCESSOR),
        (GPUS | {"memory": "host"}, "HOST", "cuda", Carrier.HOST),
        (GPUS | {"engine": "mpi"}, "NV18", "", Carrier.LINK),
        (RANKS, "NODE", "", Carrier.PROCESSOR),
        (RANKS, "NET", "", Carrier.NETWORK),
        (RANKS | {"memory": "device"}, "NET", "host", Carrier.FABRIC),
    ],
)
def test_what_carries_a_cell_decides_what_it_is_allowed(result, link_class, backend, carrier):
    assert tolerances.carrier_of(result, link_class, backend) is carrier
    assert tolerances.floor_of(result, link_class, backend) == tolerances.FLOORS[carrier]
    assert tolerances.floor_alone(result, link_class, backend) == tolerances.ALONE[carrier]
    latency = result | {"unit": "us"}
    assert tolerances.floor_of(latency, link_class, backend) == Floor(0.25, 0.20)
    assert tolerances.floor_alone(latency, link_class, backend) == 0.20
