"""Compares the network adapters in a record with the adapters that the partition specifies.

If the record lacks a specified property, the test is INCOMPLETE.
"""

import math
import re
from dataclasses import dataclass, fields

from linkmatrix.foreign.adapter_pairs import concurrent_share, rates_of
from linkmatrix.judge.verdicts import failed, mismatch, missing
from linkmatrix.record.units import line_rate

from .shares import shortfall_faults

KEY = "adapters"  # in a partition's extras
NAME = re.compile(r"[^\s,:/-][^\s,:/]*(:\d+)?")  # name of a port or an interface


@dataclass(frozen=True)
class Adapters:
    """A group of adapters that each node must have, and their expected properties. None and () mean unspecified.

    names: the kernel's names, such as "mlx5_0", or "mlx5_0:2" for a second port; () for all RDMA adapters.
    number: the number of ports.
    rate: the line rate in Gb/s.
    link_layer: "InfiniBand" or "Ethernet".
    width: the lanes of the PCI link.
    speed: GT/s per lane of the PCI link.
    ratio: the required bandwidth of each adapter in perftest, as a fraction of its line rate, such as 0.95.
    at_once: the required bandwidth of all adapters concurrently, as a fraction of the sum of their isolated bandwidths.
    """

    names: tuple[str, ...] = ()
    number: int | None = None
    state: str | None = "ACTIVE"
    rate: float | None = None
    link_layer: str | None = None
    width: int | None = None
    speed: float | None = None
    ratio: float | None = None
    at_once: float | None = None


class MalformedExtrasError(ValueError):
    """The value of a partition's extras['adapters'] is malformed."""


def specified(extras):
    """Parses a partition's extras['adapters'] to a list of `Adapters`. Raises MalformedExtrasError."""
    value = extras.get(KEY)
    groups = value if isinstance(value, list | tuple) else [value] if value is not None else []
    known = [field.name for field in fields(Adapters)]
    for group in groups:
        wrong = [str(name) for name in group if name not in known] if isinstance(group, dict) else [str(group)]
        if wrong:
            raise MalformedExtrasError(
                f"extras['{KEY}'] of the partition has the unknown key '{wrong[0]}': use {', '.join(known)}"
            )
        for name, value in group.items():
            if valid := malformed_value(name, value):
                raise MalformedExtrasError(f"extras['{KEY}'] of the partition has {name}={value!r}: give {valid}")
    return [Adapters(**{**group, "names": tuple(group.get("names", ()))}) for group in groups]


def malformed_value(name, value):
    """A description of a valid value for the key `name`, if `value` is malformed; "" if `value` is valid."""
    if name == "names":
        words = isinstance(value, list | tuple) and all(isinstance(one, str) and NAME.fullmatch(one) for one in value)
        distinct = words and len(set(value)) == len(value)
        return "" if distinct else "a list of distinct names, such as ['mlx5_0', 'mlx5_1:2']"
    if name in ("state", "link_layer"):
        return "" if value is None or isinstance(value, str) else "the name that the kernel uses, or None"
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if name in ("ratio", "at_once"):
        return "" if number and 0 < value <= 1 else "a number above 0 and up to 1, such as 0.95"
    return "" if number and value >= 0 else "a number"


def adapter_faults(record, extras):
    """Reasons against PASS: missing adapters, unexpected properties, or a partition without specified adapters."""
    try:
        groups = specified(extras)
    except MalformedExtrasError as error:
        return missing(str(error))
    if not groups:
        return missing(
            f"the partition has the feature rdma but does not specify its adapters: write extras['{KEY}'],"
            f" such as {example(record['adapters'])}"
        )
    if not record["nodes"]:
        return missing("the record does not contain the adapters of the nodes: measure with this version of linkmatrix")
    return [
        fault
        for node in [one["name"] for one in record["nodes"]]
        for group in groups
        for fault in node_faults(node, node_ports(record, node), group)
    ]


def node_ports(record, node):
    """The ports of a node in a record, as {name: port}. A second port of an adapter is named "mlx5_0:2".

    Ports without RDMA are included.
    """
    ports = [port for port in record["adapters"] if port["place"].get("node") == node]
    numbers = [port["place"].get("port", "1") for port in ports]
    return {port["name"] + (f":{at}" if at != "1" else ""): port for port, at in zip(ports, numbers, strict=True)}


def has_rdma(port):
    """Whether the kernel lists a port as an RDMA device. Other ports are only network interfaces."""
    return "port" in port["place"]


