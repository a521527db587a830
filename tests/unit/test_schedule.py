"""`linkmatrix schedule`: lines and units that cron, systemd and Slurm take as they are."""

import getpass
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from linkmatrix import cli


@pytest.fixture
def schedule(capsys, tmp_path, monkeypatch):
    def run(*arguments):
        code = cli.main(["schedule", *arguments])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("installed", [True, False])
def test_a_timer_is_what_systemd_accepts(schedule, tmp_path, monkeypatch, installed):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt install systemd)")
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true" if installed and name == "linkmatrix" else None)
    code, out, _ = schedule("--systemd", "--at", "23:05", "--every", "weekly", "--system", "node:gpu")
    assert code == 0 and "OnCalendar=Mon *-*-* 23:05:00" in out
    parts = out.split("# /etc/systemd/system/")[1:]
    for part in parts:
        name, _, text = part.partition("\n")
        (tmp_path / Path(name).name).write_text(text)
    units = sorted(str(path) for path in tmp_path.glob("linkmatrix-*"))
    assert len(units) == 3
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=60)
    ours = [line for line in done.stderr.splitlines() if "linkmatrix" in line]
    assert ours == [], done.stderr


def test_a_crontab_line_has_its_five_fields_and_no_bare_percent(schedule, monkeypatch):
    monkeypatch.setenv("LINKMATRIX_PREFIX", "/tmp/a b/100%")
    code, out, _ = schedule("--cron", "--at", "02:30", "--mode", "quick")
    line = out.splitlines()[1]
    assert code == 0 and line.startswith("30 2 * * * cd ")
    assert "run --mode=quick" in line and r"'/tmp/a b/100\%/schedule.log'" in line


@pytest.mark.parametrize("form", ["--cron", "--systemd", "--scrontab"])
def test_a_timer_has_what_modules_and_schedulers_set_and_no_more_of_path(schedule, monkeypatch, tmp_path, form):
    programs = tmp_path / "module" / "bin"
    programs.mkdir(parents=True)
    (programs / "mpirun").write_text("#!/bin/sh\n")
    (programs / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/games:{programs}:{os.environ['PATH']}")
    for name, value in {"LMOD_CMD": "/lmod/lmod", "LD_LIBRARY_PATH": "/mpi/lib", "SLURM_CONF": "/s.conf"}.items():
        monkeypatch.setenv(name, value)
    code, out, _ = schedule(form, "--", "-J", "account=proj")
    assert code == 0 and f"{programs}:" in out and "games" not in out
    assert all(text in out for text in ("LMOD_CMD=/lmod/lmod", "LD_LIBRARY_PATH=/mpi/lib", "SLURM_CONF=/s.conf"))
    assert "-- -J account=proj" in out


def test_whom_a_failure_is_told_is_in_each_form(schedule):
    found = {form: schedule(f"--{form}", "--mail", "ops@example.org")[1] for form in ("cron", "systemd", "scrontab")}
    assert found["cron"].startswith("MAILTO=ops@example.org\n")
    assert "OnFailure=linkmatrix-failed@%n.service" in found["systemd"] and "To: ops@example.org" in found["systemd"]
    assert "#SCRON --mail-type=FAIL\n#SCRON --mail-user=ops@example.org\n" in found["scrontab"]


def test_a_service_runs_as_the_user_who_schedules_it(schedule, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "operator")
    service = schedule("--systemd")[1].partition("# /etc/systemd/system/linkmatrix-nightly.timer")[0]
    assert "\nUser=operator\n" in service


@pytest.mark.parametrize("form", ["--cron", "--systemd", "--scrontab"])
@pytest.mark.parametrize("value", ["/mpi\nUser=root", "/mpi\n", "/mpi\r"])
def test_a_variable_with_a_line_break_is_refused_by_its_name(schedule, monkeypatch, form, value):
    monkeypatch.setenv("LD_LIBRARY_PATH", value)
    code, out, errors = schedule(form)
    assert (code, out, errors.count("\n")) == (2, "", 1) and "LD_LIBRARY_PATH" in errors


def test_a_scrontab_entry_names_its_partition(schedule):
    code, out, _ = schedule("--scrontab", "--partition", "gpu", "--every", "weekly")
    assert code == 0 and "#SCRON --partition=gpu" in out and out.splitlines()[-1].startswith("30 2 * * 1 cd ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--cron", "--at", "25:00"],
        ["--cron", "--system", "a;b"],
        ["--scrontab", "--partition", "a b"],
        ["--cron", "--mail", "a\nb"],
        ["--systemd", "--", "-n", "a\nb"],
        ["--cron", "--", "-n", "x" * 1000],
    ],
)
def test_a_schedule_that_cannot_be_is_one_sentence(schedule, arguments):
    code, out, errors = schedule(*arguments)
    assert (code, out, errors.count("\n")) == (2, "", 1)
