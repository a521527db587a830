"""The drawing of a machine, as shapes of an SVG. The page's style sheet has the colours.

Devices are in a row, inside the boxes of their NUMA nodes and nodes. Links are above the devices. PCIe switches and
network adapters are below the devices. A marked component has a thick border, a glyph and a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..judge.verdicts import Verdict
from ..record.units import counted
from . import words
from .machine import (
    Group,
    LinkedDevices,
    Machine,
    Mark,
    Node,
    Part,
    Socket,
    class_lines,
    classes_of,
    machine_from,
    merged_marks,
)
from .matrix_text import MAX_ENDPOINTS

if TYPE_CHECKING:
    from ..runs.judging import Judged
    from .analysis import Analysis

MAX_COUNTED = 256  # endpoints whose pairs are counted by link class
MAX_DRAWINGS = 4  # of a run of several machines
MAX_NAMED_PAIRS = 4  # arcs with a label of their link class
MAX_LETTERS = 32  # of a name; the middle of a longer name is left out
# units are CSS pixels, if the page is wide enough
WIDTH = 1000  # of a row of nodes
WIDE = 1500  # a wider drawing is scrolled on a screen, because its texts would be too small
MARGIN, PAD, GAP = 2, 10, 14
TEXT_MARGIN = PAD + 8  # between the text and the border of a box
MIN_COLUMN, MAX_COLUMN = 48, 104  # width of a column; a longer name widens its column
LETTER, SMALL, BOLD = 7.4, 6.6, 8.2  # average width of a letter, per style of text
BOX, SWITCH, BAR, LINE = 36, 20, 18, 18  # heights
ARC, STEP, MAX_ARC = 34, 12, 110  # heights: of an arc between neighbours, added per column, and maximum
Marks = Mapping[Part, Mark]


class Shape(NamedTuple):
    """An element of the SVG. style: class of the style sheet. title: tooltip."""

    tag: str
    style: str
    attributes: tuple[tuple[str, Any], ...]
    text: str = ""
    title: str = ""


class Box(NamedTuple):
    """The box of a device or adapter: style class, tooltip, name, and a text below the name."""

    style: str
    title: str
    name: str
    text: str

    @property
    def room(self) -> float:
        """The width that the texts need."""
        return max(len(self.name) * LETTER, len(self.text) * SMALL) + TEXT_MARGIN


def drawings(analysis: Analysis) -> list[dict[str, Any]]:
    """The drawings of the machines of a run, up to MAX_DRAWINGS; machines with marks come first. See `drawing`."""
    found = [shown for tests in analysis.machines if (shown := drawing(analysis, tests))]
    return sorted(found, key=lambda one: not one["marked"])[:MAX_DRAWINGS]


def drawing(analysis: Analysis, tests: Sequence[Judged]) -> dict[str, Any] | None:
    """The values for the page's template about one machine; None if its record contains no connections."""
    record = max(words.records_of(tests), key=lambda one: len(one.get("adapters", [])))
    count = len(record["devices"])
    if count < 2 or (count <= MAX_ENDPOINTS and not any(classes_of(record).values())):
        return None
    marks = merged_marks(analysis, tests)
    shown: dict[str, Any] = {
        "name": record["host"]["name"],
        "marked": [{"text": str(mark), **words.marks(mark.verdict)} for mark in marks],
        "classes": class_lines(record) if count <= MAX_COUNTED else [],
        "left_out": "",
    }
    if count > MAX_ENDPOINTS:
        where = "; the record has the link class of every pair" if record["topology"]["link_class"] else ""
        return shown | {"left_out": f"no drawing, because {count} endpoints are more than {MAX_ENDPOINTS}{where}."}
    machine = machine_from(record)
    shapes, width, height = Canvas(machine, marks).drawn()
    size = {"wide": width > WIDE, "width": width, "height": height}
    shown |= {"classes": shown["classes"] + notes(machine), "alt": alternative(machine, marks)}
    return shown | size | {"shapes": shapes}


def notes(machine: Machine) -> list[str]:
    """Lines about adapters that are not drawn, and about shortened names."""
    lines = [
        f"{counted(node.left_out, 'adapter')} of {node.name} not drawn, because no device is near"
        for node in machine.nodes
        if node.left_out
    ]
    for node in machine.nodes:
        names = [label.removeprefix(f"{node.name}:") for label in node.devices]
        names += [adapter.name for group in node.groups for adapter in group.adapters]
        lines += [f"{shortened(name)} is {name}" for name in (node.name, *names) if shortened(name) != name]
    return lines


