"""Busy is not broken: what others took of a path while it was measured, as the record's counters say it.

A device, a core or an adapter counts what went through it, whoever sent it, and the program knows what of that was its
own. What is left over, as a share f of what the path carries, explains a cell that is as much slower. Such a cell is no
observation: neither a failure nor a PASS. One that is slower than that is broken beside being busy. No share is
guessed: where others were and nobody counted what they took (`uncounted`), a slow cell is no observation at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..record.matrix import Block, Matrix, from_result
from ..record.reading import Result
from ..record.units import figure
from .uncounted import Uncounted, held_of, told_seconds, unread_of

LEAST = 0.015  # share of others, below which nothing is said of them
MOST = 0.95  # share that is believed: the logarithm of what is left
SLACK, BEYOND = 0.03, 0.15  # how much slower than its share a busy cell may be: always, and for each share
# of the run's own bytes, what a counter may have more: heads of packets, acknowledgements, what was refreshed late
OVERHEAD = {"nvlink": 0.05, "pcie": 0.15, "net": 0.10}
LEAST_SECONDS = 0.02  # of a core that was wanted: less is one tick of a clock
WAYS = ("out", "in")
BACK = {"out": "in", "in": "out"}
DRILL = "simulated fault: "
REQUESTS = {"pcie": 0.15}  # of what comes the other way: reads are asked for, and writes are acknowledged
LEAST_RATE = 1e8  # bytes a second: less comes from looking
LEAST_BESIDE_WORDS = 1e10  # beside loads and words of ours that are not counted as ours: 1.9 GB/s of them were seen
SILENT = 3.0  # seconds: NVML's shares were 0 in looks of 2.3 s at a process that never paused
FILLS = 0.75  # of what a path can carry, above which a copy of ours takes all that it does carry
MOST_NAMED = 3
UNTOLD = "whether others used its devices cannot be told"
SAID = {
    "cpu": "had {share:.0f} % of the time that {label} wanted its cores",
    "sm": "kept the processors of {label} busy for {share:.0f} % of the time",
    "memory": "kept the memory of {label} busy for {share:.0f} % of the time",
}

Others = Mapping[str, Any]  # a record's `others`


@dataclass(frozen=True)
class Busy:
    """What others did while a matrix was measured.

    rates: {"nvlink_out": {endpoint: their bytes a second}}. shares: {"sm": {endpoint: their share of it}}. executors:
    the axes whose endpoints make the copies: rows of a write. ways: directions that a value is the sum of.
    """

    others: Others
    rates: Mapping[str, Mapping[str, float]]
    shares: Mapping[str, Mapping[str, float]]
    executors: Sequence[str]
    by_kernel: bool
    staged: bool
    uncounted: Uncounted
    ways: int = 1

    def of(self, matrix: Matrix, block: Block, expected: np.ndarray) -> np.ndarray:
        """The share of others of each cell's path, 0 where nothing tells. expected: of the cells, in their unit."""
        at = slice(block.first, block.first + len(block.classes))
        rows, columns = matrix.rows[at], matrix.columns
        limit = block.numbers("limit")
        own = expected if matrix.unit == "GB/s" else np.full(limit.shape, np.nan)
        with np.errstate(invalid="ignore"):  # a small copy waits more than it moves: the path could carry others too
            fills = (own >= FILLS * limit) & (own <= limit)
        line = np.where(np.isfinite(limit) & ~fills, limit, own) / self.ways
        found = np.zeros(block.classes.shape)
        for code, name in enumerate(matrix.class_names):
            share = self.share_of(self.path_of(name), name, rows, columns, line)
            found = np.where(block.classes == code, share, found)
        return np.minimum(np.nan_to_num(found), MOST)

    def share_of(
        self, path: str, link_class: str, rows: Sequence[str], columns: Sequence[str], line: np.ndarray
    ) -> np.ndarray:
        """The share of others, were all cells of one class."""
        leaving, coming = (
            np.maximum(at_each(rows, self.rates.get(out, {}))[:, None], at_each(columns, self.rates.get(into, {})))
            for out, into in ((f"{path}_out", f"{path}_in"), (f"{path}_in", f"{path}_out"))
        )
        rate = np.maximum(leaving, coming) if self.ways > 1 else leaving
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.nan_to_num(rate * 1e-9 / line)
        kinds = ["cpu"] + ["sm"] * self.by_kernel + ["memory"] * (link_class == "LOCAL")
        for kind in kinds:
            share = np.maximum(share, self.executed(kind, rows, columns))
        share = np.maximum(share, self.uncounted.beside(rows, columns))
        return np.where(self.uncounted.of(path, link_class, rows, columns), MOST, share)

    def executed(self, kind: str, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
        """The share of others of who makes the copy; of its other end where that is host memory, which makes none."""
        makers = {use["label"]: 0.0 for use in self.others["uses"]} | dict(self.shares.get(kind, {}))
        of_row, of_column = np.broadcast_arrays(
            at_each(rows, makers, np.nan)[:, None], at_each(columns, makers, np.nan)[None, :]
        )
        if len(self.executors) > 1:
            return np.nan_to_num(np.fmax(of_row, of_column))
        maker, other = (of_row, of_column) if self.executors[0] == "rows" else (of_column, of_row)
        return np.nan_to_num(np.where(np.isnan(maker), other, maker))

    def path_of(self, link_class: str) -> str:
        """Which counters see the cells of a link class."""
        if link_class == "NET":
            return "net"
        if link_class.startswith("NV") and not self.staged:
            return "nvlink"
        linked = any(self.rates.get(f"nvlink_{way}") for way in WAYS)
        return "nvlink" if link_class == "ALL" and linked else "pcie"

    def sentence(self, row: str, column: str, link_class: str) -> str:
        """ "busy: 1,370 GB left gpu1 that linkmatrix did not send (pid 2983 hog)", of what is the most."""
        path, seconds = self.path_of(link_class), self.others["seconds"]
        verbs = {(row, f"{path}_out"): "left", (column, f"{path}_in"): "came into"}
        if self.ways > 1:
            verbs |= {(row, f"{path}_in"): "came into", (column, f"{path}_out"): "left"}
        moved = max(verbs, key=lambda end: self.rates.get(end[1], {}).get(end[0], 0.0))
        rate = self.rates.get(moved[1], {}).get(moved[0], 0.0)
        amount = f"{gigabytes(rate * seconds)} {verbs[moved]} {moved[0]}"
        sent = f"busy: {amount} that linkmatrix did not send{self.who(moved[0])}"
        if rate > LEAST_RATE:
            return sent
        share, label, kind = max(self.used(row, column, link_class), default=(0.0, row, "cpu"))
        if share >= LEAST:
            return f"busy: others {SAID[kind].format(share=100 * share, label=label)}{self.who(label)}"
        label = self.uncounted.where(row, column)
        if self.is_uncounted(row, column, link_class):
            return f"busy: others were on {label}{self.who(label)}, and what they took of this path is not counted"
        if self.uncounted.held:
            return f"busy: others were on {label}{self.who(label)}, beside whom it may lose as little"
        return sent

    def is_uncounted(self, row: str, column: str, link_class: str) -> bool:
        """Whether nobody knows what others took of a cell's path."""
        return bool(self.uncounted.of(self.path_of(link_class), link_class, [row], [column])[0, 0])

    def used(self, row: str, column: str, link_class: str) -> Iterator[tuple[float, str, str]]:
        """(share of others, of which end, kind) of what a cell needs beside its path."""
        of_both = self.uncounted.is_latency or link_class == "LOCAL"
        makers = [{"rows": row, "columns": column}[axis] for axis in self.executors]
        ends = [row, column] if of_both or not self.by_kernel else makers
        for kind, of in self.shares.items():
            if kind == "cpu" or self.by_kernel or of_both:
                yield from ((of[label], label, kind) for label in ends if label in of)

    def who(self, label: str) -> str:
        """ " (pid 2983 hog, bob)"; "" where nobody is known."""
        return named(self.others, label)


def named(others: Others, label: str) -> str:
    """Who has a context on a device; where nobody has, who used the node's processors most."""
    devices = {use["label"] for use in others["uses"]}
    there = [one for one in others["processes"] if one["where"] == label]
    there = there or [one for one in others["processes"] if one["where"] not in devices]
    said = [
        " ".join(str(word) for word in ("pid", one["pid"], one["name"], one["user"] and f"of {one['user']}") if word)
        for one in there[:MOST_NAMED]
    ]
    return f" ({', '.join(said)})" if said else ""


def gigabytes(amount: float) -> str:
    """ "1,370 GB" of bytes."""
    amount *= 1e-9
    return f"{amount:,.0f} GB" if amount >= 100 else f"{figure(amount, 1)} GB"


def at_each(labels: Sequence[str], known: Mapping[str, float], missing: float = 0.0) -> np.ndarray:
    """What is known of each label."""
    return np.array([known.get(label, missing) for label in labels], dtype=float)


AtWork = tuple[set[str], Mapping[str, float]]


def at_work(record: Mapping[str, Any]) -> AtWork:
    """(devices on which others did something, {device: for how many seconds it was told}), of all looks of a run."""
    return {label for one in record["results"] for label, _ in devices_used(one)}, told_seconds(record)


def busy_of(record: Mapping[str, Any], result: Result, known: AtWork | None = None) -> Busy | None:
    """What others did while a result was measured; None where nothing is known of them.

    known: as `at_work` says, of whoever asks for many results
    Nothing explains the fault of a drill but the drill.
    """
    others = result.get("others")
    if not others or not others["seconds"] or is_drill(record):
        return None
    rates, shares = foreign(others)
    held = held_of(others)
    if not held and not any(amount > 0 for of in (*rates.values(), *shares.values()) for amount in of.values()):
        return None
    both = result["metric"] == "bidirectional"
    executors = ("rows", "columns") if both else ("rows",) if result["direction"] == "write" else ("columns",)
    by_kernel, staged = result["engine"] == "sm", result["peer_access"] == "off"
    active, told = known or at_work(record)
    active = active | {label for label in held if told.get(label, 0.0) < SILENT}
    latency = result["metric"] == "latency"
    uncounted = Uncounted(held, held & active, unread_of(others), executors, latency, by_kernel, both)
    return Busy(others, rates, shares, executors, by_kernel, staged, uncounted, 2 if both else 1)


def is_drill(record: Mapping[str, Any]) -> bool:
    """Whether a fault was simulated."""
    return any(note.startswith(DRILL) for note in record.get("notes", []))


def foreign(others: Others) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """({kind of bytes: {endpoint: a second, by others}}, {kind of share: {endpoint: of others}}), as far as it is told.

    Where a device's driver lists nobody else, nobody else has sent anything, whatever a late counter says.
    """
    rates: dict[str, dict[str, float]] = {}
    shares: dict[str, dict[str, float]] = {}
    own_bytes = {(use["label"], use["of"]): use["own"] for use in others["uses"]}
    for use in others["uses"]:
        counted, own, kind = use["counted"], use["own"], use["of"]
        if counted is None or own is None or (others["shared"] is False and kind != "cpu" and "net" not in kind):
            continue
        if kind == "cpu":
            amount = (counted - own) / counted if counted >= LEAST_SECONDS else 0.0
        elif kind in SAID:
            amount = counted / others["seconds"]
        else:
            path, _, way = kind.partition("_")
            back = own_bytes.get((use["label"], f"{path}_{BACK[way]}")) or 0.0
            ours = (1 + OVERHEAD[path]) * own + REQUESTS.get(path, 0.0) * back
            amount = (counted - ours) / others["seconds"]
        (shares if kind in SAID else rates).setdefault(kind, {})[use["label"]] = max(0.0, amount)
    return rates, shares


def explained(worse: np.ndarray, share: np.ndarray, unit: str) -> np.ndarray:
    """True for cells that are no observation: others had part of their path, and they are no slower than that makes.

    worse: than expected, as a fraction
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = -np.log1p(worse) if unit == "us" else np.log1p(-worse)
        bound = np.log1p(-share) - SLACK - BEYOND * share
    return (share > LEAST) & (worse > 0) & ~(deviation < bound)


def uncounted_use(record: Mapping[str, Any], result: Result) -> str:
    """Who may have made a result slower by nobody knows how much, in a sentence; "" where nobody can have."""
    found = busy_of(record, result)
    if found is None:
        return ""
    rows, columns = result["rows"], result["columns"]
    classes = from_result(result).classes
    if not any(found.uncounted.of(found.path_of(one), one, rows, columns).any() for one in classes):
        return ""
    label = found.uncounted.where(rows[0], columns[0])
    taken = "what they took is not counted: measure without them (--wait-idle)"
    return f"others were on {label}{found.who(label)}, and {taken}"


def disturbances(record: Mapping[str, Any]) -> Iterator[str]:
    """Who used what was measured, in sentences: for a partition whose nodes are promised to a job alone."""
    for result in record["results"] or [record]:
        others = result.get("others")
        if others is None:
            yield "the node was not seen to be ours: the record does not say what others did"
            return
        where = f" during {result['testcase']}" if "testcase" in result else ""
        yield from (f"the node was not ours: {one}{where}" for one in used_by_others(others, result))


def used_by_others(others: Others, result: Mapping[str, Any]) -> Iterator[str]:
    """What others used of endpoints, and who has a context on a device."""
    endpoints = {use["label"] for use in others["uses"]} | {one["where"] for one in others["processes"] if one["bytes"]}
    held = dict.fromkeys(one["where"] for one in others["processes"] if one["where"] in endpoints)
    yield from (f"{label} was used by others{named(others, label)}" for label in held)
    if others["shared"] and not held:
        yield UNTOLD + "".join(f"; {one}" for one in others["untold"][:1])
    shares = foreign(others)[1] if others["seconds"] else {}
    for label, share in shares.get("cpu", {}).items():
        if share > LEAST and label not in held:
            yield f"others {SAID['cpu'].format(share=100 * share, label=label)}{named(others, label)}"
    yield from (said for label, said in devices_used(result) if label not in held)


def devices_used(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(device, what others did there, in a sentence) where they moved bytes or computed, beside a result."""
    others = result.get("others")
    if not others or not others["seconds"]:
        return
    rates, shares = foreign(others)
    for kind in ("sm", "memory"):
        for label, share in shares.get(kind, {}).items():
            if share > LEAST:
                yield label, f"others {SAID[kind].format(share=100 * share, label=label)}{named(others, label)}"
    least = LEAST_BESIDE_WORDS if result.get("metric") == "latency" else LEAST_RATE
    for kind, of in rates.items():
        for label, rate in of.items():
            if rate > least:
                moved = gigabytes(rate * others["seconds"])
                yield label, f"{moved} of {kind} at {label} were not of linkmatrix{named(others, label)}"
