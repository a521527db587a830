"""What devices and network adapters counted while a record was measured: errors, events, signs of a busy network."""

from collections.abc import Mapping
from typing import Any, NamedTuple

OF_EVENTS = "xid"  # the sum of all events, with which their counters begin: they are not there before the first one


class Risen(NamedTuple):
    """An error or event that a device or network adapter counted during the run."""

    label: str
    name: str
    before: float
    after: float

    @property
    def sentence(self) -> str:
        """In words."""
        return f"{self.label}: {self.name} rose from {self.before:.0f} to {self.after:.0f} during the run"


def risen(record: Mapping[str, Any]) -> list[Risen]:
    """All of them."""
    return [
        Risen(one["label"], item["name"], item["before"] or 0, item["after"])
        for one in record.get("health", [])
        for item in one["counters"]
        if rose(item)
    ]


def signs_of_congestion(record: Mapping[str, Any]) -> list[str]:
    """What network adapters counted during the run that a busy network makes them count, a sentence each."""
    devices = {device["label"] for device in record["devices"]}
    adapters = [one for one in record.get("health", []) if one["label"] not in devices]
    risen = {one["label"]: [item for item in one["readings"] if rose(item)] for one in adapters}
    said = {
        label: [f"{item['name']} {item['after'] - (item['before'] or 0):.0f} more" for item in items]
        for label, items in risen.items()
    }
    return [f"{label}: {', '.join(texts)}" for label, texts in said.items() if texts]


def rose(item: Mapping[str, Any]) -> bool:
    """Is a count higher after the run than before it? Of one that could not be read before, nobody knows."""
    if item["before"] is None and not item["name"].startswith(OF_EVENTS):
        return False
    return item["after"] is not None and bool(item["after"] > (item["before"] or 0))
