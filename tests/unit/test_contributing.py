"""The changes that CONTRIBUTING.md shows fit the sources: what they stand beside, or take away, is there."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def kept(text):
    """(file, line) of each line that the diffs of a document say is there, and of each place that `@@` names."""
    for diff in re.findall(r"^```diff\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        is_new, file = False, ""
        for line in diff.splitlines():
            if line.startswith("--- "):
                is_new = line == "--- /dev/null"
            elif line.startswith("+++ b/"):
                file = line.removeprefix("+++ b/")
            elif line.startswith("@@"):
                yield file, re.sub(r"^@@( -\S+ \+\S+ @@)?", "", line).strip()
            elif is_new or not line.startswith("+"):
                yield file, line[1:]


CHANGES = sorted(set(kept((REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "line"), CHANGES)
def test_what_a_shown_change_stands_beside_is_there(file, line):
    assert line in (REPOSITORY / file).read_text(encoding="utf-8")


def test_lines_that_are_kept_or_taken_away_are_seen():
    text = "```diff\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ head {\n kept\n-gone\n+new\n```\n"
    assert list(kept(text)) == [("x", "head {"), ("x", "kept"), ("x", "gone")]
    assert {file for file, _ in CHANGES} > {"src/p2p/testcase_table.cpp", "src/core/limits.cpp"}
