"""Compares the inventory of nodes and GPUs that should be equal: drivers, firmware, links, connections.

Each difference names the node or device that differs from the others.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..record import units
from ..record.link_classes import DIRECT, PCI_CLASSES
from ..record.units import counted

PART_FACTS = ("vbios", "firmware")  # facts in a device's `part`
#: Facts in a device's `state`. The PCIe generation is no such fact, because an idle PCIe link reduces its speed.
STATE_FACTS = {"nvlinks_active": "active NVLinks", "pcie_width": "PCIe width"}
GPU_BACKENDS = ("cuda", "ipc")  # back ends that open every GPU of a node
SOFTWARE = ("CUDA", "NCCL", "MPI")


def difference_sentences(name: str, found: Mapping[str, str]) -> list[str]:
    """Sentences such as "n17: vbios is 96.00.61, and 96.00.74 on 7 of 8".

    name: the name of the fact.
    found: {node or device: fact}. An unknown fact is "" and is not compared.
    """
    known = {label: fact for label, fact in found.items() if fact}
    counts = Counter(known.values())
    if len(counts) < 2:
        return []
    (usual, most), (_, second) = counts.most_common(2)
    if most == second:  # no fact is more frequent than all others
        each = units.first([f"{label} has {fact}" for label, fact in known.items()])
        return [f"{name} differs: {', '.join(each)}"]
    rest = f"{usual} on {most} of {len(known)}"
    unlike = [f"{label}: {name} is {fact}, and {rest}" for label, fact in known.items() if fact != usual]
    return units.first(unlike)


def device_differences(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (device, sentence) for devices with fewer active NVLinks or a slower PCIe link than alike devices.

    Alike devices are on the same node and have the same model.
    The driver lowers the PCIe generation of an idle link. Generations are therefore compared only if the run copied
    data from or to host memory. The highest recorded generation of each device is compared.
    """
    names = {
        "nvlinks_active": "active NVLinks",
        "pcie_width": "lanes of its PCIe link",
        "pcie_generation": "PCIe generation",
    }
    used = any(result["memory"] == "host" for result in record["results"])
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for device in record["devices"]:
        alike[device["node"], device["name"]].append(device)
    for devices in alike.values():
        for name, word in names.items():
            found = {device["label"]: highest_state_value(record, device, name) for device in devices}
            found = {label: value for label, value in found.items() if value is not None}
            most = max(found.values(), default=0)
            if name != "pcie_generation" or used:
                for label, value in found.items():
                    if value < most:
                        yield label, f"{label}: {word}: {value}, other devices have {most}"


def highest_state_value(record: Mapping[str, Any], device: Mapping[str, Any], name: str) -> int | None:
    """The highest recorded value of a state of a device; None without a value. name: such as "pcie_width"."""
    texts = [device.get("state", {}).get(name)]
    for one in record.get("health") or ():
        readings = one["readings"] if one["label"] == device["label"] else ()
        texts += [str(reading[when]) for reading in readings if reading["name"] == name for when in ("before", "after")]
    return max((int(text) for text in texts if text is not None and text.isdigit()), default=None)


