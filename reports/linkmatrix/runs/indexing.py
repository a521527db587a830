"""From a report to the rows of the index: `index.py` reads them again.

What is the same on most days, such as the parts of a node, is kept once, as JSON under its digest (`sets`), and a test
has a row for each node that took part.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..files import changing, read_json
from ..judge.odd import facts_of_nodes
from ..judge.verdicts import Verdict
from ..record import units
from ..record.checking import is_of_matchings
from ..record.matrix import from_result
from ..references.tables import References
from . import folders, judging, stored
from .judging import Judged
from .parts import Sighting
from .suspects import of_run
from .suspicion import Device, dated
from .testcases import COMPACT, record_in

#: Of the tables below. An index of another version is made anew.
VERSION = 6
#: reports: those of the prefix, with by what they were judged, and why one cannot be read. tests: a row for each node
#: of a test; run: the run of the program that measured it, which several tests may share. devices: of a node in a
#: report, where its devices were (seen) and which were clean; blamed: why one is suspect. met: the nodes of a
#: test between which a cell was measured, and the pairs of them by their numbers there, none where all met. lacking: of
#: a test whose record could not be read, where it was looked for, and the stamp of what was there.
TABLES = """
CREATE TABLE reports (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, changed INTEGER, began TEXT,
                      judged_by TEXT, trouble TEXT);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE sets (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, content TEXT);
CREATE TABLE tests (report INTEGER, node INTEGER, partition INTEGER, test INTEGER, started INTEGER, seconds REAL,
                    verdict INTEGER, nodes INTEGER, run INTEGER, measured INTEGER, boot INTEGER, leaf INTEGER,
                    cases INTEGER, parts INTEGER, versions INTEGER);
