"""One test case's part of a process that ran several: checks/parts.py."""

import importlib.util
from pathlib import Path

import pytest

from linkmatrix.record import printed

FILE = Path(__file__).resolve().parents[2] / "checks" / "parts.py"
DATA = FILE.parents[1] / "tests" / "data"


@pytest.fixture(scope="module")
def parts():
    spec = importlib.util.spec_from_file_location("linkmatrix_checks_parts", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def full():
    """What a process printed that ran 60 test cases."""
    return (DATA / "h200x4_full.txt").read_text()


def result(testcase, complete=True, verified=True):
    return {"testcase": testcase, "complete": complete, "verified": verified}


def record(*results, expected=None, result="PASS", **more):
    names = [one["testcase"] for one in results]
    return {
        "results": list(results),
        "expected": expected or names,
        "result": result,
        "lost": [],
        "error": None,
        **more,
    }


def test_the_parts_of_a_text_have_each_table_once(parts, full):
    all_tables = printed.p2p_matrix(full)
    names = list(dict.fromkeys(table.testcase for table in all_tables))
    assert len(names) > 40
    tables = [table for name in names for table in printed.p2p_matrix(parts.text_of(full, name, "PASS"))]
    assert [(table.testcase, table.title, table.cells) for table in tables] == [
        (table.testcase, table.title, table.cells) for table in all_tables
    ]


def test_a_part_has_the_head_of_the_run_its_own_verification_and_no_other(parts, full):
    text = parts.text_of(full, "device_to_device_memcpy_write_ce", "FAIL")
    assert text.startswith(full.splitlines()[0])
    assert text.count("\nverified: ") == 1
    assert text.endswith("\nResult: FAIL\n")
    assert "Result: PASS" not in text


def test_a_process_that_was_killed_says_no_result(parts, full):
    cut = full[: full.index("verified: ")]
    name = printed.p2p_matrix(full)[0].testcase
    assert "Result: " not in parts.text_of(cut, name, None)


def test_what_is_whole_passes_whatever_came_after_it(parts):
    run = record(result("a"), result("b", complete=False), expected=["a", "b", "c"], result="TIMEOUT", error="hung")
    assert parts.record_of(run, "a") == record(result("a"))
    assert parts.record_of(run, "b")["result"] == "TIMEOUT"
    assert parts.record_of(run, "b")["error"] == "hung"
    assert parts.record_of(run, "c") is None


def test_what_was_not_compared_is_not_whole(parts):
    run = record(result("a", verified=False), result("b"), result="FAIL")
    assert [parts.record_of(run, name)["result"] for name in "ab"] == ["FAIL", "PASS"]


def test_an_endpoint_that_was_lost_later_is_no_fault_of_what_was_whole_before(parts):
    run = record(result("a"), result("b", complete=False), result="ERROR", error="lost", lost=[{"label": "gpu1"}])
    assert parts.record_of(run, "a")["lost"] == []
    assert parts.record_of(run, "b")["lost"] == [{"label": "gpu1"}]


def test_what_broke_the_process_after_all_was_measured_breaks_every_test_case(parts):
    run = record(result("a"), result("b"), result="ERROR", error="MPI could not end")
    assert [parts.record_of(run, name)["result"] for name in "ab"] == ["ERROR", "ERROR"]


def test_every_size_of_a_sweep_is_of_its_test_case(parts):
    run = record(result("a"), result("a"), result("b"), expected=["a", "b"])
    assert len(parts.record_of(run, "a")["results"]) == 2
