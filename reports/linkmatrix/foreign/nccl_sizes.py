"""A size of nccl-tests and rccl-tests, whether from a text or from a JSON: what is believed of it, and its table."""

from collections.abc import Mapping
from typing import NamedTuple

from .table import Part, Table

LEAST = 0.01  # GB/s: half of it, the least share that a bus bandwidth is of the other one, is printed as 0.00 or 0.01
MOST_OF_ALGBW = 2  # busbw is algbw × 2(n − 1)/n for all-reduce, and less for all others
SLACK, ROUNDING = 0.02, 0.011  # of times and bandwidths that are printed with few digits; GB/s
MOVED = 0.05  # GB/s of algorithm bandwidth, of which two ranks have a bus bandwidth that is not printed as 0.00
MOST_ERROR = 1e-2  # relative error of good data


class Way(NamedTuple):
    """What a line has of one way. wrong: elements, or in old versions the largest error; N/A: not checked."""

    time: float
    algorithm: float
    bus: float
    wrong: str

    @property
    def is_wrong(self) -> bool:
        """Whether the data was wrong."""
        return self.wrong != "N/A" and not float(self.wrong) <= MOST_ERROR


class Size(NamedTuple):
    """A line of a size. where: of it in its text. cpu: the times are CPU times, which the bandwidths do not fit."""

    size: int
    ways: Mapping[str, Way]
    where: str
    line: int
    cpu: bool = False


def consistent(one: Size, name: str) -> bool:
    """Are size, time and both bandwidths of one and the same measurement?"""
    for way in one.ways.values():
        if way.bus > MOST_OF_ALGBW * way.algorithm * (1 + SLACK) + 2 * ROUNDING:
            return False
        # a hypercube's algorithm bandwidth is of a share of the size, and a CPU time ends before the data has arrived
        timed = way.time > 0 and "hypercube" not in name and not one.cpu
        moved = one.size / way.time / 1e3 if timed else way.algorithm
        if abs(way.algorithm - moved) > SLACK * moved + ROUNDING:
            return False
    return True


def too_small(one: Size) -> bool:
    """Is a bandwidth printed as 0.00 because there were so few bytes, and not because nothing moved?"""
    zero = [way for way in one.ways.values() if way.bus == 0]
    return bool(zero) and all(way.time > 0 and one.size / way.time / 1e3 < LEAST for way in zero)


def moves_nothing(one: Size) -> bool:
    """Whether the bus bandwidth is 0 and the algorithm bandwidth is not: the factor between them is 0 for one rank."""
    return all(way.bus == 0 and way.algorithm >= MOVED for way in one.ways.values())


def size_table(testcase: str, one: Size, alone: bool) -> Table:
    """One size. alone: of one rank, which has no bus bandwidth."""
    pairs = {("all", way): of for way, of in one.ways.items()}
    nothing = "not-run" if alone else "error"
    cells = {pair: "error" if of.is_wrong else nothing if of.bus <= 0 else of.bus for pair, of in pairs.items()}
    faults = tuple(
        f"{one.where}: {way} of {one.size} bytes "
        + (f"has {of.wrong} wrong elements" if of.is_wrong else "moved nothing")
        for (_, way), of in pairs.items()
        if cells["all", way] == "error"
    )
    wrong, checked = any(of.is_wrong for of in pairs.values()), all(of.wrong != "N/A" for of in pairs.values())
    time = ("cpu_time", "CPU time") if one.cpu else ("time", "time")
    return Table(
        testcase=testcase,
        quantity="bus bandwidth",
        metric="bandwidth",
        unit="GB/s",
        size_bytes=one.size,
        rows=("all",),
        columns=tuple(one.ways),
        cells=cells,
        line=one.line,
        engine="nccl",
        transport="nccl",
        verified=(not wrong) if checked or wrong else None,
        parts={
            "algorithm_bandwidth": Part("algorithm bandwidth", "GB/s", {p: of.algorithm for p, of in pairs.items()}),
            time[0]: Part(time[1], "us", {pair: of.time for pair, of in pairs.items()}),
        },
        faults=faults,
    )
