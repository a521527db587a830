"""ReFrame's JUnit file, in which only what failed looks so: here also what was skipped, aborted or lost its fixture.

ReFrame 4.10 writes each of those as a test that passed. A file that cannot be mended is removed: none is better than a
wrong one. The notices on a run, such as a simulated fault, become properties of each suite.
"""

import os
import xml.etree.ElementTree as Tree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SKIPPED = ("skip",)
NO_FAILURE = ("pass", "xfail")


def mended(path: Path, report: dict[str, Any]) -> str:
    """Mends the file of the run of this report; a note where it cannot be, else ""."""

    def change(suites: Sequence[Tree.Element]) -> None:
        for suite, run in zip(suites, report["runs"], strict=True):
            mend(suite, run["testcases"])

    return changed(path, change)


def noticed(path: Path, lines: Sequence[str]) -> str:
    """Writes the notices on a run ("SIMULATED: …") into its file; a note where that fails, else ""."""

    def change(suites: Sequence[Tree.Element]) -> None:
        for suite in suites:
            add_notices(suite, lines)

    return changed(path, change) if lines else ""


def changed(path: Path, change: Callable[[Sequence[Tree.Element]], None]) -> str:
    """Changes the suites of a file, or removes the file and returns a note on why; "" where there is no file."""
    if not path.is_file():
        return ""
    try:
        # ReFrame calls its encoding 'utf8', of which expat knows no more than ASCII
        tree = Tree.parse(path, Tree.XMLParser(encoding="utf-8"))
        change(tree.getroot().findall("testsuite"))
        new = path.with_name(f".{path.name}.{os.getpid()}")
        tree.write(new, encoding="utf-8", xml_declaration=True)
        new.replace(path)
    except (OSError, ValueError, KeyError, TypeError, Tree.ParseError) as error:
        path.unlink(missing_ok=True)
        return f"note: {path.name} was removed, because it does not fit the report: {type(error).__name__} {error}"
    return ""


def add_notices(suite: Tree.Element, lines: Sequence[str]) -> None:
    """Adds a property for each notice: {"linkmatrix.simulated": "--simulate-fault … made this result. …"}."""
    properties = suite.find("properties")
    if properties is None:  # the schema has them first
        properties = Tree.Element("properties")
        suite.insert(0, properties)
    for line in lines:
        name, _, value = line.partition(": ")
        name = f"linkmatrix.{name.lower().replace(' ', '_')}"
        Tree.SubElement(properties, "property", {"name": name, "value": value})


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
