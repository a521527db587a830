"""`linkmatrix schedule`: lines and units that cron, systemd and Slurm take as they are."""

import getpass
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_programs import fake_program

from linkmatrix import cli
from linkmatrix.site import environment, machine


@pytest.fixture
def schedule(capsys, tmp_path, monkeypatch):
    def run(*arguments):
        code = cli.main(["schedule", *arguments])
        return code, *capsys.readouterr()

    return run


#: partition: (nodes, MaxTime, state)
PARTITIONS = {
    "gpu": ("g1 g2", "1-00:00:00", "UP"),
    "all": ("g1 g2 c1", "UNLIMITED", "UP"),
    "shut": ("s1", "UNLIMITED", "DOWN"),
    "short": ("c1", "01:00:00", "UP"),
    "service": ("c1", "12:00:00", "UP"),
}


@pytest.fixture
def slurm(monkeypatch):
    """A function that plays Slurm and ReFrame: {partition: (nodes, MaxTime, state)}. ReFrame measures "gpu"."""
    monkeypatch.setattr(environment, "program", lambda name: f"/opt/{name}" if name == "reframe" else None)

    def play(partitions=PARTITIONS, accounts=""):
        def answer(command):
            line = " ".join(command)
            if "--show-config=systems/0" in line:
                gpu = {"name": "gpu", "scheduler": "linkmatrix_slurm", "access": ["--partition=gpu"]}
                login = {"name": "login", "scheduler": "local"}
                return json.dumps({"name": "mycluster", "partitions": [gpu, login]})
            if "scontrol show config" in line:
                return "AccountingStorageType = accounting_storage/slurmdbd\nMpiDefault = pmix\n"
            if "scontrol show partition" in line:
                said = "PartitionName={} Nodes=x State={} MaxTime={}\n"
                return "".join(said.format(name, state, time) for name, (_, time, state) in partitions.items())
            if "sacctmgr" in line:
                return accounts if "assoc" in line else ""
            rows = [(name, node) for name, (nodes, _, _) in partitions.items() for node in nodes.split()]
            each = "{0}|{1}|idle|none\n" if " -N " in line else "{0}|1|idle|4|(null)|(null)\n"
            return "".join(each.format(name, node) for name, node in rows)

        monkeypatch.setattr(machine, "answer", answer)

    play()
    return play


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
def test_a_timer_has_what_modules_and_schedulers_set_and_no_more_of_path(schedule, slurm, monkeypatch, tmp_path, form):
    monkeypatch.undo()
    slurm()
    programs = tmp_path / "module" / "bin"
    fake_program(programs / "mpirun")
    monkeypatch.setenv("PATH", f"{tmp_path}/games:{programs}:{os.environ['PATH']}")
    variables = {"LMOD_CMD": "/lmod/lmod", "LD_LIBRARY_PATH": "/mpi/lib", "SLURM_CONF": "/s.conf"}
    variables["SLURM_MPI_TYPE"] = "pmix"
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code, out, _ = schedule(form, "--", "-J", "account=proj")
    assert code == 0 and f"{programs}:" in out and "games" not in out
    assert all(f"{name}={value}" in out for name, value in variables.items())
    assert "-- -J account=proj" in out


def test_whom_a_failure_is_told_is_in_each_form(schedule, slurm):
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
def test_a_variable_with_a_line_break_is_refused_by_its_name(schedule, slurm, monkeypatch, form, value):
    monkeypatch.setenv("LD_LIBRARY_PATH", value)
    code, out, errors = schedule(form)
    assert (code, out, errors.count("\n")) == (2, "", 1) and "LD_LIBRARY_PATH" in errors


def test_a_scrontab_entry_names_its_partition(schedule, slurm):
    code, out, _ = schedule("--scrontab", "--partition", "short", "--every", "weekly")
    assert code == 0 and "#SCRON --partition=short" in out and out.splitlines()[-1].startswith("30 2 * * 1 cd ")


@pytest.mark.parametrize(
    ("options", "changes", "partition", "limit", "hours"),
    [
        ([], {}, "service", 720, "11.52"),
        (["--partition", "short"], {}, "short", 60, "0.96"),
        ([], {"service": ("c1", "UNLIMITED", "UP")}, "service", 1500, "24.00"),
        ([], {"service": ("g1", "UNLIMITED", "UP")}, "short", 60, "0.96"),
    ],
)
def test_a_scrontab_entry_fits_a_partition_whose_nodes_are_not_measured(
    schedule, slurm, options, changes, partition, limit, hours
):
    slurm(PARTITIONS | changes)
    code, out, _ = schedule("--scrontab", *options)
    assert code == 0 and f"#SCRON --partition={partition}\n" in out and f"#SCRON --time={limit}\n" in out
    line = out.splitlines()[-1]
    assert f"--timeout={hours}" in line and "--system=mycluster" in line, "compute nodes have no system of their own"


def test_a_scrontab_entry_has_the_only_account_of_its_user(schedule, slurm):
    slurm(accounts="project|||\n")
    assert "#SCRON --account=project\n" in schedule("--scrontab")[1]


@pytest.mark.parametrize(
    ("options", "partitions", "words"),
    [
        (["--partition", "all"], PARTITIONS, "g1, g2"),
        (["--partition", "gpu"], PARTITIONS, "g1, g2"),
        (["--partition", "shut"], PARTITIONS, "its state is DOWN"),
        (["--partition", "nope"], PARTITIONS, "gpu, all, shut, short, service"),
        ([], {"gpu": PARTITIONS["gpu"], "all": PARTITIONS["all"]}, "--cron or --systemd"),
    ],
)
def test_a_scrontab_entry_never_holds_a_core_of_a_measured_node(schedule, slurm, options, partitions, words):
    slurm(partitions)
    code, out, errors = schedule("--scrontab", *options)
    assert (code, out, errors.count("\n")) == (2, "", 1) and words in errors


def test_a_scrontab_entry_without_slurm_or_reframe_is_one_sentence(schedule, monkeypatch):
    monkeypatch.setattr(environment, "program", lambda name: None)
    code, out, errors = schedule("--scrontab")
    assert (code, out, errors.count("\n")) == (2, "", 1) and "reframe" in errors


@pytest.mark.parametrize(("every", "times"), [("daily", "--scheduled=23:05"), ("weekly", "'--scheduled=Mon 23:05'")])
def test_each_form_tells_the_run_its_times(schedule, slurm, every, times):
    for form in ("--cron", "--scrontab"):
        assert times in schedule(form, "--at", "23:05", "--every", every)[1]
    assert times.strip("'") in schedule("--systemd", "--at", "23:05", "--every", every)[1]


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
