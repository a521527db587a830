"""What `linkmatrix schedule` prints runs as it is where timers run it: without an environment, and by a real cron."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

REPOSITORY = Path(__file__).resolve().parents[2]
NOTHING = ("--", "-n", "nothing_at_all")  # as far as ReFrame, which finds no such test
REACHED = "INCOMPLETE  ReFrame ended with 0 and wrote no report: nothing began"
OF_CRON = {"HOME": "/", "LOGNAME": "root", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
UNPACKED = REPOSITORY / ".build" / "debian" / "cron"


@pytest.fixture
def schedule(tmp_path):
    """A function that prints a schedule, in a shell with the virtual environment's programs on PATH or without."""
    environment = {
        **os.environ,
        "LINKMATRIX_PREFIX": str(tmp_path / "results"),
        "PYTHONPATH": str(REPOSITORY / "reports"),
    }

    def print_it(*options, activated=False):
        environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}" if activated else OF_CRON["PATH"]
        command = [sys.executable, "-m", "linkmatrix", "schedule", "--mode=quick", *options]
        done = subprocess.run(command, env=environment, cwd=REPOSITORY, text=True, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return print_it


def run(command, environment, folder="/"):
    """A command that has this environment and no more: (exit code, output)."""
    bare = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *command]
    done = subprocess.run(
        bare, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("activated", [True, False])
def test_the_line_for_cron_reaches_reframe_and_what_is_no_pass_is_mailed(schedule, tmp_path, activated):
    printed = schedule("--cron", "--mail", "ops@example.org", *NOTHING, activated=activated)
    mail, line, _ = printed.splitlines()
    assert mail == "MAILTO=ops@example.org"
    text = re.fullmatch(r"30 2 \* \* \* (.*)", line)[1].replace(r"\%", "%")
    code, out = run(["/bin/sh", "-c", text], OF_CRON)
    assert code == 4, out
    # cron mails what is printed
    assert REACHED in out and f"linkmatrix ended with 4, its log is {tmp_path}/results/schedule.log" in out
    assert "Ran 0/0 test case(s)" in (tmp_path / "results" / "schedule.log").read_text()


def test_a_folder_that_is_gone_is_mailed_too(schedule, tmp_path):
    line = schedule("--cron", *NOTHING).splitlines()[1].replace(str(REPOSITORY), f"{tmp_path}/gone")
    code, out = run(["/bin/sh", "-c", line.partition("* * * ")[2]], OF_CRON)
    assert code != 0 and "linkmatrix ended with" in out


def test_the_service_for_systemd_reaches_reframe(schedule):
    unit = schedule("--systemd", *NOTHING)
    assert "OnFailure=linkmatrix-failed@%n.service" in unit and "linkmatrix-failed@.service" in unit
    folder = re.search("^WorkingDirectory=(.*)$", unit, re.MULTILINE)[1].replace("%%", "%")
    text = re.search("^ExecStart=(.*)$", unit, re.MULTILINE)[1].replace("%%", "%").replace("$$", "$")
    code, out = run(shlex.split(text), {"PATH": "/usr/bin:/bin"}, folder)
    assert code == 4 and REACHED in out, out


def units(printed, folder):
    """Writes each file of a printed schedule to a folder: {name: text}."""
    parts = re.split(r"^# /etc/systemd/system/(\S+)\n", printed, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    for name, text in found.items():
        (folder / name).write_text(text)
    return found


def test_systemd_finds_no_fault_in_the_units(schedule, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    names = units(schedule("--systemd", "--mail", "ops@example.org", *NOTHING), tmp_path)
    assert len(names) == 3
    (tmp_path / "linkmatrix-failed@linkmatrix-quick.service.service").symlink_to("linkmatrix-failed@.service")
    for name in (
        "linkmatrix-quick.service",
        "linkmatrix-quick.timer",
        "linkmatrix-failed@linkmatrix-quick.service.service",
    ):
        command = ["systemd-analyze", "verify", tmp_path / name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        said = [line for line in done.stderr.splitlines() if "linkmatrix" in line]
        assert (done.returncode, said) == (0, []), done.stderr


@pytest.mark.parametrize("mails", [True, False], ids=["sendmail", "wall"])
def test_the_unit_for_failures_tells_whoever_was_named(schedule, tmp_path, mails):
    """systemctl, and what tells, are stand-ins that say what they were given."""
    text = units(schedule("--systemd", "--mail", "ops@example.org", *NOTHING), tmp_path)["linkmatrix-failed@.service"]
    line = re.search("^ExecStart=(.*)$", text, re.MULTILINE)[1]
    line = line.replace("%i", "linkmatrix-quick.service").replace("%H", "login1").replace("$$", "$")
    folder = tmp_path / "bin"
    folder.mkdir()
    stand_ins = {"systemctl": 'echo "status: $*"', "wall": f"cat >{tmp_path}/told"}
    stand_ins |= {"sendmail": f'echo "$*" >{tmp_path}/how; cat >{tmp_path}/told'} if mails else {}
    for name, commands in stand_ins.items():
        (folder / name).write_text(f"#!/bin/sh\n{commands}\n")
        (folder / name).chmod(0o755)
    (folder / "cat").symlink_to(shutil.which("cat"))
    code, out = run(shlex.split(line), {"PATH": str(folder)})
    assert code == 0, out
    told = (tmp_path / "told").read_text().splitlines()
    assert told[:3] == ["To: ops@example.org", "Subject: linkmatrix-quick.service failed on login1", ""]
    assert told[3] == "status: status --full --lines=30 linkmatrix-quick.service"
    assert not mails or (tmp_path / "how").read_text() == "-t\n"


#: cron in a place of its own: its tables, its sendmail, which writes into a file, and nothing else of the machine's.
CROND = """
set -e
base=$1 crond=$2
mkdir -p "$base/sbin" "$base/work" "$base/etc"
printf '#!/bin/sh\\nexec cat >>%s/mail\\n' "$base" >"$base/sbin/sendmail"
chmod 755 "$base/sbin/sendmail"
mount -t tmpfs tmpfs /var/spool
mkdir -p /var/spool/cron/crontabs
cp "$base/table" /var/spool/cron/crontabs/root
chmod 600 /var/spool/cron/crontabs/root
mount -t overlay -o "lowerdir=$base/sbin:/usr/sbin" overlay /usr/sbin
exec "$crond" -f -L 15
"""


def test_a_real_cron_runs_it_and_mails_what_is_no_pass(schedule, tmp_path):
    crond = shutil.which("cron") or shutil.which("cron", path=UNPACKED / "usr/sbin")
    if crond is None:
        pytest.skip(f"no cron here, and none in {UNPACKED}: see .ci/run")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("a cron with tables of its own needs root and a mount namespace")
    text = schedule("--cron", *NOTHING)
    (tmp_path / "table").write_text(text.replace("30 2 * * * ", "* * * * * "))
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", CROND, "crond", tmp_path, crond]
    with (tmp_path / "crond.log").open("w") as log:
        cron = subprocess.Popen(command, stdout=log, stderr=log)
    mail = tmp_path / "mail"
    try:
        for _ in range(1500):
            if mail.exists() and "its log is" in mail.read_text():
                break
            assert cron.poll() is None, (tmp_path / "crond.log").read_text()
            time.sleep(0.1)
    finally:
        cron.kill()
        cron.wait(30)
    assert REACHED in mail.read_text() and "linkmatrix ended with 4" in mail.read_text()