CREATE TABLE devices (report INTEGER, node INTEGER, seen INTEGER, clean INTEGER);
CREATE TABLE blamed (report INTEGER, node INTEGER, device TEXT, reason TEXT);
CREATE TABLE met (report INTEGER, partition INTEGER, started INTEGER, meeting INTEGER);
CREATE TABLE lacking (report INTEGER, folders INTEGER, size INTEGER, changed INTEGER);
CREATE INDEX tests_of_reports ON tests (report);
CREATE INDEX tests_of_nodes ON tests (node, started);
CREATE INDEX devices_of_nodes ON devices (node);
CREATE INDEX devices_of_reports ON devices (report);
"""
OF_REPORTS = ("tests", "devices", "blamed", "met", "lacking")  # tables with rows of a report

Row = dict[str, Any]


def rows_of(path: Path, references: References, written: float) -> tuple[str, dict[str, list[Row]]]:
    """(when ReFrame began, {table: rows}) of a report, its names and sets still in words. Raises BadInput.

    written: when its file was, in seconds since 1970.
    """
    report = read_json(path, folders.CUT)
    tests: list[Row] = []
    met: list[Row] = []
    lacking: list[Row] = []
    first: list[str] = []  # when the records began

    def judged() -> Iterator[Judged]:
        for test in stored.case_by_case(path, report):
            one = judging.judge(test, references, None)
            then = moment(one, began, written)
            tests.extend(rows_of_test(one, then))
            met.extend(rows_of_meetings(one, then))
            lacking.extend(rows_of_lacking(one, path))
            first.extend([test.record["started"]] if test.record else [])
            yield one

    began = stored.began(path, report)
    blamed, clean, seen = of_run(judged())
    began = began or min(first, default="")
    began, clean = dated(began, clean, written)
    return began, {
        "tests": tests,
        "devices": devices_of(clean, seen),
        "blamed": [{"node": node, "device": name, "reason": reason} for (node, name), reason in blamed.items()],
        "met": met,
        "lacking": lacking,
    }


def moment(one: Judged, began: str, written: float) -> int | None:
    """When a test began, in seconds since 1970; None where nothing says it.

    By the clock of its node where that agrees with ReFrame's, and never after its report was written: no clock that is
    ahead makes a node one that was measured lately for as long as it is ahead.
    """
    record = one.test.record
    said = began if began and (record is None or one.test.doubts) else record["started"] if record else ""
    return min(epoch(said), int(written)) if said else None


def rows_of_test(one: Judged, then: int | None) -> Iterator[Row]:
    """A row for each node of a test; of one without a record for the node that it was for, where that is known."""
    test, record = one.test, one.test.record
    head = {"partition": test.partition, "test": test.name, "verdict": int(one.verdict)}
    if record is None:
        if test.node and then is not None:
            lacks = {"seconds": 0.0, "nodes": 1, "run": 0, "measured": 0, "boot": "", "leaf": ""}
            sets: dict[str, Any] = {"cases": {}, "parts": [], "versions": {}}
            yield {**head, **lacks, **sets, "node": test.node, "started": then}
        return
    head |= {"started": then, "seconds": record["seconds"]}
    head["run"] = number(stored.program_run(record))
    head["measured"] = number([(key, record["asked_by"]) for key in stored.measurements(record)])
    head["cases"] = cases_of(one)
    versions: dict[str, dict[str, str]] = {}
    for node, name, fact in facts_of_nodes(record):
        versions.setdefault(node, {})[name] = fact
    boots = {node["name"]: node["boot"] or "" for node in record["nodes"]}
    nodes = list(dict.fromkeys(device["node"] for device in record["devices"])) or [record["host"]["name"]]
    for node in nodes:
        found = {
            "node": node,
            "nodes": len(nodes),
            "boot": boots.get(node, ""),
            "leaf": leaves_of(record).get(node, ""),
        }
        yield {**head, **found, "parts": parts_of(record, node), "versions": versions.get(node, {})}


def rows_of_lacking(one: Judged, report: Path) -> Iterator[Row]:
    """A row of a test that should have a record, and none that can be read."""
    if one.test.record is None and one.test.folders:
        size, changed = record_stamp(one.test.folders, report)
        yield {"folders": list(one.test.folders), "size": size, "changed": changed}


def record_stamp(folders: Iterable[str], report: Path) -> tuple[int, int]:
    """(bytes, time of the last change in ns) of a record in both of its forms; (0, 0) where there is none."""
    place = record_in(folders, report)
    forms = (place, place.with_suffix(COMPACT)) if place else ()
    stamps = [stamp for form in forms if (stamp := stamp_of(form))]
    return sum(size for size, _ in stamps), max((changed for _, changed in stamps), default=0)


def cases_of(one: Judged) -> dict[str, list[int]]:
    """{test case: [its verdict, 1 where it was measured whole else 0]}; of several sizes the worse."""
    found: dict[str, list[int]] = {}
    for result, matrix in one.matrices:
        verdict, whole = found.get(result["testcase"], [int(Verdict.PASS), 1])
        found[result["testcase"]] = [max(verdict, int(one.of_matrix(matrix))), whole & int(result["complete"])]
    return found


def parts_of(record: Mapping[str, Any], node: str) -> list[list[Any]]:
    """[kind, name, model, part, place] of each device and adapter of a node, as the record has them."""
    devices = [one for one in record["devices"] if one["node"] == node and one["part"]]
    found = [
        ["device", one["label"].removeprefix(f"{node}:"), one["name"], one["part"], one["place"]] for one in devices
    ]
    adapters = [one for one in record["adapters"] if one["place"].get("node") == node]
    models = [one["part"].get("model") or one["part"].get("board") or "" for one in adapters]
    return found + [
        ["adapter", one["name"], model, one["part"], one["place"]] for one, model in zip(adapters, models, strict=True)
    ]


def leaves_of(record: Mapping[str, Any]) -> dict[str, str]:
    """{node: its leaf switch} where the record says it."""
    return {one["node"]: one["place"]["leaf"] for one in record["devices"] if one["place"].get("leaf")}


def rows_of_meetings(one: Judged, then: int | None) -> Iterator[Row]:
    """A row of each matrix between nodes: which of them met, in a cell that was measured at least."""
    record = one.test.record
    if record is None:
        return
    names = sorted({device["node"] for device in record["devices"]})
    number_of = {name: number for number, name in enumerate(names)}
    of_label = {device["label"]: number_of[device["node"]] for device in record["devices"]} | number_of
    for result in record["results"] if len(names) > 1 else ():
        rows, columns = (np.array([of_label.get(label, -1) for label in result[axis]]) for axis in ("rows", "columns"))
        block = from_result(result).whole
        if block is not None:
            here, there = (ends[at] for ends, at in zip((rows, columns), block.is_status("ok").nonzero(), strict=True))
        elif result["complete"] and not is_of_matchings(result):
            here, there = (ends.ravel() for ends in np.meshgrid(np.unique(rows), np.unique(columns)))
        else:
            continue  # which pairs were drawn is in a file beside it
        apart = (here != there) & (here >= 0) & (there >= 0)
        ends = np.sort(np.stack([here[apart], there[apart]], axis=1), axis=1)
        pairs = np.unique(ends, axis=0).tolist()
        if pairs:
            whole = len(pairs) == len(names) * (len(names) - 1) // 2
            meeting = {"nodes": names, "pairs": [] if whole else pairs}
            yield {"partition": one.test.partition, "started": then, "meeting": meeting}


def devices_of(clean: Iterable[Device], seen: Mapping[Device, Sighting]) -> list[Row]:
    """A row for each node: where its devices were, and which are clean; `suspicion.Found` in the form of JSON."""
    places: dict[str, list[list[str]]] = {}
    good: dict[str, list[str]] = {}
    for (node, name), place in sorted(seen.items()):
        places.setdefault(node, []).append([name, *place])
    for node, name in sorted(clean):
        good.setdefault(node, []).append(name)
    return [{"node": node, "seen": found, "clean": good.get(node, [])} for node, found in places.items()]


def epoch(text: str) -> int:
    """Seconds since 1970 of a record's time."""
    return int(datetime.fromisoformat(text.removesuffix("Z") + "+00:00").timestamp())


