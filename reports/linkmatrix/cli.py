"""The command `linkmatrix`: one module for each of its commands, which is imported when it is asked for.

So a command needs no more packages than it uses: on a cluster that has ReFrame alone, `show` and `run` work, and
`report`, which draws, says what it lacks.

Exit codes: 0 pass, 1 fail, 2 bad input or usage, 3 no verdict, 4 could not run or store.
"""

import argparse
import importlib
import os
import sys
from typing import NamedTuple

from . import __version__
from .errors import BadInput, clean

BAD_INPUT, CANNOT = 2, 4


class Command(NamedTuple):
    """A module of this package, whose `add_options` says what the command takes and runs, and what it is for."""

    module: str
    purpose: str


COMMANDS = {
    "show": Command("terminal", "matrices and verdicts in the terminal"),
    "report": Command("reporting", "an HTML page and heat maps"),
    "diagnose": Command("diagnose", "which part is at fault, and why"),
    "run": Command("acceptance", "acceptance: measure, judge, report, with a lock"),
    "adopt": Command("adopting", "references out of stored runs, and their difference"),
    "history": Command("history", "values over time, and where they changed"),
    "compare": Command("compare", "a run beside another one or a published system"),
    "import": Command("importing", "outputs of nvbandwidth, OSU, nccl-tests and others as records"),
    "export": Command("export", "for other tools: csv, parquet, prometheus, nodes for Slurm to leave out"),
    "compact": Command("compact", "records of many endpoints in a form that is read in no time"),
    "detect": Command("detecting", "a system file for this machine or its cluster"),
    "schedule": Command("schedule", "a crontab line, systemd timer or scrontab entry"),
}
#: What a module is called where packages are installed from, if not the same.
PACKAGES = {"ruamel": "ruamel.yaml", "yaml": "PyYAML"}
REMEDY = "make setup in the repository installs all that there are, or pip install this one"
EXIT_HELP = "Exit codes: 0 pass, 1 fail, 2 bad input or usage, 3 no verdict, 4 could not run or store."


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    name = arguments[0] if arguments else ""
    try:
        options = parser(name).parse_args(arguments)
        code = options.command(options)
        sys.stdout.flush()
    except BadInput as error:
        return complain(str(error), BAD_INPUT)
    except ModuleNotFoundError as error:
        if not error.name or error.name.startswith(__package__):
            raise
        missing = PACKAGES.get(error.name, error.name)
        return complain(f"'{name}' needs the Python package {missing}, which is not here: {REMEDY}", CANNOT)
    except BrokenPipeError:
        # the reader, such as `head`, had enough: no news to it, and none at Python's own flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return complain(named, CANNOT)
    return code


def complain(sentence: str, code: int) -> int:
    """One line on standard error, whatever characters a file name or a message has."""
    print(f"linkmatrix: {clean(sentence)}".encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    return code


def parser(name: str) -> argparse.ArgumentParser:
    """The options of all commands; only those of the command `name` are known in detail."""
    top = argparse.ArgumentParser(prog="linkmatrix", description="Explains what linkmatrix measured.", epilog=EXIT_HELP)
    top.add_argument("--version", action="version", version=f"linkmatrix {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for word, command in COMMANDS.items():
        options = commands.add_parser(word, help=command.purpose, epilog=EXIT_HELP)
        if word == name:
            importlib.import_module(f".{command.module}", __package__).add_options(options)
    return top


if __name__ == "__main__":
    sys.exit(main())
