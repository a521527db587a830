"""Compares shares in percent, such as the utilisation of links, with the shares that a partition requires.

Only the result with the largest size of a test case is compared.
"""

from typing import NamedTuple

from linkmatrix.judge.disturbances import limit_missed
from linkmatrix.judge.verdicts import missing

from .cells import result_name


class Share(NamedTuple):
    """A type of share in percent, such as the utilisation of links.

    extra: the key of the partition's extras that contains the required shares, as {test case: percent}.
    part: the part of a result that contains the shares.
    meaning: the text after the number, such as "of the line rate".
    cases: the test cases whose results contain the share.
    most: the largest possible share in percent. A test with a larger share is INCOMPLETE.
    """

    extra: str
    part: str
    meaning: str
    cases: tuple[str, ...]
    most: float = float("inf")


def largest_result(results):
    """The result with the largest size."""
    return max(results, key=lambda result: result["size_bytes"])


def column_shares(result, share):
    """The shares in a result, as {column: percent}. The percentage is None if the record lacks the share."""
    known = result["parts"].get(share.part, {}).get("values") or [[None] * len(result["columns"])]
    return dict(zip(result["columns"], known[0], strict=True))


def share_faults(share, extras, testcase, results):
    """Reasons against PASS: shares of the largest size are smaller than the partition's extras require."""
    if share is None:
        return []
    expected = extras.get(share.extra, {})
    if unclear := malformed_faults(share, expected):
        return unclear
    percent = expected.get(testcase)
    if percent is None or not results:
        return []
    largest, reasons = largest_result(results), []
    for column, found in column_shares(largest, share).items():
        name = f"{result_name(largest)}, {column}:"
        if found is not None and found > share.most:
            impossible = f"{name} {found:.1f} % {share.meaning} is impossible: the topology may lack a link."
            reasons += missing(f"{impossible} The value was not compared with the specified {percent:g} %")
        else:
            reasons += shortfall_faults(largest, name, found, percent, share.meaning)
    return reasons


def shortfall_faults(result, name, found, expected, meaning):
    """The reason against PASS, if the share `found` is below the share `expected`. Both are in percent.

    name: result and column that have the share, such as "all_reduce_perf of 1 GiB, in-place:".
    meaning: the words after the percentage, such as "of the line rate".
    """
    specified = f"the partition specifies {expected:g} %"
    if found is None:
        return missing(f"{name} the share {meaning} is unknown and was not compared with the specified {expected:g} %")
    return [] if found >= expected else limit_missed(result, f"{name} {found:.1f} % {meaning}, {specified}")


def malformed_faults(share, expected):
    """The reason against PASS, if the partition's extras are not a valid {test case: percent} for a share.

    expected: the value in the extras.
    """
    where = f"extras['{share.extra}'] of the partition"
    if not isinstance(expected, dict):
        return missing(f"{where}={expected!r}: give percent by test case, such as {{'{share.cases[0]}': 70}}")
    for name, percent in expected.items():
        if name not in share.cases:
            return missing(f"{where} has '{name}': the known test cases are {', '.join(share.cases)}")
        is_number = isinstance(percent, int | float) and not isinstance(percent, bool)
        if not (is_number and 0 < percent <= 100):
            return missing(f"{where} has {name}={percent!r}: give percent, more than 0 and at most 100")
    return []
