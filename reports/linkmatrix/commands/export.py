"""`linkmatrix export`: writes a run in a format for other programs.

* csv, parquet: every cell with its verdict
* prometheus: metrics for node_exporter
* bundle: one archive that `show`, `diagnose` and `report` judge again on another machine
* hostfile, slurm, pbs, sge, slurm-exclude: known good nodes, or nodes with flagged devices, and commands to copy
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BadInput, clean, say
from ..files import path_of, write_new, write_whole
from ..record import units
from ..record.names import short
from ..references.tables import References
from ..runs import bundle, folders, judging, known_good, notes, stored
from ..runs.judging import Judged
from ..show import node_lists, prometheus, words
from ..show.analysis import Analysis
from . import arguments

if TYPE_CHECKING:
    import pandas

    from ..runs.known_good import Outcome
    from ..runs.suspects import Suspect

BUNDLE = "bundle"
NOTHING = 3  # exit code if there is nothing to export, as for INCOMPLETE
#: {column of csv and parquet: its pandas type}. runs/table.py explains the columns.
COLUMNS = {
    **dict.fromkeys(("run", "started", "host", "partition", "check", "testcase", "part"), "string"),
    "size_bytes": "Int64",
    **dict.fromkeys(("variant", "unit", "source", "destination", "link_class", "status"), "string"),
    **dict.fromkeys(("value", "low", "high"), "float64"),
    "samples": "Int64",
    **dict.fromkeys(("limit", "reference", "lower", "upper"), "float64"),
    **dict.fromkeys(("verdict", "reason"), "string"),
}
TEXT_COLUMNS = [name for name, kind in COLUMNS.items() if kind == "string"]
FORMULA = re.compile(r"[=+\-@\t\r]")  # the first character of a formula in a spreadsheet


class Exported(NamedTuple):
    """The input of an exporter: the judged runs, and the components that are flagged after all runs."""

    analysis: Analysis
    suspects: list["Suspect"]


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `export`."""
    command.add_argument(
        "paths",
        nargs="*",
        type=path_of,
        metavar="RUN",
        help="records, reports or folders (default: the run that ended last)",
    )
    command.add_argument("--format", required=True, choices=(*FORMATS, BUNDLE, *NODE_FORMATS))
    command.add_argument("--out", type=path_of, metavar="FILE", help="output file (default: standard output)")
    command.add_argument(
        "--nodes",
        choices=(node_lists.GOOD, node_lists.FLAGGED),
        help="nodes of the list: known-good (the newest run of each test case passed, and no component is flagged) or"
        " flagged (a component is flagged); default: flagged with --format slurm-exclude, otherwise known-good",
    )
    command.add_argument("--system", metavar="S:P", help="list only nodes of this system and partition")
    command.add_argument(
        "--within",
        type=int,
        default=30,
        metavar="DAYS",
        help="maximum age of the measurements of a known good node (default: 30)",
    )
    arguments.add_clean_runs(command)
    arguments.add_reference_options(command)
    command.set_defaults(command=run_export)


def run_export(options: argparse.Namespace) -> int:
    """Writes the exported file, or prints its content without --out. Raises BadInput.

    After an error, no file is written. Returns NOTHING if there is nothing to export.
    """
    if not 1 <= options.within <= 3650:
        raise BadInput(f"--within {options.within}: use 1 to 3650 days")
    if options.format == "prometheus" and options.out and options.out.suffix != ".prom":
        raise BadInput(f"--out {options.out}: node_exporter reads only files with the suffix .prom")
    if options.format in ("parquet", BUNDLE) and options.out is None and sys.stdout.isatty():
        raise BadInput(f"--format {options.format} is binary: write it to a file with --out, or into a pipe")
    if options.format not in NODE_FORMATS and (options.nodes or options.system):
        raise BadInput(f"--nodes and --system select nodes, and --format {options.format} lists no nodes: omit them")
    if options.format == BUNDLE and len(options.paths) > 1:
        raise BadInput("--format bundle takes one run. It finds the other attempts in the folder of the run")
    content = node_list(options) if options.format in NODE_FORMATS else exported_content(options)
    if content is None:
        return NOTHING
    if options.out and options.format == BUNDLE:  # a signed certificate may contain the SHA-256 of an existing bundle
        write_new(options.out, content)
        say(options.out)
    elif options.out:
        write_whole(options.out, content)
        say(options.out)
    else:
        sys.stdout.flush()
        stream = getattr(sys.stdout, "buffer", None)
        stream.write(content) if stream else sys.stdout.write(content.decode())
    return 0


