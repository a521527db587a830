"""Completes ReFrame's JUnit file with skipped tests, errors, and the notices of a run."""

import os
import xml.etree.ElementTree as Tree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import clean

SKIPPED = ("skip",)
NO_FAILURE = ("pass", "xfail")


def correct_file(path: Path, report: dict[str, Any]) -> str:
    """Adds skipped tests and errors to the JUnit file of a run. Returns "" or the note of `change_suites`.

    report: ReFrame's report of the run.
    """

    def change(suites: Sequence[Tree.Element]) -> None:
        for suite, run in zip(suites, report["runs"], strict=True):
            add_results(suite, run["testcases"])

    return change_suites(path, change)


def add_run_notices(path: Path, lines: Sequence[str]) -> str:
    """Adds the notices of a run ("SIMULATED: …") to its JUnit file. Returns "" or the note of `change_suites`."""

    def change(suites: Sequence[Tree.Element]) -> None:
        for suite in suites:
            add_notices(suite, lines)

    return change_suites(path, change) if lines else ""


def change_suites(path: Path, change: Callable[[Sequence[Tree.Element]], None]) -> str:
    """Applies `change` to the suites of a JUnit file, and writes the file. Returns "" on success.

    On failure, the file is removed. The returned note tells the user why.
    """
    if not path.is_file():
        return ""
    try:
        # the encoding in ReFrame's file is 'utf8', which expat does not know
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
    """Adds one property per notice, such as linkmatrix.simulated = "--simulate-fault … made this result. …"."""
    properties = suite.find("properties")
    if properties is None:  # properties must be first in the schema of JUnit
        properties = Tree.Element("properties")
        suite.insert(0, properties)
    for line in lines:
        name, _, value = line.partition(": ")
        name = f"linkmatrix.{name.lower().replace(' ', '_')}"
        Tree.SubElement(properties, "property", {"name": clean(name), "value": clean(value)})


def add_results(suite: Tree.Element, cases: list[dict[str, Any]]) -> None:
    """Adds the elements `skipped` and `error` to the tests of a suite, and their counts to the suite.

    cases: the test cases of the report. Raises ValueError if the suite has another number of tests.
    """
    counts = {"skipped": 0, "error": 0}
    for test, case in zip(suite.findall("testcase"), cases, strict=True):
        if case["result"] in NO_FAILURE or test.find("failure") is not None:
            continue
        kind = "skipped" if case["result"] in SKIPPED else "error"
        counts[kind] += 1
        reason = str(case.get("fail_reason") or f"ReFrame ended it with '{case['result']}'")
        Tree.SubElement(test, kind, {"type": clean(str(case["result"])), "message": clean(reason)})
    suite.set("skipped", str(counts["skipped"]))
    suite.set("errors", str(counts["error"]))
