"""Which test cases share a process: reframe_ext/sessions/processes.py."""

import importlib
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="module")
def processes():
    return importlib.import_module("linkmatrix.reframe_ext.sessions.processes")


@pytest.fixture
def job_request(processes):
    """A function that makes the job request of a test, called as its test case is by default."""

    def make(testcase, **more):
        fields = {"check": f"test of {testcase}", "opts": ("--backend", "cuda"), "size": "", **more}
        return processes.JobRequest(testcase=testcase, **fields)

    return make


def shared(processes, *job_requests):
    """The test cases of each process."""
    return [process.testcases for process in processes.plan_processes(job_requests)]


def test_what_asks_for_the_same_shares_a_process(processes, job_request):
    assert shared(
        processes,
        job_request("a"),
        job_request("b"),
        job_request("c", tasks=8, ranks_per_node=8),
        job_request("d", tasks=8, ranks_per_node=8),
    ) == [
        ["a", "b"],
        ["c", "d"],
    ]
    assert shared(processes, job_request("a"), job_request("b", opts=("--backend", "cuda", "--samples", "15"))) == [
        ["a"],
        ["b"],
    ]


def test_a_size_that_does_not_matter_is_no_reason_for_a_process(processes, job_request):
    latency = job_request("latency", size=None)
    assert shared(processes, latency, job_request("a", size="1MiB"), job_request("b", size="2MiB")) == [
        ["latency", "a"],
        ["b"],
    ]
    (process,) = processes.plan_processes([latency, job_request("a", size="1MiB")])
    assert process.size == "1MiB"
    assert shared(processes, job_request("a", size=""), job_request("b", size="1MiB")) == [["a"], ["b"]]


def test_a_test_case_that_may_be_refused_ends_no_other(processes, job_request):
    puts = [job_request(name, group="puts") for name in ("put", "more")]
    assert shared(processes, job_request("a"), *puts, job_request("b")) == [["a", "b"], ["put", "more"]]


def test_another_program_has_its_own_process_and_none_of_the_options_of_p2p_matrix(processes, job_request):
    other = job_request("", program="/bin/other", opts=())
    binding, measuring = processes.plan_processes([job_request("a"), other])
    assert (binding.request.program, binding.options("session", "process1"), binding.topology_tests) == (
        "/bin/other",
        [],
        [],
    )
    assert measuring.testcases == ["a"]


def test_collectives_are_measured_by_their_own_program_with_the_options_of_a_process(processes, job_request):
    of_all = [job_request(name, program="collective_perf", opts=("--size", "4KiB"), size=None) for name in ("c", "d")]
    matrices, together = processes.plan_processes([*of_all, job_request("a")])
    assert (matrices.testcases, together.testcases) == (["a"], ["c", "d"])
    said = together.options("session", "process2")
    assert said[:4] == ["--testcase", "c,d", "--record", "process2/record.json"]
    assert said[-4:] == ["--asked-by", "session", "--size", "4KiB"]
    assert (together.topology_tests, together.topology_process(), together.seconds()) == (
        [],
        None,
        processes.MIN_SECONDS,
    )


def test_each_process_runs_its_own_program_of_the_build(processes, job_request):
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
    job_requests = [
        job_request("a"),
        job_request("c", program="collective_perf"),
        job_request("", program="/bin/where", opts=()),
    ]
    ran = [
        processes.process_commands(test, one, "p", "s")[1].split()[0] for one in processes.plan_processes(job_requests)
    ]
    assert ran == ["/bin/where", "/stage/prefix/bin/p2p_matrix", "/stage/prefix/bin/collective_perf"]


def test_variables_of_one_test_are_those_of_its_own_process_under_any_launcher(processes, job_request):
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
    ranks = {"tasks": 2, "ranks_per_node": 1}
    usual, without = processes.plan_processes(
        [job_request("a", **ranks), job_request("b", environment=("A=^b c",), **ranks)]
    )
    assert processes.process_commands(test, usual, "p", "s")[1].startswith("mpirun -np 2 /stage/prefix/bin/p2p_matrix ")
    assert processes.process_commands(test, without, "p", "s")[1].startswith(
        "mpirun -np 2 env 'A=^b c' /stage/prefix/bin/"
    )


