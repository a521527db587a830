"""Updates the index: adds new reports, replaces changed reports, and removes reports whose file is gone.

A test has one row per node. A network file system may show a record later than its report. Each update therefore reads
a report without a record again, until the report is LATE seconds old.
"""

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..files import changing, read_json
from ..judge.inventory_diff import node_facts
from ..judge.verdicts import Verdict
from ..record import units
from ..record.checking import has_matchings
from ..record.matrix import from_result
from ..record.names import short, simulated_fault
from ..references.tables import References
from . import folders, judging, known_good, series, stored
from .components import Device, Sighting, node_components
from .folders import SKEW, epoch
from .index_tables import REPORT_TABLES, Row, Writer
from .judging import Judged
from .scopes import Scope
from .suspects import run_flags
from .suspicion import Clean, Flagged, plausible_start

BATCH = 50  # reports in one transaction, because each transaction waits for the disk
LATE = 3600.0  # seconds after a report in which a record may still appear


class ReportRows(NamedTuple):
    """A report to add to the index.

    * stamp: see `file_stamp`
    * trouble: the error message of an unreadable report; None for a readable report
    * rows: {table: rows}
    """

    name: str
    stamp: tuple[int, int]
    began: str
    trouble: str | None
    rows: Mapping[str, list[Row]]


def update(connection: sqlite3.Connection, path: Path, references: References, by: str, again: bool) -> list[str]:
    """Updates the index with the reports of the prefix. Returns sentences for the user.

    * path: the database
    * by: the `fingerprint` of the present references and code
    * again: whether to judge reports again that were judged with another fingerprint
    """
    stamps = {report: stamp for report in folders.reports(path.parent) if (stamp := file_stamp(report))}
    wanted = {report.name: stamp for report, stamp in stamps.items()}
    stored = connection.execute("SELECT id, name, size, changed, judged_by FROM reports").fetchall()
    old = [
        number
        for number, name, *stamp, judged_by in stored
        if wanted.get(name) != tuple(stamp) or (again and judged_by != by)
    ]
    drop(connection, path, old)
    known = {name for (name,) in connection.execute("SELECT name FROM reports")}
    new = (read_rows(report, stamp, references) for report, stamp in stamps.items() if report.name not in known)
    while batch := list(islice(new, BATCH)):
        add(connection, path, batch, by)
    rows = connection.execute("SELECT trouble, judged_by FROM reports ORDER BY began, id").fetchall()
    notes = [f"one report is not used: {trouble}" for trouble, _ in rows if trouble]
    others = sum(judged_by != by for _, judged_by in rows)
    if others:
        was = "was" if others == 1 else "were"
        why = "judged with other references or by another version: to judge again, remove"
        notes.append(f"{units.counted(others, 'report')} {was} {why} {path}")
    return notes


def drop(connection: sqlite3.Connection, path: Path, reports: Sequence[int]) -> None:
    """Removes the reports with these numbers."""
    if not reports:
        return
    with changing(path), connection:
        for table in REPORT_TABLES:
            connection.executemany(f"DELETE FROM {table} WHERE report = ?", [(number,) for number in reports])
        connection.executemany("DELETE FROM reports WHERE id = ?", [(number,) for number in reports])


def read_rows(report: Path, stamp: tuple[int, int], references: References) -> ReportRows:
    """The rows of a report. For an unreadable report: the error message and no rows."""
    written = stamp[1] / 1e9
    try:
        began, rows, is_complete = report_rows(report, references, written)
    except BadInput as error:
        return ReportRows(report.name, stamp, "", str(error), {})
    is_late = not is_complete and time.time() < written + LATE
    return ReportRows(report.name, (0, 0) if is_late else stamp, began, None, rows)


def add(connection: sqlite3.Connection, path: Path, report_rows: Iterable[ReportRows], by: str) -> None:
    """Adds reports in one transaction. Reports that another process has already added are left out."""
    writer = Writer(connection)
    with changing(path), connection:
        for one in report_rows:
            cursor = connection.execute(
                "INSERT OR IGNORE INTO reports (name, size, changed, began, judged_by, trouble)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (one.name, *one.stamp, one.began, by, one.trouble),
            )
            if cursor.rowcount and cursor.lastrowid is not None:
                writer.write(cursor.lastrowid, one.rows)


