"""When what was measured: the questions that coverage asks the index of stored runs.

until: a moment in seconds since 1970; what began later, by a clock that was ahead, is left out.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations, islice

from .answers import Case
from .index import Index, listed


def measured(index: Index, partition: str, until: float = math.inf) -> Iterator[tuple[str, dict[str, Case], int]]:
    """(node, what a test measured on it alone, when for the last time) of each node, once for each such answer."""
    found = index.connection.execute(
        "SELECT node, cases, MAX(started) FROM tests WHERE partition = ? AND nodes = 1 AND run != 0"
        " AND started <= ? GROUP BY node, cases",
        (index.numbers.get(partition, -1), until),
    )
    yield from ((index.names[node], index.cases_of(cases), started) for node, cases, started in found)


def tried(index: Index, partition: str, until: float = math.inf) -> dict[str, int]:
    """{node: when a test of it alone was begun last, whatever came of it}."""
    found = index.connection.execute(
        "SELECT node, MAX(started) FROM tests WHERE partition = ? AND nodes = 1 AND started <= ? GROUP BY node",
        (index.numbers.get(partition, -1), until),
    )
    return {index.names[node]: started for node, started in found}


def days(index: Index, partition: str, suite: Collection[str]) -> Iterator[tuple[str, int]]:
    """(node, days since 1970) of each day on which all test cases of a suite were measured whole on a node alone."""
    sets = [number for (number,) in index.connection.execute("SELECT DISTINCT cases FROM tests")]
    whole = [
        number for number in sets if set(suite) <= {name for name, case in index.cases_of(number).items() if case.whole}
    ]
    found = index.connection.execute(
        "SELECT DISTINCT node, started / 86400 FROM tests WHERE partition = ? AND nodes = 1 AND run != 0"
        f" AND cases IN ({listed(whole)})",
        (index.numbers.get(partition, -1),),
    )
    yield from ((index.names[node], day) for node, day in found)


def leaves(index: Index, partition: str) -> dict[str, str]:
    """{node: its leaf switch} of the newest records that say it."""
    nowhere = index.numbers.get("", -1)
    found = index.connection.execute(
        "SELECT node, MAX(started), leaf FROM tests WHERE partition = ? AND leaf != ? AND run != 0 GROUP BY node",
        (index.numbers.get(partition, -1), nowhere),
    )
    return {index.names[node]: index.names[leaf] for node, _, leaf in found}


def seconds(index: Index, partition: str, pattern: str, most: int) -> list[float]:
    """How long the newest runs of tests took that measured all they should, the oldest first; pattern: of names.

    One that ended before it had measured anything says nothing of how long others take.
    """
    named = [number for name, number in index.numbers.items() if re.search(pattern, name)]
    found = index.connection.execute(
        f"SELECT MAX(started), seconds, cases FROM tests WHERE partition = ? AND test IN ({listed(named)})"
        " AND run != 0 GROUP BY run ORDER BY 1 DESC",
        (index.numbers.get(partition, -1),),
    )
    each = ((seconds, index.cases_of(cases)) for _, seconds, cases in found)
    whole = (seconds for seconds, of in each if of and all(case.whole for case in of.values()))
    return list(islice(whole, most))[::-1]


def met(
    index: Index, partition: str, group_of: Mapping[str, str], until: float = math.inf
) -> dict[tuple[str, str], int]:
    """{(a group, another): when two of their nodes measured a cell last, in seconds since 1970}.

    group_of: {node: its group}, such as its leaf switch; nodes without one count for none.
    """
    found: dict[tuple[str, str], int] = {}
    rows = index.connection.execute(
        "SELECT meeting, MAX(started) FROM met WHERE partition = ? AND started <= ? GROUP BY meeting",
        (index.numbers.get(partition, -1), until),
    )
    for meeting, started in rows:
        said = index.set_of(meeting)
        groups = [group_of.get(node, "") for node in said["nodes"]]
        there = sorted(set(filter(None, groups)))
        pairs = ((groups[one], groups[other]) for one, other in said["pairs"])
        each = pairs if said["pairs"] else combinations(there, 2)
        for pair in {(min(pair), max(pair)) for pair in each if all(pair) and pair[0] != pair[1]}:
            found[pair] = max(started, found.get(pair, 0))
    return found
