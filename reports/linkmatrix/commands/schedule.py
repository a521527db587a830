"""`linkmatrix schedule`: prints a timer that starts `linkmatrix run`. The user installs the printed text.

A timer has a short PATH, no modules and no virtual environment. The printed text therefore contains the environment
variables of this shell that the run needs. The timer mails failed runs.
"""

import argparse
import getpass
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from ..errors import BadInput, clean
from ..reframe_ext import reframe_name
from ..runs import folders
from ..runs.modes import MODES
from ..site import configured, environment, machine
from ..site import scrontab as site_scrontab

TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
LONGEST = 998  # maximum length of a command in the crontab of Debian's cron
#: {value of --every: (day of week for cron, date for systemd, prefix for `run --scheduled`)}
DAYS = {"daily": ("*", "*-*-*", ""), "weekly": ("1", "Mon *-*-*", "Mon ")}
LONGEST_JOB = 25 * 60  # maximum time limit of a scrontab job in minutes; a run takes at most 24 hours
RUN_SHARE = 0.96  # fraction of this time limit for the run; the rest is for its report
#: Removes the Slurm variables of the scrontab job, because they would change the jobs that the run submits.
WITHOUT_JOB = "unset $(env | grep -o '^SLURM_[A-Z0-9_]*' | grep -vx SLURM_CONF)"


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `schedule`."""
    form = command.add_mutually_exclusive_group(required=True)
    for name, (_, purpose) in FORMS.items():
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=purpose)
    command.add_argument(
        "--mode", choices=sorted(MODES), default="nightly", help="mode of linkmatrix run (default: nightly)"
    )
    command.add_argument(
        "--system", metavar="S:P", help="system and partition (default: detected by ReFrame when the timer runs)"
    )
    command.add_argument("--at", default="02:30", metavar="HH:MM", help="time of day (default: 02:30)")
    command.add_argument(
        "--every", choices=sorted(DAYS), default="daily", help="daily, or weekly on Mondays (default: daily)"
    )
    command.add_argument(
        "--partition",
        metavar="NAME",
        help="with --scrontab: Slurm partition of the job (default: a partition whose nodes are not measured)",
    )
    command.add_argument("--mail", metavar="ADDRESS", help="address that receives failures (default: the current user)")
    command.add_argument("more", nargs="*", metavar="OPTION", help="options for ReFrame, after --")
    command.set_defaults(command=run_schedule)


def run_schedule(options: argparse.Namespace) -> int:
    """Prints the timer as cron, systemd or scrontab text. Raises BadInput."""
    match = TIME.fullmatch(options.at)
    if match is None:
        raise BadInput(f"--at '{options.at}' is not a time of day: use HH:MM, such as 02:30")
    if options.system and not re.fullmatch(r"[\w.+-]+(:[\w.+-]+)?", options.system):
        raise BadInput(f"--system '{options.system}' is not a name: use SYSTEM or SYSTEM:PARTITION")
    if options.partition and not re.fullmatch(r"[\w.+-]+", options.partition):
        raise BadInput(f"--partition '{options.partition}' is not a name: use letters, digits and . + - _")
    if options.mail and not re.fullmatch(r"[\w.+-]+(@[\w.-]+)?", options.mail):
        raise BadInput(f"--mail '{options.mail}' is not an address: use USER or USER@HOST")
    options.mail = options.mail or getpass.getuser()
    for word in [*timer_command(options), str(folders.repository())]:
        if re.search(r"[\r\n]", word):
            name, equals, _ = word.partition("=")
            raise BadInput(f"'{clean(name + equals)}' contains a line break, which a unit cannot contain: remove it")
    print(FORMS[options.form][0](options, int(match[1]), int(match[2])), end="")
    return 0


def timer_command(options: argparse.Namespace, hours: float | None = None) -> list[str]:
    """The command that the timer starts, with its environment variables, as a list of words.

    If `linkmatrix` is not on PATH, the command begins with `python -m linkmatrix`.
    hours: time limit of the run; None for the default.
    """
    program = shutil.which("linkmatrix")
    variables = environment.needed_variables() | {"LINKMATRIX_PREFIX": str(folders.prefix().absolute())}
    start = [str(Path(program).absolute())] if program else [sys.executable, "-m", "linkmatrix"]
    if not program:
        known = [str(Path(__file__).resolve().parents[2]), *variables.get("PYTHONPATH", "").split(os.pathsep)]
        variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, known)))
    given = [f"{name}={value}" for name, value in variables.items()]
    reframe = environment.program("reframe")
    chosen = [f"--system={options.system}"] if options.system else []
    chosen += [f"--reframe={reframe}"] if reframe else []
    chosen += [f"--timeout={hours:.2f}"] if hours else []
    times = f"--scheduled={DAYS[options.every][2]}{options.at}"
    more = ["--", *options.more] if options.more else []
    return ["/usr/bin/env", *given, *start, "run", f"--mode={options.mode}", times, *chosen, "--keep-days=400", *more]


def shell_line(options: argparse.Namespace, log: Path) -> str:
    """The shell command of the timer. The output goes into `log`. If the run fails, the end of the log is printed."""
    repository, folder, file = (shlex.quote(str(path)) for path in (folders.repository(), log.parent, log))
    report = f'{{ code=$?; tail -n 20 {file}; echo "linkmatrix ended with $code, its log is "{file}; exit $code; }}'
    return f"cd {repository} && mkdir -p {folder} && {shlex.join(timer_command(options))} >>{file} 2>&1 || {report}"


def cron(options: argparse.Namespace, hour: int, minute: int) -> str:
    """The lines for a crontab. Raises BadInput if the command is too long for cron."""
    text = shell_line(options, folders.prefix().absolute() / "schedule.log").replace("%", r"\%")  # % ends a line
    if len(text) > LONGEST:
        raise BadInput(
            f"the command has {len(text)} characters, and cron allows {LONGEST}: use --systemd or --scrontab"
        )
    day = DAYS[options.every][0]
    return f"MAILTO={options.mail}\n{minute} {hour} * * {day} {text}\n# for crontab -e; cron mails what is printed\n"


def systemd(options: argparse.Namespace, hour: int, minute: int) -> str:
    """The text of three units, with their file names: a service, its timer, and a service that mails a failure."""
    name = f"linkmatrix-{options.mode}"
    command = " ".join(quoted(word) for word in timer_command(options))
    return f"""# /etc/systemd/system/{name}.service
