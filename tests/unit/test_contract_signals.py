"""`contract run` that is ended or stopped at any moment: what was measured is there, and a bundle says
no more than it; the next run works. LINKMATRIX_ROUNDS=200 searches further than CI does.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from contracts import Sold

pytestmark = pytest.mark.thorough

ROUNDS = int(os.environ.get("LINKMATRIX_ROUNDS", "4"))
ENDS = {0, 3, 4}  # PASS, or INCOMPLETE of a report that was cut off, or what linkmatrix ends with that could not
BOUND = 120.0  # seconds, of a busy machine
STOPPED = 0.3


@pytest.fixture
def sold(machine, tmp_path, capsys):
    machine.prepare("pass")
    return Sold(tmp_path / "sold", machine, capsys)


def started(*words):
    """A command of linkmatrix, in a session of its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "reports")}
    command = [sys.executable, "-m", "linkmatrix", "contract", *map(str, words)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def ended(child):
    """(exit code, what it said)."""
    said, _ = child.communicate(timeout=BOUND)
    return child.returncode, said


def heard(child):
    """It minds signals, as it does after its first moment: before that they end Python."""
    mask = 1 << (signal.SIGTERM - 1)
    while child.poll() is None:
        lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
        caught = next(line.split()[1] for line in lines if line.startswith("SigCgt"))
        if int(caught, 16) & mask:
            return
        time.sleep(0.01)


def stop_and_end(child):
    child.send_signal(signal.SIGSTOP)
    time.sleep(STOPPED)
    child.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGCONT)


WAYS = {
    "SIGINT": lambda child: child.send_signal(signal.SIGINT),
    "SIGTERM": lambda child: child.send_signal(signal.SIGTERM),
    "SIGKILL": lambda child: child.kill(),
    "SIGSTOP and SIGTERM": stop_and_end,
}


@pytest.mark.parametrize("way", WAYS)
def test_whenever_it_ends_what_was_measured_is_there_and_the_next_run_works(sold, way):
    dice, run = random.Random(way), ["run", sold.contract, "--reframe", sold.machine.reframe, "--out"]
    sold.freeze()
    child = started(*run, sold.folder / "first.tar")
    heard(child)
    began = time.monotonic()
    assert ended(child)[0] == 0
    seconds = time.monotonic() - began
    for number in range(ROUNDS):
        sold.freeze(title=f"Round {number}")
        sold.machine.prepare("pass")  # a measurement of its own
        bundle, packed, after = (sold.folder / f"{number}-{name}.tar" for name in ("run", "packed", "next"))
        child = started(*run, bundle)
        heard(child)
        time.sleep(dice.uniform(0, seconds))
        WAYS[way](child)
        code, said = ended(child)
        where = f"{way}, round {number}: {said[-600:]}"
        assert code in ENDS | ({-signal.SIGKILL} if way == "SIGKILL" else set()), f"{code}: {where}"
        assert "Traceback" not in said and "nobody foresaw" not in said and (said.strip() or code < 0), where
        if bundle.exists():
            of_it = ended(started("verify", bundle))
            assert of_it[0] in {0, 3} and of_it[0] == (code if code in (0, 3) else of_it[0]), (of_it, where)
        of_pack, text = ended(started("pack", sold.contract, "--out", packed))
        assert of_pack in {0, 2, 3}, (text, where)
        assert packed.exists() is (of_pack != 2) and (of_pack != 2 or "nothing was measured" in text), (text, where)
        sold.machine.prepare("pass")
        sold.later()
        code, text = ended(started(*run, after))
        assert code == 0 and ended(started("verify", after))[0] == 0, text[-1500:] + where
