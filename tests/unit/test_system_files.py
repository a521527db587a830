"""A mistake in a system file is one sentence, with the file and what may be meant."""

import os
import socket
from contextlib import nullcontext
from pathlib import Path

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.site import login_node, system_files

CONFIG = Path(__file__).resolve().parents[2] / "config"

PARTITION = '{"name": "gpu", "scheduler": "slurm", "launcher": "srun", "environs": ["gnu"]}'
GOOD = (
    f'system = {{"name": "mine", "hostnames": ["x"], "partitions": [{PARTITION}]}}\n'
    'environments = [{"name": "gnu"}]\n'
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '"launcher"',
            '"launchr"',
            ": system 'mine', partition 'gpu': the key 'launchr' is unknown; is 'launcher' meant?",
        ),
        ('"launcher": "srun",', "", ": system 'mine', partition 'gpu': 'launcher' is a required property"),
        ('"name": "gpu",', "", ": system 'mine', partition 1: 'name' is a required property"),
        (
            '"environs": ["gnu"]',
            '"environs": "gnu"',
            ": system 'mine', partition 'gpu', environs: 'gnu' is not of type",
        ),
        ('{"name": "gnu"}', '{"nam": "gnu"}', ": environment 1: the key 'nam' is unknown; is 'name' meant?"),
        ("system =", "sytem =", " defines no `system`: copy slurm_example.py"),
        ('"mine",', '"mine"', ", line 1: "),
        ("environments =", "environments = names +", ", line 2: NameError: name 'names' is not defined"),
        ("environments =", "raise SystemExit(0) #", ", line 2: SystemExit: 0"),  # else ReFrame would end like a PASS
        ("environments =", "raise OSError('a\\n\\x1b[31mb') #", ", line 2: OSError: a [31mb"),
        ("environments =", "\0", ": source code string cannot contain null bytes"),
        (
            '"name": "mine"',
            '"name": "mine", 1: 2',
            ": system 'mine': the key '1' is unknown",
        ),
        ('"environs"', '2: 3, "environs"', ": system 'mine', partition 'gpu': the key '2' is unknown"),
        (
            '"x"',
            '"("',
            ": system 'mine', hostnames: '(' is not a regular expression: missing ), unterminated subpattern",
        ),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, old, new, said):
    assert old in GOOD
    file = tmp_path / "mine.py"
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(BadInput) as caught:
        system_files.load(file, tmp_path)
    assert str(caught.value).startswith(f"{file}{said}")
    assert "\n" not in str(caught.value)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "mine.py")
    with pytest.raises(BadInput, match="not a regular file"):
        system_files.load(tmp_path / "mine.py", tmp_path)


@pytest.mark.parametrize("file", sorted((CONFIG / "systems").glob("*.py")), ids=lambda file: file.stem)
def test_every_shipped_file_has_none(file, tmp_path):
    system, _ = system_files.load(file, tmp_path)
    assert system["partitions"]


@pytest.mark.parametrize(
    ("words", "variable", "name"),
    [
        (["-r", "--system=mine:gpu", "-l"], "other", "mine:gpu"),
        (["--system", "mine"], None, "mine"),
        (["--system=a", "--system=b"], None, "b"),
        (["-r"], "mine:gpu", "mine:gpu"),
        (["--system"], None, ""),
        (["-n", "system", "--systems=mine"], None, ""),
    ],
)
def test_the_system_that_is_named_is_known_before_the_files_are_read(monkeypatch, words, variable, name):
    monkeypatch.delenv("RFM_SYSTEM", raising=False)
    if variable:
        monkeypatch.setenv("RFM_SYSTEM", variable)
    assert system_files.system_option(words) == name


def test_a_later_folder_replaces_a_file_and_generic_comes_last_or_not_at_all(tmp_path):
    folders = [tmp_path / "shipped", tmp_path / "site"]
    for folder, names in zip(folders, (("generic", "mine", "zebra"), ("mine",)), strict=True):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.py").write_text(GOOD.replace('"mine"', f'"{folder.name}-{name}"'))
    assert [one["name"] for one in system_files.load_all(folders, tmp_path, [])[0]] == [
        *("site-mine", "shipped-zebra", "shipped-generic")
    ]
    systems, environments = system_files.load_all(folders, tmp_path, ["--system=shipped-zebra"])
    assert [one["name"] for one in systems] == ["site-mine", "shipped-zebra"]
    assert environments[0] == {"target_systems": ["site-mine"], "name": "gnu"}
    assert systems[0]["prefix"] == str(tmp_path)


def test_the_deprecated_name_of_a_modules_system_is_replaced(tmp_path):
    """ReFrame warns of tmod4, and a warning ends `linkmatrix run` with a traceback."""
    file = tmp_path / "mine.py"
    file.write_text(GOOD.replace('"name": "mine"', '"name": "mine", "modules_system": "tmod4"'))
    assert system_files.load(file, tmp_path)[0]["modules_system"] == "envmod"


LOGIN = '{"name": "login", "scheduler": "local", "launcher": "local", "environs": ["gnu"]}'


@pytest.mark.parametrize(
    ("words", "partitions"),
    [
        ([], ["gpu"]),
        (["--system=mine"], ["gpu"]),
        (["--system=mine:gpu"], ["gpu"]),
        (["--system=mine:login"], ["login", "gpu"]),
    ],
)
def test_a_local_partition_of_a_cluster_is_measured_only_by_its_name(tmp_path, words, partitions):
    (tmp_path / "mine.py").write_text(GOOD.replace('"partitions": [', f'"partitions": [{LOGIN}, '))
    (system,), _ = system_files.load_all([tmp_path], tmp_path, words)
    assert [one["name"] for one in system["partitions"]] == partitions


def test_a_system_without_a_scheduler_keeps_its_partitions(tmp_path):
    (tmp_path / "mine.py").write_text(GOOD.replace(PARTITION, LOGIN))
    (system,), _ = system_files.load_all([tmp_path], tmp_path, [])
    assert [one["name"] for one in system["partitions"]] == ["login"]


@pytest.mark.parametrize(
    ("host", "words", "refused"),
    [
        ("login2", [], True),
        ("login2", ["--system=generic"], False),
        ("x", [], False),  # the system file has this name
        ("node1", [], False),  # a node of the cluster
    ],
)
def test_a_login_node_without_a_system_file_is_not_measured(tmp_path, monkeypatch, host, words, refused):
    for name in ("generic", "mine"):
        (tmp_path / f"{name}.py").write_text(GOOD.replace('"mine"', f'"{name}"'))
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    monkeypatch.setattr(login_node.shutil, "which", {"sinfo": "/bin/sinfo"}.get)
    monkeypatch.setattr(login_node.machine, "answer", lambda *_: "node1\nnode2\n")
    for name in ("RFM_SYSTEM", *login_node.JOB_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BadInput, match="login2 is a login node of Slurm") if refused else nullcontext():
        system_files.load_all([tmp_path], tmp_path, words)