def node_faults(node, ports, group):
    """Reasons against PASS: a node lacks adapters of the group, or its adapters have unexpected properties.

    ports: {name: port} of the node.
    """
    rdma = [name for name, port in ports.items() if has_rdma(port)]
    present = ", ".join(ports) or "none"
    absent = [name for name in group.names if name not in ports]
    reasons = failed(*(f"{node} has no adapter {name}, only: {present}" for name in absent))
    names = [name for name in group.names if name in ports] if group.names else rdma
    if group.number is not None and len(names) != group.number:
        sentence = f"{node} has {len(names)} adapters ({', '.join(names) or 'none'}), expected are {group.number}"
        reasons += failed(sentence) if len(names) < group.number else missing(sentence)
    if not group.names and group.number is None and not rdma:
        reasons += failed(f"{node} has no RDMA adapter (/sys/class/infiniband): load its driver")
    return reasons + [one for name in names for one in port_faults(node, name, ports[name], group)]


def port_faults(node, name, port, group):
    """Reasons against PASS: properties of a port differ from the properties that the group specifies.

    node: the name of the node.
    name: the name of the port.
    """
    pcie = port.get("pcie", {})
    physical = port.get("physical_state")
    state = " ".join(filter(None, (port["state"], f"({physical})" if physical not in (None, "LinkUp") else "")))
    found = {
        "state": (port["state"], group.state, state),
        "link layer": (port["link_layer"], group.link_layer, port["link_layer"]),
        "rate": (line_rate(port["rate"]), group.rate, port["rate"]),
        "PCI width": (leading_number(pcie.get("width")), group.width, pcie_text("x", pcie, "width")),
        "PCI speed": (leading_number(pcie.get("speed")), group.speed, pcie_text("", pcie, "speed")),
    }
    units = {"rate": " Gb/s", "PCI speed": " GT/s"}
    where = ", ".join(filter(None, (port["place"].get("pci"), *(one["name"] for one in port.get("interfaces", ())))))
    return [
        reason
        for name_of_fact, (value, wanted, shown) in found.items()
        if wanted is not None and not is_expected(value, wanted)
        for reason in mismatch(
            shown,
            f"{node}: the {name_of_fact} of {name} ({where or 'no PCI device'}) is {shown or 'unknown'}, expected is"
            f" {'x' if name_of_fact == 'PCI width' else ''}{wanted}{units.get(name_of_fact, '')}",
        )
    ]


def is_expected(value, wanted):
    """Whether a property has the expected value, without regard to case. "up" and "ACTIVE" are equal."""
    if isinstance(wanted, str) and isinstance(value, str):
        synonyms = {"up": "active"}
        return synonyms.get(value.lower(), value.lower()) == synonyms.get(wanted.lower(), wanted.lower())
    return value == wanted


def pcie_text(prefix, pcie, key):
    """A property of a PCI link as text, with its maximum, such as "x8 of x16"; None if unknown.

    pcie: the properties of the PCI link in a record.
    key: "width" or "speed".
    """
    now, most = pcie.get(key), pcie.get(f"{key}_at_most")
    if now is None:
        return None
    return f"{prefix}{now}" + (f" of {prefix}{most}" if most not in (None, now) else "")


def leading_number(text):
    """The number at the start of a text; None without a number."""
    found = re.match(r"\d+(?:\.\d+)?", text or "")
    return float(found[0]) if found else None


def example(adapters):
    """An example of extras['adapters'] of a partition: the number and the line rate of the adapters in a record."""
    ports = [port for port in adapters if has_rdma(port) and port["state"] == "ACTIVE"]
    rates = [rate for port in ports if (rate := line_rate(port["rate"]))]
    return {"number": len(ports) or 8, "rate": max(rates, default=400)}


def ratio_faults(record, groups):
    """Reasons against PASS: bandwidths of adapters are below the `ratio` or `at_once` of a group.

    groups: a list of `Adapters`.
    """
    return [
        reason
        for result in record["results"]
        if result["unit"] == "GB/s"
        for group in groups
        for reason in (concurrency_faults if "alone" in result["parts"] else line_rate_faults)(result, group)
    ]


def concurrency_faults(result, group):
    """The reason against PASS, if the concurrent bandwidth of all adapters is below the group's `at_once`."""
    share, together = concurrent_share(result), f"{result['testcase']}: all adapters concurrently reach"
    if group.at_once is None:
        return []
    return shortfall_faults(
        result, together, share and 100 * share, 100 * group.at_once, "of the sum of their separate values"
    )


def line_rate_faults(result, group):
    """Reasons against PASS: bandwidths of adapters are below the group's `ratio`."""
    reasons = []
    for name, (value, rate) in rates_of(result).items():
        line = rate or group.rate
        if group.ratio is not None and (not group.names or name in group.names):
            has, of = f"{result['testcase']}: {name} has {value:.2f} Gb/s", f"of {line or 0:g} Gb/s"
            reasons += shortfall_faults(result, f"{has},", line and 100 * value / line, 100 * group.ratio, of)
    return reasons
