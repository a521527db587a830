"""Compares settings and states of the GPUs with the expected configuration, and GPUs with each other."""

from collections.abc import Iterator, Mapping
from typing import Any

from .inventory_diff import difference_sentences
from .verdicts import Reason, failed, mismatch, missing

Json = Mapping[str, Any]

HEALTHY_FABRIC = ("completed", "not supported")
#: {name of a state: (value that is faulty on every machine, sentence)}
FAULTY_STATES = {
    "remap_pending": ("yes", "memory rows wait for remapping: reset the device"),
    "remap_failed": ("yes", "a memory row could not be remapped: ask the vendor for a replacement"),
    "pages_pending": ("yes", "memory pages wait for retirement: reset the device"),
    "fabric_bandwidth_degraded": ("yes", "its NVLink fabric has reduced bandwidth"),
    "fabric_route_unhealthy": ("yes", "a route of its NVLink fabric is not healthy"),
}
PART_FACTS = ("vbios", "firmware", "board")  # facts in a device's `part`; other facts are in its `state`


def state_faults(record: Json, expected: Any) -> list[Reason]:
    """Reasons for devices whose state is faulty or differs from the expected state.

    expected: {name of a state: value}, from extras['device_state'] of the partition; None if the partition has none.
    """
    if not isinstance(expected, dict | None):
        return missing("extras['device_state'] of the partition must contain names and values, such as {'ecc': 'on'}")
    reasons: list[Reason] = []
    for device in record["devices"]:
        state, label = device.get("state", {}), device["label"]
        reasons += failed(*(f"{label}: {one}" for one in faulty_states(state)))
        for found, sentence in unexpected_states(state, expected or {}):
            reasons += mismatch(found, f"{label}: {sentence}")
    return reasons


def faulty_states(state: Json) -> Iterator[str]:
    """Yields sentences about states of a device that are faulty on every machine."""
    yield from (text for name, (bad, text) in FAULTY_STATES.items() if state.get(name) == bad)
    fabric, status = state.get("fabric_state", "completed"), state.get("fabric_status", "0")
    if fabric not in HEALTHY_FABRIC:
        yield f"its NVLink fabric is '{fabric}', not 'completed': check the fabric manager"
    elif status != "0":
        yield f"its registration with the NVLink fabric ended with error {status}: check the fabric manager"
    width, most = state.get("pcie_width", ""), state.get("pcie_width_most", "")
    if width.isdigit() and most.isdigit() and int(width) < int(most):
        yield f"its PCIe link uses {width} of {most} lanes"


def unexpected_states(state: Json, expected: Json) -> Iterator[tuple[Any, str]]:
    """Yields (found value, sentence) for each state that differs from the expected state.

    The found value is None if the record does not contain the state.
    """
    for name, wanted in expected.items():
        found = state.get(name)
        if found != str(wanted):
            actual = "is not known" if found is None else f"is {found}"
            yield found, f"{name} {actual}, the partition specifies {wanted}"


def unequal_faults(record: Json, equal: tuple[str, ...]) -> list[Reason]:
    """FAIL reasons for devices that differ from the other devices, or INCOMPLETE reasons for unknown facts.

    equal: names of the facts that must be equal on all devices, such as "driver".
    """
    reasons: list[Reason] = []
    for name in equal:
        found = {device["label"]: fact_of(record, device, name) for device in record["devices"]}
        unknown = [label for label, fact in found.items() if not fact]
        reasons += missing(*(f"{label}: {name} is not known" for label in unknown)) or failed(
            *difference_sentences(name, found)
        )
    return reasons


def fact_of(record: Json, device: Json, name: str) -> str:
    """A fact of a device, such as its driver version; "" if unknown."""
    if name == "driver":
        return str(record["software"].get("driver", ""))
    return str((device["part"] if name in PART_FACTS else device.get("state", {})).get(name, ""))
