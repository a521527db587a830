"""However a command ends: an exit code that means what it says, and one sentence, never a traceback."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.commands import show

RECORD = Path(__file__).parents[1] / "data" / "h200x4_write_ce.record.json"
REPORT = {"session_info": {"cmdline": "reframe"}, "runs": [{"testcases": []}]}


@pytest.fixture
def ended(linkmatrix, monkeypatch, tmp_path):
    """Runs the command line in an empty folder of results: (exit code, standard output, standard error)."""
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "results"))
    return linkmatrix


@pytest.fixture
def process(monkeypatch):
    """Runs the command in a process of its own, by a line of the shell in which "$@" starts it."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))

    def run(line, *arguments, **options):
        command = ["sh", "-c", line, "sh", sys.executable, "-m", "linkmatrix", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, **options)

    return run


def one_sentence(errors):
    return errors.startswith("linkmatrix: ") and errors.count("\n") == 1 and "Traceback" not in errors


def test_what_nobody_foresaw_is_4_and_one_sentence_never_fail(ended, write_record, monkeypatch):
    def broken(*_, **__):
        raise AttributeError("what\nnobody foresaw")

    monkeypatch.setattr(show, "show", broken)
    code, out, errors = ended("show", write_record())
    assert (code, out) == (4, "")
    assert one_sentence(errors) and "AttributeError" in errors and "--debug" in errors
    for arguments in (("--debug", "show"), ("show", "--debug")):
        code, _, errors = ended(*arguments, write_record())
        assert code == 4 and "Traceback" in errors and "in broken" in errors


def test_a_machine_without_the_memory_is_4_and_nothing_to_report(ended, write_record, monkeypatch):
    def large(*_, **__):
        raise MemoryError

    monkeypatch.setattr(show, "show", large)
    code, out, errors = ended("show", write_record())
    assert code == 4 and not out and one_sentence(errors) and "memory" in errors and "--debug" not in errors


@pytest.mark.parametrize("kilobytes", [60_000, 100_000, 150_000])
def test_too_few_addresses_for_numpy_are_4_and_never_fail(process, write_record, kilobytes):
    """OpenBLAS ends the process by `exit(1)` where it gets no memory while numpy is imported."""
    done = process(f'ulimit -v {kilobytes}; "$@"', "show", write_record())
    assert done.returncode == 4 and one_sentence(done.stderr)
    assert "the command ran out of memory" in done.stderr


def test_a_user_who_interrupts_is_told_so_and_sees_no_traceback(ended, write_record, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "show", interrupted)
    code, _, errors = ended("show", write_record())
    assert code == 4 and one_sentence(errors)


def test_sigterm_ends_a_command_with_a_sentence_and_its_exit_code(ended, write_record, monkeypatch):
    """As a scheduler sends it, when a run has ended and is being judged."""
    monkeypatch.setattr(show, "show", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    code, _, errors = ended("show", write_record())
    assert code == 4 and one_sentence(errors) and "interrupted" in errors
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


LATE = r"""
import os, signal, sys
from linkmatrix import cli
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a script started the tests behind it
with cli.handle_signals():
    try:
        exec("import os\nos.kill(os.getpid(), int(sys.argv[1]))\nwhile True: pass")
    except KeyboardInterrupt:
        pass
sys.exit(4)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_within_an_exec_leaves_the_exit_code(number):
    """As where a module is imported that makes dataclasses: Python ended such a process by SIGINT."""
    done = subprocess.run([sys.executable, "-c", LATE, str(int(number))], timeout=60, check=False)
    assert done.returncode == 4


def changed(content, **changes):
    for place, value in changes.items():
        content["results"][0][place] = value
    return content


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_after_the_answer_leaves_the_exit_code_of_the_answer(number):
    """Python takes a while to end: the verdict is said, and was then ended by the signal."""
    source = f"""
import atexit, os, sys
from linkmatrix import cli
atexit.register(os.kill, os.getpid(), {int(number)})
sys.argv = ["linkmatrix", "show", {str(RECORD)!r}]
sys.exit(cli.main())
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "NOT JUDGED" in done.stdout and done.stderr == ""


@pytest.mark.parametrize("command", ["show", "diagnose", "report", "history"])
def test_a_size_with_a_decimal_point_is_bad_input_that_is_named(ended, tmp_path, make_record, command):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(changed(make_record(), size_bytes=536870912.0)))
    code, _, errors = ended(command, path)
    assert code == 2 and one_sentence(errors) and "size_bytes: 536870912.0" in errors


