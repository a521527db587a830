"""The JSON of `dcgmi diag -j`, of DCGM 2 to 4: each test that did not pass is a finding of DCGM, not of linkmatrix.

DCGM 4 names the entity of a result (`entity_group`, `entity_id`), earlier versions the GPUs (`gpu_id`, `gpu_ids`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..record.units import first
from .table import Reading

PROGRAM = "dcgmi_diag"
HEADS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
VERSIONS = {"DCGM": ("version", "DCGM Version"), "driver": ("Driver Version Detected", "Driver Version")}
PASSED, LEFT_OUT = ("pass", "passed"), ("skip", "skipped", "not run", "notrun")
MOST_FINDINGS, MOST_TEXT, MOST_GPUS = 200, 300, 128


def read_json(content: Mapping[str, Any]) -> Reading:
    """The report in the content of a JSON."""
    block = next(content[head] for head in HEADS if head in content)
    reading = Reading("")
    run = reading.run(PROGRAM, 1)
    run.reported = True
    run.software |= versions(content, block)
    left_out: dict[str, None] = {}
    passed = 0
    for test, result in results(block):
        status = clean(result.get("status", "")).lower()
        gpus = gpus_of(result)
        for label in gpus:
            run.states.setdefault(label, {})
        if status in LEFT_OUT:
            left_out[test] = None
        elif status in PASSED:
            passed += 1
        elif len(run.findings) < MOST_FINDINGS:
            told = ": ".join(filter(None, [f"{test} {status or 'without a status'}", reason_of(result)]))
            run.findings.append({"program": PROGRAM, "component": ", ".join(gpus) or "node", "sentence": told})
    if block.get("runtime_error"):
        run.problems.append(f"DCGM says that it failed: {clean(block['runtime_error'])}")
    if not passed and not run.findings:
        run.problems.append("no test of DCGM passed or failed: it tested nothing")
    if left_out:
        run.notes.append(f"DCGM did not run: {', '.join(first(list(left_out)))}")
    run.states = dict(sorted(run.states.items(), key=lambda item: int(item[0][3:])))
    return reading


def versions(content: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, str]:
    """The versions of DCGM and the driver, which each version of DCGM has elsewhere."""
    metadata = content.get("metadata")
    places = [content, block, metadata if isinstance(metadata, dict) else {}]
    found = {
        name: next((of[key] for of in places for key in keys if key in of), None) for name, keys in VERSIONS.items()
    }
    return {name: clean(value) for name, value in found.items() if isinstance(value, str)}


def results(block: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(name of a test, a result of it) of each entity that was tested."""
    for category in listed(block["test_categories"]):
        for test in listed(category.get("tests")):
            of_test = listed(test.get("results"))
            summary = test.get("test_summary")
            for result in of_test or ([summary] if isinstance(summary, dict) else []):
                yield clean(test.get("name", "a test")), result


def listed(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none of another value."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def gpus_of(result: Mapping[str, Any]) -> list[str]:
    """The GPUs of a result, as a record calls them."""
    if str(result.get("entity_group", "GPU")).upper() != "GPU":
        return []
    said = next((str(result[name]) for name in ("entity_id", "gpu_id", "gpu_ids") if name in result), "")
    return [f"gpu{int(word)}" for word in re.findall(r"(?<![\d.-])\d{1,4}(?![\d.])", said, re.ASCII)[:MOST_GPUS]]


def reason_of(result: Mapping[str, Any]) -> str:
    """What a result says about itself."""
    said = result.get("warnings") or result.get("info") or ""
    words = said if isinstance(said, list) else [said]
    texts = [one.get("warning", "") if isinstance(one, dict) else one for one in words]
    return clean("; ".join(str(text) for text in texts if text))


def clean(value: Any) -> str:
    """A text on one line, without what steers a terminal."""
    text = " ".join(str(value).encode("utf-8", "replace").decode().split())
    return "".join(one if one.isprintable() else "?" for one in text)[:MOST_TEXT]
