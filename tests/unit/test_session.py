"""Which test cases share a process: reframe_ext/sessions/processes.py."""

import importlib
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="module")
def processes():
    return importlib.import_module("linkmatrix.reframe_ext.sessions.processes")


@pytest.fixture
def wish(processes):
    """A function that makes the wish of a test, called as its test case is by default."""

    def make(testcase, **more):
        fields = {"check": f"test of {testcase}", "opts": ("--backend", "cuda"), "size": "", **more}
        return processes.Wish(testcase=testcase, **fields)

    return make


def shared(processes, *wishes):
    """The test cases of each process."""
    return [process.testcases for process in processes.processes_of(wishes)]


def test_what_asks_for_the_same_shares_a_process(processes, wish):
    assert shared(processes, wish("a"), wish("b"), wish("c", tasks=8, on_each=8), wish("d", tasks=8, on_each=8)) == [
        ["a", "b"],
        ["c", "d"],
    ]
    assert shared(processes, wish("a"), wish("b", opts=("--backend", "cuda", "--samples", "15"))) == [["a"], ["b"]]


def test_a_size_that_does_not_matter_is_no_reason_for_a_process(processes, wish):
    latency = wish("latency", size=None)
    assert shared(processes, latency, wish("a", size="1MiB"), wish("b", size="2MiB")) == [["latency", "a"], ["b"]]
    (process,) = processes.processes_of([latency, wish("a", size="1MiB")])
    assert process.size == "1MiB"
    assert shared(processes, wish("a", size=""), wish("b", size="1MiB")) == [["a"], ["b"]]


def test_a_test_case_that_may_be_refused_ends_no_other(processes, wish):
    puts = [wish(name, group="puts") for name in ("put", "more")]
    assert shared(processes, wish("a"), *puts, wish("b")) == [["a", "b"], ["put", "more"]]


def test_another_program_has_its_own_process_and_none_of_the_options_of_p2p_matrix(processes, wish):
    other = wish("", program="/bin/other", opts=())
    binding, measuring = processes.processes_of([wish("a"), other])
    assert (binding.wish.program, binding.options("session", "process1"), binding.looking) == ("/bin/other", [], [])
    assert measuring.testcases == ["a"]


def test_collectives_are_measured_by_their_own_program_with_the_options_of_a_process(processes, wish):
    of_all = [wish(name, program="collective_perf", opts=("--size", "4KiB"), size=None) for name in ("c", "d")]
    matrices, together = processes.processes_of([*of_all, wish("a")])
    assert (matrices.testcases, together.testcases) == (["a"], ["c", "d"])
    said = together.options("session", "process2")
    assert said[:4] == ["--testcase", "c,d", "--record", "process2/record.json"]
    assert said[-4:] == ["--asked-by", "session", "--size", "4KiB"]
    assert (together.looking, together.look(), together.seconds()) == ([], None, processes.LEAST_SECONDS)


def test_each_process_runs_its_own_program_of_the_build(processes, wish):
    launcher = SimpleNamespace(registered_name="local", options=[], run_command=lambda job: "")
    test = SimpleNamespace(
        build=SimpleNamespace(stagedir="/stage"),
        job=SimpleNamespace(launcher=launcher),
        current_partition=SimpleNamespace(extras={}),
        layout={"num_nodes": 1, "num_tasks": 1, "num_tasks_per_node": 1},
        num_cpus_per_task=None,
        display_name="session",
        display_names={},
    )
    wishes = [wish("a"), wish("c", program="collective_perf"), wish("", program="/bin/where", opts=())]
    ran = [processes.commands_of(test, one, "p", "s")[1].split()[0] for one in processes.processes_of(wishes)]
    assert ran == ["/bin/where", "/stage/prefix/bin/p2p_matrix", "/stage/prefix/bin/collective_perf"]


