"""Each message on the page about troubleshooting is one that linkmatrix prints."""

import re
from pathlib import Path

import printed_sentences
import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
#: Messages with a part that another function prints: each part is a sentence.
SEPARATOR = re.compile(r"\s*…\s*|: ")


@pytest.fixture(scope="module")
def printed():
    """All printed sentences, in one text."""
    found = (one.text for package in printed_sentences.PACKAGES for one in printed_sentences.sentences(package))
    return "\n".join(found)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_printed(printed, message):
    assert [part for part in SEPARATOR.split(message) if part.strip(" ()…") and part.strip(" :()") not in printed] == []


def test_there_are_messages():
    assert len(MESSAGES) > 20
