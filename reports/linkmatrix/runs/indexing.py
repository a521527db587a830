"""The rows of a report in the index. `index_tables` stores the rows, and `index` reads them.

Content that is the same on most days, such as the components of a node, is stored once, as JSON under its digest (table
`sets`). A test has a row for each of its nodes.
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..files import read_json
from ..judge.inventory_diff import facts_of_nodes
from ..judge.verdicts import Verdict
from ..record.checking import is_of_matchings
from ..record.matrix import from_result
from ..record.names import short, simulated_fault
from ..references.tables import References
from . import folders, judging, known_good, series, stored
from .folders import SKEW
from .judging import Judged
from .parts import Sighting, components_of
from .questions import Question
from .suspects import of_run
from .suspicion import Clean, Device, Flagged, dated

#: Of the tables below. An index of another version is made anew.
VERSION = 11
#: reports: those of the prefix, with by what they were judged, and why one cannot be read. tests: a row for each node
#: of a test; run: the run of the program that measured it, which several tests may share; cases: `known_good.Case` of
#: each test case; disturbed: its DISTURBED cells; components: of the node, as `parts.components_of` has them.
#: devices: of a node in a report, where its devices were (seen), and which of them answered which questions clean;
#: flagged: why a device is flagged for a question. met: the nodes of a test between which a cell was measured, and
#: the pairs of them by their numbers there, none where all met. medians: as `series.COLUMNS`.
TABLES = """
CREATE TABLE reports (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, changed INTEGER, began TEXT,
                      judged_by TEXT, trouble TEXT);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE sets (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, content TEXT);
CREATE TABLE tests (report INTEGER, node INTEGER, partition INTEGER, test INTEGER, started INTEGER, seconds REAL,
                    verdict INTEGER, nodes INTEGER, run INTEGER, measured INTEGER, boot INTEGER, leaf INTEGER,
                    cases INTEGER, disturbed INTEGER, components INTEGER, parts INTEGER, versions INTEGER);
CREATE TABLE devices (report INTEGER, node INTEGER, seen INTEGER, clean INTEGER);
CREATE TABLE flagged (report INTEGER, node INTEGER, device TEXT, question INTEGER, reason TEXT);
CREATE TABLE met (report INTEGER, partition INTEGER, started INTEGER, meeting INTEGER);
CREATE TABLE medians (report INTEGER, testcase INTEGER, size_bytes INTEGER, unit INTEGER, link_class INTEGER,
                      variant INTEGER, partition INTEGER, started TEXT, value REAL, host INTEGER, facts INTEGER,
                      beside INTEGER);
