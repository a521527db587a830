"""The options of ReFrame in each mode of `linkmatrix run`, those that are refused, and what a command line ran."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..invocation import launcher
from ..record.program_options import given
from .patrol import TOGETHER

NO_WARNING = "--warn-as-error"  # ReFrame leaves out a check that it cannot read, with a warning

#: Options of ReFrame, with its abbreviations, that let a test pass unchecked. A hook gives ReFrame the references.
UNCHECKED = re.compile(r"(--skip-(sa|pe)[a-z-]*|--disa[a-z-]*)(=.*)?")
NOT_STRICT = "strict_check=no is refused: a verdict counts only if ReFrame fails the test for it; leave it out"

#: The mode that measures many nodes, and the environment variable that tells the check which.
SWEEP, NODES = "sweep", "LINKMATRIX_NODES"
#: The mode that measures two nodes, other ones each time: no manifest says what of it there must be.
PAIR = "pair"

#: The classes of checks/session.py whose jobs measure a suite.
SESSIONS = ("node_session", "nodes_session")


def suite_options(suite: str) -> list[str]:
    """The options of ReFrame that make each session measure a suite; "": each test measures in a job of its own."""
    return session_options("suite", suite)


def session_options(variable: str, value: object) -> list[str]:
    """The options of ReFrame that set a variable of each session."""
    return [f"--setvar={name}.{variable}={value}" for name in SESSIONS]


#: Builds no program of simulations, for modes that have none.
WITHOUT_NBODY = "--setvar=build_linkmatrix.programs=p2p_matrix,collective_perf"

#: Mode → options of ReFrame. The judge finds what is missing; acceptance alone requires a reference for each value.
ACCEPTANCE = "acceptance"
#: Mode → the suite that its sessions measure.
SUITES = {ACCEPTANCE: "acceptance", "nightly": "full", "quick": "quick"}
MODES = {
    ACCEPTANCE: ["--mode=acceptance", NO_WARNING],
    "nightly": ["--tag=full", *suite_options("full"), NO_WARNING],
    "quick": ["--tag=quick", *suite_options("quick"), WITHOUT_NBODY, NO_WARNING],
    SWEEP: ["--tag=node-sweep", WITHOUT_NBODY, NO_WARNING],
    PAIR: [f"--name={TOGETHER}", WITHOUT_NBODY, NO_WARNING],
}

#: Mode → files of checks/ that have no test of the mode. ReFrame spends 5 ms on each test of a file, selected or not.
WITHOUT_TESTS = {
    "quick": ("adapter_matrix.py", "collectives.py", "pairs.py", "peers.py", "scaling.py", "sweep.py"),
}
DECORATOR = "simple_test"  # ReFrame's decorator of a test; a file without it has no test

#: By which `linkmatrix measure` knows its session, and its selection of tests.
MEASURE, MOST = "measure=", ("--mode=measure",)
#: By which `linkmatrix run` knows its sessions: its mode and the number of further options of ReFrame.
RUN = "run="
#: Options of ReFrame that replace the selection of `linkmatrix measure`.
SELECTING = {"-n": "--name", "-t": "--tag", "-T": "--exclude-tag", "-x": "--exclude"}
#: Minimum characters of an abbreviated option.
MIN_PREFIX = len("--ci")

#: Options of ReFrame that choose no test cases, and whether a value follows.
HARMLESS = {
    "--nocolor": False,
    "-v": False,
    "-vv": False,
    "--verbose": False,
    "-J": True,
    "--job-option": True,
    "--session-extras": True,
}


def check_paths(mode: str, repository: Path) -> list[str]:
    """The paths with all tests of a mode, for ReFrame's option -c: files of checks/, or the folder."""
    folder, without = repository / "checks", WITHOUT_TESTS.get(mode, ())
    files = [file for file in sorted(folder.glob("*.py")) if file.name not in without]
    if not without or not files or any(file.is_dir() and file.name[0] not in "._" for file in folder.glob("*")):
        return [folder.name]
    return [f"{folder.name}/{file.name}" for file in files if DECORATOR in file.read_text(errors="replace")]


