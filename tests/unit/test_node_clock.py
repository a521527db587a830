"""A node whose clock is behind: ReFrame's time counts, so that no earlier pass hides a later failure."""

import shutil
import time

import pytest

from linkmatrix import cli
from linkmatrix.judge.test_verdict import CheckFacts
from linkmatrix.judge.verdicts import Reason, Verdict
from tests.tools import stored_verdicts, stores

PROMISE = Reason(Verdict.FAIL, "the partition specifies 8 GPUs, n1 has gpu0, gpu1, gpu2, gpu3")


@pytest.fixture
def good(sweeps, make_record, tmp_path, monkeypatch, capsys):
    """add(days ago, …) stores a sweep of n1 with its verdict; good() returns the nodes that are known good."""
    (tmp_path / "config" / "references").mkdir(parents=True)
    (tmp_path / "config" / "settings.py").write_text("")
    shutil.copy(sweeps.references / "p2p.yaml", tmp_path / "config" / "references")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(sweeps.prefix))
    now, count = time.time() - stores.MEASURED, [0]

    def add(days, off=None, change=lambda content: None, check=None, result="pass"):
        count[0] += 1
        record = stores.of_node(make_record(off=off), "n1")
        path = sweeps.add(count[0], [record], began=now - days * 86400, change=change, result=result)
        stored_verdicts.of_report(path, sweeps.references, check)
        return path

    def known():
        capsys.readouterr()
        cli.main(["export", "--format", "hostfile"])
        said = capsys.readouterr()
        known.said = said.out + said.err
        return [line for line in said.out.splitlines() if not line.startswith("#")]

    known.add = add
    return known


def behind(content):
    """The clock of the node was reset: no battery."""
    content["started"] = "2000-01-01T00:00:00Z"


def test_a_later_fail_counts(good):
    good.add(5)
    good.add(1, check=CheckFacts(reasons=(PROMISE,)), result="fail")
    assert good() == []


def test_a_fail_on_a_node_whose_clock_is_behind_is_not_hidden_by_an_earlier_pass(good):
    good.add(5)
    good.add(1, change=behind, check=CheckFacts(reasons=(PROMISE,)), result="fail")
    assert good() == [], good.said


def test_an_incomplete_run_on_a_node_whose_clock_is_behind_counts(good):
    good.add(5)
    good.add(1, {(0, 1): "timeout"}, behind, result="fail")
    assert good() == [], good.said
