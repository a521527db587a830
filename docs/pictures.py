"""The pictures and pages of the gallery, made from recorded runs of tests/data whenever the site is built.

Each is what `linkmatrix report` and `linkmatrix show` make of a record: what the gallery shows is what a user gets.
"""

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

from linkmatrix import cli
from linkmatrix.files import write_whole

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
HALF = ("--reference", "hgx-h200-half")  # the table of what these machines should reach


class Picture(NamedTuple):
    """A record, its options, and the picture that is shown of it, "" for none; page: whether its page is there too."""

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
SHOWN = ("h200x4_gate_failed", HALF)  # on a terminal
BAD_INPUT = 2  # exit code
LINES = 40  # of it: what a screen holds


def made(folder: Path) -> None:
    """Writes all of them into a folder: NAME.png, pages/run-NAME.html and show.txt."""
    for one in PICTURES:
        report = folder / "reports" / one.record
        said(["report", str(record_of(one.record)), "--out", str(report), *one.options])
        if one.shown:
            write_whole(folder / f"{one.record}.png", (report / f"{one.shown}.png").read_bytes())
        if one.page:
            write_whole(folder / "pages" / f"run-{one.record}.html", (report / "report.html").read_bytes())
    name, options = SHOWN
    lines = said(["show", str(record_of(name)), *options]).splitlines()
    write_whole(folder / "show.txt", "\n".join([*lines[:LINES], "…", ""]).encode())


def record_of(name: str) -> Path:
    """A record of tests/data."""
    return DATA / f"{name}.record.json"


def said(arguments: list[str]) -> str:
    """What a command prints; its exit code is a verdict, which the gallery shows as it is."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = cli.main(arguments)
    if code == BAD_INPUT:
        raise RuntimeError(f"linkmatrix {' '.join(arguments)} was refused, and the gallery needs it")
    return out.getvalue()
