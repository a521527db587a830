"""The commands that `linkmatrix diagnose` prints as the next experiment, typed as they are and run for real."""

import json
import os
import shlex
import shutil
import subprocess

import pytest

from linkmatrix.locate.experiments import next_experiment
from linkmatrix.locate.hypotheses import Finding
from linkmatrix.locate.layout import layout_of
from linkmatrix.record import reading
from linkmatrix.record.matrix import from_result

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]
FEW = ["--samples", "3", "--target-ci", "50", "--size", "1MiB"]


@pytest.fixture
def typed(reframe, tmp_path):
    """A function that runs a line in a shell where p2p_matrix is on PATH."""
    little = ("-S", "intranode_p2p.extra_opts=--samples,3,--size,1MiB", "--keep-stage-files")
    run = reframe("-r", "-n", "device_to_device_memcpy_write_ce$", *little)
    assert run.code == 0, run.output
    # no other build: the one for tests that was made last may be a sanitizer's, which finds leaks in MPI
    (program,) = (run.prefix / "stage").rglob("prefix/bin/p2p_matrix")
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment = {**os.environ, **as_root, "PATH": f"{program.parent}:{os.environ['PATH']}"}

    def type_it(line):
        return subprocess.run(
            line, shell=True, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
        )

    return type_it


@pytest.mark.parametrize("launched", [False, True], ids=["one process", "ranks"])
def test_what_diagnose_says_to_run_next_runs(typed, tmp_path, unavailable, launched):
    if launched and not shutil.which("mpirun"):
        unavailable("no mpirun on PATH")
    first = ["p2p_matrix", "--backend", "host", "--testcase", "device_to_device_memcpy_write_ce"]
    if launched:
        first = ["mpirun", "-n", "2", "p2p_matrix", "--backend", "mpi", "--testcase", "rank_to_rank_bandwidth_mpi"]
    done = typed(shlex.join([*first, *FEW, "--record", str(tmp_path / "record.json")]))
    assert done.returncode == 0, done.stderr
    content = reading.load(tmp_path / "record.json")
    (result,) = content["results"]
    layout, names = layout_of(content, result, from_result(result))
    one = Finding("egress", 1, -0.1, 1, 1, 9.0)
    found = next_experiment(one, names, layout, content, result)
    assert ("mpirun" in found.command) == launched and "--size 1048576" in found.command
    done = typed(f"{found.command} --record again.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "again.json").read_text())["results"][0]["testcase"] == result["testcase"]
