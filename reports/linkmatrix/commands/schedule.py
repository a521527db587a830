"""`linkmatrix schedule`: prints what makes a machine run `linkmatrix run` by itself. It installs nothing."""

import argparse
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from ..errors import BadInput
from ..runs import stored
from ..runs.modes import MODES

TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
DAYS = {"daily": ("*", "*-*-*"), "weekly": ("1", "Mon *-*-*")}


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `schedule`."""
    form = command.add_mutually_exclusive_group(required=True)
    for name in FORMS:
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name)
    command.add_argument("--mode", choices=sorted(MODES), default="nightly")
    command.add_argument("--system", metavar="S:P")
    command.add_argument("--at", default="02:30", metavar="HH:MM", help="default: 02:30")
    command.add_argument("--every", choices=sorted(DAYS), default="daily")
    command.add_argument("--partition", metavar="NAME", help="of Slurm, for --scrontab")
    command.set_defaults(command=run_schedule)


def run_schedule(options: argparse.Namespace) -> int:
    """Prints the text of one form. Raises BadInput."""
    match = TIME.fullmatch(options.at)
    if match is None:
        raise BadInput(f"--at '{options.at}' is no time: write it as 02:30")
    if options.system and not re.fullmatch(r"[\w.+-]+(:[\w.+-]+)?", options.system):
        raise BadInput(f"--system '{options.system}' is no system:partition of ReFrame")
    if options.partition and not re.fullmatch(r"[\w.+-]+", options.partition):
        raise BadInput(f"--partition '{options.partition}' is no name of a partition")
    print(FORMS[options.form](options, int(match[1]), int(match[2])), end="")
    return 0


def command_of(options: argparse.Namespace) -> list[str]:
    """What is run: the installed program, else this package with this Python, for a timer has no PYTHONPATH."""
    program = shutil.which("linkmatrix")
    reports = Path(__file__).resolve().parents[2]
    module = ["/usr/bin/env", f"PYTHONPATH={reports}", sys.executable, "-m", "linkmatrix"]
    start = [str(Path(program).absolute())] if program else module
    system = [f"--system={options.system}"] if options.system else []
    return [*start, "run", f"--mode={options.mode}", *system, "--keep-days=400"]


def cron(options: argparse.Namespace, hour: int, minute: int) -> str:
    """A line of a crontab. Its '%' would be line ends."""
    log = stored.prefix().absolute() / "schedule.log"
    place = shlex.quote(str(stored.repository()))
    text = f"cd {place} && {shlex.join(command_of(options))} >>{shlex.quote(str(log))} 2>&1"
    day = DAYS[options.every][0]
    return f"# crontab -e\n{minute} {hour} * * {day} {text}\n".replace("%", r"\%")


def systemd(options: argparse.Namespace, hour: int, minute: int) -> str:
    """A service and its timer, in one text with the names of the two files."""
    name = f"linkmatrix-{options.mode}"
    prefix = stored.prefix().absolute()
    command = " ".join(quoted(word) for word in command_of(options))
    return f"""# /etc/systemd/system/{name}.service
[Unit]
Description=linkmatrix {options.mode}
After=network-online.target
Wants=network-online.target

[Service]
Type=oneshot
WorkingDirectory={escaped(str(stored.repository()))}
Environment={quoted(f"LINKMATRIX_PREFIX={prefix}")}
ExecStart={command}
TimeoutStartSec=25h
Nice=10
# 3: no verdict, something is missing: the unit fails as it does for 1 (fail) and 4 (could not run)
SuccessExitStatus=0

# /etc/systemd/system/{name}.timer
[Unit]
Description=linkmatrix {options.mode}, {options.every} at {options.at}

[Timer]
OnCalendar={DAYS[options.every][1]} {hour:02}:{minute:02}:00
RandomizedDelaySec=10min
Persistent=true

[Install]
WantedBy=timers.target
"""


def escaped(text: str) -> str:
    """A value of a unit: '%' begins a specifier."""
    return text.replace("%", "%%")


def quoted(word: str) -> str:
    """A word of ExecStart= or Environment=."""
    text = escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{text}"' if re.search(r"[\s\"'\\;$]", text) else text


def scrontab(options: argparse.Namespace, hour: int, minute: int) -> str:
    """An entry of scrontab: Slurm runs it as a small job, which submits the others."""
    log = stored.prefix().absolute() / "schedule-%j.log"
    lines = [
        "# scrontab -e (slurm.conf needs ScronParameters=enable)",
        "#SCRON --time=25:00:00",
        "#SCRON --cpus-per-task=1",
    ]
    lines += [f"#SCRON --partition={options.partition}"] if options.partition else []
    lines += [f"#SCRON --job-name=linkmatrix-{options.mode}", f"#SCRON --output={shlex.quote(str(log))}"]
    place = shlex.quote(str(stored.repository()))
    text = f"cd {place} && {shlex.join(command_of(options))} >>{shlex.quote(str(log))} 2>&1"
    return "\n".join([*lines, f"{minute} {hour} * * {DAYS[options.every][0]} {text}", ""])


FORMS: dict[str, Callable[[argparse.Namespace, int, int], str]] = {
    "cron": cron,
    "systemd": systemd,
    "scrontab": scrontab,
}
