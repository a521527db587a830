"""The sentences of findings: component, deviation, cells, and what to check.

The words "all cells", "every peer" and "fine" appear only if all of these cells were measured and agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..judge.run_findings import error_sentences
from ..record import units
from .experiments import advice
from .families import find_family, member_cells
from .hypotheses import Finding, slowness
from .layout import Layout, Names, Subject, part_of
from .node_causes import CAUSES

if TYPE_CHECKING:
    from ..record.matrix import Matrix
    from ..record.names import Result
    from .deviations import Deviations

MAX_EQUIVALENT = 3  # components that fit the same cells


class Words(NamedTuple):
    """The parts of the sentence about one kind of finding, in the order of the sentence.

    start: the component, before the deviation. Example: "gpu3 sends".
    all_peers: added if every cell of the component is slow. Example: " to every peer".
    others_fine: added if the cells that another cause would slow are fine. Example: ", receives fine".
    advice: what to check. Example: "check its egress".
    cells: the component's cells, after the word "cells" in other sentences. Example: "that gpu3 sends".
    """

    start: str
    all_peers: str
    others_fine: str
    advice: str
    cells: str


DEVICE = "check the device itself: its clocks, links and slot"
ITSELF = "check the device itself: its memory, clocks and power limit"
ONE_WAY = "check this direction of the link: measure it again, alone"
NIC = "check this NIC, its cable and its switch port"
NIC_OUT = "check the sending side of this NIC, its cable and its port"
NIC_IN = "check the receiving side of this NIC and its port"
NODE = "check the node: its NICs, PCIe and uplink"
NODE_OUT = "check the sending side of the node: uplink and routing"
NODE_IN = "check the receiving side of the node: uplink and routing"
NETWORK = "check {near}"
NETWORK_OUT = "check the sending side: {near}"
NETWORK_IN = "check the receiving side: {near}"
NICS = "check what these adapters share: PCIe switch, socket, network switch"
SWITCH = "check this switch: width and speed of its links, and ACS"
SOCKET = "check this socket: its PCIe root, memory and power limit"
MEMORY = "check the memory of this socket: channels, their speed, power limit"
SOCKETS = "check the link between its sockets"
LEAF = "check this switch"
UPLINK = "check its uplinks: number, rate and routing"
TRAY = "check this tray: its NVLink connector, clocks and power limit"
DOMAIN = (
    "check its NVLink switches: without one of 18 planes each GPU has 5.6 % less bandwidth; compare the error counters"
    " of the switch trays"
)
INSIDE = "check its switches, clocks and power limit"
CLASS = "check what they share: driver, BIOS, clocks, throttling"
NET_FINE = ", the network is fine"
#: {who}: the name from `subject_name`. {all}: "all " if each cell agrees.
WORDS = {
    "egress": Words("{who} sends", " to every peer", ", receives fine", "check its egress", "that {who} sends"),
    "ingress": Words("{who} receives", " from every peer", ", sends fine", "check its ingress", "that {who} receives"),
    "device": Words("{who} sends and receives", " with every peer", "", DEVICE, "of {who}"),
    "link": Words("{who} are both", "", "", "check the link between them", "{who}"),
    "cell": Words("{who} is", "", ", the reverse direction is fine", ONE_WAY, "{who}"),
    "nic": Words("{all}cells over {who} are", "", "", NIC, "over {who}"),
    "nic_egress": Words("{all}cells sent over {who} are", "", "", NIC_OUT, "sent over {who}"),
    "nic_ingress": Words("{all}cells received over {who} are", "", "", NIC_IN, "received over {who}"),
    "network": Words(
        "over the network {who} sends and receives", " with every peer", "", NETWORK, "of {who} between nodes"
    ),
    "network_egress": Words(
        "over the network {who} sends", " to every peer", "", NETWORK_OUT, "that {who} sends between nodes"
    ),
    "network_ingress": Words(
        "over the network {who} receives", " from every peer", "", NETWORK_IN, "that {who} receives between nodes"
    ),
    "nics": Words("{all}cells over {who} are", "", "", NICS, "over {who}"),
    "nics_egress": Words("{all}cells sent over {who} are", "", "", NICS, "sent over {who}"),
    "nics_ingress": Words("{all}cells received over {who} are", "", "", NICS, "received over {who}"),
    "switch": Words("{all}cells between nodes over {who} are", "", "", SWITCH, "between nodes over {who}"),
    "socket": Words("{all}cells of {who} over the network are", "", "", SOCKET, "of {who} over the network"),
    "memory": Words("{all}cells of {who} are", "", "", MEMORY, "of {who}"),
    "between_sockets": Words(
        "{all}cells between the NUMA nodes of {who} are", "", "", SOCKETS, "between the NUMA nodes of {who}"
    ),
    "leaf": Words("{all}cells over leaf switch {who} are", "", "", LEAF, "over leaf switch {who}"),
    "uplink": Words("{all}cells that leave leaf switch {who} are", "", "", UPLINK, "that leave leaf switch {who}"),
    "links": Words(
        "inside its node {who} is",
        " with every peer",
        NET_FINE,
        "check its links to the other devices",
        "of {who} inside",
    ),
    "links_egress": Words(
        "inside its node {who} sends", "", NET_FINE, "check its outgoing links", "that {who} sends inside its node"
    ),
    "links_ingress": Words(
        "inside its node {who} receives", "", NET_FINE, "check its incoming links", "that {who} receives inside"
    ),
    "nvlinks": Words(
        "inside its NVLink domain {who} is", " with every peer", "", "check its NVLinks", "of {who} inside its domain"
    ),
    "nvlinks_egress": Words(
        "inside its NVLink domain {who} sends", "", "", "check its outgoing NVLinks", "that {who} sends in its domain"
    ),
    "nvlinks_ingress": Words(
        "inside its NVLink domain {who} receives",
        "",
        "",
        "check its incoming NVLinks",
        "that {who} receives in its domain",
    ),
    "tray": Words("{all}cells of tray {who} over NVLink are", "", "", TRAY, "of tray {who} over NVLink"),
    "domain": Words("{all}cells inside NVLink domain {who} are", "", "", DOMAIN, "inside NVLink domain {who}"),
    "node": Words("{all}cells of node {who} over the network are", "", "", NODE, "of node {who} over the network"),
    "node_egress": Words("{all}cells that node {who} sends are", "", "", NODE_OUT, "that node {who} sends"),
    "node_ingress": Words("{all}cells that node {who} receives are", "", "", NODE_IN, "that node {who} receives"),
    "node_pair": Words("{all}cells between {who} are", "", "", "check the path between the two nodes", "between {who}"),
    "inside": Words("{all}cells inside node {who} are", "", "", INSIDE, "inside node {who}"),
    "rail": Words("{all}pairs on rail {who} are", "", "", "check the switch of this rail", "on rail {who}"),
    "rail_ends": Words("{all}cells over rail {who} are", "", "", "check the switch of this rail", "over rail {who}"),
    "class": Words("{all}{who} cells are", "", "", CLASS, "of {who}"),
}
WITHIN_TOLERANCE = ", within their tolerances, but slower by more than the noise"
LOCAL_COPIES = Words("{who} copies within its own memory", "", "", ITSELF, "of {who}")


def words_of(kind: str, names: Names) -> Words:
    """The words for a kind of finding. For copies inside devices, the words differ."""
    return LOCAL_COPIES if kind == "ingress" and [*names.classes] == ["LOCAL"] else WORDS[kind]


def subject_name(kind: str, subject: Subject, names: Names) -> str:
    """The name of the component of a finding, such as "gpu3", "gpu2->gpu5 and gpu5->gpu2" or "nodes n17 and n18"."""
    if isinstance(subject, tuple):
        a, b = subject
        if kind == "node_pair":
            return f"nodes {names.nodes[a]} and {names.nodes[b]}"
        if kind == "link":
            return f"{names.rows[a]}->{names.columns[b]} and {names.rows[b]}->{names.columns[a]}"
        return f"{names.rows[a]}->{names.columns[b]}"
    part = part_of(kind)
    known = {"node": names.nodes, "nic": names.nics, "class": names.classes} | dict(names.parts)
    if part in known:
        return known[part][subject]
    if part == "rail":
        return str(subject)
    return names.columns[subject] if kind.endswith("ingress") else names.rows[subject]


def component_to_check(kind: str, subject: Subject, names: Names) -> str:
    """The component that the sentence of a finding advises to check, such as "the link between them"."""
    text = words_of(kind, names).advice.removeprefix("check ")
    if "{near}" not in text:
        return text
    assert isinstance(subject, int)
    near = names.near.get((names.columns if kind.endswith("ingress") else names.rows)[subject], ())
    if len(near) == 1:  # the other endpoints of this adapter are fast
        return text.format(near=f"the PCIe path to {near[0]}, and the access of {near[0]} to the device's memory")
    which = f", one of {', '.join(near)}," if near else ""
    return text.format(near=f"the adapter that carries its data{which} or the path to it")


def all_cells_agree(finding: Finding, seen: Deviations) -> bool:
    """Whether every cell of the finding's component is slow, and every cell of the matrix was measured."""
    applies = seen.classes >= 0
    return not seen.part and finding.agreeing == finding.cells and bool(np.isfinite(seen.deviation[applies]).all())


