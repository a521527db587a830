"""The glossary contains the words that outputs use."""

import json
import re
from pathlib import Path

import output_words
import printed_sentences
import pytest

from linkmatrix.commands import compare
from linkmatrix.judge.verdicts import WORDS
from linkmatrix.record import link_classes

#: Words of sentences that no table of the sources contains. Add a word that a new sentence uses.
TERMS = (
    """
cell, matrix, pair, endpoint, rank, device, egress, ingress, round, sample, short sample, interval, interference,
fitted overhead, gate, in turn, control measurement, remeasured, reproduced, matching, soak, throttled, pinned,
pageable, staged, direct, reference, table, tolerance, limit, typical, waiver, detection power, finding, σ, suspect,
median polish, intermittent, drift, impossible, rail, leaf switch, uplink, oversubscribed, congestion, socket, context,
flagged, clean, known good, part, slot, suite, session, sweep, manifest, left out, bundle, record, report,
bus bandwidth, algorithm bandwidth, efficiency, spread, test case, link class, partition, lost
""".replace("\n", " ")
    .strip()
    .split(", ")
)
REPOSITORY = Path(__file__).resolve().parents[2]
#: A link class in a source of the programs.
CLASS = re.compile(r'"([A-Z]{3,4})"')
#: Sources in which every text of three or four capital letters is a link class.
CLASS_FILES = ("device/cuda/nvml.cpp", "device/host/pci.cpp", "p2p/plan.cpp", "ranks/rank_table.hpp")


def glossary():
    """The words of the first columns: quoted words, and words between commas."""
    lines = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    found = set()
    for line in lines:
        cell = line.split("|")[1] if line.startswith("|") else ""
        words = [*re.findall("`([^`]+)`", cell), *cell.split(",")]
        found |= {word.strip().strip("`…_") for word in words}
    return found


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


def test_every_verdict_is_in_the_glossary():
    assert set(WORDS.values()) <= glossary()


@pytest.mark.parametrize(
    "classes",
    [
        {*link_classes.MEANINGS, *compare.SAME_CLASS_ONLY, *(f"{name}#" for name in link_classes.DIRECT_TYPES)},
        classes_of_programs(),
        classes_of_records(),
    ],
    ids=["package", "programs", "records"],
)
def test_every_link_class_is_in_the_glossary(classes):
    assert len(classes) >= 4
    assert classes - glossary() == set()


def test_the_rules_have_the_order_of_the_link_classes():
    text = " ".join((REPOSITORY / "docs" / "rules.md").read_text(encoding="utf-8").split())
    assert f"NV# with fewer links, {', '.join(link_classes.LINK_ORDER)}." in text


def unknown(kind):
    """{word: origin} of the words of a kind that the glossary lacks."""
    exact, known = kind == "enumerations", glossary()
    known |= set() if exact else {word.casefold() for word in known}
    if kind == "test cases":
        known |= {part for word in known for part in word.split("_")}
    return {
        word: origin
        for words, origin in output_words.collected(kind).items()
        for word in re.split(r", | \\ ", words)
        if (word if exact else word.casefold()) not in known
    }


@pytest.mark.parametrize("kind", output_words.KINDS)
def test_every_word_of_tables_and_templates_is_in_the_glossary(kind):
    assert len(output_words.collected(kind)) > 10
    assert unknown(kind) == {}


def test_every_term_that_outputs_use_is_in_the_glossary():
    found = (one.text for package in printed_sentences.PACKAGES for one in printed_sentences.sentences(package))
    printed = "\n".join(found)
    used = {term for term in TERMS if re.search(rf"\b{term}s?\b", printed)}
    assert len(used) > 50
    known = glossary()
    assert {term for term in used if not any(re.search(rf"\b{term}\b", word) for word in known)} == set()


def test_the_glossary_is_on_the_site():
    assert "\nglossary\n" in (REPOSITORY / "docs" / "index.md").read_text(encoding="utf-8")
