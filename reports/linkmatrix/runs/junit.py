"""ReFrame's JUnit file, in which only what failed looks so: here also what was skipped, aborted or lost its fixture.

ReFrame 4.10 writes each of those as a test that passed. A file that cannot be mended is removed: none is better than a
wrong one.
"""

import os
import xml.etree.ElementTree as Tree
from pathlib import Path
from typing import Any

SKIPPED = ("skip",)
NO_FAILURE = ("pass", "xfail")


def mended(path: Path, report: dict[str, Any]) -> str:
    """Mends the file of the run of this report; a note where it cannot be, else ""."""
    if not path.is_file():
        return ""
    try:
        # ReFrame calls its encoding 'utf8', of which expat knows no more than ASCII
        tree = Tree.parse(path, Tree.XMLParser(encoding="utf-8"))
        suites = tree.getroot().findall("testsuite")
        for suite, run in zip(suites, report["runs"], strict=True):
            mend(suite, run["testcases"])
        new = path.with_name(f".{path.name}.{os.getpid()}")
        tree.write(new, encoding="utf-8", xml_declaration=True)
        new.replace(path)
    except (OSError, ValueError, KeyError, TypeError, Tree.ParseError) as error:
        path.unlink(missing_ok=True)
        return f"note: {path.name} was removed, because it does not fit the report: {type(error).__name__} {error}"
    return ""


def mend(suite: Tree.Element, cases: list[dict[str, Any]]) -> None:
    """Adds to each test of a suite what became of it, and counts them. Raises ValueError where they do not fit."""
    counts = {"skipped": 0, "error": 0}
    for test, case in zip(suite.findall("testcase"), cases, strict=True):
        if case["result"] in NO_FAILURE or test.find("failure") is not None:
            continue
        kind = "skipped" if case["result"] in SKIPPED else "error"
        counts[kind] += 1
        reason = str(case.get("fail_reason") or f"ReFrame ended it with '{case['result']}'")
        Tree.SubElement(test, kind, {"type": str(case["result"]), "message": reason})
    suite.set("skipped", str(counts["skipped"]))
    suite.set("errors", str(counts["error"]))
