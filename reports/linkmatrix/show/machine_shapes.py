"""Where the parts of a machine stand in its drawing.

Devices stand in a row, in the boxes of their NUMA nodes and nodes; above them what connects them, below them PCIe
switches and network adapters. What is at fault has a thick border, a glyph and a word: nothing is said by colour alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..judge.verdicts import Verdict
from . import words
from .machine_canvas import SMALL, Canvas, Shape
from .machine_marks import Mark
from .machine_parts import Adapter, Connected, Group, Machine, Node, Socket
from .machine_room import (
    GAP,
    MARGIN,
    PAD,
    adapter_texts,
    box_of,
    column_of,
    device_texts,
    least_column,
    node_text,
    room_of,
    rows_of,
    socket_text,
    switch_key,
    switch_text,
)
from .maps import CLASSES

BOX, SWITCH, BAR, LINE = 36, 20, 18, 18  # heights
ARC, STEP = 34, 12  # height of an arc between neighbours, and what each further column adds
MOST_ARC = 110
MOST_NAMED_PAIRS = 4  # arcs that have their class beside them


def drawn(machine: Machine, marks: Sequence[Mark]) -> tuple[list[Shape], int, int]:
    """(shapes, width, height) of a machine."""
    marked = {part: mark for mark in reversed(marks) for part in mark.parts}  # the worst last: it stays
    least = least_column(machine, marked)
    rows = rows_of(machine, least)
    canvas = Canvas(column_of(rows, least), marked)
    arcs = arcs_of(machine, marked)
    y = MARGIN
    for row in rows:
        y = draw_row(canvas, machine, row, y, arcs) + GAP
    within = [ends for ends in arcs if set(ends) <= canvas.devices.keys()]
    within.sort(key=lambda ends: ("pair", ends) in marked or ("pair", ends[::-1]) in marked)  # these over the others
    for at, ends in enumerate(within):
        draw_arc(canvas, ends, arcs[ends] if len(arcs) <= MOST_NAMED_PAIRS else "", at)
    return canvas.shapes, max(room_of(row, canvas.column) for row in rows), y - GAP + MARGIN


def arcs_of(machine: Machine, marked: Mapping[tuple[str, Any], Mark]) -> dict[tuple[str, str], str]:
    """{(device, device): link class, "" of one that is drawn only because it is at fault}, each pair once."""
    arcs = {(one.labels[0], one.labels[1]): one.link_class for one in machine.pairs}
    for kind, key in marked:
        if kind == "pair" and key not in arcs and key[::-1] not in arcs:
            arcs[key] = ""
    return arcs


def draw_row(canvas: Canvas, machine: Machine, row: Sequence[Node], y: int, arcs: Mapping[tuple[str, str], str]) -> int:
    """Nodes side by side; the y below them."""
    if len(machine.nodes) > 1:
        width = room_of(row, canvas.column) - 2 * MARGIN
        canvas.box("bar net", MARGIN, y, width, BAR)
        canvas.text("on-bar", MARGIN + 8, y + 13, "NET: the network between the nodes")
        y += BAR + GAP
    x, bottom = MARGIN, y
    for node in row:
        width = room_of([node], canvas.column) - 2 * MARGIN
        if len(machine.nodes) > 1:
            canvas.path("tie", f"M{x + width // 2} {y - GAP}V{y}")
        bottom = max(bottom, draw_node(canvas, machine, node, (x, y, width), arcs))
        x += width + GAP
    return bottom


def draw_node(
    canvas: Canvas, machine: Machine, node: Node, at: tuple[int, int, int], arcs: Mapping[tuple[str, str], str]
) -> int:
    """A node's box, with all that is in it; at: x, y and width. The y below it."""
    x, y, width = at
    place = len(canvas.shapes)
    devices = {label for socket in node.sockets for group in socket.groups for label in group.devices}
    meshes = [mesh for mesh in machine.meshes if devices & set(mesh.labels)]
    within = [ends for ends in arcs if devices & set(ends)]
    canvas.text("name", x + PAD, y + 14, node_text(canvas.marked, node))
    bars = y + LINE + 6
    top = bars + len(meshes) * (BAR + 8) + (arc_room(node, within) if within else 0) + PAD
    left, bottom, ties = x + PAD, top, len(canvas.shapes)
    for socket in node.sockets:
        wide = 2 * PAD + canvas.column * sum(group.columns for group in socket.groups)
        bottom = max(bottom, draw_socket(canvas, node, socket, (left, top, wide), deep(node)))
        left += wide + GAP
    lines: list[Shape] = []
    for number, mesh in enumerate(meshes):
        lines += mesh_shapes(canvas, mesh, devices, bars + number * (BAR + 8))
    canvas.shapes[ties:ties] = lines
    edge = (("x", x), ("y", y), ("width", width), ("height", bottom + PAD - y), ("rx", 6))
    canvas.shapes.insert(place, Shape("rect", canvas.style("node", node.name), edge))
    return bottom + PAD


