"""`linkmatrix run`: runs ReFrame, one run at a time, and judges the run by its report.

ReFrame prints PASSED if it ran no test. Here each test has the verdict of its check, and a missing test is INCOMPLETE.
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
from ..runs import completeness, folders, judging, junit, manifest, missing_runs, resume, supervise
from ..runs.judging import Judged, decide_attempts
from ..runs.modes import ACCEPTANCE, MODES, NODES, PAIR, SUITES, SWEEP, check_paths, is_selective, session_extras
from ..show import words
from ..site import configured, environment, known_systems
from ..site import nodes as site_nodes
from . import begin, run_options
from .retention import pruned, suspect_lines, without_programs
from .run_summary import analysed, judged_cases, prepare

CANNOT, BAD_INPUT = 4, 2
SYSTEM = "--system"
MEASURE = re.compile(r"linkmatrix measure (?=--\w)")  # with options of its own, and not of a test by its hash
NO_REPORT, UNREADABLE = "wrote no report", "left no readable report"


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `run`."""
    command.add_argument(
        "--mode",
        choices=sorted(MODES),
        default="acceptance",
        help="acceptance: all acceptance tests; nightly: all tests with the tag full; pair: two nodes; quick: health of"
        " a node; sweep: each node alone (default: acceptance)",
    )
    command.add_argument("--system", metavar="S:P", help="system and partition (default: those that ReFrame finds)")
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
        "--with-left-out", action="store_true", help="measure also the test cases that the manifest leaves out"
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
        help="times at which a generated timer starts this run, such as '02:30' or 'Mon 02:30'; after a missed"
        " start, the run is INCOMPLETE",
    )
    command.add_argument(
        "--clean-runs", type=int, default=3, metavar="K", help="number of clean runs that remove a flag (default: 3)"
    )
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
    """Returns the exit code of the verdict; 2 for a refused option; 4 if nothing began. Raises BadInput."""
    if options.retries < 0 or options.clean_runs < 1 or not 0 < options.timeout <= 1000:
        raise BadInput("use --retries of 0 or more, --clean-runs of 1 or more, and --timeout of at most 1000 hours")
    if options.keep is not None and options.keep < 1:
        raise BadInput(f"--keep {options.keep}: use 1 or more, because the newest report is never removed")
    if options.keep_days is not None and not 0 <= options.keep_days <= 100_000:
        raise BadInput(f"--keep-days {options.keep_days}: use 0 to 100000")
    if not 0 < options.resume_hours <= 8760:
        raise BadInput(f"--resume-hours {options.resume_hours}: use at most 8760, a year")
    if options.scheduled is not None:
        missing_runs.Schedule.read(options.scheduled)
    options.again, options.nodes = again(options), sweep_nodes(options)
    if options.manifest is not None and (not options.manifest.strip() or options.resume or is_part(options)):
        raise BadInput(
            "--manifest REASON needs a reason and a complete run: omit --resume and options that select tests"
        )
    repository, prefix = folders.repository(), folders.prefix()
    try:
        program = begin.reframe(options.reframe)
        run_options.check_options(options.more, keeps_junit=True)
        measuring = run_options.measuring(options)
        if options.mode == ACCEPTANCE:
            run_options.check_acceptance([*measuring, *options.more])
        check_system(options, repository)
        with begin.alone(prefix, options.system) as name:
            return locked_run(options, program, repository, prefix, name)
    except begin.NotStarted as why:
        say(f"not started: {why}")
        return CANNOT


def check_system(options: argparse.Namespace, repository: Path) -> None:
    """Raises BadInput for a system that config/systems lacks, if that is the only configuration of the run."""
    name = [
        os.environ.get("RFM_SYSTEM", ""),
        options.system or "",
        *run_options.reframe_values(options.more, SYSTEM, SYSTEM),
    ]
    name, systems = next(filter(None, reversed(name)), ""), repository / "config" / "systems"
    others = [word for word in options.more if word.startswith(("-C", "--config"))]
    if not name or others or os.environ.get("RFM_CONFIG_FILES") or not systems.is_dir():
        return
    if why := known_systems.unknown_name_error(name, [suite.FOLDER / "config" / "systems", systems]):
        raise BadInput(f"--system={name}: {why}")


def sweep_nodes(options: argparse.Namespace) -> str:
    """The nodes of a sweep in the form that its check reads; "" in other modes. Raises BadInput."""
    if options.mode != SWEEP and options.nodes is not None:
        raise BadInput(f"--nodes needs --mode={SWEEP}; to choose a node in another mode, add -- -S on=NODE")
    if options.mode != SWEEP:
        return ""
    if options.nodes in (None, site_nodes.ALL):
        return site_nodes.ALL
    return ",".join(site_nodes.expand_names(options.nodes))


