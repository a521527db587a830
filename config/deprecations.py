"""ReFrame's warnings of what is deprecated, at less cost: nearly all of them are its own, and shown to nobody.

For each test that it makes, ReFrame 4.10 warns itself twice, and each time reads the source files of all that called
it to find out whom to name: two milliseconds a test, whether it runs or not.
"""

import sys
from types import SimpleNamespace

import reframe.core.warnings


class Callers:
    """Of the module `inspect`, what those warnings need, without the text of any line."""

    @staticmethod
    def stack():
        """Those who called this, the nearest first."""
        frame = sys._getframe(1)
        while frame is not None:
            yield SimpleNamespace(frame=frame)
            frame = frame.f_back

    @staticmethod
    def getmodule(frame):
        """The module whose code a frame runs; None where there is none."""
        return sys.modules.get(frame.f_globals.get("__name__"))


def look_for_callers_alone():
    """From now on, in this process."""
    reframe.core.warnings.inspect = Callers
