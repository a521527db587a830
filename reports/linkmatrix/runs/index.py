"""The index of all stored reports by node and time: the database `index.db` of the prefix.

* Reading a year of daily runs of thousands of nodes takes hours. A query of the index takes seconds.
* All data of the index comes from reports and records, so the index can be removed at any time.
* Opening the index updates it. An index that is missing, damaged or of another version is created again.
* Several commands may use the index concurrently. Reports are added in transactions, under a lock.
* A verdict in the index depends on the references and the code at the time when its report was added. `open_index` can
  judge again.
"""

import contextlib
import math
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..record.names import short
from ..references.tables import References
from . import known_good, missing_runs, series
from .components import ComponentNames, Sighting, Slot, is_component, matches_slot
from .index_tables import State, Tables, open_database
from .indexing import fingerprint, update
from .known_good import Case, Outcome
from .notes import Note
from .scopes import Scope
from .suspicion import Flagged, RunFlags, Suspect, latest_time, remaining_suspects

if TYPE_CHECKING:
    import pandas

FILE = "index.db"
MOST_NODES = 16  # a serial number that more nodes had is a placeholder


class Index(Tables):
    """The open database, with the queries of the commands.

    until: the latest plausible start of a test, in seconds since 1970. A test with a later start is left out, because
    its clock was wrong.
    """

    def single_node_outcomes(self, partition: str | None) -> list[Outcome]:
        """The outcomes of all tests that ran on one node only. partition: None for all partitions."""
        chosen = self.numbers.get(partition, -1) if partition else None
        rows = self.connection.execute(
            "SELECT node, test, MAX(started), verdict, cases, components FROM tests WHERE nodes = 1"
            " AND (? IS NULL OR partition = ?) GROUP BY node, test, verdict, cases, components",
            (chosen, chosen),
        )
        return [
            one
            for node, test, started, verdict, cases, components in rows
            for one in known_good.test_outcomes(
                self.names[node], self.names[test], started, verdict, self.cases_in(cases), self.set_content(components)
            )
        ]

    def disturbance_streaks(self) -> dict[str, str]:
        """Returns {node: why the node cannot be judged}, if a cell of the node was DISTURBED several times in a row."""
        rows = self.connection.execute(
            "SELECT node, started, run, cases, disturbed FROM tests WHERE run != 0 AND node IN"
            " (SELECT node FROM tests WHERE disturbed NOT IN (SELECT id FROM sets WHERE content = '[]'))"
        )
        return known_good.streak_sentences(
            known_good.parse_measured(
                {"node": self.names[node], "started": started, "run": run}
                | {"cases": self.set_content(cases), "disturbed": self.set_content(disturbed)}
            )
            for node, started, run, cases, disturbed in rows
        )

    def states(self, partition: str, until: Mapping[str, int] | None = None) -> dict[str, State]:
        """Returns {node: state in its newest record} for the nodes of a partition.

        until: {node: latest start of the record}. With `until`, the result contains only the nodes in `until`.
        """
        numbers = self.numbers
        chosen = "SELECT node, MAX(started), boot, parts, versions FROM tests WHERE run != 0"
        if until is None:
            key = (numbers.get(partition, -1),)
            rows = self.connection.execute(f"{chosen} AND partition = ? GROUP BY node", key).fetchall()
        else:
            asked = ((numbers[node], moment) for node, moment in until.items() if node in numbers)
            rows = [self.connection.execute(f"{chosen} AND node = ? AND started <= ?", one).fetchone() for one in asked]
        return {
            self.names[node]: State(started, self.names[boot], self.parts_in(parts), self.set_content(versions))
            for node, started, boot, parts, versions in rows
            if node is not None
        }

    def medians(self) -> "pandas.DataFrame":
        """The medians of all reports, in the format of `series.frame`."""
        import pandas

        rows = self.connection.execute(f"SELECT {', '.join(series.COLUMNS)} FROM medians").fetchall()
        found = pandas.DataFrame(rows, columns=series.COLUMNS)
        for name in ("testcase", "unit", "link_class", "variant", "partition", "host", "disturbances"):
            found[name] = found[name].map(self.names)
        found["facts"] = found["facts"].map(self.set_content)
        return series.frame(found)

    def measured_cases(self, partition: str, until: float = math.inf) -> Iterator[tuple[str, dict[str, Case], int]]:
        """Yields (node, test cases, newest start) per node and distinct set of test cases in its single-node tests."""
        found = self.connection.execute(
            "SELECT node, cases, MAX(started) FROM tests WHERE partition = ? AND nodes = 1 AND run != 0"
            " AND started <= ? GROUP BY node, cases",
            (self.numbers.get(partition, -1), until),
        )
        yield from ((self.names[node], self.cases_in(cases), started) for node, cases, started in found)

    def times_tried(self, partition: str, until: float = math.inf) -> dict[str, int]:
        """Returns {node: start of its last single-node test}. The result of the test does not matter."""
        found = self.connection.execute(
            "SELECT node, MAX(started) FROM tests WHERE partition = ? AND nodes = 1 AND started <= ? GROUP BY node",
            (self.numbers.get(partition, -1), until),
        )
        return {self.names[node]: started for node, started in found}

    def days_measured(self, partition: str, suite: Collection[str]) -> Iterator[tuple[str, int]]:
        """Yields (node, day) for each single-node test that measured the whole suite. day: days since 1970."""
        sets = [number for (number,) in self.connection.execute("SELECT DISTINCT cases FROM tests")]
        measured = {number: {name for name, case in self.cases_in(number).items() if case.complete} for number in sets}
        complete = [number for number, names in measured.items() if names >= set(suite)]
        found = self.connection.execute(
            "SELECT DISTINCT node, started / 86400 FROM tests WHERE partition = ? AND nodes = 1 AND run != 0"
            f" AND cases IN ({sql_list(complete)})",
            (self.numbers.get(partition, -1),),
        )
        yield from ((self.names[node], day) for node, day in found)

    def leaf_switches(self, partition: str) -> dict[str, str]:
        """Returns {node: its leaf switch}, from the newest record of each node that contains its leaf switch."""
        nowhere = self.numbers.get("", -1)
        found = self.connection.execute(
            "SELECT node, MAX(started), leaf FROM tests WHERE partition = ? AND leaf != ? AND run != 0 GROUP BY node",
            (self.numbers.get(partition, -1), nowhere),
        )
        return {self.names[node]: self.names[leaf] for node, _, leaf in found}

    def durations(self, partition: str, pattern: str, most: int) -> list[float]:
        """The durations of the newest complete runs in seconds, the oldest first. most: the maximum number of runs.

        pattern: a regular expression for the names of the tests. A run without a measurement does not count.
        """
        named = [number for name, number in self.numbers.items() if re.search(pattern, name)]
        found = self.connection.execute(
            f"SELECT MAX(started), seconds, cases FROM tests WHERE partition = ? AND test IN ({sql_list(named)})"
            " AND run != 0 GROUP BY run ORDER BY 1 DESC",
            (self.numbers.get(partition, -1),),
        )
        runs = ((seconds, self.cases_in(cases)) for _, seconds, cases in found)
        complete = (seconds for seconds, cases in runs if cases and all(case.complete for case in cases.values()))
        return list(islice(complete, most))[::-1]

    def last_meetings(
        self, partition: str, group_of: Mapping[str, str], until: float = math.inf
    ) -> dict[tuple[str, str], int]:
        """Returns {(group, group): time of the last measurement between their nodes}, in seconds since 1970.

        group_of: {node: its group}. A group is a leaf switch, for example. Nodes without a group are left out.
        """
        found: dict[tuple[str, str], int] = {}
        rows = self.connection.execute(
            "SELECT meeting, MAX(started) FROM met WHERE partition = ? AND started <= ? GROUP BY meeting",
            (self.numbers.get(partition, -1), until),
        )
        for meeting, started in rows:
            content = self.set_content(meeting)
            groups = [group_of.get(node, "") for node in content["nodes"]]
            pairs = ((groups[one], groups[other]) for one, other in content["pairs"])
            if not content["pairs"]:
                pairs = combinations(sorted(set(filter(None, groups))), 2)
            for pair in {(min(pair), max(pair)) for pair in pairs if all(pair) and pair[0] != pair[1]}:
                found[pair] = max(started, found.get(pair, 0))
        return found

    def partitions(self) -> list[str]:
        """The partitions with measurements."""
        found = self.connection.execute("SELECT DISTINCT partition FROM tests WHERE run != 0")
        return sorted(self.names[number] for (number,) in found)

    def run_flags(self, clean_runs: int) -> Iterator[RunFlags]:
        """Yields the flags and clean scopes of each report, for all nodes that may be flagged now.

        A node may be flagged now if `flagged_lately` returns the node, or if the node ever had a component of one of
        the returned nodes.
        """
        yield from self.flags_on(self.nodes_sharing_parts(self.flagged_lately(clean_runs)))

    def flagged_lately(self, clean_runs: int) -> set[int]:
        """The numbers of the nodes that were ever flagged, except nodes whose flags are certainly removed.

        The flags of a node are certainly removed after `clean_runs` runs with the same driver. In each of these runs,
        each flagged device must be clean for each of its scopes. Reports with the same start count once, because one
        report may be a copy of another report. A report with a start in the future does not count.
        """
        latest = latest_time(time.time())
        flagged: dict[int, tuple[str, dict[str, set[Scope]]]] = {}
        rows = self.connection.execute(
            "SELECT node, began, device, scope FROM flagged JOIN reports ON report = reports.id"
        )
        for node, began, device, scope in rows:
            last, devices = flagged.setdefault(node, ("", {}))
            devices.setdefault(device, set()).add(Scope(*self.set_content(scope)))
            flagged[node] = (max(last, began), devices)
        return {
            node
            for node, (last, devices) in flagged.items()
            if max(self.clean_since(node, last, latest, devices).values(), default=0) < clean_runs
        }

    def clean_since(
        self, node: int, last: str, latest: str, devices: Mapping[str, set[Scope]]
    ) -> Counter[tuple[str, ...]]:
        """Returns {driver versions: number of clean runs} of a node.

        In a clean run, each device of `devices` is clean for all of its flagged scopes.

        * last: the start of the last run with a flag. Only later runs count.
        * latest: runs that began after this time do not count.
        * devices: {device: its flagged scopes}.
        """
        rows = self.connection.execute(
            "SELECT began, seen, clean FROM devices JOIN reports ON report = reports.id WHERE node = ? AND began > ?"
            " AND began <= ? ORDER BY began",
            (node, last, latest),
        )
        found: Counter[tuple[str, ...]] = Counter()
        for _, same in groupby(rows, key=lambda row: row[0]):
            for _, seen, clean_set in same:
                clean = self.clean_scopes_in(clean_set)
                if all(scopes <= clean.get(name, set()) for name, scopes in devices.items()):
                    found[tuple(sorted({one.driver for _, one in self.sightings_in(seen)}))] += 1
                    break  # reports with the same start count once
        return found

    def node_numbers(self, nodes: Iterable[str]) -> set[int]:
        """The numbers of the nodes. A node named with and without its domain has two numbers."""
        wanted = {short(node) for node in nodes}
        return {number for name, number in self.numbers.items() if short(name) in wanted}

    def unknown_slots(self, places: Iterable[Slot]) -> list[Slot]:
        """The slots of `places` in which no report contains a component."""
        wanted = list(places)
        nodes = self.node_numbers(node for node, _ in wanted)
        every = [one for node, seen in self.sightings if node in nodes for one in seen]
        names = ComponentNames(("", one) for one in every)
        known = [names.slot(one) for one in every]
        return [place for place in wanted if not any(matches_slot(one, place) for one in known)]

    def nodes_with_part(self, text: str) -> set[int]:
        """The numbers of the nodes that ever had a component. text: the serial number or UUID of the component."""
        return {node for node, seen in self.sightings if any(is_component(one, text) for one in seen)}

    def nodes_sharing_parts(self, nodes: set[int]) -> set[int]:
        """The numbers of `nodes`, and of all nodes that ever had a component of `nodes`."""
        nodes = self.node_numbers(self.names[node] for node in nodes)
        text_nodes: dict[str, set[int]] = {}
        for node, seen in self.sightings:
            for one in seen:
                for text in one.texts:
                    text_nodes.setdefault(text, set()).add(node)
        moved = (on for on in text_nodes.values() if 1 < len(on) <= MOST_NODES and not on.isdisjoint(nodes))
        return self.node_numbers(self.names[node] for node in nodes.union(*moved))

    @cached_property
    def sightings(self) -> list[tuple[int, list[Sighting]]]:
        """Returns a list of (number of a node, its sightings in one report), without repetitions."""
        rows = self.connection.execute("SELECT DISTINCT node, seen FROM devices").fetchall()
        return [(node, [Sighting(*place) for _, *place in self.set_content(seen)]) for node, seen in rows]

    def flags_on(self, nodes: set[int]) -> Iterator[RunFlags]:
        """Yields, for each report, the `RunFlags` of some nodes. nodes: their numbers in the index."""
        chosen = f"node IN ({sql_list(nodes)})"
        flagged: dict[int, Flagged] = {}
        rows = self.connection.execute(f"SELECT report, node, device, scope, reason FROM flagged WHERE {chosen}")
        for report, node, device, scope, reason in rows:
            device_flags = flagged.setdefault(report, {}).setdefault((self.names[node], device), {})
            device_flags[Scope(*self.set_content(scope))] = reason
        devices: dict[int, list[tuple[int, int, int]]] = {}
        for report, *row in self.connection.execute(f"SELECT report, node, seen, clean FROM devices WHERE {chosen}"):
            devices.setdefault(report, []).append(tuple(row))
        measured: dict[int, set[str]] = {}
        for report, key in self.connection.execute(f"SELECT report, measured FROM tests WHERE {chosen}"):
            measured.setdefault(report, set()).add(str(key))
        for report, began in self.connection.execute("SELECT id, began FROM reports ORDER BY began, id").fetchall():
            if report not in devices:
                continue
            of = [
                (self.names[node], self.sightings_in(seen), self.clean_scopes_in(clean))
                for node, seen, clean in devices[report]
            ]
            yield RunFlags(
                began,
                flagged.get(report, {}),
                {(node, name): scopes for node, _, clean in of for name, scopes in clean.items()},
                {(node, name): place for node, seen, _ in of for name, place in seen},
                frozenset(measured.get(report, ())),
            )

    def deciding_reports(self, suspects: Iterable[Suspect]) -> set[str]:
        """The names of the reports that can set or remove the flags of the suspects.

        Only reports since the oldest flag of a suspect count. A report must contain the node of the suspect, or a node
        that ever had a component of this node. The report must flag a device, or be clean for a flagged scope.
        """
        found: set[str] = set()
        for one in suspects:
            nodes = self.nodes_sharing_parts(self.node_numbers([one.node]))
            chosen = f"JOIN reports ON report = reports.id WHERE node IN ({sql_list(nodes)}) AND began >= ?"
            found |= {name for (name,) in self.connection.execute(f"SELECT name FROM flagged {chosen}", (one.since,))}
            rows = self.connection.execute(f"SELECT name, clean FROM devices {chosen}", (one.since,))
            wanted = set(one.scopes)
            found |= {
                name for name, clean in rows if any(map(wanted.intersection, self.clean_scopes_in(clean).values()))
            }
        return found

    def suspects(self, clean_runs: int, written: Sequence[Note] = ()) -> list[Suspect]:
        """The flagged components, the oldest flag first. written: notes of repairs."""
        return remaining_suspects(self.run_flags(clean_runs), clean_runs, written)


def sql_list(numbers: Iterable[int]) -> str:
    """The numbers as text for SQL's `IN (…)`, such as "1,2,3"."""
    return ",".join(map(str, numbers))


@contextlib.contextmanager
def open_index(prefix: Path, folder: Path | None, again: bool = False) -> Iterator[Index]:
    """A context with the updated index of a prefix. Raises BadInput, OSError, lock.Held.

    * folder: the folder of references; None for the references of the package
    * again: whether to judge again the reports that were judged with other references or by another version. If false,
      a note contains the number of these reports.
    """
    path, references, by = prefix / FILE, References.load(folder), fingerprint(folder)
    try:
        with contextlib.closing(open_database(path)) as connection:
            notes = update(connection, path, references, by, again)
            yield Index(connection, [*notes, *missing_runs.missing_run_sentences(prefix)])
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}: remove this file; the next linkmatrix command creates it again") from None