def test_variables_of_one_test_are_those_of_its_own_process_under_any_launcher(processes, wish):
    launcher = SimpleNamespace(registered_name="mpirun", options=[], run_command=lambda job: "mpirun -np 2")
    test = SimpleNamespace(
        build=SimpleNamespace(stagedir="/stage"),
        job=SimpleNamespace(launcher=launcher),
        current_partition=SimpleNamespace(extras={}),
        layout={"num_nodes": 2, "num_tasks": 2, "num_tasks_per_node": 1},
        num_cpus_per_task=None,
        display_name="session",
        display_names={},
    )
    ranks = {"tasks": 2, "on_each": 1}
    usual, without = processes.processes_of([wish("a", **ranks), wish("b", environment=("A=^b c",), **ranks)])
    assert processes.commands_of(test, usual, "p", "s")[1].startswith("mpirun -np 2 /stage/prefix/bin/p2p_matrix ")
    assert processes.commands_of(test, without, "p", "s")[1].startswith("mpirun -np 2 env 'A=^b c' /stage/prefix/bin/")


@pytest.mark.parametrize("first", [0, 1])
def test_what_only_looks_rides_on_the_process_that_measures_the_same_devices(processes, wish, first):
    wishes = [wish("", check="topology", size=None), wish("a", check="a", size="1MiB")]
    (process,) = processes.processes_of(wishes[first:] + wishes[:first])
    assert (process.testcases, process.size, process.looking) == (["a"], "1MiB", ["topology"])
    said = process.options("session", "process1")
    assert said[:2] == ["--testcase", "a"] and "--topology" not in said


def test_what_only_looks_has_a_process_of_its_own_where_none_measures_with_its_back_end(processes, wish):
    ranks = wish("b", tasks=4, on_each=4)
    for others in ([], [wish("a", opts=("--backend", "host"))], [ranks], [wish("put", group="puts")]):
        look = processes.processes_of([*others, wish("", size=None)])[0]
        assert (look.testcases, look.look()) == ([], None)
        assert look.options("topology", "process1")[0] == "--topology"
        assert look.seconds() == processes.TOPOLOGY_SECONDS


def test_a_process_that_left_no_record_is_followed_by_one_that_looks(processes, wish):
    """A GPU that lost its peer access is refused by what measures before it is looked at."""
    (process,) = processes.processes_of([wish("a", size="1MiB"), wish("", check="topology", size=None)])
    said = process.look().options("topology", f"process1/{processes.LOOK}")
    assert said[:3] == ["--topology", "--record", "process1/topology/record.json"]
    assert said[-2:] == ["--backend", "cuda"] and "--size" not in said
    (alone,) = processes.processes_of([wish("a")])
    assert alone.look() is None


def test_the_same_test_case_is_measured_once_for_two_tests(processes, wish):
    (process,) = processes.processes_of([wish("a", check="two"), wish("a", check="all")])
    assert (process.testcases, process.tests) == (["a"], ["two", "all"])


def test_a_process_has_time_for_all_of_its_test_cases_unless_its_time_is_said(processes, wish):
    (few,) = processes.processes_of([wish("a")])
    (many,) = processes.processes_of([wish(f"t{number}") for number in range(60)])
    (said,) = processes.processes_of([wish("a", opts=("--backend", "cuda", "--timeout", "7"))])
    assert (few.seconds(), many.seconds(), said.seconds()) == (600, 3600, 7)
    assert "--timeout" not in few.options("session", "process1")
    assert many.options("session", "process1")[2:4] == ["--timeout", "3600"]
    assert said.options("session", "process1").count("--timeout") == 1
    assert processes.Process(wish("a"), None).options("a check", "p")[-3:] == ["'a check'", "--backend", "cuda"]


@pytest.fixture
def ranks(wish):
    """A function that makes the wish of a test of ranks; without a test case, of where they are."""

    def make(testcase="", tasks=4, on_each=4, **more):
        program = {} if testcase else {"program": "/bin/where", "becomes": True, "check": "where", "opts": ()}
        return wish(testcase, tasks=tasks, on_each=on_each, **{**program, **more})

    return make


@pytest.mark.parametrize("first", [0, 1])
def test_ranks_say_where_they_are_before_they_measure_in_one_start_of_the_launcher(processes, ranks, wish, first):
    wishes = [ranks(), ranks("b", check="b", size="1MiB")]
    alone, process = processes.processes_of([wish("a", check="a"), *wishes[first:], *wishes[:first]])
    assert (process.testcases, process.before.wish.program, alone.before) == (["b"], "/bin/where", None)
    assert processes.places_of([alone, process]) == {"a": (0, 1), "b": (1, 1), "where": (1, 1)}
    assert {one.check for one in process.wishes()} == {"b", "where"}


