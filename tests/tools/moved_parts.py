"""Simulates a pair of nodes whose GPUs change slots, with a faulty component or a faulty slot.

Each run is a record of 4 GPUs per node. A faulty component sends, receives or does both slowly in any slot. A faulty
slot slows any GPU in it. The answer passes all stages: judged, located, and combined over the runs.
"""

import copy
from pathlib import Path

import numpy as np

from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import stored, testcases
from linkmatrix.runs.suspects import flags_in_run
from linkmatrix.runs.suspicion import RunFlags, Suspect, remaining_suspects

TEMPLATE = Path(__file__).parents[1] / "data" / "h200x4_write_ce.record.json"
NODES, GPUS = ("n12", "n40"), 8  # two faulty devices of eight are less than a third
RATE, SIGMA = 396.0, 0.005
LIMIT = 0.03
WORDS = ("values", "low", "high")
MAPS = ("status", "samples", "converged", "round", "began", "ended", "limit", "link_class")
#: (is the part bad, is the slot bad) → how the answer begins.
TRUTHS = {
    "part": (True, False),
    "place": (False, True),
    "both": (True, True),
    "none": (False, False),
}
SAID = {
    "part": "the fault followed the component",
    "place": "the fault stayed with the slot",
    "both": "both the component and the slot",
}
FAULTS = {"sends": (True, False), "receives": (False, True), "both ways": (True, True)}


def with_devices(content: dict) -> dict:
    """A record of GPUS devices, from a record of one device. All devices and pairs equal the first."""
    device, (result,), topology = content["devices"][0], content["results"], content["topology"]
    labels = [f"gpu{slot}" for slot in range(GPUS)]
    content["devices"] = [copy.deepcopy(device) | {"label": label, "index": at} for at, label in enumerate(labels)]
    for holder, names in ((result, MAPS), (topology, topology.keys() - {"labels"})):
        for name in (name for name in names if holder[name] is not None):
            diagonal, other = holder[name][0][:2]
            holder[name] = [[diagonal if r == c else other for c in range(GPUS)] for r in range(GPUS)]
    topology["labels"] = labels
    result |= {"rows": labels, "columns": labels, "remeasured": [], "sampled": None, "parts": {}}
    return content


class Swaps:
    """Runs of nodes with movable components. serial: whether records contain serial numbers, or only UUIDs."""

    def __init__(self, seed: int, serial: bool = True) -> None:
        self.chance = np.random.default_rng(seed)
        self.template = with_devices(reading.load(TEMPLATE))
        (result,) = self.template["results"]
        self.references = References(
            {
                ("sim", result["testcase"]): {
                    f"gpu{a}->gpu{b}": Reference(RATE, -LIMIT, 0.1, "GB/s")
                    for a in range(GPUS)
                    for b in range(GPUS)
                    if a != b
                }
            }
        )
        self.parts = {(node, slot): 10 * at + slot for at, node in enumerate(NODES, 1) for slot in range(GPUS)}
        self.serial, self.day, self.found = serial, 0, list[RunFlags]()

    def record(self, node: str, bad: dict[int, float], way: tuple[bool, bool]) -> dict:
        """A record of one node.

        bad: {slot: fraction by which it is slower}. way: (whether it sends slowly, whether it receives slowly).
        """
        content = copy.deepcopy(self.template)
        content["started"] = f"2026-{1 + self.day // 28:02}-{1 + self.day % 28:02}T01:00:00Z"
        content["host"]["name"] = node
        for slot, device in enumerate(content["devices"]):
            name = f"{self.parts[node, slot]:05}"
            device |= {"node": node, "uuid": f"GPU-{name}", "part": {"uuid": f"GPU-{name}"}}
            device["part"] |= {"serial": f"165{name}"} if self.serial else {}
            device["place"] = {"node": node, "slot": str(slot)}
        (result,) = content["results"]
        slow = np.array([1 - bad.get(slot, 0.0) for slot in range(GPUS)])
        rates = RATE * (1 + SIGMA * self.chance.standard_normal((GPUS, GPUS)))
        rates *= np.minimum(slow[:, None] if way[0] else 1.0, slow[None, :] if way[1] else 1.0)
        for name in WORDS:
            result[name] = [[None if r == c else float(rates[r, c]) for c in range(GPUS)] for r in range(GPUS)]
        return content

    def run(self, part: int | None, place: tuple[str, int] | None, depth: float, way: tuple[bool, bool]) -> None:
        """A run of each node, one day after the last. part, place: the faulty component and slot of this day."""
        self.day += 1
        for node in NODES:
            slots = range(GPUS)
            bad = {slot: depth for slot in slots if self.parts[node, slot] == part or (node, slot) == place}
            test = testcases.Test("p2p", record=self.record(node, bad, way))
            self.found.append(flags_in_run(stored.Run(Path("r"), (test,)), self.references, "sim"))

    def permute(self, place: tuple[str, int]) -> None:
        """Move components: the component in `place` moves to another slot, and any other component may move too."""
        while True:
            values = list(self.parts.values())
            some = self.chance.choice(len(values), self.chance.integers(2, len(values) + 1), replace=False)
            moved = dict(zip(some.tolist(), [values[at] for at in self.chance.permutation(some)], strict=True))
            after = {key: moved.get(at, values[at]) for at, key in enumerate(self.parts)}
            if after[place] != self.parts[place]:
                self.parts = after
                return

    def suspects(self, clean_runs: int = 3) -> list[Suspect]:
        """The components and slots that remain suspect after the runs."""
        return remaining_suspects(self.found, clean_runs)


def trial(truth: str, way: str, depth: float, present: float, seed: int, runs: int = 3) -> tuple[bool, list[Suspect]]:
    """(whether the answer was right, the suspects) of one swap.

    The trial has healthy runs, `runs` runs with the fault, a permutation, and `runs` more runs. present: the share of
    runs in which the fault shows. "none" is a fault of a single run.
    """
    sim = Swaps(seed)
    bad_part, bad_place = TRUTHS[truth]
    place = (NODES[int(sim.chance.integers(2))], int(sim.chance.integers(GPUS)))
    part = sim.parts[place]

    def one(shown: bool) -> None:
        shows = [shown and bool(sim.chance.random() < present) for _ in range(2)]
        sim.run(part if bad_part and shows[0] else None, place if bad_place and shows[1] else None, depth, FAULTS[way])

    for _ in range(3):
        one(False)
    if truth == "none":
        sim.run(part, None, depth, FAULTS[way])
    for _ in range(runs):
        one(True)
    if truth != "none" and not any(found.flagged for found in sim.found):
        one(True)  # only suspects are moved
    sim.permute(place)
    for _ in range(runs):
        one(True)
    found = sim.suspects()
    if truth == "none":
        return not found, found
    begins = [one.swap.startswith(SAID[truth]) for one in found]
    where = {(one.node, int(one.label.removeprefix("gpu"))) for one in found}
    wanted = {key for key, value in sim.parts.items() if (bad_part and value == part) or (bad_place and key == place)}
    return bool(found) and all(begins) and where == wanted, found
