"""What all stored reports say of nodes, by node and time: a database beside them, `index.db` of the prefix.

A year of daily runs of thousands of nodes takes hours to read and judge, and seconds to ask here. It holds nothing that
is not in reports and records: it is brought up to date whenever it is opened, made anew where it is missing, damaged or
of another version, and can be removed at any time. Several commands may use it at once: each report is added in one
transaction, under the lock of the file.

A verdict is that of when its report was added, by the references and the code of then, unless asked for `again`.
"""

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from ..judge.verdicts import Verdict
from ..references.tables import References
from .bound import short
from .database import ready
from .indexing import fingerprint, update
from .known_good import Run
from .notes import Note
from .parts import Names, Place, Sighting, is_at, is_part
from .suspicion import Found, Suspect, latest_time, left_by

FILE = "index.db"
MOST_NODES = 16  # that a part was ever on: a number that more have is a placeholder


@dataclass(frozen=True)
class Part:
    """A device or adapter on a node at a time.

    kind: "device" or "adapter". name: gpu3, mlx5_0. model: in its maker's words. part: what identifies it wherever it
    is put (serial, uuid, guid, firmware, …). place: where it is (node, slot, pci, port).
    """

    kind: str
    name: str
    model: str
    part: Mapping[str, str]
    place: Mapping[str, str]


@dataclass(frozen=True)
class NodeTest:
    """A test on one of its nodes.

    report: its file's name. test: of the check, with its parameters. started: seconds since 1970. seconds: of the
    program's run, which has the number `run`; several tests may have read one. nodes: how many took part. boot: new
    after each start of the node, leaf: its leaf switch, each "" where not known.
    cases: {test case: (its verdict, whether all of it was measured)}. versions: {fact: value}, as in judge/odd.py.
    """

    report: str
    node: str
    partition: str
    test: str
    started: int
    seconds: float
    verdict: Verdict
    nodes: int
    run: int
    boot: str
    leaf: str
    cases: Mapping[str, tuple[Verdict, bool]]
    parts: tuple[Part, ...]
    versions: Mapping[str, str]


class State(NamedTuple):
    """How a record has a node: when it began, in seconds since 1970, and as in `NodeTest`."""

    started: int
    boot: str
    parts: tuple[Part, ...]
    versions: Mapping[str, str]


