"""The devices of a record as a table of the page: of many the odd ones first, the others folded."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .machine_marks import Mark

MOST = 16  # that stand there unfolded
MOST_ODD = 64  # of these; where more are odd, none is
COLUMNS = ("label", "name", "uuid", "pci", "node", "numa")
#: what is a device's own, and differs from that of every other
OWN = ("uuid", "serial")
#: facts that change from one look to the next
RESTLESS = ("pcie_generation", "pages_pending")

Device = Mapping[str, Any]


def device_table(record: Mapping[str, Any], marks: Iterable[Mark] = ()) -> dict[str, Any]:
    """What the page needs: `folded`, what stands over the fold; `odd`, devices with what is odd; and all of them."""
    devices = record["devices"]
    rows = [row(device) for device in devices]
    if len(devices) <= MOST:
        return {"devices": rows, "folded": "", "odd": []}
    nodes = len({device["node"] for device in devices})
    folded = f"All {len(devices):,} devices" + (f" of {nodes:,} nodes" if nodes > 1 else "")
    odd = [{**row(device), "why": "; ".join(why)} for device, why in odd_devices(devices, list(marks)) if why]
    return {"devices": rows, "folded": folded, "odd": odd[:MOST_ODD], "more": max(0, len(odd) - MOST_ODD)}


def row(device: Device) -> dict[str, Any]:
    """A line of the table."""
    return {name: "–" if device[name] in (None, "") else device[name] for name in COLUMNS}


def odd_devices(devices: list[Device], marks: list[Mark]) -> Iterator[tuple[Device, list[str]]]:
    """Each device, and what is odd of it: what is at fault there, and each fact that most others have otherwise."""
    usual = usual_facts(devices)
    for device in devices:
        facts = dict(facts_of(device))
        differs = [f"{name} is {facts.get(name, 'not known')}, most have {most}" for name, most in usual.items()]
        why = [line for (name, most), line in zip(usual.items(), differs, strict=True) if facts.get(name) != most]
        yield device, [*suspected(device, marks), *why]


def suspected(device: Device, marks: Iterable[Mark]) -> Iterator[str]:
    """What findings say of a device, of an adapter near to it or of its node."""
    for mark in marks:
        for kind, part in mark.parts:
            adapter = kind == "adapter" and part[0] == device["node"] and part[1] in device["nics"]
            if adapter or (kind == "device" and part == device["label"]) or (kind == "node" and part == device["node"]):
                yield f"{mark.who}: {mark.word}"


def facts_of(device: Device) -> Iterator[tuple[str, str]]:
    """What of a device may be compared with that of others."""
    yield "model", device["name"]
    yield from ((name, fact) for name, fact in device["part"].items() if name not in OWN)
    yield from ((name, fact) for name, fact in device.get("state", {}).items() if name not in RESTLESS)


def usual_facts(devices: list[Device]) -> dict[str, str]:
    """{fact: what more than half of the devices have}, of facts that are not the same for all."""
    counts: dict[str, Counter[str]] = {}
    for device in devices:
        for name, fact in facts_of(device):
            counts.setdefault(name, Counter())[fact] += 1
    found = {name: of.most_common(1)[0] for name, of in counts.items()}
    return {name: fact for name, (fact, count) in found.items() if len(devices) / 2 < count < len(devices)}
