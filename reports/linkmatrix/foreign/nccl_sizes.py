"""Validates one size of nccl-tests or rccl-tests, read from text or JSON, and makes a table of it."""

from collections.abc import Mapping
from typing import NamedTuple

from .table import Part, Table

LEAST = 0.01  # GB/s of algorithm bandwidth: the bus bandwidth, at least half of it, is printed as 0.00 or 0.01
MOST_OF_ALGBW = 2  # busbw is algbw × 2(n − 1)/n for all-reduce, and less for the other collectives
SLACK, ROUNDING = 0.02, 0.011  # relative, and in GB/s: times and bandwidths are printed with few digits
MOVED = 0.05  # GB/s of algorithm bandwidth: two or more ranks then have a bus bandwidth above 0.00
MOST_ERROR = 1e-2  # largest relative error of correct data


class Placement(NamedTuple):
    """The numbers of one placement, out-of-place or in-place.

    time: in us.
    algorithm, bus: bandwidths in GB/s.
    wrong: the number of wrong elements; in old versions, the largest error. "N/A" if the data was not checked.
    """

    time: float
    algorithm: float
    bus: float
    wrong: str

    @property
    def is_wrong(self) -> bool:
        """Whether the program found wrong data."""
        return self.wrong != "N/A" and not float(self.wrong) <= MOST_ERROR


class Size(NamedTuple):
    """The numbers of one size.

    where: the position of the size in the text, for messages.
    cpu: whether the times are CPU times. The bandwidths do not follow from CPU times.
    """

    size: int
    placements: Mapping[str, Placement]
    where: str
    line: int
    cpu: bool = False


def is_consistent(row: Size, name: str) -> bool:
    """Whether size, time and both bandwidths agree with each other."""
    for placement in row.placements.values():
        if placement.bus > MOST_OF_ALGBW * placement.algorithm * (1 + SLACK) + 2 * ROUNDING:
            return False
        # hypercube moves only a share of the size, and a CPU time ends before the data arrives
        timed = placement.time > 0 and "hypercube" not in name and not row.cpu
        moved = row.size / placement.time / 1e3 if timed else placement.algorithm
        if abs(placement.algorithm - moved) > SLACK * moved + ROUNDING:
            return False
    return True


def is_too_small(row: Size) -> bool:
    """Whether a bandwidth is printed as 0.00 only because two decimals are too few for such a small size."""
    zero = [placement for placement in row.placements.values() if placement.bus == 0]
    return bool(zero) and all(placement.time > 0 and row.size / placement.time / 1e3 < LEAST for placement in zero)


def moves_nothing(row: Size) -> bool:
    """Whether all bus bandwidths are 0 and no algorithm bandwidth is 0, as for a test on a single rank."""
    return all(placement.bus == 0 and placement.algorithm >= MOVED for placement in row.placements.values())


def size_table(testcase: str, row: Size, alone: bool) -> Table:
    """The table of one size.

    alone: whether the test ran on a single rank. A single rank always has the bus bandwidth 0.
    """
    pairs = {("all", placement): of for placement, of in row.placements.items()}
    nothing = "not-run" if alone else "error"
    cells = {pair: "error" if of.is_wrong else nothing if of.bus <= 0 else of.bus for pair, of in pairs.items()}
    faults = tuple(
        f"{row.where}: {placement} of {row.size} bytes "
        + (f"has {of.wrong} wrong elements" if of.is_wrong else "moved nothing")
        for (_, placement), of in pairs.items()
        if cells["all", placement] == "error"
    )
    wrong, checked = any(of.is_wrong for of in pairs.values()), all(of.wrong != "N/A" for of in pairs.values())
    time = ("cpu_time", "CPU time") if row.cpu else ("time", "time")
    return Table(
        testcase=testcase,
        quantity="bus bandwidth",
        metric="bandwidth",
        size_bytes=row.size,
        rows=("all",),
        columns=tuple(row.placements),
        cells=cells,
        line=row.line,
        engine="nccl",
        transport="nccl",
        verified=(not wrong) if checked or wrong else None,
        parts={
            "algorithm_bandwidth": Part("algorithm bandwidth", "GB/s", {p: of.algorithm for p, of in pairs.items()}),
            time[0]: Part(time[1], "us", {pair: of.time for pair, of in pairs.items()}),
        },
        faults=faults,
    )
