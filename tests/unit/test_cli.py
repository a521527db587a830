import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.show import matrix_text


@pytest.fixture
def linkmatrix(reference_folder, capsys):
    """Runs the command line with the references of the tests: (exit code, standard output, standard error)."""

    def run(*arguments):
        if arguments[0] in ("show", "report"):
            arguments = (*arguments, "--references", reference_folder)
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("changes", "arguments", "code"),
    [
        ({}, ["--reference", "hgx"], 0),
        ({"off": {(0, 1): 300.0}}, ["--reference", "hgx"], 1),
        ({"off": {(0, 1): "corrupt"}, "result": "FAIL"}, [], 1),
        ({}, [], 0),
        ({"off": {(0, 1): "timeout"}, "result": "TIMEOUT"}, ["--reference", "hgx"], 3),
    ],
)
@pytest.mark.parametrize("command", ["show", "report"])
def test_the_exit_code_is_the_verdict(linkmatrix, write_record, command, changes, arguments, code):
    assert linkmatrix(command, write_record(**changes), *arguments)[0] == code


def test_nothing_to_compare_with_is_bad_input(linkmatrix, write_record):
    code, _, errors = linkmatrix("compare", write_record(), "--against", "")
    assert code == 2 and "--against '' is neither a record" in errors


def test_bad_input_is_one_line_and_no_traceback(linkmatrix, tmp_path):
    (tmp_path / "odd.json").write_text("{")
    for arguments in (["odd.json"], ["none.json"], ["."], ["odd.json", "--reference", "hgx"]):
        code, out, errors = linkmatrix("show", tmp_path / arguments[0], *arguments[1:])
        assert (code, out) == (2, "")
        assert errors.startswith("linkmatrix: ") and errors.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", ""],
        ["report", ".", ""],
        ["history", ""],
        ["compare", "", "--against", "h800"],
        ["export", "--format", "csv", ""],
        ["adopt", ""],
        ["diagnose", "", "--references", ""],
    ],
)
def test_an_empty_name_is_bad_input_and_not_the_current_folder(arguments, write_record, tmp_path, monkeypatch, capsys):
    write_record()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2 and "the path is empty: name a file or folder" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "report"])
@pytest.mark.parametrize("name", ["\ud800", "$_%^\\alpha$", "\u202ename"], ids=ascii)
def test_no_name_of_a_device_breaks_what_is_shown(linkmatrix, write_record, make_record, tmp_path, command, name):
    content = make_record()
    content["devices"][0]["name"] = name
    content["results"][0]["notes"] = content["notes"] = content["command"] = [name]
    out = ["--out", tmp_path / "out"] if command == "report" else []
    assert linkmatrix(command, write_record(content), "--reference", "hgx", *out)[0] == 0


def test_a_misspelt_table_of_references_is_bad_input_and_not_no_verdict(linkmatrix, write_record):
    code, _, errors = linkmatrix("show", write_record(), "--reference", "hxg")
    assert code == 2
    assert "'hxg'" in errors and "hgx" in errors


def test_a_report_is_a_page_and_two_pictures_of_each_matrix(linkmatrix, write_record, tmp_path):
    folder = tmp_path / "new" / "out"
    _, out, _ = linkmatrix("report", write_record(), "--out", folder)
    names = {"report.html", "device_to_device_memcpy_write_ce.png", "device_to_device_memcpy_write_ce.svg"}
    assert {path.name for path in folder.iterdir()} == names
    assert all(str(folder / name) in out for name in names)
    assert (folder / "report.html").stat().st_size < 3_000_000