def is_part(options: argparse.Namespace) -> bool:
    """Whether the run may measure less than its mode. A manifest needs a whole run."""
    return is_selective(options.more) or options.nodes not in ("", site_nodes.ALL)


def locked_run(options: argparse.Namespace, program: str, repository: Path, prefix: Path, name: str) -> int:
    """Runs ReFrame under the lock, and returns the exit code. program: the path of ReFrame."""
    last = prefix / "locks" / f"{name}-{options.mode}.last.json"
    stamp = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{os.getpid()}"
    for_junit = prefix / "reports" / f"junit-{stamp}.xml"
    (prefix / "reports").mkdir(exist_ok=True)
    manifests = manifest.load(repository, options.mode)  # one that cannot be read is reported before the run
    before = gone_before(options, last, prefix, repository)
    known = set(folders.reports(prefix))
    selection = selection_options(options, before, left_out(options, manifests, program, repository))
    checks = run_options.ALL_CHECKS if is_selective(options.more) else check_paths(options.mode, repository)
    command = [program, *run_options.load_options(checks), "-r", f"--report-junit={for_junit}"]
    command += [*session_extras(options.again, options.mode), *selection]
    variables = {**run_options.environment(), "PATH": environment.search_path()}
    variables |= {NODES: options.nodes} if options.nodes else {}
    variables |= run_options.check_run(program, selection, options.more, repository, variables)
    # the folders of the records contain the stamp of this run only
    variables |= {"RFM_TIMESTAMP_DIRS": stamp}
    if options.verbose:
        say(f"$ {shlex.join(command)}", flush=True)
    noted = last.read_bytes() if last.is_file() else None
    resume.store_passes(last, options.mode, stamp, before, None)
    started, began_at = time.monotonic(), datetime.now()
    if options.wait_idle:
        say(f"Each program waits up to {options.wait_idle:g} s until other processes end.", flush=True)
    trace = began(prefix, options, stamp)
    code, output = supervise.run(
        command, repository, options.timeout * 3600, variables, options.verbose, lambda: prepare(repository)
    )
    seconds = time.monotonic() - started
    report, any_unreadable = report_of(prefix, known, stamp)
    if report is None:
        output.print_last_lines()
    if full := begin.full_disk(prefix):
        say(f"INCOMPLETE  {full}" + (f"; this run's report is {report}" if report else ""))
        return CANNOT
    if report is None and code == 0 and before.passed and before.report:
        say("nothing is left to measure: the previous report is judged again")
        report = before.report
    if report is None and (any_unreadable or jobs_began(prefix, stamp)):
        say(f"INCOMPLETE  ReFrame ended with {code} and {UNREADABLE if any_unreadable else NO_REPORT}")
        return EXIT_CODES[Verdict.INCOMPLETE]
    trace.unlink(missing_ok=True)
    if report is None:  # nothing began, so --resume continues from the run before
        restore(last, noted)
    if report is None and code == BAD_INPUT:  # ReFrame or config/settings.py printed why
        return BAD_INPUT
    if report is None:
        say(f"INCOMPLETE  ReFrame ended with {code} and {NO_REPORT}: nothing began")
        return CANNOT
    without_programs(prefix, report, options.more)
    before, void = resume.valid_passes(before, judged_cases(report, repository)) if before.passed else (before, [])
    resume.store_passes(last, options.mode, stamp, before, report)
    if note := junit.correct(for_junit, read_json(report)):
        say(note)
    ran = completeness.EndedRun(options.mode, options.system, report, before, repository)
    analysis, lines = analysed(ran, options, code)
    if options.scheduled is not None:
        void += missing_runs.note_start(prefix, f"{name}-{options.mode}", options.scheduled, began_at)
    analysis.verdict, lines = max([analysis.verdict, *(Verdict.INCOMPLETE for _ in void)]), [*lines, *void]
    verdict = analysis.verdict
    acceptance = options.mode == ACCEPTANCE
    if acceptance and verdict is Verdict.NOT_JUDGED:
        lines.append("acceptance requires a reference for each value, so this is exit code 3")
    if note := junit.add_run_notices(for_junit, analysis.notices):
        say(note)
    step = analysis.only_step
    lines = [for_mode(line, options) for line in lines if f"Next step: {line}" not in step]  # the step is printed last
    flags = suspect_lines(prefix, options.clean_runs, repository)
    say(*lines, *flags, *(for_mode(line, options) for line in step))
    where = options.system or "this machine"
    say(f"{words.WORDS[verdict]}  {options.mode} of {where}, {seconds:.0f} s: {report}")
    pruned(prefix, options.keep, options.keep_days, options.clean_runs, repository)
    return judging.exit_code(analysis.judged, verdict, acceptance)


