"""Which host is a login node: a scheduler answers there, and the host is none of its nodes."""

import shutil
import socket

import pytest
from scheduler_answers import DATA

from linkmatrix.site import login_node


@pytest.fixture
def on(monkeypatch):
    """A function that gives this host a name, and commands with their answers; None: the command fails."""

    def install(host, **answers):
        def answer(command, seconds):
            if answers[command[0]] is None:
                raise OSError(f"{command[0]} failed")
            return answers[command[0]]

        for name in login_node.JOB_VARIABLES:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(socket, "gethostname", lambda: host)
        monkeypatch.setattr(shutil, "which", lambda name: name if name in answers else None)
        monkeypatch.setattr(login_node.machine, "answer", answer)
        return login_node.scheduler_of_login_node()

    return install


PBS = (DATA / "pbs" / "nodes.txt").read_text()


@pytest.mark.parametrize(
    ("host", "answers", "scheduler"),
    [
        ("login2.example", {"sinfo": "n1\nn2\n"}, "Slurm"),
        ("n2.example", {"sinfo": "n1\nn2\n"}, ""),
        ("login2", {"qconf": "n1.example\n"}, "Grid Engine"),
        ("n1", {"qconf": "n1.example\n"}, ""),
        ("login2", {"pbsnodes": PBS}, "PBS"),
        ("g1", {"pbsnodes": PBS}, ""),
        ("c2.example", {"pbsnodes": PBS}, ""),
        ("login2", {"sinfo": None, "pbsnodes": PBS}, "PBS"),
        ("login2", {"sinfo": None}, ""),
        ("login2", {"sinfo": ""}, ""),
        ("login2", {}, ""),
    ],
)
def test_a_host_that_is_no_node_of_its_scheduler_is_a_login_node(on, host, answers, scheduler):
    assert on(host, **answers) == scheduler


def test_a_job_is_on_a_node_whatever_its_name_is(on, monkeypatch):
    assert on("other", sinfo="n1\n") == "Slurm"
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    assert login_node.scheduler_of_login_node() == ""


def test_the_shell_of_salloc_on_a_login_node_is_on_no_node(on, monkeypatch):
    """salloc starts its shell on the login node unless LaunchParameters has use_interactive_step."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert on("login2", sinfo="n1\n") == "Slurm"
