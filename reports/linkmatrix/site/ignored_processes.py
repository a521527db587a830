"""Ignored processes, such as the site's monitoring. A partition lists them, because they disturb no measurement."""

import re
from collections.abc import Mapping
from typing import Any

from ..errors import BadInput

KEY = "ignored_processes"  # of a partition's extras
PATTERN = re.compile(r"[^\s,]+:[^\s,:]+")


def from_extras(extras: Mapping[str, Any]) -> list[str]:
    """The ignored processes in the extras of a partition, as ["NAME:USER", …]. Raises BadInput."""
    given = extras.get(KEY, [])
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) and PATTERN.fullmatch(one) for one in given):
        raise BadInput(
            f"extras['{KEY}'] of the partition is {given!r}: give a list of 'NAME:USER', such as"
            " ['dcgm-exporter:root', 'node_exporter:*']"
        )
    return list(given)
