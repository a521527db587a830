"""The page that two parties sign: what was sold, what was measured, the verdict, the hashes, and places for names.

The page is made of a bundle alone, and is the same wherever it is made. The page contains the SHA-256 of its bundle.
"""

from typing import Any

from ..contract.cases import WORDS
from ..contract.power import CONFIDENCE, POWER
from ..contract.ruling import Ruling
from ..contract.terms import Terms
from ..judge.verdicts import Verdict
from ..record import units
from . import notices, words

MEANS = {
    "PASS": "everything that was sold was measured and is inside the limits",
    "WARN": "everything that was sold was measured and is inside the limits, with the remarks below",
    "NOT JUDGED": "a limit does not describe its measurement: the contract is not met",
    "DISTURBED": "another process used a node and a cell is outside the limits: the contract is not met",
    "INCOMPLETE": "a part, node, test case or cell that was sold is missing: the contract is not met",
    "FAIL": "the measurement is outside the limits: the contract is not met",
}
STEPS = {
    "NOT JUDGED": "Agree on new limits, freeze them and measure again.",
    "DISTURBED": words.next_step(Verdict.DISTURBED),
    "INCOMPLETE": words.next_step(Verdict.INCOMPLETE),
    "FAIL": words.next_step(Verdict.FAIL),
    "WARN": words.next_step(Verdict.WARN),
    "PASS": "",
}


def page(terms: Terms, ruling: Ruling, digest: str, name: str) -> bytes:
    """The page; digest: the SHA-256 of the bundle, which is called `name`."""
    from .html import rendered  # by a package that a machine which only verifies may lack

    word = WORDS[ruling.verdict]
    return rendered(
        "contract.html",
        "contract.css",
        terms=terms,
        extent=", ".join(
            units.counted(len(found), noun)
            for found, noun in ((terms.nodes, "node"), (terms.parts, "part"), (terms.cases, "test case"))
        ),
        word=word,
        means=MEANS[word],
        glyph=words.GLYPHS[ruling.verdict],
        step="" if ruling.simulated else STEPS[word],
        simulated=simulated_line(ruling),
        ignored=ignored_line(ruling),
        reasons=[(WORDS[one.verdict], one.sentence) for one in ruling.reasons],
        cases=[case_row(one) for one in ruling.cases],
        parts=[(part.node, part.slot or "any", part.serial or "any", found) for part, found in ruling.parts],
        runs=ruling.runs,
        retries=ruling.retries,
        beyond=ruling.beyond,
        hashes=[("bundle " + name, digest), ("contract", terms.digest), *document_of(terms)],
        power=round(100 * POWER),
        confidence=round(100 * CONFIDENCE),
    ).encode()


def simulated_line(ruling: Ruling) -> str:
    """The first line on a ruling with simulated faults, "" without any."""
    return notices.of_faults(ruling.simulated)


def ignored_line(ruling: Ruling) -> str:
    """The processes that the last run ignored, "" for none."""
    return notices.of_processes(ruling.ignored)


def document_of(terms: Terms) -> list[tuple[str, str]]:
    """The document that the limits are from, where one was given."""
    return [(terms.document["name"], terms.document["sha256"])] if terms.document else []


def case_row(one: Any) -> dict[str, str]:
    """A line of the table of test cases."""
    unit = {"us": "µs"}.get(one.worst["unit"], one.worst["unit"]) if one.worst else ""
    return {
        "testcase": one.case.testcase,
        "size": units.size(one.case.size),
        "verdict": WORDS[one.verdict],
        "cells": f"{one.cells} in {one.records}",
        "worst": f"{one.worst['value']:g} {unit}, {one.worst['node']} {one.worst['cell']}" if one.worst else "none",
        "limit": f"{one.worst['limit']:g} {unit}" if one.worst else "",
        "deficit": ", ".join(f"{name} {deficit_of(noise.smallest)}" for name, noise in sorted(one.noise.items())),
    }


def deficit_of(smallest: float | None) -> str:
    """ "2.3 %"."""
    return "not known" if smallest is None else f"{100 * smallest:.3g} %"
