"""Reads the JSON of `dcgmi diag -j`, of DCGM 2 to 4. Each test that did not pass becomes a finding of DCGM.

A result of DCGM 4 names its device by `entity_group` and `entity_id`. Earlier versions use `gpu_id` or `gpu_ids`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..record.units import first
from .table import Reading

PROGRAM = "dcgmi_diag"
HEADS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
VERSIONS = {"DCGM": ("version", "DCGM Version"), "driver": ("Driver Version Detected", "Driver Version")}
PASSED, SKIPPED = ("pass", "passed"), ("skip", "skipped", "not run", "notrun")
MOST_FINDINGS, MOST_TEXT, MOST_GPUS = 200, 300, 128


def read_json(content: Mapping[str, Any]) -> Reading:
    """Read a report from the content of a JSON file."""
    block = next(content[head] for head in HEADS if head in content)
    reading = Reading("")
    run = reading.run(PROGRAM, 1)
    run.reported = True
    run.software |= versions(content, block)
    skipped: dict[str, None] = {}
    passed = 0
    for test, result in results(block):
        status = clean(result.get("status", "")).lower()
        gpus = gpu_labels(result)
        for label in gpus:
            run.states.setdefault(label, {})
        if status in SKIPPED:
            skipped[test] = None
        elif status in PASSED:
            passed += 1
        elif len(run.findings) < MOST_FINDINGS:
            sentence = ": ".join(filter(None, [f"{test} {status or 'without a status'}", failure_reason(result)]))
            run.findings.append({"program": PROGRAM, "component": ", ".join(gpus) or "node", "sentence": sentence})
    if block.get("runtime_error"):
        run.problems.append(f"DCGM reports a failure: {clean(block['runtime_error'])}")
    if not passed and not run.findings:
        run.problems.append("no test of DCGM passed or failed: DCGM tested nothing")
    if skipped:
        run.notes.append(f"DCGM did not run: {', '.join(first(list(skipped)))}")
    run.states = dict(sorted(run.states.items(), key=lambda item: int(item[0][3:])))
    return reading


def versions(content: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, str]:
    """Returns {"DCGM" or "driver": version}. The JSON keys of the versions depend on the version of DCGM."""
    metadata = content.get("metadata")
    places = [content, block, metadata if isinstance(metadata, dict) else {}]
    found = {
        name: next((block[key] for block in places for key in keys if key in block), None)
        for name, keys in VERSIONS.items()
    }
    return {name: clean(value) for name, value in found.items() if isinstance(value, str)}


def results(block: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields (name of the test, result) for each tested entity."""
    for category in dicts_in(block["test_categories"]):
        for test in dicts_in(category.get("tests")):
            entries = dicts_in(test.get("results"))
            summary = test.get("test_summary")
            for result in entries or ([summary] if isinstance(summary, dict) else []):
                yield clean(test.get("name", "a test")), result


def dicts_in(value: Any) -> list[dict[str, Any]]:
    """The dictionaries in a list; [] if the value is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def gpu_labels(result: Mapping[str, Any]) -> list[str]:
    """The labels of a result's GPUs, such as gpu0."""
    if str(result.get("entity_group", "GPU")).upper() != "GPU":
        return []
    words = next((str(result[name]) for name in ("entity_id", "gpu_id", "gpu_ids") if name in result), "")
    return [f"gpu{int(word)}" for word in re.findall(r"(?<![\d.-])\d{1,4}(?![\d.])", words, re.ASCII)[:MOST_GPUS]]


def failure_reason(result: Mapping[str, Any]) -> str:
    """The warnings of a result as one line. If the result has no warnings: its information."""
    found = result.get("warnings") or result.get("info") or ""
    words = found if isinstance(found, list) else [found]
    texts = [one.get("warning", "") if isinstance(one, dict) else one for one in words]
    return clean("; ".join(str(text) for text in texts if text))


def clean(value: Any) -> str:
    """The value as one line of text, without control characters, and at most MOST_TEXT characters long."""
    text = " ".join(str(value).encode("utf-8", "replace").decode().split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:MOST_TEXT]
