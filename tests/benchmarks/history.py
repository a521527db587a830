"""history [RUNS]: how long `linkmatrix history` of many stored runs takes, in seconds and memory.

Writes ReFrame reports of one host with four GPUs, each with a record and its stored verdict, to a temporary folder. The
bandwidth falls by 3 % in the middle. Prints a line per call of `linkmatrix history`; the first call creates the index.
By default 10,000 runs, which take 0.4 GB of disk.
In the repository's folder: `python -m tests.benchmarks.history`.
"""

import copy
import json
import os
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

from tests.benchmarks.scale import timed
from tests.tools import stored_verdicts

RECORD = Path(__file__).parents[1] / "data" / "h200x4_write_ce.record.json"
STEP, SIGMA = 0.97, 0.001
FIRST = datetime(2024, 1, 1, tzinfo=timezone.utc)


def write(prefix: Path, number: int, step: bool, template: dict, chance: np.random.Generator) -> None:
    """Writes a report, its record and its verdict."""
    when = FIRST + timedelta(hours=2 * number)
    place = prefix / "output" / str(number)
    place.mkdir(parents=True)
    record = copy.deepcopy(template) | {"started": f"{when:%Y-%m-%dT%H:%M:%SZ}"}
    for result in record["results"]:
        factor = (STEP if step else 1.0) * (1 + SIGMA * chance.standard_normal())
        for name in ("values", "low", "high"):
            result[name] = [[None if value is None else value * factor for value in row] for row in result[name]]
    (place / "record.json").write_text(json.dumps(record))
    case = {"name": "intranode_p2p_0", "display_name": "intranode_p2p %testcase=0", "environ": "cuda"}
    case |= {"system": "node", "partition": "gpu", "reference_name": "", "result": "pass", "hashcode": "a1"}
    case |= {"outputdir": str(place), "stagedir": str(place)}
    stored_verdicts.store(case)
    info = {"cmdline": "reframe -r", "time_start_unix": when.timestamp(), "time_end_unix": when.timestamp() + 60}
    report = {"session_info": {**info, "uuid": str(number)}, "runs": [{"testcases": [case]}]}
    (prefix / "reports" / f"run-report-{number}.json").write_text(json.dumps(report))


def main(runs: int) -> int:
    """Prints a line for each step; exit code 1 where the step was not found."""
    chance, template = np.random.default_rng(7), json.loads(RECORD.read_text())
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder)
        (prefix / "reports").mkdir()
        for number in range(runs):
            write(prefix, number, number >= runs - 100, template, chance)
        os.environ["LINKMATRIX_PREFIX"] = folder
        print(f"{runs} runs\n{'':34}{'wall':>10}{'processor':>12}{'memory':>14}")
        timed("history, without an index", "history")
        found = timed("history", "history")
    print(found)
    return int("-3.0 %" not in found)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2] or ["10000"])))
