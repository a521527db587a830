"""The checks of other programs through ReFrame: stand-ins print recorded outputs; OSU's own run where it is on PATH."""

import os
import shutil
from pathlib import Path

import pytest
from reframe_runs import only, record_of

from linkmatrix import cli

REPOSITORY = Path(__file__).resolve().parents[2]
FOREIGN = REPOSITORY / "tests" / "data" / "foreign"
pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

# of a machine without GPUs, as if it had the two of the recorded output
CHECK = """
import reframe as rfm
from dataclasses import replace
from reframe.core.builtins import parameter
from reframe.utility import import_module_from_file

peers = import_module_from_file("{checks}/peers.py", load_parents=True)


@rfm.simple_test
class here_nvbandwidth(peers.peer_nvbandwidth):
    testcase = parameter(["device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce"])
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    def prepare(self):
        super().prepare()
        self.expected = replace(self.expected, devices=2, model="H100")
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A function that puts a program of this text on PATH."""
    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name, text):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)

    return put


@pytest.fixture
def osu(reframe, unavailable):
    """A function that runs a check of OSU between two ranks, where there is an MPI."""

    def run(testcase="osu_bw_hh", *options):
        done = reframe("-r", "-n", f"peer_osu.*={testcase}$", *options)
        if not done.checks():
            unavailable("no MPI here, so ReFrame has no check of ranks to run")
        return done

    return run


def values(check):
    return {name.rpartition(":")[2]: value[0] for name, value in check["perfvalues"].items()}


@pytest.mark.skipif(
    not shutil.which("osu_bw"), reason="no osu_bw on PATH: neither Debian nor PyPI has OSU's benchmarks"
)
def test_real_ones_of_osu_run_between_two_ranks_and_stand_beside_ours(reframe, capsys):
    few = ("-S", "rank_p2p.extra_opts=--samples,3,--target-ci,50", "-S", "peer_osu.extra_opts=-i,10,-x,2")
    run = reframe("-r", "-n", "peer_osu|rank_p2p", *few)
    assert run.code == 0, run.output
    found = {check["testcase"]: check for check in run.checks()}
    for testcase in ("osu_bw_hh", "osu_bibw_hh", "osu_latency_hh"):
        assert len(values(found[testcase])) == 23 and min(values(found[testcase]).values()) > 0
        record = record_of(found[testcase])
        assert record["software"]["OSU micro-benchmarks"]
        assert all(result["verified"] is True for result in record["results"])
    assert cli.main(["compare", str(run.prefix / "reports"), "--against", "peers"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("linkmatrix against osu:\n")
    assert "rank_to_rank_bandwidth_mpi against osu_bw_hh (1 MiB)" in said and "GB/s, × " in said


def test_what_it_prints_is_a_record_and_a_value_for_each_size(osu, installed):
    installed("osu_bw", f'[ "${{OMPI_COMM_WORLD_RANK:-$PMIX_RANK}}" = 1 ] || cat {FOREIGN}/osu_bw_validated.txt')
    run = osu()
    assert run.code == 0, run.output
    check = only(run)
    assert len(values(check)) == 23 and "NODE@4194304" in values(check)
    record = record_of(check)
    assert record["asked_by"] == check["display_name"] and record["imported"]["program"] == "osu"


def test_one_that_is_not_installed_is_skipped_and_named(osu, installed, monkeypatch):
    hidden = [folder for folder in os.environ["PATH"].split(os.pathsep) if not (Path(folder) / "osu_latency").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(hidden))
    run = osu("osu_latency_hh")
    assert only(run)["result"] == "skip", run.output
    assert "osu_latency is not installed on " in run.output and "put it on PATH, load its module" in run.output


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("exit 3", "osu_bw ended with exit code 3"),
        ("true", "osu_bw printed no valid output"),
        ("sleep 100", "osu_bw did not end in time"),
        (f"head -12 {FOREIGN}/osu_bw_validated.txt", "23 sizes should be measured, but the record has 8"),
        (f"sed s/Pass/Fail/ {FOREIGN}/osu_bw_validated.txt", "1 bytes from rank0 to rank1 have wrong data"),
    ],
    ids=["fails", "silent", "hangs", "cut", "corrupt"],
)
def test_one_that_fails_or_says_too_little_is_no_pass(osu, installed, program, said):
    installed("osu_bw", f'[ "${{OMPI_COMM_WORLD_RANK:-$PMIX_RANK}}" = 1 ] && exit\n{program}')
    run = osu("osu_bw_hh", "-S", "peer_osu.seconds=2")
    check = only(run)
    assert (run.code != 0, check["result"], check["fail_phase"]) == (True, "fail", "sanity"), run.output
    assert said in check["fail_reason"]


def test_test_cases_of_nvbandwidth_share_a_process_and_each_reads_its_own(reframe, installed, tmp_path):
    layout = FOREIGN / "nvbandwidth_v0.8_layout.json"
    installed("nvbandwidth", f"echo $* > {tmp_path}/asked\ncat {layout}")
    file = tmp_path / "here.py"
    file.write_text(CHECK.format(checks=REPOSITORY / "checks"))
    run = reframe("-r", "-n", "here_nvbandwidth", "-c", str(file), "-S", "node_session.suite=here_nvbandwidth")
    found = {check["testcase"]: check for check in run.checks()}
    read, write = found["device_to_device_memcpy_read_ce"], found["device_to_device_memcpy_write_ce"]
    assert (tmp_path / "asked").read_text().split() == ["-j", "-b", "512", "-t", *sorted(found, key=list(found).index)]
    assert read["result"] == "pass", run.output
    assert values(read)["gpu0->gpu1"] == 276.36
    assert (
        write["result"] == "fail"
        and "nvbandwidth printed no table of device_to_device_memcpy_write_ce" in (write["fail_reason"])
    )
