"""The list of changes that tests/tools/native_mutants.py tries fits the sources."""

from pathlib import Path

import native_mutants
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CHANGES = list(native_mutants.changes(native_mutants.LIST.read_text()))


def test_the_list_has_fifty_changes_or_more():
    assert len({(change.file, change.old, change.new) for change in CHANGES}) == len(CHANGES) >= 50


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.file}:{change.line}")
def test_every_change_stands_once_in_its_file(change):
    content = (REPOSITORY / change.file).read_text()
    assert native_mutants.changed(content, change) != content


def test_what_is_no_change_is_refused_with_its_line():
    with pytest.raises(native_mutants.UnfitError, match=":2: 'words'"):
        list(native_mutants.changes("# a comment\nwords\n"))
    (change,) = native_mutants.changes("src/a.cpp\n- one\n+ \n")
    assert (change.file, change.old, change.new) == ("src/a.cpp", "one", "")
    for content in ("two", "one one"):
        with pytest.raises(native_mutants.UnfitError, match="times in src/a.cpp, not once"):
            native_mutants.changed(content, change)
