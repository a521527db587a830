"""The drawing of a machine as shapes of an SVG whose colours are classes of the page's style sheet.

Devices are in a row, inside the boxes of their NUMA nodes and nodes. Links are above the devices; PCIe switches and
network adapters are below. A component at fault has a thick border, a glyph and a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..judge.verdicts import Verdict
from ..record.units import counted
from . import words
from .machine import Connected, Group, Machine, Mark, Node, Part, Socket, class_lines, classes_of, machine_of, marks_of
from .matrix_text import MOST_ENDPOINTS

if TYPE_CHECKING:
    from ..runs.judging import Judged
    from .analysis import Analysis

MOST_COUNTED = 256  # endpoints whose pairs are counted by link class
MOST_DRAWINGS = 4  # of a run of several machines
MOST_NAMED_PAIRS = 4  # arcs with a label of their link class
MOST_LETTERS = 32  # of a name; a longer name keeps its ends
# units of a drawing are CSS pixels where the page is wide enough
WIDTH = 1000  # of a row of nodes
WIDE = 1500  # a wider drawing is scrolled on a screen, because its texts would be too small
MARGIN, PAD, GAP = 2, 10, 14
BESIDE = PAD + 8  # room beside the text in a box
NARROWEST, WIDEST = 48, 104  # of a column, where its names need no more
LETTER, SMALL, BOLD = 7.4, 6.6, 8.2  # average width of a letter of each kind of text
BOX, SWITCH, BAR, LINE = 36, 20, 18, 18  # heights
ARC, STEP, MOST_ARC = 34, 12, 110  # height of an arc between neighbours, of each further column, of the highest arc
Marks = Mapping[Part, Mark]


class Shape(NamedTuple):
    """An element of the SVG; style: its class."""

    tag: str
    style: str
    attributes: tuple[tuple[str, Any], ...]
    text: str = ""
    title: str = ""


class Box(NamedTuple):
    """A device or an adapter: its name, the text below, and how it looks."""

    style: str
    title: str
    name: str
    text: str

    @property
    def room(self) -> float:
        """The width that its texts need."""
        return max(len(self.name) * LETTER, len(self.text) * SMALL) + BESIDE


def drawings(analysis: Analysis) -> list[dict[str, Any]]:
    """The drawing of each machine of a run: machines with a component at fault first, MOST_DRAWINGS at most."""
    found = [shown for tests in analysis.machines if (shown := drawing(analysis, tests))]
    return sorted(found, key=lambda one: not one["marked"])[:MOST_DRAWINGS]


def drawing(analysis: Analysis, tests: Sequence[Judged]) -> dict[str, Any] | None:
    """The drawing of one machine for the template of the page; None if its record contains no connections."""
    record = max(words.records_of(tests), key=lambda one: len(one.get("adapters", [])))
    count = len(record["devices"])
    if count < 2 or (count <= MOST_ENDPOINTS and not any(classes_of(record).values())):
        return None
    marks = marks_of(analysis, tests)
    shown: dict[str, Any] = {
        "name": record["host"]["name"],
        "marked": [{"text": str(mark), **words.marks(mark.verdict)} for mark in marks],
        "classes": class_lines(record) if count <= MOST_COUNTED else [],
        "left_out": "",
    }
    if count > MOST_ENDPOINTS:
        where = "; the record has the link class of every pair" if record["topology"]["link_class"] else ""
        return shown | {"left_out": f"{count} endpoints: above {MOST_ENDPOINTS} there is no drawing{where}."}
    machine = machine_of(record)
    shapes, width, height = Canvas(machine, marks).drawn()
    size = {"wide": width > WIDE, "width": width, "height": height}
    shown |= {"classes": shown["classes"] + notes(machine), "alt": alternative(machine, marks)}
    return shown | size | {"shapes": shapes}


def notes(machine: Machine) -> list[str]:
    """A line for adapters that are not drawn, and a line for each shortened name."""
    lines = [
        f"{counted(node.left_out, 'adapter')} of {node.name} without a device near to them left out"
        for node in machine.nodes
        if node.left_out
    ]
    for node in machine.nodes:
        names = [label.removeprefix(f"{node.name}:") for label in node.devices]
        names += [adapter.name for group in node.groups for adapter in group.adapters]
        lines += [f"{shortened(name)} is {name}" for name in (node.name, *names) if shortened(name) != name]
    return lines


def alternative(machine: Machine, marks: Sequence[Mark]) -> str:
    """The drawing in words, as its alternative text."""
    told = []
    for node in machine.nodes:
        for socket in node.sockets:
            where = node.name + (f", NUMA node {socket.number}" if socket.number is not None else "")
            devices = [label for group in socket.groups for label in group.devices]
            adapters = [adapter.name for group in socket.groups for adapter in group.adapters]
            told.append(f"{where}: {', '.join([*devices, *adapters])}")
    told += [f"{one.link_class} between all of {', '.join(one.labels)}" for one in machine.meshes]
    told += [f"{one.link_class} between {' and '.join(one.labels)}" for one in machine.pairs[:MOST_NAMED_PAIRS]]
    return "; ".join([*told, *(f"marked: {mark.who}, {mark.word}" for mark in marks if mark.parts)])


def shortened(name: str) -> str:
    """A name with at most MOST_LETTERS letters."""
    half = (MOST_LETTERS - 1) // 2
    return name if len(name) <= MOST_LETTERS else f"{name[:half]}…{name[-half:]}"


def room_of(row: Sequence[Node], column: int) -> int:
    """The width of a row of nodes with columns of this width."""
    boxes = sum(2 * PAD + (2 * PAD + GAP) * len(node.sockets) - GAP for node in row)
    return 2 * MARGIN + boxes + GAP * (len(row) - 1) + column * sum(node.columns for node in row)


class Canvas:
    """Draws a machine. devices: {label: (middle, top) of its box}."""

    def __init__(self, machine: Machine, marks: Sequence[Mark]) -> None:
        self.machine = machine
        self.marked: Marks = {part: mark for mark in reversed(marks) for part in mark.parts}  # the worst stays
        self.shapes: list[Shape] = []
        self.devices: dict[str, tuple[int, int]] = {}
        least = max(NARROWEST, *(int(width) + 1 for node in machine.nodes for width in self.columns_for(node)))
        self.rows: list[list[Node]] = [[]]
        for node in machine.nodes:
            if self.rows[-1] and room_of([*self.rows[-1], node], least) > WIDTH:
                self.rows.append([])
            self.rows[-1].append(node)
        free = WIDTH - max(room_of(row, 0) for row in self.rows)
        most = max(sum(node.columns for node in row) for row in self.rows)
        self.column = max(least, min(WIDEST, free // max(1, most)))
        self.arcs = {(one.labels[0], one.labels[1]): one.link_class for one in machine.pairs}
        for kind, key in self.marked:
            if kind == "pair" and key not in self.arcs and key[::-1] not in self.arcs:
                self.arcs[key] = ""  # drawn only because it is at fault

    def columns_for(self, node: Node) -> Iterator[float]:
        """The widths of a column that each text of a node needs."""
        name, sides = self.look("node", node.name)[0] + shortened(node.name), 2 * PAD * (len(node.sockets) - 1)
        yield (len(name) * BOLD - sides) / node.columns
        for socket in node.sockets:
            yield len(self.socket_text(node, socket)) * SMALL / socket.columns
            for group in socket.groups:
                if group.switch:
                    yield (len(self.switch(group)[0]) * SMALL + BESIDE) / group.columns
                for boxes in self.boxes_of(node, group):
                    yield from (box.room * len(boxes) / group.columns for box in boxes)

    def look(self, kind: str, key: Any) -> tuple[str, str, str]:
        """(glyph before its name, style classes, word) of a component; only the classes if it is not at fault."""
        mark = self.marked.get((kind, key))
        if mark is None:
            return "", kind, ""
        return f"{words.GLYPHS[mark.verdict]} ", f"{kind} at-fault {words.CLASSES[mark.verdict]}", mark.word

    def socket_text(self, node: Node, socket: Socket) -> str:
        """The label of a NUMA node."""
        number = "not known" if socket.number is None else socket.number
        return f"{self.look('socket', (node.name, socket.number))[0]}NUMA node {number}"

    def switch(self, group: Group, room: int = 0) -> tuple[str, str]:
        """(label, style) of a PCIe switch, which has no name; a shorter label if there is no room."""
        key = next((label for label in group.devices if ("switch", label) in self.marked), "")
        glyph, style, _ = self.look("switch", key)
        whole = f"{glyph}PCIe switch"
        return whole if len(whole) * SMALL + BESIDE <= room else f"{glyph}switch", style

    def boxes_of(self, node: Node, group: Group) -> tuple[list[Box], list[Box]]:
        """(devices, adapters) of a group."""
        devices, adapters = [], []
        for label in group.devices:
            glyph, style, word = self.look("device", label)
            devices.append(Box(style, label, glyph + shortened(label.removeprefix(f"{node.name}:")), word))
        for one in group.adapters:
            glyph, style, word = self.look("adapter", (node.name, one.name))
            text = word or (one.rate.replace("b/sec", "") if one.up else "down")
            title = f"{one.name}, {one.rate or 'rate not known'}"
            adapters.append(Box(style + " down" * (not one.up), title, glyph + shortened(one.name), shortened(text)))
        return devices, adapters

    def rectangle(self, style: str, x: int, y: int, width: int, height: int, title: str = "", round_: int = 4) -> Shape:
        """A rectangle with round corners."""
        at = (("x", x), ("y", y), ("width", width), ("height", height), ("rx", round_))
        return Shape("rect", style, at, title=title)

    def box(self, style: str, x: int, y: int, width: int, height: int) -> None:
        """Draws a rectangle."""
        self.shapes.append(self.rectangle(style, x, y, width, height))

    def text(self, style: str, x: int, y: int, text: str) -> None:
        """Draws a line of text; of style "middle", around x."""
        self.shapes.append(Shape("text", style, (("x", x), ("y", y)), text))

    def path(self, style: str, d: str, title: str = "") -> None:
        """Draws a line."""
        self.shapes.append(Shape("path", style, (("d", d),), title=title))

    def drawn(self) -> tuple[list[Shape], int, int]:
        """(shapes, width, height) of the machine."""
        y = MARGIN
        for row in self.rows:
            y = self.draw_row(row, y) + GAP
        within = [ends for ends in self.arcs if set(ends) <= self.devices.keys()]
        within.sort(key=lambda ends: ("pair", ends) in self.marked or ("pair", ends[::-1]) in self.marked)  # on top
        for number, ends in enumerate(within):
            self.draw_arc(ends, self.arcs[ends] if len(self.arcs) <= MOST_NAMED_PAIRS else "", number)
        return self.shapes, max(room_of(row, self.column) for row in self.rows), y - GAP + MARGIN

    def draw_row(self, row: Sequence[Node], y: int) -> int:
        """Draws nodes next to each other, below the network between them. Returns the y below them."""
        several = len(self.machine.nodes) > 1
        if several:
            self.box("bar net", MARGIN, y, room_of(row, self.column) - 2 * MARGIN, BAR)
            self.text("on-bar", MARGIN + 8, y + 13, "NET: the network between the nodes")
            y += BAR + GAP
        x, bottom = MARGIN, y
        for node in row:
            width = room_of([node], self.column) - 2 * MARGIN
            if several:
                self.path("tie", f"M{x + width // 2} {y - GAP}V{y}")
            bottom = max(bottom, self.draw_node(node, x, y, width))
            x += width + GAP
        return bottom

    def draw_node(self, node: Node, x: int, y: int, width: int) -> int:
        """Draws the box of a node with its components. Returns the y below it."""
        place, devices = len(self.shapes), node.devices
        meshes = [mesh for mesh in self.machine.meshes if set(devices) & set(mesh.labels)]
        within = [ends for ends in self.arcs if set(devices) & set(ends)]
        spans = [
            abs(devices.index(a) - devices.index(b)) if {a, b} <= set(devices) else len(devices) for a, b in within
        ]
        self.text("name", x + PAD, y + 14, self.look("node", node.name)[0] + shortened(node.name))
        bars = y + LINE + 6
        top = bars + len(meshes) * (BAR + 8) + (min(MOST_ARC, ARC + STEP * max(spans)) if spans else 0) + PAD
        left, bottom, ties = x + PAD, top, len(self.shapes)
        for socket in node.sockets:
            wide = 2 * PAD + self.column * socket.columns
            bottom = max(bottom, self.draw_socket(node, socket, left, top, wide))
            left += wide + GAP
        of_meshes = (self.mesh_shapes(mesh, devices, bars + at * (BAR + 8)) for at, mesh in enumerate(meshes))
        self.shapes[ties:ties] = [shape for shapes in of_meshes for shape in shapes]
        edge = self.rectangle(self.look("node", node.name)[1], x, y, width, bottom + PAD - y, round_=6)
        self.shapes.insert(place, edge)  # below its components
        return bottom + PAD

    def mesh_shapes(self, mesh: Connected, devices: Sequence[str], y: int) -> Iterator[Shape]:
        """A bar over the devices of a mesh, and a line to each of them."""
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
        """Draws the box of a NUMA node; all of a node have one height. Returns the y below it."""
        of_switches = (SWITCH + GAP) * any(group.switch for group in node.groups)
        of_adapters = (BOX + GAP) * any(group.adapters for group in node.groups)
        height = PAD + BOX + of_switches + of_adapters + LINE + 4
        self.box(self.look("socket", (node.name, socket.number))[1], x, y, width, height)
        self.text("small", x + PAD, y + height - 7, self.socket_text(node, socket))
        left = x + PAD
        for group in socket.groups:
            self.draw_group(node, group, left, y + PAD, of_switches)
            left += self.column * group.columns
        return y + height

    def draw_group(self, node: Node, group: Group, x: int, y: int, of_switches: int) -> None:
        """Draws devices, their switch and its adapters."""
        room, below = self.column * group.columns, y + BOX + GAP
        devices, adapters = self.boxes_of(node, group)
        for label, (middle, box, span) in zip(group.devices, spread_boxes(devices, x, room), strict=True):
            self.devices[label] = (middle, y)
            if group.switch:
                self.path("tie", f"M{middle} {y + BOX}V{below}")
            self.draw_box(box, middle, y, span)
        if group.switch:
            text, style = self.switch(group, room)
            self.box(style, x + PAD // 2, below, room - PAD, SWITCH)
            self.text("middle small", x + room // 2, below + 14, text)
        top = below + of_switches
        for middle, box, span in spread_boxes(adapters, x, room):
            if group.switch:
                self.path("tie", f"M{middle} {below + SWITCH}V{top}")
            self.draw_box(box, middle, top, span)

    def draw_box(self, box: Box, middle: int, y: int, span: int) -> None:
        """Draws a device or an adapter in a room of width span."""
        width = min(span, max(WIDEST, int(box.room) + 1)) - PAD
        self.shapes.append(self.rectangle(box.style, middle - width // 2, y, width, BOX, title=box.title))
        self.text("middle", middle, y + (15 if box.text else 23), box.name)
        if box.text:
            self.text("middle small", middle, y + 29, box.text)

    def draw_arc(self, ends: tuple[str, str], name: str, number: int) -> None:
        """Draws a link between two devices; a direction at fault has a tip at its destination."""
        (x, y), (other_x, other_y) = (self.devices[label] for label in ends)
        high = min(MOST_ARC, ARC + STEP * abs(other_x - x) // self.column)
        top = min(y, other_y) - high * 4 // 3 + PAD  # of the control points: the curve reaches three quarters of them
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
    """(middle, box, its room) of boxes that share a room from x on."""
    span = room // max(1, len(boxes))
    for number, box in enumerate(boxes):
        yield x + number * span + span // 2, box, span
