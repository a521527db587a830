"""Whatever text somebody puts into a draft, a contract or a bundle: it stays text, on its line and its page."""

import json
from pathlib import Path

import pytest
import yaml
from contracts import SERIALS, Sold, draft_of, limits_of

from linkmatrix.contract import bundle

from .test_hostile_text import OF_RECORDS, OF_REPORTS, STEERS, Tags, ended, places, put


@pytest.fixture
def sold(machine, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "9999")  # a paragraph that is wrapped may begin a line with any word
    machine.prepare("pass")
    return Sold(tmp_path / "sold", machine, capsys)


def is_plain(*arguments, codes):
    """A command ends with one of the codes, without a traceback and without what steers a terminal."""
    code, out, errors = ended("contract", *arguments)
    assert code in codes and "Traceback" not in out + errors, errors
    assert [found.group() for found in STEERS.finditer(out + errors)] == [], out + errors
    return code


def holds_no_markup(file: Path):
    """The page holds no markup of the text, and no character that steers."""
    tags = Tags()
    tags.feed(file.read_text())
    assert tags.wrong == []
    assert [found for found in STEERS.findall(file.read_text().replace("\t", "")) if found != "FORGED"] == []


@pytest.mark.parametrize("text", [OF_RECORDS, OF_REPORTS.replace("\ud800", "")], ids=["printable", "any"])
def test_no_text_of_a_draft_steers_a_terminal(text, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "9999")
    (tmp_path / "limits.yaml").write_text(limits_of(380.0))
    draft = draft_of(serials=SERIALS[:2])
    for number, place in enumerate(places(draft)):
        before = put(draft, place, text)
        file = tmp_path / f"{number}.yaml"
        file.write_text(yaml.safe_dump(draft))
        is_plain("freeze", file, codes=(0, 2))
        put(draft, place, before)


def texts_of(members):
    """(member, place) of every text in the JSON of a bundle."""
    for name, content in members.items():
        if name.endswith(".json"):
            for place in places(json.loads(content)):
                yield name, place


def spoil(name, place, text):
    def change(members):
        content = json.loads(members[name])
        put(content, place, text)
        members[name] = json.dumps(content).encode()

    return change


@pytest.mark.thorough
def test_no_text_of_a_bundle_steers_a_terminal_or_is_markup_of_its_page(sold, tmp_path):
    sold.freeze()
    assert sold.run()[0] == 0
    whole = sold.bundle.read_bytes()
    members = {**bundle.unpacked(whole, sold.bundle)}
    members.pop(bundle.MANIFEST)
    shapes, page = set(), tmp_path / "page.html"
    for name, place in texts_of(members):
        shape = (name, tuple("" if isinstance(step, int) else step for step in place))
        if shape in shapes:  # an entry of a list is like the others
            continue
        shapes.add(shape)
        for text in (OF_RECORDS, OF_REPORTS):
            sold.bundle.write_bytes(whole)
            sold.tampered(spoil(name, place, text))
            page.unlink(missing_ok=True)
            # what changes no verdict may pass: a note is anybody's
            is_plain("verify", sold.bundle, "--page", page, codes=(0, 1, 2, 3))
            if page.exists():
                holds_no_markup(page)
    assert len(shapes) > 40


def test_no_name_of_a_member_steers_a_terminal(sold, monkeypatch):
    sold.freeze()
    assert sold.run()[0] == 0
    whole = sold.bundle.read_bytes()
    for text in (OF_RECORDS, OF_REPORTS.replace("\0", "").replace("\ud800", "")):
        sold.bundle.write_bytes(whole)
        with monkeypatch.context() as unchecked:
            unchecked.setattr(bundle, "check_names", lambda *_: None)  # whoever packs it needs none of ours
            sold.tampered(lambda members, name=f"records/{text[:60]}": members.update({name: b"{}"}))
        assert is_plain("verify", sold.bundle, codes=(2,)) == 2


def test_no_text_of_a_frozen_contract_steers_a_terminal_when_it_is_run(sold):
    sold.freeze()
    content = json.loads(sold.contract.read_bytes())
    for place in list(places(content)):
        before = put(content, place, OF_RECORDS)
        sold.contract.write_text(json.dumps(content))
        # not canonical any more, or no word of a contract: it is refused before anything is measured
        assert is_plain("run", sold.contract, "--out", sold.bundle, codes=(2,)) == 2
        put(content, place, before)
    assert not sold.bundle.exists()
