"""`linkmatrix export`: a run for other tools, every cell with its verdict as CSV or Parquet, or for Prometheus.

`slurm-exclude` says which nodes have suspect devices, as an option for sbatch and as commands to copy. Nothing acts on
a cluster by itself.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BadInput, clean
from ..files import path_of, write_whole
from ..references.tables import References
from ..runs import folders, judging, stored
from ..runs.bound import short
from ..runs.judging import Judged
from ..show import prometheus, words
from . import arguments

if TYPE_CHECKING:
    import pandas

    from ..runs.suspects import Suspect

NOTHING = 3  # to export: as NO VERDICT
#: Column → type of pandas; a row is a cell, or a test that has none. What they mean is said in runs/table.py.
COLUMNS = {
    **dict.fromkeys(("run", "started", "host", "partition", "check", "testcase", "part"), "string"),
    "size_bytes": "Int64",
    **dict.fromkeys(("variant", "unit", "source", "destination", "link_class", "status"), "string"),
    **dict.fromkeys(("value", "low", "high"), "float64"),
    "samples": "Int64",
    **dict.fromkeys(("limit", "reference", "lower", "upper"), "float64"),
    **dict.fromkeys(("verdict", "reason"), "string"),
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
        "paths", nargs="*", type=path_of, metavar="RUN", help="records, reports or folders; default: the newest report"
    )
    command.add_argument("--format", required=True, choices=FORMATS)
    command.add_argument("--out", type=path_of, metavar="FILE", help="default: standard output")
    command.add_argument(
        "--clean-runs", type=int, default=3, metavar="K", help="that clear a suspect device; default: 3"
    )
    arguments.add_reference_options(command)
    command.set_defaults(command=run_export)


def run_export(options: argparse.Namespace) -> int:
    """Writes the file whole, or nothing. Raises BadInput."""
    if options.clean_runs < 1:
        raise BadInput(f"--clean-runs {options.clean_runs}: one at least")
    if options.format == "prometheus" and options.out and options.out.suffix != ".prom":
        raise BadInput(f"--out {options.out}: node_exporter reads only what ends with .prom")
    if options.format == "parquet" and options.out is None and sys.stdout.isatty():
        raise BadInput("--format parquet is no text for a terminal: name a file, --out cells.parquet, or a pipe")
    references = arguments.references_of(options)
    found = stored.find_each(options.paths)
    judged = [one for run in found for one in judging.judge_all(run, references, options.reference)]
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


def suspects_of(options: argparse.Namespace, found: list[stored.Run], references: References) -> list["Suspect"]:
    """Of the runs that were named; else of all that are stored."""
    if options.format not in WITH_SUSPECTS:
        return []
    from ..runs.suspects import suspects

    all_runs = found if options.paths else stored.find_each(folders.reports(folders.prefix()))
    return suspects(all_runs, references, options.reference, options.clean_runs)


def cells_of(judged: list[Judged]) -> "pandas.DataFrame":
    """A row for each cell that applies, by column; for a test without any, one that says why."""
    import pandas

    from ..runs import table

    found = []
    for one in judged:
        record = one.test.record
        head = {"partition": one.test.partition, "run": str(one.test.path or ""), "check": one.test.name}
        head |= {"started": record["started"], "host": record["host"]["name"]} if record else {}
        if one.beyond_cells is not None:
            said = {"testcase": one.test.testcase or one.test.name, "verdict": words.WORDS[one.verdict]}
            found.append(pandas.DataFrame([{**head, **said, "reason": clean("; ".join(one.reasons))}]))
        for result, matrix in one.matrices:
            if matrix.whole is not None:
                found.append(table.of_judged(one, matrix))
                continue
            where = matrix.matrix.apart.name if matrix.matrix.apart else "record.npz"
            said = {"testcase": result["testcase"], "verdict": words.WORDS[one.of_matrix(matrix)]}
            said["reason"] = matrix.problem or f"its cells are in {where}, a table of numpy's"
            found.append(pandas.DataFrame([{**head, **said}]))
    frames = [frame.reindex(columns=list(COLUMNS)).astype(COLUMNS) for frame in found]
    every = pandas.concat(frames, ignore_index=True)
    for name in ("reason", "check", "host"):
        every[name] = every[name].map(clean, na_action="ignore")
    return every


def to_csv(exported: Exported) -> bytes:
    """RFC 4180 with line feeds; numbers as they are, and no text that a spreadsheet would calculate."""
    every = cells_of(exported.judged)
    for name, kind in COLUMNS.items():
        if kind == "string":
            every[name] = every[name].map(plain_text, na_action="ignore")
    return every.to_csv(index=False, lineterminator="\n").encode()


def plain_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def to_parquet(exported: Exported) -> bytes:
    """The same columns, by pyarrow."""
    import pyarrow  # noqa: F401  # pandas would say it in many words

    return cells_of(exported.judged).to_parquet(None, engine="pyarrow", index=False)


def to_prometheus(exported: Exported) -> bytes:
    """For the textfile collector of node_exporter."""
    return prometheus.text(exported.judged, exported.suspects).encode()


def to_slurm_exclude(exported: Exported) -> bytes:
    """One line that is an option of sbatch, empty where no node is suspect; all others are comments."""
    lines = [f"# what is suspect stays so until {exported.clean_runs} clean runs; nothing was changed on the cluster"]
    lines += [f"# {clean(one.sentence(exported.clean_runs))}" for one in exported.suspects]
    reasons = {short(one.node): one.reason for one in reversed(exported.suspects)}
    names = sorted(name for name in reasons if NODE.fullmatch(name))
    others = sorted(reasons.keys() - names)
    lines += [f"# {clean(name)} can be no node of Slurm by this name: leave it out by hand" for name in others]
    lines.append(f"--exclude={','.join(names)}" if names else f"# no {'other ' if others else ''}node is suspect")
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
