"""The lines that measure something again can be copied into a shell, whatever names stand in them."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from linkmatrix.commands.run_summary import rerun_lines
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.runs import modes, stored, testcases
from linkmatrix.show.analysis import Analysis

DATA = Path(__file__).resolve().parents[1] / "data"
AWKWARD = [
    "two words",
    "  around  ",
    "%nid=n1+on",
    "node@rack",
    "it's",
    'a "quoted" one',
    "$HOME",
    "$(touch {0})",
    "`touch {0}`",
    "a;touch {0}",
    "a && touch {0}",
    "> {0}",
    "# no comment",
    "back\\slash",
    "~",
    "*",
    "!!",
    "-n",
    "",
    "größer → µs",
]
PLAYED = f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n"


def judged(name, verdict=Verdict.FAIL, hashcode=None, partition="s:p", **test):
    test = testcases.Test(name, hashcode=name if hashcode is None else hashcode, partition=partition, **test)
    return SimpleNamespace(test=test, verdict=verdict, matrices=())


RUN, GOOD = SimpleNamespace(rerun="reframe"), judged("good", Verdict.PASS)


@pytest.fixture
def typed(tmp_path):
    """What the program `linkmatrix`, or `p2p_matrix`, gets where a line is typed into each shell that there is."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("linkmatrix", "p2p_matrix"):
        (programs / name).write_text(PLAYED)
        (programs / name).chmod(0o755)

    def run(line):
        environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": "/nowhere", "LC_ALL": "C.UTF-8"}
        got = []
        for shell in (["sh"], ["bash", "--norc"]):
            done = subprocess.run(
                [*shell, "-s"], input=f"{line}\n", env=environment, cwd=tmp_path, capture_output=True, text=True
            )
            assert (done.returncode, done.stderr) == (0, ""), line
            got.append(json.loads(done.stdout))
        assert got[0] == got[1]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"], "the line did something else too"
        return got[0]

    return run


@pytest.mark.parametrize("name", AWKWARD)
def test_the_line_of_a_failed_test_case_says_to_reframe_what_the_report_says(tmp_path, typed, name):
    name = name.format(tmp_path / "made")
    (line,) = rerun_lines([judged(name, hashcode=name or "abc", partition=f"{name}:{name}")])
    head, _, command = line.partition("again: ")
    assert head.strip() == ""
    assert typed(command) == ["measure", "--", f"--system={name}:{name}", "-n", f"/{name or 'abc'}"]


@pytest.mark.parametrize("name", AWKWARD)
def test_the_line_of_a_record_is_the_command_that_made_it(tmp_path, typed, write_record, make_record, name):
    name = name.format(tmp_path / "made")
    record = make_record()
    record["command"] = ["p2p_matrix", "--devices", name, name]
    path = write_record(record, tmp_path / "run" / "record.json")
    run = stored.find(path)
    (on_page,) = Analysis(run, []).repeat_all()
    for file in (path, path.parent):
        (file.unlink if file.is_file() else file.rmdir)()
    assert on_page == run.rerun
    assert typed(run.rerun) == ["--devices", name, name]