@pytest.mark.parametrize("first", [0, 1])
def test_what_only_looks_rides_on_the_process_that_measures_the_same_devices(processes, job_request, first):
    job_requests = [job_request("", check="topology", size=None), job_request("a", check="a", size="1MiB")]
    (process,) = processes.plan_processes(job_requests[first:] + job_requests[:first])
    assert (process.testcases, process.size, process.topology_tests) == (["a"], "1MiB", ["topology"])
    said = process.options("session", "process1")
    assert said[:2] == ["--testcase", "a"] and "--topology" not in said


def test_what_only_looks_has_a_process_of_its_own_where_none_measures_with_its_back_end(processes, job_request):
    ranks = job_request("b", tasks=4, ranks_per_node=4)
    for others in ([], [job_request("a", opts=("--backend", "host"))], [ranks], [job_request("put", group="puts")]):
        look = processes.plan_processes([*others, job_request("", size=None)])[0]
        assert (look.testcases, look.topology_process()) == ([], None)
        assert look.options("topology", "process1")[0] == "--topology"
        assert look.seconds() == processes.TOPOLOGY_SECONDS


def test_a_process_that_left_no_record_is_followed_by_one_that_looks(processes, job_request):
    """A GPU that lost its peer access is refused by what measures before it is looked at."""
    (process,) = processes.plan_processes([job_request("a", size="1MiB"), job_request("", check="topology", size=None)])
    said = process.topology_process().options("topology", f"process1/{processes.TOPOLOGY_FOLDER}")
    assert said[:3] == ["--topology", "--record", "process1/topology/record.json"]
    assert said[-2:] == ["--backend", "cuda"] and "--size" not in said
    (alone,) = processes.plan_processes([job_request("a")])
    assert alone.topology_process() is None


def test_a_process_has_time_for_all_of_its_test_cases_unless_its_time_is_said(processes, job_request):
    (few,) = processes.plan_processes([job_request("a")])
    (many,) = processes.plan_processes([job_request(f"t{number}") for number in range(60)])
    (said,) = processes.plan_processes([job_request("a", opts=("--backend", "cuda", "--timeout", "7"))])
    assert (few.seconds(), many.seconds(), said.seconds()) == (600, 3600, 7)
    assert "--timeout" not in few.options("session", "process1")
    assert many.options("session", "process1")[2:4] == ["--timeout", "3600"]
    assert said.options("session", "process1").count("--timeout") == 1
    assert processes.Process(job_request("a"), None).options("a check", "p")[-3:] == ["'a check'", "--backend", "cuda"]


@pytest.fixture
def ranks(job_request):
    """A function that makes the job request of a test of ranks; without a test case, of where they are."""

    def make(testcase="", tasks=4, ranks_per_node=4, **more):
        program = {} if testcase else {"program": "/bin/where", "execs_next": True, "check": "where", "opts": ()}
        return job_request(testcase, tasks=tasks, ranks_per_node=ranks_per_node, **{**program, **more})

    return make


@pytest.mark.parametrize("first", [0, 1])
def test_ranks_say_where_they_are_before_they_measure_in_one_start_of_the_launcher(
    processes, ranks, job_request, first
):
    job_requests = [ranks(), ranks("b", check="b", size="1MiB")]
    alone, process = processes.plan_processes(
        [job_request("a", check="a"), *job_requests[first:], *job_requests[:first]]
    )
    assert (process.testcases, process.predecessor.request.program, alone.predecessor) == (
        ["b"],
        "/bin/where",
        None,
    )
    assert processes.processes_by_test([alone, process]) == {"a": (0, 1), "b": (1, 1), "where": (1, 1)}
    assert {one.check for one in process.requests()} == {"b", "where"}


