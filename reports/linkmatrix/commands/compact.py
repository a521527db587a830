"""`linkmatrix compact`: writes record.npz beside the record.json of many endpoints."""

import argparse

from ..errors import say
from ..files import path_of, write_whole
from ..record.compact import fingerprint, pack
from ..record.matrix import from_result
from ..runs import stored

LEAST_ENDPOINTS = 64  # of a record for which it is worth it


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `compact`."""
    command.add_argument(
        "paths", nargs="*", type=path_of, metavar="RUN", help="records, reports or folders; default: the newest report"
    )
    command.add_argument(
        "--least", type=int, default=LEAST_ENDPOINTS, metavar="N", help="endpoints of a record; default: 64"
    )
    command.set_defaults(command=run_compact)


def run_compact(options: argparse.Namespace) -> int:
    """Writes record.npz beside each record.json of so many endpoints; the record stays. Raises BadInput."""
    done = 0
    for run in [stored.find(path) for path in options.paths] or [stored.find(None)]:
        for test in run.tests:
            path = test.path
            if test.record is None or path is None or path.suffix != ".json":
                continue
            most = max((len(result["rows"]) for result in test.record["results"]), default=0)
            # cells in a file are as compact as can be
            apart = any(from_result(result).apart for result in test.record["results"])
            if most < options.least or apart:
                continue
            out = path.with_suffix(".npz")
            write_whole(out, pack(test.record, fingerprint(path)))
            say(f"{out}: {most} endpoints, {path.stat().st_size / 1e6:.1f} MB are {out.stat().st_size / 1e6:.1f} MB")
            done += 1
    if not done:
        say(f"No record has {options.least} endpoints: JSON is as good for them.")
    return 0