def refused(words: Sequence[str]) -> str:
    """Why an option of ReFrame is refused, in a sentence; "" if none is. A refused option lets tests pass unchecked."""
    for word in words:
        if UNCHECKED.fullmatch(word):
            return f"{word} is refused: without its checks every test would pass; leave it out"
        if re.search(r"\bstrict_check=(?!(true|yes|1)$)", word):
            return NOT_STRICT
    return ""


def mode_of(command_line: str) -> str:
    """The mode that a command line of ReFrame, or of `linkmatrix run`, is of; "" for none."""
    try:
        words = shlex.split(command_line)
    except ValueError:
        return ""
    if words[:2] == ["linkmatrix", "run"]:  # as `rerun` writes it
        return words[2].removeprefix("--mode=")
    return next((mode for mode, options in MODES.items() if options[0] in words), "")


def run_marker(mode: str, more: Sequence[str]) -> list[str]:
    """The options of ReFrame by which `rerun` knows a session of `linkmatrix run`. more: the user's, the last ones."""
    return ["--session-extras", f"{RUN}{mode}:{len(more)}"]


def rerun(command_line: str) -> str:
    """The command that repeats a session of ReFrame: `linkmatrix measure` or `run` where they started the session."""
    try:
        words = shlex.split(command_line)
    except ValueError:
        return command_line
    extras = {word: words[at + 2 :] for at, word in enumerate(words[1:]) if words[at] == "--session-extras"}
    for word, more in extras.items():
        if word.startswith(MEASURE):
            more = more[len(MOST) :] if more[: len(MOST)] == list(MOST) else more
            return with_options("linkmatrix measure", more)
        if marked := re.fullmatch(rf"{RUN}([a-z]+):(\d+)", word):
            system = [one for one in more if one.startswith("--system=")][:1]
            count = int(marked[2])
            return with_options(
                shlex.join(["linkmatrix", "run", f"--mode={marked[1]}", *system]), words[len(words) - count :]
            )
    return command_line


def with_options(command: str, more: Sequence[str]) -> str:
    """A command of linkmatrix with further options of ReFrame."""
    return command + (f" -- {shlex.join(more)}" if more else "")


def default_selection(more: Sequence[str]) -> tuple[str, ...]:
    """The selection of `linkmatrix measure`; none if further options of ReFrame select tests."""
    selecting = any(True for short, long in SELECTING.items() for _ in values_of(more, short, long))
    return () if selecting else MOST


def values_of(more: Sequence[str], short: str, long: str) -> Iterator[str]:
    """The values of an option of ReFrame in the words of a command line."""
    words = iter(more)
    for word in words:
        name, equals, value = word.partition("=")
        if word == short or (len(name) >= MIN_PREFIX and long.startswith(name)):
            yield value if equals else next(words, "")
        elif word.startswith(short) and not word.startswith("--"):
            yield word.removeprefix(short)


def selects(more: Sequence[str]) -> bool:
    """May these further options make a run smaller than its mode? All may that are not known to be harmless."""
    words = iter(more)
    for word in words:
        option = word.partition("=")[0] if word.startswith("--") else word
        if option not in HARMLESS:
            return True
        if HARMLESS[option] and "=" not in word[2:]:
            next(words, None)
    return False


def repeated(words: Sequence[str]) -> Iterator[str]:
    """The words of a command, for its repetition: without a simulated fault, and into another record."""
    left_out = {at for option in given(words, "--simulate-fault") for at in range(option.first, option.end)}
    records = {option.end - 1 for option in given(words, "--record")}
    for at, word in enumerate(words):
        if at not in left_out:
            yield re.sub(r"(\.json)?$", r".again\1", word, count=1) if at in records else word


def of_program(record: Mapping[str, Any]) -> str:
    """The command line that made a record; of ranks with the words that start as many on the same nodes."""
    nodes = Counter(str(device["node"]) for device in record["devices"] if record["backend"] == "mpi")
    return shlex.join([*(launcher(nodes) if nodes else []), *repeated(record["command"])])
