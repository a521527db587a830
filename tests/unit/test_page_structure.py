"""What assistive software, a printer and a browser without a network need of the page."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from linkmatrix.cli import main
from linkmatrix.show import html, page
from linkmatrix.show.analysis import Analysis

DATA = Path(__file__).resolve().parents[1] / "data"
STYLE = (html.TEMPLATES / "page.css").read_text(encoding="utf-8")
AA = 4.5  # WCAG 2.1, success criterion 1.4.3, of text that is not large
MOST_BYTES = 2_000_000  # of a page of 8 × 8 `full`


class Page(HTMLParser):
    """Headings, tables, regions and addresses of a page."""

    def __init__(self, text):
        super().__init__()
        self.headings, self.heads, self.regions, self.addresses, self.images, self.tags = [], [], [], [], [], []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "th":
            self.heads.append(attributes)
        if "scroll" in attributes.get("class", "").split():
            self.regions.append(attributes)
        if tag == "img":
            self.images.append(attributes)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "poster")]


@pytest.fixture(scope="module", params=["h200x4_full", "slurm3_nodes", "hosts2_pairs", "h200x2_collectives", "nodes40"])
def text(request, tmp_path_factory):
    """The page of a real record; of the largest with a part of its matrices."""
    folder = tmp_path_factory.mktemp("page")
    name = "simulated40/record.json" if request.param == "nodes40" else f"{request.param}.record.json"
    path = DATA / name
    if request.param == "h200x4_full":
        record = json.loads(path.read_text())
        record["results"] = record["results"][4:8] + record["results"][32:36]
        path = folder / "record.json"
        path.write_text(json.dumps(record))
    main(["report", str(path), "--out", str(folder / "out")])
    return (folder / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_headings_are_in_order(text):
    headings = Page(text).headings
    assert headings[0] == 1 and headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_each_head_of_a_table_says_what_it_is_the_head_of(text):
    heads = Page(text).heads
    assert heads and all(one.get("scope") in ("row", "col", "colgroup") for one in heads)


def test_landmarks_are_there_once_and_no_script(text):
    tags = Page(text).tags
    assert [tags.count(one) for one in ("header", "main", "footer")] == [1, 1, 1]
    assert not {"script", "link", "iframe", "object", "embed"} & set(tags)


def test_what_scrolls_is_reached_by_keyboard_and_has_a_name(text):
    regions = Page(text).regions
    assert regions
    assert all((one["tabindex"], one["role"]) == ("0", "group") and one["aria-label"] for one in regions)


def test_no_request_leaves_the_file_and_each_picture_has_a_text(text):
    found = Page(text)
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in found.addresses)
    assert all(len(one["alt"]) > 10 for one in found.images)
    assert not re.search(r"url\(|@import", STYLE)


def variables(mode):
    """The colours of the style sheet, light or dark."""
    light, dark = re.findall(r":root \{([^}]*)\}", STYLE)
    blocks = [light] if mode == "light" else [light, dark]
    return {name: value for block in blocks for name, value in re.findall(r"(--[\w-]+): (#\w+)", block)}


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted(luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def pairs(mode):
    """(rule, text colour, background) of each rule; of one without a background, on both that it may stand on."""
    known = variables(mode)
    rules = re.sub(r":root \{[^}]*\}", "", STYLE)

    def colour(value):
        name = re.search(r"var\((--[\w-]+)\)", value)
        return known[name[1]] if name else value.strip()

    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", rules):
        said = dict(one.strip().split(": ", 1) for one in body.split(";") if ": " in one)
        text, behind = said.get("color"), said.get("background")
        if behind and not text:  # each text without a background of its own is held against these two
            assert behind in ("var(--page)", "var(--pale)"), f"{selector.strip()} has no colour of its text"
        elif behind:
            yield selector.strip(), colour(text), colour(behind)
            if "background-image" in said:
                yield selector.strip(), colour(text), known["--hatch"]
        elif text and text not in ("inherit", "currentColor"):
            yield from ((selector.strip(), colour(text), known[name]) for name in ("--page", "--pale"))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(mode):
    found = list(pairs(mode))
    assert len(found) > 30
    assert [(*one, round(contrast(one[1], one[2]), 2)) for one in found if contrast(one[1], one[2]) < AA] == []


def test_both_modes_define_every_colour():
    light, dark = ({*re.findall(r"(--[\w-]+):", block)} for block in re.findall(r":root \{([^}]*)\}", STYLE))
    assert light == dark
    assert {*re.findall(r"var\((--[\w-]+)\)", STYLE)} == light


def test_print_is_light_whatever_the_screen_is():
    assert re.findall(r"@media ([^{]*prefers-color-scheme[^{]*)\{", STYLE) == [
        "screen and (prefers-color-scheme: dark) "
    ]


def test_a_page_of_all_test_cases_of_8_devices_stays_small(judged_run, make_record):
    record = make_record(count=8)
    record["results"] = [{**record["results"][0], "testcase": f"testcase_{number}"} for number in range(60)]
    text = page.render(Analysis(*judged_run(record)), lambda *_: b"")
    assert text.count("<caption>") == 120
    assert len(text.encode()) < MOST_BYTES
