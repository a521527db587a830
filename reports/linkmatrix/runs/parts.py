"""Components and slots: the identity of a device or adapter wherever it is, and its location.

A component is identified by its serial number, else by its UUID (an adapter by its GUID, else by its MAC address). A
slot is a node with a slot name, else with a PCI address or port, else with the label.

Records differ in their content. A node with its domain and without it is the same node. A UUID that another record has
together with a serial number is that component. A PCI address that another record has together with a slot is that
slot.

Some numbers identify nothing: a serial number or slot that two devices of a record share is that of a board, and a
shared PCI address that of a divided GPU. A number that is in two slots at the same time, or moves back and forth, was
given twice by its maker or is a placeholder.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import BadInput, clean
from ..record.names import short

GPU, ADAPTER, NODE, OTHER = "GPU", "adapter", "node", "device"
UNKNOWN = {"", "0", "N/A", "[N/A]", "Unknown", "None"}  # what firmware gives for a serial number where it has none
MAC = re.compile(r"(?i:[0-9a-f]{2}:){5}(?i:[0-9a-f]{2})")
MOST_RETURNS = 2  # to a place where it was before: to check which of the two is at fault takes one, or two

Device = tuple[str, str]  # its node, and its UUID, or its label where it has none; of a node itself, its name twice
Place = tuple[str, str]  # its node, and the slot, PCI address, port or label; "" of a node itself


class Sighting(NamedTuple):
    """A component in a slot in a run, in the words of its record; "" if the record does not have the fact."""

    node: str
    label: str
    slot: str = ""
    pci: str = ""
    serial: str = ""
    uuid: str = ""
    kind: str = OTHER
    driver: str = ""  # version that the node had

    @property
    def texts(self) -> list[str]:
        """The serial number and the UUID, if known."""
        return [text for text in (self.serial, self.uuid) if text]


class Part(NamedTuple):
    """The identity of a component: a word ("serial", "UUID", "GUID" or "MAC") and the text; the word is "" if no record
    identifies the component.
    """

    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.word} {self.text}" if self.word else f"that was at {self.text}"


class Names:
    """One name for each component and each slot, from all sightings: (time, sighting), in the order of time."""

    def __init__(self, sightings: Iterable[tuple[str, Sighting]]) -> None:
        every = list(sightings)
        each = {id(one): one for _, one in every}  # of many runs most are one object
        self.serial_of: dict[str, str] = {}
        self.slot_of: dict[Place, str] = {}
        for one in each.values():
            if one.serial and one.uuid:
                self.serial_of[one.uuid] = one.serial
            if one.slot and one.pci:
                self.slot_of[short(one.node), one.pci] = one.slot
        places: dict[str, set[Place]] = {}
        for one in each.values():
            for text in one.texts:
                places.setdefault(text, set()).add(self.place(one))
        moved = {text for text, of in places.items() if len(of) > 1}
        numbers = {number for number, one in each.items() if not moved.isdisjoint(one.texts)}
        self.given_twice = self.at_two_places(both for both in every if id(both[1]) in numbers)

    def at_two_places(self, sightings: Iterable[tuple[str, Sighting]]) -> set[str]:
        """Serial numbers and UUIDs that cannot belong to one component."""
        last: dict[str, tuple[str, Place]] = {}
        been: dict[str, set[Place]] = {}
        returns: Counter[str] = Counter()
        found = set()
        for when, one in sightings:
            place = self.place(one)
            for text in one.texts:
                before = last.get(text)
                if before is not None and before[1] != place:
                    places = been.setdefault(text, {before[1]})
                    returns[text] += place in places
                    places.add(place)
                    if before[0] == when or returns[text] > MOST_RETURNS:
                        found.add(text)
                last[text] = (when, place)
        return found

    def part(self, one: Sighting) -> Part:
        """The component of a sighting; without an identity, whatever is in its slot."""
        other = ("MAC" if MAC.fullmatch(one.uuid) else "GUID") if one.kind == ADAPTER else "UUID"
        for word, text in (("serial", one.serial or self.serial_of.get(one.uuid, "")), (other, one.uuid)):
            if text and text not in self.given_twice:
                return Part(word, text)
        return Part("", place_name(self.place(one)))

    def place(self, one: Sighting) -> Place:
        """The slot of a sighting."""
        node = short(one.node)
        if one.kind == NODE:
            return node, ""
        return node, one.slot or self.slot_of.get((node, one.pci), "") or one.pci or one.label


def place_name(place: Place) -> str:
    """ "n12/slot 3", "n12/module 3", "n12/0000:18:00.0", "n12"."""
    node, slot = place
    return f"{node}/slot {slot}" if re.fullmatch(r"[0-9-]+", slot) else f"{node}/{slot}".rstrip("/")


def place_of(text: str, option: str) -> Place:
    """The slot that an option names, "n12/3", "n12/slot 3" or "n12". Raises BadInput."""
    node, _, slot = text.strip().partition("/")
    slot = re.sub(r"^slot\s+", "", slot.strip())
    if not re.fullmatch(r"[^\s/]+", node) or (("/" in text) != bool(slot)) or clean(text) != text:
        raise BadInput(f"{option} '{text}' is not a slot: write NODE/SLOT, such as n12/3")
    return node, slot


def is_at(place: Place, wanted: Place) -> bool:
    """Whether a slot is the wanted one. "3" matches slot 3 and module 3; a node alone matches all of its slots."""
    if short(place[0]) != short(wanted[0]):
        return False
    return wanted[1] in ("", place[1]) or place[1].partition(" ")[2] == wanted[1]


def is_part(one: Sighting, text: str) -> bool:
    """Whether a sighting is one of the component with this serial number or UUID."""
    return text.casefold() in (one.serial.casefold(), one.uuid.casefold())


def of_devices(record: Mapping[str, Any]) -> dict[str, Sighting]:
    """{label of a device: its sighting}. A rank is numbered inside its node, because its number in the job changes."""
    devices = record["devices"]
    serials = Counter((device["node"], device["part"].get("serial", ""), alone(device)) for device in devices)
    boards = {(node, serial) for node, serial, _ in serials if count_of(serials, node, serial) > 1}
    slots = Counter((device["node"], device["place"].get("slot", ""), alone(device)) for device in devices)
    shared = {(node, slot) for node, slot, _ in slots if count_of(slots, node, slot) > 1}
    addresses = Counter((device["node"], address_of(device), alone(device)) for device in devices)
    split = {(node, pci) for node, pci, _ in addresses if count_of(addresses, node, pci) > 1}
    found, ranks, driver = {}, Counter[str](), driver_of(record)
    for device in devices:
        node, part, place = device["node"], device["part"], device["place"]
        label = device["label"].removeprefix(f"{node}:")
        if label.startswith("rank"):
            label = f"rank{ranks[node]}"
            ranks[node] += 1
        serial, slot = part.get("serial", "").strip(), place.get("slot", "").strip()
        pci = address_of(device)
        uuid = device["uuid"] or part.get("uuid") or ""
        known = "" if serial in UNKNOWN or (node, serial) in boards else serial
        at = "" if (node, slot) in shared else slot
        kind = GPU if record["backend"] == "cuda" and (pci or uuid or known) else OTHER
        where = at, "" if (node, pci) in split else pci
        found[device["label"]] = Sighting(node, label, *where, known, uuid, kind, driver)
    return found


def endpoints(record: Mapping[str, Any]) -> dict[str, tuple[Device, Sighting]]:
    """{label of an endpoint of the record's matrices: (device, sighting)}. The device of a node's label is the node."""
    found = {label: ((one.node, one.uuid or one.serial or one.label), one) for label, one in of_devices(record).items()}
    nodes = {device["node"] for device in record["devices"]} - found.keys()
    named = {label for result in record["results"] for label in result["rows"]} & nodes
    driver = driver_of(record)
    return found | {node: ((node, node), Sighting(node, node, kind=NODE, driver=driver)) for node in named}


def components_of(record: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
    """{node: {"driver": its version, a slot: the serial number or UUID of the device there}} of a record.

    A node whose devices a record does not identify, as in a record of host memory, is left out.
    """
    found: dict[str, dict[str, str]] = {}
    for one in of_devices(record).values() if record is not None else ():
        if one.texts:
            of_node = found.setdefault(short(one.node), {"driver": one.driver} if one.driver else {})
            of_node[one.slot or one.pci or one.label] = one.texts[0]
    return found


def driver_of(record: Mapping[str, Any]) -> str:
    """The version of the GPU driver, "" where the record does not have it."""
    return str(record["software"].get("driver") or "")


def address_of(device: Mapping[str, Any]) -> str:
    """The PCI address of a device. The instances of a divided GPU share it."""
    return str(device["pci"] or device["place"].get("pci") or "").lower()


def alone(device: Mapping[str, Any]) -> str:
    """The identity of a device inside its record, because two ranks may share a device."""
    return str(device["uuid"] or device["pci"] or device["label"])


def count_of(found: Counter[tuple[str, str, str]], node: str, text: str) -> int:
    """The number of devices of a node that share a serial number or slot."""
    return sum(1 for one in found if one[:2] == (node, text))


def of_adapters(record: Mapping[str, Any]) -> dict[tuple[str, str], Sighting]:
    """{(node, name of an adapter with its port): its sighting} of the adapters that a record identifies."""
    found = {}
    for one in record["adapters"]:
        place, part = one["place"], one["part"]
        node, port = place.get("node", record["host"]["name"]), place.get("port", "")
        name = f"{one['name']}:{port}" if port not in ("", "1") else one["name"]
        pci = place.get("pci", "").lower()
        where = f"{pci} port {port}" if pci and port not in ("", "1") else pci
        known = part.get("guid") or part.get("mac") or ""
        if known.strip("0:"):  # a virtual function may have none but zeros
            serial = part.get("serial", "")
            at = place.get("slot", ""), where
            found[node, name] = Sighting(node, name, *at, serial, known, ADAPTER, driver_of(record))
    return found
