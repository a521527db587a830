"""How jobs of a real Slurm end that do not end well: in the words of who knows."""

import threading

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

HOST = ("-r", "-n", "device_to_device_memcpy_write_ce$")
HANG = (
    "-S",
    "intranode_p2p.extra_opts=--samples,3,--size,1MiB,--simulate-fault,hang:cpu1,--pair-timeout,200,--timeout,200",
)


def reason_of(run):
    """Why the one check failed."""
    assert run.code != 0, run.output
    (check,) = run.checks()
    assert check["result"] == "fail"
    return check["fail_reason"]


def test_a_job_that_is_cancelled_is_not_called_late(login, slurm, when_running):
    thread = threading.Thread(target=lambda: slurm("scancel", when_running()), daemon=True)
    thread.start()
    reason = reason_of(login(*HOST, *HANG))
    thread.join(10)
    assert "the job was cancelled" in reason
    assert "TIMEOUT" not in reason and "time limit" not in reason
