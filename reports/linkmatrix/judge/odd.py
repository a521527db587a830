"""What should be alike on all nodes of a partition and is not; the odd one is named."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..record import units

OF_PART = ("vbios", "firmware")  # of a device's part
OF_STATE = {"nvlinks_active": "active NVLinks", "pcie_width": "PCIe width"}  # of a device's state; its PCIe speed rests
OF_GPUS = ("cuda", "ipc")  # back ends that open every GPU of a node
SOFTWARE = ("CUDA", "NCCL", "MPI")


def odd_ones(name: str, found: Mapping[str, str]) -> list[str]:
    """ "n17: vbios is 96.00.61, 7 others have 96.00.74".

    found: {who: fact}; who is "" has none, and is left out
    """
    known = {who: fact for who, fact in found.items() if fact}
    counts = Counter(known.values())
    if len(counts) < 2:
        return []
    (usual, most), (_, second) = counts.most_common(2)
    if most == second:  # nobody is the odd one
        each = units.first([f"{who} has {fact}" for who, fact in known.items()])
        return [f"{name} differs: {', '.join(each)}"]
    odd = [f"{who}: {name} is {fact}, {most} others have {usual}" for who, fact in known.items() if fact != usual]
    return units.first(odd)


def odd_devices(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(device, sentence) of each device with fewer active NVLinks, or a narrower or slower PCIe link, than its like.

    Devices are alike that have one model and one node. An idle PCIe link is slow to save power: its generation counts
    only where copies from or to host memory were measured, and is the highest one that the record has.
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
            found = {device["label"]: highest(record, device, name) for device in devices}
            found = {label: value for label, value in found.items() if value is not None}
            most = max(found.values(), default=0)
            if name != "pcie_generation" or used:
                for label, value in found.items():
                    if value < most:
                        yield label, f"{label}: {word}: {value}, others have {most}"


def highest(record: Mapping[str, Any], device: Mapping[str, Any], name: str) -> int | None:
    """The highest number that a record has of a device's state before and after the run; None for none."""
    texts = [device.get("state", {}).get(name)]
    for one in record.get("health") or ():
        readings = one["readings"] if one["label"] == device["label"] else ()
        texts += [str(reading[when]) for reading in readings if reading["name"] == name for when in ("before", "after")]
    return max((int(text) for text in texts if text is not None and text.isdigit()), default=None)


def odd_nodes(records: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """What differs between the nodes of a partition: driver, kernel, product, board, BIOS, CUDA, NCCL and MPI, VBIOS
    and firmware of devices and adapters, the rates and widths of their links, and how many devices each has.

    records: (partition, record), of any number of nodes each; of two that say another thing of a node the first counts
    """
    records = list(records)
    found = [line for (_, name), of in by_fact(records).items() for line in odd_ones(name, of)]
    return [*found, *odd_counts(records)]


def odd_counts(records: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Nodes with fewer devices of a model than the others, or more: of the records of one check, each of one node.

    Another check may use some of the devices, as who says --devices does, and ranks are as many as were started.
    """
    found: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for partition, record in records:
        nodes = {device["node"] for device in record["devices"]}
        some = any(word.startswith("--devices") for word in record["command"])
        if len(nodes) != 1 or record["backend"] not in OF_GPUS or some:
            continue
        for model, count in Counter(device["name"] for device in record["devices"]).items():
            found[partition, model, record["asked_by"] or ""].setdefault(*nodes, str(count))
    told: dict[str, str] = {}  # of several checks that say it of a node the first
    for (_, model, _), of in found.items():
        for line in odd_ones(f"number of {model}", of):
            told.setdefault(line.partition(", ")[0], line)
    return list(told.values())


def equal_groups(records: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """{node: what it has of the facts that differ in its partition, "driver 580, kernel 6.1"}; "" where none does.

    Figures of nodes are like only where this is the same. records: as of `odd_nodes`
    """
    found: dict[str, list[str]] = defaultdict(list)
    for (_, name), of in by_fact(records).items():
        known = {fact for fact in of.values() if fact}
        for node, fact in of.items():
            found[node] += [f"{name} {fact}"] if len(known) > 1 and fact else []
    return {node: ", ".join(said) for node, said in found.items()}


def by_fact(records: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[tuple[str, str], dict[str, str]]:
    """{(partition, name of a fact): {node: fact}} of records."""
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    software: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for partition, record in records:
        for node, name, fact in facts_of_nodes(record):
            found[partition, name].setdefault(node, fact)
        for node, name, fact in software_of_nodes(record):
            software[partition, name][node].add(fact)
    for key, of in software.items():
        usual = Counter(map(frozenset, of.values())).most_common(1)[0][0]
        # one that was measured in fewer environments has nothing else
        found[key] = {node: " and ".join(sorted(usual if facts <= usual else facts)) for node, facts in of.items()}
    return found


def software_of_nodes(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(node, name, version) of the libraries that a program found; of several nodes nobody tells which is whose."""
    names = {device["node"] for device in record["devices"]}
    if len(names) == 1:
        (node,) = names
        yield from ((node, name, record["software"][name]) for name in SOFTWARE if record["software"].get(name))


def facts_of_nodes(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(node, name of a fact, fact) of each node of a record, as far as it is known: what no environment changes."""
    names = list(dict.fromkeys(device["node"] for device in record["devices"]))
    if len(names) == 1 and record["software"].get("driver"):
        yield names[0], "driver", record["software"]["driver"]
    for node in record["nodes"]:
        model = node.get("board") or node["product"]  # records of before have neither board nor BIOS
        known = {"kernel": node["kernel"], "product": node["product"], "board": node.get("board")}
        known[f"BIOS of {model}" if model else "BIOS"] = node.get("bios")
        yield from ((node["name"], name, fact) for name, fact in known.items() if fact)
    of_model: dict[tuple[str, str], set[str]] = defaultdict(set)
    for device in record["devices"]:
        facts = {name: device["part"].get(name) for name in OF_PART}
        facts |= {word: device.get("state", {}).get(name) for name, word in OF_STATE.items()}
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