def other_cells_fine(finding: Finding, seen: Deviations, layout: Layout) -> bool:
    """Whether the cells that another cause would slow were all measured and are within their limits.

    For a slow egress, these are the cells that the endpoint receives. For slow links of a device, these are the cells
    of the device to other nodes.
    """
    if seen.part:
        return False
    row, column = np.indices(seen.classes.shape)
    subject = finding.subject
    if isinstance(subject, tuple):
        cells = (row == subject[1]) & (column == subject[0]) & layout.square
    elif finding.kind.startswith("links"):
        inside = layout.row_node[row] == layout.column_node[column]
        cells = ((row == subject) | (column == subject)) & ~inside
    else:
        cells = ((column if finding.kind == "egress" else row) == subject) & layout.square
    cells = cells & (seen.classes >= 0)
    return bool(cells.any() and seen.fine[cells].all())


def sentence(
    finding: Finding, names: Names, content: Mapping[str, Any], result: Result, seen: Deviations, layout: Layout
) -> str:
    """The sentence of a finding.

    Example: "gpu3 sends 11.0 % slow to every peer, receives fine (7 of 7 cells): check its egress".
    """
    who = subject_name(finding.kind, finding.subject, names)
    words, each = words_of(finding.kind, names), all_cells_agree(finding, seen)
    text = f"{words.start.format(who=who, all='all ' if each else '')} {slowness(finding.shift, result['unit'])}"
    text += (words.all_peers if each else "") + (
        words.others_fine if words.others_fine and other_cells_fine(finding, seen, layout) else ""
    )
    text += f" ({finding.agreeing} of {units.counted(finding.cells, 'cell')})"
    if finding.unconfirmed:
        why = (
            "slow again when measured alone, which can be chance with so many disturbed cells"
            if finding.slow_alone
            else "seen once"
        )
        return f"{text}, {why}: measure {who} again, alone, before you check a component" + evidence(who, content)
    text += WITHIN_TOLERANCE if finding.within_tolerance else ""
    if finding.node_cause:
        return f"{text}, {finding.node_cause}: check {CAUSES}" + evidence(who, content)
    text += f": check {component_to_check(finding.kind, finding.subject, names)}"
    if result["metric"] == "bidirectional" and finding.kind == "device":
        text += "; a sum of both directions does not separate egress and ingress: measure one direction"
    return text + equivalent_causes(finding, names) + evidence(who, content)