def test_ranks_that_are_started_in_another_way_or_on_several_nodes_say_it_by_themselves(processes, ranks, wish):
    others = [wish("a"), ranks("b", tasks=2, on_each=2), ranks("c", tasks=8), ranks("d", without_mpi=True)]
    assert len(processes.processes_of([ranks(), *others])) == 5
    assert len(processes.processes_of([ranks(tasks=8), ranks("b", tasks=8)])) == 2
    same = ranks(becomes=False)
    assert len(processes.processes_of([same, ranks("b")])) == 2


LINES = ("a\tgpu0->gpu1\t395.0\tGB/s", "a\tcell[NV18]\t390.0\tGB/s")


def test_a_process_is_told_what_the_cells_of_its_test_cases_should_be(processes, wish, tmp_path):
    (process,) = processes.processes_of([wish("a", references=LINES), wish("b"), wish("a", check="twice")])
    said = process.options("session", "process1")
    assert said[said.index("--references") + 1] == "process1.tsv"
    processes.write_references(process, tmp_path / "process1.tsv")
    assert (tmp_path / "process1.tsv").read_text() == "".join(f"{line}\n" for line in LINES)


def test_a_process_without_references_is_told_of_none(processes, wish, tmp_path):
    (process,) = processes.processes_of([wish("a")])
    processes.write_references(process, tmp_path / "process1.tsv")
    assert "--references" not in process.options("session", "process1") and not list(tmp_path.iterdir())


def test_what_only_looks_is_told_of_no_references(processes, wish):
    wishes = [wish("a", references=LINES), wish("", check="topology", size=None)]
    (process,) = processes.processes_of(wishes)
    assert "--references" not in process.look().options("topology", "process1")


def test_references_that_cannot_be_written_are_told_to_nobody(processes, wish, tmp_path):
    """They are an aid of measuring: the cells are judged by the same ones afterwards."""
    (process,) = processes.processes_of([wish("a", references=LINES)])
    (tmp_path / "no folder").touch()
    processes.write_references(process, tmp_path / "no folder" / "process1.tsv")
    assert "--references" not in process.options("session", "process1")


@pytest.fixture
def lines_of(monkeypatch, tmp_path):
    """`references.for_program.lines_of`, of what `p2p.yaml` has."""
    module = importlib.import_module("linkmatrix.references.for_program")
    module.references.cache_clear()
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(tmp_path))
    (tmp_path / "p2p.yaml").write_text(
        "intranode_p2p:\n  $index: [reference_name, testcase]\n  mine:\n    a:\n"
        "      gpu0->gpu1: [395.0, -0.02, null, GB/s]\n      cell[NV18]: [390.5, -0.02, 0.02, GB/s]\n"
        "      min[NV18]: [380.0, -0.02, null, GB/s]\n"
    )
    yield module.lines_of
    module.references.cache_clear()


def test_the_program_is_told_of_cells_and_link_classes_and_of_no_summaries(lines_of):
    expected = ("a\tgpu0->gpu1\t395.0\tGB/s", "a\tcell[NV18]\t390.5\tGB/s")
    assert lines_of("intranode_p2p", "mine", "a", "p2p.yaml") == lines_of("intranode_p2p", "mine", "a") == expected
    assert lines_of("intranode_p2p", "mine", "b") == lines_of("intranode_p2p", "other", "a") == ()
    assert lines_of("crossnode_matrix", "mine", "a") == (), "nothing of another check's"


def test_the_program_is_told_of_each_pair_of_an_adopted_class(lines_of, tmp_path):
    """It knows the class that is found only: a pair that fell to another one would have the reference of that."""
    file = tmp_path / "p2p.yaml"
    file.write_text(file.read_text().replace("  mine:\n", "  mine:\n    $classes:\n      NV18: gpu[0-2]->gpu[0-1]\n"))
    told = {tuple(line.split("\t")[1:3]) for line in lines_of("intranode_p2p", "mine", "a")}
    others = ("gpu1->gpu0", "gpu2->gpu0", "gpu2->gpu1")
    assert told == {("gpu0->gpu1", "395.0"), *((pair, "390.5") for pair in others)}


