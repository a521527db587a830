"""Workarounds for fixtures that ReFrame loses in a second retry and in a restored session.

`docs/reframe-issues.md` describes both defects.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.exceptions import DependencyError
from reframe.core.runtime import runtime

PASSED: dict[str, Any] = {}  # {unique name: fixture} of all fixtures that a test has used
# (unique name, run) of tests and fixtures: run 0 is the first, and the others are retries
RUNNING: set[tuple[str, int]] = set()


class KeepsFixtures(rfm.RegressionTestPlugin):
    """A test or a fixture that keeps its fixtures in every retry. The overridden methods are public in ReFrame."""

    def user_deps(self) -> list[tuple[str, Any]]:
        """The dependencies of the test, without fixtures that passed earlier and do not run again.

        From the second retry on, ReFrame drops a test that depends on such a fixture. ReFrame calls this method of
        fixtures before that of their tests.
        """
        run = runtime().current_run
        RUNNING.add((self.unique_name, run))
        known = super().user_deps()
        if run < 2:
            return known
        return [(name, how) for name, how in known if name not in PASSED or (name, run) in RUNNING]

    def getdep(self, target: str, environ: Any = None, part: Any = None) -> Any:
        """The fixture with a name. The fixture may have run in an earlier run."""
        try:
            PASSED[target] = super().getdep(target, environ, part)
        except DependencyError:
            if target not in PASSED:
                raise
        return PASSED[target]


class Restorable(KeepsFixtures):
    """A fixture that `--restore-session` can restore.

    ReFrame imports the file that the report names, without its package. The report therefore names `restored.py` in the
    folder of the class. This file imports the class with its package.
    """

    def __rfm_json_encode__(self) -> dict[str, Any]:
        content = super().__rfm_json_encode__()
        # Tests use only the folder of a restored fixture. Objects with a class, such as the job, are left out.
        plain = {key: one for key, one in content.items() if not (isinstance(one, dict) and "__rfm_file__" in one)}
        return {**plain, "__rfm_file__": str(Path(content["__rfm_file__"]).resolve().with_name("restored.py"))}
