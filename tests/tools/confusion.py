"""Measures how often the faulty component is named: faults of fabric.py, searched as by `linkmatrix diagnose`.

References are adopted from six healthy runs. An answer is right if it names the component and nothing else. If the
record cannot distinguish some components, the answer must contain the faulty one.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkmatrix.adopt.cells import cell_references
from linkmatrix.judge.expected import Expected
from linkmatrix.locate.deviations import Deviations, with_joint_limits
from linkmatrix.locate.families import find_family, member_cells
from linkmatrix.locate.hypotheses import Finding, search
from linkmatrix.locate.layout import layout_of
from linkmatrix.locate.sentences import subject_name
from linkmatrix.record.matrix import from_result
from linkmatrix.record.names import lasting_names
from linkmatrix.references import noise
from linkmatrix.references.noise import reference_floor
from tests.tools.fabric import Fabric, Machine, Part, Run, record_of

RUNS = 6  # that references are adopted from
RIGHT, NOTHING, SEVERAL, ALIKE = "right", "nothing", "several", "the same cells"
CALLED = {"nic": "adapter", "node_pair": "node pair"}  # kinds of findings, as faults are called here


@dataclass(frozen=True)
class Fault:
    """A faulty component.

    kind: its name in the printed table. parts: the parts of paths that it slows. right: its right names, {(kind,
    name)}.
    """

    kind: str
    parts: tuple[Part, ...]
    right: frozenset[tuple[str, str]]


@dataclass
class Bench:
    """A simulated machine with references."""

    fabric: Fabric

    def __post_init__(self) -> None:
        runs = np.stack([self.fabric.run(whole=True).values for _ in range(RUNS)])
        self.record = record_of(self.fabric.machine, runs[-1])
        self.result = self.record["results"][0]
        self.matrix = from_result(self.result)
        self.layout, self.names = layout_of(self.record, self.result, self.matrix)
        self.expected, self.lower = self.references(runs)
        self.limit = 1 / (1 + self.lower) - 1

    def references(self, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(value, lower tolerance) of each cell, as `adopt` calculates them."""
        classes = self.fabric.classes
        found = noise.spread(runs, classes)
        floors = {name: reference_floor(self.result, name, "mpi") for name in self.matrix.class_names}
        cells = int(np.isfinite(found.centre).sum())
        table = cell_references(self.matrix, found, classes, cells, RUNS, floors)[0]
        of_class = {name[5:-1]: one for name, one in table.items() if name.startswith("cell[")}
        of_cell = {tuple(name.split("->")): one for name, one in table.items() if "->" in name}
        expected = Expected(of_cell, of_class, "simulated")
        labels = list(enumerate(lasting_names(self.matrix.testcase, self.matrix.rows)))
        value, lower = np.full(classes.shape, np.nan), np.full(classes.shape, np.nan)
        for r, row in labels:
            for c, column in labels:
                if r != c:
                    one = expected.reference((row, column), classes[r, c])
                    value[r, c], lower[r, c] = one.value, one.lower
        return value, lower

    def seen(self, deviation: np.ndarray) -> Deviations:
        """The input of the search as in `diagnose`, with the noise of this run."""
        return with_joint_limits(
            self.record, self.result, Deviations(self.layout.classes, deviation, self.limit), self.names.classes
        )

    def find(self, run: Run) -> list[Finding]:
        """The findings of `diagnose` with these references, without findings that were slow only once."""
        with np.errstate(invalid="ignore"):
            deviation, alone = np.log(run.values / self.expected), np.log(run.alone / self.expected)
            first = None if run.first is None else np.log(run.first / self.expected)
        seen = self.seen(deviation)
        found, _ = search(deviation, seen.sigma, self.limit, self.layout, alone, seen.joint_limit, first)
        return [one for one in found if not one.unconfirmed]

    def named(self, one: Finding) -> set[tuple[str, str]]:
        """The names of a finding, and of components with the same cells."""
        return {(kind, subject_name(kind, who, self.names)) for kind, who in ((one.kind, one.subject), *one.equivalent)}

    def answer(self, faults: list[Fault], found: list[Finding]) -> str:
        """RIGHT if exactly the faults are named, else the kind of the finding, NOTHING or SEVERAL."""
        if len(found) == len(faults) and all(any(self.named(one) & fault.right for one in found) for fault in faults):
            return RIGHT
        if not found:
            return NOTHING
        return CALLED.get(found[0].kind, found[0].kind) if len(found) == 1 else SEVERAL

    def run(self, *slow: tuple[tuple[Part, ...], float]) -> Run:
        """A run of a program that gets the references. slow: as in `Fabric.run`."""
        return self.fabric.run(slow, expected=self.expected)

    def try_faults(self, depth: float, *faults: Fault) -> str:
        """The answer for one run with these faults."""
        return self.answer([*faults], self.find(self.run(*((fault.parts, depth) for fault in faults))))

    def try_two(self, depth: float) -> str:
        """The answer for two random faults; ALIKE if equally few components have the same cells.

        For example, a device has the cells of its egress and its ingress, if these two are the faults.
        """
        while True:
            faults = [self.draw(str(kind)) for kind in self.fabric.chance.choice([*self.faults], 2)]
            if apart([self.slow_by(fault) for fault in faults]):
                break
        found = self.find(self.run(*((fault.parts, depth) for fault in faults)))
        answer = self.answer(faults, found)
        slow = np.logical_or.reduce([self.slow_by(fault) for fault in faults])
        is_as_short = answer != RIGHT and 0 < len(found) <= len(faults)
        return ALIKE if is_as_short and (self.cells_of(found) == slow).all() else answer

    def cells_of(self, found: list[Finding]) -> np.ndarray:
        """Mask of the cells of all findings, including cells without a value."""
        named = (find_family(self.layout, one.kind, one.subject) for one in found)
        every = np.logical_or.reduce([member_cells(*one).reshape(self.layout.classes.shape) for one in named])
        return every & (self.layout.classes >= 0)

    def slow_by(self, fault: Fault) -> np.ndarray:
        """Mask of the cells that a fault makes slow."""
        return np.logical_or.reduce([self.fabric.machine.passed[part] for part in fault.parts])

    def draw(self, kind: str) -> Fault:
        """A random fault of a kind."""
        one = self.faults[kind]
        return one[int(self.fabric.chance.integers(len(one)))]

    @cached_property
    def faults(self) -> dict[str, list[Fault]]:
        """All possible faults of the machine, by kind."""
        machine, found = self.fabric.machine, {}
        for part in machine.passed:
            for fault in faults_of(machine, part):
                found.setdefault(fault.kind, []).append(fault)
        return found

    def alarms(self, runs: int) -> int:
        """The number of healthy runs with a finding."""
        return sum(bool(self.find(self.run())) for _ in range(runs))

    def row(self, kind: str, depth: float, trials: int) -> Counter:
        """{answer: number} of a number of trials."""
        return Counter(self.try_faults(depth, self.draw(kind)) for _ in range(trials))


