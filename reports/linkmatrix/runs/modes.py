"""Options of ReFrame: the options of each mode, refused options, and the command that repeats a stored session."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from ..invocation import launcher
from ..record.names import option_values

#: Patterns for the names of the planned tests: of one node, and of two nodes.
NODE_SWEEP, NODE_PAIR_TEST = "node_sweep", "crossnode_matrix.*testcase=node_to_node_bandwidth_mpi.*extent=two"

NO_WARNING = "--warn-as-error"  # because ReFrame only warns about a check that it cannot load

#: Options of ReFrame, with abbreviations, that let a test pass unchecked. A hook passes the references to ReFrame.
UNCHECKED = re.compile(r"(--skip-(sa|pe)[a-z-]*|--disa[a-z-]*)(=.*)?")
NOT_STRICT = "strict_check=no is refused, because ReFrame would pass a test with a bad verdict; omit the option"

#: The mode that measures many nodes, and the environment variable with their names.
SWEEP, NODES = "sweep", "LINKMATRIX_NODES"
#: The mode that measures two nodes. It has no manifest, because the nodes differ in each run.
PAIR = "pair"

#: The classes of checks/session.py whose jobs measure a suite.
SESSIONS = ("node_session", "nodes_session")


def suite_options(suite: str) -> list[str]:
    """The options of ReFrame that make each session measure a suite.

    With the suite "", each test measures in its own job.
    """
    return session_options("suite", suite)


def session_options(variable: str, value: object) -> list[str]:
    """The options of ReFrame that set a variable of each session to a value."""
    return [f"--setvar={name}.{variable}={value}" for name in SESSIONS]


#: Does not build the simulation program, for modes without simulations.
WITHOUT_NBODY = "--setvar=build_linkmatrix.programs=p2p_matrix,collective_perf"

ACCEPTANCE = "acceptance"
#: Mode → the suite that its sessions measure.
SUITES = {ACCEPTANCE: "acceptance", "nightly": "full", "quick": "quick"}
#: Mode → options of ReFrame. Only acceptance requires a reference for each value.
MODES = {
    ACCEPTANCE: ["--mode=acceptance", NO_WARNING],
    "nightly": ["--tag=full", *suite_options("full"), NO_WARNING],
    "quick": ["--tag=quick", *suite_options("quick"), WITHOUT_NBODY, NO_WARNING],
    SWEEP: ["--tag=node-sweep", WITHOUT_NBODY, NO_WARNING],
    PAIR: [f"--name={NODE_PAIR_TEST}", WITHOUT_NBODY, NO_WARNING],
}

#: Mode → files of checks/ that have no test of the mode. ReFrame spends 5 ms on each test of a file, selected or not.
WITHOUT_TESTS = {
    "quick": ("adapter_matrix.py", "collectives.py", "pairs.py", "peers.py", "scaling.py", "sweep.py"),
}
DECORATOR = "simple_test"  # ReFrame's decorator of a test; a file without it has no test

#: The selection of `linkmatrix measure`.
DEFAULT_SELECTION = ("--mode=measure",)
#: Keys of ReFrame's report, from its option --session-extras: the mode of `linkmatrix run`, and the command that
#: started the session, percent-encoded, because ReFrame splits the option at commas.
MODE, COMMAND = "linkmatrix_mode", "linkmatrix_command"
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


def paths_with_tests(mode: str, repository: Path) -> list[str]:
    """The paths that contain all tests of a mode, for ReFrame's option -c: files in checks/, or the folder checks/."""
    folder, without = repository / "checks", WITHOUT_TESTS.get(mode, ())
    files = [file for file in sorted(folder.glob("*.py")) if file.name not in without]
    if not without or not files or any(file.is_dir() and file.name[0] not in "._" for file in folder.glob("*")):
        return [folder.name]
    return [f"{folder.name}/{file.name}" for file in files if DECORATOR in file.read_text(errors="replace")]


def refused_option(words: Sequence[str]) -> str:
    """The error message for an option of ReFrame that lets tests pass unchecked; "" if there is no such option."""
    for word in words:
        if UNCHECKED.fullmatch(word):
            return f"{word} is refused: without its checks every test would pass; omit the option"
        if re.search(r"\bstrict_check=(?!(true|yes|1)$)", word):
            return NOT_STRICT
    return ""


