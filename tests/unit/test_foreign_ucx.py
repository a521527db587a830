"""ucx_perftest: what its client prints, with the command that says which test it was."""

import pytest
from foreign_texts import FOREIGN

from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text

TEXT = FOREIGN["ucx_tag_bw.txt"]
COMMAND, _, PRINTED = TEXT.partition("\n")


def only(text):
    (run,) = read_text(text)
    (table,) = run.tables
    return table


def test_a_bandwidth_is_that_over_all_in_units_of_a_million_bytes():
    table = only(TEXT)
    assert (table.testcase, table.size_bytes, table.unit, table.quantity) == (
        "ucx_tag_bw",
        1 << 20,
        "GB/s",
        "bandwidth",
    )
    assert table.cells == {("fab1", "peer"): pytest.approx(278.40 * 1.048576e-3)}
    assert (table.engine, table.transport, table.memory) == ("ucx", "tcp", "host")


def test_a_latency_is_its_median():
    text = TEXT.replace("overhead (usec)", "latency (usec) ").replace("tag_bw -s 1048576", "tag_lat -s 1048576")
    table = only(text)
    assert (table.testcase, table.unit, table.metric) == ("ucx_tag_lat", "us", "latency")
    assert table.cells == {("fab1", "peer"): 0.491}


def test_without_its_variables_neither_device_nor_transport_are_known():
    table = only(TEXT.replace("UCX_NET_DEVICES=fab1 UCX_TLS=tcp ", ""))
    assert (table.rows, table.transport) == (("nic",), "auto")


@pytest.mark.parametrize(
    "spoilt",
    [
        PRINTED,  # without its command nobody knows the test
        TEXT.replace("-t tag_bw", "-t tag_lat"),
        TEXT.replace("-s 1048576", "-s 4096"),
        TEXT.replace(" 3591.961 ", " 2591.961 "),
        TEXT.replace("     278.40 ", "     178.40 "),
        TEXT.replace("Final: ", "Last:  "),
        TEXT.rstrip("\n"),
    ],
)
def test_a_table_that_says_too_little_or_contradicts_itself_is_left_out(spoilt):
    assert spoilt != TEXT
    with pytest.raises(BadInput, match="it contains no (valid )?table of "):
        read_text(spoilt)
