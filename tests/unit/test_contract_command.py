"""The proof of a contract is never written over, and where it cannot be written is said before anything is measured."""

import os
import shlex

import pytest
from contracts import Sold

from linkmatrix import cli
from linkmatrix.commands.contract import EXAMPLES


@pytest.fixture
def sold(machine, tmp_path, capsys):
    machine.prepare("pass")
    found = Sold(tmp_path / "sold", machine, capsys)
    found.freeze()
    return found


def run_refused(sold, out, said):
    """Its exit code and what it says; nothing was measured under it, and nothing written."""
    before = {path: path.read_bytes() for path in sold.folder.iterdir() if path.is_file()}
    code, text = sold.run(out)
    assert said in text, text
    assert {path: path.read_bytes() for path in sold.folder.iterdir() if path.is_file()} == before
    assert not (sold.machine.folder / "command.txt").exists() and not (sold.machine.folder / "contracts").exists()
    return code


def test_a_page_is_written_over_nothing(sold):
    assert run_refused(sold, sold.folder / "lot.html", "is the name of its page: name a bundle, such as") == 2
    (sold.folder / "lot.html").write_text("the signed page")
    assert run_refused(sold, sold.folder / "lot.tar", "it is proof, and is not written over") == 2


def test_a_folder_that_takes_no_bundle_is_said_before_measuring(sold, monkeypatch):
    assert run_refused(sold, sold.folder / "none" / "lot.tar", "is no folder that can be written") == 2
    (sold.folder / "file").write_text("")
    assert run_refused(sold, sold.folder / "file" / "lot.tar", "is no folder that can be written") == 2
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    assert run_refused(sold, sold.folder / "lot.tar", "is no folder that can be written") == 2


def test_a_page_never_replaces_the_bundle_nor_the_contract(sold):
    assert sold.run()[0] == 0
    whole = sold.bundle.read_bytes()
    link = sold.folder / "link.html"
    link.symlink_to(sold.bundle)
    for page in (sold.bundle, link, sold.folder / ".." / sold.folder.name / sold.bundle.name):
        code, said = sold.verify("--page", page)
        assert code == 2 and "itself: name another file for the page" in said
    assert sold.verify("--contract", sold.contract, "--page", sold.contract)[0] == 2
    assert sold.bundle.read_bytes() == whole and sold.verify()[0] == 0


@pytest.mark.parametrize("before", [True, False])
def test_options_for_reframe_stand_behind_dashes_wherever_others_stand(sold, before):
    out, contract = ["--out", str(sold.bundle)], [str(sold.contract)]
    words = [*out, *contract] if before else [*contract, *out]
    more = ["-S", "a=b", "--skip-gpu-build"]
    code = cli.main(["contract", "run", *words, "--reframe", str(sold.machine.reframe), "--", *more])
    assert code == 0 and sold.machine.commands()[-1].endswith(shlex.join(more))


def test_the_examples_of_the_help_are_understood():
    lines = [line.split("    ")[0].strip() for line in EXAMPLES.splitlines()[1:]]
    assert len(lines) == 6
    for line in lines:
        words = shlex.split(line.partition(" >")[0])
        found = cli.parser("contract").parse_args(words[1:])
        assert callable(found.command) and getattr(found, "more", []) in ([], ["-S", "on=n12"]), line
