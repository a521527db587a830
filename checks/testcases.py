"""The test cases of p2p_matrix, from testcases.json. `p2p_matrix --list --format json` prints this file."""

import json
from pathlib import Path

#: {name: its entry in testcases.json}
TESTCASES = {row["name"]: row for row in json.loads(Path(__file__).with_name("testcases.json").read_text())}
#: the test cases between MPI ranks, and the test cases inside one process
RANK_TESTCASES = [name for name, row in TESTCASES.items() if row["engine"] == "mpi"]
DEVICE_TESTCASES = [name for name in TESTCASES if name not in RANK_TESTCASES]


def has_own_size(testcase):
    """Whether the test case has a fixed size, so that the user cannot set the size."""
    return testcase in TESTCASES and TESTCASES[testcase]["own_size"]


def part_names(testcase, on_gpus=False):
    """The names of the additional matrices ("parts") that each result of a test case must contain."""
    tables = TESTCASES[testcase]["tables"] if testcase in TESTCASES else []
    return [name for name in tables if on_gpus or name != "enqueue"]  # only GPUs have a queue
