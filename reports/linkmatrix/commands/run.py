"""`linkmatrix run`: runs ReFrame, and judges the run from ReFrame's report. Only one run per system is active.

ReFrame prints PASSED even if no test ran. `linkmatrix run` reports a missing test as INCOMPLETE.
"""

import argparse
import json
import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from .. import lock, suite
from ..errors import BadInput, say
from ..files import read_json, write_whole
from ..judge.verdicts import BASELINE, EXIT_CODES, Verdict
from ..runs import completeness, folders, judging, junit, manifest, missing_runs, resume, stored, supervise
from ..runs.judging import Judged, decide_attempts
from ..runs.modes import (
    ACCEPTANCE,
    MODES,
    NODES,
    PAIR,
    SUITES,
    SWEEP,
    is_selective,
    paths_with_tests,
    reframe_values,
    session_extras,
)
from ..show import words
from ..site import configured, environment, known_systems
from ..site import nodes as site_nodes
from . import arguments, begin, run_options
from .retention import flag_lines, remove_old_sessions, remove_programs
from .run_summary import analyse, judged_tests, prepare

CANNOT, BAD_INPUT = 4, 2
SYSTEM = "--system"
MEASURE = re.compile(r"linkmatrix measure (?=--\w)")  # a command of a whole run; `-- -n /HASH` repeats one test
NO_REPORT, UNREADABLE = "wrote no report", "wrote no readable report"


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `run`."""
    command.add_argument(
        "--mode",
        choices=sorted(MODES),
        default="acceptance",
        help="acceptance: all acceptance tests; nightly: all tests with the tag full; pair: two nodes; quick: a short"
        " health test of a node; sweep: each node alone (default: acceptance)",
    )
    command.add_argument("--system", metavar="S:P", help="system and partition (default: detected by ReFrame)")
    command.add_argument(
        "--nodes",
        metavar="LIST",
        help="nodes of --mode=sweep, such as n[001-016],n20 (default: all nodes that the scheduler reports)",
    )
    command.add_argument(
        "--resume", action="store_true", help="measure only the tests that did not pass in the last run of this mode"
    )
    command.add_argument(
        "--resume-hours",
        type=float,
        default=24.0,
        metavar="H",
        help="with --resume: repeat tests that passed more than H hours ago (default: 24)",
    )
    command.add_argument(
        "--manifest",
        metavar="REASON",
        help="write a manifest: from now on, this mode measures the test cases of this run",
    )
    command.add_argument(
        "--with-left-out", action="store_true", help="also measure the test cases that the manifest leaves out"
    )
    run_options.add_measuring(command)
    command.add_argument(
        "--retries",
        type=int,
        default=0,
        metavar="N",
        help="repeat a failed test up to N times; every attempt is shown (default: 0)",
    )
    command.add_argument(
        "--timeout", type=float, default=24.0, metavar="HOURS", help="end the run after HOURS (default: 24)"
    )
    command.add_argument(
        "--scheduled",
        metavar="TIMES",
        help="times at which a generated timer starts this run, such as '02:30' or 'Mon 02:30'; if a start"
        " was missed, the next run is INCOMPLETE",
    )
    arguments.add_clean_runs(command)
    command.add_argument(
        "--keep",
        type=int,
        metavar="N",
        help="after the run, remove all but the N newest sessions: reports, pages, records and stages",
    )
    command.add_argument(
        "--keep-days", type=int, metavar="DAYS", help="after the run, remove sessions that are older than DAYS"
    )
    run_options.add_reframe(command)
    run_options.add_verbose(command)
    command.set_defaults(command=run_acceptance)


def run_acceptance(options: argparse.Namespace) -> int:
    """Checks the options, locks the system, and runs a mode. Raises BadInput.

    Returns the exit code of the verdict, or CANNOT if nothing began.
    """
    if options.retries < 0 or not 0 < options.timeout <= 1000:
        raise BadInput("use --retries of 0 or more, and --timeout of at most 1000 hours")
    if options.keep is not None and options.keep < 1:
        raise BadInput(f"--keep {options.keep}: use 1 or more, because the newest report is never removed")
    if options.keep_days is not None and not 0 <= options.keep_days <= 100_000:
        raise BadInput(f"--keep-days {options.keep_days}: use 0 to 100000")
    if not 0 < options.resume_hours <= 8760:
        raise BadInput(f"--resume-hours {options.resume_hours}: use at most 8760, a year")
    if options.scheduled is not None:
        missing_runs.Schedule.read(options.scheduled)
    options.again, options.nodes = repeat_command(options), sweep_nodes(options)
    if options.manifest is not None and (not options.manifest.strip() or options.resume or is_partial(options)):
        raise BadInput(
            "--manifest REASON needs a reason and a complete run: omit --resume and options that select tests"
        )
    repository, prefix = folders.repository(), folders.prefix()
    try:
        program = begin.find_reframe(options.reframe)
        run_options.check_options(options.more, keeps_junit=True)
        measuring = run_options.measuring_options(options)
        if options.mode == ACCEPTANCE:
            run_options.check_acceptance([*measuring, *options.more])
        check_system(options, repository)
        with begin.run_lock(prefix, options.system) as name:
            return locked_run(options, program, repository, prefix, name)
    except begin.NotStarted as why:
        say(f"not started: {why}")
        return CANNOT


def check_system(options: argparse.Namespace, repository: Path) -> None:
    """Raises BadInput if config/systems has no file for the system. A run with another configuration is not checked."""
    names = [os.environ.get("RFM_SYSTEM"), options.system, *reframe_values(options.more, SYSTEM, SYSTEM)]
    name, systems = next(filter(None, reversed(names)), ""), repository / "config" / "systems"
    has_other_config = any(word.startswith(("-C", "--config")) for word in options.more)
    if not name or has_other_config or os.environ.get("RFM_CONFIG_FILES") or not systems.is_dir():
        return
    if why := known_systems.unknown_name_error(name, [suite.FOLDER / "config" / "systems", systems]):
        raise BadInput(f"--system={name}: {why}")


def sweep_nodes(options: argparse.Namespace) -> str:
    """The value of the environment variable NODES for --mode=sweep; "" for other modes. Raises BadInput."""
    if options.mode != SWEEP and options.nodes is not None:
        raise BadInput(f"--nodes needs --mode={SWEEP}; to choose a node in another mode, add -- -S on=NODE")
    if options.mode != SWEEP:
        return ""
    if options.nodes in (None, site_nodes.ALL):
        return site_nodes.ALL
    return ",".join(site_nodes.expand_names(options.nodes))


def is_partial(options: argparse.Namespace) -> bool:
    """Whether the options select only a part of the mode's tests or nodes."""
    return is_selective(options.more) or options.nodes not in ("", site_nodes.ALL)


