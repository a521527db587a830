"""The script that runs a program of others: what it says of one that is there, is not, fails, hangs or is cut."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "src" / "peers" / "peer.sh"
SMI = """#!/bin/sh
[ "$1" = -L ] && printf 'GPU 0: NVIDIA H200 (UUID: a)\\nGPU 1: NVIDIA H200 (UUID: b)\\n' && exit
printf '\\t\\033[4mGPU0\\tGPU1\\033[0m\\nGPU0\\t X \\tNV18\\nGPU1\\tNV18\\t X \\n'
"""


@pytest.fixture
def peer(tmp_path, monkeypatch):
    """A function that runs the script with a program of this text: (exit code, output, errors)."""
    for name in ("PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    beside = tmp_path / "bin"
    beside.mkdir()

    def put(name, text):
        (beside / name).write_text(text)
        (beside / name).chmod(0o755)

    def run(*arguments, program="", rank="", beside=beside, **variables):
        if program:
            put("tool", f"#!/bin/sh\n{program}\n")
        environment = {**os.environ, **({"PMIX_RANK": rank} if rank else {}), **variables}
        done = subprocess.run(
            [SCRIPT, "--beside", beside, *arguments], env=environment, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout, done.stderr

    run.beside, run.put = beside, put
    return run


def test_what_it_prints_is_quoted_and_how_it_ended_is_said(peer):
    code, out, _ = peer("tool", "-a", "b", program='echo "$@"; echo; echo "Result: PASS"')
    node = os.uname().nodename
    assert (code, out.splitlines()) == (
        0,
        [
            f"rank 0 on {node}",
            f"program {peer.beside}/tool",
            "output",
            "| -a b",
            "| ",
            "| Result: PASS",
            "ended code=0",
            "Result: PASS",
        ],
    )


@pytest.mark.parametrize(
    ("program", "options", "code", "why"),
    [
        ("exit 7", (), 7, "tool ended with exit code 7"),
        ("echo begun; kill -9 $$", (), 137, "tool ended with exit code 137"),
        ("sleep 60", ("--timeout", "1"), 124, "tool took more than 1 s"),
    ],
)
def test_a_program_that_does_not_end_well_is_no_pass(peer, program, options, code, why):
    ended, out, errors = peer(*options, "tool", program=program)
    assert ended == 1 and out.endswith(f"ended code={code}\nResult: FAIL\n") and why in errors


def test_one_that_is_not_installed_is_named_and_has_a_code_of_its_own(peer):
    code, out, errors = peer("osu_of_nobody")
    assert code == 5 and out.splitlines()[1:] == ["missing osu_of_nobody", "Result: FAIL"]
    assert "osu_of_nobody is not on PATH" in errors


def test_a_last_line_without_its_end_does_not_look_whole(peer):
    _, out, _ = peer("tool", program="printf 'whole\\n4194304 24226.6'")
    assert "| 4194304 24226.6ended code=0\n" in out


def test_only_the_first_rank_prints_tables(peer):
    code, out, errors = peer("tool", program="echo table", rank="1")
    assert (code, out, errors) == (0, f"rank 1 on {os.uname().nodename}\n", "table\n")
    assert peer("tool", program="exit 3", rank="1")[0] == 3


def test_how_gpus_are_connected_is_told_where_the_program_sees_all_of_them(peer):
    peer.put("nvidia-smi", SMI)
    path = f"{peer.beside}:{os.environ['PATH']}"
    _, out, _ = peer("--topology", "tool", program="echo table", PATH=path)
    assert "topology\n| \tGPU0\tGPU1\n| GPU0\t X \tNV18\n| GPU1\tNV18\t X \noutput\n| table\n" in out
    _, out, _ = peer("--topology", "tool", program="echo table", PATH=path, CUDA_VISIBLE_DEVICES="0,1")
    assert "topology\n" in out
    _, out, _ = peer("--topology", "tool", program="echo table", PATH=path, CUDA_VISIBLE_DEVICES="1,0")
    assert "topology\n" not in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no program: name one"),
        (("--timeout", "soon", "tool"), "--timeout soon: use 1 or more seconds"),
        (("--timeout", "0", "tool"), "--timeout 0: use 1 or more seconds"),
        (("--timeout",), "--timeout needs a value"),
        (("--unknown", "tool"), "unknown option --unknown"),
    ],
)
def test_bad_input_is_one_sentence(peer, arguments, sentence):
    code, _, errors = peer(*arguments)
    assert code == 2 and sentence in errors and len(errors.splitlines()) == 1


def test_nothing_outlives_the_script(peer, tmp_path):
    peer.put("tool", f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    started = subprocess.Popen([SCRIPT, "--beside", peer.beside, "tool"], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < end
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)
    started.wait(30)
    process = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    while process.exists() and process.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < end
        time.sleep(0.05)
