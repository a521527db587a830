"""The base class of checks of foreign programs. A script prints the program's output, and the check makes a record."""

import json
from datetime import datetime, timezone
from pathlib import Path

from linkmatrix.files import write_whole
from linkmatrix.foreign.to_record import to_record

from .p2p import p2p_matrix_run

UNKNOWN = dict.fromkeys(("machine", "serial", "product", "kernel", "boot"))  # facts of a node


def foreign_record(run, text, nodes, testcase, asked_by, size=None):
    """The record of a foreign run of a test case.

    text: the output of the program. nodes: the names of the nodes, the host first. size: bytes of a copy, if the
    program does not print them.
    """
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    record = to_record(run, "rfm_job.out", text.encode(), now, now, size)
    record["host"]["name"] = nodes[0] if nodes else "unknown"
    record["nodes"] = [{"name": node, **UNKNOWN} for node in dict.fromkeys(nodes)]
    return record | {"asked_by": asked_by, "expected": [testcase]}


class foreign_run(p2p_matrix_run, special=True):
    """A test of a foreign program. A script prints the program's output with a prefix."""

    def read_output(self):
        """Reads `self.text`. Returns (the content of the record, reasons for missing output)."""
        raise NotImplementedError

    def result_faults(self):
        faults = super().result_faults()
        if self.text is None:
            return faults
        content, lacking = self.read_output()
        write_whole(Path(self.stagedir, "record.json"), json.dumps(content).encode())
        return [*lacking, *faults]
