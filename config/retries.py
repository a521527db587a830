"""What ReFrame 4.10 forgets when it repeats tests: from the second time on, the fixtures that passed in the first run.

It looks for what a repeated test depends on among the tests of the time before only, finds nothing, and drops the test
with a warning. Here it also looks among those of all times before.

`--restore-session` reads the fixtures of a run before, and with them the files of their classes, each by itself: one
that is part of a package, as all of checks/ are, could not be. Here they are read as they are for a run.
"""

import functools
from types import SimpleNamespace

from reframe.frontend import dependencies
from reframe.utility import import_module_from_file, jsonext


def remembering(build_deps):
    """ReFrame's `build_deps`, which knows all that it was ever told of, the newest first."""
    known = {}

    @functools.wraps(build_deps)
    def build(cases, default_cases=None):
        if default_cases is None:
            return build_deps(cases)
        known.update({case: case for case in default_cases})
        return build_deps(cases, list(known.values()))

    build.remembers = True
    return build


def keep_what_passed():
    """Mends both, once however often a configuration is read."""
    jsonext.util = SimpleNamespace(
        import_module_from_file=functools.partial(import_module_from_file, load_parents=True)
    )
    if not hasattr(dependencies.build_deps, "remembers"):
        dependencies.build_deps = remembering(dependencies.build_deps)
