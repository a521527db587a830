"""`linkmatrix baseline`: adopts references of this machine, and compares a run with these references.

The command calls other commands in this order: detect, run (six times), adopt, adopt --use, run.
"""

import argparse
import contextlib
import importlib
import io
import re
import shlex
from collections import Counter
from pathlib import Path

from ..adopt.propose import FEWEST
from ..adopt.usable import select_usable
from ..errors import BadInput, say
from ..record import units
from ..references.keys import measuring_check, with_variant
from ..references.tables import References
from ..runs import completeness, folders, manifest, resume, stored, supervise
from ..runs.modes import MODES, PAIR, SWEEP, is_selective
from ..runs.testcases import Test
from ..site import configured, machine
from . import begin, run_options, use_references
from .run_summary import grouped_lines

FAIL, BAD_INPUT, INCOMPLETE, CANNOT = range(1, 5)  # exit codes
ENDING = (FAIL, BAD_INPUT, CANNOT)  # exit codes of a run that end this command
MOST_RUNS = 100
MOST_REPEATED = 2  # maximum number of runs, as a multiple of --runs
IDLE = "Next step: Let each program wait until other processes end: linkmatrix baseline --wait-idle 600"
REASON = "linkmatrix baseline; test cases that are too noisy for references are left out"  # in the manifest
RETRY = "--retries=1"  # a value outside its tolerance is FAIL only if it is outside again


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `baseline`."""
    command.description = (
        "Writes a system file if this machine has none, measures several times, adopts references, names them in the"
        " system file, and measures once more."
    )
    modes = sorted(set(MODES) - {SWEEP, PAIR})
    command.add_argument("--mode", choices=modes, default="quick", help="mode of linkmatrix run (default: quick)")
    command.add_argument(
        "--runs",
        type=int,
        default=FEWEST,
        metavar="N",
        help=f"number of usable results per test, {FEWEST} or more (default: {FEWEST}); further runs replace results"
        f" that are not usable, up to {MOST_REPEATED} × N runs in total",
    )
    command.add_argument(
        "--table", metavar="NAME", help="table of references (default: the name of the system or partition)"
    )
    command.add_argument("--system", metavar="S:P", help="system and partition (default: detected by ReFrame)")
    run_options.add_measuring(command)
    run_options.add_reframe(command)
    command.set_defaults(command=run_baseline)


def run_baseline(options: argparse.Namespace) -> int:
    """Measures, adopts references, and compares one more run with the references. Raises BadInput.

    Returns the exit code of the last run. If the exit code of a run is in ENDING, no further run starts.
    Returns 3 if no test case has references, or if the user must edit the system file.
    """
    if not FEWEST <= options.runs <= MOST_RUNS:
        raise BadInput(f"--runs {options.runs}: use {FEWEST} to {MOST_RUNS}, to estimate the noise")
    if options.table is not None and not re.fullmatch(r"[A-Za-z0-9][\w.-]*", options.table):
        raise BadInput(f"--table '{options.table}' is not a name: use letters, digits, '.', '-' and '_'")
    repository, prefix = folders.repository(), folders.prefix()
    try:
        place = measured_place(begin.find_reframe(options.reframe), repository, options.system)
    except begin.NotStarted as why:
        say(f"not started: {why}")
        return CANNOT
    # a system with several partitions has several tables
    table = options.table or (place.replace(":", "-") if options.system else place.partition(":")[0])
    selection = [f"--mode={options.mode}", *([f"--system={options.system}"] if options.system else [])]
    selection += run_options.measuring_words(options)
    chosen = [*selection, f"--reframe={options.reframe}"]
    known, reports = set(folders.reports(prefix)), list[Path]()
    number, results = 0, Counter[str]()  # results: usable results of each test
    while min(results.values(), default=0) < options.runs and number < MOST_REPEATED * options.runs:
        number += 1
        code, output = capture_command("run", [*chosen, "--with-left-out", "--", *options.more])
        if supervise.FORWARDED:
            raise KeyboardInterrupt
        if code in ENDING:
            say(*output, f"baseline: no references were adopted, because run {number} ended with {code}: see above")
            return code
        new = [path for path in folders.reports(prefix) if path not in known]
        unusable: dict[tuple[str, str], list[str]] = {}
        known.update(new)
        for report in new:
            usable, reasons = usable_tests(report)
            results.update(usable)
            for reason, names in reasons.items():
                unusable.setdefault(("not usable", reason), []).extend(names)
        reports += new
        fewest = min(results.values(), default=0)
        test = next((f" results of {name}" for name, count in results.items() if count == fewest < number), "")
        count = f"{fewest} of {options.runs} usable{test}"
        say(f"baseline: run {number}, {count}: {output[-1].partition(': ')[0]}", flush=True)
        say(*grouped_lines(unusable), flush=True)
    if not reports:
        again = shlex.join(["linkmatrix", "run", *selection])
        say(f"baseline: no references were adopted, because no run wrote a report. To see the reason, run: {again}")
        return INCOMPLETE
    try:
        _, output = capture_command("adopt", [*map(str, reports), f"--table={table}", f"--system={place}", "--write"])
    except BadInput as error:  # no run is usable; the user did not choose these options
        say(f"baseline: no references were adopted: {error}", IDLE)
        return INCOMPLETE
    say(*(line for line in output if line.startswith("refused: ")))
    without, with_references = split_by_references(reports[-1], repository, table)
    if not with_references:
        say("baseline: no test case has references. The lines 'refused:' above contain the reasons.", IDLE)
        return INCOMPLETE
    say(f"adopted: {units.counted(len(with_references), 'test case')} in the table {table}")
    say(*(f"left out: {test.name}" for test in without))
    more = list(options.more)
    if is_selective(more):  # a manifest would change later runs of the mode
        more += [f"--exclude=/{test.hashcode}" for test in without]
    else:
        whole = completeness.EndedRun(options.mode, options.system, reports[-1], resume.EarlierPasses(), repository)
        left_out = {manifest.key(test.name, test.environ): test.hashcode for test in without}
        say(*completeness.write_manifests(whole, REASON, left_out))
    command = shlex.join(["linkmatrix", "run", *selection, RETRY, *(["--", *more] if more else [])])
    if code := use_references.use_table(repository, place, table):
        say(f"Then compare a run with these references: {command}")
        return code
    say(f"baseline: compares a run with these references: {command}")
    return run_command("run", [*chosen, RETRY, "--", *more])


def usable_tests(report: Path) -> tuple[set[str], dict[str, list[str]]]:
    """Returns (names of the tests in a report that are usable for references, {reason: names of unusable tests}).

    Raises BadInput.
    """
    usable, reasons = set[str](), dict[str, list[str]]()
    for test in stored.find(report).tests:
        if test.record is None:
            continue
        if refused := select_usable([test], with_failed=False)[1]:
            reasons.setdefault(refused[0].partition(": ")[2], []).append(test.name)
        else:
            usable.add(test.name)
    return usable, reasons


def capture_command(command: str, chosen: list[str]) -> tuple[int, list[str]]:
    """Runs a subcommand of linkmatrix. Returns (exit code, lines of its standard output). Raises BadInput.

    chosen: the command line of the subcommand.
    """
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        code = run_command(command, chosen)
    return code, stream.getvalue().splitlines()


def run_command(command: str, chosen: list[str]) -> int:
    """Runs a subcommand of linkmatrix, and returns its exit code. Raises BadInput.

    chosen: the command line of the subcommand.
    """
    parser = argparse.ArgumentParser()
    importlib.import_module(f".{command}", __package__).add_options(parser)
    options = parser.parse_args(chosen)
    return int(options.command(options))


def measured_place(program: str, repository: Path, system: str | None) -> str:
    """The "system:partition" to measure. Raises BadInput.

    If no system file describes this machine, the function writes a system file.
    """
    place = configured.chosen_partition(program, repository, system)
    if system or place.partition(":")[0] != configured.GENERIC:
        return place
    found = machine.machine()
    if found.scheduler != "local":  # linkmatrix measure does not use the scheduler either
        say(
            f"baseline: measures this machine without {found.scheduler}. To describe the cluster: linkmatrix detect"
            " --scheduler auto"
        )
        found = machine.without_scheduler(found)
    machine.write(machine.files(found, repository / "config", None, None), False, say)
    place = configured.chosen_partition(program, repository)
    if place.partition(":")[0] == configured.GENERIC:
        raise BadInput(f"no system file has the host name {found.host}: choose the system with --system")
    return place


def split_by_references(report: Path, repository: Path, table: str) -> tuple[list[Test], list[Test]]:
    """Returns (tests that lack references, tests with references for all of their test cases). Raises BadInput.

    Tests that measured nothing are in neither list.
    """
    references = References.load(repository / "config" / "references")
    without, complete = [], []
    for test in stored.find(report).tests:
        results = test.record["results"] if test.record else []
        variant_table = with_variant(table, test.variant)
        known = [
            references.for_check(measuring_check(test.record, result)).table(variant_table, result["testcase"])
            for result in results
        ]
        if known:
            (complete if all(known) else without).append(test)
    return without, complete
