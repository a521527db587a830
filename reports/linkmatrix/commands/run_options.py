"""Options of ReFrame behind `--`, and its environment variables: what is refused or left out before a run begins."""

import difflib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..errors import BadInput, clean, say
from ..runs.modes import NO_WARNING, SESSIONS, refused
from .begin import NotStarted

#: Options that move or change a file that is read after the run.
FILES = ("--report-file", "--compress-report")
#: Options that separate tests which share a job.
SEPARATING = {
    "--ci-generate": "'linkmatrix run --mode=quick' in one job of CI leaves a JUnit file beside its report",
    "--distribute": "'linkmatrix run --mode=sweep' measures each node by itself, and -S on=NODE one node",
}
#: Environment variables that change the report, the exit code of a job, or what a warning is.
IGNORED = (
    "RFM_REPORT_FILE",
    "RFM_COMPRESS_REPORT",
    "RFM_GENERATE_FILE_REPORTS",
    "RFM_TRAP_JOB_ERRORS",
    "RFM_WARN_AS_ERROR",
)
#: Classes of fixtures, which ReFrame does not list.
FIXTURES = (*SESSIONS, "build_linkmatrix")
LEAST = len("--ci")  # characters of an option that ReFrame knows by its beginning
SECONDS = 300  # for a list of tests


def check(more: Sequence[str], keeps_junit: bool = False) -> None:
    """Raises BadInput or NotStarted for the first option that cannot be used; keeps_junit: the JUnit file is read."""
    if why := refused(more):
        raise BadInput(why)
    for word in more:
        name = word.partition("=")[0]
        if len(name) < LEAST:
            continue
        for option in (*FILES, *(["--report-junit"] if keeps_junit else [])):
            if option.startswith(name):
                raise BadInput(f"{option} is refused: linkmatrix reads this file after the run; copy the file instead")
        for option, remedy in SEPARATING.items():
            if option.startswith(name):
                raise NotStarted(f"{option} is refused, because the tests share a job: {remedy}")


def variables() -> dict[str, str]:
    """The environment for ReFrame. Prints which variables are left out."""
    left_out = [name for name in IGNORED if name in os.environ]
    if left_out:
        say(f"note: {', '.join(left_out)} ignored: it changes what linkmatrix reads after the run")
    return {name: value for name, value in os.environ.items() if name not in IGNORED}


def assigned(more: Sequence[str]) -> list[tuple[str, str, str]]:
    """(class, variable, value) of each `-S CLASS.VARIABLE=VALUE`; the class is "" if none is named."""
    found = []
    for word in values_of(more, "-S", "--setvar"):
        name, _, value = word.partition("=")
        scope, _, variable = name.rpartition(".")
        found.append((scope, variable, value))
    return found


def values_of(more: Sequence[str], short: str, long: str) -> Iterator[str]:
    """The values of an option in the words of a command line."""
    words = iter(more)
    for word in words:
        name, equals, value = word.partition("=")
        if word == short or (len(name) >= LEAST and long.startswith(name)):
            yield value if equals else next(words, "")
        elif word.startswith(short) and not word.startswith("--"):
            yield word.removeprefix(short)


def without_warnings(options: Sequence[str], more: Sequence[str]) -> list[str]:
    """The options of a mode for a run with `more`.

    ReFrame warns of each test and fixture without an unscoped variable, and of the end of --duration. Neither is an
    error. Such a run is a selection: test cases that ReFrame left out with a warning are missing in the comparison with
    the manifest.
    """
    warns = any(not scope for scope, _, _ in assigned(more)) or any(word.startswith("--dur") for word in more)
    return [option for option in options if option != NO_WARNING or not warns]


def check_variables(command: Sequence[str], more: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
    """Raises BadInput if no selected test has a variable of `more`, or if the variable does not take its value.

    ReFrame would measure without it, after a warning, or print a traceback. For a class that no selected test has,
    ReFrame prints nothing; here it is a note, as the class may be one of another selection. command: of the run; its
    tests are listed, and none begins.
    """
    if not assigned(more):
        return
    tests = listed(
        [word for word in command if word != "-r" and not word.startswith("--report-junit=")], folder, environ
    )
    if tests is None:
        return  # the run itself prints why
    classes = {str(test.get("@class")) for test in tests}
    for scope, name, value in assigned(more):
        known = {name for test in tests if scope in ("", test.get("@class")) for name in test}
        if name in known or scope in FIXTURES:
            continue
        if scope and scope not in classes:
            said = f"no selected test has the class '{scope}'{meant(scope, [*classes, *FIXTURES])}"
            say(f"note: -S {scope}.{name}={value}: {said}")
            continue
        said = f"no selected test has a variable '{name}' that takes this value{meant(name, known)}"
        raise BadInput(f"-S {name}={value}: {said}")


def meant(word: str, known: Iterable[str]) -> str:
    """The known word that is most like an unknown one, as the end of a sentence; "" if none is."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f" (is '{close[0]}' meant?)" if close else ""


def listed(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> list[dict[str, object]] | None:
    """The tests that ReFrame selects, with their variables; None if ReFrame prints none. Raises BadInput."""
    command = [*command, "--describe"]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environ, text=True, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        raise BadInput(f"ReFrame lists no test: {reason(done.stdout + done.stderr)}")
    found = re.search(r"^\[(?=\s*[\]{])", done.stdout, re.MULTILINE)  # site files print lines too
    if found is None:
        return None
    try:
        tests: list[dict[str, object]] = json.JSONDecoder().raw_decode(done.stdout, found.start())[0]
    except json.JSONDecodeError:
        return None
    return tests


def reason(text: str) -> str:
    """The error that ReFrame printed: the first line that is marked as one, or else the last line, of a traceback."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Log file(s)")]
    marked = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return clean([*marked, *lines[-1:], "it printed nothing"][0])
