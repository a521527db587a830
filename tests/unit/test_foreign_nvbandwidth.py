"""Outputs of nvbandwidth: rows and columns are turned as its source says, and a row that is not whole is left out."""

import json

import pytest
from foreign_texts import DOCUMENTS, FOREIGN, SMALL, cell, records, result

from linkmatrix.errors import BadInput
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.findings import findings
from linkmatrix.locate.diagnosis import diagnose
from linkmatrix.references.tables import References


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


def test_the_json_of_nvbandwidth_is_its_text():
    text, same = (records(FOREIGN[f"nvbandwidth_v0.8_layout.{kind}"]) for kind in ("txt", "json"))
    keys = ("testcase", "values", "status", "parts", "rows", "columns", "unit", "quantity", "direction")
    assert [[r[key] for key in keys] for one in text for r in one["results"]] == [
        [r[key] for key in keys] for one in same for r in one["results"]
    ]
    assert same[0]["devices"][1]["name"] == "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    ("changes", "case", "said"),
    [
        ({"error": "CUDA_ERROR_NO_DEVICE\n"}, {}, "nvbandwidth reports a failure: CUDA_ERROR_NO_DEVICE"),
        ({}, {"bandwidth_matrix": [["1", "N/A"], ["2", "N/A"]]}, "row 0 has a number on the diagonal"),
        ({}, {"name": 5}, "testcases[0] has no valid name"),
        ({}, {"bandwidth_matrix": [["N/A", "N/A"], ["N/A", "N/A"]]}, "device_to_device_memcpy_read_ce has no number"),
        ({}, {"sum": 652.43}, "have the sum 552.43, not 652.43: a row or a digit is missing"),
    ],
)
def test_a_json_that_contradicts_itself_is_no_pass(changes, case, said):
    content = json.loads(FOREIGN["nvbandwidth_v0.8_layout.json"])
    content["nvbandwidth"].update(changes)
    content["nvbandwidth"]["testcases"][0].update(case)
    try:
        (record,) = records(json.dumps(content))
    except BadInput as error:
        assert said in str(error)
    else:
        assert record["result"] == "ERROR" and said in record["error"]


@pytest.mark.parametrize("listed", [5, True, {"0": "H100"}, ["x", 5]])
def test_a_list_of_devices_that_is_none_of_the_program_s_names_no_device(listed):
    content = json.loads(FOREIGN["nvbandwidth_v0.8_layout.json"])
    content["nvbandwidth"]["GPU Device list"] = listed
    (record,) = records(json.dumps(content))
    assert {device["name"] for device in record["devices"]} == {"unknown"}


def test_a_json_test_case_that_failed_is_incomplete_and_a_waived_one_left_out():
    content = json.loads(FOREIGN["nvbandwidth_v0.8_layout.json"])
    cases = content["nvbandwidth"]["testcases"]
    cases.append({"name": "host_device_latency_sm", "status": "Waived"})
    assert len(records(json.dumps(content))[0]["results"]) == len(cases) - 1
    cases.append({"name": "host_device_latency_sm", "status": "Error"})
    (record,) = records(json.dumps(content))
    assert record["result"] == "ERROR" and "host_device_latency_sm ended with 'Error'" in record["error"]
    assert len(record["results"]) == len(cases) - 2


@pytest.mark.parametrize(
    ("old", "new", "statuses", "said"),
    [
        ("1    176.10       N/A    176.12\n", "", {1: "not-run"}, "missing rows: 1"),
        ("1    176.10       N/A    176.12", "1    176.10       N/A", {1: "not-run"}, "3 columns"),
        ("1    176.10       N/A    176.12", "1    176.10    176.12       N/A", {1: "not-run"}, "diagonal"),
        ("1    176.10       N/A    176.12", "1    9 176.10       N/A    176.12", {1: "not-run"}, "3 columns"),
        (
            "1    176.10       N/A    176.12",
            "0    176.10       N/A    176.12",
            {0: "not-run", 1: "not-run"},
            "is repeated",
        ),
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
    (one,) = records("$ nvbandwidth\n" + SMALL.replace("176.12\n", "N/A\n").replace("1056.66", "880.54"))
    assert one["results"][0]["status"][1] == ["ok", "not-applicable", "no-peer-access"]
    assert one["result"] == "PASS"


def test_zero_is_an_error_and_no_value():
    (one,) = records(SMALL.replace("176.12\n", "0.00\n").replace("1056.66", "880.54"))
    assert one["results"][0]["status"][1][2] == "error" and one["result"] == "ERROR"


def test_a_digit_that_changed_does_not_fit_the_sum():
    with pytest.raises(BadInput, match="sum"):
        records(SMALL.replace("176.21", "126.21"))


def test_an_output_of_version_0_10_is_read_whole_and_healthy():
    (record,) = records(FOREIGN["nvbandwidth_v0.10_b300.txt"])
    assert record["software"] == {
        "nvbandwidth": "0.10.0",
        "CUDA Runtime": "13.3",
        "CUDA Driver": "13.3",
        "driver": "610.57.04",
    }
    assert len(record["results"]) == 7 and record["result"] == "PASS"
    read, write = (
        next(one for one in record["results"] if one["testcase"] == f"device_to_device_memcpy_{way}_ce")
        for way in ("read", "write")
    )
    assert cell(read, "gpu1", "gpu0") == 764.71 and cell(write, "gpu0", "gpu1") == 774.5
    evaluation = evaluate(record, References({}), None)
    assert list(findings(record, evaluation)) == []
    both = zip(record["results"], evaluation.matrices, strict=True)
    assert [who for result, matrix in both for who in diagnose(record, result, matrix).components] == []


@pytest.mark.parametrize(
    ("old", "new", "software"),
    [
        (" (API)", "", {"CUDA Driver": "13.3"}),
        ("CUDA Driver Version (API): 13.3 (13030)", "CUDA Driver Version: 13030", {"CUDA Driver": "13030"}),
        ("v0.10.0", "v0.9", {"nvbandwidth": "0.9"}),
    ],
)
def test_versions_are_read_however_a_version_prints_them(old, new, software):
    (record,) = records(FOREIGN["nvbandwidth_v0.10_b300.txt"].replace(old, new))
    assert software.items() <= record["software"].items()


def test_the_json_of_later_versions_has_the_same_versions_as_their_text():
    content = json.loads(FOREIGN["nvbandwidth_v0.8_layout.json"])
    content["nvbandwidth"] |= {"version": "v0.10.0", "CUDA Runtime Version": "13.3 (13030)", "Hostname": "n1"}
    content["nvbandwidth"]["testcases"][0]["coefficient_of_variation"] = 0.0
    (record,) = records(json.dumps(content))
    assert record["software"]["CUDA Runtime"] == "13.3"
