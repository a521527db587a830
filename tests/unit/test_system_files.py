"""A mistake in a system file is one sentence, with the file and what may be meant."""

from pathlib import Path

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.site import system_files

CONFIG = Path(__file__).resolve().parents[2] / "config"

PARTITION = '{"name": "gpu", "scheduler": "slurm", "launcher": "srun", "environs": ["gnu"]}'
GOOD = (
    f'system = {{"name": "mine", "hostnames": ["x"], "partitions": [{PARTITION}]}}\n'
    'environments = [{"name": "gnu"}]\n'
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"launcher"', '"launchr"', ": system 'mine', partition 'gpu': there is no 'launchr'; is 'launcher' meant?"),
        ('"launcher": "srun",', "", ": system 'mine', partition 'gpu': 'launcher' is a required property"),
        ('"name": "gpu",', "", ": system 'mine', partition 1: 'name' is a required property"),
        (
            '"environs": ["gnu"]',
            '"environs": "gnu"',
            ": system 'mine', partition 'gpu', environs: 'gnu' is not of type",
        ),
        ('{"name": "gnu"}', '{"nam": "gnu"}', ": environment 1: there is no 'nam'; is 'name' meant?"),
        ("system =", "sytem =", " defines no `system`: copy slurm_example.py"),
        ('"mine",', '"mine"', ", line 1: "),
        ("environments =", "environments = names +", ", line 2: NameError: name 'names' is not defined"),
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


@pytest.mark.parametrize("file", sorted((CONFIG / "systems").glob("*.py")), ids=lambda file: file.stem)
def test_every_shipped_file_has_none(file, tmp_path):
    system, _ = system_files.load(file, tmp_path)
    assert system["partitions"]


@pytest.mark.parametrize(
    ("words", "variable", "name"),
    [
        (["-r", "--system=mine:gpu", "-l"], "other", "mine"),
        (["--system", "mine"], None, "mine"),
        (["--system=a", "--system=b"], None, "b"),
        (["-r"], "mine:gpu", "mine"),
        (["--system"], None, ""),
        (["-n", "system", "--systems=mine"], None, ""),
    ],
)
def test_the_system_that_is_named_is_known_before_the_files_are_read(monkeypatch, words, variable, name):
    monkeypatch.delenv("RFM_SYSTEM", raising=False)
    if variable:
        monkeypatch.setenv("RFM_SYSTEM", variable)
    assert system_files.named_system(words) == name


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
