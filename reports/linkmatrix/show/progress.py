"""How far long work has come, on a terminal; nothing in a job, a pipe or a file."""

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO, TypeVar

try:
    from rich.console import Console
    from rich.progress import Progress
except ModuleNotFoundError:  # a cluster that has no more than ReFrame: nothing is shown
    Progress = None

Item = TypeVar("Item")
FEWEST = 3  # items: fewer are done before anybody reads how far they are


@contextlib.contextmanager
def watched(items: Sequence[Item], what: str, file: TextIO | None = None) -> Iterator[Iterable[Item]]:
    """The items, with a line on `file` (standard error) about how many were taken, which is gone at the end."""
    file = file or sys.stderr
    if Progress is None or len(items) < FEWEST or not file.isatty():
        yield items
        return
    with Progress(console=Console(file=file, highlight=False), transient=True) as line:
        yield line.track(items, description=f"reading {what}")
