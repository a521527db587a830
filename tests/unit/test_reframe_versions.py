"""config/ changes the inside of ReFrame: what it changes is there, and versions that nobody tried are refused."""

import importlib.util
import inspect
from pathlib import Path

import pytest
import reframe
from reframe.core import decorators, warnings
from reframe.core.schedulers import Job, pbs, slurm
from reframe.core.schedulers.pbs import PbsJobScheduler, PbsProJobScheduler
from reframe.core.schedulers.sge import SgeJobScheduler

CONFIG = Path(__file__).parents[2] / "config"


def module_of(name):
    spec = importlib.util.spec_from_file_location(f"linkmatrix_{name}", CONFIG / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


versions, deprecations = map(module_of, ("reframe_versions", "deprecations"))


def test_this_reframe_has_what_is_changed():
    assert versions.fault(reframe.VERSION) == ""
    source = "".join(map(inspect.getsource, (Job, pbs, slurm)))
    assert all(f"self.{name}" in source for name in ("_state", "_completed", "_exception", "_nodespec"))
    assert all(callable(one.poll) for one in (PbsJobScheduler, PbsProJobScheduler, SgeJobScheduler))
    assert isinstance(inspect.getattr_static(slurm._SlurmJob, "nodelist"), property)
    assert "_setvars(new_fixtures." in inspect.getsource(decorators)
    walk = inspect.getsource(warnings.user_deprecation_warning)
    assert "in inspect.stack()" in walk and "inspect.getmodule(s.frame)" in walk and walk.count("inspect.") == 2


@pytest.mark.parametrize("version", ["4.10.0", "4.10.4", "4.10.12", "4.10.5-dev.1"])
def test_patch_releases_are_allowed(version):
    assert versions.fault(version) == ""


@pytest.mark.parametrize("version", ["4.9.2", "4.11.0", "4.100.1", "5.0.0", "3.12.0", "dev"])
def test_other_versions_are_refused_in_words(version):
    said = versions.fault(version)
    assert f"this is ReFrame {version}" in said and "reframe-hpc==4.10.*" in said and "\n" not in said


def test_a_deprecation_names_the_same_caller_as_before(monkeypatch):
    """The one that ReFrame tells of it, without reading the text of any file."""

    def caller():
        with pytest.warns(warnings.ReframeDeprecationWarning, match="old") as told:
            warnings.user_deprecation_warning("old")
        return told[0].filename, told[0].lineno

    before = caller()
    monkeypatch.setattr(warnings, "inspect", deprecations.Callers)
    assert caller() == before
    assert before[0] == __file__
