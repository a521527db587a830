"""`linkmatrix report`: writes the HTML page of a run with heat maps and curves, or a certificate to sign."""

import argparse
from pathlib import Path

from ..errors import BadInput, say
from ..files import folder_for, path_of, write_new, write_whole
from ..judge.evaluate import MatrixVerdict
from ..references.tables import References
from ..runs import bundle, folders, judging, stored
from ..runs.judging import Judged
from ..show import by_size, certificate, charts, collectives, matrix_text, page, page_matrix, plot, words
from ..show.analysis import Analysis
from . import arguments

MOST_LISTED = 8  # of more pictures, only the number is printed


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `report`."""
    arguments.add_options(command)
    command.add_argument("more", nargs="*", type=path_of, metavar="MORE", help="further runs for the same page")
    command.add_argument(
        "--out", type=path_of, metavar="DIR", help="output folder (default: next to PATH, with its name)"
    )
    arguments.add_against(command)
    command.add_argument(
        "--certificate", action="store_true", help="write one page to sign instead, and the bundle that it certifies"
    )
    command.set_defaults(command=run_report)


def run_report(options: argparse.Namespace) -> int:
    """Writes the HTML page and the pictures of a run, and prints their paths and the verdict.

    With --certificate, writes a certificate instead. Returns the exit code of the verdict.
    """
    if options.certificate:
        return write_certificate(options)
    run, judged = arguments.judged_run(options)
    others = arguments.published_tables(options, judged)
    folder = folder_for(options.out or default_folder(run))
    written: list[Path] = []
    analysis = Analysis(run, judged)
    drawn = draw_maps(analysis, folder, written)
    lines = [*draw_curves(judged, folder, written), *draw_scaling(judged, folder, written)]
    lines += draw_sizes(judged, others, folder, written)
    say(*analysis.notices)
    html = folder / "report.html"
    write_whole(html, page.render(analysis, lambda *one: drawn.get(one, b""), lines).encode())
    say(html)
    if len(written) <= MOST_LISTED:
        say(*written)
    else:
        say(f"{folder}/*.png, *.svg: {len(written) // 2} heat maps and curves")
    say(words.WORDS[analysis.verdict])
    return judging.exit_code(judged)


def write_certificate(options: argparse.Namespace) -> int:
    """Writes certificate.html. Writes certificate.tar too, if the run is not a bundle already. Raises BadInput.

    Returns the exit code of the verdict. An existing certificate is never replaced.
    """
    if options.more or options.groups or options.against:
        raise BadInput("--certificate accepts one run: omit other runs, --groups and --against")
    if options.path is not None and arguments.is_bundle(options.path):
        archive, folder = options.path, folder_for(options.out or options.path.with_suffix(""))
    else:
        run, references = stored.find(options.path), arguments.references_path(options)
        judging.refuse_unknown(References.load(references), options.reference)
        folder = folder_for(options.out or default_folder(run))
        archive = folder / "certificate.tar"
        write_new(archive, bundle.pack_run(run, references, folders.repository()))
        say(archive)
    content = bundle.read(archive)
    signed = certificate.certified(content, options.reference)
    html = folder / "certificate.html"
    write_new(html, signed.page.encode())
    reasons = [f"{words.WORDS[reason.verdict]}  {reason.sentence}" for reason in signed.reasons]
    say(*signed.analysis.notices, html, *reasons)
    say(f"SHA-256 of {archive.name}: {content.sha256}", words.WORDS[signed.analysis.verdict])
    return judging.exit_code(signed.analysis.judged, signed.analysis.verdict, acceptance=True)


def draw_maps(analysis: Analysis, folder: Path, written: list[Path]) -> dict[tuple[MatrixVerdict, str], bytes]:
    """Draws the heat maps of all matrices, also of small matrices, which the page shows as tables.

    Returns {(matrix, ABSOLUTE or DEVIATION): PNG}.
    written: each `draw_` function appends the paths of its files to this list.
    """
    found: dict[tuple[MatrixVerdict, str], bytes] = {}
    scales = matrix_text.scales(analysis.judged)
    for one, result, matrix in page.drawn_matrices(analysis):
        if matrix.problem:
            continue
        record, verdict, name = (
            one.test.record or {},
            one.matrix_verdict(matrix),
            free_name(result["testcase"], written),
        )
        pictures = plot.heat_map(record, result, matrix.subset, scales.get(matrix_text.scale_key(result)), verdict)
        written.extend(plot.save(pictures, folder, name))
        found[matrix, page_matrix.ABSOLUTE] = pictures["png"]
        if not page_matrix.fits(result, matrix):
            pictures = plot.deviation_map(record, result, matrix.subset, verdict)
            written.extend(plot.save(pictures, folder, f"{name}-deviation"))
            found[matrix, page_matrix.DEVIATION] = pictures["png"]
    return found


def draw_curves(judged: list[Judged], folder: Path, written: list[Path]) -> list[tuple[str, bytes]]:
    """Draws the curves of collectives: one picture per record, axis and unit. Returns [(caption, PNG)]."""
    drawn = []
    for one in judged:
        record = one.test.record
        groups: dict[tuple[str, str], list[collectives.Curve]] = {}
        for curve in collectives.curves_of(record) if record is not None else []:
            if not curve.is_point_to_point:
                groups.setdefault((curve.axis, curve.unit), []).append(curve)
        for (axis, _), group in groups.items():
            pictures = charts.draw_curves(record, group, one.matrices)
            name = {"size_bytes": "sizes", "blocks": "blocks"}[axis]
            written.extend(plot.save(pictures, folder, free_name(name, written)))
            testcases = ", ".join(dict.fromkeys(curve.testcase for curve in group))
            drawn.append((f"{testcases} by {charts.AXES[axis]}", pictures["png"]))
    return drawn


def draw_sizes(
    judged: list[Judged], others: dict[str, by_size.Table], folder: Path, written: list[Path]
) -> list[tuple[str, bytes]]:
    """Draws values by message size: one picture per table, with the curves of all tests. Returns [(caption, PNG)].

    others: {title of a table: published table}. Its series are drawn in the same picture.
    """
    drawn = []
    headings = dict.fromkeys(filter(None, map(words.heading, judged)))
    for table in by_size.tables(judged):
        pictures = charts.draw_sizes(table, others.get(table.title), next(iter(headings), ""))
        written.extend(plot.save(pictures, folder, free_name("messages", written)))
        drawn.append((f"{table.title} by message size in bytes", pictures["png"]))
    return drawn


def draw_scaling(judged: list[Judged], folder: Path, written: list[Path]) -> list[tuple[str, bytes]]:
    """Draws time, rate and efficiency of simulations: one picture per simulation. Returns [(caption, PNG)]."""
    drawn = []
    for one in judged:
        record = one.test.record
        for name, results in charts.simulations_of(record).items() if record is not None else ():
            if name not in {result["testcase"] for result, _ in one.matrices}:
                continue
            pictures = charts.draw_scaling(record, results)
            written.extend(plot.save(pictures, folder, free_name(name, written)))
            drawn.append((f"{name}: time, rate and efficiency by devices and by bodies", pictures["png"]))
    return drawn


def default_folder(run: stored.Run) -> Path:
    """The output folder for a run: next to the report or record, with the name of the file without suffix."""
    return run.path / "linkmatrix-report" if run.path.is_dir() else run.path.with_suffix("")


def free_name(name: str, written: list[Path]) -> str:
    """A file name without suffix that no written file has: `name`, or `name` with a number."""
    taken = {path.stem for path in written}
    return next(
        free for free in (name, *(f"{name}-{count}" for count in range(2, len(taken) + 3))) if free not in taken
    )
