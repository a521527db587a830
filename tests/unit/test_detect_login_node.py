"""`linkmatrix detect --scheduler` on a login node: the file it writes for the commands on PATH, and what it refuses."""

import re
import socket

import pytest
from scheduler_answers import ANSWERS, DATA

from linkmatrix import cli
from linkmatrix.site import cluster, gres, grid_engine, node_kinds, slurm, system_files


@pytest.fixture
def login_node(tmp_path, monkeypatch):
    """A function that makes the commands of a scheduler, which print what is recorded, the only ones on PATH."""
    (tmp_path / "config").mkdir()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")

    def install(folder, *commands):
        cases = "\n".join(
            f"{re.sub(r' .[*]| .S[+].', '', pattern).replace(' ', '?')}*) exec /bin/cat {DATA / folder / name} ;;"
            for pattern, name in ANSWERS.items()
            if "\\1" not in name
        )
        for name in commands:
            script = tmp_path / "bin" / name
            script.write_text(f'#!/bin/sh\ncase "{name} $*" in\n{cases}\nesac\nexit 1\n')
            script.chmod(0o755)
        return ["detect", "--config", str(tmp_path / "config"), "--system", "mine"]

    return install


def test_auto_takes_the_scheduler_that_is_here_and_writes_one_file(login_node, tmp_path, capsys):
    command = login_node("slurm", "sinfo", "scontrol", "qstat", "pbsnodes")
    assert cli.main([*command, "--scheduler", "auto"]) == 0
    (file,) = (path for path in (tmp_path / "config").rglob("*") if path.is_file())
    assert file.name == "mine.py"
    assert '"--partition=gpu"' in file.read_text()
    assert file.read_text() in capsys.readouterr().out


def test_one_partition_of_a_cluster(login_node, tmp_path):
    command = login_node("slurm", "sinfo", "scontrol")
    assert cli.main([*command, "--scheduler", "slurm", "--partition", "gpu"]) == 0
    text = (tmp_path / "config" / "systems" / "mine.py").read_text()
    assert "--partition=gpu" in text and "--partition=cpu" not in text


def test_a_system_file_that_is_there_is_left_as_it_is(login_node, tmp_path, linkmatrix):
    command = [*login_node("slurm", "sinfo", "scontrol"), "--scheduler", "slurm"]
    mine = tmp_path / "config" / "systems" / "mine.py"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert "--force" in linkmatrix.err(*command)
    assert mine.read_text() == "mine"
    assert cli.main([*command, "--force"]) == 0
    assert mine.read_text() != "mine"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scheduler", "pbs"], "--scheduler pbs needs qstat and pbsnodes, which PATH does not contain"),
        (["--scheduler", "sge"], "--scheduler sge needs qconf and qhost, which PATH does not contain"),
        (["--scheduler", "slurm", "--partition", "x"], "'x' is not a partition of this cluster (there are: cpu, gpu)"),
    ],
)
def test_what_is_not_there_is_one_sentence(login_node, tmp_path, linkmatrix, options, sentence):
    said = linkmatrix.err(*login_node("slurm", "sinfo", "scontrol"), *options)
    assert sentence in said and said.count("\n") == 1
    assert list((tmp_path / "config").iterdir()) == []


def test_a_scheduler_that_fails_is_quoted_and_nothing_is_written(login_node, tmp_path, linkmatrix):
    command = login_node("slurm", "sinfo", "scontrol")
    (tmp_path / "bin" / "sinfo").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    assert "Unable to contact slurm controller" in linkmatrix.err(*command, "--scheduler", "auto", code=4)
    assert list((tmp_path / "config").iterdir()) == []


def test_auto_goes_on_to_the_next_scheduler_and_says_so(login_node, tmp_path, capsys):
    command = login_node("openpbs", "qstat", "pbsnodes", "sinfo", "scontrol")
    for name in ("sinfo", "scontrol"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    assert cli.main([*command, "--scheduler", "auto"]) == 0
    assert '"scheduler": "pbs"' in (tmp_path / "config" / "systems" / "mine.py").read_text()
    said = capsys.readouterr().out
    assert "Unable to contact slurm controller" in said and "asking pbs" in said


MODULES = {"LOADEDMODULES": "gcc/13:openmpi/5", "LMOD_CMD": "", "MODULES_CMD": ""}


@pytest.mark.parametrize(("variable", "system"), [("LMOD_CMD", "lmod"), ("MODULES_CMD", "envmod")])
def test_the_loaded_modules_are_in_the_system_file(login_node, tmp_path, monkeypatch, variable, system):
    for name, value in {**MODULES, variable: "/modules"}.items():
        monkeypatch.setenv(name, value)
    assert cli.main([*login_node("slurm", "sinfo", "scontrol"), "--scheduler", "slurm"]) == 0
    written, environments = system_files.load(tmp_path / "config" / "systems" / "mine.py", tmp_path)
    assert written["modules_system"] == system
    assert [one["modules"] for one in environments] == [["gcc/13", "openmpi/5"]]


def test_without_modules_that_reframe_can_load_the_system_file_has_none(login_node, tmp_path, monkeypatch):
    for name, value in MODULES.items():  # Environment Modules 3 sets no command
        monkeypatch.setenv(name, value)
    assert cli.main([*login_node("slurm", "sinfo", "scontrol"), "--scheduler", "slurm"]) == 0
    written, environments = system_files.load(tmp_path / "config" / "systems" / "mine.py", tmp_path)
    assert "modules_system" not in written and "modules" not in environments[0]


@pytest.mark.parametrize(
    ("host", "same", "other"),
    [
        ("login1", "login12", "gateway1"),
        ("login1.cluster.example", "login2.cluster.example", "login2.other.example"),
        ("front", "front", "node1"),
    ],
)
def test_a_system_file_is_of_all_login_nodes_that_are_numbered_alike(
    login_node, tmp_path, monkeypatch, host, same, other
):
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    assert cli.main([*login_node("slurm", "sinfo", "scontrol"), "--scheduler", "slurm"]) == 0
    (pattern,) = system_files.load(tmp_path / "config" / "systems" / "mine.py", tmp_path)[0]["hostnames"]
    assert re.match(pattern, same) and re.match(pattern, host) and not re.match(pattern, other)


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000])
def test_a_number_that_no_cluster_has_is_no_number(number):
    assert cluster.number(number) == 0 and cluster.number("12.5") == 12
    assert cluster.minutes(f"{number}-00:00:00") is None and cluster.minutes(f"{number}:00") is None
    assert gres.gpus_in(f"gpu:h200:{number}").count <= 1
    assert node_kinds.compressed([f"n{number}", "n01"]) == f"n{number},n01"


def test_a_queue_that_is_listed_twice_is_one_partition(tmp_path):
    line = "PartitionName=gpu State=UP MaxTime=1-00:00:00"
    answers = {"sinfo": "gpu|2|idle|4|(null)|(null)\n", "scontrol show partition": f"{line}\n{line}\n"}
    answers |= {"qhost": "n1   lx-amd64   64  1 2\n   all.q   BIP   0/0/64   \n", "qconf -sql": "all.q\nall.q\n"}

    def answer(command):
        return next((text for start, text in answers.items() if " ".join(command).startswith(start)), "")

    assert len(slurm.slurm(answer).partitions) == len(grid_engine.grid_engine(answer).partitions) == 1
