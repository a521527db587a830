"""Options of commands that start ReFrame, and checks of the user's options for ReFrame before a run begins.

In all functions, `more` is the list of the options after `--` on the user's command line.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from ..errors import BadInput, clean, say
from ..record.names import option_values
from ..references import tables
from ..reframe_ext.sessions.suite_words import matching_words, selects_test, unknown_words_error
from ..runs import supervise
from ..runs.modes import MIN_PREFIX, NO_WARNING, SESSIONS, is_selective, reframe_values, refused_option
from ..site import prebuilt
from .begin import NotStarted

#: The paths of all check files, for ReFrame's option -c.
ALL_CHECKS = ("checks",)
#: Options that move or change a file that linkmatrix reads after the run.
FILES = ("--report-file", "--compress-report")
#: Options with which ReFrame measures nothing.
LISTS = re.compile(r"--dry-run|-l|-L|(--list|--list-detailed|--list-tags)(=.*)?|--describe")
#: {option that separates the tests of a job: remedy}
SEPARATING = {
    "--ci-generate": "run 'linkmatrix run --mode=quick' in one CI job, which also writes a JUnit file",
    "--distribute": "run 'linkmatrix run --mode=sweep' for a measurement per node, or set -S on=NODE for one node",
}
#: Environment variables that change the report, the exit code of a job, or the effect of a warning.
IGNORED = (
    "RFM_REPORT_FILE",
    "RFM_COMPRESS_REPORT",
    "RFM_GENERATE_FILE_REPORTS",
    "RFM_TRAP_JOB_ERRORS",
    "RFM_WARN_AS_ERROR",
)
#: Classes of fixtures, which ReFrame does not list.
FIXTURES = (*SESSIONS, "build_linkmatrix")
SUITE = "suite"  # a variable of a session: its tests
SHORT_SAMPLES = "short_samples"  # a variable of a session: the number of short samples per cell
EXTRA_OPTS = "extra_opts"  # a variable of a test: further options of its program
ANYWHERE = ("--skip-system-check", "--skip-prgenv-check")  # list the tests of all systems
LEAST_SHORT_SAMPLES = 66  # per cell, in acceptance
USUAL_SAMPLES = 7  # per cell, the default of src/measure and the minimum of acceptance
MOST_SAMPLES, MOST_SECONDS = 10_000, 86_400  # limits of src/program/option_rows.cpp
LIST_SECONDS = 300  # time limit of a call of ReFrame that lists tests


def add_verbose(command: argparse.ArgumentParser) -> None:
    """Adds the option --verbose."""
    command.add_argument(
        "-v", "--verbose", action="store_true", help="print ReFrame's output too (its log file always contains it)"
    )


def add_reframe(command: argparse.ArgumentParser) -> None:
    """Adds the option --reframe, and the options for ReFrame after `--`."""
    command.add_argument("--reframe", default="reframe", metavar="PROGRAM", help="path of ReFrame (default: reframe)")
    command.add_argument("more", nargs="*", metavar="OPTION", help="options for ReFrame, after --")


def add_measuring(command: argparse.ArgumentParser) -> None:
    """Adds the options that control each measuring program, such as --samples."""
    command.add_argument("--samples", type=int, metavar="N", help=f"samples per cell (default: {USUAL_SAMPLES})")
    command.add_argument(
        "--wait-idle",
        type=float,
        metavar="SECONDS",
        help="before each program, wait up to SECONDS until other processes end",
    )
    command.add_argument(
        "--refuse-busy", action="store_true", help="do not measure while another process uses the devices"
    )


def measuring_options(options: argparse.Namespace) -> list[str]:
    """Translates the options of `add_measuring` to options of ReFrame. Raises BadInput."""
    samples, seconds = options.samples, options.wait_idle
    if samples is not None and not 1 <= samples <= MOST_SAMPLES:
        raise BadInput(f"--samples {samples}: use 1 to {MOST_SAMPLES}")
    if seconds is not None and not 0.001 <= seconds <= MOST_SECONDS:
        raise BadInput(f"--wait-idle {seconds:g}: use up to {MOST_SECONDS} seconds")
    values = {EXTRA_OPTS: samples and f"--samples,{samples}", "wait_idle": seconds and f"{seconds:g}"}
    values["refuse_busy"] = "yes" if options.refuse_busy else None
    chosen = {variable: value for variable, value in values.items() if value}
    for _, variable, _ in assignments(options.more):
        if variable in chosen:
            raise BadInput(f"-S {variable}= contradicts an option in front of --: omit one of the two options")
    return [word for variable, value in chosen.items() for word in ("-S", f"{variable}={value}")]


def measuring_words(options: argparse.Namespace) -> list[str]:
    """The options of `add_measuring` that the user gave, as words of a linkmatrix command line."""
    words = [] if options.samples is None else [f"--samples={options.samples}"]
    words += [] if options.wait_idle is None else [f"--wait-idle={options.wait_idle:g}"]
    return [*words, *(["--refuse-busy"] if options.refuse_busy else [])]


def load_options(paths: Iterable[str]) -> list[str]:
    """ReFrame's options that load the configuration, and the check files in `paths`."""
    return ["-C", "config/settings.py", *(word for path in paths for word in ("-c", path)), "-R"]


