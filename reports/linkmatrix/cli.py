"""The command `linkmatrix`: shows and reports what was measured, and writes down what a machine has.

Exit codes: 0 pass, 1 fail, 2 bad input or usage, 3 no verdict, 4 could not run or store.
"""

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

from . import (
    __version__,
    acceptance,
    adopting,
    compare,
    curves,
    detect,
    diagnose,
    explain,
    history,
    importing,
    page,
    plot,
    runs,
    schedule,
    terminal,
)
from .errors import BadInput
from .evaluate import EXIT_CODES, MatrixVerdict, Verdict
from .explain import Judged, Result
from .references import References

BAD_INPUT, CANNOT = 2, 4
FEW = 8  # pictures that are listed one by one


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        code = options.command(options)
        sys.stdout.flush()
    except BadInput as error:
        return complain(str(error), BAD_INPUT)
    except BrokenPipeError:
        # the reader, such as `head`, had enough: no news to it, and none at Python's own flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return complain(named, CANNOT)
    return code


def complain(sentence: str, code: int) -> int:
    """One line on standard error, whatever characters a file name or a message has."""
    print(f"linkmatrix: {explain.clean(sentence)}".encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    """The options of all subcommands."""
    top = argparse.ArgumentParser(prog="linkmatrix", description="Explains what linkmatrix measured.", epilog=EXIT_HELP)
    top.add_argument("--version", action="version", version=f"linkmatrix {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    judged = argparse.ArgumentParser(add_help=False)
    judged.add_argument(
        "path",
        nargs="?",
        type=Path,
        metavar="PATH",
        help="a record.json, a ReFrame report (run-report-*.json) or a folder; by default the newest report",
    )
    judged.add_argument("--references", type=Path, metavar="DIR", help="default: config/references")
    judged.add_argument("--reference", metavar="NAME", help="the table of references; default: the partition's own")

    show = commands.add_parser("show", parents=[judged], help="matrices and verdicts in the terminal", epilog=EXIT_HELP)
    show.set_defaults(command=run_show)

    report = commands.add_parser("report", parents=[judged], help="an HTML page and heat maps", epilog=EXIT_HELP)
    report.add_argument("--out", type=Path, metavar="DIR", help="default: beside PATH, a folder of its name")
    report.set_defaults(command=run_report)

    found = commands.add_parser("detect", help="a system file and devices.json for this machine", epilog=EXIT_HELP)
    found.add_argument("--system", metavar="NAME", help="default: this host's name")
    found.add_argument("--partition", metavar="NAME", help="default: gpu, or cpu where there is none")
    found.add_argument("--config", type=Path, metavar="DIR", help="default: the folder config of the repository")
    found.add_argument("--force", action="store_true", help="overwrite files that are there")
    found.add_argument("--dry-run", action="store_true", help="show the files, write none")
    found.set_defaults(command=run_detect)

    for module in (importing, compare, adopting, history, acceptance, schedule):
        module.add_command(commands, EXIT_HELP)
    diagnose.add_command(commands, EXIT_HELP, judged)
    return top


EXIT_HELP = "Exit codes: 0 pass, 1 fail, 2 bad input or usage, 3 no verdict, 4 could not run or store."


def judged_run(options: argparse.Namespace) -> tuple[runs.Run, list[Judged]]:
    """What is at the given path, with verdicts. Raises BadInput."""
    references = References.load(options.references or reference_folder())
    run = runs.find(options.path)
    return run, explain.judge_all(run, references, options.reference)


def reference_folder() -> Path | None:
    """Of the repository around the working directory; None is that of this package."""
    folder = runs.repository() / "config" / "references"
    return folder if folder.is_dir() else None


def run_show(options: argparse.Namespace) -> int:
    """`linkmatrix show`."""
    return EXIT_CODES[terminal.show(*judged_run(options))]


def run_report(options: argparse.Namespace) -> int:
    """`linkmatrix report`: prints the paths of what it wrote."""
    run, judged = judged_run(options)
    folder = options.out or default_folder(run)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    scales = shared_scales(judged)

    def picture(record: dict[str, Any], result: Result, matrix: MatrixVerdict, verdict: Verdict) -> bytes:
        pictures = plot.heat_map(record, result, matrix, scales[scale_key(result)], verdict)
        written.extend(plot.save(pictures, folder, free_name(result["testcase"], written)))
        return pictures["png"]

    lines = draw_curves(judged, folder, written)
    html = folder / "report.html"
    html.write_text(page.render(run, judged, picture, lines), encoding="utf-8")
    print(html)
    if len(written) <= FEW:
        print(*written, sep="\n")
    else:
        print(f"{folder}/*.png, *.svg: heat maps of {len(written) // 2} matrices")
    verdict: Verdict = explain.overall(judged)
    print(explain.WORDS[verdict])
    return EXIT_CODES[verdict]


def draw_curves(judged: list[Judged], folder: Path, written: list[Path]) -> list[tuple[str, bytes]]:
    """(caption, PNG) of a picture for each record, axis and unit that has curves; `written` gets the files' paths."""
    drawn = []
    for one in judged:
        record = one.test.record
        groups: dict[tuple[str, str], list[curves.Curve]] = {}
        for curve in curves.curves_of(record) if record is not None else []:
            groups.setdefault((curve.axis, curve.unit), []).append(curve)
        for (axis, _), group in groups.items():
            pictures = curves.draw(record, group)
            name = {"size_bytes": "sizes", "blocks": "blocks"}[axis]
            written.extend(plot.save(pictures, folder, free_name(name, written)))
            testcases = ", ".join(dict.fromkeys(curve.testcase for curve in group))
            drawn.append((f"{testcases} by {curves.AXES[axis]}", pictures["png"]))
    return drawn


def default_folder(run: runs.Run) -> Path:
    """Beside a report or record, with its name: no report overwrites that of another run."""
    return run.path / "linkmatrix-report" if run.path.is_dir() else run.path.with_suffix("")


def scale_key(result: Result) -> tuple[Any, ...]:
    """Matrices with the same key share a scale: those of one quantity, size and path between the same endpoints."""
    kinds = [re.sub(r"\d+$", "", labels[0]) for labels in (result["rows"], result["columns"])]
    return result["unit"], result["quantity"], result["size_bytes"], result["peer_access"], *kinds


def shared_scales(judged: list[Judged]) -> dict[tuple[Any, ...], tuple[float, float] | None]:
    """The scale of each key of the run."""
    groups: dict[tuple[Any, ...], list[Result]] = {}
    for one in judged:
        for result, _ in one.matrices:
            groups.setdefault(scale_key(result), []).append(result)
    return {key: plot.scale_of(results) for key, results in groups.items()}


def free_name(name: str, written: list[Path]) -> str:
    """`name`, with a number where the run has the same test case more than once."""
    taken = {path.stem for path in written}
    return next(
        free for free in (name, *(f"{name}-{count}" for count in range(2, len(taken) + 3))) if free not in taken
    )


def run_detect(options: argparse.Namespace) -> int:
    """`linkmatrix detect`: shows the files and writes them, all or none."""
    config = options.config or runs.repository() / "config"
    if not config.is_dir():
        raise BadInput(f"{config} is no folder: name the repository's config with --config")
    texts = detect.files(detect.machine(), config, options.system, options.partition)
    for path, text in texts.items():
        print(f"# {path}\n{text}")
    if not options.dry_run:
        detect.write(texts, options.force, print)
    return 0


if __name__ == "__main__":
    sys.exit(main())
