"""The command `linkmatrix`. Each subcommand is a module. Only the module of the called subcommand is imported.

A subcommand therefore needs only the Python packages that its own module imports. On a cluster that has only ReFrame,
`show` and `run` work, and `report` names the missing package. EXIT_HELP contains the exit codes.
"""

import _thread
import argparse
import codecs
import errno
import importlib
import mmap
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

from . import __version__
from .errors import BadInput, Held, clean, to_ascii
from .invocation import runnable

BAD_INPUT, CANNOT = 2, 4
RESEND_SECONDS = 0.02  # delay of a signal that is sent again
NUMPY_BYTES = 192 << 20  # address space that numpy reserves when it is imported
NAME_ERRORS = (errno.ENAMETOOLONG, errno.ELOOP)  # an argument cannot be the name of a file


class Command(NamedTuple):
    """A subcommand.

    module: a module of `commands`, whose function `add_options` declares the options.
    example: a command line for --help; "" if `add_options` adds examples.
    """

    module: str
    purpose: str
    example: str


COMMANDS = {
    "show": Command("show", "print matrices and verdicts", "linkmatrix show .linkmatrix/reports/run-report-0.json"),
    "report": Command("report", "write an HTML page and heat maps", "linkmatrix report --out page"),
    "diagnose": Command(
        "diagnose",
        "find the faulty component, with the evidence",
        "linkmatrix diagnose --testcase device_to_device_memcpy_write_ce",
    ),
    "run": Command("run", "measure, judge and report; one active run per system", "linkmatrix run --mode=quick"),
    "measure": Command(
        "measure",
        "measure what fits this machine, and print a summary, as make run does",
        "linkmatrix measure -- -n device_to_device_memcpy_write_ce",
    ),
    "baseline": Command(
        "baseline", "measure several times, adopt references, and compare a run with them", "linkmatrix baseline"
    ),
    "adopt": Command(
        "adopt", "calculate references from stored runs, and print the changes", "linkmatrix adopt --table hgx --write"
    ),
    "history": Command("history", "print values over time, and their changes", "linkmatrix history --since 2026-11-21"),
    "next": Command(
        "next",
        "print when each node was measured, and the next measurements for a budget",
        "linkmatrix next --budget 20-node-hours",
    ),
    "note": Command("note", "record a repair of a component or slot", ""),
    "compare": Command(
        "compare", "compare a run with another run or a published system", "linkmatrix compare --against abci:anode"
    ),
    "import": Command(
        "import_",
        "convert outputs of nvbandwidth, OSU, nccl-tests and more to records",
        "linkmatrix import nvbandwidth.txt",
    ),
    "export": Command(
        "export",
        "export csv, parquet, prometheus, a bundle with records and references, or node lists for schedulers",
        "linkmatrix export --format csv --out values.csv",
    ),
    "init": Command(
        "init",
        "create a folder for the configuration, references and results of a site",
        "linkmatrix init ~/links && cd ~/links && linkmatrix measure",
    ),
    "detect": Command("detect", "write a system file for this machine or its cluster", "linkmatrix detect --dry-run"),
    "schedule": Command(
        "schedule",
        "print a crontab line, systemd timer or scrontab entry",
        "linkmatrix schedule --cron --mode quick --at 02:30",
    ),
}
#: {Python module: its package on PyPI}, if the names differ
PACKAGES = {"ruamel": "ruamel.yaml", "yaml": "PyYAML"}
REMEDY = "run make setup in the repository, or install this package with pip"
EXIT_HELP = (
    "Exit codes: 0 PASS, WARN or NOT JUDGED; 1 FAIL; 2 bad input or usage; 3 DISTURBED or INCOMPLETE, and NOT JUDGED in"
    " acceptance or with --certificate; 4 nothing began, or the result could not be stored."
)
DEBUG, DEBUG_HELP = "--debug", "print a traceback if the program ends with an unexpected error"


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line, and returns an exit code of EXIT_HELP.

    arguments: the words after `linkmatrix`. The default is the command line of this process. After a call with the
    default, the process ignores SIGTERM and SIGINT, and must end.
    """
    is_last, arguments = arguments is None, sys.argv[1:] if arguments is None else arguments
    if sys.stdout is None:
        return complain("standard output is closed: call linkmatrix with an open standard output", CANNOT)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="linkmatrix.ascii")
    with handle_signals(is_last):
        try:
            code = run_command(arguments)
        except SystemExit as exit_:  # by argparse: help, version, or a wrong option
            if code := flush_output(exit_.code):
                return code
            raise
    return flush_output(code) or code


def flush_output(code: Any) -> int:
    """Flushes standard output. Returns 0, or CANNOT if the output cannot be written. Prints an error for CANNOT.

    code: the exit code of the command.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return handle_ended_reader()
    except OSError as error:
        drop_output()
        return CANNOT if code == CANNOT else complain(f"standard output: {error.strerror}", CANNOT)
    return 0


