"""Fixtures that ReFrame 4.10 forgets in a second retry and in a restored session: see `docs/reframe-issues.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.exceptions import DependencyError
from reframe.core.runtime import runtime

PASSED: dict[str, Any] = {}  # {name: fixture}: all fixtures that a test has used
RUNNING: set[tuple[str, int]] = set()  # (name, run): tests and fixtures that run again in a later run


class KeepsFixtures(rfm.RegressionTestPlugin):
    """A test or a fixture that gets its fixtures in every run, by public methods of ReFrame."""

    def user_deps(self) -> list[tuple[str, Any]]:
        """The dependencies of the test.

        From the second retry on, ReFrame drops a test that depends on a fixture of the first run. The test then does
        not depend on a fixture that passed before and does not run again. ReFrame asks fixtures before their tests.
        """
        run = runtime().current_run
        RUNNING.add((self.unique_name, run))
        known = super().user_deps()
        if run < 2:
            return known
        return [(name, how) for name, how in known if name not in PASSED or (name, run) in RUNNING]

    def getdep(self, target: str, environ: Any = None, part: Any = None) -> Any:
        """A fixture by its name, which may be one of an earlier run."""
        try:
            PASSED[target] = super().getdep(target, environ, part)
        except DependencyError:
            if target not in PASSED:
                raise
        return PASSED[target]


class Restorable(KeepsFixtures):
    """A fixture that `--restore-session` can read: ReFrame imports the file of its class without the package.

    The fixture names `restored.py` beside the file of its class, which imports the class with its package.
    """

    def __rfm_json_encode__(self) -> dict[str, Any]:
        content = super().__rfm_json_encode__()
        # tests use the folder of a restored fixture and no object in it, such as its job
        plain = {key: one for key, one in content.items() if not (isinstance(one, dict) and "__rfm_file__" in one)}
        return {**plain, "__rfm_file__": str(Path(content["__rfm_file__"]).resolve().with_name("restored.py"))}