def apart(masks: list[np.ndarray]) -> bool:
    """Whether faults can be distinguished: each has at least two thirds of its cells alone."""
    for at, mask in enumerate(masks):
        others = [other for place, other in enumerate(masks) if place != at]
        if others and 3 * (mask & np.logical_or.reduce(others)).sum() > mask.sum():
            return False
    return True


def faults_of(machine: Machine, part: Part) -> list[Fault]:
    """The possible faults of a part of a path, with their right names."""
    word, *who = part
    label = machine.label

    def fault(kind: str, *right: tuple[str, str], parts: tuple[Part, ...] = ()) -> Fault:
        return Fault(kind, parts or (part,), frozenset(right))

    if word == "out":
        name = label(who[0])
        both = fault("device", ("device", name), parts=(part, ("in", who[0])))
        return [fault("egress", ("egress", name)), both]
    if word == "in":
        return [fault("ingress", ("ingress", label(who[0])))]
    if word == "link":
        a, b = map(label, who)
        inside = who[0] // machine.per_node == who[1] // machine.per_node
        return [fault("link inside" if inside else "link between", ("link", f"{a}->{b} and {b}->{a}"))]
    if word == "adapter":
        return [fault("adapter", *adapter_names(machine, *who))]
    node, far = (f"n{one:03}" if isinstance(one, int) else "" for one in (who[0], who[-1]))
    if machine.per_node == 1 and word in ("socket", "node pair", "rail", "switch"):
        return []  # the node, the link and the class
    if word == "socket":
        return [fault("socket", ("socket", f"NUMA node {who[1]} of {node}"))]
    if word == "switch" and machine.nics in ("own", "pairs"):
        return []
    found = {
        "node": fault("node", ("node", node)),
        "node pair": fault(
            "node pair", ("node_pair", f"nodes {node} and n{who[-1]:03}" if word == "node pair" else "")
        ),
        "leaf": fault("leaf", ("leaf", f"leaf{who[0]}")),
        "uplink": fault("uplink", ("uplink", f"leaf{who[0]}")),
        "class": fault("class", ("class", str(who[0]))),
        "rail": fault("rail", ("rail", str(who[0]))),
        "tray": fault("tray", ("tray", node)),
        "plane": fault("plane", ("domain", f"domain{who[0]}")),
        "nvlinks": fault("nvlinks", ("nvlinks", label(who[0] if word == "nvlinks" else 0))),
        "inside": fault("inside", ("inside", node)),
        "links": fault("links", ("links", label(who[0] if word == "links" else 0))),
    }
    alone = machine.nodes == 1 and word in ("inside", "links")  # the class, and the device
    return [found[word]] if word in found and not alone else []


def adapter_names(machine: Machine, node: int, nic: int) -> list[tuple[str, str]]:
    """The right names of a faulty adapter: the adapter, or the endpoints behind it if the record cannot tell."""
    behind = [place for place in range(machine.per_node) if machine.adapter(place) == nic]
    if all(len(machine.near(place)) == 1 for place in behind):
        return [("nic", f"mlx5_{nic} of n{node:03}")]
    return [("network", machine.label(node * machine.per_node + place)) for place in behind]