def locked_run(options: argparse.Namespace, program: str, repository: Path, prefix: Path, name: str) -> int:
    """Runs ReFrame, judges the run, prints the verdict, and returns its exit code. The caller has locked the system.

    program: the path of ReFrame.
    name: the system, for names of files.
    """
    last = prefix / "locks" / f"{name}-{options.mode}.last.json"
    stamp = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{os.getpid()}"
    for_junit = prefix / "reports" / f"junit-{stamp}.xml"
    (prefix / "reports").mkdir(exist_ok=True)
    manifests = manifest.load(repository, options.mode)  # loaded here, to report an unreadable manifest before the run
    before = earlier_passes(options, last, prefix, repository)
    known = set(folders.reports(prefix))
    selection = selection_options(options, before, left_out_hashes(options, manifests, program, repository))
    checks = run_options.ALL_CHECKS if is_selective(options.more) else paths_with_tests(options.mode, repository)
    command = [program, *run_options.load_options(checks), "-r", f"--report-junit={for_junit}"]
    command += [*session_extras(options.again, options.mode), *selection]
    variables = {**run_options.environment(), "PATH": environment.search_path()}
    variables |= {NODES: options.nodes} if options.nodes else {}
    variables |= run_options.check_run(program, selection, options.more, repository, variables)
    variables |= {"RFM_TIMESTAMP_DIRS": stamp}  # the stamp is in the paths of this run's records
    if options.verbose:
        say(f"$ {shlex.join(command)}", flush=True)
    last_content = last.read_bytes() if last.is_file() else None
    resume.store_passes(last, options.mode, stamp, before, None)
    started, began_at = time.monotonic(), datetime.now()
    if options.wait_idle:
        say(f"Each program waits up to {options.wait_idle:g} s until other processes end.", flush=True)
    trace = mark_start(prefix, options, stamp)
    code, output = supervise.run(
        command, repository, options.timeout * 3600, variables, options.verbose, lambda: prepare(repository)
    )
    seconds = time.monotonic() - started
    report, any_unreadable = find_report(prefix, known, stamp)
    if report is None:
        output.print_last_lines()
    if full := begin.full_disk_sentence(prefix):
        say(f"INCOMPLETE  {full}" + (f"; this run's report is {report}" if report else ""))
        return CANNOT
    if report is None and code == 0 and before.passed and before.report:
        say("all tests passed earlier: the previous report is judged again")
        report = before.report
    any_job_started = any((prefix / "stage" / stamp).rglob("rfm_job.out"))
    if report is None and (any_unreadable or any_job_started):
        say(f"INCOMPLETE  ReFrame ended with {code} and {UNREADABLE if any_unreadable else NO_REPORT}")
        return EXIT_CODES[Verdict.INCOMPLETE]
    trace.unlink(missing_ok=True)
    if report is None:  # nothing began, so --resume continues from the run before
        last.unlink() if last_content is None else write_whole(last, last_content)
    if report is None and code == BAD_INPUT:  # ReFrame or config/settings.py printed the reason
        return BAD_INPUT
    if report is None:
        say(f"INCOMPLETE  ReFrame ended with {code} and {NO_REPORT}: nothing began")
        return CANNOT
    remove_programs(prefix, report, options.more)
    void: list[str] = []
    if before.passed:
        before, void = resume.valid_passes(before, judged_tests(stored.find(report), repository))
    resume.store_passes(last, options.mode, stamp, before, report)
    if note := junit.correct_file(for_junit, read_json(report)):
        say(note)
    ran = completeness.EndedRun(options.mode, options.system, report, before, repository)
    analysis, lines = analyse(ran, options, code)
    if options.scheduled is not None:
        void += missing_runs.note_start(prefix, f"{name}-{options.mode}", options.scheduled, began_at)
    analysis.verdict, lines = max([analysis.verdict, *(Verdict.INCOMPLETE for _ in void)]), [*lines, *void]
    verdict = analysis.verdict
    acceptance = options.mode == ACCEPTANCE
    if acceptance and verdict is Verdict.NOT_JUDGED:
        lines.append("acceptance requires a reference for each value, so the exit code is 3")
    if note := junit.add_run_notices(for_junit, analysis.notices):
        say(note)
    step = analysis.only_step
    # the next step is printed last
    lines = [add_mode_to_commands(line, options) for line in lines if f"Next step: {line}" not in step]
    flags = flag_lines(prefix, options.clean_runs, repository)
    say(*lines, *flags, *(add_mode_to_commands(line, options) for line in step))
    machine = options.system or "this machine"
    say(f"{words.WORDS[verdict]}  {options.mode} of {machine}, {seconds:.0f} s: {report}")
    remove_old_sessions(prefix, options.keep, options.keep_days, options.clean_runs, repository)
    return judging.exit_code(analysis.judged, verdict, acceptance)


