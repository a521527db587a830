"""`linkmatrix run`: ReFrame with the flags that make it fail closed, one run at a time, judged by its report.

ReFrame's own verdict is not enough: it says PASSED of no test at all. The cases are counted in its report, each matrix
is judged again from its record, and what is missing is NO VERDICT.
"""

import argparse
import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from . import explain, lock, resume, runs
from .errors import BadInput, clean
from .evaluate import EXIT_CODES, Verdict
from .explain import Judged
from .matrix import has_status
from .references import References

CANNOT = 4
LEAST_FREE = 256 * 1024 * 1024  # bytes; a report that is cut off is worse than none
STRICT = ["-S", "require_reference=yes", "--warn-as-error"]
#: Mode → what ReFrame is told. Nothing may be missing in any of them.
MODES = {
    "acceptance": ["--mode=acceptance"],
    "nightly": ["--tag=full", *STRICT],
    "quick": ["--tag=quick", *STRICT],
}
PR_SET_PDEATHSIG = 1  # linux/prctl.h
GRACE = 60  # seconds between SIGTERM and SIGKILL


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `run`."""
    command.add_argument("--mode", choices=sorted(MODES), default="acceptance")
    command.add_argument("--system", metavar="S:P", help="default: the system that ReFrame finds")
    command.add_argument("--resume", action="store_true", help="only what the last run of this kind did not pass")
    command.add_argument("--retries", type=int, default=0, metavar="N", help="of a failed test; each is shown")
    command.add_argument("--timeout", type=float, default=24.0, metavar="HOURS", help="default: 24")
    command.add_argument(
        "--clean-runs", type=int, default=3, metavar="K", help="that clear a suspect device; default: 3"
    )
    command.add_argument("--keep", type=int, metavar="N", help="afterwards keep the N newest reports and their pages")
    command.add_argument("--keep-days", type=int, metavar="DAYS", help="and remove those that are older")
    command.add_argument("--reframe", default="reframe", metavar="PROGRAM", help="default: reframe")
    command.add_argument("more", nargs="*", metavar="OPTION", help="for reframe, behind --")
    command.set_defaults(command=run_acceptance)


def run_acceptance(options: argparse.Namespace) -> int:
    """Exit code: that of the verdict, 4 where nothing could be run. Raises BadInput."""
    if options.retries < 0 or options.clean_runs < 1 or not 0 < options.timeout <= 1000:
        raise BadInput("--retries: 0 or more, --clean-runs: 1 or more, and --timeout: up to 1000 hours")
    repository, prefix = runs.repository(), runs.prefix()
    if not (repository / "config" / "settings.py").is_file():
        raise BadInput(f"{repository} holds no config/settings.py: start it in the repository")
    if shutil.which(options.reframe) is None:
        raise BadInput(f"there is no program '{options.reframe}': load its module, or name it with --reframe")
    prefix.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(prefix).free
    if free < LEAST_FREE:
        print(f"{prefix} has {free >> 20} MiB left, and a run needs {LEAST_FREE >> 20}: nothing was started")
        return CANNOT
    name = (options.system or "any").replace(":", "-").replace("/", "-")
    try:
        with lock.held(prefix / "locks" / f"{name}.lock") as note:
            if note:
                print(f"note: {note}")
            return locked_run(options, repository, prefix, name)
    except lock.Held as held:
        print(f"not started: {held}")
        return CANNOT


def locked_run(options: argparse.Namespace, repository: Path, prefix: Path, name: str) -> int:
    """The run itself."""
    last = prefix / "locks" / f"{name}-{options.mode}.last.json"
    stamp = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{os.getpid()}"
    junit = prefix / "reports" / f"junit-{stamp}.xml"
    (prefix / "reports").mkdir(exist_ok=True)
    before = resume.Before()
    if options.resume:
        before = resume.before(last, prefix, lambda report: after_retries(judged_cases(report, repository))[0])
    known = set(runs.reports(prefix))
    command = [options.reframe, "-C", "config/settings.py", "-c", "checks", "-R", "-r", *MODES[options.mode]]
    command += [f"--system={options.system}"] if options.system else []
    command += [f"--max-retries={options.retries}"] if options.retries else []
    command += [f"--report-junit={junit}", *before.options(), *options.more]
    print(f"$ {shlex.join(command)}", flush=True)
    resume.note(last, options.mode, stamp, before.passed, None)
    started = time.monotonic()
    code = supervised(command, repository, options.timeout * 3600)
    seconds = time.monotonic() - started
    new = [path for path in runs.reports(prefix) if path not in known]
    if not new and code == 0 and before.passed and before.report:
        print("nothing is left to measure: the report before is judged again")
        new = [before.report]
    if not new:
        print(f"NO VERDICT  ReFrame ended with {code} and wrote no report: nothing was measured")
        return EXIT_CODES[Verdict.NO_VERDICT] if code == 0 else CANNOT
    resume.note(last, options.mode, stamp, before.passed, new[-1])
    verdict, lines = judged_report(new[-1], code, repository)
    print("\n".join([*lines, *suspect_lines(prefix, options.clean_runs, repository)]))
    where = options.system or "this machine"
    print(f"{explain.WORDS[verdict]}  {options.mode} of {where}, {seconds:.0f} s: {new[-1]}")
    pruned(prefix, options.keep, options.keep_days)
    return EXIT_CODES[verdict]


def end_with_parent() -> None:
    """Called in the child: a SIGKILL of `linkmatrix run` ends ReFrame too, which then cancels its jobs.

    Else it would measure on without a lock, beside the next run.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def supervised(command: list[str], folder: Path, timeout: float) -> int:
    """Runs a command in a process group of its own; SIGTERM and SIGINT go to it, and it does not outlive `timeout`."""
    child = subprocess.Popen(command, cwd=folder, start_new_session=True, preexec_fn=end_with_parent)

    def forward(number: int, _: Any) -> None:
        os.killpg(child.pid, number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        print(f"the time limit of {timeout / 3600:g} hours is over: the run is ended")
        os.killpg(child.pid, signal.SIGTERM)
        try:
            return child.wait(GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.wait(GRACE)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def judged_report(report: Path, code: int, repository: Path) -> tuple[Verdict, list[str]]:
    """The verdict on a report and ReFrame's exit code, and lines on what was counted. Raises BadInput."""
    judged = judged_cases(report, repository)
    content = runs.read_json(report)
    attempts = content["runs"]
    final, passed_later = after_retries(judged) if len(attempts) > 1 else (judged, [])
    verdict = max([explain.overall(final)] + [Verdict.WARN for _ in passed_later])
    lines = [explain.tally(final)] if judged else ["0 test cases: that is never a pass"]
    if len(attempts) > 1:
        again = sorted({str(case["name"]) for attempt in attempts[1:] for case in attempt["testcases"]})
        lines.append(f"{len(attempts) - 1} retries, of {', '.join(again)[:400]}: what failed once is not forgotten")
        lines += [f"  passed when it was repeated: {clean(one)}" for one in passed_later]
    if code != 0 and verdict < Verdict.NO_VERDICT:
        verdict = Verdict.NO_VERDICT
        lines.append(f"ReFrame ended with {code} though no test case failed: see its output above")
    return verdict, lines + list(rerun_lines(judged, content))


def judged_cases(report: Path, repository: Path) -> list[Judged]:
    """The test cases of a report, with their verdicts. Raises BadInput."""
    folder = repository / "config" / "references"
    return explain.judge_all(runs.find(report), References.load(folder if folder.is_dir() else None), None)


def after_retries(judged: list[Judged]) -> tuple[list[Judged], list[str]]:
    """(the last attempt of each test case; those that failed before they passed, with the reason).

    Wrong data is no matter of chance: an attempt with some stays in the first list.
    """
    attempts: dict[tuple[str, str], list[Judged]] = {}
    for one in judged:
        attempts.setdefault((one.test.name, one.test.partition), []).append(one)
    final, passed_later = [], []
    for tries in attempts.values():
        wrong = [one for one in tries[:-1] if any(has_status(result, "corrupt") for result, _ in one.matrices)]
        final += [*wrong, tries[-1]]
        failed = next((one for one in tries[:-1] if one.verdict > Verdict.WARN), None)
        if failed and tries[-1].verdict <= Verdict.WARN:
            reasons = [*failed.reasons, *(line for _, one in failed.matrices for line in explain.marked_cells(one, 1))]
            passed_later.append(f"{failed.test.name}: {'; '.join(reasons)[:300]}")
    return final, passed_later


def suspect_lines(prefix: Path, clean_runs: int, repository: Path) -> Iterator[str]:
    """The devices that the stored runs, this one too, leave under suspicion."""
    try:
        from .suspects import MOST_RUNS, suspects
    except ModuleNotFoundError as error:
        yield f"note: suspect devices are not looked for: there is no Python package {error.name} here"
        return
    folder = repository / "config" / "references"
    stored = [runs.find(path) for path in runs.reports(prefix)[-MOST_RUNS:]]
    for one in suspects(stored, References.load(folder if folder.is_dir() else None), None, clean_runs):
        yield clean(one.sentence(clean_runs))


def rerun_lines(judged: list[Judged], content: dict[str, Any]) -> Iterator[str]:
    """The command that measures each failed test case again."""
    failed = {one.test.name for one in judged if one.verdict > Verdict.WARN}
    told = set()
    for attempt in content["runs"]:
        for case in attempt["testcases"]:
            name = str(case.get("display_name") or case["name"])
            if name in failed and name not in told and case.get("hashcode"):
                told.add(name)
                place = f"{case.get('system')}:{case.get('partition')}"
                yield (
                    f"  again: reframe -C config/settings.py -c checks -R -r --system={place} -n /{case['hashcode']}"
                    f"  # {name}"
                )


def pruned(prefix: Path, keep: int | None, days: int | None) -> None:
    """Removes old reports, JUnit files and pages; the newest stays, and records stay where ReFrame keeps them."""
    reports = runs.reports(prefix)[::-1]
    old = set(reports[max(keep, 1) :]) if keep is not None else set()
    if days is not None:
        old |= {path for path in reports[1:] if time.time() - path.stat().st_mtime > days * 86400}
    for path in old:
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        path.unlink(missing_ok=True)
    if days is not None:
        for path in (prefix / "reports").glob("junit-*.xml"):
            if time.time() - path.stat().st_mtime > days * 86400:
                path.unlink(missing_ok=True)
    if old:
        print(f"removed {explain.counted(len(old), 'old report')}")
