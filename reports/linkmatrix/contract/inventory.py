"""Whether the parts that were sold are there: each where it was sold to, and no other in its place.

A record of one node that identifies its devices must have all parts of that node, and no more, each part being a device
of its own. One of several nodes, or of ranks in host memory, may have some of them, and none that was not sold; without
records of the node alone all of them together must have as many. Where no record of one node identifies any device, as
of cores of a host, each such record must have as many. A device that was measured on two nodes is a part of neither.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..errors import clean
from ..record.units import counted
from ..runs import parts
from ..runs.bound import one_host, short
from ..runs.parts import Sighting
from .terms import Expected, Terms

OnNode = Mapping[str, Sighting]  # the devices of a record on a node, by their labels


class Inventory:
    """What records have of parts. found: (expected part, where it is, "" where it is not); missing: sentences."""

    def __init__(self, terms: Terms, records: Iterable[Mapping[str, Any]]) -> None:
        self.whole: dict[str, list[OnNode]] = {}  # of records of one node
        self.some: dict[str, list[OnNode]] = {}  # of all records
        for record in records:
            devices = parts.of_devices(record)
            nodes = {one.node for one in devices.values()}
            for node in nodes:
                on_node = {label: one for label, one in devices.items() if one.node == node}
                self.some.setdefault(short(node), []).append(on_node)
                if len(nodes) == 1:
                    self.whole.setdefault(short(node), []).append(on_node)
        each = (one for found in self.some.values() for on_node in found for one in on_node.values())
        self.names = parts.Names(("", one) for one in each)
        self.found: list[tuple[Expected, str]] = []
        self.missing: list[str] = []
        for node in terms.nodes:
            self.missing += self.of_node(node, terms.parts_of[node])
        self.missing += self.on_two_nodes(terms.nodes)

    def on_two_nodes(self, sold: list[str]) -> Iterator[str]:
        """That a device stands for parts of several nodes: by its UUID, as serial numbers are given twice, where it has
        one."""
        on: dict[str, dict[str, None]] = {}
        for node in sold:
            each = (one for of in self.some.get(short(node), []) for one in of.values())
            for text in dict.fromkeys(f"UUID {one.uuid}" if one.uuid else f"serial {one.serial}" for one in each):
                on.setdefault(text, {})[node] = None
        for text, nodes in on.items():
            if len(nodes) > 1 and text != "serial ":
                yield clean(f"{text} was measured on {' and on '.join(nodes)}: one device is no part of two nodes")

    def of_node(self, node: str, expected: list[Expected]) -> Iterator[str]:
        """What is missing on a node, in sentences."""
        every = [of for of in self.some.get(short(node), []) if is_of(of, node)]
        whole = [of for of in self.whole.get(short(node), []) if is_of(of, node)]
        strict = [one for one in whole if identified(one)] or whole
        # of a node without a record of its own all records together
        some = [of for of in every if identified(of)] or every
        records = strict or [{f"{at} {label}": one for at, of in enumerate(some) for label, one in of.items()}]
        if not every:
            yield f"node {node} was not measured"
        matched = [self.matching(expected, of) for of in records]
        for place, part in enumerate(expected):
            there = all(place in one for one in matched)
            self.found.append((part, self.described(matched[0][place]) if there else ""))
            if every and not there:
                yield self.absent(part, next(of for of, one in zip(records, matched, strict=True) if place not in one))
        counts = {len({self.identity(one) for one in of.values()}) for of in (records if every else [])}
        for count in sorted(counts - {len(expected)}):
            yield f"{node} has {counted(count, 'device')} in a record, and {len(expected)} were sold"
        strange = (one for of in every if identified(of) for one in of.values())
        for one in dict.fromkeys(strange):
            if not any(self.fits(part, one) for part in expected):
                yield f"{self.described(one)} was not sold"

    def matching(self, expected: list[Expected], of: OnNode) -> dict[int, Sighting]:
        """{place of a part: the device that it is}: as many as can be, and no device twice (augmenting paths, Kuhn)."""
        devices = {self.identity(one): one for one in of.values()}
        could_be = [[key for key, one in devices.items() if self.fits(part, one)] for part in expected]
        taken: dict[str, int] = {}

        def placed(place: int, tried: set[str]) -> bool:
            for key in could_be[place]:
                if key not in tried:
                    tried.add(key)
                    if key not in taken or placed(taken[key], tried):
                        taken[key] = place
                        return True
            return False

        exact = sorted(range(len(expected)), key=lambda at: (not expected[at].serial, not expected[at].slot))
        for place in exact:
            placed(place, set())
        return {place: devices[key] for key, place in taken.items()}

    def identity(self, one: Sighting) -> str:
        """What a device is known by in all records of its node."""
        return self.names.serial_of.get(one.uuid, "") or one.serial or one.uuid or str(self.names.part(one))

    def fits(self, part: Expected, one: Sighting) -> bool:
        """Is a sighting the part that was sold, in its slot?"""
        place = (part.node, self.names.place(one)[1])  # its node has been found
        at = not part.slot or parts.is_at(place, (part.node, part.slot)) or one.pci == part.slot.lower()
        return at and (not part.serial or parts.is_part(one, part.serial))

    def described(self, one: Sighting) -> str:
        """ "serial 1650 in n12/slot 3"."""
        return clean(f"{self.names.part(one)} in {parts.place_name(self.names.place(one))}")

    def absent(self, part: Expected, of: OnNode) -> str:
        """That a part is not where it was sold to, and what is."""
        what = f"serial {part.serial}" if part.serial else "a device"
        sold = f"{what} was sold for {parts.place_name((part.node, part.slot))}"
        there = [one for one in of.values() if self.fits(replace(part, serial=""), one)] if part.slot else []
        elsewhere = [one for one in of.values() if part.serial and parts.is_part(one, part.serial)]
        if there and part.serial:
            return f"{sold}, and {self.described(there[0])} is there"
        if elsewhere:
            return f"{sold}, and it is {self.described(elsewhere[0])}"
        if any(self.fits(part, one) for one in of.values()):
            return f"{sold}, and each device that it could be is another part that was sold"
        return f"{sold}, and a record of it has no such device"


def is_of(of: OnNode, node: str) -> bool:
    """Are these devices on a node?"""
    return all(one_host(one.node, node) for one in of.values())


def identified(of: OnNode) -> bool:
    """Does a record say of any of its devices which part it is, or where it is?"""
    return any(one.serial or one.uuid or one.pci or one.slot for one in of.values())