def test_pictures_of_one_test_case_in_two_records_do_not_overwrite_each_other(
    linkmatrix, make_record, write_record, tmp_path
):
    for day, name in enumerate(("a", "b"), 1):
        record = make_record() | {"started": f"2026-11-{day:02}T01:50:22Z"}
        write_record(record, path=tmp_path / "many" / name / "record.json")
    linkmatrix("report", tmp_path / "many", "--out", tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.png"))) == 2


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here, in which nobody makes a folder")
def test_a_folder_that_cannot_be_written_is_exit_code_4(linkmatrix, write_record):
    code, _, errors = linkmatrix("report", write_record(), "--out", "/proc/linkmatrix/out")
    assert code == 4
    assert "/proc/linkmatrix" in errors and errors.count("\n") == 1


def test_a_place_that_can_be_no_folder_is_bad_input(linkmatrix, write_record, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, errors = linkmatrix("report", write_record(), "--out", tmp_path / "file" / "out")
    assert code == 2
    assert str(tmp_path / "file") in errors and errors.count("\n") == 1


def test_a_reader_that_leaves_early_does_not_look_like_a_failure(write_record, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    command = [sys.executable, "-m", "linkmatrix", "show", str(write_record())]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (4, "")


def test_matrices_of_other_sizes_or_paths_do_not_share_a_scale(make_record):
    results = [make_record()["results"][0] for _ in range(4)]
    results[1]["peer_access"] = "off"
    results[2]["size_bytes"] = 16
    keys = [matrix_text.scale_key(result) for result in results]
    assert keys[0] == keys[3] and len(set(keys)) == 3


@pytest.mark.parametrize("words", ["run -n NAME", "measure --tag quick", "schedule --cron -t rdma"])
def test_an_option_of_reframe_before_the_dashes_is_refused_with_where_it_stands(words, capsys):
    command, *_ = words.split()
    with pytest.raises(SystemExit) as end:
        cli.main(words.split())
    assert end.value.code == 2
    assert f"write options of ReFrame after --: linkmatrix {command} … -- -n NAME" in capsys.readouterr().err


def test_where_nothing_was_measured_yet_it_is_said_how_to_in_a_site_s_folder_too(linkmatrix, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path))
    code, _, error = linkmatrix("show")
    assert code == 2 and "measure first (linkmatrix measure)" in error, "a folder of linkmatrix init has no Makefile"


def test_usage_errors_are_exit_code_2(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    for arguments in (["explode"], ["show", "--colour"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        assert ended.value.code == 2


#: Started with this, Python has numpy and the packages that ReFrame brings, and none of the others of pyproject.toml.
ONLY_REFRAME = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pandas", "matplotlib", "rich", "ruamel", "fastjsonschema"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Nothing())
from linkmatrix.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def started(reference_folder):
    """Starts the command in a process of its own."""

    def start(*arguments, before=ONLY_REFRAME):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1", "COLUMNS": "100"}
        command = [sys.executable, "-c", before, *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    return start


def test_where_there_is_only_reframe_show_says_the_same(started, write_record, reference_folder):
    arguments = ["show", write_record(off={(0, 1): 300.0}), "--references", reference_folder, "--reference", "hgx"]
    bare = started(*arguments)
    full = started(*arguments, before="import sys; from linkmatrix.cli import main; sys.exit(main(sys.argv[1:]))")
    assert (bare.returncode, bare.stderr) == (1, "")
    assert full.stdout == bare.stdout and "300.00✗" in bare.stdout


def test_a_plain_show_in_a_pipe_loads_only_what_it_uses(started, write_record):
    """Locks, bundles, manifests, stored verdicts and published systems are of other commands or of reports."""
    tell = "print(*(name for name in sys.modules if name in unused), file=sys.stderr)"
    names = ["lock", "runs.bundle", "runs.manifest", "runs.verdict_file", "show.by_size"]
    unused = {"rich", "pandas", "matplotlib", "tarfile", *(f"linkmatrix.{name}" for name in names)}
    done = started(
        "show",
        write_record(),
        before=f"import sys; from linkmatrix import cli; unused = {unused}\ncli.main(sys.argv[1:]); {tell}",
    )
    assert (done.returncode, done.stderr.split()) == (0, [])


@pytest.mark.parametrize("command", ["report", "adopt"])
def test_a_command_that_lacks_a_package_names_it_in_one_sentence(started, write_record, command):
    done = started(command, write_record())
    assert (done.returncode, done.stdout) == (4, "")
    assert f"'{command}' needs the Python package " in done.stderr and done.stderr.count("\n") == 1


def test_the_page_of_one_node_needs_no_pandas(started, write_record, tmp_path):
    """It takes longer to load than the page takes to be made."""
    code = ONLY_REFRAME.replace('"matplotlib", "rich", "ruamel", "fastjsonschema"', "")
    done = started("report", write_record(), "--out", tmp_path / "out", before=code)
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("command", ["show", "diagnose", "export"])
def test_without_numpy_a_command_says_so_in_one_sentence(started, write_record, command):
    done = started(command, write_record(), before=ONLY_REFRAME.replace('{"pandas",', '{"numpy", "pandas",'))
    assert (done.returncode, done.stdout) == (4, "")
    assert f"'{command}' needs the Python package numpy" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["show", "run", "compare", "import", "export", "detect", "schedule", "diagnose"])
def test_the_commands_of_a_cluster_need_no_more_than_reframe_and_numpy(started, command):
    assert started(command, "--help").returncode == 0


def test_the_list_of_commands_imports_nothing_but_python():
    text = "import json, sys; before = set(sys.modules)\nfrom linkmatrix import cli\n"
    text += "try: cli.main(['--help'])\nexcept SystemExit: print(json.dumps(sorted(set(sys.modules) - before)))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=60)
    imported = {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert imported <= {*sys.stdlib_module_names, "linkmatrix"}


def test_every_command_has_a_module_that_takes_its_options_and_an_example(capsys):
    for name, command in cli.COMMANDS.items():
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--help"])
        assert ended.value.code == 0 and "xample" in capsys.readouterr().out
        words = shlex.split(command.example.partition("&&")[0])[1:]
        assert not words or (words[0] == name and cli.parser(name).parse_args(words).command)


def test_without_a_command_all_commands_are_printed_and_it_is_wrong_usage(capsys):
    assert cli.main([]) == 2
    out = capsys.readouterr().out
    assert all(command.purpose.split()[0] in out and f"    {name} " in out for name, command in cli.COMMANDS.items())


@pytest.fixture
def installed(tmp_path):
    """Starts the command as a wheel installs it: the package alone, no repository around it nor around its user."""
    place, home = tmp_path / "lib" / "python3" / "site-packages", tmp_path / "home"
    shutil.copytree(Path(cli.__file__).parent, place / "linkmatrix", ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()

    def start(*arguments):
        environment = {key: value for key, value in os.environ.items() if key != "LINKMATRIX_PREFIX"}
        environment |= {"PYTHONPATH": str(place), "NO_COLOR": "1"}
        command = [sys.executable, "-m", "linkmatrix", *map(str, arguments)]
        return subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, timeout=120)

    return start


@pytest.mark.parametrize("command", ["show", "diagnose", "report"])
def test_where_there_is_no_repository_a_command_asks_for_references_in_one_sentence(installed, write_record, command):
    done = installed(command, write_record())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "site-packages" not in done.stderr, "its user has made nothing there"
    assert "config/references is missing here" in done.stderr and "--references" in done.stderr


def test_where_there_is_no_repository_references_that_are_named_are_those(installed, write_record, reference_folder):
    named = ["--references", reference_folder, "--reference", "hgx"]
    done = installed("show", write_record(), *named)
    assert (done.returncode, done.stderr) == (0, "")
    assert installed("show", write_record(off={(0, 1): 300.0}), *named).returncode == 1


@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["history"],
        ["next", "--budget", "1-node-hours"],
        ["note", "--slot", "n1/0", "x"],
        ["measure"],
        ["run"],
    ],
    ids=" ".join,
)
def test_results_that_would_be_in_a_file_are_bad_input_with_the_variable(tmp_path, monkeypatch, capsys, command):
    (tmp_path / "file").write_text("whatever")
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "file"))
    assert cli.main(command) == 2
    errors = capsys.readouterr().err
    assert "is not a folder: name another folder in $LINKMATRIX_PREFIX" in errors and errors.count("\n") == 1
