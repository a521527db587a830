"""The RDMA adapters of this machine, from sysfs, and their expected configuration."""

import re
from pathlib import Path
from typing import Any, NamedTuple

#: Field of the expected configuration → file in the folder of the adapter or port, whose text begins with the number.
NUMBERS = {"rate": "rate", "width": "device/current_link_width", "speed": "device/current_link_speed"}


class Port(NamedTuple):
    """A port of an adapter, as the kernel reports it.

    numbers: pairs of (property, value), such as the rate or the width of the PCI link.
    at_most: pairs of (property, maximum value that the adapter supports).
    """

    name: str
    state: str
    link_layer: str
    numbers: tuple[tuple[str, float], ...]
    at_most: tuple[tuple[str, float], ...]


def ports(root: Path = Path("/")) -> list[Port]:
    """All RDMA ports, sorted by name. Numbers are sorted by value: mlx5_2 precedes mlx5_10."""
    folder = root / "sys/class/infiniband"
    found = [at for adapter in folder.glob("*") for at in (adapter / "ports").glob("*")]
    return [port(at) for at in sorted(found, key=lambda at: (sort_key(at.parent.parent.name), sort_key(at.name)))]


def port(at: Path) -> Port:
    """The port in a folder of sysfs."""
    adapter = at.parent.parent
    places = {"rate": at / "rate", **{name: adapter / file for name, file in NUMBERS.items() if name != "rate"}}
    most = {name: adapter / f"device/max_link_{name}" for name in ("width", "speed")}
    return Port(
        name=adapter.name + (f":{at.name}" if at.name != "1" else ""),
        state=text(at / "state").partition(": ")[2],
        link_layer=text(at / "link_layer"),
        numbers=tuple((name, value) for name, file in places.items() if (value := number(file)) is not None),
        at_most=tuple((name, value) for name, file in most.items() if (value := number(file)) is not None),
    )


def expected_adapters(ports: list[Port]) -> list[dict[str, Any]]:
    """The value of extras['adapters']: the active ports. Ports with equal properties are one group."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for one in ports:
        if one.state == "ACTIVE":
            groups.setdefault((one.link_layer, one.numbers), []).append(one.name)
    return [
        {"names": names, "state": "ACTIVE", **({"link_layer": layer} if layer else {}), **dict(numbers)}
        for (layer, numbers), names in groups.items()
    ]


def remarks(ports: list[Port]) -> list[str]:
    """Sentences about inactive ports, and about PCI links below the speed or width that their adapter supports."""
    sentences = [
        f"{one.name} is {one.state or 'in an unknown state'}: extras['adapters'] does not contain this adapter"
        for one in ports
        if one.state != "ACTIVE"
    ]
    units = {"width": "lanes", "speed": "GT/s"}
    for one in ports:
        now = dict(one.numbers)
        slow = [name for name, most in one.at_most if one.state == "ACTIVE" and now.get(name, most) < most]
        sentences += [
            f"the PCI link of {one.name} has {now[name]:g} of {dict(one.at_most)[name]:g} {units[name]}: check the slot"
            for name in slow
        ]
    return sentences


def sort_key(name: str) -> tuple[Any, ...]:
    """A sort key for names. Numbers in names are sorted by value: mlx5_2 precedes mlx5_10."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part)


def text(file: Path) -> str:
    """The first line of a file; "" if the file does not exist."""
    try:
        return file.read_text(encoding="ascii", errors="replace").partition("\n")[0].strip()
    except OSError:
        return ""


def number(file: Path) -> float | int | None:
    """The number at the start of a file; None if there is no number. Whole numbers are int."""
    found = re.match(r"\d+(?:\.\d+)?", text(file))
    if not found:
        return None
    value = float(found[0])
    return int(value) if value.is_integer() else value