def session_extras(command: Sequence[str], mode: str = "", **more: str) -> list[str]:
    """ReFrame's option --session-extras with the command of linkmatrix. ReFrame stores the command in its report.

    more: further entries of the report.
    """
    entries = {**({MODE: mode} if mode else {}), COMMAND: quote(shlex.join(command)), **more}
    return ["--session-extras", ",".join(f"{key}={value}" for key, value in entries.items())]


def session_mode(session: Mapping[str, Any]) -> str:
    """The mode of a session, set by `linkmatrix run` or by ReFrame's option --mode; "" without a mode.

    session: `session_info` of ReFrame's report.
    """
    try:
        words = shlex.split(str(session.get("cmdline") or ""))
    except ValueError:
        words = []
    named = [str(session.get(MODE) or ""), *reframe_values(words, "--mode", "--mode")]
    return next((mode for mode in named if mode in MODES), "")


def session_command(session: Mapping[str, Any], swept: Iterable[str]) -> str:
    """The command that repeats a session: the command of linkmatrix if known, otherwise the command of ReFrame.

    * session: `session_info` of ReFrame's report
    * swept: the nodes of a sweep, because ReFrame's command does not contain the nodes
    """
    if command := unquote(str(session.get(COMMAND) or "")):
        return command
    nodes, command = ",".join(swept), str(session.get("cmdline") or "")
    return f"{NODES}={shlex.quote(nodes)} {command}" if nodes and command else command


def default_selection(more: Sequence[str]) -> tuple[str, ...]:
    """The default selection of `linkmatrix measure`; () if the user's options of ReFrame (`more`) select tests."""
    selecting = any(True for short, long in SELECTING.items() for _ in reframe_values(more, short, long))
    return () if selecting else DEFAULT_SELECTION


def reframe_values(more: Sequence[str], short: str, long: str) -> Iterator[str]:
    """Yields the values of one ReFrame option in a command line.

    short, long: the names of the option, such as "-J" and "--job-option".
    """
    words = iter(more)
    for word in words:
        name, equals, value = word.partition("=")
        if word == short or (len(name) >= MIN_PREFIX and long.startswith(name)):
            yield value if equals else next(words, "")
        elif word.startswith(short) and not word.startswith("--"):
            yield word.removeprefix(short)


def job_options(words: Sequence[str]) -> list[str]:
    """The scheduler options that follow from ReFrame's options -J, such as "--reservation=x" for "-J reservation=x"."""
    found = []
    for value in reframe_values(words, "-J", "--job-option"):
        name, _, rest = value.partition("=")
        with_dash = value.startswith(("-", "#"))
        found.append(value if with_dash else f"-{name} {rest}" if len(name) == 1 else f"--{name}={rest}")
    return found


def is_selective(more: Sequence[str]) -> bool:
    """Whether the user's options of ReFrame may leave out tests of the mode.

    The options in HARMLESS leave out no tests.
    """
    words = iter(more)
    for word in words:
        option = word.partition("=")[0] if word.startswith("--") else word
        if option not in HARMLESS:
            return True
        if HARMLESS[option] and "=" not in word[2:]:
            next(words, None)
    return False


def repeated_words(words: Sequence[str]) -> Iterator[str]:
    """Yields the words of a command that repeats the command `words`.

    Simulated faults are removed. The file of --record gets another name.
    """
    left_out = {at for option in option_values(words, "--simulate-fault") for at in range(option.first, option.end)}
    records = {option.end - 1 for option in option_values(words, "--record")}
    for at, word in enumerate(words):
        if at not in left_out:
            yield re.sub(r"(\.json)?$", r".again\1", word, count=1) if at in records else word


def program_command(record: Mapping[str, Any]) -> str:
    """The command that repeats the measurement of a record. For MPI ranks, the command begins with a launcher."""
    nodes = Counter(str(device["node"]) for device in record["devices"] if record["backend"] == "mpi")
    return shlex.join([*(launcher(nodes) if nodes else []), *repeated_words(record["command"])])
