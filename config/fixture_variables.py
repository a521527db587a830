"""`-S NAME=VALUE` without a class is for tests: that a fixture has no such variable is no warning.

ReFrame 4.10 sets it in each class of the session, those of fixtures too, and warns of each that has none. Builds and
sessions have no `on`, `nodes` or `sizes`, and where a warning is an error nothing would run.
"""

import functools

from reframe.core import decorators


def without_fixtures(setvars):
    """ReFrame's `_setvars`: of fixtures it returns only what was named with their class."""

    @functools.wraps(setvars)
    def set_variables(registry, variables):
        unset = setvars(registry, variables)
        if isinstance(registry, decorators.TestRegistry):  # of a file; fixtures come as classes alone
            return unset
        named = {test: [name for name in names if f"{test}.{name}" in variables] for test, names in unset.items()}
        return {test: names for test, names in named.items() if names}

    set_variables.leaves_out_fixtures = True
    return set_variables


def need_no_variables():
    """From now on, in this process."""
    if not hasattr(decorators._setvars, "leaves_out_fixtures"):
        decorators._setvars = without_fixtures(decorators._setvars)
