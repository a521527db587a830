"""Subclasses of ReFrame's schedulers, one module per scheduler: Slurm, PBS and Grid Engine.

Only this package uses private members of ReFrame. A test compares the list PRIVATE with the code of this package and
with the installed ReFrame.
"""

#: Private members of ReFrame that this package uses, because ReFrame has no setters for jobs and no scheduler hooks.
PRIVATE = (
    # reframe.core.schedulers
    "Job._exception",
    "Job._state",
    # reframe.core.schedulers.slurm
    "_SlurmJob",
    "_SlurmJob._nodespec",
    "SlurmJobScheduler._cancel_if_blocked",
    "SlurmJobScheduler._cancel_if_pending_too_long",
    "SlurmJobScheduler._cancel_reasons",
    "SlurmJobScheduler._max_sacct_failures",
    "SlurmJobScheduler._multi_clusters",
    "SlurmJobScheduler._squeue",
    # reframe.core.schedulers.pbs
    "_PbsJob._completed",
)