def node_differences(records: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Sentences about differences between the nodes of a partition.

    The compared facts are driver, kernel, product, board, BIOS, CUDA, NCCL, MPI, VBIOS, firmware, rates and widths of
    links, and numbers of devices.

    records: (partition, record) of any nodes. If two records of a node differ, the first record counts.
    """
    records = list(records)
    found = [line for (_, name), of in facts_by_name(records).items() for line in difference_sentences(name, of)]
    return [*found, *device_count_differences(records)]


def device_count_differences(records: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Sentences about nodes that have more or fewer devices of a model than the other nodes.

    Only records of the same check are compared. Each compared record contains all devices of one node. Records of runs
    with --devices and records of ranks are therefore excluded.
    """
    found: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for partition, record in records:
        nodes = {device["node"] for device in record["devices"]}
        is_part = any(word.startswith("--devices") for word in record["command"])
        if len(nodes) != 1 or record["backend"] not in GPU_BACKENDS or is_part:
            continue
        for model, count in Counter(device["name"] for device in record["devices"]).items():
            found[partition, model, record["asked_by"] or ""].setdefault(*nodes, str(count))
    sentences: dict[str, str] = {}  # {beginning of a sentence, with node and fact: sentence about the first check}
    for (_, model, _), node_counts in found.items():
        for line in difference_sentences(f"number of {model}", node_counts):
            sentences.setdefault(line.partition(", ")[0], line)
    return list(sentences.values())


def equal_groups(records: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """{node: text}, such as "driver 580, kernel 6.1". Nodes with equal texts have comparable measured values.

    The text contains the facts that differ between nodes of the partition. The text is "" if no fact differs.
    records: see `node_differences`.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for (_, name), of in facts_by_name(records).items():
        known = {fact for fact in of.values() if fact}
        for node, fact in of.items():
            found[node] += [f"{name} {fact}"] if len(known) > 1 and fact else []
    return {node: ", ".join(facts) for node, facts in found.items()}


def facts_by_name(records: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[tuple[str, str], dict[str, str]]:
    """The facts of nodes: {(partition, name of a fact): {node: fact}}. Example of a name: "driver"."""
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    software: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for partition, record in records:
        for node, name, fact in node_facts(record):
            found[partition, name].setdefault(node, fact)
        for node, name, fact in node_software(record):
            software[partition, name][node].add(fact)
    for key, of in software.items():
        usual = Counter(map(frozenset, of.values())).most_common(1)[0][0]
        # a node that was measured in fewer environments is not different
        found[key] = {node: " and ".join(sorted(usual if facts <= usual else facts)) for node, facts in of.items()}
    return found


def node_software(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields (node, name, version) for each library in a record of one node.

    A record of several nodes yields nothing, because it does not contain the node of a library.
    """
    names = {device["node"] for device in record["devices"]}
    if len(names) == 1:
        (node,) = names
        yield from ((node, name, record["software"][name]) for name in SOFTWARE if record["software"].get(name))


def node_facts(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields (node, name of a fact, fact) for facts that do not depend on environment variables or modules."""
    names = list(dict.fromkeys(device["node"] for device in record["devices"]))
    if len(names) == 1 and record["software"].get("driver"):
        yield names[0], "driver", record["software"]["driver"]
    for node in record["nodes"]:
        model = node.get("board") or node["product"]  # the board may be unknown
        known = {"kernel": node["kernel"], "product": node["product"], "board": node.get("board")}
        known[f"BIOS of {model}" if model else "BIOS"] = node.get("bios")
        yield from ((node["name"], name, fact) for name, fact in known.items() if fact)
    of_model: dict[tuple[str, str], set[str]] = defaultdict(set)
    for device in record["devices"]:
        facts = {name: device["part"].get(name) for name in PART_FACTS}
        facts |= {word: device.get("state", {}).get(name) for name, word in STATE_FACTS.items()}
        for name, fact in facts.items():
            if fact:
                of_model[device["node"], f"{name} of {device['name']}"].add(fact)
    for adapter in record["adapters"]:
        part, node = adapter["part"], adapter["place"].get("node", "")
        model = part.get("model") or part.get("board") or "its adapters"
        facts = {"firmware": part.get("firmware"), "link rate": adapter["rate"]}
        facts |= {f"PCIe {name}": adapter.get("pcie", {}).get(name) for name in ("speed", "width")}
        for name, fact in facts.items():
            if node and fact:
                of_model[node, f"{name} of {model}"].add(fact)
    for (node, name), every in of_model.items():
        yield node, name, " and ".join(sorted(every))


MIN_GPUS = 3  # with fewer GPUs, the usual connection is unknown
MAX_GPUS = 128  # per node
MAX_DIFFERENT = 1 / 3  # of a node's GPUs: if more GPUs differ, the difference is the design of the node


class ConnectionDifference(NamedTuple):
    """A GPU or a pair of GPUs with an unusual connection. kind: the kind of finding, a key of `findings.NEXT`."""

    component: str
    kind: str
    sentence: str


def connection_differences(record: Mapping[str, Any]) -> Iterator[ConnectionDifference]:
    """Yields the GPUs whose connections differ from the connections of the other GPUs of their node."""
    nodes: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for device in record["devices"]:
        nodes[device["node"]].append(device)
    positions = {label: at for at, label in enumerate(record["topology"]["labels"])}
    classes = record["topology"]["link_class"]
    for devices in nodes.values():
        labels = [device["label"] for device in devices if device["label"] in positions]
        if labels and len(classes) == len(positions) and len(labels) <= MAX_GPUS:
            links = Links.from_classes(classes, {label: positions[label] for label in labels})
            yield from off_nvlink(links)
            yield from different_links(links)
        yield from far_from_adapters(devices)
        yield from slow_links(devices)
        if record["backend"] == "imported":  # linkmatrix itself measures PCIe cards without NVLink bridge
            yield from inactive_links(devices)
        yield from link_errors(devices)


class Links(NamedTuple):
    """The NVLinks between the GPUs of a node.

    labels: the GPUs.
    counts: {pair: number of links}; None if unknown.
    classes: {pair: link class}.
    """

    labels: Sequence[str]
    counts: Mapping[tuple[str, str], int | None]
    classes: Mapping[tuple[str, str], str]

    @classmethod
    def from_classes(cls, classes: Sequence[Sequence[str]], at: Mapping[str, int]) -> "Links":
        """The links between the GPUs in `at`. If a direction of a pair is unknown, the other direction is used.

        classes: link classes of all devices, as in the record.
        at: {label of a GPU: index in `classes`}.
        """
        known = {
            (a, b): classes[row][column] or classes[column][row]
            for a, row in at.items()
            for b, column in at.items()
            if a != b
        }
        counts = {pair: nvlink_count(name) for pair, name in known.items()}
        return cls(list(at), counts, known)

    def peer_counts(self, label: str, among: Sequence[str]) -> list[int | None]:
        """The number of links from a GPU to each other GPU in `among`."""
        return [self.counts[label, other] for other in among if other != label]


def nvlink_count(name: str) -> int | None:
    """The number of NVLinks of a link class: 18 for NV18, 0 for PCIe; None for an unknown class."""
    bonded = DIRECT.fullmatch(name)
    return int(bonded[2]) if bonded else 0 if name else None


def off_nvlink(links: Links) -> Iterator[ConnectionDifference]:
    """Yields the GPUs that have no NVLink, if NVLink connects all other GPUs of the node to each other."""
    off = [label for label in links.labels if not any(n is None or n for n in links.peer_counts(label, links.labels))]
    rest = [label for label in links.labels if label not in off]
    is_complete = all(n for label in rest for n in links.peer_counts(label, rest))
    if not off or len(rest) < MIN_GPUS or len(off) > MAX_DIFFERENT * len(links.labels) or not is_complete:
        return
    usual = ", ".join(sorted({links.classes[a, b] for a in rest for b in rest if a != b}))
    for label in off:
        has = ", ".join(sorted({links.classes[label, other] for other in rest} - {""}))
        yield ConnectionDifference(
            label,
            "off NVLink",
            f"{label} has no NVLink ({has}); the other {len(rest)} devices have {usual} to each other",
        )


def different_links(links: Links) -> Iterator[ConnectionDifference]:
    """Yields GPUs and pairs of GPUs whose number of NVLinks differs from the usual number of the node."""
    connected = [label for label in links.labels if any(links.peer_counts(label, links.labels))]
    known = Counter(n for pair, n in links.counts.items() if set(pair) <= set(connected) and n is not None)
    if len(connected) < MIN_GPUS or len(known) < 2:
        return
    usual = known.most_common(1)[0][0]
    unlike = [label for label in connected if usual not in links.peer_counts(label, connected)]
    rest = [label for label in connected if label not in unlike]
    pairs = [(a, b) for a in rest for b in rest if a < b and links.counts[a, b] not in (usual, None)]
    if not usual or len(unlike) > MAX_DIFFERENT * len(connected) or len(rest) < MIN_GPUS or len(pairs) > 1:
        return
    for label in unlike:
        has = sorted({n for n in links.peer_counts(label, connected) if n is not None})
        text = f"{label} has {' or '.join(map(str, has))} NVLinks to each other GPU, other pairs have {usual}"
        yield ConnectionDifference(label, "unlike links", text)
    for a, b in pairs if len(rest) > MIN_GPUS else ():
        text = (
            f"{a} and {b} have {counted(links.counts[a, b] or 0, 'NVLink')} to each other, the other pairs have {usual}"
        )
        yield ConnectionDifference(f"{a} and {b}", "unlike links", text)


def far_from_adapters(devices: Sequence[Mapping[str, Any]]) -> Iterator[ConnectionDifference]:
    """Yields GPUs that are farther from their nearest network adapter than the other GPUs of the node."""
    found = {device["label"]: device.get("state", {}).get("nic_class") for device in devices}
    found = {label: name for label, name in found.items() if name in PCI_CLASSES}
    usual, count = Counter(found.values()).most_common(1)[0] if found else ("", 0)
    unlike = [label for label, name in found.items() if PCI_CLASSES.index(name) > PCI_CLASSES.index(usual)]
    if count < MIN_GPUS or len(unlike) > MAX_DIFFERENT * len(found):
        return
    for label in unlike:
        text = (
            f"{label}: its nearest network adapter is at {found[label]}, the nearest adapter of {count} GPUs at {usual}"
        )
        yield ConnectionDifference(label, "far adapter", text)


def slow_links(devices: Sequence[Mapping[str, Any]]) -> Iterator[ConnectionDifference]:
    """Yields GPUs with an NVLink that is slower than the NVLinks of the other GPUs."""
    texts = {device["label"]: device.get("state", {}).get("nvlink_speed_least", "") for device in devices}
    speeds = {label: float(text) for label, text in texts.items() if text.replace(".", "", 1).isdecimal()}
    most = max(speeds.values(), default=0.0)
    for label, speed in speeds.items():
        if speed < most:
            yield ConnectionDifference(
                label, "unlike links", f"{label}: an NVLink runs at {speed:g} GB/s, other NVLinks at {most:g} GB/s"
            )


def inactive_links(devices: Sequence[Mapping[str, Any]]) -> Iterator[ConnectionDifference]:
    """Yields one difference that names all GPUs of a node, if none of their NVLinks is active."""
    states = [device.get("state", {}) for device in devices]
    links = {state.get("nvlinks", "0") for state in states}
    if devices and "0" not in links and all(state.get("nvlinks_active") == "0" for state in states):
        labels = units.first([device["label"] for device in devices])
        count = f"{counted(len(devices), 'GPU')} {'has' if len(devices) == 1 else 'have'}"
        yield ConnectionDifference(", ".join(labels), "no active NVLink", f"{count} no active NVLink")


def link_errors(devices: Sequence[Mapping[str, Any]]) -> Iterator[ConnectionDifference]:
    """Yields GPUs whose NVLinks have counted errors since the driver was loaded."""
    for device in devices:
        errors = device.get("state", {}).get("nvlink_errors", "none")
        if errors != "none":
            yield ConnectionDifference(device["label"], "link errors", f"{device['label']}: {errors}")
