"""What `measure` and `run` print of ReFrame's output."""

import io

import pytest

from linkmatrix.runs.reframe_output import ReframeOutput


@pytest.fixture
def shown(capsys):
    """A function that takes lines of ReFrame: (standard output, standard error, progress)."""

    def take(*lines):
        progress = io.StringIO()
        with ReframeOutput(progress) as output:
            for line in lines:
                output.take(f"{line}\n")
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
