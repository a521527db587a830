"""coverage [NODES [DAYS]]: what `linkmatrix next` and the page of coverage cost with a year of daily sweeps.

One sweep of one node of 8 GPUs is real, as a report and a record; what the index keeps of it is written for every node
and day, with a restart of each node every 30 days, a part that is replaced now and then, and a driver that is rolled
out. By default 2,000 nodes and 365 days.
In the repository's folder: `python -m tests.benchmarks.coverage`.
"""

import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from linkmatrix.references.tables import References
from linkmatrix.runs import index, index_writing, indexing
from tests.tools import stores

REPOSITORY = Path(__file__).resolve().parents[2]

CASES = 10  # of the suite
GPUS = 8


def one_record() -> dict:
    """A record of 8 GPUs with so many test cases, as the unit tests make it."""
    spec = importlib.util.spec_from_file_location("made", REPOSITORY / "tests" / "unit" / "conftest.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    record = made.one_record(count=GPUS)
    (result,) = record["results"]
    names = [result["testcase"], *(f"case_{number}" for number in range(1, CASES))]
    return record | {"results": [result | {"testcase": name} for name in names]}


def of_day(rows: str, node: str, number: int, day: int, began: int, draw: random.Random) -> dict:
    """The rows of a node on a day, out of those of node0000 as JSON."""
    replaced = day > 200 and number % 50 == 0
    found = json.loads(rows.replace("1650-node0000", f"1650-{node}{'b' * replaced}").replace("node0000", node))
    for row in found["tests"]:
        row |= {"started": began + draw.randrange(3600), "boot": f"{node}-{(day + number) // 30}"}
        row |= {"run": draw.getrandbits(62), "measured": draw.getrandbits(62), "seconds": draw.gauss(100, 5)}
        row["versions"]["driver"] = "580.1" if day < 180 + number % 20 else "590.2"
    (devices,) = found["devices"]
    questions = [[name, *of] for name, (*_, asked) in found["tests"][0]["cases"].items() for of in asked]
    clean = [device for device, *_ in devices["seen"]]
    devices["clean"] = [[questions, clean]]
    if draw.random() < 0.0005:
        found["flagged"] = [
            {"node": node, "device": clean.pop(0), "question": questions[0], "reason": "sends 11 % slow"}
        ]
    return found


def filled(prefix: Path, nodes: int, days: int) -> float:
    """Writes reports and the index of them; the bytes of a record."""
    store, draw = stores.Store(prefix, REPOSITORY / "config" / "references"), random.Random(1)
    now = int(time.time())
    first = store.add(0, [stores.of_node(one_record(), "node0000")], began=float(now - (days + 1) * stores.DAY))
    references = References.load(store.references)
    rows = json.dumps(indexing.rows_of(first, references, first.stat().st_mtime)[1])
    by = index_writing.fingerprint(store.references)
    with index.opened(prefix, store.references) as found:
        for day in range(1, days + 1):
            began = now - (days - day) * stores.DAY - stores.DAY
            report = store.add(day, [], began=float(began))
            size, changed = indexing.stamp_of(report)
            with found.connection as connection:
                said = connection.execute(
                    "INSERT INTO reports (name, size, changed, began, judged_by) VALUES (?, ?, ?, ?, ?)",
                    (report.name, size, changed, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)), by),
                )
                writer = index_writing.Writer(connection)
                for number in range(nodes):
                    writer.write(said.lastrowid, of_day(rows, f"node{number:04}", number, day, began, draw))
    return (prefix / "output" / "0" / "node0000" / "record.json").stat().st_size


def timed(prefix: Path, *words: str) -> str:
    """Seconds and memory of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    environment = {**os.environ, "LINKMATRIX_PREFIX": str(prefix)}
    command = [sys.executable, "-m", "linkmatrix", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    head = (done.stdout or done.stderr).partition("\n")[0]
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    took = f"{seconds:.1f} s, {processor:.1f} s of processors, {after.ru_maxrss >> 10} MiB"
    return f"{' '.join(words[:2])}: {took}: {head[:160]}"


def main() -> None:
    """Prints the figures."""
    nodes, days = (int(word) for word in [*sys.argv[1:], *("2000", "365")[len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder)
        record = filled(prefix, nodes, days)
        size = (prefix / index.FILE).stat().st_size
        print(f"{nodes} nodes, {days} days: the index has {size / 1e6:.0f} MB", flush=True)
        print(f"records would have {record * nodes * days / 1e9:.1f} GB, {record} bytes each")
        common = ["--system", "alpha:gpu", "--reframe", "/no/such"]
        print(timed(prefix, "next", "--budget", "20-node-hours", *common), flush=True)
        print(timed(prefix, "next", "--html", str(prefix / "coverage.html"), *common), flush=True)
        print(timed(prefix, "history", "--part", "1650-node0050"), flush=True)


if __name__ == "__main__":
    main()
