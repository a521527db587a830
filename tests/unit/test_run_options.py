"""Options of ReFrame after the `--` of `linkmatrix run`, checked before ReFrame measures."""

import argparse
import json
import sys

import pytest

from linkmatrix.commands import run, run_options
from linkmatrix.commands.begin import NotStarted
from linkmatrix.errors import BadInput

TESTS = [
    {"@class": "intranode_p2p", "testcase": "write", "hashcode": "12", "tags": [], "size": "", "extra_opts": []},
    {"@class": "rank_binding", "tags": ["binding"], "ranks": 0},
    {"@class": "rank_collectives", "tags": ["acceptance"], "sizes": "", "extra_opts": []},
    {"@class": "node_sweep", "tags": ["node-sweep"], "extra_opts": []},
]


def python_program(folder, code):
    """The path of an executable program in a folder."""
    path = folder / "reframe"
    path.write_text(f"#!{sys.executable}\n{code}\n")
    path.chmod(0o755)
    return str(path)


def test_the_run_is_told_the_features_that_the_selected_tests_need(tmp_path):
    tests = [{"@class": "a", "valid_systems": ["*"]}, {"@class": "b", "valid_systems": ["+gpu +cuda", "+mpi"]}]
    program = python_program(tmp_path, f"print({json.dumps(tests, indent=2)!r})")
    told = run_options.check_run(program, ["-n", "a|b"], ["-n", "a|b"], tmp_path, {})
    assert told == {"LINKMATRIX_NEEDED": "cuda gpu mpi"}
    assert run_options.check_run(program, ["--mode=quick"], [], tmp_path, {}) == {}


@pytest.fixture
def checked(tmp_path, capsys):
    """A function that checks options with a ReFrame that lists TESTS behind other lines; returns what is printed."""

    def check(*more, before=""):
        program = python_program(tmp_path, f"print({before + json.dumps(TESTS, indent=2)!r})")
        run_options.check_run(program, more, more, tmp_path, {})
        return "".join(capsys.readouterr())

    return check


TWO, OF_ALL = ({"@class": "crossnode_matrix", "extent": extent, "nodes": 0} for extent in ("two", "all"))
OF_RANKS = {"@class": "rank_p2p", "nodes": 1}


@pytest.mark.parametrize(
    ("tests", "option", "is_refused"),
    [
        ([TWO], "nodes=16", True),
        ([TWO], "crossnode_matrix.nodes=16", True),
        ([TWO], "nodes=2", False),
        ([TWO, OF_ALL], "nodes=16", False),
        ([TWO, OF_RANKS], "nodes=16", False),
        ([TWO, OF_RANKS], "crossnode_matrix.nodes=16", True),
    ],
)
def test_a_number_of_nodes_is_refused_where_each_test_measures_two(tmp_path, tests, option, is_refused):
    """Of both extents, as in a mode, the number is of one of them."""
    program = python_program(tmp_path, f"print({json.dumps(tests, indent=2)!r})")
    more = ["-n", "crossnode", "-S", option]
    if not is_refused:
        run_options.check_run(program, more, more, tmp_path, {})
        return
    with pytest.raises(BadInput, match="two nodes.*extent=all"):
        run_options.check_run(program, more, more, tmp_path, {})


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("extra_opts=--size,1", "-S intranode_p2p.size=SIZE"),
        ("intranode_p2p.extra_opts=--samples,3,--size=1", "-S intranode_p2p.size=SIZE"),
        ("rank_collectives.extra_opts=--size,1", "-S rank_collectives.sizes=SIZE"),
        ("node_sweep.extra_opts=--size,1MiB", "omit the option"),
        ("extra_opts=--concurrency,serial", "omit the option"),
    ],
)
def test_an_option_that_no_reference_describes_is_bad_input(checked, option, remedy):
    with pytest.raises(BadInput, match=f"^--[a-z]+ is refused in extra_opts.*{remedy}$"):
        checked("-S", option)


@pytest.mark.parametrize("options", ["--short-samples,0", "--samples,9,--short-samples=0"])
def test_acceptance_takes_no_number_of_short_samples_in_extra_opts(options):
    with pytest.raises(BadInput, match="--short-samples is refused in extra_opts"):
        run_options.check_acceptance(["-S", f"intranode_p2p.extra_opts={options}"])


def measuring(*words):
    command = argparse.ArgumentParser()
    run.add_options(command)
    return command.parse_args(words)


def test_options_of_linkmatrix_are_those_of_the_checks():
    options = measuring("--samples", "31", "--wait-idle", "60", "--refuse-busy", "--", "-n", "a")
    chosen = ["-S", "extra_opts=--samples,31", "-S", "wait_idle=60", "-S", "refuse_busy=yes"]
    assert run_options.measuring_options(options) == chosen
    assert run_options.measuring_options(measuring(*run_options.measuring_words(options))) == chosen
    assert run_options.measuring_options(measuring()) == run_options.measuring_words(measuring()) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--samples", "0"], "--samples 0"),
        (["--samples", "10001"], "--samples 10001"),
        (["--wait-idle", "0"], "--wait-idle 0"),
        (["--wait-idle", "nan"], "--wait-idle nan"),
        (["--samples", "9", "--", "-S", "intranode_p2p.extra_opts=--samples,9"], "extra_opts"),
    ],
)
def test_a_wrong_or_contradicting_option_is_bad_input(words, named):
    with pytest.raises(BadInput, match=named):
        run_options.measuring_options(measuring(*words))