def check_options(more: Sequence[str], keeps_junit: bool = False) -> None:
    """Raises BadInput or NotStarted if `more` contains an option that linkmatrix refuses.

    keeps_junit: whether to refuse --report-junit too, because linkmatrix writes the JUnit file.
    """
    if why := refused_option(more):
        raise BadInput(why)
    for word in more:
        if LISTS.fullmatch(word):
            raise NotStarted(f"{word} measures nothing: run reframe -C config/settings.py -c checks -R {word}")
        name = word.partition("=")[0]
        if len(name) < MIN_PREFIX:
            continue
        for option in (*FILES, *(["--report-junit"] if keeps_junit else [])):
            if option.startswith(name):
                raise BadInput(f"{option} is refused: linkmatrix reads this file after the run; copy the file instead")
        for option, remedy in SEPARATING.items():
            if option.startswith(name):
                raise NotStarted(f"{option} is refused, because the tests share a job: {remedy}")


def check_acceptance(more: Sequence[str]) -> None:
    """Raises BadInput if an option sets fewer samples or short samples than the mode `acceptance` requires."""
    for scope, variable, value in assignments(more):
        words = value.split(",") if variable == EXTRA_OPTS else []
        if any(True for _ in option_values(words, "--short-samples")):
            raise BadInput("--short-samples is refused in extra_opts, because acceptance sets it: omit this option")
        for option in option_values(words, "--samples"):
            if not option.value.isdecimal() or int(option.value) < USUAL_SAMPLES:
                raise BadInput(
                    f"--samples {option.value}: acceptance needs at least {USUAL_SAMPLES} samples per cell; omit this"
                    " option"
                )
        if variable == SHORT_SAMPLES and not (value.isdecimal() and int(value) >= LEAST_SHORT_SAMPLES):
            raise BadInput(
                f"-S {scope}.{variable}={value}: acceptance needs at least {LEAST_SHORT_SAMPLES} short samples per"
                " cell to find intermittent links; omit this option"
            )


def environment() -> dict[str, str]:
    """The environment variables for ReFrame, without the variables IGNORED. Prints a note about ignored variables."""
    ignored = [name for name in IGNORED if name in os.environ]
    if ignored:
        say(f"note: ignored {', '.join(ignored)}: the variable changes files that linkmatrix reads after the run")
    return {name: value for name, value in os.environ.items() if name not in IGNORED}


def assignments(more: Sequence[str]) -> list[tuple[str, str, str]]:
    """[(class, variable, value)] of each option `-S CLASS.VARIABLE=VALUE`. The class is "" for `-S VARIABLE=VALUE`."""
    found = []
    for word in reframe_values(more, "-S", "--setvar"):
        name, _, value = word.partition("=")
        scope, _, variable = name.rpartition(".")
        found.append((scope, variable, value))
    return found


def without_warnings(options: Sequence[str], more: Sequence[str]) -> list[str]:
    """Returns the options of a mode, without --warn-as-error if `more` causes a harmless warning of ReFrame.

    These warnings are harmless:

    * A test or fixture does not have the variable of `-S VARIABLE=VALUE`.
    * The time of --duration is over.
    * --restore-session found a changed search path. The search path is different in each run.

    If ReFrame leaves out a test with another warning, the comparison with the manifest finds the missing test.
    """
    warns = any(not scope for scope, _, _ in assignments(more)) or any(
        word.startswith(("--dur", "--rest")) for word in more
    )
    return [option for option in options if option != NO_WARNING or not warns]


