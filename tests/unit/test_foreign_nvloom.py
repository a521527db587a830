"""nvloom: which axis is the source, what is which test case, and what is left out with a sentence."""

import pytest
from foreign_texts import FOREIGN, cell, records, result

from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text

TEXT = FOREIGN["nvloom_v1.3_layout.txt"]
WRITE, BOTH = "device_to_device_memcpy_write_ce", "device_to_device_bidirectional_memcpy_write_ce"
HEAD = TEXT[: TEXT.index("Running ")]


def block(name):
    """A test case of the text, from its line `Running NAME` to the next one."""
    return TEXT[TEXT.index(f"Running {name}\n") :].partition("\nDone ")[0] + "\n"


def printed(name, row, column):
    """What stands in a row and a column of a table, both counted from 0."""
    return float(block(name).splitlines()[2 + row].split()[1 + column])


def test_columns_are_the_sources_of_copies_between_gpus():
    found = result(TEXT, WRITE)
    assert cell(found, "gb200-01:gpu1", "gb200-02:gpu0") == printed("device_to_device_unidir_write_ce", 4, 1)
    assert (found["direction"], found["engine"], found["size_bytes"]) == ("write", "ce", 512 << 20)
    assert found["values"][3][3] is None and found["status"][3][3] == "not-applicable"
    assert result(TEXT, BOTH)["quantity"] == "sum of both directions"


def test_rows_are_the_sources_of_copies_from_gpus_to_racks():
    found = result(TEXT, "nvloom_gpu_to_rack_device_to_device_unidir_write_ce")
    name = "gpu_to_rack_device_to_device_unidir_write_ce"
    assert cell(found, "gb200-02:gpu3", "rack1820225130121") == printed(name, 7, 0)
    racks = result(TEXT, "nvloom_rack_to_rack_bidir_device_to_device_write_ce")
    assert racks["rows"] == racks["columns"] == found["columns"]


def test_a_latency_is_in_microseconds_from_the_memory_to_the_gpu_that_loads():
    found = result(TEXT, "nvloom_latency_device")
    of_row_5_column_2 = printed("latency_device", 5, 2) / 1000
    assert cell(found, "gb200-01:gpu2", "gb200-02:gpu1") == pytest.approx(of_row_5_column_2)
    assert (found["unit"], found["direction"], found["size_bytes"]) == ("us", "read", None)


def test_of_all_at_once_each_gpu_has_a_column():
    found = result(TEXT, "nvloom_bisect_device_to_device_write_sm")
    assert found["rows"] == ["all"] and found["engine"] == "sm"
    assert cell(found, "all", "gb200-02:gpu0") == printed("bisect_device_to_device_write_sm", 4, 0)


def test_a_record_has_the_processes_as_devices_with_their_nodes():
    (record, of_racks) = records(TEXT)
    assert record["result"] == of_racks["result"] == "PASS" and record["imported"]["program"] == "nvloom"
    assert record["devices"] == of_racks["devices"] and len(record["devices"]) == 8
    assert (record["devices"][6]["label"], record["devices"][6]["node"]) == ("gb200-02:gpu2", "gb200-02")
    assert record["devices"][6]["name"] == "NVIDIA GB200" and record["software"]["nvloom"] == "1.3.0"


def test_a_test_case_that_was_repeated_is_a_record_each_of_the_same_processes():
    once = block("device_to_device_unidir_write_ce")
    again = "".join(once.replace("unidir_write_ce\n", f"unidir_write_ce_iter_{n}\n", 1) + "\n" for n in range(2))
    both = records(HEAD + again)
    assert [[one["testcase"] for one in record["results"]] for record in both] == [[WRITE], [WRITE]]
    assert both[0]["devices"] == both[1]["devices"] and both[1]["software"]["nvloom"] == "1.3.0"


def test_what_runs_on_one_node_has_the_names_that_gpus_have_there():
    found = result(TEXT.replace("gb200-02): device ", "gb200-01): device 1"), WRITE)
    assert found["rows"] == [f"gpu{number}" for number in (0, 1, 2, 3, 10, 11, 12, 13)]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Buffer size: 512 MiB\n", "", "the line 'Buffer size: … MiB' above it is missing"),
        ("Process 3 ", "Process 4 ", "the list of processes above it"),
        ("device 1: ", "device 0: ", "the list of processes above it"),
        ("Process 7 ", "# ", "its columns are not the gpus of the listed processes"),
        ("\t0\t1\t2\t3\t4\t5\t6\t7\t\n", "\t0\t1\t2\t3\t4\t5\t6\t\n", "its columns are not the gpus of the listed"),
        ("\n2\t", "\n2\t1.00\t", "row 2 does not fit its 8 columns"),
        (f"Total {WRITE[:17]}unidir", "Total x", "'Total x_write_ce "),
        (
            "Min device_to_device_unidir_write_ce 7",
            "Min device_to_device_unidir_write_ce 8",
            "contradicts the cells above it",
        ),
    ],
)
def test_a_table_that_says_too_little_or_contradicts_itself_is_left_out_with_a_sentence(old, new, why):
    text = HEAD + block("device_to_device_unidir_write_ce")
    assert records(text)[0]["result"] == "PASS"
    head = HEAD.replace(old, new)
    spoilt = head + text[len(HEAD) :].replace(old, new)
    assert spoilt != text
    with pytest.raises(BadInput, match=r"device_to_device_unidir_write_ce of nvloom is ignored: ") as refused:
        read_text(spoilt)
    assert why in str(refused.value)


def test_a_table_that_is_left_out_makes_the_record_of_the_others_an_error():
    (record, *_) = records(TEXT.replace("\n3\tN/A", "\n3\t", 1).replace("\n5\t779.57", "\n5\t", 1))
    assert (
        record["result"] == "ERROR" and "all_to_one_device_to_device_write_ce of nvloom is ignored" in record["error"]
    )
    assert WRITE in [one["testcase"] for one in record["results"]]


def test_the_detailed_output_of_samples_is_left_out():
    name = "gpu_to_rack_device_to_device_unidir_write_ce"
    rows = "\n".join(f"{number}\t770.00;({number}-1)\t771.00;({number}-5)\t" for number in range(8))
    text = f"{HEAD}Running {name}\n\t1820225130121-0\t|\t1820225130487-0\t\n{rows}\n\n"
    with pytest.raises(BadInput, match="--richOutput is not supported"):
        read_text(text)


def test_words_of_others_are_none_of_nvloom():
    small = FOREIGN["osu_bw.txt"]
    assert records(f"Driver version: 1\nBuffer size: 1 MiB\nRunning tests\n{small}")[0]["result"] == "PASS"
