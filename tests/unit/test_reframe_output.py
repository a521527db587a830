"""What `measure` and `run` print of ReFrame's output."""

import io
import os

import pytest

from linkmatrix.runs.supervise import ReframeOutput, build_progress


@pytest.fixture
def shown(capsys):
    """A function that takes lines of ReFrame: (standard output, standard error, progress)."""

    def take(*lines):
        progress = io.StringIO()
        with ReframeOutput(progress) as output:
            for line in lines:
                output.read_line(f"{line}\n")
        return *capsys.readouterr(), progress.getvalue()

    return take


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: no such file",
        "waiting: job 12 (rfm_node_session): JobHeldUser (its user holds the job: run `scontrol release`)",
        "waiting: job 12 (rfm_node_session): no readable answer (exit code 1)",
    ],
)
def test_what_a_person_must_act_on_is_printed_once(shown, line):
    assert shown(line, "[ RUN      ] a_test /1", line)[0] == f"{line}\n"


def test_before_the_first_test_there_is_no_progress_in_a_file(shown):
    assert shown("linkmatrix: bad input") == ("", "linkmatrix: bad input\n", "")


def test_progress_names_preparing_and_measuring(shown):
    out, _, progress = shown(
        "[ReFrame Setup]",
        "[ RUN      ] build_linkmatrix /1",
        "[       OK ] (1/2) build_linkmatrix",
        "[ RUN      ] a /2",
    )
    assert out == "" and [line.split(",")[0].removesuffix(" ~") for line in progress.splitlines()] == [
        "preparing the programs",
        "measuring",
    ]


def test_the_newest_build_counts_its_steps(tmp_path):
    assert build_progress(tmp_path, 0) == ""
    for at, text in ((100, "[9/9] Linking\n"), (200, "-- Configuring done\n[1/19] Building a\n[7/19] Building b\n")):
        folder = tmp_path / "stage" / str(at) / "generic" / "default" / "builtin" / "build_linkmatrix_1a2b3c4d"
        folder.mkdir(parents=True)
        (folder / "rfm_build.out").write_text(text)
        os.utime(folder / "rfm_build.out", (at, at))
    assert build_progress(tmp_path, 150) == ", 7 of 19"
    assert build_progress(tmp_path, 250) == ""


def test_a_build_by_make_counts_no_steps(tmp_path):
    folder = tmp_path / "stage" / "1" / "generic" / "default" / "builtin" / "build_linkmatrix"
    folder.mkdir(parents=True)
    (folder / "rfm_build.out").write_text("[ 12%] Building CXX object a.o\n")
    assert build_progress(tmp_path, 0) == ""


def test_the_end_of_a_run_without_a_report_has_the_reason_and_no_traceback(capsys):
    """Fault injection: with a full disk, the end of ReFrame's output is a traceback of its logger."""
    lines = [
        "before",
        "Traceback (most recent call last):",
        '  File "logging.py", line 1159, in shutdown',
        "    h.close()",
    ]
    output = ReframeOutput(io.StringIO())
    for line in [*lines, "OSError: [Errno 28] No space left on device", "after"]:
        output.read_line(f"{line}\n")
    output.print_last_lines()
    assert capsys.readouterr().out.splitlines() == ["before", "OSError: [Errno 28] No space left on device", "after"]
