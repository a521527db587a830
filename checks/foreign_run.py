"""The base class of checks of foreign programs. A script prints the program's output, and the check makes a record."""

import json
from pathlib import Path

from linkmatrix.files import write_whole
from linkmatrix.judge.verdicts import missing

from .p2p import p2p_matrix_run


class foreign_run(p2p_matrix_run, special=True):
    """A test of a foreign program. A script prints the program's output with a prefix."""

    def read_output(self):
        """Reads `self.text`. Returns (the content of the record, sentences on missing output)."""
        raise NotImplementedError

    def result_faults(self):
        faults = super().result_faults()
        if self.text is None:
            return faults
        content, lacking = self.read_output()
        write_whole(Path(self.stagedir, "record.json"), json.dumps(content).encode())
        return [*missing(*lacking), *faults]
