"""The extensions of ReFrame's schedulers: their names, their systems, and the versions of ReFrame that are tried."""

import pytest
import reframe
from reframe.core.exceptions import ConfigError
from reframe.utility import jsonext

from linkmatrix import reframe_ext

WORDS = ("slurm", "squeue", "pbs", "torque", "pbspro", "sge")


@pytest.mark.parametrize("word", WORDS)
def test_each_scheduler_has_an_extension_with_a_name_of_its_own(scheduler_of, word):
    extension, plain = scheduler_of(word), reframe.core.backends.getscheduler(word)
    assert isinstance(extension, plain) and type(extension) is not plain
    assert extension.registered_name == reframe_ext.scheduler(word) == f"linkmatrix_{word}"
    assert plain.registered_name == reframe_ext.reframe_name(extension.registered_name) == word
    assert extension.is_local is False
    assert extension.finished(extension.make_job("rfm_check")) is False


@pytest.mark.parametrize("word", ["local", "flux", "slrum"])
def test_a_scheduler_without_an_extension_keeps_its_name(word):
    assert reframe_ext.scheduler(word) == reframe_ext.reframe_name(word) == word


def test_a_name_that_is_taken_is_not_taken_again(scheduler_of):
    scheduler_of("slurm")
    with pytest.raises(ConfigError, match="already registered"):
        reframe.core.backends.register_scheduler("linkmatrix_slurm")(object)


def test_a_system_has_extended_schedulers_and_its_own_word_and_is_not_changed():
    partitions = [{"scheduler": "slurm", "extras": {"nodes": 4}}, {"scheduler": "local"}]
    system = {"name": "mine", "partitions": partitions}
    found = reframe_ext.extend_schedulers(system)
    assert found["partitions"] == [
        {"scheduler": "linkmatrix_slurm", "extras": {"nodes": 4, "scheduler": "slurm"}},
        {"scheduler": "local", "extras": {"scheduler": "local"}},
    ]
    assert partitions[0] == {"scheduler": "slurm", "extras": {"nodes": 4}}


def test_a_job_of_slurm_is_restored_from_a_report(scheduler_of, commands):
    """ReFrame loads the file of the job's class by its path, and registers no scheduler twice."""
    commands("scontrol", "n1\n")
    job = scheduler_of("slurm").make_job("rfm_check")
    job._jobid, job._state, job._nodespec = 12, "COMPLETED", "n1"
    assert job.nodelist == ["n1"]
    restored = jsonext.loads(jsonext.dumps(job))
    assert type(restored).__name__ == "SlurmJob"
    assert (restored.jobid, restored.state, restored.nodelist) == ("12", "COMPLETED", ["n1"])


@pytest.mark.parametrize("word", ["slurm", "squeue"])
@pytest.mark.parametrize(
    ("exclusive", "access", "asks"),
    [
        (True, ["--partition=gpu"], True),
        (True, ["--mem-per-cpu=4G"], False),  # sbatch refuses both
        (True, ["--mem=64G"], False),
        (False, [], False),
    ],
)
def test_a_job_that_has_its_nodes_alone_has_all_of_their_memory(scheduler_of, word, exclusive, access, asks):
    """Slurm gives it the default memory of the partition only."""
    scheduler = scheduler_of(word)
    job = scheduler.make_job("rfm_check", sched_access=access)
    job.exclusive_access = exclusive
    lines = scheduler.emit_preamble(job)
    assert ("#SBATCH --exclusive" in lines, "#SBATCH --mem=0" in lines) == (exclusive, asks)


@pytest.mark.parametrize("version", ["4.10.0", "4.10.4", "4.10.12", "4.11.0-dev1", reframe.VERSION])
def test_tried_versions_are_taken_without_a_word(version):
    assert reframe_ext.version_warning(version) == ""


@pytest.mark.parametrize("version", ["4.9.2", "4.12.0", "4.100.1", "5.0.0", "dev"])
def test_an_untried_version_is_a_warning(version):
    assert f"this is ReFrame {version}" in reframe_ext.version_warning(version)
