"""What tests ask of a ReFrame session that the integration tests ran."""

from pathlib import Path

from linkmatrix.record import reading

#: As a site starts ranks by mpirun: {text of config/systems/slurm_example.py: other text}.
MPIRUN = {
    '"launcher": "srun"': '"launcher": "mpirun"',
    '"rank_options": ["--cpu-bind=cores"]': '"rank_options": ["--map-by", "numa", "--bind-to", "core"]',
    '"process_options": ["--cpu-bind=none"]': '"process_options": []',
}


def only(run):
    """The one check that ran."""
    (check,) = run.checks()
    return check


def failed_because(run):
    """Why the one check failed."""
    assert run.code != 0, run.output
    assert only(run)["result"] == "fail"
    return only(run)["fail_reason"]


def published(check):
    """The names of the performance variables."""
    return {name.split(":")[-1] for name in check["perfvalues"]}


def record_of(check, folder="outputdir", *below):
    """The record of a check, or of one of its sessions below."""
    return reading.load(Path(check[folder], *below) / "record.json")
