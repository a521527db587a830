"""Outputs of other programs: every matrix of a document is read, none is turned the wrong way, and a text that was cut,
shifted or mixed up never gives a cell that the program did not print."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.to_record import to_record
from linkmatrix.record import reading
from linkmatrix.show import words

DATA = Path(__file__).parents[1] / "data"
DOCUMENTS = {path.stem[:3]: path.read_text(encoding="utf-8") for path in (DATA / "documents").glob("*.txt")}
FOREIGN = {path.name: path.read_text(encoding="utf-8") for path in (DATA / "foreign").iterdir() if path.is_file()}
NOW = "2026-11-21T00:00:00Z"
#: What only the columns of a matrix look like, in each of the documents: counted without any reader.
COLUMNS = {
    "000": r"^\s*(PPU0 +PPU1|(HOST0:)?DEV0\s+(HOST1:DEV0|DEV1)) ",
    "001": r"^\s*(D\\D|GPU|CPU) +0 ",
    "002": r"^\s*(D\\D +0|GPU0\tGPU1) *",
    "003": r"^ +0 +1 +2 ",
    "004": r"^\s*((D\\D|GPU|CPU) +0|GPU0 +GPU1|D\\D +0) ",
}


def records(text):
    content = text.encode()
    found = [json.loads(json.dumps(to_record(run, "x.txt", content, NOW, None, None))) for run in read_text(text)]
    for one in found:
        reading.check(one)
    return found


def result(text, testcase, run=0):
    found = [one for one in records(text) for one in one["results"] if one["testcase"] == testcase]
    return found[run]


def cell(matrix, row, column):
    return matrix["values"][matrix["rows"].index(row)][matrix["columns"].index(column)]


@pytest.mark.parametrize("number", sorted(COLUMNS))
def test_no_matrix_of_a_document_is_lost(number):
    text = DOCUMENTS[number]
    runs = read_text(text)
    tables = [table for run in runs for table in run.tables]
    # a size of a sweep is a table too: those of one cell, and of collectives, are not matrices
    matrices = sum(run.matrices for run in runs if run.program not in ("osu", "nccl_tests", "perftest"))
    assert matrices == len(re.findall(COLUMNS[number], text, re.MULTILINE)) > 0
    sizes = len([table for table in tables if table.testcase.startswith(("osu", "all_reduce", "ib_"))])
    assert sizes == {"001": 2 * (24 * 4 + 23 * 4) + 24 * 2 + 23 * 2, "002": 5 + 5 + 6 + 4 + 4}.get(number, 0)
    assert {number: [fault for run in runs for fault in run.faults]} == {
        # the document itself lacks that row
        number: ["utilisation: the text lacks the row of gpu2"] if number == "000" else []
    }


def test_every_number_of_the_matrices_of_a_document_is_in_its_record():
    for number in ("003", "004"):
        text = DOCUMENTS[number]
        printed = Counter(
            float(word)
            for line in text.splitlines()
            if re.match(r"^\s*\d+( +(\d+\.\d\d|N/A))+ *$", line)
            for word in line.split()[1:]
            if word != "N/A"
        )
        held = Counter()
        for one in records(text):
            for matrix in one["results"]:
                twice = matrix.get("local_copy") and matrix["unit"] == "GB/s"
                for grid in [matrix["values"], *(part["values"] for part in matrix["parts"].values())]:
                    for r, row in enumerate(grid):
                        for c, value in enumerate(row):
                            if value is not None:
                                held[round(value * (2 if twice and r == c else 1), 6)] += 1
        assert held == printed


def test_rows_of_nvbandwidth_are_turned_where_data_goes_from_column_to_row_whatever_its_arrow_says():
    text = DOCUMENTS["003"]
    # "GPU(row) -> GPU(column)", 172.16 in row 0 under column 1: the copy that GPU 0 pulls from GPU 1
    assert cell(result(text, "device_to_device_memcpy_read_ce"), "gpu1", "gpu0") == 172.16
    assert cell(result(text, "device_to_device_memcpy_read_ce"), "gpu0", "gpu1") == 171.99
    # "GPU(row) <- GPU(column)", 176.14 in row 1 under column 0: the copy that GPU 1 pushes to GPU 0
    assert cell(result(text, "device_to_device_memcpy_write_ce"), "gpu1", "gpu0") == 176.14
    assert cell(result(text, "device_to_host_memcpy_ce"), "gpu4", "host") == 55.09
    assert cell(result(text, "all_to_one_read_ce"), "gpu0", "all") == 142.09
    assert cell(result(text, "one_to_all_read_ce"), "all", "gpu0") == 177.62


def test_one_direction_is_not_taken_for_the_sum_of_both():
    text = DOCUMENTS["003"]
    names = {matrix["testcase"]: matrix["quantity"] for one in records(text) for matrix in one["results"]}
    assert names["device_to_device_bidirectional_memcpy_read_sm"] == "sum of both directions"
    assert "device_to_device_bidirectional_memcpy_read_ce" not in names
    assert names["device_to_device_bidirectional_memcpy_read_ce_one_direction"].startswith("one direction")
    assert names["host_to_device_bidirectional_memcpy_ce_one_direction"].startswith("one direction")


def test_all_versions_of_nvbandwidth_say_the_same():
    text = FOREIGN["nvbandwidth_v0.8_layout.txt"]
    both = result(text, "device_to_device_bidirectional_memcpy_write_ce")
    # Write1 at row 0, column 1 is what GPU 1 pushes to GPU 0
    assert both["quantity"] == "sum of both directions"
    assert (cell(both, "gpu1", "gpu0"), cell(both, "gpu0", "gpu1")) == (303.0, 703.0)
    directions = {name: part["values"] for name, part in both["parts"].items()}
    assert directions["one_direction"] == [[None, 301.0], [101.0, None]]
    assert directions["other_direction"] == [[None, 402.0], [202.0, None]]
    latency = result(text, "device_to_device_latency_sm")
    assert (latency["unit"], cell(latency, "gpu1", "gpu0")) == ("us", 0.8125)
    assert result(text, "device_local_copy")["rows"] == ["local"]


def test_the_json_of_nvbandwidth_is_its_text():
    text, same = (records(FOREIGN[f"nvbandwidth_v0.8_layout.{kind}"]) for kind in ("txt", "json"))
    keys = ("testcase", "values", "status", "parts", "rows", "columns", "unit", "quantity", "direction")
    assert [[r[key] for key in keys] for one in text for r in one["results"]] == [
        [r[key] for key in keys] for one in same for r in one["results"]
    ]
    assert same[0]["devices"][1]["name"] == "NVIDIA H100 80GB HBM3"


def test_a_json_test_case_that_failed_is_refused_and_a_waived_one_left_out():
    content = json.loads(FOREIGN["nvbandwidth_v0.8_layout.json"])
    cases = content["nvbandwidth"]["testcases"]
    cases.append({"name": "host_device_latency_sm", "status": "Waived"})
    assert len(records(json.dumps(content))[0]["results"]) == len(cases) - 1
    cases.append({"name": "host_device_latency_sm", "status": "Error"})
    with pytest.raises(BadInput, match="Error"):
        records(json.dumps(content))


def test_the_kernel_of_a_ppu_comes_from_the_command_line():
    text = DOCUMENTS["000"]
    assert cell(result(text, "device_to_device_memcpy_write_sm_cached"), "gpu0", "gpu4") == 66.60
    assert cell(result(text, "device_to_device_memcpy_write_sm_bulk"), "gpu0", "gpu4") == 89.73
    # the root device, DEV0 in the row, pulls from DEV4
    assert cell(result(text, "device_to_device_memcpy_read_sm_bulk"), "gpu4", "gpu0") == 93.48
    between = result(text, "device_to_device_memcpy_write_sm_bulk", run=1)
    assert (between["engine"], between["size_bytes"]) == ("sm", 2147483648)
    assert cell(between, "host0.gpu0", "host2.gpu0") == 46.47
    without = "\n".join(line for line in text.splitlines() if "p2pBandwidthLatencyTest" not in line)
    names = {matrix["testcase"] for one in records(without) for matrix in one["results"]}
    assert "device_to_device_memcpy_write_sm_unknown_kernel" in names
    assert not any(name.endswith(("_sm", "_bulk", "_cached")) for name in names)


def test_utilisation_and_host_times_are_parts_of_their_matrix():
    text = DOCUMENTS["000"]
    first = records(text)[1]
    assert first["topology"]["min_path"][0][4] == 2
    assert first["results"][0]["parts"]["utilisation"]["values"][0][1] == 86.44
    assert first["results"][0]["parts"]["utilisation"]["values"][2] == [None] * 8
    assert first["result"] == "ERROR" and "gpu2" in first["error"]
    latency = result(text, "device_to_device_copy_latency_read_ce")
    # DEV1 pulls from DEV0: 1.23 us on the GPU, 6.99 us on the CPU
    assert cell(latency, "gpu0", "gpu1") == 1.23
    assert latency["parts"]["enqueue"]["values"][0][1] == 6.99


def test_a_diagonal_is_a_copy_inside_a_device_with_its_bytes_counted_once():
    matrix = result(DOCUMENTS["002"], "device_to_device_memcpy_write_ce")
    assert cell(matrix, "gpu0", "gpu0") == 1568.78 / 2
    assert cell(matrix, "gpu0", "gpu3") == 234.52
    assert matrix["link_class"][0][:2] == ["LOCAL", "NV12"]
    assert cell(result(DOCUMENTS["001"], "device_to_device_copy_latency_write_ce"), "gpu0", "gpu0") == 3.13


def test_sizes_of_a_page_have_the_units_of_a_record():
    tables = {
        (one["imported"]["column"], matrix["testcase"], matrix["size_bytes"]): matrix["values"][0][0]
        for one in records(DOCUMENTS["001"])
        for matrix in one["results"]
        if matrix["testcase"].startswith("osu")
    }
    assert tables["ComputeNode(A)", "osu_bw_dd", 4194304] == 15.36595
    assert tables["ComputeNode(V) Mem", "osu_latency_hh", 0] == 0.88
    assert tables["ComputeNode(A)", "osu_multi_lat_dd_8_pairs", 4194304] == 711.55
    assert tables["ComputeNode(A) Mem", "osu_mbw_mr_hh_8_pairs", 1] == 0.0441


def test_collectives_keep_bus_and_algorithm_bandwidth_and_the_time():
    (tree,) = [
        matrix
        for one in records(DOCUMENTS["002"])[-1:]
        for matrix in one["results"]
        if matrix["size_bytes"] == 1073741824
    ]
    assert tree["testcase"] == "all_reduce_perf_tree"
    assert tree["values"] == [[131.68, 126.03]]
    assert tree["parts"]["algorithm_bandwidth"]["values"] == [[70.23, 67.22]]
    assert tree["parts"]["time"]["values"] == [[15289.0, 15974.0]]
    assert tree["verified"] is True


def test_wrong_elements_of_a_collective_are_never_a_value():
    text = DOCUMENTS["002"].replace("175.93      0", "175.93      7", 1)
    first = result(text, "all_reduce_perf")
    assert first["status"] == [["error", "ok"]] and first["values"][0][0] is None
    assert first["verified"] is False


def test_rdma_bandwidth_is_in_bytes():
    (size,) = [m for one in records(DOCUMENTS["002"]) for m in one["results"] if m["size_bytes"] == 262144]
    assert (size["testcase"], size["rows"]) == ("ib_write_bw", ["mlx5_0"])
    assert size["values"] == [[97.85 / 8]]
    mib = DOCUMENTS["002"].replace("Gb/sec]", "MB/sec]")
    (size,) = [m for one in records(mib) for m in one["results"] if m["size_bytes"] == 262144]
    assert size["values"][0][0] == pytest.approx(97.85 * 2**20 / 1e9)


RDMA_ROW = " 524288     5000             97.84              97.80  \t\t   0.023318"


@pytest.mark.parametrize("spot", range(5))
@pytest.mark.parametrize("how", ["twice", "lost"])
def test_a_row_of_rdma_with_a_number_twice_or_lost_is_never_a_value_and_is_said(spot, how):
    words = RDMA_ROW.split()
    spoilt = [*words[: spot + (how == "twice")], *words[spot + (how == "lost") :]]
    text = DOCUMENTS["002"].replace(RDMA_ROW, " " + "   ".join(spoilt))
    assert text != DOCUMENTS["002"]
    found = [one for one in records(text) if any(m["testcase"] == "ib_write_bw" for m in one["results"])]
    sizes = {m["size_bytes"] for one in found for m in one["results"]}
    assert 524288 not in sizes and 1048576 in sizes  # those below are read all the same
    assert any("left out" in (one["error"] or "") and one["result"] == "ERROR" for one in found)


@pytest.mark.parametrize(
    ("row", "believed"),
    [
        (" 2       1000          1.05           5.41         1.10     1.12      0.05    1.30    5.41", True),
        (" 2       1000          1.05           1.05         5.41     1.10     1.12      0.05    1.30    5.41", False),
        (" 2       1000          1.10           1.05         5.41     1.12      0.05    1.30    5.41", False),
        (" 2       1000          1.05           5.41         1.10     1.12      0.05    1.30", False),
    ],
)
def test_a_latency_of_rdma_lies_between_its_ends_under_its_own_head(row, believed):
    head = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    text = (
        f"                    RDMA_Write Latency Test\n{head}   99% percentile[usec]   99.9% percentile[usec] \n{row}\n"
    )
    whole_row = row.replace(" 2 ", " 4 ", 1) if believed else " 4 1000 1.05 5.41 1.10 1.12 0.05 1.30 5.41"
    (one,) = records(f"{text}{whole_row}\n")
    assert [m["size_bytes"] for m in one["results"]] == ([2, 4] if believed else [4])


@pytest.mark.parametrize(
    ("name", "testcase", "size", "value"),
    [
        ("osu_latency.txt", "osu_latency_dd", 4, 2.36),
        ("osu_bw.txt", "osu_bw_hh", 4194304, 24.22669),
        ("osu_bibw.txt", "osu_bibw_hh", 1, 0.00559),
        ("osu_multi_lat.txt", "osu_multi_lat_hh", 8, 1.49),
        ("osu_mbw_mr.txt", "osu_mbw_mr_hh_4_pairs", 2, 0.04352),
    ],
)
def test_every_osu_test_is_read(name, testcase, size, value):
    found = {(m["testcase"], m["size_bytes"]): m for one in records(FOREIGN[name]) for m in one["results"]}
    assert found[testcase, size]["values"] == [[value]]
    assert len(found) == len(re.findall(r"^\d+ ", FOREIGN[name], re.MULTILINE))


def test_the_nearest_nics_of_a_device_are_known():
    first = records(FOREIGN["topo_nics.txt"])[0]
    assert [device["nics"] for device in first["devices"]] == [["mlx5_0"], ["mlx5_1"]]
    assert [device["numa"] for device in first["devices"]] == [0, 1]
    assert first["topology"]["link_class"] == [["X", "NV18"], ["NV18", "X"]]
    assert first["topology"]["links"] == [[None, 18], [18, None]]


SMALL = """Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
          0         1         2