def arc_room(node: Node, within: Iterable[tuple[str, str]]) -> int:
    """How high the highest arc of a node is."""
    order = [label for socket in node.sockets for group in socket.groups for label in group.devices]
    spans = [abs(order.index(a) - order.index(b)) if a in order and b in order else len(order) for a, b in within]
    return min(MOST_ARC, ARC + STEP * max(spans))


def mesh_shapes(canvas: Canvas, mesh: Connected, devices: set[str], y: int) -> Iterator[Shape]:
    """A bar over the devices of a mesh, and a line to each of them."""
    of_node = [canvas.devices[label] for label in mesh.labels if label in devices]
    half = (canvas.column - PAD) // 2
    left, right = min(x for x, _ in of_node) - half, max(x for x, _ in of_node) + half
    for x, top in of_node:
        yield Shape("path", "tie", (("d", f"M{x} {y + BAR}V{top}"),))
    at = (("x", left), ("y", y), ("width", right - left), ("height", BAR), ("rx", 4))
    mark = canvas.marked.get(("class", mesh.link_class))
    yield Shape("rect", f"bar at-fault {CLASSES[mark.verdict]}" if mark else "bar", at)
    of_all = f"{mesh.link_class}: each of the {len(mesh.labels)} with each"
    at_fault = f", {words.GLYPHS[mark.verdict]} {mark.word}" if mark else ""
    fits = (len(of_all) + len(at_fault)) * SMALL <= right - left - 8
    said = (of_all if fits else mesh.link_class) + at_fault
    yield Shape("text", "small label-at-fault" if mark else "on-bar", (("x", left + 8), ("y", y + 13)), said)


def deep(node: Node) -> tuple[bool, bool]:
    """(are there switches, are there adapters) anywhere in a node: its boxes are of one height."""
    groups = [group for socket in node.sockets for group in socket.groups]
    return any(group.switch for group in groups), any(group.adapters for group in groups)


def draw_socket(canvas: Canvas, node: Node, socket: Socket, at: tuple[int, int, int], has: tuple[bool, bool]) -> int:
    """The box of a NUMA node; at: x, y and width. The y below it."""
    x, y, width = at
    of_switches, of_adapters = (SWITCH + GAP) * has[0], (BOX + GAP) * has[1]
    height = PAD + BOX + of_switches + of_adapters + LINE + 4
    key = (node.name, socket.number)
    canvas.box(canvas.style("socket", key), x, y, width, height)
    canvas.text("small", x + PAD, y + height - 7, socket_text(canvas.marked, node, socket.number))
    left = x + PAD
    for group in socket.groups:
        draw_group(canvas, node, group, (left, y + PAD), of_switches)
        left += canvas.column * group.columns
    return y + height


