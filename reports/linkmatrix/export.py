"""`linkmatrix export`: a run for other tools, every cell with its verdict as CSV or Parquet, or for Prometheus.

`slurm-exclude` says which nodes have suspect devices, as an option for sbatch and as commands to copy. Nothing acts on
a cluster by itself.
"""

import argparse
import csv
import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import explain, judging, prometheus, runs
from .errors import BadInput, clean
from .explain import Judged
from .files import write_whole
from .matrix import variant_of
from .references import References

if TYPE_CHECKING:
    from .suspects import Suspect

NOTHING = 3  # to export: as NO VERDICT
#: Column → Python type; a row is a cell, or a test that has none.
COLUMNS: dict[str, type] = {
    "started": str,
    "partition": str,
    "host": str,
    "testcase": str,
    "size_bytes": int,
    "variant": str,
    "unit": str,
    "source": str,
    "destination": str,
    "link_class": str,
    "status": str,
    "value": float,
    "low": float,
    "high": float,
    "samples": int,
    "limit": float,
    "reference": float,
    "lower": float,
    "upper": float,
    "verdict": str,
    "reason": str,
    "path": str,
}
FORMULA = re.compile(r"[=+\-@\t\r]")  # what a spreadsheet takes for the beginning of one
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
MOST_REASON = 100  # characters of a node's reason in Slurm


class Exported(NamedTuple):
    """What an exporter works on: runs with their verdicts, and what all runs leave under suspicion."""

    judged: list[Judged]
    suspects: list["Suspect"]
    clean_runs: int


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `export`."""
    command.add_argument(
        "paths", nargs="*", type=Path, metavar="RUN", help="records, reports or folders; default: the newest report"
    )
    command.add_argument("--format", required=True, choices=FORMATS)
    command.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    command.add_argument(
        "--clean-runs", type=int, default=3, metavar="K", help="that clear a suspect device; default: 3"
    )
    judging.add_reference_options(command)
    command.set_defaults(command=run_export)


def run_export(options: argparse.Namespace) -> int:
    """Writes the file whole, or nothing. Raises BadInput."""
    if options.clean_runs < 1:
        raise BadInput(f"--clean-runs {options.clean_runs}: one at least")
    if options.format == "prometheus" and options.out and options.out.suffix != ".prom":
        raise BadInput(f"--out {options.out}: node_exporter reads only what ends with .prom")
    references = judging.references_of(options)
    found = [runs.find(path) for path in options.paths] or [runs.find(None)]
    judged = [one for run in found for one in explain.judge_all(run, references, options.reference)]
    if not judged:
        print(f"{found[0].path} has no test case: there is nothing to export", file=sys.stderr)
        return NOTHING
    content = FORMATS[options.format](
        Exported(judged, suspects_of(options, found, references), options.clean_runs),
    )
    if options.out:
        write_whole(options.out, content)
        print(options.out)
    else:
        sys.stdout.flush()
        stream = getattr(sys.stdout, "buffer", None)
        stream.write(content) if stream else sys.stdout.write(content.decode())
    return 0


def suspects_of(options: argparse.Namespace, found: list[runs.Run], references: References) -> list["Suspect"]:
    """Of the runs that were named; else of all that are stored."""
    if options.format not in WITH_SUSPECTS:
        return []
    from .suspects import suspects  # needs numpy, which a table does not

    all_runs = found if options.paths else [runs.find(path) for path in runs.reports(runs.prefix())]
    return suspects(all_runs, references, options.reference, options.clean_runs)


def rows(judged: list[Judged]) -> Iterator[dict[str, Any]]:
    """A row for each cell that applies, by column; for a test without any, one that says why."""
    for one in judged:
        record = one.test.record
        head = {"partition": one.test.partition, "path": str(one.test.path or "")}
        head |= {"started": record["started"], "host": record["host"]["name"]} if record else {}
        if not one.matrices:
            said = {"testcase": one.test.testcase or one.test.name, "verdict": explain.WORDS[one.verdict]}
            yield {**head, **said, "reason": clean("; ".join(one.reasons))}
        for result, matrix in one.matrices:
            if "cells" in result:
                said = {"testcase": result["testcase"], "verdict": explain.WORDS[one.of_matrix(matrix)]}
                yield {**head, **said, "reason": f"its cells are in {result['cells']['file']}, a table of numpy's"}
                continue
            place = {
                (row, column): (r, c)
                for r, row in enumerate(result["rows"])
                for c, column in enumerate(result["columns"])
            }
            case = {name: result[name] for name in ("testcase", "size_bytes", "unit")}
            case["variant"] = variant_of(result).removeprefix(", ")
            for pair, cell in matrix.cells.items():
                row = {**head, **case, "source": pair[0], "destination": pair[1], "status": "not-run"}
                if pair in place:
                    r, c = place[pair]
                    names = ("status", "low", "high", "samples", "limit", "link_class")
                    row |= {name: result[name][r][c] for name in names} | {"value": cell.value}
                if cell.reference is not None:
                    reference = cell.reference
                    row |= {"reference": reference.value, "lower": reference.lower, "upper": reference.upper}
                yield {**row, "verdict": explain.WORDS[cell.verdict], "reason": clean(cell.reason)}


def to_csv(exported: Exported) -> bytes:
    """RFC 4180 with line feeds; numbers as they are, and no text that a spreadsheet would calculate."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows(exported.judged):
        writer.writerow({name: plain_text(value) if isinstance(value, str) else value for name, value in row.items()})
    return stream.getvalue().encode()


