"""config/settings.py, as ReFrame reads it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