CREATE INDEX tests_of_reports ON tests (report);
CREATE INDEX tests_of_nodes ON tests (node, started);
CREATE INDEX devices_of_nodes ON devices (node);
CREATE INDEX devices_of_reports ON devices (report);
"""
OF_REPORTS = ("tests", "devices", "flagged", "met", "medians")  # tables with rows of a report

Row = dict[str, Any]


def rows_of(path: Path, references: References, written: float) -> tuple[str, dict[str, list[Row]], bool]:
    """(start of the session, {table: rows}, whether each record is readable) of a report. Raises BadInput.

    Names and sets are not yet numbers. written: the time of the report's file, in seconds since 1970.
    """
    report = read_json(path, folders.CUT)
    tests: list[Row] = []
    met: list[Row] = []
    medians: list[Row] = []
    first: list[str] = []  # when the records began
    lacking: list[str] = []  # tests without their record

    def judged() -> Iterator[Judged]:
        for test in stored.case_by_case(path, report):
            one = judging.judge(test, references, None)
            then = moment(one, began, written)
            tests.extend(rows_of_test(one, then))
            met.extend(rows_of_meetings(one, then))
            medians.extend(series.medians(test))
            first.extend([test.record["started"]] if test.record else [])
            is_lacking = test.lacks_record or (test.stored is None and test.record is None and test.folders)
            lacking.extend([test.name] if is_lacking else [])
            yield one

    began = stored.session_time(path, report, folders.START)
    flagged, clean, seen = of_run(judged())
    began = began or min(first, default="")
    began, clean = dated(began, clean, written)
    rows = {"tests": tests, "devices": devices_of(clean, seen), "flagged": flags_of(flagged), "met": met}
    rows["medians"] = medians
    return began, rows, not lacking


def moment(one: Judged, began: str, written: float) -> int | None:
    """The start of a test in seconds since 1970; None if unknown.

    The clock of the node is used if it agrees with ReFrame's clock. A clock that is behind would hide a FAIL behind an
    earlier PASS, and a clock that is ahead would hide a later FAIL.
    """
    record = one.test.record
    recorded = record["started"] if record else ""
    unsure = not recorded or one.test.doubts or (began and epoch(recorded) < epoch(began) - SKEW)
    said = began if began and unsure else recorded
    return min(epoch(said), int(written)) if said else None


def rows_of_test(one: Judged, then: int | None) -> Iterator[Row]:
    """A row for each node of a test. A test without a record has rows for the nodes of its job, if they are known.

    A simulated fault has no rows, because it changes no state.
    """
    test, record = one.test, one.test.record
    if record is not None and simulated_fault(record):
        return
    # a node out of service is not measured, and so never known good
    verdict = Verdict.INCOMPLETE if test.out_of_service else one.verdict
    head = {"partition": test.partition, "test": test.name, "verdict": int(verdict)}
    if record is None:
        lost = [test.node] if test.node else test.job_nodes if test.measures else ()
        for node in lost if then is not None else ():
            lacks = {"seconds": 0.0, "nodes": len(lost), "run": 0, "measured": 0, "boot": "", "leaf": ""}
            sets: dict[str, Any] = {"cases": {}, "disturbed": [], "components": {}, "parts": [], "versions": {}}
            yield {**head, **lacks, **sets, "node": node, "started": then}
        return
    head |= {"started": then, "seconds": record["seconds"]}
    head["run"] = number(stored.program_run(record))
    head["measured"] = number([(key, record["asked_by"]) for key in stored.measurements(record)])
    head["cases"] = {name: list(case) for name, case in known_good.cases_of(one).items()}
    versions: dict[str, dict[str, str]] = {}
    for node, name, fact in facts_of_nodes(record):
        versions.setdefault(node, {})[name] = fact
    boots = {node["name"]: node["boot"] or "" for node in record["nodes"]}
    nodes = list(dict.fromkeys(device["node"] for device in record["devices"])) or [record["host"]["name"]]
    disturbed, components = known_good.disturbed_cells(one), components_of(record)
    for node in nodes:
        found = {
            "node": node,
            "disturbed": [list(cell) for cell in disturbed.get(node, ())],
            "components": components.get(short(node), {}),
            "nodes": len(nodes),
            "boot": boots.get(node, ""),
            "leaf": leaves_of(record).get(node, ""),
        }
        yield {**head, **found, "parts": parts_of(record, node), "versions": versions.get(node, {})}


def parts_of(record: Mapping[str, Any], node: str) -> list[list[Any]]:
    """[kind, name, model, part, place] of each device and adapter of a node, as in the record."""
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
    """{node: its leaf switch} of the nodes whose leaf switch is in the record."""
    return {one["node"]: one["place"]["leaf"] for one in record["devices"] if one["place"].get("leaf")}


def rows_of_meetings(one: Judged, then: int | None) -> Iterator[Row]:
    """A row for each matrix between nodes, with the pairs of nodes between which a cell was measured."""
    record = one.test.record
    if record is None or simulated_fault(record):
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


def devices_of(clean: Clean, seen: Mapping[Device, Sighting]) -> list[Row]:
    """A row for each node: the slots of its devices, and [clean questions, devices]."""
    places: dict[str, list[list[str]]] = {}
    good: dict[str, dict[tuple[Question, ...], list[str]]] = {}
    for (node, name), place in sorted(seen.items()):
        places.setdefault(node, []).append([name, *place])
    for (node, name), found in sorted(clean.items()):
        good.setdefault(node, {}).setdefault(tuple(sorted(found)), []).append(name)
    sets = {node: [[list(map(list, of)), names] for of, names in each.items()] for node, each in good.items()}
    return [{"node": node, "seen": found, "clean": sets.get(node, [])} for node, found in places.items()]


def flags_of(flagged: Flagged) -> list[Row]:
    """A row for each device and question that a run flags."""
    return [
        {"node": node, "device": name, "question": list(question), "reason": reason}
        for (node, name), of in flagged.items()
        for question, reason in of.items()
    ]


def epoch(text: str) -> int:
    """The time of a record in seconds since 1970."""
    return int(datetime.fromisoformat(text.removesuffix("Z") + "+00:00").timestamp())


def number(key: Any) -> int:
    """A key as a number of 63 bits, the same in every process."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big") >> 1


def stamp_of(file: Path) -> tuple[int, int] | None:
    """(bytes, time of the last change in ns) of a file; None if the file is gone."""
    try:
        said = file.stat()
    except OSError:
        return None
    return said.st_size, said.st_mtime_ns
