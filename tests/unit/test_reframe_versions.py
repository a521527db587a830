"""config/ changes the inside of ReFrame: what it changes is there, and versions that nobody tried are refused."""

import importlib.util
import inspect
from pathlib import Path

import pytest
import reframe
from reframe.core import pipeline
from reframe.core.schedulers import Job, pbs, slurm
from reframe.core.schedulers.pbs import PbsJobScheduler, PbsProJobScheduler
from reframe.core.schedulers.sge import SgeJobScheduler

FILE = Path(__file__).parents[2] / "config" / "reframe_versions.py"
spec = importlib.util.spec_from_file_location("linkmatrix_reframe_versions", FILE)
versions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(versions)


def test_this_reframe_has_what_is_changed():
    assert versions.fault(reframe.VERSION) == ""
    source = "".join(map(inspect.getsource, (Job, pbs, slurm)))
    assert all(f"self.{name}" in source for name in ("_state", "_completed", "_exception", "_nodespec"))
    assert all(callable(one.poll) for one in (PbsJobScheduler, PbsProJobScheduler, SgeJobScheduler))
    assert isinstance(inspect.getattr_static(slurm._SlurmJob, "nodelist"), property)
    assert "yaml.safe_load(" in inspect.getsource(pipeline)


@pytest.mark.parametrize("version", ["4.10.0", "4.10.4", "4.10.12", "4.10.5-dev.1"])
def test_patch_releases_are_allowed(version):
    assert versions.fault(version) == ""


@pytest.mark.parametrize("version", ["4.9.2", "4.11.0", "4.100.1", "5.0.0", "3.12.0", "dev"])
def test_other_versions_are_refused_in_words(version):
    said = versions.fault(version)
    assert f"this is ReFrame {version}" in said and "reframe-hpc==4.10.*" in said and "\n" not in said