def fingerprint(folder: Path | None) -> str:
    """The SHA-256 of all inputs of a verdict: the code, and the files of references in a folder."""
    found = hashlib.sha256()
    code, tables = Path(__file__).parents[1].rglob("*.py"), folder.glob("*.yaml") if folder else []
    for file in [*sorted(code), *sorted(tables)]:
        found.update(file.read_bytes())
    return found.hexdigest()


def report_rows(path: Path, references: References, written: float) -> tuple[str, dict[str, list[Row]], bool]:
    """Returns (start of the session, {table: rows}, whether all records are readable). Raises BadInput.

    The rows contain the names and sets themselves. `Writer` replaces the names and sets by numbers.

    written: modification time of the report, in seconds since 1970.
    """
    report = read_json(path, folders.CUT)
    tests: list[Row] = []
    met: list[Row] = []
    medians: list[Row] = []
    starts: list[str] = []  # of the records
    lacking: list[str] = []  # tests without their record

    def judged() -> Iterator[Judged]:
        for test in stored.case_by_case(path, report):
            one = judging.judge(test, references, None)
            then = start_time(one, began, written)
            tests.extend(test_rows(one, then))
            met.extend(node_pair_rows(one, then))
            medians.extend(series.medians(test))
            starts.extend([test.record["started"]] if test.record else [])
            is_lacking = test.lacks_record or (test.stored is None and test.record is None and test.folders)
            lacking.extend([test.name] if is_lacking else [])
            yield one

    began = stored.session_time(path, report, folders.START)
    flagged, clean, seen = run_flags(judged())
    began = began or min(starts, default="")
    began, clean = plausible_start(began, clean, written)
    rows = {"tests": tests, "devices": device_rows(clean, seen), "flagged": flag_rows(flagged), "met": met}
    rows["medians"] = medians
    return began, rows, not lacking


def start_time(judged: Judged, began: str, written: float) -> int | None:
    """The start of a test in seconds since 1970; None if unknown.

    If the node's clock agrees with ReFrame's clock, the start in the record is used. Otherwise, the start of the
    session (`began`) is used, because a wrong clock could make a result seem newer than a FAIL.
    """
    record = judged.test.record
    recorded = record["started"] if record else ""
    is_unsure = not recorded or judged.test.doubts or (began and epoch(recorded) < epoch(began) - SKEW)
    start = began if began and is_unsure else recorded
    return min(epoch(start), int(written)) if start else None


def test_rows(judged: Judged, then: int | None) -> Iterator[Row]:
    """Yields one row per node of a test. then: the start of the test.

    A test without a record has rows for the nodes of its job, if the nodes are known. A simulated fault has no rows.
    """
    test, record = judged.test, judged.test.record
    if record is not None and simulated_fault(record):
        return
    # a node out of service is not measured, and so never known good
    verdict = Verdict.INCOMPLETE if test.out_of_service else judged.verdict
    head = {"partition": test.partition, "test": test.name, "verdict": int(verdict)}
    if record is None:
        lost = [test.node] if test.node else test.job_nodes if test.measures else ()
        for node in lost if then is not None else ():
            lacks = {"seconds": 0.0, "nodes": len(lost), "run": 0, "measured": 0, "boot": "", "leaf": ""}
            sets: dict[str, Any] = {"cases": {}, "disturbed": [], "components": {}, "parts": [], "versions": {}}
            yield {**head, **lacks, **sets, "node": node, "started": then}
        return
    head |= {"started": then, "seconds": record["seconds"]}
    head["run"] = hash_number(stored.program_run(record))
    head["measured"] = hash_number([(key, record["asked_by"]) for key in stored.measurements(record)])
    head["cases"] = {name: list(case) for name, case in known_good.judged_cases(judged).items()}
    versions: dict[str, dict[str, str]] = {}
    for node, name, fact in node_facts(record):
        versions.setdefault(node, {})[name] = fact
    boots = {node["name"]: node["boot"] or "" for node in record["nodes"]}
    nodes = list(dict.fromkeys(device["node"] for device in record["devices"])) or [record["host"]["name"]]
    disturbed, components = known_good.disturbed_cells(judged), node_components(record)
    for node in nodes:
        found = {
            "node": node,
            "disturbed": [list(cell) for cell in disturbed.get(node, ())],
            "components": components.get(short(node), {}),
            "nodes": len(nodes),
            "boot": boots.get(node, ""),
            "leaf": leaf_switches(record).get(node, ""),
        }
        yield {**head, **found, "parts": component_rows(record, node), "versions": versions.get(node, {})}