def plain_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def to_parquet(exported: Exported) -> bytes:
    """The same columns, by polars, which ReFrame brings."""
    import polars

    types = {str: polars.String, int: polars.Int64, float: polars.Float64}
    content = {name: [row.get(name) for row in found] for found in [list(rows(exported.judged))] for name in COLUMNS}
    schema = {name: types[kind] for name, kind in COLUMNS.items()}
    stream = io.BytesIO()
    polars.DataFrame(content, schema=schema, strict=False).write_parquet(stream)
    return stream.getvalue()


def to_prometheus(exported: Exported) -> bytes:
    """For the textfile collector of node_exporter."""
    return prometheus.text(exported.judged, exported.suspects).encode()


def to_slurm_exclude(exported: Exported) -> bytes:
    """One line that is an option of sbatch, empty where no node is suspect; all others are comments."""
    lines = [f"# what is suspect stays so until {exported.clean_runs} clean runs; nothing was changed on the cluster"]
    lines += [f"# {clean(one.sentence(exported.clean_runs))}" for one in exported.suspects]
    reasons = {one.node.partition(".")[0]: one.reason for one in reversed(exported.suspects)}
    names = sorted(name for name in reasons if NODE.fullmatch(name))
    lines.append(f"--exclude={','.join(names)}" if names else "# no node is suspect")
    if names:
        lines.append(
            "# To keep jobs off them, copy what you agree with; a node that is drained already has its reason:"
        )
        lines.append(f"#   sinfo --list-reasons --nodes={','.join(names)}")
    for name in names:
        reason = shlex.quote("linkmatrix: " + printable(reasons[name])[:MOST_REASON])
        lines.append(f"#   scontrol update NodeName={name} State=DRAIN Reason={reason}")
    lines += [f"#   scontrol update NodeName={name} State=RESUME   # when it is well again" for name in names]
    return ("\n".join(lines) + "\n").encode()


def printable(text: str) -> str:
    """ASCII without quotes: for a shell, a scheduler and its logs."""
    return re.sub(r"[^\x20-\x7e]|[\"'`$\\]", "?", text)


FORMATS: dict[str, Callable[[Exported], bytes]] = {
    "csv": to_csv,
    "parquet": to_parquet,
    "prometheus": to_prometheus,
    "slurm-exclude": to_slurm_exclude,
}
WITH_SUSPECTS = ("prometheus", "slurm-exclude")