@pytest.mark.parametrize("started", ["9999-99-99T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z"])
@pytest.mark.parametrize("command", [["export", "--format", "prometheus"], ["show"], ["adopt"], ["history"]])
def test_a_time_that_never_was_is_no_record(ended, tmp_path, make_record, started, command):
    path = tmp_path / "record.json"
    path.write_text(json.dumps({**make_record(), "started": started}))
    code, _, errors = ended(*command, path)
    assert code == 2 and one_sentence(errors) and started in errors


@pytest.mark.parametrize(
    "content",
    [
        {**REPORT, "session_info": []},
        {**REPORT, "session_info": None},
        {**REPORT, "runs": [[]]},
        {**REPORT, "runs": [{"testcases": [[]]}]},
        {**REPORT, "runs": [{"testcases": [{"result": "pass", "name": "a", "keep_files": None, "outputdir": 3}]}]},
        {**REPORT, "runs": [{"testcases": [{"result": [], "name": "a"}]}]},
        {**REPORT, "runs": [{"testcases": [{"result": "", "name": "a"}]}]},
    ],
    ids=range(7),
)
def test_a_report_of_another_shape_is_bad_input(ended, tmp_path, content):
    path = tmp_path / "run-report-1.json"
    path.write_text(json.dumps(content))
    code, _, errors = ended("show", path)
    assert code == 2 and one_sentence(errors) and str(path) in errors


def test_a_test_case_that_the_run_has_not_is_bad_input_and_those_it_has_are_named(ended, write_record):
    code, _, errors = ended("diagnose", write_record(), "--testcase", "nope")
    assert code == 2 and one_sentence(errors)
    assert "'nope'" in errors and "device_to_device_memcpy_write_ce" in errors


@pytest.mark.parametrize("command", [["show"], ["import"], ["show", "--references"]])
@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_what_is_no_regular_file_is_refused_and_never_waited_for(process, tmp_path, write_record, command, name):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    more = [write_record()] if "--references" in command else []
    done = process('"$@"', *command, pipe if name == "pipe" else name, *more)
    assert done.returncode == 2 and one_sentence(done.stderr) and "regular file" in done.stderr