def test_ranks_that_are_started_in_another_way_or_on_several_nodes_say_it_by_themselves(processes, ranks, job_request):
    others = [
        job_request("a"),
        ranks("b", tasks=2, ranks_per_node=2),
        ranks("c", tasks=8),
        ranks("d", without_mpi=True),
    ]
    assert len(processes.plan_processes([ranks(), *others])) == 5
    assert len(processes.plan_processes([ranks(tasks=8), ranks("b", tasks=8)])) == 2
    same = ranks(execs_next=False)
    assert len(processes.plan_processes([same, ranks("b")])) == 2


LINES = ("a\tgpu0->gpu1\t395.0\tGB/s", "a\tcell[NV18]\t390.0\tGB/s")


def test_a_process_is_told_what_the_cells_of_its_test_cases_should_be(processes, job_request, tmp_path):
    (process,) = processes.plan_processes(
        [job_request("a", references=LINES), job_request("b"), job_request("a", check="twice")]
    )
    said = process.options("session", "process1")
    assert said[said.index("--references") + 1] == "process1.tsv"
    processes.write_references(process, tmp_path / "process1.tsv")
    assert (tmp_path / "process1.tsv").read_text() == "".join(f"{line}\n" for line in LINES)


@pytest.fixture
def program_references(monkeypatch, tmp_path):
    """`references.tables.program_references`, of what `p2p.yaml` has."""
    module = importlib.import_module("linkmatrix.references.tables")
    module.loaded.cache_clear()
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(tmp_path))
    (tmp_path / "p2p.yaml").write_text(
        "intranode_p2p:\n  $index: [reference_name, testcase]\n  mine:\n    a:\n"
        "      gpu0->gpu1: [395.0, -0.02, null, GB/s]\n      cell[NV18]: [390.5, -0.02, 0.02, GB/s]\n"
        "      min[NV18]: [380.0, -0.02, null, GB/s]\n"
    )
    yield module.program_references
    module.loaded.cache_clear()


def test_the_program_is_told_of_cells_and_link_classes_and_of_no_summaries(program_references):
    expected = ("a\tgpu0->gpu1\t395.0\tGB/s", "a\tcell[NV18]\t390.5\tGB/s")
    assert (
        program_references("intranode_p2p", "mine", "a", "p2p.yaml")
        == program_references("intranode_p2p", "mine", "a")
        == expected
    )
    assert program_references("intranode_p2p", "mine", "b") == program_references("intranode_p2p", "other", "a") == ()
    assert program_references("crossnode_matrix", "mine", "a") == (), "nothing of another check's"


def test_the_program_is_told_of_each_pair_of_an_adopted_class(program_references, tmp_path):
    """It knows the class that is found only: a pair that fell to another one would have the reference of that."""
    file = tmp_path / "p2p.yaml"
    file.write_text(file.read_text().replace("  mine:\n", "  mine:\n    $classes:\n      NV18: gpu[0-2]->gpu[0-1]\n"))
    told = {tuple(line.split("\t")[1:3]) for line in program_references("intranode_p2p", "mine", "a")}
    others = ("gpu1->gpu0", "gpu2->gpu0", "gpu2->gpu1")
    assert told == {("gpu0->gpu1", "395.0"), *((pair, "390.5") for pair in others)}


def test_a_folder_of_references_is_read_once_for_what_is_told_and_what_is_judged(program_references, tmp_path):
    judged_by = importlib.import_module("linkmatrix.references.tables").loaded
    judged_by(str(tmp_path))
    program_references("intranode_p2p", "mine", "a")
    assert judged_by.cache_info().misses == 1


def test_references_that_cannot_be_read_are_refused_elsewhere_and_told_to_nobody(program_references, tmp_path):
    (tmp_path / "p2p.yaml").write_text("[")
    assert program_references("intranode_p2p", "mine", "a", "p2p.yaml") == ()
    assert program_references("intranode_p2p", "mine", "a", "none.yaml") == ()