def alternative(machine: Machine, marks: Sequence[Mark]) -> str:
    """The alternative text of a drawing."""
    parts = []
    for node in machine.nodes:
        for socket in node.sockets:
            where = node.name + (f", NUMA node {socket.number}" if socket.number is not None else "")
            devices = [label for group in socket.groups for label in group.devices]
            adapters = [adapter.name for group in socket.groups for adapter in group.adapters]
            parts.append(f"{where}: {', '.join([*devices, *adapters])}")
    parts += [f"{one.link_class} between all of {', '.join(one.labels)}" for one in machine.meshes]
    parts += [f"{one.link_class} between {' and '.join(one.labels)}" for one in machine.pairs[:MAX_NAMED_PAIRS]]
    return "; ".join([*parts, *(f"marked: {mark.component}, {mark.word}" for mark in marks if mark.parts)])


def shortened(name: str) -> str:
    """The name, with "…" in its middle if the name has more than MAX_LETTERS letters."""
    half = (MAX_LETTERS - 1) // 2
    return name if len(name) <= MAX_LETTERS else f"{name[:half]}…{name[-half:]}"


def row_width(row: Sequence[Node], column: int) -> int:
    """The width of a row of nodes. column: width of a column."""
    boxes = sum(2 * PAD + (2 * PAD + GAP) * len(node.sockets) - GAP for node in row)
    return 2 * MARGIN + boxes + GAP * (len(row) - 1) + column * sum(node.columns for node in row)


