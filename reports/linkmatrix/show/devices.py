"""Tables of devices and network adapters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..record.names import congestion_signs
from ..record.units import first, listed

Record = Mapping[str, Any]
Row = tuple[str, ...]

ADAPTER_HEADS: Row = ("adapter", "interface", "state", "rate", "link", "PCI", "now", "NUMA", "nearest GPU", "firmware")
MAX_KINDS = 4  # tables of adapters, if nodes differ
MAX_DEVICES = 32  # of the table of link classes
MAX_UNFOLDED = 16  # devices on the page that are not folded
MAX_DIFFERENT = 64  # listed devices that differ from the others
STATE_HEADS = {"numa": "NUMA", "nics": "nearest adapter", "nvlinks_active": "active NVLinks"}
DEVICE_COLUMNS = ("label", "name", "uuid", "pci", "node", "numa")
UNIQUE = ("uuid", "serial")  # facts that differ between all devices
CHANGING = ("pcie_generation", "pages_pending")  # facts that change during a run


def aligned_rows(rows: Sequence[Row]) -> Iterator[str]:
    """Yields the rows of a table, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def adapter_lines(records: Iterable[Record], width: int) -> Iterator[str]:
    """Yields a table per group of nodes with equal adapters.

    A table that is wider than `width` is replaced by one line per adapter.
    """
    records = list(records)
    node_rows: dict[str, tuple[Row, ...]] = {}
    for record in records:
        node_rows |= adapter_rows(record)
    kinds: dict[tuple[Row, ...], list[str]] = {}
    for node, rows in node_rows.items():
        kinds.setdefault(rows, []).append(node)
    for rows, nodes in list(kinds.items())[:MAX_KINDS]:
        yield f"network adapters of {listed(nodes)}"
        table = [f"  {line}" for line in aligned_rows([ADAPTER_HEADS, *rows])]
        yield from table if max(map(len, table)) <= width else map(adapter_sentence, rows)
    if len(kinds) > MAX_KINDS:
        rest = sum(len(nodes) for nodes in list(kinds.values())[MAX_KINDS:])
        yield f"and {rest} more nodes with other adapters: see their records"
    if signs := dict.fromkeys(line for record in records for line in congestion_signs(record)):
        yield f"signs of congestion: {'; '.join(first([*signs]))}"


def adapter_sentence(row: Row) -> str:
    """A row of the table of adapters as a sentence: "mlx5_0: state ACTIVE, …"."""
    known = [f"{head} {cell}" for head, cell in zip(ADAPTER_HEADS[1:], row[1:], strict=True) if cell != "-"]
    return f"{row[0]}: {', '.join(known) or 'no data'}"


def adapter_rows(record: Record) -> dict[str, tuple[Row, ...]]:
    """{node: the rows of its adapters}."""
    labels = {
        (device["node"], device["pci"]): device["label"].removeprefix(f"{device['node']}:")
        for device in record["devices"]
    }
    found: dict[str, list[Row]] = {}
    for port in record["adapters"]:
        node = port["place"].get("node", record["host"]["name"])
        found.setdefault(node, []).append(adapter_row(port, node, labels))
    return {node: tuple(rows) for node, rows in found.items()}


def adapter_row(port: Record, node: str, labels: Mapping[tuple[str, str | None], str]) -> Row:
    """The row of a port; "-" for an unknown fact. labels: {(node, PCI address): device}."""
    place, number, physical = port["place"], port["place"].get("port", "1"), port.get("physical_state")
    near = [gpu for gpu in port.get("gpus", []) if gpu["nearest"]]
    names = " ".join(labels.get((node, gpu["pci"]), gpu["pci"]) for gpu in near)  # the run may not have used the GPU
    cells = (
        port["name"] + (f" port {number}" if number != "1" else ""),
        ", ".join(map(interface, port.get("interfaces", []))),
        " ".join(filter(None, (port["state"], f"({physical})" if physical and physical != "LinkUp" else ""))),
        port["rate"],
        port["link_layer"],
        place.get("pci"),
        pci_link(port.get("pcie", {})),
        None if port["numa"] is None else str(port["numa"]),
        f"{names} ({near[0]['link_class']})" if near else "",
        port["part"].get("firmware"),
    )
    return tuple(cell or "-" for cell in cells)


def interface(facts: Mapping[str, str]) -> str:
    """A network interface as text: "ib0 (up)", "ens1f0 (up, of bond0)"."""
    known = list(filter(None, [facts.get("state", ""), f"of {facts['bond']}" if "bond" in facts else ""]))
    return facts["name"] + (f" ({', '.join(known)})" if known else "")