def exported_content(options: argparse.Namespace) -> bytes | None:
    """The content of the exported file, in the format --format. Raises BadInput.

    If the run has no test case, prints a message and returns None.
    """
    if options.format == BUNDLE:
        run = stored.find(options.paths[0] if options.paths else None)
        return bundle.pack_run(run, arguments.references_path(options), folders.repository())
    references = arguments.load_references(options)
    found = stored.find_each(options.paths)
    judged = [one for run in found for one in judging.judge_all(run, references, options.reference)]
    if not judged:
        say(f"{found[0].path} has no test case: there is nothing to export", to=sys.stderr)
        return None
    analysis = Analysis(None, judged)
    if options.format != "prometheus":  # its text contains the notices as comments; a table has no comments
        say(*analysis.notices, to=sys.stderr)
    suspects: list[Suspect] = []
    if options.format == "prometheus":
        every = found if options.paths else stored.find_each(folders.reports(folders.prefix()))
        suspects = flagged_components(options, every, references)
    return FORMATS[options.format](Exported(analysis, suspects))


def flagged_components(options: argparse.Namespace, runs: list[stored.Run], references: References) -> list["Suspect"]:
    """The components that are flagged after these runs."""
    from ..runs.suspects import suspects

    return suspects(runs, references, options.reference, options.clean_runs, notes.load(folders.prefix()))


def node_list(options: argparse.Namespace) -> bytes | None:
    """The text of the requested list of nodes. Raises BadInput.

    If no node is known good, or if no node was measured, prints a message and returns None.
    """
    which = options.nodes or (node_lists.FLAGGED if options.format == "slurm-exclude" else node_lists.GOOD)
    if options.format == "slurm-exclude" and which != node_lists.FLAGGED:
        raise BadInput("--format slurm-exclude lists flagged nodes only: use --format slurm for known good nodes")
    facts = node_facts_of_runs(options) if options.paths or options.reference else node_facts_from_index(options)
    suspects = facts.suspects
    if which == node_lists.FLAGGED and not (facts.any_node or suspects):
        of = f" of {clean(options.system)}" if options.system else ""
        say(*facts.notices, f"no stored run{of} shows whether a node is flagged: measure first", to=sys.stderr)
        return None
    found = known_good.classify_nodes(facts.outcomes, suspects, facts.disturbed, time.time(), options.within)
    if which == node_lists.GOOD and not found.good:
        why = [f"{clean(name)} {reason}" for name, reason in found.unknown.items()]
        why += [f"{clean(name)} is flagged" for name in found.flagged]
        reasons = ", ".join(units.first(why, 3)) or "no node was measured alone: linkmatrix run --mode=sweep"
        say(*facts.notices, f"no node is known good: {reasons}", to=sys.stderr)
        return None
    form = "slurm" if options.format == "slurm-exclude" else options.format
    sentences = [one.sentence(options.clean_runs) for one in suspects]
    lines = [f"# {line}" for line in facts.notices]
    lines += node_lists.lines(form, which, found, sentences, options.clean_runs)
    return ("\n".join(lines) + "\n").encode()


class NodeFacts(NamedTuple):
    """The results of runs that decide whether a node is known good or suspect.

    outcomes: results of tests that measured a single node.
    suspects: the flagged components.
    disturbed: {node: why the node cannot be judged}.
    any_node: whether a run measured a node.
    notices: lines about the runs that the user named, such as "SIMULATED: …".
    """

    outcomes: list["Outcome"]
    suspects: list["Suspect"]
    disturbed: dict[str, str]
    any_node: bool
    notices: Sequence[str] = ()


def node_facts_of_runs(options: argparse.Namespace) -> NodeFacts:
    """Reads the `NodeFacts` from the runs that the options select, or from all stored runs. Raises BadInput."""
    from ..runs import indexing, known_good

    references = arguments.load_references(options)
    every = stored.find_each(options.paths or folders.reports(folders.prefix()))
    runs = every
    if options.system:
        selected = [tuple(one for one in run.tests if one.partition == options.system) for run in every]
        runs = [replace(run, tests=tests) for run, tests in zip(every, selected, strict=True)]
    found: list[Outcome] = []
    named: list[Judged] = []
    measured: list[known_good.Measured] = []
    for run in runs:
        judged = judging.judge_all(run, references, options.reference)
        named += judged if options.paths else []
        written = run.path.stat().st_mtime if run.path.is_file() else time.time()
        for one in judged:
            for row in indexing.test_rows(one, indexing.start_time(one, run.started, written)):
                measured.append(known_good.parse_measured(row))
                if row["nodes"] == 1:
                    cases = known_good.parse_cases(row["cases"])
                    about = (row[name] for name in ("node", "test", "started", "verdict"))
                    found += known_good.test_outcomes(*about, cases, row["components"])
    nodes = {short(one.node) for one in measured}
    suspects = [
        one for one in flagged_components(options, every, references) if not options.system or short(one.node) in nodes
    ]
    return NodeFacts(found, suspects, known_good.streak_sentences(measured), bool(nodes), words.notices(named))


