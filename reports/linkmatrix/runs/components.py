"""The identities of components (devices and adapters) and slots. A component keeps its identity in any slot.

| | identified by the first known property of |
|---|---|
| device | serial number, UUID |
| adapter | serial number, GUID or MAC address |
| slot (with its node) | slot name, PCI address or port, label |

Records differ in their content, so facts of several records are combined:

* Two node names that differ only in their domain are the same node.
* If a record has both the UUID and the serial number of a device, both identify this component in all records.
* If a record has both the PCI address and the slot name, both identify this slot in all records.

These numbers identify no component:

* a serial number or slot name that two devices of a record share, because the number or name belongs to their board
* a PCI address that two devices share, because they are parts of one GPU
* a number that is in two slots at the same time, or moves back and forth, because the number is a placeholder or not
  unique
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import BadInput, clean
from ..record.names import short

GPU, ADAPTER, NODE, OTHER = "GPU", "adapter", "node", "device"
UNKNOWN = {"", "0", "N/A", "[N/A]", "Unknown", "None"}  # texts of firmware without a serial number
MAC = re.compile(r"(?i:[0-9a-f]{2}:){5}(?i:[0-9a-f]{2})")
MOST_RETURNS = 2  # of a component to an earlier slot: swapping for a test takes one or two

Device = tuple[str, str]  # (node, UUID or else serial number or label); for a node, (name, name)
Slot = tuple[str, str]  # (node, slot name, PCI address, port or label); for a node, (name, "")


class Sighting(NamedTuple):
    """A component in a slot, as the record of one run describes the component and the slot. Unknown fields are ""."""

    node: str
    label: str
    slot: str = ""
    pci: str = ""
    serial: str = ""
    uuid: str = ""
    kind: str = OTHER
    driver: str = ""  # version of the node's GPU driver

    @property
    def texts(self) -> list[str]:
        """The serial number and the UUID, if known."""
        return [text for text in (self.serial, self.uuid) if text]


class Component(NamedTuple):
    """The identity of a component: a word ("serial", "UUID", "GUID" or "MAC") and its text.

    If no record identifies the component, the word is "", and the text is the slot.
    """

    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.word} {self.text}" if self.word else f"that was at {self.text}"


class ComponentNames:
    """Assigns one identity to each component and slot. sightings: (time, sighting) of all runs, in order of time."""

    def __init__(self, sightings: Iterable[tuple[str, Sighting]]) -> None:
        every = list(sightings)
        each = {id(one): one for _, one in every}  # most runs share their objects
        self.serial_of: dict[str, str] = {}
        self.slot_of: dict[Slot, str] = {}
        for one in each.values():
            if one.serial and one.uuid:
                self.serial_of[one.uuid] = one.serial
            if one.slot and one.pci:
                self.slot_of[short(one.node), one.pci] = one.slot
        slots: dict[str, set[Slot]] = {}
        for one in each.values():
            for text in one.texts:
                slots.setdefault(text, set()).add(self.slot(one))
        moved = {text for text, text_slots in slots.items() if len(text_slots) > 1}
        numbers = {number for number, one in each.items() if not moved.isdisjoint(one.texts)}
        self.ambiguous = self.ambiguous_numbers(both for both in every if id(both[1]) in numbers)

    def ambiguous_numbers(self, sightings: Iterable[tuple[str, Sighting]]) -> set[str]:
        """The serial numbers and UUIDs that cannot identify one component."""
        last: dict[str, tuple[str, Slot]] = {}
        earlier: dict[str, set[Slot]] = {}
        returns: Counter[str] = Counter()
        found = set()
        for when, one in sightings:
            slot = self.slot(one)
            for text in one.texts:
                before = last.get(text)
                if before is not None and before[1] != slot:
                    slots = earlier.setdefault(text, {before[1]})
                    returns[text] += slot in slots
                    slots.add(slot)
                    if before[0] == when or returns[text] > MOST_RETURNS:
                        found.add(text)
                last[text] = (when, slot)
        return found

    def component(self, sighting: Sighting) -> Component:
        """The identity of the component of a sighting; its slot if no record identifies the component."""
        other = ("MAC" if MAC.fullmatch(sighting.uuid) else "GUID") if sighting.kind == ADAPTER else "UUID"
        for word, text in (
            ("serial", sighting.serial or self.serial_of.get(sighting.uuid, "")),
            (other, sighting.uuid),
        ):
            if text and text not in self.ambiguous:
                return Component(word, text)
        return Component("", slot_name(self.slot(sighting)))

    def slot(self, sighting: Sighting) -> Slot:
        """The identity of the slot of a sighting."""
        node = short(sighting.node)
        if sighting.kind == NODE:
            return node, ""
        return node, sighting.slot or self.slot_of.get((node, sighting.pci), "") or sighting.pci or sighting.label


def slot_name(slot: Slot) -> str:
    """The printed name of a slot, such as "n12/slot 3", "n12/module 3" or "n12/0000:18:00.0". For a node: "n12"."""
    node, name = slot
    return f"{node}/slot {name}" if re.fullmatch(r"[0-9-]+", name) else f"{node}/{name}".rstrip("/")


def parse_slot(text: str, option: str) -> Slot:
    """Parses the text of a slot, such as "n12/3" or "n12/slot 3"; "n12" is a node. Raises BadInput.

    option: the command-line option that contains the text, for the error message.
    """
    node, _, slot = text.strip().partition("/")
    slot = re.sub(r"^slot\s+", "", slot.strip())
    if not re.fullmatch(r"[^\s/]+", node) or (("/" in text) != bool(slot)) or clean(text) != text:
        raise BadInput(f"{option} '{text}' is not a slot: write NODE/SLOT, such as n12/3")
    return node, slot


def matches_slot(slot: Slot, wanted: Slot) -> bool:
    """Whether a slot matches `wanted`. The name "3" matches "slot 3" and "module 3".

    If `wanted` is a node, every slot of the node matches.
    """
    if short(slot[0]) != short(wanted[0]):
        return False
    return wanted[1] in ("", slot[1]) or slot[1].partition(" ")[2] == wanted[1]


def is_component(sighting: Sighting, text: str) -> bool:
    """Whether `text` is the serial number or UUID of the component in a sighting."""
    return text.casefold() in (sighting.serial.casefold(), sighting.uuid.casefold())


def device_sightings(record: Mapping[str, Any]) -> dict[str, Sighting]:
    """Returns {device label: sighting} of a record.

    The label in a sighting contains the number of a rank inside its node. The rank number in the job is not used,
    because this number differs from job to job. Serial numbers, slots and PCI addresses that several devices share are
    left out (see the docstring of this module).
    """
    devices = record["devices"]
    boards = shared_texts(devices, lambda device: device["part"].get("serial", ""))
    slots = shared_texts(devices, lambda device: device["place"].get("slot", ""))
    divided = shared_texts(devices, pci_address)
    found, ranks, driver = {}, Counter[str](), driver_version(record)
    for device in devices:
        node, part, place = device["node"], device["part"], device["place"]
        label = device["label"].removeprefix(f"{node}:")
        if label.startswith("rank"):
            label = f"rank{ranks[node]}"
            ranks[node] += 1
        serial, slot = part.get("serial", "").strip(), place.get("slot", "").strip()
        pci = pci_address(device)
        uuid = device["uuid"] or part.get("uuid") or ""
        known = "" if serial in UNKNOWN or (node, serial) in boards else serial
        at = "" if (node, slot) in slots else slot
        kind = GPU if record["backend"] == "cuda" and (pci or uuid or known) else OTHER
        where = at, "" if (node, pci) in divided else pci
        found[device["label"]] = Sighting(node, label, *where, known, uuid, kind, driver)
    return found


def endpoint_sightings(record: Mapping[str, Any]) -> dict[str, tuple[Device, Sighting]]:
    """Returns {endpoint label: (device, sighting)} of a record. An endpoint may also be a node."""
    found = {
        label: ((one.node, one.uuid or one.serial or one.label), one) for label, one in device_sightings(record).items()
    }
    nodes = {device["node"] for device in record["devices"]} - found.keys()
    named = {label for result in record["results"] for label in result["rows"]} & nodes
    driver = driver_version(record)
    return found | {node: ((node, node), Sighting(node, node, kind=NODE, driver=driver)) for node in named}


def node_components(record: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
    """Returns {node: {"driver": version, slot: serial number or UUID of the device}} of a record.

    Nodes without an identified device are left out, such as the nodes of a record of host memory.
    """
    found: dict[str, dict[str, str]] = {}
    for one in device_sightings(record).values() if record is not None else ():
        if one.texts:
            slots = found.setdefault(short(one.node), {"driver": one.driver} if one.driver else {})
            slots[one.slot or one.pci or one.label] = one.texts[0]
    return found


def driver_version(record: Mapping[str, Any]) -> str:
    """The version of the GPU driver; "" if the record does not contain the version."""
    return str(record["software"].get("driver") or "")


def pci_address(device: Mapping[str, Any]) -> str:
    """The PCI address of a device; "" if unknown. All MIG slices of a GPU have the address of the GPU."""
    return str(device["pci"] or device["place"].get("pci") or "").lower()


def shared_texts(
    devices: Iterable[Mapping[str, Any]], text_of: Callable[[Mapping[str, Any]], str]
) -> set[tuple[str, str]]:
    """Returns the set of (node, text) for each text that several devices of the node share.

    Two ranks with the same GPU are one device. text_of: returns the serial number, slot or address of a device.
    """
    found = {
        (device["node"], text_of(device), device["uuid"] or device["pci"] or device["label"]) for device in devices
    }
    counts = Counter((node, text) for node, text, _ in found)
    return {key for key, count in counts.items() if count > 1}


def adapter_sightings(record: Mapping[str, Any]) -> dict[tuple[str, str], Sighting]:
    """Returns {(node, name): sighting} of the identified adapters. A name is "mlx5_0", or "mlx5_0:2" for port 2."""
    found = {}
    for one in record["adapters"]:
        place, part = one["place"], one["part"]
        node, port = place.get("node", record["host"]["name"]), place.get("port", "")
        name = f"{one['name']}:{port}" if port not in ("", "1") else one["name"]
        pci = place.get("pci", "").lower()
        where = f"{pci} port {port}" if pci and port not in ("", "1") else pci
        known = part.get("guid") or part.get("mac") or ""
        if known.strip("0:"):  # the address of a virtual function may consist of zeros
            serial = part.get("serial", "")
            at = place.get("slot", ""), where
            found[node, name] = Sighting(node, name, *at, serial, known, ADAPTER, driver_version(record))
    return found