def number(key: Any) -> int:
    """A key as a number of 63 bits, the same everywhere."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big") >> 1


class Writer:
    """Writes rows; names and sets that are there already are taken from there."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.known: dict[str, dict[Any, int]] = {"names": {}, "sets": {}}

    def write(self, report: int, rows: Mapping[str, list[Row]]) -> None:
        """The rows of a report."""
        for table, found in rows.items():
            for row in found:
                values = {"report": report, **{column: self.value(column, said) for column, said in row.items()}}
                marks = ", ".join("?" * len(values))
                self.connection.execute(
                    f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values())
                )

    def value(self, column: str, said: Any) -> Any:
        """What stands in a column: the number of a set or name, or the value itself."""
        if isinstance(said, (dict, list)):
            content = json.dumps(said, sort_keys=True, separators=(",", ":"))
            return self.id_of("sets", "digest", hashlib.sha256(content.encode()).digest(), content)
        if isinstance(said, str) and column not in ("device", "reason"):
            return self.id_of("names", "name", said)
        return said

    def id_of(self, table: str, column: str, key: Any, *more: str) -> int:
        """The number of a name or set, which is added where it is not there."""
        known = self.known[table]
        if key not in known:
            marks = ", ".join("?" * (1 + len(more)))
            columns = ", ".join([column, *(["content"] if more else [])])
            self.connection.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", (key, *more))
            (known[key],) = self.connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (key,)).fetchone()
        return known[key]


def update(connection: sqlite3.Connection, path: Path, references: References, by: str, again: bool) -> list[str]:
    """Adds reports that are new, or have a record that they lacked, and drops those that are gone. Returns notes."""
    stamps = {report: stamp for report in folders.reports(path.parent) if (stamp := stamp_of(report))}
    wanted = {report.name: stamp for report, stamp in stamps.items()}
    come = with_records(connection, stamps)

    def is_old(name: str, stamp: tuple[int, int], judged_by: str) -> bool:
        return wanted.get(name) != stamp or name in come or (again and judged_by != by)

    drop(connection, path, is_old)
    known = {name for (name,) in connection.execute("SELECT name FROM reports")}
    for report in stamps:
        if report.name not in known:
            add(connection, path, report, stamps[report], references, by)
    said = connection.execute("SELECT name, trouble, judged_by FROM reports ORDER BY began, id").fetchall()
    notes = [f"what nodes did is looked for without one report: {trouble}" for _, trouble, _ in said if trouble]
    old = sum(judged_by != by for _, _, judged_by in said)
    if old:
        has = "has its verdict" if old == 1 else "have their verdicts"
        why = "by other references or another version: to judge again, remove"
        notes.append(f"{units.counted(old, 'report')} {has} {why} {path}")
    return notes


def with_records(connection: sqlite3.Connection, reports: Iterable[Path]) -> set[str]:
    """The names of those of the reports where a record that could not be read is there now, or is another one."""
    of_name = {report.name: report for report in reports}
    rows = connection.execute(
        "SELECT name, content, lacking.size, lacking.changed FROM lacking"
        " JOIN reports ON report = reports.id JOIN sets ON folders = sets.id"
    )
    return {
        name
        for name, folders, *stamp in rows
        if name in of_name and record_stamp(json.loads(folders), of_name[name]) not in ((0, 0), tuple(stamp))
    }


def stamp_of(file: Path) -> tuple[int, int] | None:
    """(bytes, time of the last change in ns) of a report or record; None of one that is gone meanwhile."""
    try:
        said = file.stat()
    except OSError:
        return None
    return said.st_size, said.st_mtime_ns


def drop(connection: sqlite3.Connection, path: Path, is_old: Callable[[str, tuple[int, int], str], bool]) -> None:
    """Removes the reports that are old, by their name, stamp and what judged them."""
    reports = connection.execute("SELECT id, name, size, changed, judged_by FROM reports").fetchall()
    old = [(number,) for number, name, size, changed, by in reports if is_old(name, (size, changed), by)]
    if not old:
        return
    with changing(path), connection:
        for table in OF_REPORTS:
            connection.executemany(f"DELETE FROM {table} WHERE report = ?", old)
        connection.executemany("DELETE FROM reports WHERE id = ?", old)


def add(
    connection: sqlite3.Connection,
    path: Path,
    report: Path,
    stamp: tuple[int, int],
    references: References,
    by: str,
) -> None:
    """Adds one report, of one that cannot be read its trouble; nothing where another process was first."""
    began, trouble = "", None
    rows: dict[str, list[Row]] = {}
    try:
        began, rows = rows_of(report, references, stamp[1] / 1e9)
    except BadInput as error:
        trouble = str(error)
    with changing(path), connection:
        said = connection.execute(
            "INSERT OR IGNORE INTO reports (name, size, changed, began, judged_by, trouble) VALUES (?, ?, ?, ?, ?, ?)",
            (report.name, *stamp, began, by, trouble),
        )
        if said.rowcount and said.lastrowid is not None:
            Writer(connection).write(said.lastrowid, rows)


def fingerprint(folder: Path | None) -> str:
    """Of all that judges a record: the code, and every file of references."""
    found = hashlib.sha256()
    code, tables = Path(__file__).parents[1].rglob("*.py"), folder.glob("*.yaml") if folder else []
    for file in [*sorted(code), *sorted(tables)]:
        found.update(file.read_bytes())
    return found.hexdigest()
