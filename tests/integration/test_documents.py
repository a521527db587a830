"""What a newcomer types first, as it is written, in a fresh clone: README.md, commands: first-run.

Then what ReFrame itself tells of such runs: docs/recipes.md, commands: reframe-figures.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

REPOSITORY = Path(__file__).resolve().parents[2]
#: Puts the programs that are installed here into a clone, as `make setup` would: nothing is fetched.
INSTALLED = """#!/bin/sh
mkdir .venv && ln -s "$INSTALLED"/* .venv/ && touch -d '+1 hour' .venv/.ready
"""


def commands(name, file="README.md", where="here"):
    """The text of a block of a page."""
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    return re.search(rf"<!-- commands: {name}, run {where} -->\n```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


@pytest.fixture
def newcomer(tmp_path, unavailable):
    """A function that types a text in a folder beside which `…/linkmatrix` is this repository."""
    if not all(map(shutil.which, ("git", "make"))):
        unavailable("no git or no make here")
    if not (REPOSITORY / ".git").exists():
        pytest.skip("these files were copied from a repository: there is nothing to clone")
    place = tmp_path / "place"
    (place / "…").mkdir(parents=True)
    (place / "…" / "linkmatrix").symlink_to(REPOSITORY)
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text(INSTALLED)
    (hooks / "post-checkout").chmod(0o755)
    clone = place / "linkmatrix"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LINKMATRIX_", "RFM_"))}
    # no virtual environment is activated
    path = [folder for folder in os.environ["PATH"].split(os.pathsep) if not Path(folder, "linkmatrix").exists()]
    environment = {
        **inherited,
        "GIT_TEMPLATE_DIR": str(hooks.parent),
        # whoever it belongs to
        **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"},
        "PATH": os.pathsep.join(path),
        "INSTALLED": str(Path(sys.prefix)),
        "PYTHONPATH": str(clone / "reports"),
        "CUDA_VISIBLE_DEVICES": "",
        # objects are those of this repository's own builds
        "CCACHE_BASEDIR": str(clone),
        "CCACHE_NOHASHDIR": "1",
    }

    def type_it(text, folder=place):
        done = subprocess.run(
            ["bash", "-c", text],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )
        return done.returncode, done.stdout

    return type_it, clone


def test_the_first_two_commands_name_the_next_step_and_how_to_call_the_programs(newcomer):
    type_it, clone = newcomer
    code_of_run, out = type_it(commands("first-run"))
    # a machine that other tests use too may be DISTURBED, which is the exit code 3: make reports it as its own 2
    assert code_of_run in (0, 2), out[-4000:]
    assert bool(code_of_run) == ("Error 3" in out) and "Error 1" not in out, out[-4000:]
    step = "--wait-idle" if code_of_run else "linkmatrix baseline"
    assert step in " ".join(out.split()), out[-4000:]
    for command, said in zip(
        re.search("^Other commands: (.*)$", out, re.MULTILINE)[1].split("; "), ("show", "suite"), strict=True
    ):
        code, text = type_it(command, clone)
        assert code == 0 and said in text, text
    for command in re.findall(r"^(?:Matrices|Next step): (?:.*: )?(\S*linkmatrix .*)$", out, re.MULTILINE):
        code, text = type_it(command if command.endswith(" show") else f"{command} --help", clone)
        assert code in (0, code_of_run and 3) and text, text
    figures = commands("reframe-figures", "docs/recipes.md", "in tests/integration/test_documents.py")
    code, text = type_it(f"PATH=$PWD/.venv/bin:$PATH\n{figures}", clone)
    assert code == 0 and "ERROR" not in text, text
    sessions, listed, compared = re.split(r"^(?=pvar )", text, flags=re.MULTILINE)
    assert "measure-" in sessions, text
    # ReFrame stores no figures of a test case that is DISTURBED
    assert code_of_run or re.search(r"^median\[\S+ +GB/s +\d", listed, re.MULTILINE), text
    assert "pdiff (%)" in compared
