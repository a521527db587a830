"""Which test cases share a process: checks/session.py."""

import importlib

import pytest


@pytest.fixture(scope="module")
def session():
    return importlib.import_module("linkmatrix_checks.session")


@pytest.fixture
def wish(session):
    """A function that makes the wish of a test, called as its test case is by default."""

    def make(testcase, **more):
        fields = {"check": f"test of {testcase}", "opts": ("--backend", "cuda"), "size": "", **more}
        return session.Wish(testcase=testcase, **fields)

    return make


def shared(session, *wishes):
    """The test cases of each process."""
    return [process.testcases for process in session.processes_of(wishes)]


def test_what_asks_for_the_same_shares_a_process(session, wish):
    assert shared(session, wish("a"), wish("b"), wish("c", tasks=8, on_each=8), wish("d", tasks=8, on_each=8)) == [
        ["a", "b"],
        ["c", "d"],
    ]
    assert shared(session, wish("a"), wish("b", opts=("--backend", "cuda", "--samples", "15"))) == [["a"], ["b"]]


def test_a_size_that_does_not_matter_is_no_reason_for_a_process(session, wish):
    latency = wish("latency", size=None)
    assert shared(session, latency, wish("a", size="1MiB"), wish("b", size="2MiB")) == [["latency", "a"], ["b"]]
    (process,) = session.processes_of([latency, wish("a", size="1MiB")])
    assert process.size == "1MiB"
    assert shared(session, wish("a", size=""), wish("b", size="1MiB")) == [["a"], ["b"]]


def test_a_test_case_that_may_be_refused_ends_no_other(session, wish):
    assert shared(session, wish("a"), wish("put", separate=True), wish("b")) == [["a", "b"], ["put"]]


def test_the_same_test_case_is_measured_once_for_two_tests(session, wish):
    (process,) = session.processes_of([wish("a", check="two"), wish("a", check="all")])
    assert (process.testcases, process.tests) == (["a"], ["two", "all"])


def test_a_process_has_time_for_all_of_its_test_cases_unless_its_time_is_said(session, wish):
    (few,) = session.processes_of([wish("a")])
    (many,) = session.processes_of([wish(f"t{number}") for number in range(60)])
    (said,) = session.processes_of([wish("a", opts=("--backend", "cuda", "--timeout", "7"))])
    assert (few.seconds(), many.seconds(), said.seconds()) == (600, 3600, 7)
    assert "--timeout" not in few.options("session", "process1")
    assert many.options("session", "process1")[2:4] == ["--timeout", "3600"]
    assert said.options("session", "process1").count("--timeout") == 1
    assert session.Process(wish("a"), None).options("a check", "p")[-3:] == ["'a check'", "--backend", "cuda"]
