"""The name of an adopted table in a system file: `linkmatrix adopt --use`."""

import os
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.site import machine as found_machine
from linkmatrix.site import reference_name, system_files
from linkmatrix.site.machine import Machine

SYSTEMS = Path(__file__).resolve().parents[2] / "config" / "systems"
NODE = Machine("vm", 2, 1, (), None, "local", "mpirun", True)


def detected(folder):
    """The system file that `detect` writes for a node without GPUs."""
    file = folder / "vm.py"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(found_machine.system_file(NODE, "vm", "cpu"))
    return file


def reference(file, number=0):
    return system_files.load_module(file).system["partitions"][number]["extras"].get("reference")


def test_a_file_changed_within_a_second_to_the_same_size_is_read_again(tmp_path):
    file = detected(tmp_path)
    text, time = file.read_text(), file.stat().st_mtime
    assert reference(file) is None
    changed = text.replace('# "reference": "vm",', '"reference": "mine",')
    assert len(changed) == len(text) and changed != text
    file.write_text(changed)
    os.utime(file, (time, time))
    assert reference(file) == "mine"


def test_the_line_of_detect_names_the_table(tmp_path):
    file = detected(tmp_path)
    before = file.read_text().splitlines()
    assert reference(file) is None
    assert reference_name.name_table(file, "cpu", "mine") == ""
    assert reference(file) == "mine"
    changed = [old for old, new in zip(before, file.read_text().splitlines(), strict=True) if old != new]
    assert [line.strip() for line in changed] == ['# "reference": "vm",']


def test_another_table_is_replaced_by_a_person(tmp_path):
    file = detected(tmp_path)
    reference_name.name_table(file, "cpu", "mine")
    before = file.read_text()
    line = next(number for number, text in enumerate(before.splitlines(), 1) if '"reference": "mine"' in text)
    said = reference_name.name_table(file, "cpu", "other")
    assert f"{file}, line {line}:" in said and '"reference": "other",' in said and file.read_text() == before


TWO = """system = {
    "name": "two",
    "partitions": [
        {
            "name": "a",
            "extras": {
                # "reference": "two",
            },
        },
        {
            "name": "b",
            "extras": {
                # "reference": "two",
            },
        },
        {"name": "c"},
        {"name": "d", "extras": {"hops": 1}},
        {
            "name": "e",
            "extras": {
                "hops": 1
                # "reference": "two",
            },
        },
    ],
}
"""


def test_only_the_partition_that_was_measured_is_changed(tmp_path):
    file = tmp_path / "two.py"
    file.write_text(TWO)
    assert reference_name.name_table(file, "b", "mine") == ""
    assert reference(file, 0) is None and reference(file, 1) == "mine"


@pytest.mark.parametrize(("partition", "line"), [("c", 16), ("d", 17), ("e", 20)])
def test_a_file_without_the_line_is_left_and_the_entry_is_printed_with_its_line(tmp_path, partition, line):
    file = tmp_path / "two.py"
    file.write_text(TWO)
    said = reference_name.name_table(file, partition, "mine")
    assert f"{file}, line {line}:" in said and '"reference": "mine",' in said and file.read_text() == TWO


def test_the_shipped_file_of_any_machine_is_not_changed(tmp_path):
    said = reference_name.name_table(SYSTEMS / "generic.py", "default", "mine")
    assert "linkmatrix detect" in said and "linkmatrix adopt --use mine" in said


def test_a_file_of_a_site_replaces_a_shipped_one(tmp_path):
    (tmp_path / "abci.py").write_text('system = {"name": "abci", "partitions": []}')
    assert reference_name.system_file("abci", [SYSTEMS, tmp_path]) == tmp_path / "abci.py"
    with pytest.raises(BadInput, match="nosuch"):
        reference_name.system_file("nosuch", [SYSTEMS])


@pytest.fixture
def site(machine, tmp_path, monkeypatch, capsys):
    """A repository with the system file that `detect` wrote: (that file, adopt(*options) → (exit code, output))."""
    file = detected(tmp_path / "repository" / "config" / "systems")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "reframe").symlink_to(machine.reframe)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    machine.choose("vm", "cpu")

    def adopt(*options):
        code = cli.main(["adopt", *options])
        out = capsys.readouterr()
        return code, out.out + out.err

    return file, adopt


def test_adopt_use_names_the_table_in_the_system_file_of_this_machine(site):
    file, adopt = site
    code, out = adopt("--use", "hgx")
    assert code == 0 and str(file) in out and reference(file) == "hgx"


def test_adopt_use_ends_with_3_if_a_person_must_write_the_name(site):
    file, adopt = site
    file.write_text(file.read_text().replace('# "reference"', "#"))
    code, out = adopt("--use", "hgx")
    assert code == 3 and f"{file}, line" in out and '"reference": "hgx",' in out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--use", "nosuch"], "hgx"),
        (["--use", "hgx", "--write"], "--system"),
        (["--use", ""], "this table does not exist"),
        (["--use", "hgx", "--system", "vm:gpu"], "vm:NAME"),
    ],
)
def test_what_adopt_use_cannot_do_is_one_sentence_and_changes_nothing(site, options, named):
    file, adopt = site
    before = file.read_text()
    code, out = adopt(*options)
    assert code == 2 and named in out and len(out.splitlines()) == 1 and file.read_text() == before


def test_several_partitions_are_listed(site, machine):
    machine.choose("vm", "cpu", "gpu")
    code, out = site[1]("--use", "hgx")
    assert code == 2 and "cpu, gpu" in out and "--system vm:NAME" in out