class Canvas:
    """Draws a machine. devices: {label: (x of the middle, y of the top) of its box}."""

    def __init__(self, machine: Machine, marks: Sequence[Mark]) -> None:
        self.machine = machine
        self.marked: Marks = {part: mark for mark in reversed(marks) for part in mark.parts}  # the worst mark wins
        self.shapes: list[Shape] = []
        self.devices: dict[str, tuple[int, int]] = {}
        least = max(MIN_COLUMN, *(int(width) + 1 for node in machine.nodes for width in self.columns_for(node)))
        self.rows: list[list[Node]] = [[]]
        for node in machine.nodes:
            if self.rows[-1] and row_width([*self.rows[-1], node], least) > WIDTH:
                self.rows.append([])
            self.rows[-1].append(node)
        free = WIDTH - max(row_width(row, 0) for row in self.rows)
        most = max(sum(node.columns for node in row) for row in self.rows)
        self.column = max(least, min(MAX_COLUMN, free // max(1, most)))
        self.arcs = {(one.labels[0], one.labels[1]): one.link_class for one in machine.pairs}
        for kind, key in self.marked:
            if kind == "pair" and key not in self.arcs and key[::-1] not in self.arcs:
                self.arcs[key] = ""  # drawn only because it is marked

    def columns_for(self, node: Node) -> Iterator[float]:
        """Yields the column width that each text of a node needs."""
        name, sides = self.mark_style("node", node.name)[0] + shortened(node.name), 2 * PAD * (len(node.sockets) - 1)
        yield (len(name) * BOLD - sides) / node.columns
        for socket in node.sockets:
            yield len(self.socket_text(node, socket)) * SMALL / socket.columns
            for group in socket.groups:
                if group.switch:
                    yield (len(self.switch(group)[0]) * SMALL + TEXT_MARGIN) / group.columns
                for boxes in self.boxes_of(node, group):
                    yield from (box.room * len(boxes) / group.columns for box in boxes)

    def mark_style(self, kind: str, key: Any) -> tuple[str, str, str]:
        """(glyph before the name, style classes, word) of a part. Without a mark, glyph and word are ""."""
        mark = self.marked.get((kind, key))
        if mark is None:
            return "", kind, ""
        return f"{words.GLYPHS[mark.verdict]} ", f"{kind} at-fault {words.CLASSES[mark.verdict]}", mark.word

    def socket_text(self, node: Node, socket: Socket) -> str:
        """The label of a NUMA node."""
        number = "not known" if socket.number is None else socket.number
        return f"{self.mark_style('socket', (node.name, socket.number))[0]}NUMA node {number}"

    def switch(self, group: Group, room: int = 0) -> tuple[str, str]:
        """(label, style classes) of a PCIe switch. room: width for the label."""
        key = next((label for label in group.devices if ("switch", label) in self.marked), "")
        glyph, style, _ = self.mark_style("switch", key)
        whole = f"{glyph}PCIe switch"
        return whole if len(whole) * SMALL + TEXT_MARGIN <= room else f"{glyph}switch", style

    def boxes_of(self, node: Node, group: Group) -> tuple[list[Box], list[Box]]:
        """Returns (boxes of the devices, boxes of the adapters) of a group."""
        devices, adapters = [], []
        for label in group.devices:
            glyph, style, word = self.mark_style("device", label)
            devices.append(Box(style, label, glyph + shortened(label.removeprefix(f"{node.name}:")), word))
        for one in group.adapters:
            glyph, style, word = self.mark_style("adapter", (node.name, one.name))
            text = word or (one.rate.replace("b/sec", "") if one.up else "down")
            title = f"{one.name}, {one.rate or 'rate not known'}"
            adapters.append(Box(style + " down" * (not one.up), title, glyph + shortened(one.name), shortened(text)))
        return devices, adapters

    def rectangle(self, style: str, x: int, y: int, width: int, height: int, title: str = "", round_: int = 4) -> Shape:
        """A rectangle with round corners."""
        at = (("x", x), ("y", y), ("width", width), ("height", height), ("rx", round_))
        return Shape("rect", style, at, title=title)

    def text(self, style: str, x: int, y: int, text: str) -> None:
        """Draws a line of text. With the style "middle", x is the middle of the text."""
        self.shapes.append(Shape("text", style, (("x", x), ("y", y)), text))

    def path(self, style: str, d: str, title: str = "") -> None:
        """Draws a path. d: the attribute d of an SVG path."""
        self.shapes.append(Shape("path", style, (("d", d),), title=title))

    def drawn(self) -> tuple[list[Shape], int, int]:
        """(shapes, width, height) of the machine."""
        y = MARGIN
        for row in self.rows:
            y = self.draw_row(row, y) + GAP
        within = [ends for ends in self.arcs if set(ends) <= self.devices.keys()]
        within.sort(key=lambda ends: ("pair", ends) in self.marked or ("pair", ends[::-1]) in self.marked)  # on top
        for number, ends in enumerate(within):
            self.draw_arc(ends, self.arcs[ends] if len(self.arcs) <= MAX_NAMED_PAIRS else "", number)
        return self.shapes, max(row_width(row, self.column) for row in self.rows), y - GAP + MARGIN

    def draw_row(self, row: Sequence[Node], y: int) -> int:
        """Draws the nodes of a row, and the network above several nodes. Returns the y below the row."""
        several = len(self.machine.nodes) > 1
        if several:
            self.shapes.append(self.rectangle("bar net", MARGIN, y, row_width(row, self.column) - 2 * MARGIN, BAR))
            self.text("on-bar", MARGIN + 8, y + 13, "NET: the network between the nodes")
            y += BAR + GAP
        x, bottom = MARGIN, y
        for node in row:
            width = row_width([node], self.column) - 2 * MARGIN
            if several:
                self.path("tie", f"M{x + width // 2} {y - GAP}V{y}")
            bottom = max(bottom, self.draw_node(node, x, y, width))
            x += width + GAP
        return bottom

    def draw_node(self, node: Node, x: int, y: int, width: int) -> int:
        """Draws a node with its components. Returns the y below the node."""
        place, devices = len(self.shapes), node.devices
        meshes = [mesh for mesh in self.machine.meshes if set(devices) & set(mesh.labels)]
        within = [ends for ends in self.arcs if set(devices) & set(ends)]
        places = {label: at for at, label in enumerate(devices)}
        spans = [abs(places[a] - places[b]) if {a, b} <= places.keys() else len(devices) for a, b in within]
        self.text("name", x + PAD, y + 14, self.mark_style("node", node.name)[0] + shortened(node.name))
        bars = y + LINE + 6
        top = bars + len(meshes) * (BAR + 8) + (min(MAX_ARC, ARC + STEP * max(spans)) if spans else 0) + PAD
        left, bottom, ties = x + PAD, top, len(self.shapes)
        for socket in node.sockets:
            wide = 2 * PAD + self.column * socket.columns
            bottom = max(bottom, self.draw_socket(node, socket, left, top, wide))
            left += wide + GAP
        of_meshes = (self.mesh_shapes(mesh, devices, bars + at * (BAR + 8)) for at, mesh in enumerate(meshes))
        self.shapes[ties:ties] = [shape for shapes in of_meshes for shape in shapes]
        edge = self.rectangle(self.mark_style("node", node.name)[1], x, y, width, bottom + PAD - y, round_=6)
        self.shapes.insert(place, edge)  # below its components
        return bottom + PAD

    def mesh_shapes(self, mesh: LinkedDevices, devices: Sequence[str], y: int) -> Iterator[Shape]:
        """Yields a bar over the devices of a mesh, and a line to each device."""
        of_node = [self.devices[label] for label in mesh.labels if label in devices]
        half = (self.column - PAD) // 2
        left, right = min(x for x, _ in of_node) - half, max(x for x, _ in of_node) + half
        for x, top in of_node:
            yield Shape("path", "tie", (("d", f"M{x} {y + BAR}V{top}"),))
        mark = self.marked.get(("class", mesh.link_class))
        style = f"bar at-fault {words.CLASSES[mark.verdict]}" if mark else "bar"
        yield self.rectangle(style, left, y, right - left, BAR)
        whole = f"{mesh.link_class}: all pairs of {len(mesh.labels)} devices"
        at_fault = f", {words.GLYPHS[mark.verdict]} {mark.word}" if mark else ""
        text = whole if (len(whole) + len(at_fault)) * SMALL <= right - left - 8 else mesh.link_class
        style = "small label-at-fault" if mark else "on-bar"
        yield Shape("text", style, (("x", left + 8), ("y", y + 13)), text + at_fault)

    def draw_socket(self, node: Node, socket: Socket, x: int, y: int, width: int) -> int:
        """Draws a NUMA node. All NUMA nodes of a node have the same height. Returns the y below the NUMA node."""
        switch_height = (SWITCH + GAP) * any(group.switch for group in node.groups)
        adapter_height = (BOX + GAP) * any(group.adapters for group in node.groups)
        height = PAD + BOX + switch_height + adapter_height + LINE + 4
        self.shapes.append(
            self.rectangle(self.mark_style("socket", (node.name, socket.number))[1], x, y, width, height)
        )
        self.text("small", x + PAD, y + height - 7, self.socket_text(node, socket))
        left = x + PAD
        for group in socket.groups:
            self.draw_group(node, group, left, y + PAD, switch_height)
            left += self.column * group.columns
        return y + height

    def draw_group(self, node: Node, group: Group, x: int, y: int, switch_height: int) -> None:
        """Draws the devices, the switch and the adapters of a group. switch_height: height for a switch."""
        room, below = self.column * group.columns, y + BOX + GAP
        devices, adapters = self.boxes_of(node, group)
        for label, (middle, box, span) in zip(group.devices, spread_boxes(devices, x, room), strict=True):
            self.devices[label] = (middle, y)
            if group.switch:
                self.path("tie", f"M{middle} {y + BOX}V{below}")
            self.draw_box(box, middle, y, span)
        if group.switch:
            text, style = self.switch(group, room)
            self.shapes.append(self.rectangle(style, x + PAD // 2, below, room - PAD, SWITCH))
            self.text("middle small", x + room // 2, below + 14, text)
        top = below + switch_height
        for middle, box, span in spread_boxes(adapters, x, room):
            if group.switch:
                self.path("tie", f"M{middle} {below + SWITCH}V{top}")
            self.draw_box(box, middle, top, span)

    def draw_box(self, box: Box, middle: int, y: int, span: int) -> None:
        """Draws the box of a device or adapter. span: the available width."""
        width = min(span, max(MAX_COLUMN, int(box.room) + 1)) - PAD
        self.shapes.append(self.rectangle(box.style, middle - width // 2, y, width, BOX, title=box.title))
        self.text("middle", middle, y + (15 if box.text else 23), box.name)
        if box.text:
            self.text("middle small", middle, y + 29, box.text)

    def draw_arc(self, ends: tuple[str, str], name: str, number: int) -> None:
        """Draws a link between two devices as an arc. A marked direction has an arrow. number: the index of the arc."""
        (x, y), (other_x, other_y) = (self.devices[label] for label in ends)
        high = min(MAX_ARC, ARC + STEP * abs(other_x - x) // self.column)
        top = min(y, other_y) - high * 4 // 3 + PAD  # y of the control points: the curve reaches 3/4 of this height
        directions = ((ends, (other_x, other_y)), (ends[::-1], (x, y)))
        known = [(pair, tip, self.marked["pair", pair]) for pair, tip in directions if ("pair", pair) in self.marked]
        worst = max((mark.verdict for _, _, mark in known), default=Verdict.PASS)
        style = f"arc at-fault {words.CLASSES[worst]}" if known else "arc"
        title = "; ".join(f"{a}->{b}, {mark.word}" for (a, b), _, mark in known)
        self.path(style, f"M{x} {y}C{x} {top} {other_x} {top} {other_x} {other_y}", title=title)
        for _, (tip_x, tip_y), mark in known:
            self.path(f"tip {words.CLASSES[mark.verdict]}", f"M{tip_x} {tip_y}l-5 -10h10z")
        if text := " ".join(filter(None, (f"{words.GLYPHS[worst]} {known[0][2].word}" if known else "", name))):
            middle, shift = (x + other_x) // 2, 14 * (number % 2) if known else 0
            self.text("middle small label", middle, (3 * top + min(y, other_y)) // 4 - 5 - shift, text)


def spread_boxes(boxes: Sequence[Box], x: int, room: int) -> Iterator[tuple[int, Box, int]]:
    """Yields (x of the middle, box, width) for boxes side by side. The boxes start at x and share the width `room`."""
    span = room // max(1, len(boxes))
    for number, box in enumerate(boxes):
        yield x + number * span + span // 2, box, span
