"""The commands that repeat tests of ReFrame. ReFrame starts programs by the scheduler and launcher of the partition."""

import shlex
from collections.abc import Iterable, Sequence

from ..errors import clean
from ..runs.judging import Judged
from ..runs.modes import NODES, session_options

FITTING = "linkmatrix measure"


def short_samples(judged: Iterable[Judged]) -> int:
    """The requested short samples of tests: without them a repetition cannot find an intermittent cell again."""
    records = [one.test.record for one in judged if one.test.record is not None]
    asked = [(result.get("short_samples") or {}).get("asked", 0) for record in records for result in record["results"]]
    return max(asked, default=0)


def rerun_commands(judged: Sequence[Judged]) -> list[str]:
    """The commands that repeat these tests of ReFrame, one for those of a partition, or of a node that was chosen."""
    short = short_samples(judged)
    chosen: dict[tuple[str, str, str], dict[str, None]] = {}  # {(partition, node of a sweep, other node): hashes}
    for test in (one.test for one in judged if not one.test.fixture):
        pinned = "" if test.swept else test.node
        chosen.setdefault((test.partition, test.swept, pinned), {})[test.hashcode] = None
    return [rerun_command(place, codes, swept, short, pinned) for (place, swept, pinned), codes in chosen.items()]


def rerun_command(partition: str, hashcodes: Iterable[str], swept: str, short: int = 0, pinned: str = "") -> str:
    """The command that repeats tests of ReFrame.

    swept: the node of a sweep, else "". short: their short samples. pinned: the node of -S on=NODE, else "".
    """
    chosen = [f"--system={partition}", *(word for code in hashcodes for word in ("-n", f"/{code}"))]
    chosen += session_options("short_samples", short) if short else []
    chosen += ["-S", f"on={pinned}"] if pinned else []
    again = f"{FITTING} -- {shlex.join(chosen)}"
    return (f"{NODES}={shlex.quote(clean(swept))} " if swept else "") + clean(again)