def test_a_folder_of_references_is_read_once_for_what_is_told_and_what_is_judged(lines_of, tmp_path):
    judged_by = importlib.import_module("linkmatrix.references.for_program").references
    judged_by(str(tmp_path))
    lines_of("intranode_p2p", "mine", "a")
    assert judged_by.cache_info().misses == 1


def test_references_that_cannot_be_read_are_refused_elsewhere_and_told_to_nobody(lines_of, tmp_path):
    (tmp_path / "p2p.yaml").write_text("[")
    assert lines_of("intranode_p2p", "mine", "a", "p2p.yaml") == ()
    assert lines_of("intranode_p2p", "mine", "a", "none.yaml") == ()


@pytest.mark.parametrize(
    "key", ['"gpu0->gpu1\\t9"', '"cell[NV18\\n]"', '"cell[a\\rb]"', '"cell[a\\x85b]"'], ids=["tab", "line", "cr", "nel"]
)
def test_a_name_that_is_no_word_of_a_line_is_told_to_nobody(lines_of, tmp_path, key):
    """The program would refuse its file, and with it all that the process measures."""
    with (tmp_path / "p2p.yaml").open("a") as file:
        file.write(f"      {key}: [395.0, -0.02, null, GB/s]\n")
    assert [line.split("\t")[1] for line in lines_of("intranode_p2p", "mine", "a")] == ["gpu0->gpu1", "cell[NV18]"]


def test_a_value_that_no_cell_can_have_is_told_to_nobody(lines_of, tmp_path):
    with (tmp_path / "p2p.yaml").open("a") as file:
        file.write("      gpu1->gpu0: [1.0e-10, -0.02, null, GB/s]\n      gpu2->gpu0: [1.0e-9, -0.02, null, GB/s]\n")
    names = [line.split("\t")[1] for line in lines_of("intranode_p2p", "mine", "a")]
    assert names == ["gpu0->gpu1", "cell[NV18]", "gpu2->gpu0"]


def test_more_references_than_the_program_reads_are_told_to_nobody(processes, wish, monkeypatch, tmp_path):
    """Of eight test cases of 512 ranks there are two million: it would refuse them, and measure nothing."""
    (process,) = processes.processes_of([wish("a", references=LINES)])
    monkeypatch.setattr(processes, "MOST_BYTES", sum(len(line) + 1 for line in LINES) - 1)
    processes.write_references(process, tmp_path / "process1.tsv")
    assert "--references" not in process.options("session", "process1") and not list(tmp_path.iterdir())


def test_of_several_sizes_a_process_is_told_no_references(processes, wish):
    """What has a size of its own shares it, and has some: the program would refuse both."""
    wishes = [wish("a", size="4KiB,1MiB"), wish("latency", size=None, references=LINES)]
    (process,) = processes.processes_of(wishes)
    assert "--references" not in process.options("session", "process1")


@pytest.fixture(scope="module")
def node_session():
    return importlib.import_module("linkmatrix_checks.session").node_session


def test_a_test_of_several_nodes_that_comes_first_leaves_the_others_in_one_job(node_session, wish):
    """Each of them had a job of its own: on a busy cluster as many waits as tests."""
    wishes = [("ranks", wish("r", tasks=4, on_each=2)), *((name, wish(name)) for name in "abc")]
    session = SimpleNamespace(fits=lambda one, first: node_session.fits(None, one, first))
    for found in (wishes, wishes[::-1]):
        assert {name for name, _ in node_session.largest_job(session, found)} == {"a", "b", "c"}
    assert node_session.largest_job(session, []) == []


def test_a_wait_that_is_set_for_the_session_alone_is_its_limit(node_session):
    def limits(wait, exclusive=False):
        return SimpleNamespace(max_pending_time=wait, time_limit=None, exclusive_access=exclusive)

    for own, wanted in ((None, 28800.0), (60.0, 60.0), (90000.0, 28800.0)):
        session = limits(own)
        node_session.take_limits(session, [limits(28800.0, True), limits(None)])
        assert (session.max_pending_time, session.exclusive_access) == (wanted, True)