@pytest.mark.parametrize(
    ("name", "srun", "words"),
    [
        ("slurm3_nodes", False, "mpirun --host lmx1:1,lmx2:1,lmx3:1 "),
        ("slurm3_nodes", True, "srun --nodelist=lmx1,lmx2,lmx3 --ntasks-per-node=1 "),
        ("cpu16_ranks_hog", False, "mpirun -n 4 "),
    ],
)
def test_ranks_are_started_again_by_the_launcher_of_the_machine(tmp_path, monkeypatch, name, srun, words):
    """A record has the words of a rank, and not those of mpirun or srun."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SLURM_CONF", "/nowhere/slurm.conf")
    if srun:
        (tmp_path / "srun").write_text("")
        (tmp_path / "srun").chmod(0o755)
    assert stored.find(DATA / f"{name}.record.json").rerun.startswith(f"{words}p2p_matrix ")
    assert stored.find(DATA / "h200x4_write_ce.record.json").rerun.startswith(".build/all/p2p_matrix ")


def test_a_name_of_two_lines_is_no_second_command(tmp_path, typed):
    name = f"one\ntouch {tmp_path / 'made'}"
    (line,) = rerun_lines([judged(name)])
    assert typed(line.partition("again: ")[2])[-1] == "/" + name.replace("\n", " ")


def test_a_fixture_has_no_line_because_its_hash_selects_no_test():
    failed = [judged("session", fixture=True), judged("test")]
    (line,) = rerun_lines(failed)
    assert line.endswith("# test")
    (command,) = Analysis(RUN, [*failed, GOOD], Verdict.FAIL).repeat()
    assert command.endswith("-n /test")


def test_one_command_repeats_all_failed_tests_of_a_partition():
    names = [f"test{number}" for number in range(5)]
    failed = [judged(name, Verdict.DISTURBED) for name in names]
    (command,) = Analysis(RUN, [*failed, GOOD], Verdict.FAIL).repeat()
    assert re.findall(r"-n /(\w+)", command) == names
    two = Analysis(RUN, [*failed, judged("worse", partition="s:q"), GOOD], Verdict.FAIL).repeat()
    assert [re.findall(r"--system=(\S+)", command) for command in two] == [["s:q"], ["s:p"]]


def test_a_test_that_was_pinned_to_a_node_is_repeated_on_it():
    both = [judged(name, node="n7") for name in ("intranode_p2p %testcase=a", "node_sweep %node=n7")]
    one, two = Analysis(RUN, [*both, GOOD], Verdict.FAIL).repeat()
    assert one.endswith("-S on=n7") and "LINKMATRIX_NODES" not in one
    assert two.startswith("LINKMATRIX_NODES=n7 ") and "-S" not in two


def test_tests_of_several_runs_are_repeated_by_reframe_and_not_by_the_launcher_of_this_machine(make_record):
    both = [judged("p2p", Verdict.NOT_JUDGED, partition=one, record=make_record()) for one in ("s:p", "s:q")]
    found = Analysis(SimpleNamespace(rerun=""), both, Verdict.NOT_JUDGED).repeat()
    assert [shlex.split(command)[3:] for command in found] == [
        [f"--system={one}", "-n", "/p2p"] for one in ("s:p", "s:q")
    ]


def test_the_name_of_a_node_steers_no_terminal(typed):
    (line,) = rerun_lines([judged("node_sweep %node=n1", hashcode="abc", node="n\x1b[2J\n1")])
    assert line.isprintable()
    assert typed(line.partition("again: ")[2])[-1] == "/abc"


def session_of(options, cmdline="reframe -r"):
    """`session_info` of ReFrame's report for its option --session-extras."""
    (name, value) = options
    assert name == "--session-extras"
    return {"cmdline": cmdline, **dict(one.split("=", 1) for one in value.split(","))}


@pytest.mark.parametrize(
    "command",
    [
        ["linkmatrix", "measure"],
        ["linkmatrix", "measure", "--samples=31", "--", "-n", "a b", "-S", "extra_opts=--samples,31"],
        ["linkmatrix", "run", "--mode=sweep", "--nodes=n[001-016,18],n20", "--", "-J", "comment=50%,=é"],
    ],
)
def test_a_session_of_linkmatrix_is_repeated_by_the_command_that_began_it(command):
    session = session_of(modes.session_extras(command, measure="m-1"))
    assert shlex.split(modes.session_command(session, ["n1"])) == command
    assert session["measure"] == "m-1"


@pytest.mark.parametrize("line", ["reframe -r --session-extras other=1 -n a", "measure=1 it's", ""])
def test_another_session_is_repeated_as_it_was(line):
    assert modes.session_command({"cmdline": line}, []) == line


def test_a_sweep_of_plain_reframe_is_repeated_with_its_nodes(typed):
    command = modes.session_command({"cmdline": "p2p_matrix -r --mode=sweep"}, ["n1", "n2"])
    assert command.startswith(f"{modes.NODES}=n1,n2 ")
    assert typed(command) == ["-r", "--mode=sweep"]


def test_the_command_of_acceptance_takes_its_short_samples_again(make_record):
    record = make_record()
    record["results"][0]["short_samples"] = {"asked": 72, "fewest": 72}
    failed = judged("abc", record=record)
    (command,) = Analysis(RUN, [failed, GOOD], Verdict.FAIL).repeat()
    assert "-n /abc" in command and command.endswith("--setvar=nodes_session.short_samples=72")
    (line,) = rerun_lines([failed])
    assert "--setvar=node_session.short_samples=72" in line


@pytest.mark.parametrize("mode", ["quick", "nightly", "acceptance", "sweep", "pair"])
def test_the_mode_of_a_run_is_known_from_its_report(mode):
    assert modes.session_mode(session_of(modes.session_extras(["linkmatrix"], mode))) == mode
    assert modes.session_mode({"cmdline": f"reframe -r --mode={mode} -v"}) == mode
    assert modes.session_mode({"cmdline": f"reframe -r --mode {mode}"}) == mode


@pytest.mark.parametrize("cmdline", ["reframe 'r", "reframe --mode=measure", "reframe --tag=quick", None])
def test_a_selection_of_tests_is_no_mode(cmdline):
    assert modes.session_mode({"cmdline": cmdline}) == ""
    assert modes.session_mode({"cmdline": cmdline, "linkmatrix_mode": ["quick"]}) == ""
