"""Outputs of nccl-tests and their records, for the tests of collectives."""

import contextlib
import io
import re
from pathlib import Path

from linkmatrix import cli
from linkmatrix.record import reading
from linkmatrix.references import published

DATA = Path(__file__).parents[1] / "data"
DOCUMENT = (published.FOLDER / "002_a100_roce.txt").read_text(encoding="utf-8")
LAYOUT = (DATA / "foreign" / "nccl_tests_v2.13_layout.txt").read_text(encoding="utf-8")
#: A row: the columns that describe the operation, then four columns out-of-place and four in-place.
ROW = re.compile(r"(\s+\d+\s+\d+\s+\w+\s+\w+\s+-1)((?:\s+[\d.]+){3})(\s+0)((?:\s+[\d.]+){3})(\s+0)")


def imported(folder, text, *options):
    """Import a text. Returns the folder of its records."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "text.txt"
    file.write_text(text, encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()):
        assert cli.main(["import", str(file), "--out", str(folder / "records"), *options]) in (0, 3)
    return folder / "records"


def faster(text, factor):
    """The output of a machine that is faster by a factor."""

    def scaled(columns):
        time, *rates = map(float, columns.split())
        return f"  {time / factor:.2f}" + "".join(f"  {rate * factor:.2f}" for rate in rates)

    return ROW.sub(lambda row: f"{row[1]}{scaled(row[2])}{row[3]}{scaled(row[4])}{row[5]}", text)


def own(record, nodes=1):
    """The record as a program of linkmatrix would write it, with devices and link classes."""
    record = {name: value for name, value in record.items() if name != "imported"}
    labels = [f"n{node}:gpu{gpu}" if nodes > 1 else f"gpu{gpu}" for node in range(nodes) for gpu in range(8)]
    facts = {"name": "NVIDIA H200", "uuid": None, "pci": None, "numa": 0, "nics": [], "part": {}, "place": {}}
    devices = [{"index": at, "label": label, "node": f"n{at // 8}", **facts} for at, label in enumerate(labels)]
    square = [[None] * len(labels) for _ in labels]
    topology = dict.fromkeys(("links", "peer_access", "min_path"), square)
    classes = [["X" if a == b else "NV18" for a in labels] for b in labels]
    record |= {"program": "collective_perf", "backend": "cuda", "devices": devices}
    record |= {"command": ["collective_perf"], "topology": {"labels": labels, "link_class": classes, **topology}}
    for result in record["results"]:
        result["link_class"] = [["ALL", "ALL"]]
    reading.check(record)
    return record
