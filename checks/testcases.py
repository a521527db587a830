"""The test cases of p2p_matrix: testcases.json, which `p2p_matrix --list --format json` prints."""

import json
from pathlib import Path

#: {name: its entry in testcases.json}
TESTCASES = {row["name"]: row for row in json.loads(Path(__file__).with_name("testcases.json").read_text())}
#: the test cases between ranks, and inside one process
OF_RANKS = [name for name, row in TESTCASES.items() if row["engine"] == "mpi"]
OF_DEVICES = [name for name in TESTCASES if name not in OF_RANKS]


def has_own_size(testcase):
    """Whether a test case has a fixed size."""
    return testcase in TESTCASES and TESTCASES[testcase]["own_size"]


def tables_of(testcase, on_gpus=False):
    """The names of the additional matrices that the result of a test case must contain."""
    tables = TESTCASES[testcase]["tables"] if testcase in TESTCASES else []
    return [name for name in tables if on_gpus or name != "enqueue"]  # only GPUs have a queue
