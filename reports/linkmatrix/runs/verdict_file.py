"""verdict.json: the verdict of one test. The check writes the file once, next to record.json.

ReFrame's report contains the SHA-256 of verdict.json, and verdict.json contains the SHA-256 of the record. A changed
file and a record of another run are therefore refused.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import BadInput
from ..files import read_whole, write_whole
from ..judge.disturbances import ignored, others_entries
from ..judge.evaluate import Evaluation
from ..judge.findings import findings
from ..judge.run_findings import Fact
from ..judge.test_verdict import CheckFacts, TestVerdict
from ..judge.verdicts import BY_WORD, WORDS, Reason, Verdict
from ..record import reading
from ..record.names import simulated_fault
from ..references.pair_classes import NO_CLASSES, PairClasses
from ..references.tables import Reference, References

SCHEMA = "linkmatrix.verdict/1"
SCHEMA_FILE = Path(__file__).with_name("verdict.schema.json")
FILE = "verdict.json"
MOST_BYTES = 256 * 1024 * 1024
MOST_CELLS = 32  # stored cells per result: the worst
REMEDY = "the file is damaged or was changed: measure again"

Entries = Mapping[str, Mapping[str, list[Any]]]  # {test case: {performance variable: reference}}


@dataclass(frozen=True)
class StoredVerdict:
    """The stored verdict of a test.

    * found: the verdict with its reasons and facts, but without the evaluation of the cells
    * check: the facts that the check found, and that the record does not contain
    * references: the references with which the cells were compared, without the name of the check
    * record_sha256: the SHA-256 of record.json; None without a record
    * session: UUID of the ReFrame session
    * simulated: the simulated fault; "" if there is none
    * test: the display name of the test
    """

    found: TestVerdict
    check: CheckFacts
    references: References
    record_sha256: str | None
    session: str
    simulated: str
    test: str


@dataclass(frozen=True)
class JudgedTest:
    """The test to which a verdict belongs.

    * test: the display name of the test
    * session: UUID of the ReFrame session
    * record: the checked record; None without a record
    * record_sha256: the SHA-256 of the record's file; None without a record
    """

    test: str
    session: str
    record: Mapping[str, Any] | None = None
    record_sha256: str | None = None


def sha256(content: bytes) -> str:
    """The SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def verdict_content(
    subject: JudgedTest, test_verdict: TestVerdict, check: CheckFacts, references: References
) -> dict[str, Any]:
    """The content of verdict.json.

    references: all references. Only the references for the test cases of the record are stored.
    """
    record: Mapping[str, Any] = subject.record or {"results": []}
    entries, classes = reference_entries(record, references, test_verdict.table)
    return {
        "schema": SCHEMA,
        "linkmatrix": __version__,
        "session": subject.session,
        "test": subject.test,
        "verdict": WORDS[test_verdict.verdict],
        "reasons": [reason_json(one) for one in test_verdict.reasons],
        "testcases": testcase_entries(record, test_verdict.evaluation),
        "findings": [one._asdict() for one in findings(record, test_verdict.evaluation)]
        if test_verdict.evaluation
        else [],
        "facts": [{**one._asdict(), "verdict": WORDS[one.verdict]} for one in test_verdict.facts],
        "check": {
            "testcase": check.testcase,
            "reasons": [reason_json(one) for one in check.reasons],
            "tolerated_counters": list(check.tolerated_counters),
            "measures": check.measures,
        },
        "record_sha256": subject.record_sha256,
        "references": {
            "table": test_verdict.table,
            "known": references.has_table(test_verdict.table),
            "sha256": references_sha256(entries),
            "entries": entries,
            "classes": classes.texts(),
        },
        "simulated": simulated_fault(record),
        "disturbances": [one for others in others_entries(record) for one in others.get("disturbances") or ()],
        "ignored_processes": ignored(record),
    }


def reason_json(reason: Reason) -> dict[str, str]:
    """Converts a reason to JSON."""
    return {"verdict": WORDS[reason.verdict], "sentence": reason.sentence}


def testcase_entries(record: Mapping[str, Any], evaluation: Evaluation | None) -> list[dict[str, Any]]:
    """Returns one entry of verdict.json per result: its verdict, its number of cells per verdict, its worst cells."""
    matrices = evaluation.matrices if evaluation is not None else ()
    return [
        {
            "testcase": result["testcase"],
            "size_bytes": result["size_bytes"],
            "verdict": WORDS[matrix.verdict],
            "counts": {WORDS[verdict]: count for verdict, count in matrix.counts.items() if count},
            "cells": [
                {"source": row, "destination": column, "verdict": WORDS[cell.verdict]}
                | {"value": cell.value, "reason": cell.reason}
                for (row, column), cell in matrix.worst_cells(MOST_CELLS)[0]
            ],
        }
        for result, matrix in zip(record["results"], matrices, strict=False)
    ]


