"""Who others were, by what they used: their processes, and that some could not be listed."""

from collections.abc import Container, Iterator
from typing import Any

from ..record.units import figure
from .turns import Others, Process, beside, node_of, of_ranks

MOST_NAMED = 3
LEAST_UNLISTED = 0.1  # seconds: less comes of the clock's ticks, and processes that used less are not listed
LITTLE = 0.1  # share of what others had, below which nothing is said of those that nobody listed
OF_NODES = ("net_", "tcp_")  # kinds that a node counts, not an endpoint


def endpoints_of(others: Others) -> set[str]:
    """Labels of devices and cores of which the record says how they were used; what adapters count is a node's."""
    return {use["label"] for use in others["uses"] if not use["of"].startswith(OF_NODES)}


def is_on_device(process: Process, devices: Container[str]) -> bool:
    """Whether a process has a context on a device; of older records, where it is on one that is called so.

    A node may have the name of a device, as the first of gpu0, gpu1, …
    """
    if "on" in process:
        return bool(process["on"] == "device")
    return process["where"] in devices or bool(process["bytes"])


class Who:
    """Who used what, of a record's `others`: read once, for each of thousands of ranks asks."""

    def __init__(self, others: Others) -> None:
        self.devices = endpoints_of(others)
        self.nodes = {one["node"] for one in others["nodes"]}
        self.on_devices: dict[str, list[Process]] = {}
        self.on_nodes: dict[str, list[Process]] = {}
        for one in others["processes"]:
            there = self.on_devices if is_on_device(one, self.devices) else self.on_nodes
            there.setdefault(one["where"], []).append(one)
        cores = (use for use in others["uses"] if use["of"] == "cpu")
        self.cores: dict[str, str | None] = {use["label"]: use.get("cores") for use in cores}
        self.hidden: dict[str, float] = {}  # seconds, by rank and, of its worst rank, by node
        for use, listed in of_ranks(others):
            had = use.get("others") or 0.0
            if had - listed >= max(LEAST_UNLISTED, LITTLE * had):
                for label in (use["label"], str(node_of(use["label"]))):
                    self.hidden[label] = max(self.hidden.get(label, 0.0), had - listed)
        self.told: dict[str, str] = {}

    def used(self, label: str) -> str:
        """ " (pid 2983 hog of bob)": who has a context on a device; where nobody has, who used processors most, of a
        rank its own. "" where nobody is known.
        """
        if label not in self.told:
            there = self.on_devices.get(label) or [*beside(self.near(label), self.cores.get(label))]
            who = [", ".join(sentence(one) for one in there[:MOST_NAMED])] if there else []
            if label in self.hidden:
                amount = figure(self.hidden[label], 1)
                who.append(f"processes that cannot be listed had {amount} s of its processors")
            self.told[label] = f" ({'; '.join(who)})" if who else ""
        return self.told[label]

    def near(self, label: str) -> Iterator[Process]:
        """Processes without a context on a device, of the label's node; of all where it is of none."""
        node = label if label in self.nodes and node_of(label) is None else node_of(label)
        return (one for place in (self.on_nodes if node is None else {node}) for one in self.on_nodes.get(place, ()))


def sentence(process: Process) -> str:
    """ "pid 2983 hog of bob"."""
    words: tuple[Any, ...] = ("pid", process["pid"], process["name"], process["user"] and f"of {process['user']}")
    return " ".join(str(word) for word in words if word)
