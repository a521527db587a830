"""The link classes between the devices of a record that measured nothing, as a table of text."""

from collections.abc import Iterator, Mapping
from typing import Any

MOST_DEVICES = 32  # that are printed
FACTS = {"numa": "NUMA", "nics": "nearest adapter", "nvlinks_active": "active NVLinks"}


def lines(record: Mapping[str, Any]) -> Iterator[str]:
    """A line of columns and a line per device; after the classes what else is known of each device."""
    labels = record["topology"]["labels"][:MOST_DEVICES]
    facts = {device["label"]: facts_of(device) for device in record["devices"]}
    known = [title for name, title in FACTS.items() if any(of[name] for of in facts.values())]
    names = [name for name, title in FACTS.items() if title in known]
    classes = record["topology"]["link_class"]
    has_classes = any(word not in ("", "X") for row in classes for word in row)
    if not has_classes and not known:
        return
    rows = [["", *(labels if has_classes else []), *known]]
    for at, label in enumerate(labels):
        cells = [word or "?" for word in classes[at][:MOST_DEVICES]] if has_classes else []
        of = facts.get(label, dict.fromkeys(FACTS, ""))
        rows.append([label, *cells, *(of[name] for name in names)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
    if len(record["topology"]["labels"]) > MOST_DEVICES:
        yield f"and {len(record['topology']['labels']) - MOST_DEVICES} devices more"


def facts_of(device: Mapping[str, Any]) -> dict[str, str]:
    """What is known of a device beside its links, as texts; "" is not known."""
    state = device.get("state", {})
    active, links = state.get("nvlinks_active", ""), state.get("nvlinks", "")
    near = state.get("nic_class", "")
    nics = device["nics"]
    return {
        "numa": "" if device["numa"] is None else str(device["numa"]),
        "nics": (nics[0] if len(nics) == 1 else f"{len(nics)} adapters") + f" {near}".rstrip() if nics else "",
        "nvlinks_active": f"{active} of {links}" if active and links else active,
    }