@pytest.mark.parametrize("options", ["--samples,6", "--samples=6", "--size,1,--samples,many"])
def test_acceptance_takes_no_fewer_samples_than_usual(options):
    run_options.check_acceptance(["-S", "extra_opts=--samples,7"])
    with pytest.raises(BadInput, match="acceptance needs at least 7 samples"):
        run_options.check_acceptance(["-S", f"extra_opts={options}"])


@pytest.mark.parametrize("option", ["--dry-run", "-l", "--list=T"])
def test_an_option_that_measures_nothing_names_the_command_that_takes_it(option):
    with pytest.raises(NotStarted, match=f"{option} measures nothing: run reframe .* {option}$"):
        run_options.check_options(["-n", "x", option])


@pytest.mark.parametrize(
    "option",
    [
        "size=1MiB",
        "intranode_p2p.size=1MiB",
        "node_session.suite=all,-nbody",
        "rank_binding.ranks=2",
    ],
)
def test_a_variable_of_a_selected_test_or_a_fixture_is_taken_without_a_word(checked, option):
    assert checked("-S", option) == checked(f"-S{option}") == checked(f"--setvar={option}") == ""


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("intranode_p2.size=1MiB", "intranode_p2p"),
        ("node_sesion.suite=all", "node_session"),
        ("gpu_topology.on=n1", ""),
    ],
)
def test_a_class_that_no_selected_test_has_is_printed(checked, option, meant):
    """ReFrame measures without the variable, and prints nothing."""
    said = checked("-S", option)
    assert said.startswith(f"note: -S {option}: no selected test has the class '{option.partition('.')[0]}'")
    assert (f"(is '{meant}' meant?)" in said) is bool(meant)


@pytest.mark.parametrize("before", ["", "loading [module x]\n", "\x1b[33mWARNING: [S] slow\x1b[0m\n"])
@pytest.mark.parametrize("option", ["siz=1MiB", "intranode_p2p.siz=1MiB"])
def test_a_variable_that_no_selected_test_has_is_bad_input(checked, option, before):
    with pytest.raises(BadInput, match=r"has a variable 'siz'.*is 'size' meant"):
        checked("-S", option, before=before)


@pytest.mark.parametrize("word", ["nosuch", "/deadbeef"])
def test_a_suite_with_an_unknown_word_is_bad_input(checked, word):
    with pytest.raises(BadInput, match=rf"^-S node_session\.suite={word}: unknown words: {word}"):
        checked("-S", f"node_session.suite={word}")


@pytest.mark.parametrize("suite", ["binding,-binding", "intranode_p2p,-write"])
def test_a_suite_without_tests_is_bad_input(checked, suite):
    with pytest.raises(BadInput, match=rf"^-S node_session\.suite={suite} selects no test$"):
        checked("-S", f"node_session.suite={suite}")


def test_a_suite_is_checked_on_the_system_of_the_run(tmp_path):
    """On a login node without a system file, ReFrame refused to list the tests of a suite: exit code 2."""
    listing = f"print({json.dumps(TESTS, indent=2)!r})"
    program = python_program(
        tmp_path, f"import sys\nsys.exit('no system') if '--system=s:p' not in sys.argv else {listing}"
    )
    more = ["-S", "node_session.suite=binding"]
    run_options.check_run(program, ["--system=s:p", *more], more, tmp_path, {})
    with pytest.raises(BadInput, match="no system"):
        run_options.check_run(program, more, more, tmp_path, {})


def test_a_suite_without_its_session_is_bad_input_that_names_the_session(checked):
    with pytest.raises(BadInput, match=r"is 'node_session\.suite' meant"):
        checked("-S", "suite=quick")


@pytest.mark.parametrize("option", [["-c", "nosuch"], ["-cnosuch"], ["--checkpath=nosuch"]])
def test_a_path_of_checks_that_does_not_exist_is_bad_input(checked, option):
    with pytest.raises(BadInput, match="nosuch does not exist"):
        checked(*option)


@pytest.mark.parametrize("option", [["-p", "nosuch"], ["-pnosuch"], ["--prgenv=nosuch"]])
def test_an_unknown_environment_is_bad_input_with_the_known_environments(tmp_path, option):
    listed = json.dumps([{"name": "builtin"}, {"name": "gnu"}, {"name": "cuda"}], indent=2)
    program = python_program(tmp_path, f"import sys\nprint({listed!r} if 'show-config' in sys.argv[-1] else '[]')")
    with pytest.raises(BadInput, match="^-p nosuch matches no environment: .* cuda, gnu$"):
        run_options.check_run(program, option, option, tmp_path, {})
    run_options.check_run(program, ["-p", "gn"], ["-p", "gn"], tmp_path, {})


def test_an_option_that_reframe_refuses_is_bad_input(tmp_path):
    program = python_program(tmp_path, "raise SystemExit('\\x1b[31mERROR: --repeat takes a number\\x1b[0m')")
    with pytest.raises(BadInput, match="refuses the options: --repeat takes a number$"):
        run_options.check_run(program, ["--repeat=x"], ["--repeat=x"], tmp_path, {})


@pytest.mark.parametrize("option", ["--restore-session", "--restore-session=report.json", "--duration=1m"])
def test_a_harmless_warning_of_an_option_ends_no_run(option):
    assert run_options.without_warnings(["--tag=quick", "--warn-as-error"], [option]) == ["--tag=quick"]
