"""The systems that --system may name, as their files have them."""

import os
from pathlib import Path

import pytest

from linkmatrix.site import known_systems

SYSTEMS = Path(__file__).resolve().parents[2] / "config" / "systems"


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ("hgx_h200", "is 'hgx-h200' meant?"),
        ("nosuch", "slurm-example"),
        ("slurm-example:gpus", "is 'gpu' meant?"),
        ("slurm-example:nosuch", "name one of cpu, gpu"),
    ],
)
def test_an_unknown_system_or_partition_is_answered_with_the_known_ones(wanted, named):
    assert named in known_systems.unknown_name_error(wanted, [SYSTEMS])


@pytest.mark.parametrize("wanted", ["slurm-example", "slurm-example:gpu", "this-machine", "abci:any"])
def test_a_known_system_and_partitions_that_a_file_computes_are_not_refused(wanted):
    assert known_systems.unknown_name_error(wanted, [SYSTEMS]) == ""


@pytest.mark.parametrize("text", ["system = made()", "system = {'name': NAME}", "import nothing", "system ="])
def test_a_file_that_is_no_literal_leaves_the_answer_to_reframe(tmp_path, text):
    (tmp_path / "mine.py").write_text(text)
    assert known_systems.unknown_name_error("nosuch", [SYSTEMS, tmp_path]) == ""


def test_a_pipe_in_place_of_a_system_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "mine.py")
    assert known_systems.unknown_name_error("nosuch", [SYSTEMS, tmp_path]) == ""


def test_a_site_adds_systems_and_replaces_shipped_files(tmp_path):
    (tmp_path / "mine.py").write_text('system = {"name": "mine", "partitions": [{"name": "a"}]}')
    (tmp_path / "abci.py").write_text('system = {"name": "other", "partitions": [{"name": "a"}]}')
    assert known_systems.unknown_name_error("mine:a", [SYSTEMS, tmp_path]) == ""
    assert known_systems.unknown_name_error("abci", [SYSTEMS, tmp_path]) != ""