def reference_entries(
    record: Mapping[str, Any], references: References, table: str
) -> tuple[dict[str, dict[str, list[Any]]], PairClasses]:
    """Returns (references of a table for the test cases of a record, link classes of the pairs in the references)."""
    found: dict[str, dict[str, list[Any]]] = {}
    classes = NO_CLASSES
    for result in record["results"] if table else ():
        known = references.for_result(record, result)
        for name, one in known.table(table, result["testcase"]).items():
            entry = [one.value, one.lower, one.upper, one.unit, *filter(None, [one.waiver])]
            found.setdefault(result["testcase"], {})[name] = entry
        classes = known.pair_classes(table, result["testcase"]) or classes
    return found, classes


def references_sha256(entries: Entries) -> str:
    """The SHA-256 of references. The references are written as JSON with sorted keys."""
    return sha256(json.dumps(entries, sort_keys=True, separators=(",", ":")).encode())


def write(folder: Path, content: Mapping[str, Any]) -> str:
    """Writes verdict.json into a folder, and returns its SHA-256. Raises OSError."""
    text = json.dumps(content, indent=1, allow_nan=False).encode()
    write_whole(folder / FILE, text)
    return sha256(text)


def record_digest(path: Path) -> str:
    """The SHA-256 of the record at `path`; "" without a record."""
    return sha256(read_whole(path, reading.MOST_BYTES)) if path.is_file() else ""


def beside_record(path: Path) -> StoredVerdict | None:
    """The stored verdict next to the record at `path`; None if there is none. Raises BadInput."""
    file = path.with_name(FILE)
    found = read(file) if file.is_file() else None
    return found if found is not None and found.record_sha256 == record_digest(path) else None


def read(path: Path, digest: str = "") -> StoredVerdict:
    """Reads verdict.json. Raises BadInput for an invalid file, or if its SHA-256 differs from `digest`.

    digest: the SHA-256 in ReFrame's report; "" if unknown.
    """
    text = read_whole(path, MOST_BYTES)
    if digest and sha256(text) != digest:
        raise BadInput(f"{path} is not the verdict of this test: ReFrame's report contains a different SHA-256")
    try:
        content = reading.parsed(text.decode("utf-8"))
        check_schema(content)
        return parse_verdict(content)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is no {SCHEMA}: {str(error)[:200]}: {REMEDY}") from None


def check_schema(content: Any) -> None:
    """Raises ValueError if the content does not match the schema. The message contains the position."""
    import jsonschema  # slow to import

    error = jsonschema.exceptions.best_match(validator().iter_errors(content))
    if error is not None:
        place = ".".join(str(step) for step in error.absolute_path) or "the file"
        raise ValueError(f"{place}: {error.message[:160]}")


@cache
def validator() -> Any:
    """The validator of the schema of verdict.json."""
    import jsonschema

    return jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def parse_verdict(content: Mapping[str, Any]) -> StoredVerdict:
    """Converts the content of verdict.json. The content must already match the schema."""
    references, check = content["references"], content["check"]
    tables = {
        (references["table"], testcase): {name: Reference(*entry) for name, entry in entries.items()}
        for testcase, entries in references["entries"].items()
    }
    if references.get("known"):
        tables.setdefault((references["table"], ""), {})  # a test case that a known table lacks needs no reference
    found = TestVerdict(
        BY_WORD[content["verdict"]],
        parse_reasons(content["reasons"]),
        tuple(parse_fact(one) for one in content["facts"]),
        None,
        references["table"],
    )
    return StoredVerdict(
        found=found,
        check=CheckFacts(
            check["testcase"], parse_reasons(check["reasons"]), tuple(check["tolerated_counters"]), check["measures"]
        ),
        references=References(tables, {(references["table"],): PairClasses.read(references.get("classes", {}))}),
        record_sha256=content["record_sha256"],
        session=content["session"],
        simulated=content["simulated"],
        test=content["test"],
    )


def parse_reasons(content: list[dict[str, str]]) -> tuple[Reason, ...]:
    """Converts reasons from JSON."""
    return tuple(Reason(BY_WORD[one["verdict"]], one["sentence"]) for one in content)


def parse_fact(content: Mapping[str, Any]) -> Fact:
    """Converts a fact from JSON. Fields that only later versions know are ignored."""
    known = {name: content[name] for name in Fact._fields if name in content}
    verdict: Verdict = BY_WORD[content["verdict"]]
    return Fact(**{**known, "verdict": verdict, "cells": tuple(known.get("cells", (0, 0)))})
