"""A job of Slurm. This module imports nothing of its package: `--restore-session` loads it again, by its path."""

from typing import Any

from reframe.core.schedulers.slurm import _SlurmJob


class SlurmJob(_SlurmJob):
    """A job whose node names are expanded once; ReFrame runs `scontrol` each time that they are read."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.expanded: tuple[str | None, str | None] | None = None  # the state and nodes of `names`
        self.names: list[str] = []

    @property
    def nodelist(self) -> list[str]:
        """The names of the job's nodes."""
        if self.expanded != (self.state, self._nodespec):
            self.names = super().nodelist
            self.expanded = (self.state, self._nodespec)
        return self.names