class Interruption(KeyboardInterrupt):
    """The exception that a signal raises.

    The class must be a subclass of KeyboardInterrupt. If a plain KeyboardInterrupt passes through `exec`, CPython ends
    the process by SIGINT at exit, even if the exception was caught (run_eval_code_obj).
    """


@contextmanager
def handle_signals(is_last: bool = False) -> Iterator[None]:
    """A context in which SIGTERM and SIGINT raise Interruption, so that the command can end with a message.

    is_last: whether the process ignores both signals after the context, so that no signal changes its exit code.
    """

    def interrupt(number: int, _: Any) -> None:
        raise Interruption(number)

    def resend_dropped(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Interruption):
            _thread.start_new_thread(resend_signal, unraisable.exc_value.args)
        else:
            hook(unraisable)

    hook, sys.unraisablehook = sys.unraisablehook, resend_dropped
    defaults = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    for number, handler in list(defaults.items()):
        if threading.current_thread() is not threading.main_thread() or signal.getsignal(number) != handler:
            del defaults[number]  # the caller has its own handler
        else:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in defaults.items():
            signal.signal(number, signal.SIG_IGN if is_last else handler)


def resend_signal(number: int) -> None:
    """Sends a signal to this process again, after RESEND_SECONDS.

    Python drops an exception that a signal raises in a callback, for example during an import. The command would
    continue without a second signal.
    """
    time.sleep(RESEND_SECONDS)
    _thread.interrupt_main(number)


def run_command(arguments: list[str]) -> int:
    """Runs a subcommand, and returns its exit code. Prints each error as one sentence."""
    name = next((word for word in arguments if word != DEBUG), "")
    try:
        require_address_space()
        refuse_unusable(arguments)
        if not name:
            parser("").print_help()
            return BAD_INPUT
        options = parser(name).parse_args(without_debug(arguments))
        return options.command(options)
    except BadInput as error:
        return complain(str(error), BAD_INPUT)
    except Held as error:
        return complain(str(error), CANNOT)
    except ModuleNotFoundError as error:
        if not error.name or error.name.startswith(__package__):
            return unexpected_error(error, arguments)
        missing = PACKAGES.get(error.name, error.name)
        return complain(f"'{name}' needs the Python package {missing}, which is not installed: {REMEDY}", CANNOT)
    except BrokenPipeError:
        return handle_ended_reader()
    except OSError as error:
        if error.errno == errno.ENOENT and not error.filename:  # of os.getcwd
            return complain("the working directory was removed: change to an existing directory", BAD_INPUT)
        return complain(os_error_sentence(error), BAD_INPUT if error.errno in NAME_ERRORS else CANNOT)
    except KeyboardInterrupt:
        return complain("interrupted: the command did not finish", CANNOT)
    except MemoryError:
        return complain("the command ran out of memory: check ulimit -v and free -m", CANNOT)
    except Exception as error:
        return unexpected_error(error, arguments)


def require_address_space() -> None:
    """Raises MemoryError if `ulimit -v` leaves too little address space for numpy.

    Otherwise OpenBLAS would end the process with exit code 1, which means FAIL here.
    """
    try:
        mmap.mmap(-1, NUMPY_BYTES, prot=0).close()  # reserves address space, but no memory
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError from None
        raise


