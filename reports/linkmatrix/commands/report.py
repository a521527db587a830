"""`linkmatrix report`: the page of a run, and its heat maps and curves as files; or a certificate to sign."""

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

FEW = 8  # pictures that are listed one by one


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `report`."""
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
    """Writes the page and the pictures, and prints their paths and the verdict."""
    if options.certificate:
        return write_certificate(options)
    run, judged = arguments.judged_run(options)
    others = arguments.published_beside(options, judged)
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
    if len(written) <= FEW:
        say(*written)
    else:
        say(f"{folder}/*.png, *.svg: {len(written) // 2} heat maps and curves")
    say(words.WORDS[analysis.verdict])
    return judging.exit_code(judged)


def write_certificate(options: argparse.Namespace) -> int:
    """Writes certificate.html, and certificate.tar for a run that is no bundle. Never replaces one. Raises BadInput."""
    if options.more or options.groups or options.against:
        raise BadInput("--certificate accepts one run: omit other runs, --groups and --against")
    if options.path is not None and arguments.is_bundle(options.path):
        archive, folder = options.path, folder_for(options.out or options.path.with_suffix(""))
    else:
        run, references = stored.find(options.path), arguments.references_at(options)
        judging.refuse_unknown(References.load(references), options.reference)
        folder = folder_for(options.out or default_folder(run))
        archive = folder / "certificate.tar"
        write_new(archive, bundle.made(run, references, folders.repository()))
        say(archive)
    found = bundle.read(archive)
    one = certificate.certified(found, options.reference)
    html = folder / "certificate.html"
    write_new(html, one.page.encode())
    say(*one.analysis.notices, html, *(f"{words.WORDS[why.verdict]}  {why.sentence}" for why in one.reasons))
    say(f"SHA-256 of {archive.name}: {found.sha256}", words.WORDS[one.analysis.verdict])
    return judging.exit_code(one.analysis.judged, one.analysis.verdict, acceptance=True)


def draw_maps(analysis: Analysis, folder: Path, written: list[Path]) -> dict[tuple[MatrixVerdict, str], bytes]:
    """{(matrix, ABSOLUTE or DEVIATION): PNG} of each matrix of the page; adds the paths of the files to `written`.

    The page shows small matrices as tables. Their heat maps are for other documents.
    """
    found: dict[tuple[MatrixVerdict, str], bytes] = {}
    scales = matrix_text.shared(analysis.judged)
    for one, result, matrix in page.drawn_matrices(analysis):
        if matrix.problem:
            continue
        record, verdict, name = (
            one.test.record or {},
            one.matrix_verdict(matrix),
            free_name(result["testcase"], written),
        )
        pictures = plot.heat_map(record, result, matrix.subset, scales.get(matrix_text.key_of(result)), verdict)
        written.extend(plot.save(pictures, folder, name))
        found[matrix, page_matrix.ABSOLUTE] = pictures["png"]
        if not page_matrix.fits(result, matrix):
            pictures = plot.deviation_map(record, result, matrix.subset, verdict)
            written.extend(plot.save(pictures, folder, f"{name}-deviation"))
            found[matrix, page_matrix.DEVIATION] = pictures["png"]
    return found


def draw_curves(judged: list[Judged], folder: Path, written: list[Path]) -> list[tuple[str, bytes]]:
    """Draw one picture per record, axis and unit with curves.

    Returns (caption, PNG) of each picture, and adds the paths of the files to `written`.
    """
    drawn = []
    for one in judged:
        record = one.test.record
        groups: dict[tuple[str, str], list[collectives.Curve]] = {}
        for curve in collectives.curves_of(record) if record is not None else []:
            if not curve.is_of_messages:
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
    """The same of messages between ranks, of all tests and with published series, a picture for each quantity."""
    drawn = []
    headings = dict.fromkeys(filter(None, map(words.heading, judged)))
    for table in by_size.tables(judged):
        pictures = charts.draw_sizes(table, others.get(table.title), next(iter(headings), ""))
        written.extend(plot.save(pictures, folder, free_name("messages", written)))
        drawn.append((f"{table.title} by bytes of a message", pictures["png"]))
    return drawn


def draw_scaling(judged: list[Judged], folder: Path, written: list[Path]) -> list[tuple[str, bytes]]:
    """(caption, PNG) of the charts of each simulation; adds the paths of the files to `written`."""
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
    """The folder next to a report or record that has its name, so that no report replaces another."""
    return run.path / "linkmatrix-report" if run.path.is_dir() else run.path.with_suffix("")


def free_name(name: str, written: list[Path]) -> str:
    """`name`, with a number where the run has the same test case more than once."""
    taken = {path.stem for path in written}
    return next(
        free for free in (name, *(f"{name}-{count}" for count in range(2, len(taken) + 3))) if free not in taken
    )
