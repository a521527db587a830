"""Foreign texts: which lines, facts, tables and topologies are one run of one program."""

from dataclasses import replace

import pytest

from linkmatrix.foreign.table import MOST_NOTES, Part, Reading, Run, Table, Topology

GPUS = ("gpu0", "gpu1")
PAIR = ("gpu0", "gpu1")


def matrix(testcase="case", rows=GPUS, columns=None, line=1, **more):
    columns = columns or rows
    cells = {(a, b): 5.0 for a in rows for b in columns if a != b}
    return Table(testcase, "bandwidth", "bandwidth", "GB/s", None, rows, columns, cells, line, **more)


@pytest.mark.parametrize(
    ("text", "cut"),
    [("a\nb", True), ("a\nb\n", False), ("a\nb\r\n", False), ("a\nb\r", False), ("", False)],
)
def test_only_the_last_line_may_be_cut_and_only_without_its_end(text, cut):
    state = Reading(text)
    lines = text.split()
    for state.at, line in enumerate(lines):
        assert state.line() == line
        assert state.may_be_cut() is (cut and line == lines[-1])
    state.at = len(lines)
    assert state.line() == "" and not state.may_be_cut()


def test_a_text_begins_without_any_heading_unit_or_command():
    state = Reading("a\n")
    assert (state.heading, state.unit, state.command, state.known) == ("", "", None, None)
    assert (state.at, state.runs, state.left_out) == (0, [], [])


def test_what_could_not_be_read_before_a_run_is_the_next_ones_and_then_its_own():
    state = Reading("")
    state.left("before")
    state.facts("p").problems.append("of its facts")
    assert state.left_out == ["before"]
    run = state.run("p", 3)
    assert (run.problems, state.left_out, run.first) == (["before", "of its facts"], [], 3)
    state.left("inside")
    state.end_run()
    state.left("after")
    assert run.problems == ["before", "of its facts", "inside"] and state.left_out == ["after"]


def test_facts_before_the_first_table_are_those_of_the_run_that_its_program_begins():
    state = Reading("")
    facts = state.facts("p")
    facts.software["CUDA"] = "13.0"
    assert state.facts("p") is facts
    run = state.run("p", 1)
    assert run is facts and state.runs == [facts]
    following = state.facts("p")  # the run has begun: what is printed now is the next one's
    assert following is not run and following.software == {} and following.program == "p"


def test_facts_of_another_program_are_not_the_runs():
    state = Reading("")
    state.facts("p").software["CUDA"] = "13.0"
    assert state.facts("q").software == {}
    state.facts("p").software["CUDA"] = "12.0"
    run = state.run("q", 2)
    assert (run.program, run.software) == ("q", {})


def test_a_run_goes_on_until_another_program_runs():
    state = Reading("")
    state.command = "p --all"
    run = state.run("p", 4)
    state.command = "later"
    assert state.run("p", 9) is run and (run.first, run.command) == (4, "p --all")
    other = state.run("q", 9)
    assert other is not run and (other.program, other.first, other.command) == ("q", 9, "later")
    assert state.runs == [run, other]


def test_the_first_table_of_a_run_says_its_command_and_the_topology_that_is_known():
    state, known = Reading(""), Topology(GPUS, 1, link_class={PAIR: "NV18"})
    state.run("p", 1)
    state.command, state.known = "p --all", known
    state.add("p", matrix(line=5))
    run = state.runs[0]
    assert (run.command, run.known, run.last, len(state.runs)) == ("p --all", known, 5, 1)
    state.known, state.at = None, 9
    state.add("p", matrix("other", line=7))
    assert (run.known, run.last, len(run.tables)) == (known, 9, 2)
    state.command = "p --again"
    state.add("p", matrix("third", line=11))
    assert [one.command for one in state.runs] == ["p --all", "p --again"]


def test_a_matrix_between_other_devices_is_another_run_and_one_with_host_memory_is_not():
    state = Reading("")
    host = matrix("host", ("numa0",), GPUS)
    for table in (host, matrix("pairs"), matrix("back", GPUS, ("numa0",)), matrix("again")):
        state.add("p", table)
    assert [len(run.tables) for run in state.runs] == [4]
    state.add("p", matrix("more", (*GPUS, "gpu2")))
    assert [len(run.tables) for run in state.runs] == [4, 1]


def test_a_part_moves_the_end_of_its_run_and_belongs_to_no_run_that_is_over():
    state, part = Reading(""), Part("t", "us", {PAIR: 1.0})
    state.add("p", matrix(faults=("first",)))
    state.at = 6
    assert state.add_part("time", part, ("second",))
    run = state.runs[0]
    assert run.last == 6 and run.tables[0].faults == ("first", "second")
    state.end_run()
    assert not state.add_part("rate", part) and set(run.tables[0].parts) == {"time"}


def test_a_topology_after_tables_is_another_run_and_one_after_another_is_joined():
    state = Reading("")
    first, second = Topology(GPUS, 2, link_class={PAIR: "NV18"}), Topology(GPUS, 5, hops={PAIR: 1})
    state.add_topology("p", first)
    state.at = 8
    state.add_topology("p", second)
    (run,) = state.runs
    assert run.topology == replace(first, hops={PAIR: 1}) and (run.first, run.last) == (2, 8)
    assert state.known == first  # the second says no link class
    state.add("p", matrix())
    assert len(state.runs) == 1
    state.add_topology("p", second)
    assert [one.topology == second for one in state.runs] == [False, True]


def test_a_run_counts_its_matrices_and_says_what_was_not_believed():
    part = Part("t", "us", {})
    tables = [matrix(parts={"a": part, "b": part}, faults=("of a table",)), matrix("other")]
    run = Run("p", tables, problems=["of the run"])
    assert run.matrices == 4 and run.faults == ["of the run", "of a table"]
    run.topology = Topology(GPUS, 1, faults=("of the topology",))
    assert run.matrices == 5 and run.faults == ["of the run", "of a table", "of the topology"]
    run.problems = [f"fault {number}" for number in range(2 * MOST_NOTES)]
    assert run.faults == run.problems[:MOST_NOTES]
