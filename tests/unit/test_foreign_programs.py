"""Each program, version and option of the page on other programs is read, and each reader is on the page."""

import json
import re

import pytest
from foreign_programs import PROGRAMS
from foreign_texts import DATA, records

from linkmatrix.foreign import json_texts, scan
from linkmatrix.foreign.scan import read_text


def text_of(program):
    return (DATA / program.data).read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: f"{one.title} {one.versions} {one.options}".strip())
def test_every_row_of_the_page_is_read(program):
    found = {record["imported"]["program"] for record in records(text_of(program))}
    assert program.name in found


def test_the_output_of_a_row_is_what_the_page_says():
    for program in PROGRAMS:
        assert (program.output == "JSON") == program.data.endswith(".json")


def test_every_reader_of_the_sources_has_a_row():
    """A row per module whose readers begin something, and per JSON."""
    modules = {reader.__module__.rpartition(".")[2] for _, reader in scan.FORMATS}
    modules -= {"scan"}
    # the names of programs begin as those of their modules
    of_rows = {
        "p2p_sample": "p2p_bandwidth_latency_test",
        "topo": "nvidia_smi",
        "nvlink": "nvidia_smi",
        "nccl": "nccl_tests",
    }
    of_rows |= {"ucx": "ucx_perftest", "transferbench_nics": "transferbench", "transferbench_rings": "transferbench"}
    names = {program.name for program in PROGRAMS}
    assert {of_rows.get(name, name) for name in modules} <= names
    read = {title for _, title, _ in json_texts.FORMATS}
    assert read <= {re.sub(r":.*", "", program.title) for program in PROGRAMS if program.output == "JSON"}


@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.output == "JSON"], ids=lambda one: one.name)
def test_a_json_on_one_line_is_the_same(program):
    text = text_of(program)
    assert len(read_text(json.dumps(json.loads(text)))) == len(read_text(text))