[Unit]
Description=linkmatrix {options.mode}
After=network-online.target
Wants=network-online.target
OnFailure=linkmatrix-failed@%n.service

[Service]
Type=oneshot
User={getpass.getuser()}
WorkingDirectory={escaped(str(folders.repository()))}
ExecStart={command}
TimeoutStartSec=25h
Nice=10
# the unit fails for 1 (FAIL), 3 (DISTURBED or INCOMPLETE) and 4 (nothing began)
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

# /etc/systemd/system/linkmatrix-failed@.service
[Unit]
Description=mail the failure of %i to {options.mail}

[Service]
Type=oneshot
ExecStart=/bin/sh -c "{MAIL_FAILURE.format(mail=options.mail)}"
"""


#: Sends a mail with sendmail, otherwise a message to all terminals. In a unit, '%i' is the name of the failed unit.
MAIL_FAILURE = (
    "{{ echo To: {mail}; echo Subject: %i failed on %H; echo; systemctl status --full --lines=30 %i; }}"
    " | if command -v sendmail >/dev/null; then sendmail -t; else wall; fi"
)


def escaped(text: str) -> str:
    """The text for a unit file. Each '%' is doubled, because a single '%' begins a specifier."""
    return text.replace("%", "%%")


def quoted(word: str) -> str:
    """A word for the command line ExecStart= in a unit file, in quotes if needed."""
    text = escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{text}"' if re.search(r"[\s\"'\\;$]", text) else text


def scrontab(options: argparse.Namespace, hour: int, minute: int) -> str:
    """The lines for Slurm's scrontab. Raises BadInput.

    Slurm starts a small job at each time of the timer. The small job runs linkmatrix, which submits the measuring jobs.
    The small job uses a node that is not measured. The time limit of the small job fits the partition of this node.
    The command names the system, because ReFrame can detect the system only on the login node.
    """
    reframe, repository = environment.program("reframe"), folders.repository()
    if reframe is None:
        raise BadInput("--scrontab asks ReFrame for the measured partitions: put reframe on PATH")
    system, measured = configured.measured_partitions(reframe, repository, options.system, machine.answer)
    options.system = options.system or system
    of_slurm = [one for one in measured if reframe_name(one["scheduler"]) in ("slurm", "squeue")]
    chosen = site_scrontab.partition(options.partition, of_slurm, machine.answer)
    limit = LONGEST_JOB if chosen.limit is None else min(LONGEST_JOB, int(chosen.limit))
    log = folders.prefix().absolute() / "schedule-%j.log"
    lines = ["# scrontab -e (slurm.conf needs ScronParameters=enable)", *(f"# {note}" for note in chosen.notes)]
    lines += [f"#SCRON {option}" for option in (*chosen.access, "--ntasks=1", f"--time={limit}")]
    lines += [f"#SCRON --job-name=linkmatrix-{options.mode}", f"#SCRON --output={shlex.quote(str(log))}"]
    lines += ["#SCRON --mail-type=FAIL", f"#SCRON --mail-user={options.mail}"]
    command = shlex.join(timer_command(options, limit / 60 * RUN_SHARE))
    text = f"cd {shlex.quote(str(repository))} || exit; {WITHOUT_JOB}; {command}"
    return "\n".join([*lines, f"{minute} {hour} * * {DAYS[options.every][0]} {text}", ""])


#: {option: (function that returns the text, help of the option)}
FORMS: dict[str, tuple[Callable[[argparse.Namespace, int, int], str], str]] = {
    "cron": (cron, "print lines for crontab -e"),
    "systemd": (systemd, "print a service, its timer and a service that mails failures, for /etc/systemd/system"),
    "scrontab": (scrontab, "print lines for Slurm's scrontab -e"),
}
