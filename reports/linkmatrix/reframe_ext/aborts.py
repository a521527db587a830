"""The errors by which ReFrame ends a whole session, such as after a signal."""

from reframe.core.exceptions import FailureLimitError, ForceExitError, RunSessionTimeout

#: These errors are subclasses of ReframeError. Code that catches ReframeError must raise them again: otherwise the
#: session continues, and ReFrame ignores all later signals.
ABORTS = (FailureLimitError, ForceExitError, RunSessionTimeout)
