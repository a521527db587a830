"""Reads `nvidia-smi topo -m`, and the same table of other vendors: link classes between GPUs and NICs."""

import re

from ..record.link_classes import DIRECT, DIRECT_TYPES, PCI_CLASSES
from .table import Reading, Topology

PROGRAM = "nvidia_smi"
NUMBERED = r"(?:GPU|PPU|NIC)\d+"
ENDPOINT = rf"{NUMBERED}|mlx5_\w+|bnxt_re\w+"
AFTER = r"CPU Affinity.*"
#: The line of columns. If the blanks are lost, only numbered endpoints are recognised.
HEAD = re.compile(
    rf"^\s*(?:(?:(?:{ENDPOINT})\s+)+(?:(?:{ENDPOINT})\s*$|{AFTER})|(?:{NUMBERED}\s*)+(?:{NUMBERED}\s*$|{AFTER}))"
)
#: X is last, because a pattern that begins with X must match first.
CLASS = rf"(?:(?:{'|'.join(DIRECT_TYPES)})\d+|{'|'.join(PCI_CLASSES)}|X)"
ROW = re.compile(rf"^\s*(?:({ENDPOINT})\s|({NUMBERED})(?={CLASS}))")
CLASSES = re.compile(rf"\s*({CLASS})")
FIRST = re.compile(r"(\d+)(?:[,-][\d,-]+)?")  # NUMA nodes of a GPU: "0", or "0,3-9" on Grace, where GPUs are nodes too
LEGEND = re.compile(r"^\s*(NIC\d+): (\w+)\s*$")
LEGEND_LINES = 40


def matrix(reading: Reading, match: re.Match[str]) -> None:
    """Read the line of column names, one row per GPU and NIC, and the legend below.

    The column "NUMA Affinity" contains the NUMA node of the row's device.
    """
    line = reading.at + 1
    columns = re.findall(ENDPOINT if re.search(r"\s", match[0].strip()) else NUMBERED, match[0])
    affinity = "NUMA Affinity" in match[0]
    reading.at += 1
    rows: dict[str, list[str]] = {}
    numa: dict[str, int] = {}
    faults: list[str] = []
    while (row := ROW.match(reading.line() + " ")) is not None and not HEAD.match(reading.line()):
        name = row[1] or row[2]
        classes, rest = row_classes(reading.line()[row.end(1 if row[1] else 2) :], len(columns))
        cut = reading.may_be_cut() and not rest
        diagonal = classes.index("X") if classes.count("X") == 1 else -1
        whole = len(classes) == len(columns) and not cut
        if not whole or name in rows or name not in columns or diagonal != columns.index(name):
            faults.append(f"line {reading.at + 1}: row {name} does not fit {len(columns)} columns: the row is ignored")
        else:
            rows[name] = classes
            node = FIRST.fullmatch(rest[1]) if affinity and len(rest) >= 2 else None
            if node and node[1].isascii() and not reading.may_be_cut():
                numa[label(name)] = int(node[1])
        reading.at += 1
    devices = [name for name in columns if name.startswith(("GPU", "PPU"))]
    missing = [name for name in columns if name not in rows]
    if missing:
        faults.append(f"line {line}: missing rows: {', '.join(missing)}")
    if not devices or len(set(columns)) != len(columns):
        return
    names = nic_names(reading)
    pairs = {(row, column): word for row, words in rows.items() for column, word in zip(columns, words, strict=True)}
    between = {(label(a), label(b)): word for (a, b), word in pairs.items() if a in devices and b in devices and a != b}
    to_nics = {(label(a), names.get(b, b)): word for (a, b), word in pairs.items() if a in devices and b not in devices}
    faults += [
        f"line {line}: {a} to {b} is {word}, but {b} to {a} is {pairs[b, a]}: the text is damaged"
        for (a, b), word in pairs.items()
        if columns.index(a) < columns.index(b) and word != pairs.get((b, a), word)
    ]
    bonded = {pair: DIRECT.fullmatch(word) for pair, word in between.items()}
    reading.add_topology(
        PROGRAM,
        Topology(
            tuple(label(name) for name in devices),
            line,
            link_class=between,
            links={pair: int(found[2]) if found else 0 for pair, found in bonded.items()},
            numa=numa,
            nic_class=to_nics,
            faults=tuple(faults),
        ),
    )


def row_classes(text: str, count: int) -> tuple[list[str], list[str]]:
    """Returns (link classes of a row, words after the classes). The classes are [] if fewer than `count`.

    In a text that lost its blanks, "NV180-71" is the class NV18 and the CPU affinity "0-71". The other cells of the row
    determine where the class ends.
    """
    classes: list[str] = []
    at = 0
    while len(classes) < count and (found := CLASSES.match(text, at)):
        classes.append(found[1])
        at = found.end()
    end = text[at:]
    if len(classes) < count or not re.match(r"\s|\d|$|[,-]\d", end):
        return [], end.split()
    if end[:1] in (",", "-"):
        links = {name for name in classes[:-1] if DIRECT.fullmatch(name)}
        name = next(iter(links), "")
        if len(links) != 1 or not classes[-1].startswith(name) or classes[-1] == name:
            return [], end.split()
        end, classes[-1] = classes[-1][len(name) :] + end, name
    return classes, end.split()


def label(name: str) -> str:
    """The label of a device in records: gpu0 for `GPU0` and `PPU0`."""
    return f"gpu{name[3:]}" if name.startswith(("GPU", "PPU")) else name


def nic_names(reading: Reading) -> dict[str, str]:
    """Returns {"NIC0": "mlx5_0"} from the legend below the matrix."""
    found = map(LEGEND.match, reading.lines[reading.at : reading.at + LEGEND_LINES])
    return {match[1]: match[2] for match in found if match}