def refuse_unusable(arguments: list[str]) -> None:
    """Raises BadInput for `--option=--`, which argparse misreads, and for unusable characters such as a zero byte."""
    for argument in own_arguments(arguments):
        if argument.startswith("-") and argument.endswith("=--"):
            raise BadInput(f"{argument}: '--' is not a value: name the value of {argument.removesuffix('=--')}")
    for argument in arguments:
        try:
            unusable = b"\0" in os.fsencode(argument)
        except UnicodeEncodeError:
            unusable = True
        if unusable:
            problem = "contains a character that a command line cannot contain"
            raise BadInput(f"the argument {argument!r} {problem}: remove it")


def own_arguments(arguments: list[str]) -> list[str]:
    """The arguments before `--`. The arguments after `--` are for ReFrame."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def without_debug(arguments: list[str]) -> list[str]:
    """The arguments without --debug. Arguments after `--` stay unchanged."""
    first = own_arguments(arguments)
    return [word for word in first if word != DEBUG] + arguments[len(first) :]


def unexpected_error(error: Exception, arguments: list[str]) -> int:
    """Prints an error that is a defect of linkmatrix. Returns CANNOT, because exit code 1 would mean FAIL."""
    if DEBUG in arguments:
        traceback.print_exception(error)
    description = f"{type(error).__name__} {error}".strip()[:200]
    return complain(f"unexpected error, {description}: report the error with the output of {DEBUG}", CANNOT)


def os_error_sentence(error: OSError) -> str:
    """A sentence with the name of the file that cannot be read or written, and the reason.

    If the error contains no file name and standard output cannot be written, the sentence names standard output.
    """
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    try:
        print(flush=True)
    except OSError as again:
        drop_output()
        return f"standard output: {again.strerror}"
    return str(error)


def handle_ended_reader() -> int:
    """Drops further output after the reader of a pipe, such as `head`, has ended. Returns CANNOT without a message."""
    drop_output()
    return CANNOT


def drop_output() -> None:
    """Sends all further output to /dev/null, so that Python's flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def replace_with_ascii(error: UnicodeError) -> tuple[str, int]:
    """An error handler of `str.encode`. Replaces characters that the encoding lacks with ASCII characters."""
    assert isinstance(error, UnicodeEncodeError)
    return to_ascii(error.object[error.start : error.end]), error.end


codecs.register_error("linkmatrix.ascii", replace_with_ascii)


def complain(sentence: str, code: int) -> int:
    """Prints a sentence on standard error, in ASCII, and returns the exit code."""
    if sys.stderr is not None:
        print(f"linkmatrix: {clean(runnable(sentence))}".encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    return code


class Parser(argparse.ArgumentParser):
    """An argument parser that appends `remedy` to the error message about an unknown option."""

    remedy = ""

    def error(self, message: str) -> NoReturn:
        """Prints the error message with the remedy, and exits."""
        super().error(message + (self.remedy if message.startswith("unrecognized") else ""))


def parser(name: str) -> argparse.ArgumentParser:
    """The parser of the command line. Imports only the module of subcommand `name`, so only `name` has options."""
    top = Parser(
        prog="linkmatrix",
        description="Measures the links of GPU nodes and clusters, and explains the results.",
        epilog=EXIT_HELP,
    )
    top.add_argument("--version", action="version", version=f"linkmatrix {__version__}")
    top.add_argument(DEBUG, action="store_true", help=DEBUG_HELP)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for word, command in COMMANDS.items():
        options = commands.add_parser(word, help=command.purpose, epilog=EXIT_HELP)
        options.add_argument(DEBUG, action="store_true", help=DEBUG_HELP)
        if word == name:
            importlib.import_module(f".commands.{command.module}", __package__).add_options(options)
            if command.example:
                options.description = " ".join([options.description or "", f"Example: {command.example}"]).lstrip()
            if any(action.metavar == "OPTION" for action in options._actions):
                top.remedy = f"; write options of ReFrame after --: linkmatrix {name} … -- -n NAME"
    return top


if __name__ == "__main__":
    sys.exit(main())