def pci_link(pcie: Mapping[str, str]) -> str:
    """The current speed and width of a PCIe link: "32.0 GT/s x8". A larger maximum is added: "32.0 GT/s x8 of x16"."""
    speed, width = pcie.get("speed", "").removesuffix(" PCIe"), pcie.get("width", "")
    most_speed, most_width = pcie.get("speed_at_most", speed).removesuffix(" PCIe"), pcie.get("width_at_most", width)
    if not speed and not width:
        return ""
    fast = f"{speed or '?'}" + (f" of {most_speed}" if most_speed != speed else "")
    return f"{fast} x{width or '?'}" + (f" of x{most_width}" if most_width != width else "")


def state_lines(record: Record) -> Iterator[str]:
    """Yields a table of link classes and states of devices, for a record without measurements."""
    labels = record["topology"]["labels"][:MAX_DEVICES]
    facts = {device["label"]: state_of(device) for device in record["devices"]}
    names = [name for name in STATE_HEADS if any(of[name] for of in facts.values())]
    classes = record["topology"]["link_class"]
    has_classes = any(word not in ("", "X") for row in classes for word in row)
    if not has_classes and not names:
        return
    rows = [("", *(labels if has_classes else []), *(STATE_HEADS[name] for name in names))]
    for at, label in enumerate(labels):
        cells = [word or "?" for word in classes[at][:MAX_DEVICES]] if has_classes else []
        of = facts.get(label, dict.fromkeys(STATE_HEADS, ""))
        rows.append((label, *cells, *(of[name] for name in names)))
    yield from aligned_rows(rows)
    if len(record["topology"]["labels"]) > MAX_DEVICES:
        yield f"and {len(record['topology']['labels']) - MAX_DEVICES} more devices"


def state_of(device: Record) -> dict[str, str]:
    """{key of STATE_HEADS: fact} of a device. An unknown fact is ""."""
    state, nics = device.get("state", {}), device["nics"]
    active, links = state.get("nvlinks_active", ""), state.get("nvlinks", "")
    near = nics[0] if len(nics) == 1 else f"{len(nics)} adapters"
    return {
        "numa": "" if device["numa"] is None else str(device["numa"]),
        "nics": f"{near} {state.get('nic_class', '')}".rstrip() if nics else "",
        "nvlinks_active": f"{active} of {links}" if active and links else active,
    }


def device_table(record: Record, marked: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The values for the page's template about devices.

    If a record has many devices, the page folds their table, and lists the devices that differ from most devices.
    marked: {device: texts of its marks}, see `machine.marked_devices`.
    """
    devices = record["devices"]
    rows = [{name: "–" if one[name] in (None, "") else one[name] for name in DEVICE_COLUMNS} for one in devices]
    if len(devices) <= MAX_UNFOLDED:
        return {"devices": rows, "folded": "", "different": []}
    nodes = len({device["node"] for device in devices})
    folded = f"All {len(devices):,} devices" + (f" of {nodes:,} nodes" if nodes > 1 else "")
    usual, different = usual_facts(devices), []
    for row, device in zip(rows, devices, strict=True):
        facts = facts_of(device)
        why = [
            f"{name} is {facts.get(name, 'not known')}, most have {most}"
            for name, most in usual.items()
            if facts.get(name) != most
        ]
        if why := [*marked.get(device["label"], ()), *why]:
            different.append({**row, "why": "; ".join(why)})
    return {
        "devices": rows,
        "folded": folded,
        "different": different[:MAX_DIFFERENT],
        "more": max(0, len(different) - MAX_DIFFERENT),
    }


def facts_of(device: Record) -> dict[str, str]:
    """{name: fact} of a device. Only facts that can be compared between devices."""
    facts = {name: fact for name, fact in device["part"].items() if name not in UNIQUE}
    facts |= {name: fact for name, fact in device.get("state", {}).items() if name not in CHANGING}
    return {"model": device["name"], **facts}


def usual_facts(devices: Sequence[Record]) -> dict[str, str]:
    """{name: fact that more than half of the devices share}. Facts that all devices share are left out."""
    counts: dict[str, Counter[str]] = {}
    for device in devices:
        for name, fact in facts_of(device).items():
            counts.setdefault(name, Counter())[fact] += 1
    found = {name: of.most_common(1)[0] for name, of in counts.items()}
    return {name: fact for name, (fact, count) in found.items() if len(devices) / 2 < count < len(devices)}