def node_facts_from_index(options: argparse.Namespace) -> NodeFacts:
    """Reads the `NodeFacts` of all stored runs from the index of runs. Raises BadInput."""
    from ..runs import index

    prefix = folders.prefix()
    with index.open_index(prefix, options.references or arguments.reference_folder()) as found:
        for note in found.notes:
            say(f"note: {note}", to=sys.stderr)
        suspects, outcomes = (
            found.suspects(options.clean_runs, notes.load(prefix)),
            found.single_node_outcomes(options.system),
        )
        if not options.system:
            return NodeFacts(outcomes, suspects, found.disturbance_streaks(), bool(folders.reports(prefix)))
        # the runs of other partitions may name the same node with its domain, or without
        nodes = {short(node) for node in (*found.states(options.system), *(one.node for one in outcomes))}
        suspects = [one for one in suspects if short(one.node) in nodes]
        return NodeFacts(outcomes, suspects, found.disturbance_streaks(), bool(nodes))


def cell_table(judged: list[Judged]) -> "pandas.DataFrame":
    """A table with the columns COLUMNS, and a row per cell that applies.

    A test without cells has one row, which contains the reason.
    """
    import pandas

    from ..runs import table

    found = []
    for one in judged:
        record = one.test.record
        head = {"partition": one.test.partition, "run": str(one.test.path or ""), "check": one.test.name}
        head |= {"started": record["started"], "host": record["host"]["name"]} if record else {}
        if one.verdict_beyond_cells is not None:
            row = {"testcase": one.test.testcase or one.test.name, "verdict": words.WORDS[one.verdict]}
            found.append(pandas.DataFrame([{**head, **row, "reason": clean("; ".join(one.reasons))}]))
        for result, matrix in one.matrices:
            if matrix.whole is not None:
                found.append(table.judged_table(one, matrix))
                continue
            assert matrix.matrix.external is not None
            row = {"testcase": result["testcase"], "verdict": words.WORDS[one.matrix_verdict(matrix)]}
            row["reason"] = matrix.problem or f"its cells are in {matrix.matrix.external.name}, a NumPy file"
            found.append(pandas.DataFrame([{**head, **row}]))
    frames = [frame.reindex(columns=list(COLUMNS)).astype(COLUMNS) for frame in found]
    every = pandas.concat(frames, ignore_index=True)
    for name in TEXT_COLUMNS:  # may contain text of other programs
        every[name] = every[name].map(clean, na_action="ignore")
    return every


def to_csv(exported: Exported) -> bytes:
    """All cells as CSV (RFC 4180, lines end with LF). A quote protects texts that a spreadsheet would evaluate."""
    every = cell_table(exported.analysis.judged)
    for name in TEXT_COLUMNS:
        every[name] = every[name].map(plain_text, na_action="ignore")
    return every.to_csv(index=False, lineterminator="\n").encode()


def plain_text(text: str) -> str:
    """The text, with a quote in front if a spreadsheet would evaluate the text as a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def to_parquet(exported: Exported) -> bytes:
    """All cells as Parquet, with the columns COLUMNS."""
    import pyarrow  # noqa: F401  # reports a missing pyarrow in one line; pandas reports it in many lines

    return cell_table(exported.analysis.judged).to_parquet(None, engine="pyarrow", index=False)


def to_prometheus(exported: Exported) -> bytes:
    """Metrics for the textfile collector of node_exporter."""
    return prometheus.text(exported.analysis, exported.suspects).encode()


FORMATS: dict[str, Callable[[Exported], bytes]] = {
    "csv": to_csv,
    "parquet": to_parquet,
    "prometheus": to_prometheus,
}
NODE_FORMATS = ("slurm-exclude", *node_lists.FORMATS)