0       N/A    176.01    176.02
1    176.10       N/A    176.12
2    176.20    176.21       N/A

SUM device_to_device_memcpy_write_ce 1056.66
"""


@pytest.mark.parametrize(
    ("old", "new", "statuses", "said"),
    [
        ("1    176.10       N/A    176.12\n", "", {1: "not-run"}, "lacks the row of 1"),
        ("1    176.10       N/A    176.12", "1    176.10       N/A", {1: "not-run"}, "3 columns"),
        ("1    176.10       N/A    176.12", "1    176.10    176.12       N/A", {1: "not-run"}, "diagonal"),
        ("1    176.10       N/A    176.12", "1    9 176.10       N/A    176.12", {1: "not-run"}, "3 columns"),
        ("1    176.10       N/A    176.12", "0    176.10       N/A    176.12", {0: "not-run", 1: "not-run"}, "twice"),
        ("1    176.10       N/A    176.12", "1    176.1        N/A    176.12", {1: "not-run"}, "3 columns"),
        ("1    176.10       N/A    176.12", "1    1e2          N/A    176.12", {1: "not-run"}, "3 columns"),
        ("1    176.10       N/A    176.12", "1       nan       N/A    176.12", {1: "not-run"}, "3 columns"),
        ("1    176.10       N/A    176.12", "1   -176.10       N/A    176.12", {1: "not-run"}, "3 columns"),
    ],
)
def test_a_row_that_shifted_or_was_cut_is_not_believed_and_the_others_are(old, new, statuses, said):
    (one,) = records(SMALL.replace(old, new))
    status = one["results"][0]["status"]
    for row in range(3):
        wanted = statuses.get(row, "ok")
        assert [word for column, word in enumerate(status[row]) if column != row] == [wanted] * 2
    assert one["result"] == "ERROR" and said in one["error"]
    assert not one["results"][0]["complete"]


def test_a_pair_without_a_path_is_no_number_and_nothing_is_missing():
    (one,) = records(SMALL.replace("176.12\n", "N/A\n").replace("1056.66", "880.54"))
    assert one["results"][0]["status"][1] == ["ok", "not-applicable", "no-peer-access"]
    assert one["result"] == "PASS"


def test_zero_is_an_error_and_no_value():
    (one,) = records(SMALL.replace("176.12\n", "0.00\n").replace("1056.66", "880.54"))
    assert one["results"][0]["status"][1][2] == "error" and one["result"] == "ERROR"


def test_a_digit_that_changed_does_not_fit_the_sum():
    with pytest.raises(BadInput, match="sum"):
        records(SMALL.replace("176.21", "126.21"))


def test_a_matrix_without_its_head_line_is_named():
    text = DOCUMENTS["004"].replace("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n", "")
    assert any("no head line" in (one["error"] or "") for one in records(text))


def facts(text):
    """{(test case, size, "" or part, pair): all values of all runs}."""
    cells = {}
    for run in read_text(text):
        for table in run.tables:
            for name, values in [("", table.cells), *((name, part.cells) for name, part in table.parts.items())]:
                for pair, value in values.items():
                    if not isinstance(value, str):
                        cells.setdefault((table.testcase, table.size_bytes, name, *pair), set()).add(value)
    return cells


def check_spoilt(text, whole):
    """Refused, or every cell is one that the whole text has too; what says that its engine is not known is no lie."""
    try:
        found = facts(text)
    except BadInput as error:
        assert "\n" not in str(error)
        return
    for key, values in found.items():
        assert "_unknown_" in key[0] or values <= whole.get(key, set()), key


TEXTS = {**{f"document {number}": text for number, text in DOCUMENTS.items()}, **FOREIGN, "small": SMALL}
WHOLE = {}


def whole(name):
    if name not in WHOLE:
        WHOLE[name] = facts(TEXTS[name])
    return WHOLE[name]


@given(name=st.sampled_from(sorted(TEXTS)), place=st.floats(0, 1))
@settings(max_examples=150)
def test_a_text_that_is_cut_never_gives_a_wrong_cell(name, place):
    text = TEXTS[name]
    check_spoilt(text[: int(place * len(text))], whole(name))


def test_a_small_text_that_is_cut_anywhere_never_gives_a_wrong_cell():
    for name in ("small", "osu_bw.txt", "topo_nics.txt"):
        for length in range(len(TEXTS[name])):
            check_spoilt(TEXTS[name][:length], whole(name))


@given(
    name=st.sampled_from(sorted(set(TEXTS) - {"nvbandwidth_v0.8_layout.json"})),
    place=st.floats(0, 0.999),
    how=st.sampled_from(
        ["line lost", "word lost", "line twice", "word twice", "lines swapped", "rest of the line lost"]
    ),
    word=st.integers(0, 20),
)
@settings(max_examples=300)
def test_a_text_that_was_mixed_up_never_gives_a_wrong_cell(name, place, how, word):
    lines = TEXTS[name].splitlines(keepends=True)
    # which program it was, and what its page is about, cannot be told from the rest of a text
    at = int(place * len(lines))
    if re.search(r"_perf|p2pBandwidth|OSU|#.*GPU to|Running|^#|P2P=|P2P |ib_|Test|Dual|PPU|GPU\d|\|", lines[at]):
        return
    words = re.split(r"(\s+)", lines[at])
    spot = min(word * 2, len(words) - 1)
    changes = {
        "line lost": [""],
        "word lost": ["".join(words[:spot] + words[spot + 1 :])],
        "line twice": [lines[at]] * 2,
        "word twice": ["".join([*words[: spot + 1], " ", *words[spot:]])],
        "rest of the line lost": ["".join(words[:spot]) + "\n"],
        "lines swapped": [lines[at + 1] if at + 1 < len(lines) else "", lines[at]],
    }
    skip = 2 if how == "lines swapped" else 1
    check_spoilt("".join(lines[:at] + changes[how] + lines[at + skip :]), whole(name))


@given(st.text(max_size=400) | st.binary(max_size=400).map(lambda raw: raw.decode("utf-8", "replace")))
def test_no_text_whatever_ends_in_a_traceback(text):
    for around in (text, SMALL + text, text + SMALL, "{" + text, '{"nvbandwidth": {"testcases": [' + text):
        try:
            records(around)
        except BadInput as error:
            assert "\n" not in str(error)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.just("N/A") | st.just("1.25"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=3), json_values)
def test_no_json_whatever_ends_in_a_traceback(matrix, anything):
    case = {"name": "device_to_device_memcpy_read_ce", "status": "Passed", "bandwidth_matrix": matrix}
    described = {**case, "bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"}
    for content in (anything, {"nvbandwidth": anything}, {"nvbandwidth": {"testcases": [case, described, anything]}}):
        try:
            records(json.dumps(content))
        except BadInput as error:
            assert "\n" not in str(error)


@pytest.fixture
def linkmatrix(capsys):
    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def test_records_are_written_and_shown_and_never_overwritten(linkmatrix, tmp_path):
    code, out, _ = linkmatrix(
        "import", DATA / "documents" / "003_h800.txt", "--out", tmp_path / "h800", "--size", "64MiB"
    )
    assert code == 0 and out.count("record.json") == 3 and "30 test cases" in out
    first = reading.load(tmp_path / "h800" / "01" / "record.json")
    assert first["results"][0]["size_bytes"] == 64 * 2**20
    assert first["imported"]["program"] == "nvbandwidth" and first["software"]["driver"] == "525.105.17"
    assert words.measured(first) == "8 × NVIDIA H800"
    assert linkmatrix("show", tmp_path / "h800" / "01" / "record.json")[0] == 3
    code, _, errors = linkmatrix("import", DATA / "documents" / "003_h800.txt", "--out", tmp_path / "h800")
    assert code == 2 and "never changed" in errors


def test_an_import_with_something_missing_is_exit_code_3(linkmatrix, tmp_path):
    code, out, _ = linkmatrix("import", DATA / "documents" / "000_ppu.txt", "--out", tmp_path)
    assert code == 3 and "lacks the row of gpu2" in out


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("hello", [], "holds no table"),
        (SMALL, ["--size", "0"], "no size"),
        (SMALL, ["--measured", "yesterday"], "no time"),
        ('{"a": 1}', [], "JSON of nvbandwidth"),
    ],
)
def test_bad_input_is_one_sentence(linkmatrix, tmp_path, content, options, said):
    file = tmp_path / "text.txt"
    file.write_text(content)
    code, out, errors = linkmatrix("import", file, *options)
    assert (code, out, errors.count("\n")) == (2, "", 1) and said in errors
