"""Generates the pictures and pages of the gallery from records in tests/data, each time the site is built.

`linkmatrix report` and `linkmatrix show` generate them, so the gallery contains real outputs.
"""

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

from linkmatrix import cli
from linkmatrix.files import write_whole

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
HALF = ("--reference", "hgx-h200-half")  # the table of references of these machines


class Picture(NamedTuple):
    """A record, the options of the command, the name of the picture ("" for none), and whether to generate the page."""

    record: str
    options: tuple[str, ...] = ()
    shown: str = ""
    page: bool = True


PICTURES = (
    Picture("h200x4_write_ce", HALF, "device_to_device_memcpy_write_ce"),
    Picture("h200x4_sweep", (), "sizes"),
    Picture("h200x2_blocks", (), "blocks"),
    Picture("slurm2_sweep", (), "messages"),
    Picture("h200x4_gate_failed", HALF),
    Picture("hosts2_pairs"),
    Picture("h200x2_collectives"),
)
SHOWN = ("h200x4_gate_failed", HALF)  # the record of the terminal output
BAD_INPUT = 2  # exit code
LINES = 40  # lines of the terminal output


def made(folder: Path) -> None:
    """Writes the gallery into a folder: NAME.png, pages/run-NAME.html and show.txt."""
    for one in PICTURES:
        report = folder / "reports" / one.record
        said(["report", str(record_of(one.record)), "--out", str(report), *one.options])
        if one.shown:
            write_whole(folder / f"{one.record}.png", (report / f"{one.shown}.png").read_bytes())
        if one.page:
            write_whole(folder / "pages" / f"run-{one.record}.html", (report / "report.html").read_bytes())
    name, options = SHOWN
    lines = said(["show", str(record_of(name)), *options]).splitlines()
    write_whole(folder / "show.txt", "\n".join(["…", *lines[-LINES:], ""]).encode())


def record_of(name: str) -> Path:
    """The path of a record in tests/data."""
    return DATA / f"{name}.record.json"


def said(arguments: list[str]) -> str:
    """The standard output of a command. Raises RuntimeError for bad input; any other exit code is a verdict."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = cli.main(arguments)
    if code == BAD_INPUT:
        raise RuntimeError(
            f"linkmatrix {' '.join(arguments)} was refused: correct the record or the options of the gallery"
        )
    return out.getvalue()
