"""`linkmatrix measure`: measures the test cases that fit this machine, prints a summary, and writes the page.

The command needs no references, and uses no earlier runs. `linkmatrix run` compares with references, and uses earlier
runs. `make run` calls this command.
"""

import argparse
import os
import shlex
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from ..errors import BadInput, say
from ..files import MOST_BYTES, read_whole
from ..invocation import VARIABLE, linkmatrix_command, program_command, relative
from ..record import units
from ..runs import folders, judging, modes, stored, supervise
from ..runs.judging import decide_attempts
from ..show import summary
from ..show.analysis import Analysis
from ..site import environment
from . import begin, run_options, run_summary
from .retention import remove_programs

PASS, FAIL, BAD_INPUT, INCOMPLETE, CANNOT = range(5)  # exit codes
MOST_NOTES = 2  # printed notes about the run
TIMEOUT = 24 * 3600.0  # seconds
LIST = "reframe -C config/settings.py -c checks -R -l"  # lists the tests


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `measure`."""
    command.description = (
        "Measures the test cases that fit this machine, without simulations and without test cases of other programs."
        " The options -n, -t, -T and -x after -- replace this selection."
    )
    run_options.add_measuring(command)
    run_options.add_reframe(command)
    run_options.add_verbose(command)
    command.set_defaults(command=run_measure)


def run_measure(options: argparse.Namespace) -> int:
    """Measures this machine, prints a summary, and writes the page. Raises BadInput.

    Returns the exit code of the verdict, or CANNOT if nothing was measured.
    """
    prefix = folders.prefix()
    # the stamp identifies the report of this run among the reports of concurrent runs
    stamp = f"measure-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{os.getpid()}"
    words = ["linkmatrix", "measure", *run_options.measuring_words(options)]
    words += ["--", *options.more] if options.more else []
    selection = [*modes.session_extras(words, measure=stamp), *modes.default_selection(options.more)]
    selection += [*run_options.measuring_options(options), *options.more]
    try:
        program = begin.find_reframe(options.reframe)
        command = [program, *run_options.load_options(run_options.ALL_CHECKS), "-r", *selection]
        run_options.check_options(options.more)
        with begin.run_lock(prefix, None):
            variables = {**run_options.environment(), "PATH": environment.search_path()}
            variables |= run_options.check_run(program, selection, options.more, folders.repository(), variables)
            code, output = supervise.run(command, folders.repository(), TIMEOUT, variables, options.verbose)
    except begin.NotStarted as why:
        say(f"not started: {why}")
        return CANNOT
    report = next((path for path in folders.reports(prefix)[::-1] if contains_stamp(path, stamp)), None)
    if full := begin.full_disk_sentence(prefix):
        say(f"INCOMPLETE  {full}" + (f"; this run's report is {report}" if report else ""))
        return CANNOT
    if report is None and code < 0:
        say("interrupted before the first check ended: there is nothing to show")
        return CANNOT
    if report is None and code == 0:
        match = f"matches {shlex.join(options.more)}" if options.more else "fits this machine"
        say(f"nothing was measured, because no test {match}. List the tests: {LIST}")
        return CANNOT
    if report is None:
        output.print_last_lines()
        return BAD_INPUT if code == BAD_INPUT else CANNOT  # ReFrame printed the reason
    remove_programs(prefix, report, options.more)
    return show_and_report(report, code, folders.repository())


def contains_stamp(report: Path, stamp: str) -> bool:
    """Whether a report contains the stamp of a run, such as "measure-20261120T100000Z-1234".

    An unreadable report contains no stamp.
    """
    try:
        return stamp.encode() in read_whole(report, MOST_BYTES)
    except BadInput:
        return False


def show_and_report(report: Path, reframe_code: int, repository: Path) -> int:
    """Prints the summary of a run, writes its page, and returns the exit code of its verdict.

    reframe_code: ReFrame's exit code.
    """
    try:
        run = stored.find(report)
        judged = decide_attempts(run_summary.judged_tests(run, repository))[0]
    except BadInput as error:
        say(error)
        return CANNOT
    code, page = judging.exit_code(judged), report.with_suffix("") / "report.html"
    others = f"Other commands: {linkmatrix_command()} --help; {program_command('p2p_matrix')} --help"
    rest = [f"Matrices: linkmatrix show {relative(report)}", others]
    rest += [f"note: {note}" for note in units.first(run.notes, MOST_NOTES)]
    if code == PASS and reframe_code != 0:
        code = INCOMPLETE
        why = f"ReFrame ended with {reframe_code} though no test case failed: see {supervise.log()}"
        rest.append(f"INCOMPLETE, exit code 3: {why}")
    elif code == INCOMPLETE:
        rest.append("Exit code 3: no fault of the hardware was found.")
    summary.show(Analysis(run, judged), rest, more=1)
    sys.stdout.flush()
    run_command("report", report)
    say(f"Page: {page if page.is_file() else 'not written'}")
    return code if page.is_file() and code in (PASS, FAIL, INCOMPLETE) else CANNOT


def run_command(command: str, report: Path) -> None:
    """Runs a subcommand of linkmatrix on a report. Prints the errors of the subcommand, but not its output."""
    words = [sys.executable, "-m", "linkmatrix", command, str(report)]
    variables = {**os.environ, VARIABLE: linkmatrix_command()}
    subprocess.run(words, env=variables, stdout=subprocess.DEVNULL, check=False)
