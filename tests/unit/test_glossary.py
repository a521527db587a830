"""The glossary contains the words of verdicts, link classes, cell states, transports and methods that outputs use."""

import json
import re
from pathlib import Path

import printed_sentences
import pytest

from linkmatrix.commands import compare
from linkmatrix.judge.verdicts import WORDS
from linkmatrix.record import names, reading
from linkmatrix.show import machine, summary

#: Words of methods and of the suite with a special meaning. Add a word that a new output uses.
TERMS = (
    *("cell", "matrix", "pair", "endpoint", "rank", "device", "egress", "ingress", "round", "sample", "short sample"),
    *(
        "interval",
        "interference",
        "fitted overhead",
        "gate",
        "in turn",
        "control measurement",
        "remeasured",
        "reproduced",
    ),
    *("matching", "soak", "throttled", "pinned", "pageable", "staged", "direct", "reference", "table", "tolerance"),
    *(
        "limit",
        "typical",
        "waiver",
        "detection power",
        "finding",
        "σ",
        "suspect",
        "median polish",
        "intermittent",
        "drift",
    ),
    *(
        "impossible",
        "rail",
        "leaf switch",
        "uplink",
        "oversubscribed",
        "congestion",
        "socket",
        "context",
        "flagged",
        "clean",
    ),
    *("known good", "part", "slot", "suite", "session", "sweep", "manifest", "left out", "bundle", "record", "report"),
    *("bus bandwidth", "algorithm bandwidth", "efficiency", "spread", "test case", "link class", "partition", "lost"),
)
REPOSITORY = Path(__file__).resolve().parents[2]
#: A link class in a source of the programs.
CLASS = re.compile(r'"([A-Z]{3,4})"')
#: Sources in which every text of three or four capital letters is a link class.
CLASS_FILES = ("device/cuda/nvml.cpp", "device/host/pci.cpp", "p2p/plan.cpp", "ranks/rank_table.hpp")


def glossary():
    """The words of the first columns."""
    lines = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    first = [line.split("|")[1] for line in lines if line.startswith("|")]
    return {word.strip().strip("`…_") for cell in first for word in cell.split(",")}


def classes_of_programs():
    """The link classes in the sources of the programs."""
    texts = [(REPOSITORY / "src" / name).read_text(encoding="utf-8") for name in CLASS_FILES]
    return {name for text in texts for name in CLASS.findall(text)}


def classes_of_records():
    """The link classes in the recorded runs of the tests, with # for each number."""
    found = set()
    for path in (REPOSITORY / "tests" / "data").glob("*.record.json"):
        for result in json.loads(path.read_text(encoding="utf-8"))["results"]:
            found |= {name for row in result.get("link_class") or [] for name in row if name}
    return {re.sub(r"\d+", "#", name).replace("#-devices", "#-device") for name in found}


def enumerated(name):
    """The words that the schema of the record allows for a definition, or for a field of a result."""
    schema = reading.schema()
    fields = schema["properties"]["results"]["items"]["properties"]
    return set((schema["$defs"].get(name) or fields[name])["enum"]) - {None}


def test_every_verdict_is_in_the_glossary():
    assert set(WORDS.values()) <= glossary()


@pytest.mark.parametrize(
    "classes",
    [
        set(machine.MEANINGS) | set(names.LINK_ORDER) | set(compare.OWN),
        classes_of_programs(),
        classes_of_records(),
    ],
    ids=["package", "programs", "records"],
)
def test_every_link_class_is_in_the_glossary(classes):
    assert len(classes) >= 4
    assert classes - glossary() == set()


@pytest.mark.parametrize("name", ["status", "transport", "direction", "engine", "kernel", "host_pages"])
def test_every_word_of_a_field_is_in_the_glossary(name):
    assert enumerated(name) - glossary() == set()


def test_every_term_that_outputs_use_is_in_the_glossary():
    found = (one.text for package in printed_sentences.PACKAGES for one in printed_sentences.sentences(package))
    printed = "\n".join(found)
    used = {term for term in TERMS if re.search(rf"\b{term}s?\b", printed)}
    assert len(used) > 50
    known = glossary()
    assert {term for term in used if not any(re.search(rf"\b{term}\b", word) for word in known)} == set()


def test_every_suffix_of_a_test_case_is_in_the_glossary():
    cases = json.loads((REPOSITORY / "checks" / "testcases.json").read_text(encoding="utf-8"))
    suffixes = {one["name"].rpartition("_")[2] for one in cases} - {"copy"}
    assert {"ce", "sm", "mpi"} <= suffixes
    known = glossary()
    assert {suffix for suffix in suffixes if not any(word.endswith(suffix) for word in known)} == set()


def test_the_columns_of_the_kinds_are_in_the_glossary():
    assert set(summary.HEADS) - glossary() == set()


def test_the_glossary_is_on_the_site():
    assert "\nglossary\n" in (REPOSITORY / "docs" / "index.md").read_text(encoding="utf-8")
