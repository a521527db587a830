"""A session that somebody interrupts ends with a sentence, also under --warn-as-error.

ReFrame warns of it where nobody catches what that option makes of a warning: a traceback of its own code was the end.
"""

from reframe.core import exceptions


def mend():
    """From now on, in this process: an interrupt is an error, whose sentence is printed."""
    exceptions.is_warning = lambda *_: False