@dataclass
class Index:
    """The open database; notes: sentences on reports that cannot be read, and on verdicts that are old."""

    connection: sqlite3.Connection
    notes: list[str] = field(default_factory=list)
    sets: dict[int, Any] = field(default_factory=dict)  # that were read already
    parts: dict[int, tuple[Part, ...]] = field(default_factory=dict)
    places: dict[int, list[tuple[str, Sighting]]] = field(default_factory=dict)
    seen: list[tuple[int, list[Sighting]]] | None = None

    @cached_property
    def names(self) -> dict[int, str]:
        """{number: name}."""
        return dict(self.connection.execute("SELECT id, name FROM names"))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """{name: number}."""
        return {name: number for number, name in self.names.items()}

    def tests(self, partition: str = "", since: int = 0, nodes: Iterable[str] | None = None) -> Iterator[NodeTest]:
        """The tests on nodes, by time; only those of a partition, since a time, or of some nodes."""
        names, reports = self.names, dict(self.connection.execute("SELECT id, name FROM reports"))
        for row in self.rows(partition, since, nodes):
            report, node, of, test, started, seconds, verdict, count, run, boot, leaf, cases, parts, versions = row
            yield NodeTest(
                reports[report],
                names[node],
                names[of],
                names[test],
                started,
                seconds,
                Verdict(verdict),
                count,
                run,
                names[boot],
                names[leaf],
                self.cases_of(cases),
                self.parts_of(parts),
                self.set_of(versions),
            )

    def rows(
        self, partition: str = "", since: int = 0, nodes: Iterable[str] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """As `tests`, in the numbers of the tables: what goes through all of a year has no time for more."""
        wanted, values = ["started >= ?"], [since]
        if partition:
            wanted, values = [*wanted, "partition = ?"], [*values, self.numbers.get(partition, -1)]
        if nodes is not None:
            numbers = [self.numbers[node] for node in nodes if node in self.numbers]
            wanted.append(f"node IN ({listed(numbers)})")
        yield from self.connection.execute(
            "SELECT report, node, partition, test, started, seconds, verdict, nodes, run, boot, leaf, cases, parts,"
            f" versions FROM tests WHERE {' AND '.join(wanted)} ORDER BY started",
            values,
        )

    def set_of(self, number: int) -> Any:
        """The content of a set."""
        if number not in self.sets:
            (content,) = self.connection.execute("SELECT content FROM sets WHERE id = ?", (number,)).fetchone()
            self.sets[number] = json.loads(content)
        return self.sets[number]

    def cases_of(self, number: int) -> dict[str, tuple[Verdict, bool]]:
        """{test case: (verdict, whether all of it was measured)} of a set."""
        return {name: (Verdict(verdict), bool(whole)) for name, (verdict, whole) in self.set_of(number).items()}

    def alone(self, partition: str | None) -> list[Run]:
        """What each run said of each node that it measured alone; None: of all partitions."""
        chosen = self.numbers.get(partition, -1) if partition else None
        rows = self.connection.execute(
            "SELECT node, MAX(started), MAX(verdict) FROM tests WHERE nodes = 1 AND (? IS NULL OR partition = ?)"
            " GROUP BY node, report",
            (chosen, chosen),
        )
        return [Run(self.names[node], started, Verdict(verdict)) for node, started, verdict in rows]

    def states(self, partition: str, until: Mapping[str, int] | None = None) -> dict[str, State]:
        """{node: how its newest record has it}; until: {node: the last moment that counts}, of these nodes only."""
        numbers = self.numbers
        chosen = "SELECT node, MAX(started), boot, parts, versions FROM tests WHERE run != 0"
        if until is None:
            of = self.connection.execute(f"{chosen} AND partition = ? GROUP BY node", (numbers.get(partition, -1),))
            rows = list(of)
        else:
            asked = ((numbers[node], moment) for node, moment in until.items() if node in numbers)
            rows = [self.connection.execute(f"{chosen} AND node = ? AND started <= ?", one).fetchone() for one in asked]
        return {
            self.names[node]: State(started, self.names[boot], self.parts_of(parts), self.set_of(versions))
            for node, started, boot, parts, versions in rows
            if node is not None
        }

    def partitions(self) -> list[str]:
        """The partitions that were measured."""
        found = self.connection.execute("SELECT DISTINCT partition FROM tests WHERE run != 0")
        return sorted(self.names[number] for (number,) in found)

    def parts_of(self, number: int) -> tuple[Part, ...]:
        """The parts of a set."""
        if number not in self.parts:
            self.parts[number] = tuple(Part(*one) for one in self.set_of(number))
        return self.parts[number]

    def found(self, clean_runs: int, written: Sequence[Note] = ()) -> Iterator[Found]:
        """What each report says of the devices of nodes that may be suspect, and of those where one of their parts was
        too: of others nothing is suspect.
        """
        swapped = {node for note in written if note.kind == "swap" for node, _ in note.places}
        yield from self.found_on(self.with_parts_of(self.blamed_lately(clean_runs) | self.named(swapped)))

    def blamed_lately(self, clean_runs: int) -> set[int]:
        """The nodes that were ever blamed, by their numbers, but those that had so many runs since in which each device
        that ever was blamed there was clean. Two reports that began at once count as one: the other may be a copy; one
        of a clock that is ahead counts for none.
        """
        latest = latest_time(time.time())
        blamed: dict[int, tuple[str, set[str]]] = {}
        rows = self.connection.execute("SELECT node, began, device FROM blamed JOIN reports ON report = reports.id")
        for node, began, device in rows:
            last, devices = blamed.setdefault(node, ("", set()))
            blamed[node] = (max(last, began), devices | {device})
        found = set()
        for node, (last, devices) in blamed.items():
            since = self.connection.execute(
                "SELECT began, clean FROM devices JOIN reports ON report = reports.id WHERE node = ? AND began > ?"
                " AND began <= ? ORDER BY began",
                (node, last, latest),
            )
            clean = (began for began, good in since if devices <= set(self.set_of(good)))
            times = (began for began, _ in groupby(clean))
            if sum(1 for _ in islice(times, clean_runs)) < clean_runs:
                found.add(node)
        return found

    def named(self, nodes: Iterable[str]) -> set[int]:
        """The numbers of some nodes, under each name that they have in records: with a domain, and without."""
        wanted = {short(node) for node in nodes}
        return {number for name, number in self.numbers.items() if short(name) in wanted}

    def unseen(self, places: Iterable[Place]) -> list[Place]:
        """Those of the places, as they were named, where no report has seen a device, adapter or node."""
        wanted = list(places)
        nodes = self.named(node for node, _ in wanted)
        every = [one for node, seen in self.sightings() if node in nodes for one in seen]
        names = Names(("", one) for one in every)
        known = [names.place(one) for one in every]
        return [place for place in wanted if not any(is_at(one, place) for one in known)]

    def with_part(self, text: str) -> set[int]:
        """The nodes, by their numbers, that a part was ever on, by its serial number or UUID."""
        return {node for node, seen in self.sightings() if any(is_part(one, text) for one in seen)}

    def with_parts_of(self, nodes: set[int]) -> set[int]:
        """The nodes and those that any of their parts was ever on, by their numbers; what is on many is no part."""
        nodes = self.named(self.names[node] for node in nodes)
        on: dict[str, set[int]] = {}
        for node, seen in self.sightings():
            for one in seen:
                for text in one.texts:
                    on.setdefault(text, set()).add(node)
        moved = (of for of in on.values() if 1 < len(of) <= MOST_NODES and not of.isdisjoint(nodes))
        return self.named(self.names[node] for node in nodes.union(*moved))

    def sightings(self) -> list[tuple[int, list[Sighting]]]:
        """(a node, what was on it): each once that differs."""
        if self.seen is None:
            rows = self.connection.execute("SELECT DISTINCT node, seen FROM devices")
            self.seen = [
                (node, [Sighting(*place) for _, *place in self.set_of(seen)]) for node, seen in rows.fetchall()
            ]
        return self.seen

    def found_on(self, nodes: set[int]) -> Iterator[Found]:
        """What each report says of the devices of some nodes, by their numbers."""
        chosen = f"node IN ({listed(nodes)})"
        blamed: dict[int, list[tuple[int, str, str]]] = {}
        for report, *said in self.connection.execute(f"SELECT report, node, device, reason FROM blamed WHERE {chosen}"):
            blamed.setdefault(report, []).append(tuple(said))
        devices: dict[int, list[tuple[int, int, int]]] = {}
        for report, *row in self.connection.execute(f"SELECT report, node, seen, clean FROM devices WHERE {chosen}"):
            devices.setdefault(report, []).append(tuple(row))
        measured: dict[int, set[str]] = {}
        for report, key in self.connection.execute(f"SELECT report, measured FROM tests WHERE {chosen}"):
            measured.setdefault(report, set()).add(str(key))
        for report, began in self.connection.execute("SELECT id, began FROM reports ORDER BY began, id").fetchall():
            if report not in devices:
                continue
            of = [(self.names[node], self.seen_in(seen), self.set_of(clean)) for node, seen, clean in devices[report]]
            yield Found(
                began,
                {(self.names[node], name): reason for node, name, reason in blamed.get(report, ())},
                {(node, name) for node, _, clean in of for name in clean},
                {(node, name): place for node, seen, _ in of for name, place in seen},
                frozenset(measured.get(report, ())),
            )

    def seen_in(self, number: int) -> list[tuple[str, Sighting]]:
        """(a device, where it was) of a set: the same objects each time."""
        if number not in self.places:
            self.places[number] = [(name, Sighting(*place)) for name, *place in self.set_of(number)]
        return self.places[number]

    def blaming(self, suspects: Iterable[Suspect]) -> set[str]:
        """The names of the reports that blame a device since one of the suspects is suspect, on its node or on one that
        a part of that was ever on.
        """
        found: set[str] = set()
        for one in suspects:
            nodes = self.with_parts_of(self.named([one.node]))
            rows = self.connection.execute(
                f"SELECT name FROM blamed JOIN reports ON report = reports.id WHERE node IN ({listed(nodes)})"
                " AND began >= ?",
                (one.since,),
            )
            found |= {name for (name,) in rows}
        return found

    def suspects(self, clean_runs: int, written: Sequence[Note] = ()) -> list[Suspect]:
        """Those that the reports leave under suspicion, the longest first; written: repairs and swaps."""
        return left_by(self.found(clean_runs, written), clean_runs, written)


def listed(numbers: Iterable[int]) -> str:
    """Numbers of the tables, as SQL takes them between brackets."""
    return ",".join(map(str, numbers))


@contextlib.contextmanager
def opened(prefix: Path, folder: Path | None, again: bool = False) -> Iterator[Index]:
    """The index of a prefix, up to date.

    folder: of references, None for the package's own. again: judge anew what other references or another version of
    this program judged; else a note counts such reports. Raises BadInput, OSError, lock.Held.
    """
    path, references, by = prefix / FILE, References.load(folder), fingerprint(folder)
    try:
        with contextlib.closing(ready(path)) as connection:
            notes = update(connection, path, references, by, again)
            yield Index(connection, notes)
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}: it can be removed, and is made anew") from None
