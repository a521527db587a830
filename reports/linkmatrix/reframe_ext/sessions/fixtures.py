"""Workarounds for two defects: ReFrame loses fixtures in a second retry, and in a restored session.

`docs/reframe-issues.md` describes both defects.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.exceptions import DependencyError
from reframe.core.runtime import runtime

PASSED: dict[str, Any] = {}  # {unique name: fixture} of all fixtures that a test has used
RUNNING: set[tuple[str, int]] = set()  # (unique name, run) of tests and fixtures; run 0 is not a retry


class KeepsFixtures(rfm.RegressionTestPlugin):
    """A test or fixture that keeps its fixtures in all retries. The class overrides only public methods of ReFrame."""

    def user_deps(self) -> list[tuple[str, Any]]:
        """The dependencies of the test. From the second retry on, passed fixtures that do not run again are left out.

        If the dependencies contained these fixtures, ReFrame would drop the test. ReFrame calls this method for
        fixtures first, then for their tests.
        """
        run = runtime().current_run
        RUNNING.add((self.unique_name, run))
        known = super().user_deps()
        if run < 2:
            return known
        return [(name, how) for name, how in known if name not in PASSED or (name, run) in RUNNING]

    def getdep(self, target: str, environ: Any = None, part: Any = None) -> Any:
        """The fixture with the name `target`, from this run or from an earlier run."""
        try:
            PASSED[target] = super().getdep(target, environ, part)
        except DependencyError:
            if target not in PASSED:
                raise
        return PASSED[target]


class Restorable(KeepsFixtures):
    """A fixture that `--restore-session` can restore.

    ReFrame's report names the file of each fixture. `--restore-session` imports this file without its package, so the
    imports of the file would fail. The report therefore names the file `restored.py` in the same folder. `restored.py`
    imports the class with its package.
    """

    def __rfm_json_encode__(self) -> dict[str, Any]:
        content = super().__rfm_json_encode__()
        # tests use only the folder of a restored fixture, so objects such as the job are left out
        plain = {key: one for key, one in content.items() if not (isinstance(one, dict) and "__rfm_file__" in one)}
        return {**plain, "__rfm_file__": str(Path(content["__rfm_file__"]).resolve().with_name("restored.py"))}