def repeat_command(options: argparse.Namespace) -> list[str]:
    """The command that repeats the run, as a list of words, without --resume."""
    words = ["linkmatrix", "run", f"--mode={options.mode}"]
    words += [f"--system={options.system}"] if options.system else []
    words += [f"--nodes={options.nodes}"] if options.nodes else []
    words += ["--with-left-out"] if options.with_left_out else []
    return [*words, *run_options.measuring_words(options), *(["--", *options.more] if options.more else [])]


def add_mode_to_commands(line: str, options: argparse.Namespace) -> str:
    """A printed line, with the mode and system of this run added to the commands in the line."""
    system = f" --system={options.system}" if options.system else ""
    chosen = f"--mode={options.mode}{system}"
    has_baseline = options.mode not in (SWEEP, PAIR)
    adopts = f"{BASELINE} {chosen}" if has_baseline else f"linkmatrix adopt --table=NAME{system}"
    line = line.replace(words.ALL_REFERENCES, BASELINE).replace(BASELINE, adopts)
    return MEASURE.sub(f"linkmatrix run {chosen} ", line)


def mark_start(prefix: Path, options: argparse.Namespace, stamp: str) -> Path:
    """Writes a file that marks the start of a run, and returns its path. If the run is killed, the file remains."""
    path = prefix / "runs" / f"began-{stamp}.json"
    content = {"mode": options.mode, "system": options.system, "stamp": stamp, "timeout": options.timeout}
    content |= {**lock.holder(), "started": f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"}
    write_whole(path, json.dumps(content).encode())
    return path


def earlier_passes(options: argparse.Namespace, last: Path, prefix: Path, repository: Path) -> resume.EarlierPasses:
    """The tests that passed in the last run of the mode, for --resume. Raises BadInput.

    Without --resume, the result contains no tests.
    last: the file with the state of the last run.
    """
    if not options.resume:
        return resume.EarlierPasses(whole=not is_partial(options))

    def passed(report: Path) -> list[Judged]:
        return decide_attempts(judged_tests(stored.find(report), repository))[0]

    before = resume.load_passes(last, prefix, passed, options.resume_hours)
    return replace(before, whole=before.whole and not is_partial(options))


def left_out_hashes(
    options: argparse.Namespace, manifests: Mapping[str, manifest.Manifest], program: str, repository: Path
) -> list[str]:
    """The hashes of the test cases that the manifest leaves out. Returns [] if the user selects tests.

    program: the path of ReFrame.
    """
    if options.with_left_out or is_selective(options.more) or not any(one.left_out for one in manifests.values()):
        return []
    try:
        place = configured.chosen_partition(program, repository, options.system)
    except BadInput:  # the run measures several partitions, whose manifests may differ
        return []
    return [*manifests[place].left_out.values()] if place in manifests else []


def selection_options(options: argparse.Namespace, before: resume.EarlierPasses, less: Sequence[str]) -> list[str]:
    """ReFrame's options for this run: the options of the mode, and the options of the user.

    before: the passed tests of an earlier run, which are excluded.
    less: hashes of further excluded test cases.
    """
    more = [*run_options.measuring_options(options), *options.more]
    selection = run_options.without_warnings(MODES[options.mode], more)
    selection += [f"--system={options.system}"] if options.system else []
    selection += [f"--max-retries={options.retries}"] if options.retries else []
    return [*selection, *before.options(SUITES.get(options.mode, ""), less), *more]


def find_report(prefix: Path, known: set[Path], stamp: str) -> tuple[Path | None, bool]:
    """Finds the report of the run with this stamp. Prints a note about each other new report.

    Returns (the report or None, whether a new report is unreadable).
    known: the reports that existed before the run.
    """
    new = [path for path in folders.reports(prefix) if path not in known]
    own = [path for path in new if resume.belongs_to_run(path, stamp)]
    others = [resume.reason_ignored(path, stamp) for path in new if path not in own]
    say(*(f"note: {reason}" for reason, _ in others))
    return own[-1] if own else None, not all(readable for _, readable in others)