def component_rows(record: Mapping[str, Any], node: str) -> list[list[Any]]:
    """Returns [kind, name, model, part, place] of each device and adapter of a node. See InstalledComponent."""
    devices = [one for one in record["devices"] if one["node"] == node and one["part"]]
    found = [
        ["device", one["label"].removeprefix(f"{node}:"), one["name"], one["part"], one["place"]] for one in devices
    ]
    adapters = [one for one in record["adapters"] if one["place"].get("node") == node]
    models = [one["part"].get("model") or one["part"].get("board") or "" for one in adapters]
    return found + [
        ["adapter", one["name"], model, one["part"], one["place"]] for one, model in zip(adapters, models, strict=True)
    ]


def leaf_switches(record: Mapping[str, Any]) -> dict[str, str]:
    """Returns {node: its leaf switch} of a record. Nodes without a known leaf switch are left out."""
    return {one["node"]: one["place"]["leaf"] for one in record["devices"] if one["place"].get("leaf")}


def node_pair_rows(judged: Judged, then: int | None) -> Iterator[Row]:
    """Yields one row of the table `met` per matrix between nodes: the pairs of nodes with a measured cell."""
    record = judged.test.record
    if record is None or simulated_fault(record):
        return
    names = sorted({device["node"] for device in record["devices"]})
    number_of = {name: number for number, name in enumerate(names)}
    label_node = {device["label"]: number_of[device["node"]] for device in record["devices"]} | number_of
    for result in record["results"] if len(names) > 1 else ():
        axes = (result["rows"], result["columns"])
        rows, columns = (np.array([label_node.get(label, -1) for label in axis]) for axis in axes)
        block = from_result(result).whole
        if block is not None:
            here, there = (ends[at] for ends, at in zip((rows, columns), block.is_status("ok").nonzero(), strict=True))
        elif result["complete"] and not has_matchings(result):
            here, there = (ends.ravel() for ends in np.meshgrid(np.unique(rows), np.unique(columns)))
        else:
            continue  # the file of the cells contains the measured pairs
        between_nodes = (here != there) & (here >= 0) & (there >= 0)
        ends = np.sort(np.stack([here[between_nodes], there[between_nodes]], axis=1), axis=1)
        pairs = np.unique(ends, axis=0).tolist()
        if pairs:
            all_met = len(pairs) == len(names) * (len(names) - 1) // 2
            meeting = {"nodes": names, "pairs": [] if all_met else pairs}
            yield {"partition": judged.test.partition, "started": then, "meeting": meeting}


def device_rows(clean: Clean, seen: Mapping[Device, Sighting]) -> list[Row]:
    """Returns the rows of the table `devices`: one row per node, with the sightings and clean scopes of its devices.

    The clean scopes of a device are the scopes in which all cells of the device passed; see `scopes`. Devices of a node
    with the same clean scopes share one entry: [clean scopes, names of the devices].
    """
    places: dict[str, list[list[str]]] = {}
    good: dict[str, dict[tuple[Scope, ...], list[str]]] = {}
    for (node, name), place in sorted(seen.items()):
        places.setdefault(node, []).append([name, *place])
    for (node, name), found in sorted(clean.items()):
        good.setdefault(node, {}).setdefault(tuple(sorted(found)), []).append(name)
    sets = {node: [[list(map(list, of)), names] for of, names in each.items()] for node, each in good.items()}
    return [{"node": node, "seen": found, "clean": sets.get(node, [])} for node, found in places.items()]


def flag_rows(flagged: Flagged) -> list[Row]:
    """Returns one row per flagged device and scope of a run."""
    return [
        {"node": node, "device": name, "scope": list(scope), "reason": reason}
        for (node, name), flags in flagged.items()
        for scope, reason in flags.items()
    ]


def hash_number(key: Any) -> int:
    """A 63-bit hash of a key. The hash is the same in every process."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big") >> 1


def file_stamp(file: Path) -> tuple[int, int] | None:
    """Returns (size in bytes, time of the last change in ns) of a file; None if the file is gone."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
