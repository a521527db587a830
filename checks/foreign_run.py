"""What checks of foreign programs have in common: the check makes a record of the output that a script quotes."""

import json
from pathlib import Path

from linkmatrix.files import write_whole
from linkmatrix.judge.reasons import missing

from .p2p import p2p_matrix_run


class foreign_run(p2p_matrix_run, special=True):
    """A test of a foreign program, whose output a script quotes."""

    def read_output(self):
        """Reads `self.text`. Returns the content of the record, and sentences on what the output lacks."""
        raise NotImplementedError

    def result_faults(self):
        faults = super().result_faults()
        if self.text is None:
            return faults
        content, lacking = self.read_output()
        write_whole(Path(self.stagedir, "record.json"), json.dumps(content).encode())
        return [*missing(*lacking), *faults]
