"""The base class of checks of foreign programs. A check converts the output of the program to a record."""

import json
from pathlib import Path

from linkmatrix.files import write_whole
from linkmatrix.judge.verdicts import missing

from .p2p import p2p_matrix_run


class foreign_run(p2p_matrix_run, special=True):
    """A test of a foreign program. A script starts the program, and adds a prefix to each line of its output."""

    def read_output(self):
        """Parses `self.text`, the output. Returns (content of the record, sentences about missing output)."""
        raise NotImplementedError

    def result_faults(self):
        faults = super().result_faults()
        if self.text is None:
            return faults
        content, lacking = self.read_output()
        write_whole(Path(self.stagedir, "record.json"), json.dumps(content).encode())
        return [*missing(*lacking), *faults]