@pytest.mark.parametrize(
    "key", ['"gpu0->gpu1\\t9"', '"cell[NV18\\n]"', '"cell[a\\rb]"', '"cell[a\\x85b]"'], ids=["tab", "line", "cr", "nel"]
)
def test_a_name_that_is_no_word_of_a_line_is_told_to_nobody(program_references, tmp_path, key):
    """The program would refuse its file, and with it all that the process measures."""
    with (tmp_path / "p2p.yaml").open("a") as file:
        file.write(f"      {key}: [395.0, -0.02, null, GB/s]\n")
    assert [line.split("\t")[1] for line in program_references("intranode_p2p", "mine", "a")] == [
        "gpu0->gpu1",
        "cell[NV18]",
    ]


def test_a_value_that_no_cell_can_have_is_told_to_nobody(program_references, tmp_path):
    with (tmp_path / "p2p.yaml").open("a") as file:
        file.write("      gpu1->gpu0: [1.0e-10, -0.02, null, GB/s]\n      gpu2->gpu0: [1.0e-9, -0.02, null, GB/s]\n")
    names = [line.split("\t")[1] for line in program_references("intranode_p2p", "mine", "a")]
    assert names == ["gpu0->gpu1", "cell[NV18]", "gpu2->gpu0"]


def test_more_references_than_the_program_reads_are_told_to_nobody(processes, job_request, monkeypatch, tmp_path):
    """Of eight test cases of 512 ranks there are two million: it would refuse them, and measure nothing."""
    (process,) = processes.plan_processes([job_request("a", references=LINES)])
    monkeypatch.setattr(processes, "MAX_REFERENCE_BYTES", sum(len(line) + 1 for line in LINES) - 1)
    processes.write_references(process, tmp_path / "process1.tsv")
    assert "--references" not in process.options("session", "process1") and not list(tmp_path.iterdir())


def test_of_several_sizes_a_process_is_told_no_references(processes, job_request):
    """What has a size of its own shares it, and has some: the program would refuse both."""
    job_requests = [job_request("a", size="4KiB,1MiB"), job_request("latency", size=None, references=LINES)]
    (process,) = processes.plan_processes(job_requests)
    assert "--references" not in process.options("session", "process1")


@pytest.fixture(scope="module")
def node_session():
    return importlib.import_module("linkmatrix_checks.session").node_session


def test_a_test_of_several_nodes_that_comes_first_leaves_the_others_in_one_job(node_session, job_request):
    """Each of them had a job of its own: on a busy cluster as many waits as tests."""
    job_requests = [
        ("ranks", job_request("r", tasks=4, ranks_per_node=2)),
        *((name, job_request(name)) for name in "abc"),
    ]
    session = SimpleNamespace(can_measure=lambda one, first: node_session.can_measure(None, one, first))
    for found in (job_requests, job_requests[::-1]):
        assert {name for name, _ in node_session.largest_job(session, found)} == {"a", "b", "c"}
    assert node_session.largest_job(session, []) == []


def test_a_wait_that_is_set_for_the_session_alone_is_its_limit(node_session):
    def limits(wait, exclusive=False):
        return SimpleNamespace(max_pending_time=wait, time_limit=None, exclusive_access=exclusive)

    for own, wanted in ((None, 28800.0), (60.0, 60.0), (90000.0, 28800.0)):
        session = limits(own)
        node_session.set_limits(session, [limits(28800.0, True), limits(None)])
        assert (session.max_pending_time, session.exclusive_access) == (wanted, True)


def test_what_the_build_left_is_started_from_its_folder_and_anything_else_by_its_path(processes, tmp_path):
    """Nodes may lack the folder of the sources."""
    assert processes.program_path("binding.sh", tmp_path / "bin") == f"{tmp_path}/bin/binding.sh"
    assert processes.program_path("/opt/tool", tmp_path / "bin") == "/opt/tool"
