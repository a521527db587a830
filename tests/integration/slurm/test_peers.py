"""OSU's benchmarks between two nodes of a real Slurm, by one pair of ranks and by four, where they are installed."""

import shutil

import pytest
from reframe_runs import record_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slurm,
    pytest.mark.skipif(
        not shutil.which("osu_mbw_mr"), reason="no osu_mbw_mr on PATH: neither Debian nor PyPI has OSU's benchmarks"
    ),
]
FEW = "extra_opts=-i,2,-x,1"


def test_real_ones_of_osu_run_between_two_nodes_by_one_pair_of_ranks_and_by_four(login, monkeypatch):
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")  # eight ranks wait for each other, maybe on two cores
    names = ("osu_bw_hh", "osu_latency_hh", "osu_mbw_mr_hh_4_pairs")
    asked = "|".join(f"peer_osu_(crossnode|pairs).*{name}" for name in names)
    few = ("-S", f"peer_osu_crossnode.{FEW}", "-S", f"peer_osu_pairs.{FEW}", "-S", "peer_osu_pairs.ranks=4")
    run = login("-r", "-n", asked, *few)
    assert run.code == 0, run.output
    found = {check["testcase"]: check for check in run.checks()}
    assert found.keys() == set(names)
    for name, check in found.items():
        assert check["result"] == "pass", run.output
        assert {figure.rpartition(":")[2] for figure in check["perfvalues"]} == {f"NET@{1 << n}" for n in range(23)}
        record = record_of(check)
        assert record["imported"]["program"] == "osu" and record["software"]["OSU micro-benchmarks"], name
        assert all(result["verified"] is True for result in record["results"]), name
