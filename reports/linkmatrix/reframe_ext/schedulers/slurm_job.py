"""A job of Slurm. This module imports nothing of its package: `--restore-session` imports the file by its path."""

from typing import Any

from reframe.core.schedulers.slurm import _SlurmJob


class SlurmJob(_SlurmJob):
    """A job that expands its node list once. ReFrame runs `scontrol` at each access to the list."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.expanded: tuple[str | None, str | None] | None = None  # the state and node list that `names` are from
        self.names: list[str] = []

    @property
    def nodelist(self) -> list[str]:
        """The names of the job's nodes."""
        if self.expanded != (self.state, self._nodespec):
            self.names = super().nodelist
            self.expanded = (self.state, self._nodespec)
        return self.names