def equivalent_causes(finding: Finding, names: Names) -> str:
    """A sentence about other components that explain the same cells, and how to distinguish them; "" without any."""
    if not finding.equivalent:
        return ""
    others = [
        f"{subject_name(kind, subject, names)} ({component_to_check(kind, subject, names)})"
        for kind, subject in finding.equivalent
    ]
    texts = "; ".join(units.first(others, MAX_EQUIVALENT))
    return f". Other causes of the same slow cells: {texts}. To distinguish: {advice(finding)}"


def evidence(who: str, content: Mapping[str, Any]) -> str:
    """A sentence about the error counters of a component that rose; "" if no counter rose.

    who: name of a device ("n1:gpu3"), of an adapter ("mlx5_0 of n1") or of a node. The counters of an adapter include
    all of its ports. The counters of a node include all of its devices.
    """
    words = {*who.replace("->", " ").replace(",", " ").split()}

    def belongs(label: str) -> bool:
        adapter, _, port = label.rpartition(":")
        label = adapter if port.isdecimal() and adapter else label
        node, _, name = label.rpartition(":")
        return label in words or (node in words and (name in words or who == node or "nodes" in words))

    risen = [line for line in error_sentences(content) if belongs(line.partition(": ")[0])]
    return f". Evidence: {'; '.join(units.first(risen, MAX_EQUIVALENT))}" if risen else ""


def missing_sentence(finding: Finding, names: Names, content: Mapping[str, Any], matrix: Matrix, layout: Layout) -> str:
    """The sentence of a finding about missing values.

    Example: "none of the 14 cells of gpu3 has a value (14 timeout): check …".
    """
    who = subject_name(finding.kind, finding.subject, names)
    words = words_of(finding.kind, names)
    cells = f"cells {words.cells.format(who=who)}"
    text = f"none of the {finding.cells} {cells} has a value"
    if finding.agreeing < finding.cells:
        text = f"{finding.agreeing} of the {finding.cells} {cells} have no value"
    family, group = find_family(layout, finding.kind, finding.subject)
    own = (member_cells(family, group) & (layout.classes.ravel() >= 0)).reshape(layout.classes.shape)
    codes, statuses = matrix.whole.status
    counts = Counter(statuses[code] for code in codes[own].tolist())
    causes = ", ".join(f"{count} {status}" for status, count in counts.items() if status != "ok")
    return (
        f"{text} ({causes}): check {component_to_check(finding.kind, finding.subject, names)}"
        + equivalent_causes(finding, names)
        + evidence(who, content)
    )
