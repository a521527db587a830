"""What should be alike on all nodes of a partition and is not; the odd one is named."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..record import units

MOST_NAMED = 4
OF_PART = ("vbios", "firmware")  # of a device's part


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
        each = units.first([f"{who} has {fact}" for who, fact in known.items()], MOST_NAMED)
        return [f"{name} differs: {', '.join(each)}"]
    odd = [f"{who}: {name} is {fact}, {most} others have {usual}" for who, fact in known.items() if fact != usual]
    return units.first(odd, MOST_NAMED)


def odd_nodes(records: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """What differs between the nodes of a partition: driver, kernel, and VBIOS and firmware of devices and adapters.

    records: (partition, record), of any number of nodes each
    """
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for partition, record in records:
        for node, name, fact in facts_of_nodes(record):
            found[partition, name].setdefault(node, fact)
    return [line for (_, name), of in found.items() for line in odd_ones(name, of)]


def facts_of_nodes(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(node, name of a fact, fact) of each node of a record, as far as it is known."""
    names = list(dict.fromkeys(device["node"] for device in record["devices"]))
    if len(names) == 1 and record["software"].get("driver"):
        yield names[0], "driver", record["software"]["driver"]
    for node in record["nodes"]:
        if node["kernel"]:
            yield node["name"], "kernel", node["kernel"]
    of_model: dict[tuple[str, str], set[str]] = defaultdict(set)
    for device in record["devices"]:
        for name in OF_PART:
            if device["part"].get(name):
                of_model[device["node"], f"{name} of {device['name']}"].add(device["part"][name])
    for adapter in record["adapters"]:
        part, node = adapter["part"], adapter["place"].get("node", "")
        if node and part.get("firmware"):
            model = part.get("model") or part.get("board") or "its adapters"
            of_model[node, f"firmware of {model}"].add(part["firmware"])
    for (node, name), facts in of_model.items():
        yield node, name, " and ".join(sorted(facts))