def check_run(
    program: str, selection: Sequence[str], more: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """Checks the user's options against the list of tests that ReFrame selects. Raises BadInput.

    Returns {environment variable: features that the selected tests need}; {} if `more` selects no tests.
    The function refuses options that ReFrame refuses, and variables, suites and paths that ReFrame would ignore.
    Prints a note about `-S CLASS.NAME=VALUE` if no selected test has the class.

    program: the path of ReFrame.
    selection: all options of the run that select tests, including `more`.
    folder: the working directory of ReFrame.
    environ: the environment variables of ReFrame.
    """
    if not is_selective(more):
        return {}
    for path in reframe_values(more, "-c", "--checkpath"):
        if not (folder / path).exists():
            raise BadInput(f"-c {path}: {folder / path} does not exist")
    check_suites(program, selection, more, folder, environ)
    tests = json_list(program, [*selection, "--describe"], folder, environ)
    if tests is None:
        return {}  # the run itself prints the error
    if not tests:
        check_environments(program, selection, folder, environ)
    classes = {str(test.get("@class")) for test in tests}
    for scope, name, value in assignments(more):
        for test in tests if name == EXTRA_OPTS else ():
            check, sizes = str(test.get("@class")), next((one for one in ("size", "sizes") if one in test), "")
            if scope in ("", check) and (why := tables.refused_option(value.split(","), check, sizes)):
                raise BadInput(why)
        taking = [test for test in tests if scope in ("", test.get("@class"))]
        if name == "nodes" and value != "2" and {test.get("extent") for test in taking if name in test} == {"two"}:
            raise BadInput(f"-S nodes={value}: the selected tests measure two nodes; select the tests with extent=all")
        known = {name for test in taking for name in test}
        if name in known or scope in FIXTURES:
            continue
        if scope and scope not in classes:
            close = suggestion(scope, [*classes, *FIXTURES])
            say(f"note: -S {scope}.{name}={value}: no selected test has the class '{scope}'{close}")
            continue
        close = f" (is '{SESSIONS[0]}.{name}' meant?)" if name == SUITE else suggestion(name, known)
        raise BadInput(f"-S {name}={value}: no selected test has a variable '{name}' that takes this value{close}")
    systems = {word for test in tests for one in cast(list[str], test.get("valid_systems", [])) for word in one.split()}
    return {prebuilt.NEEDED: " ".join(sorted(word[1:] for word in systems if word[0] == "+"))}


def check_environments(program: str, selection: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
    """Raises BadInput if the pattern of an option -p matches no environment of the system."""
    found = json_list(program, [*selection, "--show-config=environments"], folder, environ) or []
    names = sorted({str(one["name"]) for one in found} - {"builtin"})
    for pattern in reframe_values(selection, "-p", "--prgenv"):
        if names and not any(re.search(pattern, name) for name in names):
            raise BadInput(
                f"-p {pattern} matches no environment{suggestion(pattern, names)}: use one of {', '.join(names)}"
            )


def check_suites(
    program: str, selection: Sequence[str], more: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> None:
    """Raises BadInput if a suite contains unknown words, or selects no test. Tests of other systems are allowed.

    Without the option --system of the run, ReFrame would refuse to list tests on a login node without a system file.
    """
    suites = [(scope, value) for scope, variable, value in assignments(more) if scope in SESSIONS and variable == SUITE]
    if not suites:
        return
    places = [f"--system={place}" for place in reframe_values(selection, "--system", "--system")]
    paths = [f"--checkpath={path}" for path in reframe_values(more, "-c", "--checkpath")]
    tests = [
        matching_words(
            str(test.get("@class")),
            str(test.get("testcase") or ""),
            test.get("tags", ()),
            str(test.get("hashcode")),
        )
        for test in json_list(program, [*ANYWHERE, *places, *paths, "--describe"], folder, environ) or []
    ]
    for scope, value in suites if tests else ():
        if why := unknown_words_error(value, set().union(*tests)):
            raise BadInput(f"-S {scope}.{why}")
        if value and not any(selects_test(value, words) for words in tests):
            raise BadInput(f"-S {scope}.suite={value} selects no test")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The text " (is 'WORD' meant?)" with the known word that is most similar to `word`; "" without a similar word."""
    similar = difflib.get_close_matches(word, list(known), 1)
    return f" (is '{similar[0]}' meant?)" if similar else ""


def json_list(
    program: str, options: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> list[dict[str, object]] | None:
    """Runs ReFrame with --describe or --show-config. Returns the printed JSON list; None if ReFrame prints no list.

    Raises BadInput for ReFrame's errors.
    """
    command = [program, *load_options(ALL_CHECKS), *options]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environ, text=True, capture_output=True, timeout=LIST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        raise BadInput(f"ReFrame refuses the options: {error_line(done.stdout + done.stderr)}")
    found = re.search(r"^\[(?=\s*[\]{])", done.stdout, re.MULTILINE)  # configuration files of a site may print lines
    if found is None:
        return None
    try:
        content: list[dict[str, object]] = json.JSONDecoder().raw_decode(done.stdout, found.start())[0]
    except json.JSONDecodeError:
        return None
    return content


def error_line(text: str) -> str:
    """The first line of ReFrame's output that begins with `ERROR:`. Without such a line, the last line."""
    text = supervise.without_colours(text)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Log file(s)")]
    marked = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return clean([*marked, *lines[-1:], "ReFrame printed nothing"][0])
