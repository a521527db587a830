"""The runs under a contract, as a bundle holds them: each report of ReFrame, and the record of each of its test cases.

`runs.json` has an entry for each run that was begun under the contract, written before it begins: one that left no
report, or whose report is gone, is seen too.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import read_json, refuse_repeats, write_whole
from ..runs import stored, verdict_file
from ..runs.stored import Run
from .bundle import RUNS
from .terms import WORD, Terms, canonical

SCHEMA = "linkmatrix.contract-runs/1"
NAME = re.compile(r"run-report-[A-Za-z0-9_.-]{1,100}\.json")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Begun:
    """A run that was begun under a contract: when, and its report with its SHA-256, None and "" where it left none."""

    began: str
    report: str | None = None
    sha256: str = ""


@dataclass(frozen=True)
class Session:
    """A run under a contract with what it measured; run: None where it left no report."""

    begun: Begun
    run: Run | None = None


def to_json(terms: Terms, begun: list[Begun]) -> bytes:
    """`runs.json`."""
    return canonical({"schema": SCHEMA, "contract": terms.digest, "runs": [vars(one) for one in begun]})


def of_json(content: bytes, terms: Terms, name: str) -> list[Begun]:
    """The runs that `runs.json` has. Raises BadInput for those of another contract."""
    try:
        said = json.loads(content, object_pairs_hook=refuse_repeats)
        runs = [Begun(**one) for one in said["runs"]]
        if said["schema"] != SCHEMA or to_json(terms, runs) != canonical(said):
            raise ValueError(f"it is of the contract {str(said['contract'])[:12]}, not of {terms.digest[:12]}")
        for one in runs:
            if not TIME.fullmatch(one.began) or (one.report is not None and not NAME.fullmatch(one.report)):
                raise ValueError(f"the run of {one.began[:30]} is not as it was written")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise BadInput(f"{name} has no runs of this contract: {str(error)[:160]}") from None
    return runs


def is_under(report: bytes, terms: Terms) -> bool:
    """Was the ReFrame of a report told the digest of the contract when it began?"""
    told = f"{WORD}{terms.digest}"
    try:
        return told.encode() in report and told in str(json.loads(report)["session_info"]["cmdline"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


def text_of(when: datetime) -> str:
    """A time in UTC, as `runs.json` has it."""
    return f"{when:%Y-%m-%dT%H:%M:%SZ}"


def began(report: Path) -> str:
    """When the session of a report began, by ReFrame; when it was written, where it does not say. Raises BadInput."""
    with stored.of_reframe(report):
        said = read_json(report)["session_info"].get("time_start_unix")
        seconds = said if isinstance(said, (int, float)) else report.stat().st_mtime
        return text_of(datetime.fromtimestamp(seconds, timezone.utc))


def member_of(report: int, run: int, case: int) -> str:
    """The folder of the record of a test case in a bundle, by the place of the case in its report."""
    return f"records/{report}-{run}-{case}"


def cases_of(content: Mapping[str, Any], path: Path) -> list[tuple[int, int, dict[str, Any]]]:
    """(attempt of ReFrame, number of the case, the case) of a report. Raises BadInput."""
    with stored.of_reframe(path):
        return [
            (number, place, {**case})
            for number, attempt in enumerate(content["runs"])
            for place, case in enumerate(attempt["testcases"])
        ]


@contextmanager
def opened(members: Mapping[str, bytes], terms: Terms) -> Iterator[tuple[list[Session], str]]:
    """(the sessions of a bundle, the folder in which their records are files while it is open). Raises BadInput."""
    begun = of_json(members[RUNS], terms, RUNS)
    with tempfile.TemporaryDirectory(prefix="linkmatrix-") as folder:
        root = Path(folder).resolve()
        for name, content in members.items():
            if name.startswith("records/"):
                write_whole(root / name, content, lasting=False)
        try:
            found = [session(members, terms, root, number, one) for number, one in enumerate(begun, 1)]
        except BadInput as error:
            raise BadInput(str(error).replace(f"{root}/", "")) from None
        yield found, f"{root}/"


def session(members: Mapping[str, bytes], terms: Terms, root: Path, number: int, begun: Begun) -> Session:
    """One of the sessions. Raises BadInput for a report of another contract, or that is none."""
    name = f"reports/{number}.json"
    if begun.report is None or name not in members:
        return Session(begun)
    if not is_under(members[name], terms):
        raise BadInput(f"{name} is of no run under the contract {terms.digest[:12]}: measure with contract run")
    path = root / name
    content = json.loads(members[name])
    runs: list[dict[str, Any]] = []
    for attempt, place, case in cases_of(content, path):
        folder = root / member_of(number, attempt, place)
        verdict = {"verdict_file": str(folder / verdict_file.FILE)} if "verdict_file" in case else {}
        runs.append({"run_index": attempt, **case, "outputdir": str(folder), "stagedir": str(folder), **verdict})
    return Session(begun, stored.every_case(path, {**content, "runs": [{"testcases": runs}]}))
