"""The network adapters of the nodes of a run: their state, what they are plugged into, which GPU is nearest."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..record.counters import signs_of_congestion
from ..record.units import first

Row = tuple[str, ...]

HEADS: Row = ("adapter", "interface", "state", "rate", "link", "PCI", "now", "NUMA", "nearest GPU", "firmware")
MOST_KINDS = 4  # tables of nodes that differ
MOST_NAMES = 4  # of nodes that have the same


def lines(records: Iterable[Mapping[str, Any]], width: int) -> Iterator[str]:
    """A table for all nodes that have the same adapters, or where that is wider than `width` a line for each of them.

    GUIDs and the like stand in the record.
    """
    kinds: dict[tuple[Row, ...], list[str]] = {}
    for node, rows in tables(records).items():
        kinds.setdefault(rows, []).append(node)
    for rows, nodes in list(kinds.items())[:MOST_KINDS]:
        yield f"network adapters of {listed(nodes)}"
        widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
        if sum(widths) + 2 * len(widths) > width:
            yield from map(sentence, rows)
            continue
        for row in (HEADS, *rows):
            yield "  " + "  ".join(f"{cell:<{most}}" for cell, most in zip(row, widths, strict=True)).rstrip()
    if len(kinds) > MOST_KINDS:
        rest = sum(len(nodes) for nodes in list(kinds.values())[MOST_KINDS:])
        yield f"and {rest} nodes more, whose adapters differ from these: their records say how"


def congestion(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What adapters counted that a busy network makes them count, each sentence once."""
    told = dict.fromkeys(line for record in records for line in signs_of_congestion(record))
    if told:
        yield f"signs of congestion: {'; '.join(first([*told], MOST_NAMES))}"


def sentence(row: Row) -> str:
    """A row as words."""
    known = [f"{head} {cell}" for head, cell in zip(HEADS[1:], row[1:], strict=True) if cell != "-"]
    return f"{row[0]}: {', '.join(known) or 'nothing is known of it'}"


def tables(records: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Row, ...]]:
    """{node: the rows of its adapters}, as the last record has it."""
    found: dict[str, tuple[Row, ...]] = {}
    for record in records:
        devices = {
            (device["node"], device["pci"]): device["label"].removeprefix(f"{device['node']}:")
            for device in record["devices"]
        }
        of_record: dict[str, list[Row]] = {}
        for port in record["adapters"]:
            node = port["place"].get("node", record["host"]["name"])
            of_record.setdefault(node, []).append(row(port, node, devices))
        found |= {node: tuple(rows) for node, rows in of_record.items()}
    return found


def listed(nodes: list[str]) -> str:
    """The first of the nodes by name, and how many more."""
    more = len(nodes) - MOST_NAMES
    return ", ".join(nodes[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def row(port: Mapping[str, Any], node: str, devices: Mapping[tuple[str, str | None], str]) -> Row:
    """A port in words; "-" for what the kernel did not say."""
    place, pcie = port["place"], port.get("pcie", {})
    number = place.get("port", "1")
    cells = (
        port["name"] + (f" port {number}" if number != "1" else ""),
        ", ".join(map(interface, port.get("interfaces", []))),
        " ".join(filter(None, (port["state"], unless_linked(port.get("physical_state"))))),
        port["rate"],
        port["link_layer"],
        place.get("pci"),
        pci_link(pcie),
        None if port["numa"] is None else str(port["numa"]),
        nearest(port, node, devices),
        port["part"].get("firmware"),
    )
    return tuple(cell or "-" for cell in cells)


def interface(facts: Mapping[str, str]) -> str:
    """ib0 (up), ens1f0 (up, of bond0)."""
    said = [facts.get("state", ""), f"of {facts['bond']}" if "bond" in facts else ""]
    return facts["name"] + (f" ({', '.join(filter(None, said))})" if any(said) else "")


def unless_linked(state: str | None) -> str:
    """The physical state where it says more than the state."""
    return f"({state})" if state and state != "LinkUp" else ""


def pci_link(pcie: Mapping[str, str]) -> str:
    """32.0 GT/s x8 of x16: speed and width now, and where the adapter could do more, that."""
    speed, width = pcie.get("speed", "").removesuffix(" PCIe"), pcie.get("width", "")
    most_speed, most_width = pcie.get("speed_at_most", speed).removesuffix(" PCIe"), pcie.get("width_at_most", width)
    if not speed and not width:
        return ""
    fast = f"{speed or '?'}" + (f" of {most_speed}" if most_speed != speed else "")
    return f"{fast} x{width or '?'}" + (f" of x{most_width}" if most_width != width else "")


def nearest(port: Mapping[str, Any], node: str, devices: Mapping[tuple[str, str | None], str]) -> str:
    """gpu0 (PXB): by PCI; the address of a GPU that the run did not use."""
    near = [gpu for gpu in port.get("gpus", []) if gpu["nearest"]]
    names = " ".join(devices.get((node, gpu["pci"]), gpu["pci"]) for gpu in near)
    return f"{names} ({near[0]['link_class']})" if near else ""