def draw_group(canvas: Canvas, node: Node, group: Group, at: tuple[int, int], of_switches: int) -> None:
    """Devices, their switch and its adapters; at: x and y."""
    x, y = at
    room, below = canvas.column * group.columns, y + BOX + GAP
    for label, middle, span in places(canvas, group, group.devices, x):
        canvas.devices[label] = (middle, y)
        if group.switch:
            canvas.path("tie", f"M{middle} {y + BOX}V{below}")
        draw_device(canvas, node, label, (middle, y, span))
    if group.switch:
        key = switch_key(canvas.marked, group.devices)
        canvas.box(canvas.style("switch", key), x + PAD // 2, below, room - PAD, SWITCH)
        canvas.text("middle small", x + room // 2, below + 14, switch_text(canvas.marked, group.devices, room))
    for adapter, middle, span in places(canvas, group, group.adapters, x):
        top = below + of_switches
        if group.switch:
            canvas.path("tie", f"M{middle} {below + SWITCH}V{top}")
        draw_adapter(canvas, node, adapter, (middle, top, span))


def places(canvas: Canvas, group: Group, members: Sequence[Any], x: int) -> Iterator[tuple[Any, int, int]]:
    """(member, its middle, its room): devices, or adapters, share the columns of their group."""
    span = canvas.column * group.columns // max(1, len(members))
    for number, member in enumerate(members):
        yield member, x + number * span + span // 2, span


def draw_device(canvas: Canvas, node: Node, label: str, at: tuple[int, int, int]) -> None:
    """A device; at: its middle, y and room."""
    draw_box(canvas, canvas.style("device", label), label, device_texts(canvas.marked, node, label), at)


def draw_adapter(canvas: Canvas, node: Node, adapter: Adapter, at: tuple[int, int, int]) -> None:
    """A network adapter; at: its middle, y and room."""
    style = canvas.style("adapter", (node.name, adapter.name)) + ("" if adapter.up else " down")
    title = f"{adapter.name}, {adapter.rate or 'rate not known'}"
    draw_box(canvas, style, title, adapter_texts(canvas.marked, node, adapter), at)


def draw_box(canvas: Canvas, style: str, title: str, texts: tuple[str, str], at: tuple[int, int, int]) -> None:
    """A box with a name, and what is said of it below that."""
    name, said = texts
    middle, y, span = at
    width = box_of(span, name, said)
    canvas.box(style, middle - width // 2, y, width, BOX, title=title)
    canvas.text("middle", middle, y + (15 if said else 23), name)
    if said:
        canvas.text("middle small", middle, y + 29, said)


def draw_arc(canvas: Canvas, ends: tuple[str, str], name: str, number: int) -> None:
    """A line over the devices between two; of one way that is at fault with a point at its destination."""
    marks = [canvas.marked.get(("pair", way)) for way in (ends, ends[::-1])]
    (x, y), (other_x, other_y) = (canvas.devices[label] for label in ends)
    high = min(MOST_ARC, ARC + STEP * abs(other_x - x) // canvas.column)
    top = min(y, other_y) - high * 4 // 3 + PAD  # of the control points: the curve comes to three quarters of them
    known = [mark for mark in marks if mark]
    worst = max((mark.verdict for mark in known), default=Verdict.PASS)
    style = f"arc at-fault {CLASSES[worst]}" if known else "arc"
    ways = [f"{a}->{b}, {mark.word}" for mark, (a, b) in zip(marks, (ends, ends[::-1]), strict=True) if mark]
    canvas.path(style, f"M{x} {y}C{x} {top} {other_x} {top} {other_x} {other_y}", title="; ".join(ways))
    for mark, (tip_x, tip_y) in zip(marks, ((other_x, other_y), (x, y)), strict=True):
        if mark:
            canvas.path(f"tip {CLASSES[mark.verdict]}", f"M{tip_x} {tip_y}l-5 -10h10z")
    said = " ".join(filter(None, (f"{words.GLYPHS[worst]} {known[0].word}" if known else "", name)))
    if said:
        middle, shift = (x + other_x) // 2, 14 * (number % 2) if known else 0
        canvas.text("middle small label", middle, (3 * top + min(y, other_y)) // 4 - 5 - shift, said)
