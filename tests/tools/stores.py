"""Simulated stores of runs: one report per day with a record per node, as a sweep writes them."""

import copy
import json
import socket
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.runs.index import Index

DAY = 86400
FIRST = 1763683200  # 2025-11-21T00:00:00Z, when day 1 begins
BEGAN, MEASURED = 6000, 6622  # seconds into a day, when ReFrame and the programs began


def of_node(record: dict[str, Any], node: str) -> dict[str, Any]:
    """A copy of a record for another node."""
    content = copy.deepcopy(record)
    content["host"]["name"] = node
    for one in content["nodes"]:
        one["name"] = node
    for device in content["devices"]:
        device["node"] = device["place"]["node"] = node
        if "serial" in device["part"]:
            device["part"]["serial"] += f"-{node}"
    for adapter in content["adapters"]:
        adapter["place"]["node"] = node
    return content


def disturbed(node: str, *names: str, where: str = "gpu1") -> dict[str, Any]:
    """The `others` of a result: processes, named "hog" by default, with a context on a device of the node."""
    pids = {6129 + number: name for number, name in enumerate(names or ("hog",))}
    facts = {"where": where, "on": "device", "user": "root", "bytes": 1e9, "seconds": None}
    return {
        "seconds": 4.0,
        "shared": True,
        "uses": [],
        "nodes": [],
        "processes": [{**facts, "pid": pid, "name": name} for pid, name in pids.items()],
        "untold": [],
        "disturbances": [{"node": node, "kind": "context", "where": where, "share": None, "pids": list(pids)}],
    }


def tests_in(index: Index) -> list[SimpleNamespace]:
    """The tests on nodes in an index, in the order of time."""
    rows = index.connection.execute(
        "SELECT name AS report, node, partition, started, seconds, verdict, nodes, run, boot, leaf, cases, parts,"
        " versions FROM tests JOIN reports ON report = reports.id ORDER BY started"
    )
    columns = [column for column, *_ in rows.description]
    found = [SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in rows]
    for one in found:
        one.verdict = Verdict(one.verdict)
        one.cases, one.parts, one.versions = (
            read(number)
            for read, number in (
                (index.cases_in, one.cases),
                (index.parts_in, one.parts),
                (index.set_content, one.versions),
            )
        )
        for name in ("node", "partition", "boot", "leaf"):
            setattr(one, name, index.names[getattr(one, name)])
    return found


def began(prefix: Path, **changes: Any) -> Path:
    """Write the file that `linkmatrix run` writes at its start, and return the file.

    By default, its process has ended.
    """
    run = {"mode": "quick", "system": "alpha", "stamp": "20261121T015000Z-7", "started": "2026-11-21T01:50:00Z"}
    file = prefix / "runs" / f"began-{run['stamp']}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({**run, "pid": 2**22 + 1, "host": socket.gethostname(), **changes}), encoding="utf-8")
    return file


class Store:
    """A folder of stored runs. references: the folder of their references."""

    def __init__(self, prefix: Path, references: Path) -> None:
        self.prefix, self.references = prefix, references

    def add(
        self,
        number: int,
        records: Iterable[dict[str, Any]],
        result: str = "pass",
        change: Callable[[dict[str, Any]], None] = lambda content: None,
        began: float | None = None,
        name: str = "node_sweep %node={}",
        partition: str = "alpha:gpu",
    ) -> Path:
        """Write the report of a day with one test case per record, and return its path.

        began: the start of the day in seconds since 1970, instead of the number of the day.
        """
        began = FIRST + (number - 1) * DAY if began is None else began
        system, _, of = partition.partition(":")
        cases = []
        for content in map(copy.deepcopy, records):
            node = content["host"]["name"]
            content["started"] = f"{datetime.fromtimestamp(began + MEASURED, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
            change(content)
            reading.check(content)
            place = self.prefix / "output" / str(number) / node
            place.mkdir(parents=True, exist_ok=True)
            (place / "record.json").write_text(json.dumps(content), encoding="utf-8")
            cases.append(
                {"name": "node_sweep", "display_name": name.format(node), "result": result, "environ": "gnu"}
                | {"outputdir": str(place), "stagedir": str(place), "system": system, "partition": of}
                | {"reference_name": "hgx", "on": node, "job_nodelist": [node], "keep_files": ["record.json"]}
            )
        session = {"time_start_unix": began + BEGAN, "uuid": f"u{number}"}
        file = self.prefix / "reports" / f"run-report-{number}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"session_info": session, "runs": [{"testcases": cases}]}), encoding="utf-8")
        return file