@pytest.mark.parametrize("place", ["pipe", "link", "file", "file/below"])
def test_what_is_no_folder_where_one_is_written_is_refused_with_its_remedy(ended, tmp_path, write_record, place):
    """It said "File exists", exit code 4: what is to be done was not said."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to("file")
    printed = Path(__file__).resolve().parents[1] / "data" / "foreign" / "osu_bw.txt"
    for command in (["report", write_record()], ["import", printed]):
        code, _, said = ended(*command, "--out", tmp_path / place)
        assert code == 2 and one_sentence(said) and f"--out {tmp_path / place}" in said and "another folder" in said
    assert (tmp_path / "file").read_text() == "kept"


def test_a_pipe_among_stored_reports_is_refused_and_never_waited_for(process, tmp_path, monkeypatch):
    (tmp_path / "reports").mkdir()
    os.mkfifo(tmp_path / "reports" / "run-report-1.json")
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path))
    assert process('"$@"', "show").returncode == 2


def test_a_closed_standard_output_is_4_for_nothing_could_be_told(process, write_record, reference_folder):
    done = process('"$@" >&-', "show", write_record(), "--references", reference_folder, "--reference", "hgx")
    assert done.returncode == 4 and one_sentence(done.stderr)


def test_a_signal_that_comes_within_a_callback_of_python_s_own_is_neither_lost_nor_a_traceback(capsys):
    """Python drops what is raised in there: a run went on after SIGTERM, and printed a traceback."""

    class Module:
        pass

    def callback(_):
        signal.raise_signal(signal.SIGTERM)
        time.sleep(0)  # the handler is called now at the latest

    module = Module()
    watch = weakref.ref(module, callback)
    with pytest.raises(cli.Interruption), cli.handle_signals():
        del module
        for _ in range(500):
            time.sleep(0.01)
    assert watch() is None and capsys.readouterr().err == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "command",
    [["show"], ["diagnose"], ["export", "--format", "csv"], ["compare", "--against"], ["--help"], ["--version"]],
)
def test_a_full_standard_output_is_4(process, write_record, monkeypatch, command):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # argparse hides what a write of its own text fails by
    records = 0 if len(command) == 1 and command[0].startswith("--") else 2 if "compare" in command else 1
    done = process('"$@" >/dev/full', *command, *[write_record()] * records)
    assert done.returncode == 4 and one_sentence(done.stderr)
    assert done.stderr == "linkmatrix: standard output: No space left on device\n"


@pytest.mark.parametrize("command", ["show", "diagnose", "history", "compare", "import"])
def test_a_terminal_of_ascii_gets_ascii_and_the_verdict(process, write_record, monkeypatch, tmp_path, command):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    path = write_record(host="node001", cpu="cpu")
    text = tmp_path / "größe.txt"
    text.write_text("")
    arguments = {"compare": [path, "--against", path], "import": [text]}.get(command, [path])
    done = process('"$@"', command, *arguments)
    assert done.returncode in (0, 2, 3) and "Traceback" not in done.stderr
    assert (done.stdout + done.stderr).isascii()


def test_a_disk_that_is_full_is_4_and_leaves_no_half_page(process, write_record, tmp_path, reference_folder):
    path, folder = write_record(), tmp_path / "page"

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = process('"$@"', "report", path, "--out", folder, preexec_fn=little_room)
    assert done.returncode == 4 and one_sentence(done.stderr) and str(folder) in done.stderr
    assert not list(folder.iterdir())


def suspect_report(ended, tmp_path, make_record, reference_folder, node):
    content = make_record(off={(1, other): 300.0 for other in range(4) if other != 1})
    for device in content["devices"]:
        device["node"] = node
    path = tmp_path / "record.json"
    path.write_text(json.dumps(content))
    references = ["--references", reference_folder, "--reference", "hgx"]
    return ended("export", "--format", "slurm-exclude", path, *references)


@pytest.mark.parametrize(("node", "name"), [("10.0.0.5", "10.0.0.5"), ("n17.cluster.org", "n17"), ("n17", "n17")])
def test_the_node_to_leave_out_is_the_one_that_is_suspect(ended, tmp_path, make_record, reference_folder, node, name):
    code, out, _ = suspect_report(ended, tmp_path, make_record, reference_folder, node)
    assert code == 0 and f"--exclude={name}\n" in out


@pytest.mark.parametrize("node", ["user@n17", "n17:1"])
def test_a_suspect_node_that_slurm_cannot_have_is_said_and_does_not_vanish(
    ended, tmp_path, make_record, reference_folder, node
):
    code, out, _ = suspect_report(ended, tmp_path, make_record, reference_folder, node)
    assert code == 0 and "no node is flagged" not in out
    assert f"of {node} is flagged" in out and f"# {node} is not a valid node name of Slurm" in out
    assert "--exclude=" not in out


@pytest.mark.parametrize("command", ["show", "history", "export --format csv", "import"])
def test_a_name_that_no_file_can_have_is_bad_input(ended, tmp_path, command):
    code, _, errors = ended(*command.split(), tmp_path / ("n" * 300))
    assert code == 2 and one_sentence(errors)


@pytest.mark.parametrize("folder", [".", "/", ".."])
def test_a_folder_without_a_name_is_nothing_to_import(ended, folder):
    code, _, errors = ended("import", folder)
    assert code == 2 and one_sentence(errors) and "it is a folder" in errors
