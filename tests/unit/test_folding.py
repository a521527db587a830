"""What `diagnose`, `history` and `compare` print folds to the width of the terminal, as what `show` prints does."""

import json
import re
from pathlib import Path

import pytest

from linkmatrix import cli

DATA = Path(__file__).resolve().parents[1] / "data"
SLOW = {(3, column): 352.4 for column in range(8) if column != 3}


@pytest.fixture
def printed(monkeypatch, capsys):
    """The lines of a command on a terminal of a width."""

    def lines(width, *words):
        monkeypatch.setenv("COLUMNS", str(width))
        assert cli.main([str(word) for word in words]) in (0, 1, 3)
        return capsys.readouterr().out.splitlines()

    return lines


@pytest.fixture
def commands(write_record, store, make_record, tmp_path, monkeypatch):
    """Command lines, of what has long lines in each of them."""
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "prefix"))
    slow = write_record(make_record(count=8, off=SLOW), tmp_path / "slow" / "record.json")

    def other_driver(content, number):
        content["software"]["driver"] = "580.159.04" if number < 4 else "590.44.01 of another branch"
        content["host"]["name"] = f"a-host-with-a-long-name-{number % 2}"

    runs = store(count=8, change=other_driver)
    return {
        "diagnose": ("diagnose", slow),
        "history": ("history", runs),
        "history of a part": ("history", "--component", "1650", runs),
        "history of a fleet": ("history", "--all", "--fleet", runs),
        "compare with itself": (
            "compare",
            "--all",
            DATA / "h200x4_full.record.json",
            "--against",
            DATA / "h200x4_full.record.json",
        ),
    }


def test_what_is_left_out_of_a_list_is_counted_and_a_run_without_figures_says_so(printed, tmp_path, write_record):
    """Of 21 test cases 12 stood there as if they were all, beside a run that had skipped every test."""
    record = json.loads((DATA / "h200x4_full.record.json").read_text())
    for result in record["results"]:
        result["testcase"] = f"another_{result['testcase']}"
    other = write_record(record, tmp_path / "other" / "record.json")
    said = " ".join(printed(2000, "compare", other, "--against", DATA / "h200x4_full.record.json"))
    named = said.partition(" has: ")[2].split(", ")
    assert len(named) == 13 and re.fullmatch(r"[1-9]\d* more", named[-1])
    record["results"] = []
    bare = write_record(record, tmp_path / "bare" / "record.json")
    said = " ".join(printed(2000, "compare", bare, "--against", DATA / "h200x4_full.record.json"))
    assert f"{bare} has no values to compare" in said and "measured in both" not in said


OF = ("diagnose", "history", "history of a part", "history of a fleet", "compare with itself")


@pytest.mark.thorough
@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize("name", OF)
def test_no_line_is_wider_than_the_terminal(printed, commands, name, width):
    for line in printed(width, *commands[name]):
        assert len(line) <= width or len(line.split()) == 1 or line.lstrip().startswith("next: "), line


@pytest.mark.thorough
@pytest.mark.parametrize("name", OF)
def test_no_word_is_lost_and_what_is_folded_begins_behind_its_first_line(printed, commands, name):
    wide, narrow = (printed(width, *commands[name]) for width in (1000, 50))
    assert " ".join(" ".join(narrow).split()) == " ".join(" ".join(wide).split())
    assert len(narrow) > len(wide) > 0
    at = 0
    for line in wide:
        margin = len(line) - len(line.lstrip())
        assert len(narrow[at]) - len(narrow[at].lstrip()) == margin
        said, at = narrow[at].split(), at + 1
        while said != line.split():
            assert narrow[at].startswith(" " * (margin + 2)), narrow[at]
            said, at = said + narrow[at].split(), at + 1
    assert at == len(narrow)


def test_a_command_stays_on_one_line_to_be_copied(printed, commands):
    narrow, wide = (printed(width, *commands["diagnose"]) for width in (50, 1000))
    (command,) = [line for line in wide if line.lstrip().startswith("next: p2p_matrix")]
    assert len(command) > 50 and command in narrow
