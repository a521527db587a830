"""The least tolerances: which carrier a cell has, and what that allows with references and without."""

import faults
import pytest

from linkmatrix.references import noise
from linkmatrix.references.noise import Carrier, Floor

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
    assert noise.cell_carrier(result, link_class, backend) is carrier
    assert noise.reference_floor(result, link_class, backend) == noise.FLOORS[carrier]
    assert noise.floor_without_reference(result, link_class, backend) == noise.FLOORS_WITHOUT_REFERENCE[carrier]
    latency = result | {"unit": "us"}
    assert noise.reference_floor(latency, link_class, backend) == Floor(0.25, 0.20)
    assert noise.floor_without_reference(latency, link_class, backend) == 0.20


def test_a_reference_lets_no_more_pass_than_there_is_without_one():
    """But for ranks and threads of a node: their runs differ more than the cells of one run."""
    assert noise.FLOORS[Carrier.PROCESSOR].lower == 0.20
    for carrier, floor in noise.FLOORS.items():
        if carrier is Carrier.PROCESSOR:
            continue
        alone = noise.FLOORS_WITHOUT_REFERENCE[carrier]
        assert floor.lower <= (alone if alone < noise.ROUGH_FLOOR else noise.LEAST_ROUGH_FLOOR), carrier
    assert (
        noise.FLOORS_WITHOUT_REFERENCE[Carrier.PROCESSOR]
        == faults.RANKS
        > noise.ROUGH_FLOOR
        > noise.FLOORS_WITHOUT_REFERENCE[Carrier.LINK]
    )
