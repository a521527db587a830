"""Fixtures that ReFrame 4.10 forgets in a second retry and in a restored session: see `docs/reframe-issues.md`."""

from pathlib import Path

import reframe as rfm
from reframe.core.exceptions import DependencyError
from reframe.core.runtime import runtime

RESTORED = Path(__file__).resolve().parent / "restored.py"
PASSED = {}  # {name: fixture}: all fixtures that a test has used
RUNNING = set()  # (name, run): tests and fixtures that run again in a later run


class KeepsFixtures(rfm.RegressionTestPlugin):
    """A test or a fixture that gets its fixtures in every run, by public methods of ReFrame."""

    def user_deps(self):
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

    def getdep(self, target, environ=None, part=None):
        """A fixture by its name, which may be one of an earlier run."""
        try:
            PASSED[target] = super().getdep(target, environ, part)
        except DependencyError:
            if target not in PASSED:
                raise
        return PASSED[target]


class Restorable(KeepsFixtures):
    """A fixture that `--restore-session` can read: ReFrame imports the file of its class without the package."""

    def __rfm_json_encode__(self):
        content = super().__rfm_json_encode__()
        # tests use the folder of a restored fixture and no object in it, such as its job
        plain = {key: one for key, one in content.items() if not (isinstance(one, dict) and "__rfm_file__" in one)}
        return {**plain, "__rfm_file__": str(RESTORED)}
