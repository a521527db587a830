"""A disk that fills up while a session runs is said once, and ends it.

ReFrame's log file fails with each line from then on, and Python's logging prints a traceback of each: 1,476 lines.
"""

import errno
import logging
import os
import signal
import sys

FULL = (errno.ENOSPC, errno.EDQUOT)


def end_the_session(prefix):
    """From now on, in this process; prefix: the folder of results, which the sentence names."""
    said = []
    handle, close, uncaught = logging.Handler.handleError, logging.FileHandler.close, sys.excepthook

    def handle_error(handler, record):
        error = sys.exc_info()[1]
        if isinstance(error, OSError) and error.errno in FULL:
            if not said:
                said.append(error)
                print(f"the disk of {prefix} is full, so this session is ended: make room", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGTERM)  # upon which ReFrame ends its jobs
        elif said:
            raise error  # which ends ReFrame: a handler that rotates its file catches all that writing raises
        else:
            handle(handler, record)

    def end(kind, error, trace):
        if not said:  # else ReFrame was at its end already, where nothing catches what the signal raises
            uncaught(kind, error, trace)

    def close_file(handler):
        try:
            close(handler)
        except OSError as error:  # of what was not written yet
            if error.errno not in FULL:
                raise

    logging.Handler.handleError, logging.FileHandler.close, sys.excepthook = handle_error, close_file, end
