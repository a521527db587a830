"""GPUs of a node that are connected otherwise than the others: what a topology and the links' own state show."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..record import units
from ..record.names import DIRECT, PCI_CLASSES
from ..record.units import counted

LEAST_GPUS = 3  # that are connected alike: with fewer, the usual connection is not known
MOST_GPUS = 128  # of a node that are compared
MOST_ODD = 1 / 3  # of a node's GPUs: if more are unlike the others, the node is built that way


class Odd(NamedTuple):
    """A GPU, or a pair of GPUs, that is connected otherwise. kind: a key of `findings.NEXT`."""

    component: str
    kind: str
    sentence: str


def odd_connections(record: Mapping[str, Any]) -> Iterator[Odd]:
    """What is unlike in the connections of each node's GPUs."""
    nodes: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for device in record["devices"]:
        nodes[device["node"]].append(device)
    at = {label: place for place, label in enumerate(record["topology"]["labels"])}
    classes = record["topology"]["link_class"]
    for devices in nodes.values():
        there = {device["label"]: at[device["label"]] for device in devices if device["label"] in at}
        if there and len(classes) == len(at) and len(there) <= MOST_GPUS:
            links = Links.of(classes, there)
            yield from off_nvlink(links)
            yield from odd_links(links)
        yield from far_from_adapters(devices)
        yield from slow_links(devices)
        if record["backend"] == "imported":  # a measured PCIe card without a bridge is as it should be
            yield from inactive_links(devices)
        yield from link_errors(devices)


class Links(NamedTuple):
    """The NVLinks between GPUs of a node, in the order of `labels`; None: not known, 0: none. classes: by pair."""

    labels: Sequence[str]
    counts: Mapping[tuple[str, str], int | None]
    classes: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, classes: Sequence[Sequence[str]], at: Mapping[str, int]) -> "Links":
        """Of link classes and the place of each GPU in them. A pair of which one direction is known is known."""
        known = {
            (a, b): classes[row][column] or classes[column][row]
            for a, row in at.items()
            for b, column in at.items()
            if a != b
        }
        counts = {pair: links_of(name) for pair, name in known.items()}
        return cls(list(at), counts, known)

    def to_others(self, label: str, among: Sequence[str]) -> list[int | None]:
        """The links of a GPU to each other one of these."""
        return [self.counts[label, other] for other in among if other != label]


def links_of(name: str) -> int | None:
    """How many links a link class has: 18 of NV18; None of a class that is not known."""
    bonded = DIRECT.fullmatch(name)
    return int(bonded[2]) if bonded else 0 if name else None


def off_nvlink(links: Links) -> Iterator[Odd]:
    """GPUs without an NVLink to any other, where all the others are connected with each other."""
    off = [label for label in links.labels if not any(n is None or n for n in links.to_others(label, links.labels))]
    rest = [label for label in links.labels if label not in off]
    whole = all(n for label in rest for n in links.to_others(label, rest))
    if not off or len(rest) < LEAST_GPUS or len(off) > MOST_ODD * len(links.labels) or not whole:
        return
    usual = ", ".join(sorted({links.classes[a, b] for a in rest for b in rest if a != b}))
    for label in off:
        has = ", ".join(sorted({links.classes[label, other] for other in rest} - {""}))
        yield Odd(
            label, "off NVLink", f"{label} has no NVLink ({has}); the other {len(rest)} have {usual} to each other"
        )


def odd_links(links: Links) -> Iterator[Odd]:
    """GPUs and pairs with other numbers of NVLinks than all the others, where these are alike."""
    some = [label for label in links.labels if any(links.to_others(label, links.labels))]
    known = Counter(n for pair, n in links.counts.items() if set(pair) <= set(some) and n is not None)
    if len(some) < LEAST_GPUS or len(known) < 2:
        return
    usual = known.most_common(1)[0][0]
    odd = [label for label in some if usual not in links.to_others(label, some)]
    rest = [label for label in some if label not in odd]
    pairs = [(a, b) for a in rest for b in rest if a < b and links.counts[a, b] not in (usual, None)]
    if not usual or len(odd) > MOST_ODD * len(some) or len(rest) < LEAST_GPUS or len(pairs) > 1:
        return
    for label in odd:
        has = sorted({n for n in links.to_others(label, some) if n is not None})
        counts = " or ".join(map(str, has))
        yield Odd(label, "unlike links", f"{label} has {counts} NVLinks to each other GPU, the others have {usual}")
    for a, b in pairs if len(rest) > LEAST_GPUS else ():
        text = (
            f"{a} and {b} have {counted(links.counts[a, b] or 0, 'NVLink')} to each other, the other pairs have {usual}"
        )
        yield Odd(f"{a} and {b}", "unlike links", text)


def far_from_adapters(devices: Sequence[Mapping[str, Any]]) -> Iterator[Odd]:
    """GPUs whose nearest network adapter is farther away than that of the others."""
    found = {device["label"]: device.get("state", {}).get("nic_class") for device in devices}
    found = {label: name for label, name in found.items() if name in PCI_CLASSES}
    usual, count = Counter(found.values()).most_common(1)[0] if found else ("", 0)
    odd = [label for label, name in found.items() if PCI_CLASSES.index(name) > PCI_CLASSES.index(usual)]
    if count < LEAST_GPUS or len(odd) > MOST_ODD * len(found):
        return
    for label in odd:
        text = f"{label}: its nearest network adapter is at {found[label]}, that of {count} others at {usual}"
        yield Odd(label, "far adapter", text)


def slow_links(devices: Sequence[Mapping[str, Any]]) -> Iterator[Odd]:
    """GPUs with an NVLink that is slower than the links of the others."""
    texts = {device["label"]: device.get("state", {}).get("nvlink_speed_least", "") for device in devices}
    speeds = {label: float(text) for label, text in texts.items() if text.replace(".", "", 1).isdecimal()}
    most = max(speeds.values(), default=0.0)
    for label, speed in speeds.items():
        if speed < most:
            yield Odd(
                label, "unlike links", f"{label}: an NVLink runs at {speed:g} GB/s, those of others at {most:g} GB/s"
            )


def inactive_links(devices: Sequence[Mapping[str, Any]]) -> Iterator[Odd]:
    """GPUs of a node that all have NVLinks, of which none is active."""
    states = [device.get("state", {}) for device in devices]
    links = {state.get("nvlinks", "0") for state in states}
    if devices and "0" not in links and all(state.get("nvlinks_active") == "0" for state in states):
        labels = units.first([device["label"] for device in devices])
        count = f"{counted(len(devices), 'GPU')} {'has' if len(devices) == 1 else 'have'}"
        yield Odd(", ".join(labels), "no active NVLink", f"{count} no active NVLink")


def link_errors(devices: Sequence[Mapping[str, Any]]) -> Iterator[Odd]:
    """GPUs whose NVLinks have counted errors since the driver was loaded."""
    for device in devices:
        errors = device.get("state", {}).get("nvlink_errors", "none")
        if errors != "none":
            yield Odd(device["label"], "link errors", f"{device['label']}: {errors}")
