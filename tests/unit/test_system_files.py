"""A mistake in a system file is one sentence, with the file and what may be meant."""

import importlib.util
from pathlib import Path

import pytest
from reframe.core.exceptions import ConfigError

CONFIG = Path(__file__).resolve().parents[2] / "config"


def module_of(file):
    spec = importlib.util.spec_from_file_location(f"of_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        ("system =", "sytem =", " defines no `system`: slurm_example.py is a file to copy"),
        ('"mine",', '"mine"', ", line 1: "),
        ("environments =", "environments = names +", ", line 2: NameError: name 'names' is not defined"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, old, new, said):
    assert old in GOOD
    file = tmp_path / "mine.py"
    file.write_text(GOOD.replace(old, new))
    system_files = module_of(CONFIG / "system_files.py")
    with pytest.raises(ConfigError) as caught:
        module = system_files.read(file, module_of)
        system_files.check(file, module.system, module.environments)
    assert str(caught.value).startswith(f"{file}{said}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", sorted((CONFIG / "systems").glob("*.py")), ids=lambda file: file.stem)
def test_every_shipped_file_has_none(file):
    system_files = module_of(CONFIG / "system_files.py")
    module = system_files.read(file, module_of)
    system_files.check(file, module.system, getattr(module, "environments", []))


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
    assert module_of(CONFIG / "system_files.py").named(words) == name
