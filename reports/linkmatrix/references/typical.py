"""Typical values of GPU models, PCIe links, adapters and collectives, each with its source.

The file `config/references/typical.yaml` describes its fields. No verdict depends on a typical value.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .. import suite
from ..errors import BadInput
from ..files import read_whole
from ..record.names import Result, collective_extent, is_collective
from .reading import MAX_VALUE, TYPICAL, StrictLoader, is_number, mapping, refuse_tags_and_deep_nesting

FILE = suite.REFERENCES / TYPICAL
MOST_BYTES = 1024 * 1024
ANY = "any"  # product of values that do not depend on the GPU
MEASURED, MINIMUM = "measured", "minimum"
#: Unit of the file → unit of a record.
TO_UNIT = {"GB/s": ("GB/s", 1.0), "MB/s": ("GB/s", 1e-3), "us": ("us", 1.0), "Gb/s": ("GB/s", 1 / 8)}
FIELDS = {"product", "testcase", "link", "value", "unit", "kind", "source", "quote"}
SOURCE_FIELDS = {"title", "place", "date"}
DATE = re.compile(r"\d{4}-\d\d-\d\d")
INFINIBAND = re.compile(r"\b(HDR|NDR|XDR)\b")
NCCL_RAN = "NCCL ran "  # prefix of a collective's note: "NCCL ran RING, SIMPLE, channels 0..23"
ALGORITHMS = {"NVLS": "NVLS", "RING": "Ring"}
LEAST_COLLECTIVE = 1 << 30  # bytes; smaller collectives are not compared

Key = tuple[str, str, str]  # product, test case, link


class Typical(NamedTuple):
    """A typical value, in the unit of records, and its source.

    minimum: whether the value is the minimum that an operator accepts.
    title, place, date: title, place and date of the source.
    """

    value: float
    unit: str
    minimum: bool
    title: str
    place: str
    date: str

    def share(self, value: float) -> float:
        """A measured value as a fraction of the typical value. For latencies, the inverse fraction is returned.

        A fraction below 1 is therefore always worse than typical.
        """
        return self.value / value if self.unit == "us" else value / self.value


class TypicalValues(NamedTuple):
    """The content of typical.yaml.

    * products: {device name: product}
    * values: {(product, test case, link): typical value}
    """

    products: Mapping[str, str]
    values: Mapping[Key, Typical]

    def of(self, record: Mapping[str, Any], result: Result, link_class: str) -> Typical | None:
        """The typical value of the cells of a link class of a result; None if unknown."""
        links = link_names(record, result, link_class)
        names = {device["name"] for device in record["devices"]}
        product = self.products.get(next(iter(names)), ANY) if len(names) == 1 else ANY
        keys = ((one, result["testcase"], link) for one in (product, ANY) for link in links)
        found = (self.values.get(key) for key in keys)
        return next((one for one in found if one is not None and one.unit == result["unit"]), None)


def link_names(record: Mapping[str, Any], result: Result, link_class: str) -> tuple[str, ...]:
    """The names that typical.yaml can use for the link of a link class, the most specific name first."""
    if is_collective(result):
        extent, large = collective_extent(record), (result["size_bytes"] or 0) >= LEAST_COLLECTIVE
        if extent.nodes != 1 or not large or result["memory"] != "device":
            return ()
        usual, algorithm = f"{extent.ranks} GPUs", nccl_algorithm(result)
        return (f"{usual} {algorithm}", usual) if algorithm else (usual,)
    link = pair_link_name(record, result, link_class)
    return (link_class, link) if link_class == "HOST" else (link,)


def nccl_algorithm(result: Result) -> str:
    """The algorithm of an NCCL collective, such as "NVLS" or "Ring"; "" if unknown, or if NCCL used several."""
    found = {note.removeprefix(NCCL_RAN).partition(",")[0] for note in result["notes"] if note.startswith(NCCL_RAN)}
    return ALGORITHMS.get(found.pop(), "") if len(found) == 1 else ""


def pair_link_name(record: Mapping[str, Any], result: Result, link_class: str) -> str:
    """The name of the link of a pair in typical.yaml, such as "PCIe 5 x16"; "" if the link is unknown."""
    if link_class == "HOST":
        states = [device.get("state", {}) for device in record["devices"]]
        links = {(state.get("pcie_generation_most"), state.get("pcie_width_most")) for state in states}
        (generation, width) = links.pop() if len(links) == 1 else (None, None)
        return f"PCIe {generation} x{width}" if generation and width else ""
    if result["testcase"].startswith("ib_"):
        rates = {one["rate"] for one in record["adapters"] if one["rate"]}
        found = INFINIBAND.search(rates.pop()) if len(rates) == 1 else None
        return found[1] if found else ""
    return link_class


@cache
def typical_values(file: Path = FILE) -> TypicalValues:
    """Reads a file of typical values. If the file is missing, the result is empty.

    Raises BadInput for an invalid file. The message contains the file and the key.
    """
    if not file.exists():
        return TypicalValues({}, {})
    text = read_whole(file, MOST_BYTES).decode()
    try:
        refuse_tags_and_deep_nesting(text)
        content = yaml.load(text, Loader=StrictLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(f"{file} is not valid YAML: {' '.join(str(error).split())[:200]}") from None
    content = mapping(content, file, "the file")
    require(set(content) == {"products", "sources", "values"}, file, "the file must have products, sources and values")
    products = {}
    for product, names in mapping(content["products"], file, "products").items():
        texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        require(texts, file, f"products.{product} must be a list of device names")
        products |= dict.fromkeys(names, product)
    sources = mapping(content["sources"], file, "sources")
    for name, source in sources.items():
        fields = mapping(source, file, f"sources.{name}")
        texts = set(fields) == SOURCE_FIELDS and all(isinstance(one, str) and one for one in fields.values())
        require(texts, file, f"sources.{name} must have the texts {', '.join(sorted(SOURCE_FIELDS))}")
        require(DATE.fullmatch(fields["date"]), file, f"sources.{name}.date must be a day such as '2026-11-25'")
    require(isinstance(content["values"], list), file, "values must be a list")
    found: dict[Key, Typical] = {}
    for number, entry in enumerate(content["values"], 1):
        key, value = read_entry(entry, f"values, entry {number}", file, {*products.values(), ANY}, sources)
        known = found.get(key)
        require(
            known is None or known.minimum != value.minimum,
            file,
            f"values, entry {number}: its product, test case and link appear twice",
        )
        if known is None or known.minimum:
            found[key] = value
    return TypicalValues(products, found)


def read_entry(
    entry: Any, where: str, file: Path, products: set[str], sources: Mapping[str, Mapping[str, str]]
) -> tuple[Key, Typical]:
    """Parses an item of `values`. Raises BadInput. where: the name of the item in error messages."""
    entry = mapping(entry, file, where)
    require(set(entry) == FIELDS, file, f"{where} must have the fields {', '.join(sorted(FIELDS))}")
    texts = all(isinstance(entry[name], str) and entry[name] for name in FIELDS - {"value"})
    require(texts, file, f"{where}: all fields except the value must be texts that are not empty")
    require(entry["product"] in products, file, f"{where}: the product '{entry['product']}' is unknown")
    require(entry["source"] in sources, file, f"{where}: the source '{entry['source']}' is unknown")
    require(entry["unit"] in TO_UNIT, file, f"{where}: the unit must be {', '.join(TO_UNIT)}")
    require(entry["kind"] in (MEASURED, MINIMUM), file, f"{where}: the field kind must be {MEASURED} or {MINIMUM}")
    value = entry["value"]
    require(is_number(value) and 0 < value <= MAX_VALUE, file, f"{where}: the value must be a positive number")
    unit, factor = TO_UNIT[entry["unit"]]
    source = sources[entry["source"]]
    typical = Typical(value * factor, unit, entry["kind"] == MINIMUM, source["title"], source["place"], source["date"])
    return (entry["product"], entry["testcase"], entry["link"]), typical


def require(condition: object, file: Path, problem: str) -> None:
    """Raises BadInput if the condition is false. The message contains the file and the problem."""
    if not condition:
        raise BadInput(f"{file}: {problem}")
