"""`nvidia-smi topo -m`, and the same of other vendors: GPUs, and NICs where it lists them."""

import re

from .table import Reading, Topology

PROGRAM = "nvidia_smi"
ENDPOINT = r"(?:GPU|PPU|NIC)\d+|mlx5_\w+|bnxt_re\w+"
HEAD = re.compile(rf"^\s*(?:(?:{ENDPOINT})\s+)+(?:(?:{ENDPOINT})\s*$|CPU Affinity\b.*)")
ROW = re.compile(rf"^\s*({ENDPOINT})\s")
CLASS = re.compile(r"X|NV\d+|ICN\d+|PIX|PXB|PHB|NODE|SYS")
BONDED = re.compile(r"(?:NV|ICN)(\d+)")
LEGEND = re.compile(r"^\s*(NIC\d+): (\w+)\s*$")
NEAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
LEGEND_LINES = 40


def topo(reading: Reading, match: re.Match[str]) -> None:
    """The line of columns and a row for each GPU and NIC; its affinity, where it is printed, is the NUMA node's."""
    line = reading.at + 1
    columns = re.findall(ENDPOINT, match[0])
    affinity = "NUMA Affinity" in match[0]
    reading.at += 1
    rows: dict[str, list[str]] = {}
    numa: dict[str, int] = {}
    faults: list[str] = []
    while (row := ROW.match(reading.line() + " ")) is not None:
        words = reading.line().split()[1:]
        classes = words[: len(columns)]
        name, cut = row[1], reading.may_be_cut() and len(words) == len(columns)
        own = classes.index("X") if classes.count("X") == 1 else -1
        whole = len(classes) == len(columns) and all(map(CLASS.fullmatch, classes)) and not cut
        if not whole or name in rows or name not in columns or own != columns.index(name):
            faults.append(f"line {reading.at + 1}: row {name} does not fit {len(columns)} columns: it is not believed")
        else:
            rows[name] = classes
            rest = words[len(columns) :]
            if affinity and len(rest) >= 2 and rest[1].isdecimal() and not reading.may_be_cut():
                numa[label(name)] = int(rest[1])
        reading.at += 1
    devices = [name for name in columns if name.startswith(("GPU", "PPU"))]
    lost = [name for name in columns if name not in rows]
    if lost:
        faults.append(f"line {line}: the text lacks the row of {', '.join(lost)}")
    if not devices or len(set(columns)) != len(columns):
        return
    names = nic_names(reading)
    pairs = {(row, column): word for row, words in rows.items() for column, word in zip(columns, words, strict=True)}
    between = {(label(a), label(b)): word for (a, b), word in pairs.items() if a in devices and b in devices and a != b}
    to_nics = {(label(a), names.get(b, b)): word for (a, b), word in pairs.items() if a in devices and b not in devices}
    bonded = {pair: BONDED.fullmatch(word) for pair, word in between.items()}
    reading.add_topology(
        PROGRAM,
        Topology(
            tuple(label(name) for name in devices),
            line,
            link_class=between,
            links={pair: int(found[1]) if found else 0 for pair, found in bonded.items()},
            numa=numa,
            nic_class=to_nics,
            faults=tuple(faults),
        ),
    )


def label(name: str) -> str:
    """`GPU0` and `PPU0` are gpu0 in a record."""
    return f"gpu{name[3:]}" if name.startswith(("GPU", "PPU")) else name


def nic_names(reading: Reading) -> dict[str, str]:
    """The legend below: {"NIC0": "mlx5_0"}."""
    found = map(LEGEND.match, reading.lines[reading.at : reading.at + LEGEND_LINES])
    return {match[1]: match[2] for match in found if match}
