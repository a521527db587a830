"""A job of Slurm. This module imports nothing of its package, because `--restore-session` imports the file alone."""

from typing import Any

from reframe.core.schedulers.slurm import _SlurmJob


class SlurmJob(_SlurmJob):
    """A job that stores the names of its nodes. ReFrame's job runs `scontrol` at each access to the names."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.expanded: tuple[str | None, str | None] | None = None  # (state, node list) of which `names` are the nodes
        self.names: list[str] = []

    @property
    def nodelist(self) -> list[str]:
        """The names of the job's nodes."""
        if self.expanded != (self.state, self._nodespec):
            self.names = super().nodelist
            self.expanded = (self.state, self._nodespec)
        return self.names
