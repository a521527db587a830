"""The part of one test case in what a process left that ran several: its tables, and its record.

Plain Python, as `expect` is. A test case that is whole and was compared is PASS whatever became of those after it; one
that is not has the ending of the process; and what the process never began is not there.
"""

import re

HEAD = re.compile(r"(?P<testcase>[a-z0-9_]+): .+, \d+ bytes\b.*")
ENDING = re.compile(r"Result: (?:PASS|FAIL|ERROR|TIMEOUT)")


def text_of(text, testcase, result):
    """The lines of standard output that are about no test case or about this one, and `result` as their last.

    result: the word of the last line, None: the process was ended before it could write one
    """
    kept, about = [], None
    for line in text.splitlines():
        if head := HEAD.fullmatch(line):
            about = head["testcase"]
        elif line.startswith("whole run: "):
            about = None
        if about in (None, testcase) and not ENDING.fullmatch(line):
            kept.append(line)
    ending = [f"Result: {result}"] if result else []
    return "\n".join([*kept, *ending, ""])


def record_of(record, testcase):
    """The record as if the process had been asked for this test case alone; None where it did not begin with it.

    What broke the whole process though all of its test cases are whole, such as an MPI that could not end, breaks each.
    """
    own = [result for result in record["results"] if result["testcase"] == testcase]
    if not own:
        return None
    part = {**record, "results": own, "expected": [testcase]}
    if whole(own) and record["result"] != "PASS" and not all_whole(record):
        part |= {"result": "PASS", "error": None, "lost": []}
    return part


def whole(results):
    """Every cell that should have a value has one, and its data was compared where there is any."""
    return all(result["complete"] and result["verified"] is not False for result in results)


def all_whole(record):
    """Whether the process did all that it was asked for."""
    measured = {result["testcase"] for result in record["results"]}
    return whole(record["results"]) and not record["lost"] and measured.issuperset(record["expected"])
