"""config/ changes the inside of ReFrame: what it changes is there, and versions that nobody tried are refused."""

import importlib.util
import inspect
from pathlib import Path

import pytest
import reframe
from reframe.core import decorators, pipeline, warnings
from reframe.core.schedulers import Job, pbs, slurm
from reframe.core.schedulers.pbs import PbsJobScheduler, PbsProJobScheduler
from reframe.core.schedulers.sge import SgeJobScheduler

CONFIG = Path(__file__).parents[2] / "config"


def module_of(name):
    spec = importlib.util.spec_from_file_location(f"linkmatrix_{name}", CONFIG / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


versions, reference_files, deprecations = map(module_of, ("reframe_versions", "reference_files", "deprecations"))


def test_this_reframe_has_what_is_changed():
    assert versions.fault(reframe.VERSION) == ""
    source = "".join(map(inspect.getsource, (Job, pbs, slurm)))
    assert all(f"self.{name}" in source for name in ("_state", "_completed", "_exception", "_nodespec"))
    assert all(callable(one.poll) for one in (PbsJobScheduler, PbsProJobScheduler, SgeJobScheduler))
    assert isinstance(inspect.getattr_static(slurm._SlurmJob, "nodelist"), property)
    assert "yaml.safe_load(" in inspect.getsource(pipeline)
    assert "self.__ref_file" in inspect.getsource(pipeline._ReferenceDict.resolve_external_references)
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


class References:
    """What `resolved_once` sees of ReFrame's."""

    def __init__(self, file):
        self._ReferenceDict__ref_file = file


def test_references_are_checked_once_for_all_tests_of_a_class():
    asked = []

    def resolve(references, test):
        asked.append(test)
        references._index, references.data = ("testcase",), {type(test).__name__: {}}

    once = reference_files.resolved_once(resolve)
    one, two, other = (type(name, (), {"prefix": ""})() for name in ("p2p", "p2p", "ranks"))
    found = [References("p2p.yaml") for _ in range(4)]
    for references, test in zip(found, (one, two, other, one), strict=True):
        once(references, test)
    assert asked == [one, other]
    assert [references.data for references in found] == [{"p2p": {}}, {"p2p": {}}, {"ranks": {}}, {"p2p": {}}]
    assert {references._index for references in found} == {("testcase",)}
    once(References("other.yaml"), one)
    assert asked == [one, other, one]


def test_a_file_of_references_with_nothing_in_it_has_none():
    assert reference_files.parsed("") == reference_files.parsed("# none yet\n") == {}


def test_references_that_cannot_be_resolved_are_so_for_each_test():
    def resolve(references, test):
        raise ValueError("not a number")

    once = reference_files.resolved_once(resolve)
    for _ in range(2):
        with pytest.raises(ValueError, match="not a number"):
            once(References("p2p.yaml"), type("p2p", (), {"prefix": ""})())