def again(options: argparse.Namespace) -> list[str]:
    """The command that repeats the run, without --resume, whose tests depend on the run before."""
    words = ["linkmatrix", "run", f"--mode={options.mode}"]
    words += [f"--system={options.system}"] if options.system else []
    words += [f"--nodes={options.nodes}"] if options.nodes else []
    words += ["--with-left-out"] if options.with_left_out else []
    return [*words, *run_options.measuring_words(options), *(["--", *options.more] if options.more else [])]


def for_mode(line: str, options: argparse.Namespace) -> str:
    """A line of advice, whose commands measure the mode and system of this run."""
    system = f" --system={options.system}" if options.system else ""
    chosen = f"--mode={options.mode}{system}"
    has_baseline = options.mode not in (SWEEP, PAIR)
    adopts = f"{BASELINE} {chosen}" if has_baseline else f"linkmatrix adopt --table=NAME{system}"
    line = line.replace(words.ALL_REFERENCES, BASELINE).replace(BASELINE, adopts)
    return MEASURE.sub(f"linkmatrix run {chosen} ", line)


def began(prefix: Path, options: argparse.Namespace, stamp: str) -> Path:
    """Writes the file that marks the start of a run, and returns its path. A run with a report removes the file."""
    path = prefix / "runs" / f"began-{stamp}.json"
    content = {"mode": options.mode, "system": options.system, "stamp": stamp, "timeout": options.timeout}
    content |= {**lock.holder(), "started": f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"}
    write_whole(path, json.dumps(content).encode())
    return path


def jobs_began(prefix: Path, stamp: str) -> bool:
    """Whether a job of the run left output in its stage."""
    return any((prefix / "stage" / stamp).rglob("rfm_job.out"))


def restore(last: Path, noted: bytes | None) -> None:
    """Restores the state that --resume continues from. noted: its content, None for no file. Raises OSError."""
    last.unlink() if noted is None else write_whole(last, noted)


def gone_before(options: argparse.Namespace, last: Path, prefix: Path, repository: Path) -> resume.EarlierPasses:
    """The tests that the last run of the mode passed, with --resume; no tests without it. Raises BadInput."""
    if not options.resume:
        return resume.EarlierPasses(whole=not is_part(options))

    def passed(report: Path) -> list[Judged]:
        return decide_attempts(judged_cases(report, repository))[0]

    before = resume.load_passes(last, prefix, passed, options.resume_hours)
    return replace(before, whole=before.whole and not is_part(options))


def left_out(
    options: argparse.Namespace, manifests: Mapping[str, manifest.Manifest], program: str, repository: Path
) -> list[str]:
    """The hashes of the test cases that the manifest of the partition leaves out; none if the user selects tests."""
    if options.with_left_out or is_selective(options.more) or not any(one.left_out for one in manifests.values()):
        return []
    try:
        place = configured.chosen_partition(program, repository, options.system)
    except BadInput:  # several partitions, whose manifests may differ
        return []
    return [*manifests[place].left_out.values()] if place in manifests else []


def selection_options(options: argparse.Namespace, before: resume.EarlierPasses, less: Sequence[str]) -> list[str]:
    """The options of ReFrame that select tests, and say how to measure them. less: hashes of excluded test cases."""
    more = [*run_options.measuring(options), *options.more]
    selection = run_options.without_warnings(MODES[options.mode], more)
    selection += [f"--system={options.system}"] if options.system else []
    selection += [f"--max-retries={options.retries}"] if options.retries else []
    return [*selection, *before.options(SUITES.get(options.mode, ""), less), *more]


def report_of(prefix: Path, known: set[Path], stamp: str) -> tuple[Path | None, bool]:
    """(report of the run with this stamp, whether another new report cannot be read). Prints the other new reports."""
    unknown = [path for path in folders.reports(prefix) if path not in known]
    own = [path for path in unknown if resume.belongs_to_run(path, stamp)]
    others = [resume.reason_ignored(path, stamp) for path in unknown if path not in own]
    say(*(f"note: {why}" for why, _ in others))
    return own[-1] if own else None, not all(readable for _, readable in others)
