"""A clock that is moved while a session runs does not stop it: ReFrame asks for jobs by the time of day.

It sleeps until its next question is due. Once the clock had gone back an hour, that was an hour.
"""

import time

from reframe.frontend.executors import policies


def mend():
    """From now on, in this process: what the questions' times are counted from moves with the clock."""
    controller = policies._PollController
    snooze, reset = controller.snooze, controller.reset_poll_rate

    def offset():
        return time.time() - time.monotonic()

    def steady_reset(self):
        reset(self)
        self._clock = offset()

    def steady_snooze(self):
        moved = offset() - getattr(self, "_clock", offset())
        if self._t_last_reset is not None:
            self._t_last_reset += moved
        if self._t_start is not None:
            self._t_start += moved
        self._clock = offset()
        snooze(self)

    controller.snooze, controller.reset_poll_rate = steady_snooze, steady_reset
