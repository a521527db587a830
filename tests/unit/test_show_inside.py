"""What goes between devices, as a share of a copy inside one: beside each matrix that has both."""

import io
import re

import pytest
from foreign_texts import DOCUMENTS, FOREIGN, records

from linkmatrix.show import terminal
from linkmatrix.show.analysis import Analysis


@pytest.fixture
def said(judged_run):
    """{test case: the lines on its share of the copy inside a device} of the record with the most test cases."""

    def of(text):
        record = max(records(text), key=lambda one: len(one["results"]))
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        terminal.show(Analysis(*judged_run(record)), file=stream, width=200)
        stream.flush()
        found, case = {}, None
        for line in stream.buffer.getvalue().decode().splitlines():
            head = re.match(r" \S NOT JUDGED   (\w+)$", line)
            case = head[1] if head else case
            if "of the copy inside a device" in line:
                found.setdefault(case, []).append(line)
        return found

    return of


def test_a_document_s_copies_between_gpus_are_shown_as_its_share_of_the_memory_s_bandwidth(said):
    found = said(DOCUMENTS["004"])
    name = "device_to_device_bidirectional_memcpy_write_ce"
    # "22.7 % of self bandwidth", whose bytes are counted twice there, and "roughly 1.3 %" without peer access
    assert found[name] == [
        "NV8: 45.7 % of the copy inside a device, 22.8 % of the bytes that it reads and writes",
    ]
    assert found[f"{name}_peer_off"] == [
        "NV8: 2.6 % of the copy inside a device, 1.3 % of the bytes that it reads and writes",
    ]
    # a latency has no such share
    assert not any("latency" in case for case in found)


def test_copies_with_host_memory_and_between_network_adapters_have_no_such_share(said):
    assert list(said(FOREIGN["transferbench_p2p_mi300x.txt"])) == ["device_to_device_memcpy_write_sm"]
    assert said(FOREIGN["transferbench_nicp2p_mi350x.txt"]) == {}


def test_a_matrix_without_the_copy_inside_a_device_has_no_such_share(said):
    assert said(FOREIGN["transferbench_a2a_mi300x.txt"]) == {}
