"""config/settings.py, as ReFrame reads it."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks import p2p

REPOSITORY = Path(__file__).resolve().parents[2]
PRINTED = "import os, runpy; runpy.run_path({!r}); print(os.environ['RFM_REFERENCE_PREFIX'])"


@pytest.mark.parametrize(
    ("given", "folder"), [(None, "config/references"), ("", "config/references"), ("mine", "{}/mine"), ("/", "/")]
)
def test_the_folder_of_references_is_absolute(tmp_path, given, folder):
    """Tests are judged in other folders than that where ReFrame starts: a relative one has no references there."""
    (tmp_path / "mine").mkdir()
    variables = {**os.environ, "LINKMATRIX_PREFIX": str(tmp_path / "results"), "RFM_REFERENCE_PREFIX": given}
    done = subprocess.run(
        [sys.executable, "-c", PRINTED.format(str(REPOSITORY / "config" / "settings.py"))],
        env={name: value for name, value in variables.items() if value is not None},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == REPOSITORY / folder.format(tmp_path)


def test_acceptance_alone_takes_short_samples_and_no_mode_builds_simulations(tmp_path):
    modes = "print({one['name']: one['options'] for one in site_configuration['modes']})"
    text = (REPOSITORY / "config" / "settings.py").read_text()
    path = str(REPOSITORY / "config" / "settings.py")
    done = subprocess.run(
        [sys.executable, "-c", f"__file__ = {path!r}\n{text}\n{modes}"],
        env={**os.environ, "LINKMATRIX_PREFIX": str(tmp_path / "results")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    options = ast.literal_eval(done.stdout.splitlines()[-1])
    assert "--setvar=node_session.short_samples=72" in options["acceptance"]
    assert not any("short_samples" in one for mode in ("quick", "smoke", "measure") for one in options[mode])
    for mode, all_options in options.items():
        words = " ".join(all_options)
        assert "build_linkmatrix.programs=p2p_matrix,collective_perf" in words, f"{mode} builds nbody_scaling"


@pytest.mark.parametrize(
    ("program", "options", "taken"),
    [
        ("p2p_matrix", ["--backend", "cuda"], ("--short-samples", "72")),
        ("p2p_matrix", ["--backend", "mpi", "--sweep", "4K:1M"], ()),
        ("p2p_matrix", ["--backend", "mpi", "--concurrency", "matchings"], ()),
        ("collective_perf", ["--backend", "cuda"], ()),
    ],
)
def test_programs_without_repeated_samples_of_one_matrix_take_no_short_samples(program, options, taken):
    session = SimpleNamespace(short_samples=72)
    check = SimpleNamespace(
        session_class=session, program=program, program_opts=lambda: options, shared_testcase=lambda: "x"
    )
    assert p2p.p2p_matrix_run.short_opts(check) == taken
