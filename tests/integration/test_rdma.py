"""The check of perftest through ReFrame: two ranks here stand for two nodes, recorded outputs for adapters."""

import os
from pathlib import Path

import pytest
from reframe_runs import record_of
from sysfs_tree import make

REPOSITORY = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

CHECK = """
import reframe as rfm
from reframe.core.builtins import parameter
from reframe.utility import import_module_from_file

rdma = import_module_from_file("{checks}/rdma.py", load_parents=True)


@rfm.simple_test
class here_perftest(rdma.rdma_perftest):
    testcase = parameter(["ib_write_bw", "ib_send_lat", "ib_write_bw_at_once"])
    valid_systems = ["+mpi"]

    def place_on_nodes(self, wanted, ranks):
        self.nodes, self.num_tasks, self.num_tasks_per_node = 1, 2, 2

    def job_request(self):
        from dataclasses import replace
        one = super().job_request()
        return replace(one, ranks_per_node=2, opts=("--sysfs", "{tree}/sys", "--limit", "5", *one.opts))

    def specified(self):
        return rdma.specified({{"adapters": {promise}}})
"""


@pytest.fixture
def perftest(reframe, tmp_path, monkeypatch):
    """Runs it with a promise of the partition and with faults of the stand-in."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("ib_write_bw", "ib_send_lat"):
        (programs / name).symlink_to(REPOSITORY / "tests" / "tools" / "recorded_perftest")
    make("a100x8_roce", tmp_path / "tree")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def run(promise, testcase, faults=""):
        monkeypatch.setenv("RECORDED_PERFTEST", faults)
        file = tmp_path / "here_perftest.py"
        file.write_text(CHECK.format(checks=REPOSITORY / "checks", tree=tmp_path / "tree", promise=promise))
        return reframe("-r", "-n", f"here_perftest.*{testcase}$", "-c", str(file))

    return run


def test_adapters_are_measured_and_judged_in_one_job(perftest):
    run = perftest({"names": ["mlx5_0", "mlx5_1"], "ratio": 0.97, "at_once": 0.99}, "(ib_write_bw|ib_send_lat|at_once)")
    assert run.code == 0, run.output
    found = {}
    for check in run.checks():
        record = record_of(check)
        (result,) = record["results"]
        assert result["rows"] == ["mlx5_0", "mlx5_1"] and record["asked_by"] == check["display_name"]
        found[result["testcase"]] = (
            {one["name"]: one["value"] for one in check["perfvalues_list"]}
            if ("perfvalues_list" in check)
            else check["perfvalues"]
        )
    assert sorted(found) == ["ib_send_lat", "ib_write_bw", "ib_write_bw_at_once"]
    assert any("mlx5_1->peer" in name for name in found["ib_write_bw"])


def test_an_adapter_that_is_slow_or_dead_fails_and_is_named(perftest):
    run = perftest({"names": ["mlx5_0", "mlx5_1"], "ratio": 0.97}, "ib_write_bw", "mlx5_1=slow")
    (check,) = run.checks()
    assert (
        run.code != 0
        and "mlx5_1 has 48.90 Gb/s, 48.9 % of 100 Gb/s, the partition specifies 97 %" in check["fail_reason"]
    )
    run = perftest({"names": ["mlx5_0", "mlx5_1"]}, "ib_write_bw", "mlx5_0=dead:server")
    (check,) = run.checks()
    assert "ib_write_bw over mlx5_0 ended with exit code 1: the server on " in check["fail_reason"]
    assert "mlx5_1" not in check["fail_reason"]


def test_reframe_takes_every_file_of_checks_without_a_warning(reframe):
    run = reframe("-L", "--skip-system-check", "--skip-prgenv-check")
    assert run.code == 0 and "WARNING" not in run.output and "skipping" not in run.output, run.output
    for name in ("rdma_adapters", "rdma_perftest", "rdma_device_perftest", "tcp_perftest", "gpu_topology"):
        assert f"- {name}" in run.output
