"""How much room the parts of a machine take in its drawing: no name that people give is cut there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .machine_canvas import BOLD, LETTER, SMALL, glyph_of, shortened
from .machine_marks import Mark
from .machine_parts import Adapter, Machine, Node

WIDTH = 1000  # of a drawing, in its own units: CSS pixels where the page is wide enough
MARGIN, PAD, GAP = 2, 10, 14
NARROWEST, WIDEST = 48, 104  # of a column, where its names need no more
BESIDE = PAD + 8  # what is between boxes, and beside the text in one


class Text(NamedTuple):
    """A text of a drawing. columns: that it has for itself, or its share of one. beside: what else these must hold."""

    text: str
    letter: float
    columns: float
    beside: int


def rows_of(machine: Machine, column: int) -> list[list[Node]]:
    """Nodes side by side, as many as there is room for with such columns."""
    rows: list[list[Node]] = [[]]
    for node in machine.nodes:
        if rows[-1] and room_of([*rows[-1], node], column) > WIDTH:
            rows.append([])
        rows[-1].append(node)
    return rows


def columns_of(node: Node) -> int:
    """How many columns it takes."""
    return sum(group.columns for socket in node.sockets for group in socket.groups)


def room_of(row: Sequence[Node], column: int) -> int:
    """The width of a row of nodes with such columns."""
    boxes = sum(2 * PAD + sum(2 * PAD + GAP for _ in node.sockets) - GAP for node in row)
    return 2 * MARGIN + boxes + GAP * (len(row) - 1) + column * sum(map(columns_of, row))


def column_of(rows: Sequence[Sequence[Node]], least: int) -> int:
    """The widest column with which every row fits; the least that names need, whether it fits or not."""
    most = max(sum(map(columns_of, row)) for row in rows)
    free = WIDTH - max(room_of(row, 0) for row in rows)
    return max(least, min(WIDEST, free // max(1, most)))


def least_column(machine: Machine, marked: Mapping[tuple[str, Any], Mark]) -> int:
    """The narrowest column in which every text has room."""
    needed = ((len(one.text) * one.letter + one.beside) / one.columns for one in texts_of(machine, marked))
    return max(NARROWEST, *(int(width) + 1 for width in needed))


def box_of(span: int, name: str, said: str) -> int:
    """The width of a box with these texts, of a part that has so much room."""
    needed = max(len(name) * LETTER, len(said) * SMALL) + BESIDE
    return min(span, max(WIDEST, int(needed) + 1)) - PAD


def texts_of(machine: Machine, marked: Mapping[tuple[str, Any], Mark]) -> Iterator[Text]:
    """All names and words that stand in boxes."""
    for node in machine.nodes:
        yield Text(node_text(marked, node), BOLD, columns_of(node), -2 * PAD * (len(node.sockets) - 1))
        for socket in node.sockets:
            said = socket_text(marked, node, socket.number)
            yield Text(said, SMALL, sum(group.columns for group in socket.groups), 0)
            for group in socket.groups:
                if group.switch:
                    yield Text(switch_text(marked, group.devices), SMALL, group.columns, BESIDE)
                for label in group.devices:
                    name, said = device_texts(marked, node, label)
                    share = group.columns / len(group.devices)
                    yield from (Text(name, LETTER, share, BESIDE), Text(said, SMALL, share, BESIDE))
                for adapter in group.adapters:
                    name, said = adapter_texts(marked, node, adapter)
                    share = group.columns / len(group.adapters)
                    yield from (Text(name, LETTER, share, BESIDE), Text(said, SMALL, share, BESIDE))


def node_text(marked: Mapping[tuple[str, Any], Mark], node: Node) -> str:
    """What a node is called, with a glyph where it is at fault."""
    return glyph_of(marked, "node", node.name) + shortened(node.name)


def socket_text(marked: Mapping[tuple[str, Any], Mark], node: Node, number: int | None) -> str:
    """What a NUMA node is called."""
    said = "NUMA node not known" if number is None else f"NUMA node {number}"
    return glyph_of(marked, "socket", (node.name, number)) + said


def switch_text(marked: Mapping[tuple[str, Any], Mark], devices: Sequence[str], room: int = 0) -> str:
    """What a PCIe switch is called in so much room; it has no name of its own."""
    glyph = glyph_of(marked, "switch", switch_key(marked, devices))
    whole = f"{glyph}PCIe switch"
    return whole if len(whole) * SMALL + BESIDE <= room else f"{glyph}switch"


def switch_key(marked: Mapping[tuple[str, Any], Mark], devices: Sequence[str]) -> str:
    """The device by which a switch at fault is marked; "" for none."""
    return next((label for label in devices if ("switch", label) in marked), "")


def device_texts(marked: Mapping[tuple[str, Any], Mark], node: Node, label: str) -> tuple[str, str]:
    """(what a device is called, what stands at it where it is at fault)."""
    mark = marked.get(("device", label))
    name = glyph_of(marked, "device", label) + shortened(label.removeprefix(f"{node.name}:"))
    return name, mark.word if mark else ""


def adapter_texts(marked: Mapping[tuple[str, Any], Mark], node: Node, adapter: Adapter) -> tuple[str, str]:
    """(what an adapter is called, its rate, or what stands at it)."""
    mark = marked.get(("adapter", (node.name, adapter.name)))
    said = mark.word if mark else adapter.rate if adapter.up else "down"
    name = glyph_of(marked, "adapter", (node.name, adapter.name)) + shortened(adapter.name)
    return name, shortened(said.replace("b/sec", ""))


def written_out(machine: Machine) -> Iterator[str]:
    """A line for each name that is cut in the drawing."""
    for node in machine.nodes:
        groups = [group for socket in node.sockets for group in socket.groups]
        names = [label.removeprefix(f"{node.name}:") for group in groups for label in group.devices]
        names += [adapter.name for group in groups for adapter in group.adapters]
        yield from (f"{shortened(name)} is {name}" for name in (node.name, *names) if shortened(name) != name)
