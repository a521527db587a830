"""The adopted link classes: the link class that each pair of endpoints had when its reference was adopted.

A pair is compared with the reference of its adopted class, even if a run finds the pair in another class. The key
`$classes` of a table of references contains the adopted classes. Endpoints are written like Slurm's node lists::

    $classes:
      PIX: gpu[0-1]->gpu[0-1], gpu[2-3]->gpu[2-3]
      SYS: gpu[0-3]->gpu[0-3]

* If several classes contain a pair, the first class counts. In the example, SYS therefore has the remaining pairs.
* A group of one pair, such as `gpu0->gpu3`, has priority over larger groups.
* A pair has two different endpoints.
* `node*:rank[0-7]->rank[0-7]` contains the pairs inside each node. The ranks of each node are counted from 0.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..record.link_classes import BETWEEN_NODES, NO_CLASS
from ..record.names import Pair, lasting_names
from ..record.units import number_ranges, range_text

EACH_NODE = "node*:"
MAX_LISTED_ENDPOINTS = 16  # a matrix of more endpoints has no reference per pair; see checks/variables.py
MAX_GROUPS = 1024  # groups of pairs per table
NAMES = re.compile(r"(?P<prefix>[^\[\]>,:\s]+?)(\[(?P<ranges>\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*)\])?")
NUMBERED = re.compile(r"(.*?)(0|[1-9]\d{0,8})")


class Names(NamedTuple):
    """Names of endpoints: a prefix with ranges of numbers, such as "gpu[0-3,6]".

    Without ranges, the prefix is the only name.
    """

    prefix: str
    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def read(cls, text: str) -> "Names":
        """Parses a text such as "gpu[0-3,6]" or "all". Raises ValueError."""
        found = NAMES.fullmatch(text)
        if found is None:
            raise ValueError(f"'{text}' is not a list of endpoints: write gpu[0-7]")
        if not found["ranges"]:
            return cls.covering([text])[0]
        bounds = [one.partition("-") for one in found["ranges"].split(",")]
        ranges = tuple((int(first), int(last or first)) for first, _, last in bounds)
        if any(last < first for first, last in ranges):
            raise ValueError(f"'{text}' is not a list of endpoints: write the lower number first")
        return cls(found["prefix"], ranges)

    @classmethod
    def covering(cls, names: Iterable[str]) -> list["Names"]:
        """Returns a list of `Names` that together contain exactly these names.

        There is one item per prefix, and one item per name without a number.
        """
        found: dict[str, list[int]] = {}
        alone = []
        for name in names:
            match = NUMBERED.fullmatch(name)
            if match and match[1]:
                found.setdefault(match[1], []).append(int(match[2]))
            else:
                alone.append(cls(name))
        return [*(cls(prefix, number_ranges(numbers)) for prefix, numbers in found.items()), *alone]

    def __contains__(self, name: object) -> bool:
        if not self.ranges:
            return name == self.prefix
        match = NUMBERED.fullmatch(str(name))
        return bool(match) and match[1] == self.prefix and any(a <= int(match[2]) <= b for a, b in self.ranges)

    @property
    def count(self) -> int:
        """The number of names."""
        return sum(last - first + 1 for first, last in self.ranges) if self.ranges else 1

    def each(self) -> Iterator[str]:
        """Yields the names."""
        if not self.ranges:
            yield self.prefix
        for first, last in self.ranges:
            yield from (f"{self.prefix}{number}" for number in range(first, last + 1))

    def __str__(self) -> str:
        if not self.ranges or self.count == 1:
            return next(self.each())
        return f"{self.prefix}[{range_text(self.ranges)}]"


class Group(NamedTuple):
    """All pairs of a source and a destination. A pair has two different endpoints.

    each_node: whether the group contains only the pairs inside each node.
    """

    sources: Names
    destinations: Names
    each_node: bool = False

    @classmethod
    def read(cls, text: str) -> "Group":
        """Parses a text such as "gpu[0-7]->gpu[0-7]". Raises ValueError."""
        each_node = text.startswith(EACH_NODE)
        source, arrow, destination = text.removeprefix(EACH_NODE).partition("->")
        if not arrow:
            raise ValueError(f"'{text}' is not a pair of endpoints: write gpu[0-7]->gpu[0-7]")
        return cls(Names.read(source), Names.read(destination), each_node)

    @property
    def is_pair(self) -> bool:
        """Whether the group contains one pair only. Such a group has priority over larger groups."""
        return not self.each_node and self.sources.count == self.destinations.count == 1

    def __str__(self) -> str:
        return f"{EACH_NODE if self.each_node else ''}{self.sources}->{self.destinations}"


@dataclass(frozen=True)
class PairClasses:
    """The adopted classes of a table of references.

    groups: {link class: its groups of pairs}. Earlier groups have priority.
    """

    groups: Mapping[str, tuple[Group, ...]]

    @classmethod
    def read(cls, content: object) -> "PairClasses":
        """Parses `$classes`, a mapping {link class: text}. The class BETWEEN_NODES is ignored. Raises ValueError."""
        if not isinstance(content, dict):
            raise ValueError("it must be a mapping of link classes to pairs of endpoints")
        found: dict[str, tuple[Group, ...]] = {}
        for name, text in content.items():
            if not name or not isinstance(text, str):
                raise ValueError(f"{name}: write its pairs of endpoints, such as gpu[0-7]->gpu[0-7]")
            groups = tuple(Group.read(one) for one in re.split(r",\s+", text))
            if name != BETWEEN_NODES:
                found[name] = groups
        if sum(map(len, found.values())) > MAX_GROUPS:
            raise ValueError(f"there are more than {MAX_GROUPS} groups of pairs")
        return cls(found)

    def __bool__(self) -> bool:
        return bool(self.groups)

    def texts(self) -> dict[str, str]:
        """Returns {link class: text of its groups}, as in `$classes`."""
        return {name: ", ".join(map(str, groups)) for name, groups in self.groups.items()}

    def pair_class(self, name: str) -> str | None:
        """The adopted class of a pair such as "gpu0->gpu3"; None if the pair has no adopted class."""
        source, _, destination = name.partition("->")
        return next((found for found, group in self.ordered if contains([group], source, destination)), None)

    @cached_property
    def ordered(self) -> list[tuple[str, Group]]:
        """The groups as (link class, group), in order of priority. Groups of one pair come first."""
        every = [(name, one) for name, groups in self.groups.items() for one in groups]
        return sorted(every, key=lambda item: not item[1].is_pair)

    @cached_property
    def pairs(self) -> dict[str, list[Pair]]:
        """Returns {class: its pairs}. Classes for which `listed_pairs` returns None are left out."""
        each = {name: self.listed_pairs(name) for name in self.groups}
        return {name: pairs for name, pairs in each.items() if pairs is not None}

    def listed_pairs(self, name: str) -> list[Pair] | None:
        """The pairs of a class as a list; None if the class is not listed by pairs.

        A class is not listed if it has more than MAX_LISTED_ENDPOINTS endpoints, or groups of pairs inside each node.
        """
        groups = self.groups[name]
        sides = [side for one in groups for side in (one.sources, one.destinations)]
        if any(one.each_node for one in groups) or any(side.count > MAX_LISTED_ENDPOINTS for side in sides):
            return None
        if len({label for side in sides for label in side.each()}) > MAX_LISTED_ENDPOINTS:
            return None
        named = [(a, b) for one in groups for a in one.sources.each() for b in one.destinations.each()]
        return [
            pair for pair in dict.fromkeys(named) if pair[0] != pair[1] and self.pair_class("->".join(pair)) == name
        ]

    def with_groups(self, more: Mapping[str, Sequence[Group]]) -> "PairClasses":
        """A copy of these classes with more groups. The added groups have lower priority."""
        both = {name: [*self.groups.get(name, ()), *more.get(name, ())] for name in {**self.groups, **more}}
        return PairClasses({name: tuple(dict.fromkeys(groups)) for name, groups in both.items() if groups})


def endpoint_type(name: str) -> str:
    """The type of an endpoint, such as "gpu" for "gpu3"."""
    return name.rstrip("0123456789")


def contains(groups: Iterable[Group], source: str, destination: str) -> bool:
    """Whether one of the groups contains the pair. Groups of pairs inside each node are ignored."""
    if source == destination:
        return False
    return any(source in one.sources and destination in one.destinations for one in groups if not one.each_node)


NO_CLASSES = PairClasses({})


class MatrixClasses:
    """The link class of each cell of a matrix, with which the reference of the cell is chosen.

    1. A pair that `$classes` contains has its adopted class.
    2. Any other pair has the class that the run found. If `$classes` contains this class, the pair has NO_CLASS,
       because the class has only its adopted pairs.

    A class in `$classes` is ignored if it has only pairs of the reverse direction. Example: "numa0->gpu0" for a matrix
    of "gpu0->numa0".
    """

    def __init__(self, classes: PairClasses, testcase: str, rows: Sequence[str], columns: Sequence[str]) -> None:
        self.classes = classes
        labels = list(dict.fromkeys([*rows, *columns]))
        names = {
            **dict(zip(columns, lasting_names(testcase, columns), strict=True)),
            **dict(zip(rows, lasting_names(testcase, rows), strict=True)),
        }
        self.index = {label: at for at, label in enumerate(labels)}
        self.names = [names[label] for label in labels]
        self.nodes, self.places = places_by_node(labels)
        types = [[endpoint_type(names[label]) for label in axis] for axis in (rows, columns)]
        self.directions = {(row, column) for row in types[0] for column in types[1][:1]}
        self.directions |= {(row, column) for row in types[0][:1] for column in types[1]}

    @cached_property
    def masks(self) -> list[tuple[str, bool, np.ndarray, np.ndarray]]:
        """The groups in order of priority, as (class, each_node, mask of the sources, mask of the destinations)."""
        return [
            (
                name,
                one.each_node,
                *(
                    np.array([label in side for label in (self.places if one.each_node else self.names)], dtype=bool)
                    for side in (one.sources, one.destinations)
                ),
            )
            for name, one in self.classes.ordered
        ]

    def codes(
        self, rows: Sequence[str], columns: Sequence[str], found: np.ndarray, names: Sequence[str]
    ) -> tuple[np.ndarray, list[str]]:
        """Returns (index of the class of each cell, names of the classes). The indices are rows × columns.

        found: the classes that the run found, as indices of `names`; rows × columns.
        """
        known = [*names, *(name for name in (*self.classes.groups, NO_CLASS) if name not in names)]
        limited = np.array([self.has_pairs(name) for name in names], dtype=bool)
        codes = np.where(limited[found], known.index(NO_CLASS), found)
        at_row, at_column = (np.array([self.index[label] for label in axis], dtype=int) for axis in (rows, columns))
        nodes = np.array(self.nodes)
        same_node = nodes[at_row][:, None] == nodes[at_column]
        off_diagonal = at_row[:, None] != at_column
        for name, each_node, sources, destinations in reversed(self.masks):
            inside = sources[at_row][:, None] & destinations[at_column] & off_diagonal
            codes[inside & same_node if each_node else inside] = known.index(name)
        return codes, known

    def has_pairs(self, name: str) -> bool:
        """Whether the class has adopted pairs. Pairs in the reverse direction of the matrix do not count."""
        groups = self.classes.groups.get(name, ())
        adopted = {(endpoint_type(one.sources.prefix), endpoint_type(one.destinations.prefix)) for one in groups}
        reverse = {direction[::-1] for direction in self.directions} - self.directions
        return bool(adopted) and not adopted <= reverse

    def cell_class(self, pair: Pair, found: str) -> str:
        """The link class whose reference applies to a cell. found: the class that the run found."""
        codes, known = self.codes([pair[0]], [pair[1]], np.zeros((1, 1), dtype=int), [found])
        return known[codes[0, 0]]


def places_by_node(labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Returns (number of the node of each label, name of each label inside its node).

    The name is "rank" and the index of the label among the labels of its node.
    Example: for "n17:gpu0" and "n40:gpu0", the result is ([0, 1], ["rank0", "rank0"]).
    """
    names = [label.rpartition(":")[0] for label in labels]
    number = {name: at for at, name in enumerate(dict.fromkeys(names))}
    counted: Counter[str] = Counter()
    places = []
    for name in names:
        places.append(f"rank{counted[name]}" if name else "")
        counted[name] += 1
    return [number[name] for name in names], places


def cover_pairs(
    rows: Sequence[str], columns: Sequence[str], inside: np.ndarray, each_node: bool = False
) -> list[Group]:
    """Groups that contain exactly the pairs whose item in `inside` is True. The diagonal of `inside` is ignored.

    Rows with the same columns form one group. inside: rows × columns. each_node: see `Group`.
    """
    column_index = {name: column for column, name in enumerate(columns)}
    chosen: dict[bytes, list[int]] = {}
    for row, name in enumerate(rows):
        if not inside[row].any():
            continue
        chosen.setdefault(inside[row].tobytes(), []).append(row)
        if name in column_index:
            with_diagonal = inside[row].copy()
            with_diagonal[column_index[name]] = True
            chosen.setdefault(with_diagonal.tobytes(), []).append(row)
    found, done = [], set()
    for key, members in sorted(chosen.items(), key=lambda item: -len(item[1])):
        rest = [row for row in members if row not in done]
        if not rest:
            continue
        done.update(rest)
        wanted = np.flatnonzero(np.frombuffer(key, dtype=bool)).tolist()
        found += [
            Group(source, destination, each_node)
            for source in Names.covering(rows[row] for row in rest)
            for destination in Names.covering(columns[column] for column in wanted)
        ]
    return found
