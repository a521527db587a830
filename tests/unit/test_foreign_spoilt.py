"""A text that was cut, shifted or mixed up never gives a cell that the program did not print."""

import copy
import json
import re

import pytest
from foreign_texts import DOCUMENTS, FOREIGN, SMALL, records
from hypothesis import given, settings
from hypothesis import strategies as st
from json_places import places, value_at

from linkmatrix.errors import BadInput
from linkmatrix.foreign.grid import MARKS
from linkmatrix.foreign.scan import read_text


def facts(text):
    """{(test case, size, "" or part, pair): all values of all runs}."""
    cells = {}
    for run in read_text(text):
        for table in run.tables:
            for name, values in [("", table.cells), *((name, part.cells) for name, part in table.parts.items())]:
                for pair, value in values.items():
                    if not isinstance(value, str):
                        cells.setdefault((table.testcase, table.size_bytes, name, *pair), set()).add(value)
    return cells


def check_spoilt(text, whole):
    """Refused, or every cell is one that the whole text has too; what says that its engine is not known is no lie."""
    try:
        found = facts(text)
    except BadInput as error:
        assert "\n" not in str(error)
        return
    for key, values in found.items():
        assert "_unknown_" in key[0] or values <= whole.get(key, set()), key


TEXTS = {**{f"document {number}": text for number, text in DOCUMENTS.items()}, **FOREIGN, "small": SMALL}


WHOLE = {}


def whole(name):
    if name not in WHOLE:
        WHOLE[name] = facts(TEXTS[name])
    return WHOLE[name]


@given(name=st.sampled_from(sorted(TEXTS)), place=st.floats(0, 1))
@settings(max_examples=150)
def test_a_text_that_is_cut_never_gives_a_wrong_cell(name, place):
    text = TEXTS[name]
    check_spoilt(text[: int(place * len(text))], whole(name))


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("name", sorted(name for name in TEXTS if not name.endswith(".json")))
def test_a_mark_in_place_of_a_number_never_gives_a_wrong_cell(name, mark):
    lines = TEXTS[name].splitlines(keepends=True)
    rows = [at for at, line in enumerate(lines) if re.search(r"\d\.\d\d.*\s\d+\.\d\d", line)]
    for at in rows[:3]:
        check_spoilt(
            "".join([*lines[:at], re.sub(r"\d+\.\d\d+", mark, lines[at], count=1), *lines[at + 1 :]]), whole(name)
        )


@given(
    name=st.sampled_from(sorted(name for name in TEXTS if not name.endswith(".json"))),
    place=st.floats(0, 0.999),
    how=st.sampled_from(
        ["line lost", "word lost", "line twice", "word twice", "lines swapped", "rest of the line lost"]
    ),
    word=st.integers(0, 20),
)
@settings(max_examples=300)
def test_a_text_that_was_mixed_up_never_gives_a_wrong_cell(name, place, how, word):
    lines = TEXTS[name].splitlines(keepends=True)
    # which program it was, and what its page is about, cannot be told from the rest of a text
    at = int(place * len(lines))
    if re.search(r"_perf|p2pBandwidth|OSU|#.*GPU to|Running|^#|P2P=|P2P |ib_|Test|Dual|PPU|GPU\d|\|", lines[at]):
        return
    words = re.split(r"(\s+)", lines[at])
    spot = min(word * 2, len(words) - 1)
    changes = {
        "line lost": [""],
        "word lost": ["".join(words[:spot] + words[spot + 1 :])],
        "line twice": [lines[at]] * 2,
        "word twice": ["".join([*words[: spot + 1], " ", *words[spot:]])],
        "rest of the line lost": ["".join(words[:spot]) + "\n"],
        "lines swapped": [lines[at + 1] if at + 1 < len(lines) else "", lines[at]],
    }
    skip = 2 if how == "lines swapped" else 1
    check_spoilt("".join(lines[:at] + changes[how] + lines[at + skip :]), whole(name))


@given(st.text(max_size=400) | st.binary(max_size=400).map(lambda raw: raw.decode("utf-8", "replace")))
def test_no_text_whatever_ends_in_a_traceback(text):
    for around in (text, SMALL + text, text + SMALL, "{" + text, '{"nvbandwidth": {"testcases": [' + text):
        try:
            records(around)
        except BadInput as error:
            assert "\n" not in str(error)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.just("N/A") | st.just("1.25"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


JSONS = [json.loads(text) for name, text in FOREIGN.items() if name.endswith(".json")]


@given(st.data())
@settings(max_examples=300)
def test_a_json_with_other_values_ends_in_a_record_or_a_sentence(data):
    content = copy.deepcopy(data.draw(st.sampled_from(JSONS)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([place for place in places(content) if place] or [("none",)]))
        holder, last = value_at(content, place[:-1]), place[-1]
        if data.draw(st.booleans()) and isinstance(holder, dict):
            holder.pop(last, None)
        else:
            holder[last] = data.draw(json_values | st.sampled_from([0, -1, 1 << 70, 1e308, True, "x" * 500]))
    try:
        records(json.dumps(content))
    except BadInput as error:
        assert "\n" not in str(error)


@given(st.lists(json_values, max_size=3), json_values)
def test_no_json_whatever_ends_in_a_traceback(matrix, anything):
    case = {"name": "device_to_device_memcpy_read_ce", "status": "Passed", "bandwidth_matrix": matrix}
    described = {**case, "bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"}
    for content in (anything, {"nvbandwidth": anything}, {"nvbandwidth": {"testcases": [case, described, anything]}}):
        try:
            records(json.dumps(content))
        except BadInput as error:
            assert "\n" not in str(error)
