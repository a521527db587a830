"""`ignored_processes` of a partition's extras: what programs are told, and what is refused in a sentence."""

import importlib
from types import SimpleNamespace

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.site import ignored_processes, system_files

WRONG = ["dcgm:root", ["dcgm"], ["dcgm:"], [":root"], ["a:b:c d"], [["dcgm", "root"]], {"dcgm": "root"}, ["a,b:c"], 5]


@pytest.mark.parametrize("given", [[], ["nv-hostengine:root", "node_exporter:*"], ["*:*"], ("a:b:c",)])
def test_executable_and_user_are_taken_as_they_are(given):
    assert ignored_processes.of_extras({"ignored_processes": given}) == list(given)


@pytest.mark.parametrize("given", WRONG)
def test_anything_else_is_refused_with_what_to_write(given):
    with pytest.raises(BadInput, match=r"give a list of 'NAME:USER'"):
        ignored_processes.of_extras({"ignored_processes": given})


def test_the_file_of_a_system_is_refused_with_the_partition(tmp_path):
    system = importlib.import_module("copy").deepcopy(SYSTEM)
    system_files.validate(tmp_path / "alpha.py", system, [])
    system["partitions"][0]["extras"] = {"ignored_processes": "dcgm:root"}
    with pytest.raises(BadInput, match="alpha.py: partition 'gpu': .*ignored_processes"):
        system_files.validate(tmp_path / "alpha.py", system, [])


SYSTEM = {
    "name": "alpha",
    "hostnames": ["alpha"],
    "partitions": [{"name": "gpu", "scheduler": "local", "launcher": "local", "environs": ["default"]}],
}


@pytest.mark.parametrize(
    ("program", "ignored", "options"),
    [
        ("p2p_matrix", ["nv-hostengine:root", "*:monitor"], ("--ignore-processes", "'nv-hostengine:root,*:monitor'")),
        ("p2p_matrix", [], ()),
        ("peer", ["nv-hostengine:root"], ()),
    ],
)
def test_a_program_of_ours_is_told_them(program, ignored, options):
    check = importlib.import_module("linkmatrix_checks.p2p").p2p_matrix_run
    assert check.ignore_opts(SimpleNamespace(program=program, ignored=ignored)) == options
