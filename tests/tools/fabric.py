"""A simulated cluster with faults: the parts of each path, the noise of its rate, and the record of a run.

The simulation is independent of the hypotheses that linkmatrix tests. A cell is slow because of a part on its path, and
each part is listed by walking the paths. The record describes the parts as the program would write them. The noise is
not normal: the median of seven samples with heavy tails (Student's t with 2 degrees of freedom), disturbed cells that
are measured again, pairs with two routes, drift from run to run, classes of several medians, and missing cells.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from linkmatrix.record import reading

LIKE = Path(__file__).resolve().parents[1] / "data" / "h200x4_write_ce.record.json"
TESTCASE = "rank_to_rank_bandwidth_mpi"
NVLINK = {"NV18": 395.0}
PCIE = {"PIX": 52.0, "NODE": 48.0, "SYS": 37.0}
NET = 45.0  # GB/s between nodes
MEASUREMENTS = 4  # per outlier: the first, and three single ones; the second-worst value is used
LEAST_CAP = 16  # outliers that are measured again per matrix; more in large matrices
MEDIAN_OF_SEVEN = 3**-0.5  # standard deviation of the median of seven of Student's t with 2 degrees of freedom
LEAST_CELLS_OF_CLASS = 5  # cells that show whether a whole class is worse than its references
OUTLIERS_OF_SINGLE_CELL = 2  # outliers in the row and the column of a single outlier, which counts twice
OUTLIER = 0.02  # fraction below the reference, or below the median of the class: the cell is measured again
Part = tuple[object, ...]


@dataclass(frozen=True)
class Machine:
    """Nodes with two sockets each.

    nics: "own" is one adapter per device; "shared" is one per two devices; "pairs" is two per two devices, behind one
    switch; "numa" is one per device, of which the record contains only the NUMA node.
    inside: "nvlink" or "pcie". leaf: nodes per leaf switch; 0 if unknown. domain: nodes (trays) per NVLink domain; 0 if
    NVLink ends at the node. Each pair of a domain uses all of its switch planes alike.
    """

    nodes: int
    per_node: int
    nics: str = "own"
    inside: str = "nvlink"
    leaf: int = 0
    domain: int = 0

    @property
    def count(self) -> int:
        """The number of endpoints."""
        return self.nodes * self.per_node

    @property
    def where(self) -> list[tuple[int, int]]:
        """(node, number on the node) of each endpoint."""
        return list(itertools.product(range(self.nodes), range(self.per_node)))

    def socket(self, place: int) -> int:
        """The socket of a device: the first half of a node's devices is on the first socket."""
        return int(2 * place >= self.per_node) if self.per_node > 1 else 0

    def adapter(self, place: int) -> int:
        """The adapter that carries the data of a device."""
        return place // 2 if self.nics == "shared" else place

    def near(self, place: int) -> list[int]:
        """The adapters that the record lists as nearest to a device."""
        if self.nics == "pairs":
            return [place // 2 * 2, place // 2 * 2 + 1]
        if self.nics == "numa":
            return [one for one in range(self.per_node) if self.socket(one) == self.socket(place)]
        return [self.adapter(place)]

    def link_class(self, one: int, other: int) -> str:
        """The link class of two endpoints, by their indices."""
        (node, a), (far, b) = self.where[one], self.where[other]
        if self.in_domain(node, far):
            return "NV18"
        if node != far:
            return "NET"
        if self.inside == "nvlink":
            return "NV18"
        return "PIX" if a // 2 == b // 2 else "NODE" if self.socket(a) == self.socket(b) else "SYS"

    def in_domain(self, node: int, far: int) -> bool:
        """Whether NVLink connects two nodes, or the devices of one node over the switches of its domain."""
        return self.domain > 0 and node // self.domain == far // self.domain

    def way(self, one: int, other: int) -> Iterator[Part]:
        """The parts on the path from `one` to `other`."""
        (node, a), (far, b) = self.where[one], self.where[other]
        yield from (("out", one), ("in", other), ("link", *sorted((one, other))))
        yield ("class", self.link_class(one, other))
        if self.in_domain(node, far):
            yield from (("tray", node), ("tray", far), ("plane", node // self.domain))
            if self.nodes > self.domain:
                yield from (("nvlinks", one), ("nvlinks", other))
            return
        if node == far:
            yield from (("inside", node), ("links", one), ("links", other))
            return
        yield from (("node", node), ("node", far), ("node pair", *sorted((node, far))))
        for place, end in ((a, node), (b, far)):
            yield from (("adapter", end, self.adapter(place)), ("socket", end, self.socket(place)))
            yield ("switch", end, place // 2)
        if self.leaf:
            yield from (("leaf", node // self.leaf), ("leaf", far // self.leaf))
            if node // self.leaf != far // self.leaf:
                yield from (("uplink", node // self.leaf), ("uplink", far // self.leaf))
        if self.adapter(a) == self.adapter(b):
            yield ("rail", self.adapter(a))

    @cached_property
    def passed(self) -> dict[Part, np.ndarray]:
        """{part: mask, rows × columns, of the cells whose path contains the part}."""
        found: dict[Part, np.ndarray] = {}
        for one, other in itertools.permutations(range(self.count), 2):
            for part in self.way(one, other):
                found.setdefault(part, np.zeros((self.count, self.count), dtype=bool))[one, other] = True
        return found

    def label(self, endpoint: int) -> str:
        """The label of an endpoint, as ranks are labelled."""
        node, place = self.where[endpoint]
        return f"n{node:03}:gpu{place}"


def record_of(machine: Machine, values: np.ndarray) -> dict:
    """A real record with this machine and these values."""
    like = reading.load(LIKE)
    labels = [machine.label(endpoint) for endpoint in range(machine.count)]

    def square(diagonal: object, cell) -> list[list[object]]:
        size = range(machine.count)
        return [[diagonal if r == c else cell(r, c) for c in size] for r in size]

    def measured(r: int, c: int) -> float | None:
        return float(values[r, c]) if np.isfinite(values[r, c]) else None

    classes = square("X", machine.link_class)
    devices = [
        {
            "index": endpoint,
            "label": labels[endpoint],
            "name": "NVIDIA H200",
            "uuid": None,
            "pci": f"0000:{place:02x}:00.0",
            "node": f"n{node:03}",
            "numa": machine.socket(place),
            "nics": [f"mlx5_{nic}" for nic in machine.near(place)],
            "part": {},
            "place": {"node": f"n{node:03}"}
            | ({"leaf": f"leaf{node // machine.leaf}"} if machine.leaf else {})
            | ({"domain": f"domain{node // machine.domain}"} if machine.domain else {}),
        }
        for endpoint, (node, place) in enumerate(machine.where)
    ]
    adapters = [port(machine, node, nic) for node in range(machine.nodes) for nic in adapters_of(machine)]
    result = {
        **like["results"][0],
        "testcase": TESTCASE,
        "transport": "mpi",
        "engine": "mpi",
        "rows": labels,
        "columns": labels,
        "values": square(None, measured),
        "status": square("not-applicable", lambda r, c: "ok" if np.isfinite(values[r, c]) else "timeout"),
        "low": square(None, measured),
        "high": square(None, measured),
        "samples": square(0, lambda r, c: 7 if np.isfinite(values[r, c]) else 0),
        "converged": square(None, lambda r, c: True if np.isfinite(values[r, c]) else None),
        "round": square(None, lambda r, c: 0),
        "began": square(None, lambda r, c: 0.0),
        "ended": square(None, lambda r, c: 0.05),
        "sampled": None,
        "parts": {},
        "remeasured": [],
        "link_class": classes,
        "limit": square(None, lambda r, c: 450 if classes[r][c] != "NET" else 50),
        "complete": bool(np.isfinite(values).sum() == machine.count * (machine.count - 1)),
    }
    topology = {
        "labels": labels,
        "link_class": classes,
        "links": square(0, lambda r, c: 18 if classes[r][c] == "NV18" else 0),
        "peer_access": square(True, lambda r, c: True),
        "min_path": square(0, lambda r, c: 1),
    }
    health: list = []
    changes = {
        "backend": "mpi",
        "health": health,
        "devices": devices,
        "adapters": adapters,
        "topology": topology,
        "results": [result],
    }
    return {**like, **changes, "result": "PASS" if result["complete"] else "ERROR"}


def worse_as_a_whole(worse: np.ndarray) -> float:
    """The fraction by which a whole class is worse than its references, as in src/measure/outliers.cpp."""
    quarter = np.sort(worse)[(len(worse) - 1) // 4] if len(worse) >= LEAST_CELLS_OF_CLASS else 0.0
    return float(quarter) if quarter > OUTLIER else 0.0


def adapters_of(machine: Machine) -> list[int]:
    """The adapters of a node."""
    return sorted({nic for place in range(machine.per_node) for nic in (machine.adapter(place), *machine.near(place))})


def port(machine: Machine, node: int, nic: int) -> dict:
    """An adapter as a record describes it; for "numa", without its place on the PCI bus."""
    near = [place for place in range(machine.per_node) if nic in machine.near(place)]
    gpus = [
        {"pci": f"0000:{place:02x}:00.0", "link_class": "PXB", "bridges": 2, "nearest": True}
        for place in near
        if machine.nics != "numa"
    ]
    return {
        "name": f"mlx5_{nic}",
        "state": "ACTIVE",
        "rate": "400 Gb/sec (4X NDR)",
        "link_layer": "InfiniBand",
        "numa": machine.socket(near[0]) if near else 0,
        "part": {},
        "place": {"node": f"n{node:03}", "pci": f"0000:{64 + nic:02x}:00.0", "port": "1"},
        "gpus": gpus,
    }


class Run(NamedTuple):
    """GB/s of the cells, NaN without a measurement.

    alone: medians of three measurements of single cells. first: values of these cells before.
    """

    values: np.ndarray
    alone: np.ndarray
    first: np.ndarray | None = None


@dataclass
class Fabric:
    """The rates of a machine's cells.

    sigma: noise of a cell, as a fraction. disturbed: share of measurements that are disturbed. medians: of a link
    class. routes: (share of pairs between nodes with two routes, fraction by which the second is slower).
    """

    machine: Machine
    chance: np.random.Generator
    sigma: float = 0.0015
    disturbed: float = 0.005
    spread: float = 0.002
    drift: float = 0.002
    medians: int = 1
    routes: tuple[float, float] = (0.2, 0.008)
    missing: float = 0.01
    level: np.ndarray = field(init=False)
    second: np.ndarray = field(init=False)
    classes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        size = range(self.machine.count)
        rates = {**NVLINK, **PCIE, "NET": NET}
        self.classes = np.array([["X" if r == c else self.machine.link_class(r, c) for c in size] for r in size])
        shape = self.classes.shape
        base = np.vectorize(lambda word: rates.get(word, np.nan))(self.classes)
        # pairs of a class with the same distance of numbers share a median, 4 % from the next median
        apart = np.abs(np.subtract.outer(list(size), list(size))) % self.medians
        self.level = base * (1 - 0.04 * apart) * np.exp(self.spread * self.chance.standard_normal(shape))
        self.second = (self.classes == "NET") & (self.chance.random(shape) < self.routes[0])

    def run(
        self,
        slow: Sequence[tuple[Sequence[Part], float]] = (),
        whole: bool = False,
        expected: np.ndarray | None = None,
    ) -> Run:
        """The values of a run.

        slow: {faulty part: fraction by which it is slower}; the slowest part of a path decides. whole: without missing
        cells, as in runs for references. expected: the references that the program gets.
        """
        shape = self.level.shape
        rate = self.level * np.where(self.second & (self.chance.random(shape) < 0.3), 1 - self.routes[1], 1.0)
        for word in np.unique(self.classes):
            rate = np.where(self.classes == word, rate * (1 + self.drift * self.chance.standard_normal()), rate)
        factor = np.ones(shape)
        for parts, depth in slow:
            for part in parts:
                factor = np.where(self.machine.passed[part], np.minimum(factor, 1 - depth), factor)
        rate = rate * factor
        values = rate * self.measurement(shape)
        alone, first = np.full(shape, np.nan), np.full(shape, np.nan)
        off = self.measured_again(values, expected)
        again = np.stack(
            [values[off], *(rate[off] * self.measurement(int(off.sum())) for _ in range(MEASUREMENTS - 1))]
        )
        first[off] = values[off]
        values[off], alone[off] = np.sort(again, axis=0)[1], np.median(again[1:], axis=0)
        if not whole:
            values[self.chance.random(shape) < self.missing] = np.nan
        np.fill_diagonal(values, np.nan)
        return Run(values, alone, first)

    def measured_again(self, values: np.ndarray, expected: np.ndarray | None) -> np.ndarray:
        """Mask of the cells that are measured again: the outliers, chosen as in src/measure/outliers.cpp."""
        usual = np.full(values.shape, np.nan) if expected is None else expected.copy()
        cells = ~np.eye(len(values), dtype=bool)
        for word in np.unique(self.classes[cells]):
            inside = self.classes == word
            inside &= cells
            known = inside & ~np.isnan(usual)
            usual[known] *= 1 - worse_as_a_whole(1 - values[known] / usual[known])
            usual[inside & ~known] = np.median(values[inside])
        off, worse = np.zeros(values.shape, dtype=bool), np.zeros(values.shape)
        worse[cells] = 1 - values[cells] / usual[cells]
        off[worse > OUTLIER] = True
        rounds = 2 * (len(values) - 1)
        most = max(LEAST_CAP, min(int(cells.sum()) // 100, rounds // 4))
        beside, by_chance = np.zeros(values.shape, dtype=int), np.zeros(values.shape, dtype=int)
        for word in np.unique(self.classes[off]):
            inside = (self.classes == word) & cells
            lines = [(off & inside).sum(axis) for axis in (1, 0)]
            # chance seldom meets both ways of a link, and slow devices put some into every line
            counts = np.concatenate([(off & ~off.T & inside).sum(axis)[inside.any(axis)] for axis in (1, 0)])
            twice = 2 * float(np.median(counts))
            np.copyto(beside, lines[0][:, None] + lines[1][None, :], where=inside)
            np.copyto(by_chance, max(OUTLIERS_OF_SINGLE_CELL, int(twice + 3 * twice**0.5)), where=inside)
        beyond_chance = np.maximum(beside, by_chance) - by_chance
        keys = (-worse, beside, ~off.T, beyond_chance)  # the last one counts most
        order = np.lexsort([key[off] for key in keys])[:most]
        chosen = np.zeros(values.shape, dtype=bool)
        chosen[tuple(np.argwhere(off)[order].T)] = True
        return chosen

    def measurement(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """One measurement: the median of seven samples with heavy tails, sometimes disturbed."""
        middle = self.chance.beta(4, 4, shape)  # the rank of the median of seven
        student = (2 * middle - 1) / np.sqrt(2 * middle * (1 - middle))
        noise = 1 + self.sigma * student / MEDIAN_OF_SEVEN
        busy = self.chance.random(shape) < self.disturbed
        return np.where(busy, noise * (1 - np.minimum(self.chance.exponential(0.05, shape), 0.9)), noise)
