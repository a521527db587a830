"""The commands that repeat tests of ReFrame."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..errors import clean
from ..runs.modes import NODES, session_options
from . import words

if TYPE_CHECKING:
    from ..runs.judging import Judged

MEASURE = "linkmatrix measure"


def short_samples(judged: Iterable[Judged]) -> int:
    """The number of short samples per cell that the tests requested; 0 if no test requested short samples."""
    results = (result for record in words.records_of(judged) for result in record["results"])
    return max(((result.get("short_samples") or {}).get("asked", 0) for result in results), default=0)


def rerun_commands(judged: Sequence[Judged]) -> list[str]:
    """The commands that repeat tests of ReFrame: one per partition, per swept node, and per node of -S on=NODE."""
    short = short_samples(judged)
    chosen: dict[tuple[str, str, str], dict[str, None]] = {}  # {(partition, node of a sweep, other node): hashes}
    for test in (one.test for one in judged if not one.test.fixture):
        pinned = "" if test.swept else test.node
        chosen.setdefault((test.partition, test.swept, pinned), {})[test.hashcode] = None
    return [rerun_command(place, codes, swept, short, pinned) for (place, swept, pinned), codes in chosen.items()]


def rerun_command(partition: str, hashcodes: Iterable[str], swept: str, short: int = 0, pinned: str = "") -> str:
    """The command that repeats tests of ReFrame.

    swept: the node of a sweep; "" for other tests.
    short: number of short samples; 0 for none.
    pinned: the node of -S on=NODE; "" for none.
    """
    chosen = [f"--system={partition}", *(word for code in hashcodes for word in ("-n", f"/{code}"))]
    chosen += session_options("short_samples", short) if short else []
    chosen += ["-S", f"on={pinned}"] if pinned else []
    again = f"{MEASURE} -- {shlex.join(chosen)}"
    return (f"{NODES}={shlex.quote(clean(swept))} " if swept else "") + clean(again)
