"""Accessors for a ReFrame session that an integration test ran."""

from pathlib import Path

from linkmatrix.record import reading

#: As a site starts ranks by mpirun: {text of config/systems/slurm_example.py: other text}.
MPIRUN = {
    '"launcher": "srun"': '"launcher": "mpirun"',
    '"rank_options": ["--cpu-bind=cores"]': '"rank_options": ["--map-by", "numa", "--bind-to", "core"]',
    '"process_options": ["--cpu-bind=none"]': '"process_options": []',
}


def only(run):
    """The single check of the session."""
    (check,) = run.checks()
    return check


def failed_because(run):
    """The reason for which the single check failed."""
    assert run.code != 0, run.output
    assert only(run)["result"] == "fail"
    return only(run)["fail_reason"]


def published(check):
    """The names of the performance variables."""
    return {name.split(":")[-1] for name in check["perfvalues"]}


def record_of(check, folder="outputdir", *below):
    """The record of a check, or of a session folder below it."""
    return reading.load(Path(check[folder], *below) / "record.json")
