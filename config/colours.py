"""ReFrame's colours are for terminals: its log file has none, whatever it prints to."""

import re

import reframe.core.logging

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def keep_out_of_files():
    """From now on, in this process."""
    makers = reframe.core.logging._create_handlers
    make = makers["file"]

    def plain(*arguments):
        handler = make(*arguments)
        colourful = handler.format
        handler.format = lambda record: ESCAPES.sub("", colourful(record))
        return handler

    makers["file"] = plain
